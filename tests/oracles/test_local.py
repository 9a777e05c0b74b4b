"""A callable of this process as an oracle."""

from typing import Any

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.oracle import Ask
from harness.vocabulary.schema import Schema
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
    for drop in ((0,), (data.size - 1,), (1,), ()):  # in another question about the same data
        (release,) = tables(as_oracle(spoil), Ask(data, drop=drop))
        assert release.digest == data.table.without(drop).digest


COLUMNS: dict[str, Any] = {
    "age": st.integers(0, 9),
    "weight": st.sampled_from([0.5, 1.5, None]),
    "city": st.sampled_from(["Bern", "Zürich", "", None]),
    "ill": st.booleans(),
}


@given(st.lists(st.fixed_dictionaries(COLUMNS), min_size=1, max_size=8), st.data())
def test_a_callable_is_given_the_very_frame_of_the_table_that_is_asked_for(rows: list[Any], choice: Any) -> None:
    frame = pd.DataFrame(rows).assign(age=lambda one: one["age"].astype(np.int64))
    schema = Schema({"age": "number", "weight": "number", "city": "category"}, "ill")
    data = Dataset.from_frame(frame, schema, missing="keep")
    drop = tuple(sorted(choice.draw(st.sets(st.integers(0, len(rows) - 1)))))
    ask, seen = Ask(data, drop=drop), []

    def look(given: pd.DataFrame) -> pd.DataFrame:
        seen.append(given)
        return given

    tables(as_oracle(look), ask)
    pd.testing.assert_frame_equal(seen[0], ask.table.to_frame())
