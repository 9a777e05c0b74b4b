"""In this process: one after the other, or in threads that wait together."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

from harness.executors.mapper import Answer, Function, Item, Result, performed

WINDOW = 4  # items under way per thread: the next question is there when an answer comes

Asked = queue.SimpleQueue[tuple[Any, ...]]  # one item, or nothing to end a thread


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
        asked: Asked = queue.SimpleQueue()
        answered: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        waiting = ((item,) for item in items)
        under_way = 0
        try:
            for errand in islice(waiting, self.workers * WINDOW):
                if under_way < self.workers:  # daemons: a call that hangs must not keep the program from ending
                    threading.Thread(target=_serve, args=(function, asked, answered), daemon=True).start()
                asked.put(errand)
                under_way += 1
            while under_way:
                answer = answered.get()
                under_way -= 1
                for errand in islice(waiting, 1):
                    asked.put(errand)
                    under_way += 1
                yield answer.result()
        finally:
            _dismiss(asked, self.workers)


def _serve(function: Function, asked: Asked, answered: queue.SimpleQueue[Answer]) -> None:
    while errand := asked.get():
        answered.put(performed(function, *errand))


def _dismiss(asked: Asked, threads: int) -> None:
    with suppress(queue.Empty):
        while True:
            asked.get_nowait()
    for _ in range(threads):
        asked.put(())
