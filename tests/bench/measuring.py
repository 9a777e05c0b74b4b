"""Clocks and tables of the benchmark. Knows nothing of what is measured.

One process is measured by the CPU time of its thread, which hardly notices what else the machine does; several
processes, which only wall time can compare, are measured in turn and the best of several turns counts.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from harness.auditing.examine import Examination
from harness.auditing.plan import Claim, Plan
from harness.auditing.procedure import Audit
from harness.vocabulary.dataset import Dataset


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
        cells = [[_shown(row[name]) for name in names] for row in self.rows]
        widths = [max(len(name), *(len(row[j]) for row in cells)) for j, name in enumerate(names)]
        lines = [self.title, _line(names, widths), *(_line(row, widths) for row in cells)]
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = zip(cells, widths, strict=True)
    return "  ".join([f"  {first[0]:<{first[1]}}", *(f"{cell:>{width}}" for cell, width in others)])


def _shown(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


class Watch:
    """Milliseconds of CPU by name."""

    def __init__(self) -> None:
        self.found: dict[str, list[float]] = {}

    def __call__(self, name: str, work: Callable[[], Any]) -> Any:
        start = time.thread_time()
        result = work()
        self.found.setdefault(name, []).append((time.thread_time() - start) * 1000)
        return result

    def typical(self, name: str) -> float:
        return float(np.median(self.found[name]))

    def mean(self, name: str) -> float:
        return float(np.mean(self.found[name]))


def examination(data: Dataset, oracle: Any, draws: int | None = None) -> tuple[Examination, list[int]]:
    """What a worker of an audit holds, warmed up, and the records in the order in which it would meet them."""
    audit = Audit(Plan(data, Claim(0.5), draws=draws), oracle)
    opening, look = audit.opening, audit.looks[0]
    order = audit.in_random_order()
    examine = Examination(audit.plan, oracle, opening.card, opening.coupled, look, audit.drawn(look))
    examine(order[0])
    return examine, order


def per_record(data: Dataset, oracle: Any, sample: int, draws: int | None = None) -> float:
    """Milliseconds of CPU for one record in the midst of an audit, all of it."""
    examine, order = examination(data, oracle, draws)
    begin = max(0, (len(order) - 2 * sample) // 2)
    for index in order[begin : begin + sample]:  # the cells and nodes that most records share are known by then
        examine(index)
    chosen = order[begin + sample : begin + 2 * sample] or order[:sample]
    start = time.thread_time()
    for index in chosen:
        examine(index)
    return (time.thread_time() - start) * 1000 / len(chosen)
