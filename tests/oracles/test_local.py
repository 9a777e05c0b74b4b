"""A callable of this process as an oracle."""

import pandas as pd

from harness.vocabulary.oracle import Ask
from oracles import as_oracle
from tests.oracles.asking import tables
from tests.oracles.filters import dataset


def spoil(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Returns what it was given, after it has damaged every column of it in place."""
    given = frame.copy()
    for name in list(frame.columns):
        frame.loc[:, name] = frame[name].iloc[0]
    frame.pop(frame.columns[0])
    return given


def test_a_callable_may_spoil_its_argument_without_harm_to_later_draws() -> None:
    data = dataset()
    for release in tables(as_oracle(spoil), Ask(data, draws=3, seed=1)):
        assert release.digest == data.table.digest
    without = tables(as_oracle(spoil), Ask(data, drop=(0,), draws=2, seed=1))
    assert [table.digest for table in without] == [data.table.without((0,)).digest] * 2
