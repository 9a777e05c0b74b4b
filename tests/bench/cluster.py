"""What a second worker of a Dask cluster brings to one audit, and what of the audit is serialised how often.

Clusters of one and of two workers on this machine examine the same persons in turn, with an anonymizer that computes
and with one that waits, for which a busy machine matters less. It leaves a line in a
file whenever it arrives in a process, which happens when the examination that holds it is unpacked there.
"""

from __future__ import annotations

import os
import pickle
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.auditing.events import Examined
from harness.auditing.procedure import Audit
from harness.executors import Cluster
from harness.executors.mapper import Item, Result, pack
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.oracle import Ask, Card
from harness.vocabulary.table import Table
from tests.bench.measuring import Section
from tests.bench.overhead import decades
from tests.bench.running import plan_for
from tests.bench.workers import computing

MILLISECONDS = 20.0  # that one question takes


@dataclass(frozen=True)
class Travelling:
    """An anonymizer that writes down in which process it arrives."""

    log: Path
    spend: Callable[[float], object]  # so many milliseconds, for a question
    card: Card = field(default=Card("travelling", randomized=False, keeps_data=True), compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, (self.log, self.spend)

    def answer(self, ask: Ask) -> Iterator[Table]:
        self.spend(MILLISECONDS)
        yield Table.from_frame(decades(ask.table.to_frame()))

    def close(self) -> None:
        """Nothing is held open."""


def _arrived(log: Path, spend: Callable[[float], object]) -> Travelling:
    with log.open("a") as file:
        file.write(f"{os.getpid()}\n")
    return Travelling(log, spend)


def waiting(milliseconds: float) -> None:
    time.sleep(milliseconds / 1000)


@dataclass
class WeighedCluster:
    """A cluster that knows how many bytes the function has, and the items that it was given."""

    inner: Cluster
    function_bytes: int = 0
    item_bytes: int = 0

    @property
    def workers(self) -> int:
        return self.inner.workers

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        self.function_bytes += len(pack(function))
        return self.inner.map(function, map(self._weighed, items))

    def _weighed(self, item: Item) -> Item:
        self.item_bytes += len(pickle.dumps(item))
        return item


def cluster(data: Dataset, records: int, turns: int) -> Section:
    """So many persons, each turn; of several turns the quickest counts."""
    rows = []
    for f, spend in (("computes", computing), ("waits", waiting)):
        one, two = (min((_row(data, records, many, spend) for _ in range(turns)), key=_cost) for many in (1, 2))
        rows += [{"f": f, **one, "gain": None}, {"f": f, **two, "gain": _cost(one) / _cost(two)}]
    return Section(
        f"A Dask cluster on this machine: {records} of {data.size} records, best of {turns} "
        f"(load {os.getloadavg()[0]:.1f})",
        rows,
        [
            "gain: of the second worker by the wall clock, of which other load on the machine takes its part",
            f"ms a record: between the first and the last person; one question takes {MILLISECONDS:g} ms",
            "arrivals of f: how often the examination, which holds f and D, was unpacked in any worker",
        ],
    )


def _cost(row: dict[str, Any]) -> float:
    return float(row["ms a record"])


def _row(data: Dataset, records: int, many: int, spend: Callable[[float], object]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "arrivals")
        executor = WeighedCluster(Cluster(f"local:{many}"))
        audit = Audit(plan_for(data, records=records), Travelling(log, spend), executor)
        times = [time.perf_counter() for event in audit.events() if isinstance(event, Examined)]
        arrivals = log.read_text().split()
    return {
        "workers": many,
        "ms a record": (times[-1] - times[0]) * 1000 / (len(times) - 1),
        "examination, bytes": executor.function_bytes,
        "arrivals of f": len(arrivals),
        "items, bytes a record": executor.item_bytes / len(times),
    }
