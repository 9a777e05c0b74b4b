"""Clocks and tables of the benchmark. Knows nothing of what is measured.

One process is measured by its CPU time, which hardly notices what else the machine does; several processes, which
only wall time can compare, are measured in turn and the best of several turns counts. What is compared is measured in
turn, piece by piece, so that a busy moment falls on both sides; ratios are medians over blocks of such turns.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Result = TypeVar("Result")
BLOCKS = 5  # of turns; what is printed is the median over them


@dataclass(frozen=True)
class Section:
    """One table of the benchmark: what it shows, its rows, and what to read from them."""

    title: str
    rows: list[dict[str, Any]]
    notes: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        names = list(self.rows[0])
        cells = [[_printed(row[name]) for name in names] for row in self.rows]
        widths = [max(len(name), *(len(row[j]) for row in cells)) for j, name in enumerate(names)]
        lines = [self.title, _line(names, widths), *(_line(row, widths) for row in cells)]
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = zip(cells, widths, strict=True)
    return "  ".join([f"  {first[0]:<{first[1]}}", *(f"{cell:>{width}}" for cell, width in others)])


def _printed(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, float):
        return str(value)
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"


class Stopwatch:
    """Milliseconds of CPU of named pieces of work."""

    def __init__(self) -> None:
        self.times: dict[str, list[float]] = {}

    def __call__(self, name: str, work: Callable[[], Result]) -> Result:
        start = time.process_time()
        result = work()
        self.times.setdefault(name, []).append((time.process_time() - start) * 1000)
        return result

    def median(self, name: str) -> float:
        return float(np.median(self.times[name]))


def typical(times: Sequence[float]) -> float:
    """The mean of a piece of work, without the busiest moments of the machine: the median of means of blocks."""
    return float(np.median([np.take(times, block).mean() for block in _blocks(len(times))]))


def ratio(times: Sequence[float], baseline: Sequence[float]) -> float:
    """How many times the baseline these times are, where both were measured in turn."""
    blocks = _blocks(min(len(times), len(baseline)))
    return float(np.median([np.take(times, block).sum() / np.take(baseline, block).sum() for block in blocks]))


def _blocks(turns: int) -> list[npt.NDArray[np.intp]]:
    return np.array_split(np.arange(turns), min(BLOCKS, turns))
