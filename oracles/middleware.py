"""Oracles around oracles: retries, pace, a count. Knows the oracle interface, no transport."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from harness.vocabulary.durations import in_words
from harness.vocabulary.errors import AwayError, InputError, OracleError
from harness.vocabulary.oracle import Ask, Card, Oracle, Release
from oracles.untrusted import pause

PATIENCE = 120.0  # seconds that an oracle may be away
LONGEST_AWAY = 5.0  # seconds between two tries of an oracle that is away


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

    @property
    def waiting(self) -> tuple[float, float]:
        """How many seconds the oracle has been away by now, 0 if it answers, and how many it may be."""
        waiting: tuple[float, float] = getattr(self.inner, "waiting", (0.0, 0.0))
        return waiting

    @property
    def retries(self) -> int:
        """How often a question was asked again after a failure that may pass."""
        return int(getattr(self.inner, "retries", 0))


def _count(name: str, value: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InputError(f"{name} must be a whole number of at least 1, not {value!r}")
    return value


class Outage:
    """Since when an oracle has been away: the first question that did not reach it, of all threads that ask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._since: float | None = None

    @property
    def seconds(self) -> float:
        """How long it has been away by now; 0 while it answers."""
        with self._lock:
            return 0.0 if self._since is None else time.monotonic() - self._since

    def begin(self) -> None:
        """A question did not reach it; an outage that has begun already goes on."""
        with self._lock:
            if self._since is None:
                self._since = time.monotonic()

    def end(self) -> None:
        """It said something."""
        with self._lock:
            self._since = None


class Retrying(Wrapper):
    """Asks again after a retryable failure, with growing and randomized pauses.

    Releases that have arrived are kept: only the draws still missing are asked for, with the seeds they would
    have had; a connection that is lost after the last of them does not matter. The n-th wait is uniform on
    [½, 1] · first · 2ⁿ, at most `longest`, and never shorter than the oracle asked for.

    A question that fails is asked `attempts` times. While the oracle is away (AwayError) nothing counts as an attempt:
    it is waited for until it has been away for `patience` seconds, whoever asked first. Then the error stands.
    """

    def __init__(
        self,
        inner: Oracle,
        attempts: int = 4,
        *,
        first: float = 0.25,
        longest: float = 30.0,
        patience: float = PATIENCE,
        rng: np.random.Generator | None = None,
    ) -> None:
        self.inner, self.attempts = inner, _count("attempts", attempts)
        self.first, self.longest, self.patience = first, longest, patience
        self._outage = Outage()
        self._rng = rng or np.random.default_rng()
        self._lock = threading.Lock()
        self._retries = 0

    @property
    def retries(self) -> int:
        return self._retries

    def __reduce__(self) -> tuple[Any, ...]:
        return _retrying, (self.inner, self.attempts, self.first, self.longest, self.patience, self._rng)

    def spec(self) -> dict[str, Any]:
        """What tells this oracle from another: not how patiently it is asked."""
        return {"inner": self.inner}

    @property
    def waiting(self) -> tuple[float, float]:
        """How many seconds the oracle has been away by now, 0 if it answers, and how many it may be."""
        return self._outage.seconds, self.patience

    def answer(self, ask: Ask) -> Iterator[Release]:
        done, failed, missed = 0, 0, 0
        while True:
            try:
                for release in self._answered(_rest(ask, done)):
                    self._outage.end()
                    yield release
                    done += 1
                self._outage.end()
                return
            except AwayError as error:
                if done >= ask.draws:  # the end was lost, not a release
                    return
                wait, missed = self._wait_for_return(missed, error), missed + 1
            except OracleError as error:
                self._outage.end()
                if error.retryable and done >= ask.draws:
                    return
                failed += 1
                wait = self._wait_to_ask_again(failed, error)
            with self._lock:
                self._retries += 1
            time.sleep(wait)

    def _wait_to_ask_again(self, failed: int, error: OracleError) -> float:
        """Seconds until a question that failed so many times is asked again; the error if it is not."""
        if not error.retryable:
            raise error
        if failed == self.attempts:
            raise _asked_in_vain(error, failed)
        wait, asked = self._wait(failed - 1, error.retry_after), pause(error.retry_after) or 0.0
        if asked > self.patience:
            raise _too_long_a_pause(error, asked, self.patience)
        return wait

    def _wait_for_return(self, missed: int, error: AwayError) -> float:
        """Seconds until the oracle is tried again; the error if it has been away for too long."""
        self._outage.begin()
        away, asked = self._outage.seconds, pause(error.retry_after) or 0.0
        left = self.patience - away
        if 0 < left < asked:
            raise _too_long_a_pause(error, asked, self.patience)
        if left <= 0:
            raise error.within(f"away for {in_words(away)}, and no more than {in_words(self.patience)} are waited")
        return max(asked, min(left, LONGEST_AWAY, self._wait(missed, None)))

    def _answered(self, ask: Ask) -> Iterable[Release]:
        """The releases; predictions are one release of all draws, so that they are complete or asked for again."""
        releases = self.inner.answer(ask)
        return list(releases) if self.card.releases == "predictions" else releases

    def _wait(self, attempt: int, asked: float | None) -> float:
        with self._lock:
            jitter = float(self._rng.uniform(0.5, 1.0))
        return max(pause(asked) or 0.0, min(self.longest, self.first * 2.0 ** min(attempt, 50)) * jitter)


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
            asked, spent = pause(error.retry_after) or 0.0, time.monotonic() - start
            wait = max(asked, first * 2.0**attempt)
            if asked and spent + asked > patience:
                raise _too_long_a_pause(error, asked, patience) from None
            if attempt + 1 == attempts or spent + wait > patience:
                raise _asked_in_vain(error, attempt + 1) from None
        time.sleep(wait)
    raise AssertionError("the last attempt returns or raises")


def _rest(ask: Ask, done: int) -> Ask:
    return replace(ask, draws=ask.draws - done, seed=(ask.seed + done) % 2**63) if done else ask


def _asked_in_vain(error: OracleError, times: int) -> OracleError:
    return error.within(f"asked {times} times") if times > 1 else error


def _too_long_a_pause(error: OracleError, asked: float, patience: float) -> OracleError:
    return error.within(f"not to be asked again for {asked:g} s, and no more than {patience:g} s are waited in all")


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

    def spec(self) -> dict[str, Any]:
        """What tells this oracle from another: not how fast it is asked."""
        return {"inner": self.inner}

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


@dataclass(frozen=True)
class Counts:
    """How often an oracle was asked so far, and what that cost."""

    asks: int = 0
    failures: int = 0  # questions that stayed without an answer
    retries: int = 0  # questions that were asked again after a failure that may pass
    releases: int = 0
    seconds: float = 0.0  # waited for answers, summed over threads
    sent: int | None = None  # bytes, where the transport counts them
    received: int | None = None

    def __str__(self) -> str:
        traffic = ""
        if self.sent is not None and self.received is not None:
            traffic = f", {self.sent / 1e6:.1f} MB sent, {self.received / 1e6:.1f} MB received"
        failures = f" ({self.failures} failed)" if self.failures else ""
        retries = f", {self.retries} asked again" if self.retries else ""
        waited = f"{self.releases} releases, {self.seconds:.1f} s of waiting"
        return f"{self.asks} questions{failures}{retries}, {waited}{traffic}"


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
            return replace(self._counts, sent=sent, received=received, retries=self.retries)

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
