"""What the harness adds to somebody else's anonymizer: a callable on DataFrames, asked once per record."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pandas as pd

from harness.vocabulary.dataset import Dataset
from oracles.clients.isolated import Isolated, Opening
from oracles.clients.local import Local
from tests.anonymizers import chunks
from tests.bench.measuring import Section
from tests.bench.running import held_work, plan_for

Anonymizer = Callable[[pd.DataFrame], pd.DataFrame]


class MeteredAnonymizer:
    """An anonymizer that knows how much CPU it has used."""

    def __init__(self, function: Anonymizer) -> None:
        self.function, self.seconds = function, 0.0

    def __call__(self, data: pd.DataFrame) -> pd.DataFrame:
        start = time.process_time()
        try:
            return self.function(data)
        finally:
            self.seconds += time.process_time() - start


def decades(data: pd.DataFrame) -> pd.DataFrame:
    """Ages as decades, and education suppressed below twenty people: as quick as pandas allows."""
    low = data["age"] // 10 * 10
    rare = data.groupby("education")["education"].transform("size") < 20
    return data.assign(
        age="[" + low.astype(str) + ", " + (low + 9).astype(str) + "]", education=data["education"].mask(rare, "*")
    )


METERED_CHUNKS, METERED_DECADES = MeteredAnonymizer(chunks), MeteredAnonymizer(decades)


def overhead(data: Dataset, sample: int) -> Section:
    rows = []
    for name, metered, size in (("chunks", METERED_CHUNKS, sample), ("decades", METERED_DECADES, 4 * sample)):
        address = f"{__name__}:METERED_{name.upper()}"
        with closing(Isolated(Opening(address))) as isolated:
            rows.append(_row(data, name, "this process", Local(metered), _cpu_and_own, size))
            rows.append(_row(data, name, "its own process", isolated, _cpu_of_both, size))
    return Section(
        f"Somebody else's anonymizer behind a callable, {data.size} records: milliseconds of CPU per record", rows
    )


def _cpu_and_own(oracle: Any) -> tuple[float, float]:
    """Seconds of CPU that this process has used, and the anonymizer's part of them."""
    return time.process_time(), oracle.function.seconds


def _cpu_of_both(isolated: Isolated) -> tuple[float, float]:
    used, own = isolated.inspect_inside(_cpu_and_own)
    return time.process_time() + used, own


def _row(
    data: Dataset, name: str, place: str, oracle: Any, meter: Callable[[Any], tuple[float, float]], sample: int
) -> dict[str, Any]:
    examine, items, _ = held_work(plan_for(data), oracle)
    examine(items[0])
    used_before, own_before = meter(oracle)
    start = time.perf_counter()
    for item in items[1 : 1 + sample]:
        examine(item)
    elapsed = time.perf_counter() - start
    used, own = (after - before for after, before in zip(meter(oracle), (used_before, own_before), strict=True))
    return {
        "anonymizer": name,
        "runs in": place,
        "its own time": own * 1000 / sample,
        "the harness": (used - own) * 1000 / sample,
        "added": f"{(used - own) / own:.1%}",
        "by the clock": elapsed * 1000 / sample,
    }
