"""Where the work is done: a function and items in, results as they finish. Knows nothing of audits."""

from __future__ import annotations

import multiprocessing
import pickle
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol, TypeVar

from harness.errors import HarnessError, InputError

Item = TypeVar("Item")
Result = TypeVar("Result")
WINDOW = 4  # items under way per worker: enough to keep it busy, few enough to bound memory and a Ctrl-C


class Mapper(Protocol):
    """An executor: results come in any order, the caller must not depend on it."""

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]: ...


@dataclass(frozen=True)
class Serial:
    """One after the other, here."""

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        return map(function, items)


@dataclass(frozen=True)
class Threads:
    """For oracles that are waited for."""

    workers: int

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        with ThreadPoolExecutor(self.workers) as pool:
            yield from _as_finished(pool, function, items, self.workers * WINDOW)


@dataclass(frozen=True)
class Processes:
    """For oracles that compute here. Workers are started afresh, not forked from a process with threads."""

    workers: int

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        try:
            travelling = pickle.dumps(function)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise InputError(
                f"the work cannot be sent to worker processes ({error}); "
                "define the anonymizer as a function of a module, or use workers = 1"
            ) from None
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(self.workers, context, _receive, (travelling,)) as pool:
            try:
                yield from _as_finished(pool, _perform, items, self.workers * WINDOW)
            except BrokenProcessPool:
                raise HarnessError(
                    "a worker process died; what was measured is kept, run the same command again to go on"
                ) from None


_function: Callable[[Any], Any] | None = None  # in a worker process: the one function it performs


def _receive(travelling: bytes) -> None:
    global _function
    _function = pickle.loads(travelling)  # noqa: S301  (from our own parent process)


def _perform(item: Any) -> Any:
    assert _function is not None
    return _function(item)


def _as_finished(
    pool: Executor, function: Callable[[Item], Result], items: Iterable[Item], window: int
) -> Iterator[Result]:
    """Results in the order in which they finish; at most `window` items are under way."""
    waiting = iter(items)
    running: set[Future[Result]] = {pool.submit(function, item) for item in islice(waiting, window)}
    try:
        while running:
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                yield future.result()
                running |= {pool.submit(function, item) for item in islice(waiting, 1)}
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
