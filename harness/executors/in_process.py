"""In this process: one after the other, or in threads that wait together."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

from harness.executors.mapper import Answer, Function, Item, Result, perform

WINDOW = 4  # items under way per thread: the next question is there when an answer comes

Tasks = queue.SimpleQueue[tuple[Any, ...]]  # one item each, or none to end a thread


@dataclass(frozen=True)
class Serial:
    """One after the other, here."""

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        for item in items:
            yield function(item)


@dataclass(frozen=True)
class Threads:
    """For oracles that are waited for. An answer that nobody wants any more is not waited for."""

    workers: int

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        tasks: Tasks = queue.SimpleQueue()
        answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        waiting = ((item,) for item in items)  # a tuple each, so that an item may be anything
        under_way = 0
        try:
            for task in islice(waiting, self.workers * WINDOW):
                if under_way < self.workers:  # daemons: a call that hangs must not keep the program from ending
                    threading.Thread(target=_perform_tasks, args=(function, tasks, answers), daemon=True).start()
                tasks.put(task)
                under_way += 1
            while under_way:
                answer = answers.get()
                under_way -= 1
                for task in islice(waiting, 1):
                    tasks.put(task)
                    under_way += 1
                yield answer.result()
        finally:
            _end_threads(tasks, self.workers)


def _perform_tasks(function: Function, tasks: Tasks, answers: queue.SimpleQueue[Answer]) -> None:
    while task := tasks.get():
        answers.put(perform(function, *task))


def _end_threads(tasks: Tasks, threads: int) -> None:
    with suppress(queue.Empty):
        while True:
            tasks.get_nowait()
    for _ in range(threads):
        tasks.put(())
