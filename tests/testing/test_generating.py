"""Strategies: every draw is a table of the schema, and shrinking ends in the simplest one."""

import pandas as pd
import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from harness import strategies
from harness.vocabulary.errors import InputError
from tests.testing.boxes import CITIES, DISEASES, SCHEMA


@given(df=strategies.tables(SCHEMA, min_rows=2, max_rows=9))
def test_a_table_has_the_columns_and_values_of_its_schema(df: pd.DataFrame) -> None:
    assert list(df.columns) == ["age", "city", "disease"]
    assert 2 <= len(df) <= 9
    assert df.age.between(0, 99).all()
    assert set(df.city) <= set(CITIES)
    assert set(df.disease) <= set(DISEASES)


@given(pair=strategies.neighbours(SCHEMA, max_rows=9))
def test_neighbours_differ_in_one_row(pair: tuple[pd.DataFrame, pd.DataFrame, int]) -> None:
    whole, without, row = pair
    assert whole.drop(index=row).to_numpy().tolist() == without.to_numpy().tolist()


@given(leaves=st.lists(st.text("abc", min_size=1), min_size=1, max_size=9, unique=True), data=st.data())
def test_a_hierarchy_has_exactly_its_leaves(leaves: list[str], data: st.DataObject) -> None:
    hierarchy = data.draw(strategies.hierarchies(leaves))
    assert list(hierarchy.leaves(hierarchy.root)) == leaves


def test_shrinking_ends_in_the_smallest_and_simplest_table() -> None:
    smallest = find(
        strategies.tables(SCHEMA), lambda df: (df.age >= 60).sum() >= 2, settings=settings(database=None, deadline=None)
    )
    assert smallest.to_numpy().tolist() == [[60, "Bonn", "cold"], [60, "Bonn", "cold"]]


def test_sizes_that_cannot_be_are_named() -> None:
    with pytest.raises(InputError, match="0 <= min_rows <= max_rows"):
        strategies.tables(SCHEMA, min_rows=5, max_rows=3)
    with pytest.raises(InputError, match="at least 2 rows"):
        strategies.neighbours(SCHEMA, min_rows=1)
