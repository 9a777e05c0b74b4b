"""Oracles around oracles: retries, pace, a stop after failures, a count. Knows the oracle interface, no transport."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from harness.vocabulary.errors import InputError, OracleError
from harness.vocabulary.oracle import Ask, Card, Oracle, Release
from oracles.untrusted import pause


class Wrapper:
    """An oracle that passes everything on to `inner`; subclasses add one thing. Pickled without its locks."""

    inner: Oracle

    @property
    def card(self) -> Card:
        return self.inner.card

    def answer(self, ask: Ask) -> Iterator[Release]:
        yield from self.inner.answer(ask)

    def close(self) -> None:
        self.inner.close()

    @property
    def traffic(self) -> tuple[int | None, int | None]:
        """Bytes sent and received, where the transport counts them."""
        traffic: tuple[int | None, int | None] = getattr(self.inner, "traffic", (None, None))
        return traffic


def _count(name: str, value: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InputError(f"{name} must be a whole number of at least 1, not {value!r}")
    return value


class Retrying(Wrapper):
    """Asks again after a retryable failure, with growing and randomized pauses.

    Releases that have arrived are kept: only the draws still missing are asked for, with the seeds they would
    have had; a connection that is lost after the last of them does not matter. The n-th wait is uniform on
    [½, 1] · first · 2ⁿ, at most `longest`, and never shorter than the oracle asked for. After `attempts`
    questions, or when a wait would exceed `patience` seconds in all, the error stands.
    """

    def __init__(
        self,
        inner: Oracle,
        attempts: int = 4,
        *,
        first: float = 0.25,
        longest: float = 30.0,
        patience: float = 300.0,
        rng: np.random.Generator | None = None,
    ) -> None:
        self.inner, self.attempts = inner, _count("attempts", attempts)
        self.first, self.longest, self.patience = first, longest, patience
        self._rng = rng or np.random.default_rng()
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return _retrying, (self.inner, self.attempts, self.first, self.longest, self.patience, self._rng)

    def answer(self, ask: Ask) -> Iterator[Release]:
        start, done = time.monotonic(), 0
        for attempt in range(self.attempts):
            try:
                for release in self._answered(_rest(ask, done)):
                    yield release
                    done += 1
                return
            except OracleError as error:
                if not error.retryable:
                    raise
                if done >= ask.draws:  # the end was lost, not a release
                    return
                wait, spent = self._wait(attempt, error.retry_after), time.monotonic() - start
                if attempt + 1 == self.attempts or spent + wait > self.patience:
                    raise _given_up(error, attempt + 1, spent, self.patience) from None
            time.sleep(wait)

    def _answered(self, ask: Ask) -> Iterable[Release]:
        """The releases; predictions are one release of all draws, so that they are complete or asked for again."""
        releases = self.inner.answer(ask)
        return list(releases) if self.card.releases == "predictions" else releases

    def _wait(self, attempt: int, asked: float | None) -> float:
        with self._lock:
            jitter = float(self._rng.uniform(0.5, 1.0))
        return max(pause(asked) or 0.0, min(self.longest, self.first * 2.0**attempt) * jitter)


def _retrying(
    inner: Oracle, attempts: int, first: float, longest: float, patience: float, rng: np.random.Generator
) -> Retrying:
    return Retrying(inner, attempts, first=first, longest=longest, patience=patience, rng=rng)


def open_with_retries(
    make: Callable[[], Oracle], attempts: int = 4, *, first: float = 0.25, patience: float = 60.0
) -> Oracle:
    """The oracle that `make` connects to; made again, with pauses, while that fails with a retryable error.

    No attempt begins later than `patience` seconds after the first.
    """
    start = time.monotonic()
    for attempt in range(_count("attempts", attempts)):
        try:
            return make()
        except OracleError as error:
            if not error.retryable:
                raise
            wait, spent = max(pause(error.retry_after) or 0.0, first * 2.0**attempt), time.monotonic() - start
            if attempt + 1 == attempts or spent + wait > patience:
                raise _given_up(error, attempt + 1, spent, patience) from None
        time.sleep(wait)
    raise AssertionError("the last attempt returns or raises")


def _rest(ask: Ask, done: int) -> Ask:
    return replace(ask, draws=ask.draws - done, seed=(ask.seed + done) % 2**63) if done else ask


def _given_up(error: OracleError, attempts: int, spent: float, patience: float) -> OracleError:
    """The last error, with what was tried; a pause that is too long is the reason not to try again."""
    asked = pause(error.retry_after) or 0.0
    if spent + asked > patience and asked:
        return error.within(f"not to be asked again for {asked:g} s, and no more than {patience:g} s are waited in all")
    return error.within(f"asked {attempts} times in {spent:.1f} s") if attempts > 1 else error


class Paced(Wrapper):
    """At most so many asks begin per second, and at most so many are under way at once."""

    def __init__(self, inner: Oracle, per_second: float | None = None, concurrency: int | None = None) -> None:
        if per_second is not None and not (isinstance(per_second, int | float) and per_second > 0):
            raise InputError(f"per_second must be a positive number, not {per_second!r}")
        if concurrency is not None:
            _count("concurrency", concurrency)
        self.inner, self.per_second, self.concurrency = inner, per_second, concurrency
        self._places: AbstractContextManager[Any] = (
            threading.BoundedSemaphore(concurrency) if concurrency is not None else nullcontext()
        )
        self._lock = threading.Lock()
        self._next = 0.0  # when the next ask may begin

    def __reduce__(self) -> tuple[Any, ...]:
        return Paced, (self.inner, self.per_second, self.concurrency)

    def answer(self, ask: Ask) -> Iterator[Release]:
        with self._places:
            time.sleep(self._turn())
            yield from self.inner.answer(ask)

    def _turn(self) -> float:
        """Seconds until this ask may begin; every ask is given a time of its own."""
        if self.per_second is None:
            return 0.0
        with self._lock:
            now = time.monotonic()
            turn = max(now, self._next)
            self._next = turn + 1 / self.per_second
            return turn - now


class Breaker(Wrapper):
    """After `failures` failed asks in a row no more are sent, so that an audit of a dead server ends soon."""

    def __init__(self, inner: Oracle, failures: int = 10) -> None:
        self.inner, self.failures = inner, _count("failures", failures)
        self._lock = threading.Lock()
        self._row = 0
        self._last = ""

    def __reduce__(self) -> tuple[Any, ...]:
        return Breaker, (self.inner, self.failures)

    def answer(self, ask: Ask) -> Iterator[Release]:
        with self._lock:
            if self._row >= self.failures:
                raise OracleError(f"no longer asked after {self._row} failures in a row; the last one: {self._last}")
        try:
            yield from self.inner.answer(ask)
        except OracleError as error:
            with self._lock:
                self._row, self._last = self._row + 1, str(error)
            raise
        with self._lock:
            self._row = 0


@dataclass(frozen=True)
class Counts:
    """How often an oracle was asked so far, and what that cost."""

    asks: int = 0
    failures: int = 0
    releases: int = 0
    seconds: float = 0.0  # waited for answers, summed over threads
    sent: int | None = None  # bytes, where the transport counts them
    received: int | None = None

    def __str__(self) -> str:
        traffic = ""
        if self.sent is not None and self.received is not None:
            traffic = f", {self.sent / 1e6:.1f} MB sent, {self.received / 1e6:.1f} MB received"
        failures = f" ({self.failures} failed)" if self.failures else ""
        return f"{self.asks} questions{failures}, {self.releases} releases, {self.seconds:.1f} s of waiting{traffic}"


class Counting(Wrapper):
    """Counts for the cost line of a report. A transport that knows its bytes has a `traffic` of (sent, received)."""

    def __init__(self, inner: Oracle) -> None:
        self.inner = inner
        self._lock = threading.Lock()
        self._counts = Counts()

    def __reduce__(self) -> tuple[Any, ...]:
        return Counting, (self.inner,)

    @property
    def counts(self) -> Counts:
        sent, received = self.traffic
        with self._lock:
            return replace(self._counts, sent=sent, received=received)

    def answer(self, ask: Ask) -> Iterator[Release]:
        releases = iter(self.inner.answer(ask))
        self._add(asks=1)
        while True:
            start = time.monotonic()
            try:
                release = next(releases, None)
            except OracleError:
                self._add(failures=1, seconds=time.monotonic() - start)
                raise
            self._add(seconds=time.monotonic() - start, releases=release is not None)
            if release is None:
                return
            yield release

    def _add(self, **more: float) -> None:
        with self._lock:
            changed = {name: getattr(self._counts, name) + value for name, value in more.items()}
            self._counts = replace(self._counts, **changed)
