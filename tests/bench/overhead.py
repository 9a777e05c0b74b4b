"""What the harness adds to somebody else's anonymizer: a callable on DataFrames, asked once per record."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pandas as pd

from harness.vocabulary.dataset import Dataset
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


def overhead(data: Dataset, sample: int) -> Section:
    rows = [_row(data, "chunks", chunks, sample), _row(data, "decades", decades, 4 * sample)]
    return Section(
        f"Somebody else's anonymizer behind a callable, {data.size} records: milliseconds of CPU per record", rows
    )


def _row(data: Dataset, name: str, function: Anonymizer, sample: int) -> dict[str, Any]:
    metered = MeteredAnonymizer(function)
    examine, items, _ = held_work(plan_for(data), Local(metered))
    examine(items[0])
    metered.seconds = 0.0
    start = time.process_time()
    for item in items[1 : 1 + sample]:
        examine(item)
    own = time.process_time() - start - metered.seconds
    return {
        "anonymizer": name,
        "its own time": metered.seconds * 1000 / sample,
        "the harness": own * 1000 / sample,
        "added": f"{own / metered.seconds:.1%}",
    }
