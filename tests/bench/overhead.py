"""What the harness adds to somebody else's anonymizer: a callable on DataFrames, asked once per record."""

import time
from typing import Any

import pandas as pd

from harness.vocabulary.dataset import Dataset
from oracles.clients.local import Local
from tests.anonymizers import chunks
from tests.bench.measuring import Section, examination


class Timed:
    """An anonymizer that knows how much CPU it has used."""

    def __init__(self, function: Any) -> None:
        self.function, self.seconds = function, 0.0

    def __call__(self, data: pd.DataFrame) -> pd.DataFrame:
        start = time.thread_time()
        try:
            return self.function(data)
        finally:
            self.seconds += time.thread_time() - start


def decades(data: pd.DataFrame) -> pd.DataFrame:
    """Ten years for one, and education suppressed below twenty people: as quick as pandas allows."""
    low = data["age"] // 10 * 10
    rare = data.groupby("education")["education"].transform("size") < 20
    return data.assign(
        age="[" + low.astype(str) + ", " + (low + 9).astype(str) + "]", education=data["education"].mask(rare, "*")
    )


def overhead(data: Dataset, sample: int) -> Section:
    rows = [_row(data, chunks, sample), _row(data, decades, 4 * sample)]
    return Section(
        f"Somebody else's anonymizer behind a callable, {data.size} records: milliseconds of CPU per record", rows
    )


def _row(data: Dataset, function: Any, sample: int) -> dict[str, Any]:
    timed = Timed(function)
    examine, order = examination(data, Local(timed))
    timed.seconds = 0.0
    start = time.thread_time()
    for index in order[1 : 1 + sample]:
        examine(index)
    total = time.thread_time() - start
    own = total - timed.seconds
    return {
        "anonymizer": function.__name__,
        "its own time": timed.seconds * 1000 / sample,
        "the harness": own * 1000 / sample,
        "added": f"{own / timed.seconds:.1%}",
    }
