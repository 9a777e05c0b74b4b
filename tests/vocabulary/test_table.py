"""Tables: what a column keeps of the values it is made from, and what a digest says."""

import pickle
import random
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.vocabulary.errors import InputError, ReleaseError
from harness.vocabulary.table import Cells, Table

COLUMNS = st.one_of(
    st.lists(st.integers(-(2**53), 2**53), min_size=1, max_size=12),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=12),
    st.lists(st.one_of(st.none(), st.text(max_size=6)), min_size=1, max_size=12),
    st.lists(st.booleans(), min_size=1, max_size=12),
)


@given(COLUMNS)
def test_cells_spell_out_to_the_column_they_came_from(values: list[Any]) -> None:
    spelled = Cells.of(values).values().tolist()
    assert spelled == values


@given(COLUMNS, st.data())
def test_a_column_without_a_row_is_the_column_less_that_row(values: list[Any], data: st.DataObject) -> None:
    row = data.draw(st.integers(0, len(values) - 1))
    assert Cells.of(values).without([row]).values().tolist() == values[:row] + values[row + 1 :]


@given(COLUMNS)
def test_a_column_arrives_in_another_process_as_it_was_sent(values: list[Any]) -> None:
    cells = Cells.of(values)
    arrived = pickle.loads(pickle.dumps(cells))  # noqa: S301
    assert arrived.values().tolist() == values
    assert (arrived.codes.dtype, arrived.palette.dtype) == (cells.codes.dtype, cells.palette.dtype)


@pytest.mark.parametrize(("cells", "width"), [(1, 1), (128, 1), (129, 2), (2**15, 2), (2**15 + 1, 4)])
def test_codes_travel_as_narrow_as_the_palette_allows(cells: int, width: int) -> None:
    column = Cells(np.arange(cells), np.full(1_000_000, cells - 1, dtype=np.int32))
    assert width * 1_000_000 <= len(pickle.dumps(column)) - 8 * cells < width * 1_000_000 + 1_000
    assert (pickle.loads(pickle.dumps(column)).codes == cells - 1).all()  # noqa: S301


@pytest.mark.parametrize("code", [300, 2, -2, -200])
def test_a_code_outside_its_palette_does_not_travel_as_another(code: int) -> None:
    column = Cells(np.array([1.5, 2.5]), np.array([0, code, 1], dtype=np.int32))
    with pytest.raises(ReleaseError, match="a code of a column is outside its palette of 2 cells"):
        pickle.dumps(column)


@given(COLUMNS, st.randoms())
def test_the_digest_says_what_the_rows_say_whatever_the_palette(values: list[Any], shuffler: random.Random) -> None:
    cells = Cells.of(values)
    order = list(range(len(cells.palette)))
    shuffler.shuffle(order)
    place = np.append(np.argsort(order), [-1])  # a missing cell's -1 picks the last entry
    unused = np.append(cells.palette[order], cells.palette[:1])
    shuffled = Cells(unused, place[cells.codes].astype(np.int32))
    assert Table(("a",), (shuffled,)).digest == Table(("a",), (cells,)).digest


@given(st.lists(st.text(max_size=2), max_size=4), st.lists(st.text(max_size=2), max_size=4))
def test_tables_have_one_digest_exactly_if_they_say_the_same(one: list[str], other: list[str]) -> None:
    digests = [Table(("a",), (Cells.of(values),)).digest for values in (one, other)]
    assert (digests[0] == digests[1]) == (one == other)


def test_a_frame_comes_back_with_its_types() -> None:
    frame = pd.DataFrame({"i": [3, 1, 3], "f": [0.5, np.nan, 2.0], "s": ["x", None, "ü"], "b": [True, False, True]})
    again = Table.from_frame(frame).to_frame()
    pd.testing.assert_frame_equal(again, frame)


def test_intervals_lists_and_mixed_cells_become_the_text_their_maker_prints() -> None:
    mixed = [pd.Interval(20, 30), 25, [1, 2], "*", None]
    assert Cells.of(pd.Series(mixed, dtype=object)).values().tolist() == ["(20, 30]", "25", "[1, 2]", "*", None]


def test_dates_become_plain_dates_and_categories_their_values() -> None:
    assert Cells.of(pd.DatetimeIndex(["1987-02-13", pd.NaT])).values().tolist() == ["1987-02-13", None]
    assert Cells.of(pd.Categorical([3, 1, 3])).values().tolist() == [3, 1, 3]
    assert Cells.of(pd.Categorical(["b", None])).values().tolist() == ["b", None]


def test_nullable_integers_keep_their_gaps() -> None:
    values = Cells.of(pd.Series([1, None, 3], dtype="Int64")).values()
    assert values[0] == 1
    assert np.isnan(values[1])


def test_changing_the_frame_does_not_change_the_table() -> None:
    table = Table.from_frame(pd.DataFrame({"a": [1, 2, 3]}))
    frame = table.to_frame()
    frame.loc[:, "a"] = 0
    assert table.to_frame()["a"].tolist() == [1, 2, 3]


def test_a_column_that_stands_twice_is_refused() -> None:
    frame = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(InputError, match="column 'a' occurs more than once"):
        Table.from_frame(frame)
