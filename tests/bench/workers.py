"""What more workers bring: wall time of one and of two processes, in turn, and what an item costs their parent."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

from harness.executors import Processes
from tests.bench.measuring import Section

STAGGER = 0.5  # seconds that one worker may be up before the other


def computing(milliseconds: float) -> float:
    """An oracle that computes for so long by its own clock: the same work, however busy the machine is."""
    end = time.thread_time() + milliseconds / 1000
    while time.thread_time() < end:
        sum(range(2000))
    return milliseconds


def workers(seconds: float, turns: int) -> Section:
    """Each worker computes for so many seconds, each turn."""
    rows = [_row(milliseconds, round(seconds * 1000 / milliseconds), turns) for milliseconds in (1.0, 3.0, 10.0)]
    return Section(
        f"Worker processes: milliseconds per item, best of {turns} (load {os.getloadavg()[0]:.1f})",
        rows,
        [
            "gain: one worker / two workers by the wall clock, of which other load on the machine takes its part",
            "on two idle cores: what the parent's own work leaves of the second core, 2 t / (t + parent)",
        ],
    )


def _row(milliseconds: float, count: int, turns: int) -> dict[str, Any]:
    spent: dict[int, list[tuple[float, float]]] = {1: [], 2: []}
    for _ in range(turns):
        for many in spent:
            spent[many].append(_spent(many, milliseconds, many * count))
    one, two = (min(wall for wall, _ in turn) for turn in spent.values())
    parent = float(np.median([cpu for turn in spent.values() for _, cpu in turn]))
    return {
        "one item": milliseconds,
        "one worker": one,
        "two workers": two,
        "gain": one / two,
        "parent's CPU": parent,
        "on two idle cores": 2 * milliseconds / (milliseconds + parent),
    }


def _spent(many: int, milliseconds: float, count: int) -> tuple[float, float]:
    """Wall and the parent's CPU in milliseconds per item, from when all workers are busy to the last result."""
    late = round(STAGGER * 1000 / milliseconds)
    results = Processes(many).map(_answered, [milliseconds] * (late + count))
    up: set[int] = set()  # workers that have answered
    while len(up) < many:
        up.add(next(results))
    wall, cpu = time.perf_counter(), time.process_time()
    done = sum(1 for _ in results)
    assert done > count // 2, "a worker was up too late"
    return (time.perf_counter() - wall) * 1000 / done, (time.process_time() - cpu) * 1000 / done


def _answered(milliseconds: float) -> int:
    computing(milliseconds)
    return os.getpid()
