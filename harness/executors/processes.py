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
from itertools import chain, count, islice
from multiprocessing import resource_tracker
from multiprocessing.process import BaseProcess
from multiprocessing.util import Finalize
from typing import Any

from harness.executors.mapper import KEPT, Answer, Item, Pace, Result, pack
from harness.executors.worker import GRACE, work
from harness.measuring.one_thread import environment_of_one_thread
from harness.vocabulary.errors import NO_ANSWER_IN_TIME, PROCESS_ENDED, InputError, OracleError

LEAD = 0.2  # seconds of work that a worker has ahead of it: more than a slow disk keeps the parent
MOST = 64  # items that it has ahead at most
# For glibc: arrays up to this size, in bytes, are made of memory that was freed before. New memory from the system for
# every release of 30,000 rows cost an audit 15 % of its time.
KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(32 << 20), "MALLOC_TRIM_THRESHOLD_": str(128 << 20)}
DEATHS = 3  # of workers over one item, which is then taken for their cause


@dataclass(frozen=True)
class Processes:
    """For oracles that compute here. Workers are spawned, not forked from a process that may have threads.

    One that dies is replaced and its items are asked again; one in which a call of f lasts longer than `call_seconds`
    is ended. All end when this process does, however it ends.
    """

    workers: int
    call_seconds: float | None = None  # that one call of f may take

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        packed = pack(function)
        waiting = iter(items)
        first = list(islice(waiting, self.workers))
        if not first:
            return
        pool = _Pool(packed, function, chain(first, waiting), len(first), self.call_seconds)
        try:
            yield from pool.results()
        finally:
            pool.end()


@dataclass(eq=False)
class _Task:
    """One item, and how many workers died over it."""

    number: int
    item: Any
    deaths: int = 0


class _Worker:
    """One process, and what it was given and has not answered yet, the oldest first."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self._began = context.RawValue("d", 0.0)
        self.process: BaseProcess = context.Process(target=work, args=(theirs, self._began), name="harness worker")
        self.tasks: dict[int, _Task] = {}
        self.up = False
        with worker_settings():
            self.process.start()
        theirs.close()  # so that the pipe ends when the worker does

    def give(self, tasks: list[_Task]) -> None:
        self.tasks |= {task.number: task for task in tasks}
        with suppress(OSError):  # it has just died, and will be found dead
            self.pipe.send([(task.number, task.item) for task in tasks])

    def take_back(self) -> list[_Task]:
        """What it has not begun, as far as is known here; should it have, that answer is ignored."""
        first, *rest = self.tasks.values()
        self.tasks = {first.number: first}
        with suppress(OSError):
            self.pipe.send(None)
        return rest

    def seconds_of_call(self) -> float:
        """How long f has been called by now; 0 if it is not."""
        began = self._began.value
        return time.monotonic() - began if began else 0.0

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
    """A process started inside is not interrupted by Ctrl-C, computes with one thread, and keeps memory it has freed.

    All is inherited, because it must hold before its first import; what its user has set stays.
    """
    ours = environment_of_one_thread() | {name: size for name, size in KEEP_MEMORY.items() if name not in os.environ}
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

    def __init__(
        self, packed: bytes, function: Any, items: Iterator[Any], size: int, call_seconds: float | None
    ) -> None:
        self._packed, self._function, self._call_seconds = packed, function, call_seconds
        self._numbers = count()
        self._fresh = (self._task(item) for item in items)
        self._again: deque[_Task] = deque()
        self._given_up: deque[Any] = deque()  # results of items over which workers died
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
            while self._given_up:
                yield self._given_up.popleft()
            if self._exhausted and not self._again and not any(worker.tasks for worker in self._workers):
                return
            for worker in self._ready():
                answer = self._receive(worker)
                if answer is not None:
                    yield answer.result()
            self._end_overdue()

    def _task(self, item: Any) -> _Task:
        return _Task(next(self._numbers), item)

    def _start_worker(self) -> None:
        worker = _Worker()
        self._workers.append(worker)
        self._selector.register(worker.pipe, selectors.EVENT_READ, worker)

    def _supply(self, worker: _Worker) -> None:
        """In portions, when half of its lead is used up; items that take long are given one at a time."""
        lead = self._pace.items_for(LEAD)
        if worker.up and len(worker.tasks) <= lead // 2:
            tasks = self._next(lead - len(worker.tasks)) or ([] if worker.tasks else self._taken_back())
            if tasks:
                worker.give(tasks)

    def _next(self, wanted: int) -> list[_Task]:
        tasks = [self._again.popleft() for _ in range(min(wanted, len(self._again)))]
        tasks += islice(self._fresh, wanted - len(tasks))
        self._exhausted = len(tasks) < wanted
        return tasks

    def _taken_back(self) -> list[_Task]:
        """For a worker that has nothing to do: what waits behind a call of another that takes long."""
        longest = max(self._workers, key=lambda worker: len(worker.tasks))
        if len(longest.tasks) < 2 or longest.seconds_of_call() < LEAD:
            return []
        return longest.take_back()

    def _ready(self) -> list[_Worker]:
        """Workers that said something or are gone; one gone while a child of it holds its pipe is replaced here."""
        seconds = 1.0 if self._call_seconds is None else min(1.0, self._call_seconds / 2)
        ready: list[_Worker] = [key.data for key, _ in self._selector.select(timeout=seconds)]
        gone = [] if ready else [worker for worker in self._workers if not worker.process.is_alive()]
        for worker in gone:
            self._replace(worker)
        return ready

    def _receive(self, worker: _Worker) -> Answer | None:
        try:
            message = worker.pipe.recv()
            if message is None:  # it is up
                worker.pipe.send_bytes(self._packed)
        except (EOFError, OSError):
            self._replace(worker)
            return None
        if message is None:
            worker.up, self._failed_starts = True, 0
            return None
        number, answer = message
        if number is not None and worker.tasks.pop(number, None) is None:  # another worker was given it, too
            return None
        self._pace.add(answer)
        received: Answer = answer
        return received

    def _replace(self, worker: _Worker) -> None:
        """Its items are asked again; it died over the oldest, for it answers one after the other."""
        self._remove(worker)
        cause = worker.reason_of_end()
        if worker.tasks:
            task = next(iter(worker.tasks.values()))
            task.deaths += 1
            if task.deaths == DEATHS:
                others = f"and so did {DEATHS - 1} others"
                words = f"a worker process ended ({cause}) when it examined {self._in_words(task.item)}, {others}"
                self._give_up(worker, task, PROCESS_ENDED, words)
        elif not worker.up:
            self._failed_starts += 1
            _record_failed_start(self._failed_starts, cause)
        self._again.extend(worker.tasks.values())
        self._start_worker()

    def _end_overdue(self) -> None:
        """End the workers in which f has been called for too long, and with them their oldest items."""
        limit = self._call_seconds
        overdue = [] if limit is None else [each for each in self._workers if each.seconds_of_call() > limit]
        for worker in overdue:
            self._remove(worker)
            worker.kill()
            worker.pipe.close()
            task = next(iter(worker.tasks.values()), None)
            if task is not None:
                words = f"f had not answered after {limit:g} s when a worker examined {self._in_words(task.item)}"
                self._give_up(worker, task, NO_ANSWER_IN_TIME, words)
            self._again.extend(worker.tasks.values())
            self._start_worker()

    def _remove(self, worker: _Worker) -> None:
        self._selector.unregister(worker.pipe)
        self._workers.remove(worker)

    def _in_words(self, item: Any) -> str:
        words: Callable[[Any], str] = getattr(self._function, "item_in_words", _item_in_words)
        return words(item)

    def _give_up(self, worker: _Worker, task: _Task, reason: str, words: str) -> None:
        """An item is not asked again: its parts are, or the function says what becomes of it, or the work ends."""
        if not hasattr(self._function, "crashed"):
            raise OracleError(f"{words}; {KEPT}", reason=reason)
        del worker.tasks[task.number]
        parts = self._function.parts(task.item)
        if len(parts) > 1:
            self._again.extend(map(self._task, parts))
        else:
            self._given_up.append(self._function.crashed(task.item, reason, words))


def _item_in_words(item: Any) -> str:
    return f"item {item!r}"


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
