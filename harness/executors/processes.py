"""Worker processes of this machine: started afresh, replaced when they die, ended when the caller stops iterating."""

from __future__ import annotations

import multiprocessing
import os
import selectors
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, islice
from multiprocessing import resource_tracker
from multiprocessing.process import BaseProcess
from multiprocessing.util import Finalize
from typing import Any

from harness.executors.mapper import KEPT, Answer, Item, Pace, Result, pack
from harness.executors.worker import GRACE, work
from harness.measuring.one_thread import environment_of_one_thread
from harness.vocabulary.errors import InputError, OracleError

LEAD = 0.2  # seconds of work that a worker has ahead of it: more than a slow disk keeps the parent
MOST = 64  # items that it has ahead at most
DEATHS = 3  # of workers over one item, which is then taken for their cause


@dataclass(frozen=True)
class Processes:
    """For oracles that compute here. Workers are spawned, not forked from a process that may have threads.

    One that dies is replaced and its items are asked again; all end when this process does, however it ends.
    """

    workers: int

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        packed = pack(function)
        waiting = iter(items)
        first = list(islice(waiting, self.workers))
        if not first:
            return
        pool = _Pool(packed, chain(first, waiting), len(first), getattr(function, "item_in_words", _item_in_words))
        try:
            yield from pool.results()
        finally:
            pool.end()


@dataclass(eq=False)
class _Task:
    """One item, and how many workers died over it."""

    item: Any
    deaths: int = 0


class _Worker:
    """One process, and what it was given and has not answered yet, the oldest first."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(target=work, args=(theirs,), name="harness worker")
        self.tasks: list[_Task] = []
        self.up = False
        with worker_settings():
            self.process.start()
        theirs.close()  # so that the pipe ends when the worker does

    def give(self, tasks: list[_Task]) -> None:
        self.tasks += tasks
        with suppress(OSError):  # it has just died, and will be found dead
            self.pipe.send([task.item for task in tasks])

    def reason_of_end(self) -> str:
        self.pipe.close()
        self.process.join(GRACE)
        code = self.process.exitcode
        if code == -signal.SIGKILL:
            return "it was killed; is memory short?"
        return f"exit code {code}" if code is None or code >= 0 else signal.Signals(-code).name

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.ident or 0, signal.SIGKILL) if self.up else self.process.kill()
        self.process.join()


@contextmanager
def worker_settings() -> Iterator[None]:
    """A process started inside is not interrupted by Ctrl-C, and computes with one thread unless its user set more.

    Both are inherited, because both must hold before its first import.
    """
    ours = environment_of_one_thread()
    resource_tracker.ensure_running()  # or the first process starts it, and that lets Ctrl-C through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    os.environ.update(ours)
    try:
        yield
    finally:
        for name in ours:
            os.environ.pop(name, None)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Pool:
    """Worker processes, as many at any time, and the items they share."""

    def __init__(self, packed: bytes, items: Iterator[Any], size: int, in_words: Callable[[Any], str]) -> None:
        self._packed, self._in_words = packed, in_words
        self._fresh = (_Task(item) for item in items)
        self._again: deque[_Task] = deque()
        self._exhausted = False
        self._pace = Pace(MOST)
        self._failed_starts = 0  # workers in a row that died before they were up
        self._workers: list[_Worker] = []
        self._selector = selectors.DefaultSelector()
        # For whoever never closes the iterator: at exit this comes before Python waits for its child processes.
        self.end = Finalize(self, _end, (self._workers, self._selector), exitpriority=10)
        for _ in range(size):
            self._start_worker()

    def results(self) -> Iterator[Any]:
        while True:
            for worker in self._workers:
                self._supply(worker)
            if self._exhausted and not self._again and not any(worker.tasks for worker in self._workers):
                return
            for worker in self._ready():
                answer = self._receive(worker)
                if answer is not None:
                    yield answer.result()

    def _start_worker(self) -> None:
        worker = _Worker()
        self._workers.append(worker)
        self._selector.register(worker.pipe, selectors.EVENT_READ, worker)

    def _supply(self, worker: _Worker) -> None:
        """In portions, when half of its lead is used up; items that take long are given one at a time."""
        lead = self._pace.items_for(LEAD)
        if worker.up and len(worker.tasks) <= lead // 2:
            tasks = self._next(lead - len(worker.tasks))
            if tasks:
                worker.give(tasks)

    def _next(self, count: int) -> list[_Task]:
        tasks = [self._again.popleft() for _ in range(min(count, len(self._again)))]
        tasks += islice(self._fresh, count - len(tasks))
        self._exhausted = len(tasks) < count
        return tasks

    def _ready(self) -> list[_Worker]:
        """Workers that said something or are gone; one gone while a child of it holds its pipe is replaced here."""
        ready: list[_Worker] = [key.data for key, _ in self._selector.select(timeout=1.0)]
        gone = [] if ready else [worker for worker in self._workers if not worker.process.is_alive()]
        for worker in gone:
            self._replace(worker)
        return ready

    def _receive(self, worker: _Worker) -> Answer | None:
        try:
            answer: Answer | None = worker.pipe.recv()
            if answer is None:  # it is up
                worker.pipe.send_bytes(self._packed)
        except (EOFError, OSError):
            self._replace(worker)
            return None
        if answer is None:
            worker.up, self._failed_starts = True, 0
        else:
            del worker.tasks[:1]
            self._pace.add(answer)
        return answer

    def _replace(self, worker: _Worker) -> None:
        """Its items are asked again; it died over the oldest, for it answers one after the other."""
        self._selector.unregister(worker.pipe)
        self._workers.remove(worker)
        cause = worker.reason_of_end()
        if worker.tasks:
            _record_crash(worker.tasks[0], cause, self._in_words)
        elif not worker.up:
            self._failed_starts += 1
            _record_failed_start(self._failed_starts, cause)
        self._again.extend(worker.tasks)
        self._start_worker()


def _item_in_words(item: Any) -> str:
    return f"item {item!r}"


def _record_crash(task: _Task, cause: str, in_words: Callable[[Any], str]) -> None:
    task.deaths += 1
    if task.deaths == DEATHS:
        raise OracleError(
            f"a worker process ended ({cause}) when it examined {in_words(task.item)}, and so did {DEATHS - 1} others; "
            f"{KEPT}"
        )


def _record_failed_start(failed_starts: int, cause: str) -> None:
    if failed_starts == DEATHS:
        raise InputError(
            f"worker processes cannot be started ({cause}); a script that uses them must do its work under "
            'if __name__ == "__main__", or use workers = 1'
        )


def _end(workers: list[_Worker], selector: selectors.BaseSelector) -> None:
    """A closed pipe tells a worker to end; one that does not end by itself is killed."""
    selector.close()
    for worker in workers:
        worker.pipe.close()
    deadline = time.monotonic() + 2 * GRACE
    for worker in workers:
        if worker.up:
            worker.process.join(max(0.0, deadline - time.monotonic()))
        if worker.process.is_alive():
            worker.kill()
    workers.clear()
