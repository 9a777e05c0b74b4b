"""Mondrian of a table without some of its rows: what is reused of the run on D never changes a release."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.oracle import Ask
from harness.vocabulary.schema import Schema
from oracles.reference import Mondrian, leave_one_out
from tests.oracles.mondrian_tables import (
    KINDS,
    PLACES,
    SIZES,
    Declared,
    Rule,
    released,
    released_or_refused,
    rules,
    same,
    styles,
    tables,
)

DATA = Path(os.environ.get("HARNESS_DATA", Path(__file__).resolve().parents[2].parent / "shared" / "data"))
needs_adult = pytest.mark.skipif(
    not (DATA / "adult.csv").is_file(), reason=f"no adult.csv at {DATA}; point HARNESS_DATA at its folder"
)


@settings(max_examples=100, deadline=None)
@given(tables(), rules(), styles, st.sampled_from(["error", "generalise"]), st.sampled_from([0, 4, 48]), st.data())
def test_leaving_rows_out_is_anonymizing_the_table_without_them(
    table: Declared, rule: Rule, cells: Any, infeasible: Any, small: int, choice: st.DataObject
) -> None:
    with nodes_called_small(small):
        assert_leaving_out_is_anonymizing_without(table, rule, cells, infeasible, choice)


@contextmanager
def nodes_called_small(rows: int) -> Iterator[None]:
    """Nodes above this size are cut again only for rows whose absence may change them, a few at a time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(leave_one_out, "SMALL", rows)
        patch.setattr(leave_one_out, "MOST_AT_ONCE", 3 * rows)
        yield


def assert_leaving_out_is_anonymizing_without(
    table: Declared, rule: Rule, cells: Any, infeasible: Any, choice: st.DataObject
) -> None:
    frame, schema = table
    data = Dataset.from_frame(frame, schema, missing="keep")
    options: dict[str, Any] = {**rule, "cells": cells, "infeasible": infeasible}
    oracle, plain = Mondrian(**options), Mondrian(**options, incremental=False)
    assert same(released_or_refused(oracle, data), released_or_refused(plain, data))
    for drop in choice.draw(left_out(len(frame))):
        quick = released_or_refused(oracle, data, *drop)
        assert same(quick, released_or_refused(plain, data, *drop))
        assert same(quick, released_or_refused(plain, data.without(drop)))
        rest = frame.drop(index=list(drop)).reset_index(drop=True)
        if len(rest) and all(rest[column.name].notna().any() for column in schema.quasi):
            fresh = Dataset.from_frame(rest, schema, missing="keep")
            if cells == "ranges" or same_domains(data, fresh):  # regions tile the declared domain
                assert same(quick, released_or_refused(plain, fresh))


def left_out(size: int) -> st.SearchStrategy[list[tuple[int, ...]]]:
    """Some single rows, and some sets of several."""
    row = st.integers(0, size - 1)
    single = st.tuples(row)
    several = st.lists(row, min_size=min(2, size), max_size=min(5, size), unique=True).map(tuple)
    return st.lists(single | several, min_size=1, max_size=4, unique=True)


def same_domains(one: Dataset, other: Dataset) -> bool:
    return all(a.domain == b.domain for a, b in zip(one.readings, other.readings, strict=True))


def by_both_ways(rule: Rule, frame: pd.DataFrame, schema: Schema, drop: int) -> pd.DataFrame:
    """What is released without a record, the same by every way to ask."""
    data = Dataset.from_frame(frame, schema, missing="keep")
    quick, plain = Mondrian(**rule), Mondrian(**rule, incremental=False)
    rest = Dataset.from_frame(frame.drop(index=drop), schema, missing="keep")
    release = released(plain, rest)
    assert released(quick, data, drop).equals(release)
    with nodes_called_small(0):
        assert released(Mondrian(**rule), data, drop).equals(release)
    assert released(plain, data.without((drop,))).equals(release)
    return release


def test_a_category_that_vanishes_with_its_record_narrows_the_scale_of_everybody() -> None:
    """From a to d it is 3 of 4 steps as long as somebody has c, then 2 of 3; the numbers reach over 0.7."""
    schema = Schema(quasi={"g": "number", "c": "category", "n": "number"}, sensitive="s")
    frame = pd.DataFrame(
        {"g": [0] * 4 + [1] * 5, "c": list("adadebbec"), "n": [0, 0, 7, 7, 10, 0, 0, 10, 5], "s": list("stuvwxyzs")}
    )
    assert Mondrian(k=2).anonymize(frame, schema)["c"].tolist()[:4] == ["a", "d", "a", "d"]
    without = by_both_ways({"k": 2}, frame, schema, 8)
    assert without["n"].tolist()[:4] == ["0", "0", "7", "7"]


@pytest.mark.parametrize(
    ("ages", "k", "drop", "regions"),
    [
        ([1, 2, 2, 2, 3, 5, 5], 2, 4, ["(-inf, 5)", "[5, inf)"]),  # the cut was at the 3 that is gone
        ([None, 2, 3, 3, 3, 3], 1, 1, [None, "*"]),  # only the missing cell is left below the cut
    ],
)
def test_a_cut_beside_a_value_that_vanishes_with_its_record_moves(
    ages: list[int | None], k: int, drop: int, regions: list[str | None]
) -> None:
    schema = Schema(quasi={"n": "number"}, sensitive="s")
    frame = pd.DataFrame({"n": pd.Series(ages, dtype=float), "s": [f"{i}" for i in range(len(ages))]})
    release = by_both_ways({"k": k, "cells": "regions"}, frame, schema, drop)
    assert [None if pd.isna(cell) else cell for cell in release["n"].unique()] == regions


def test_a_child_of_a_hierarchy_may_vanish_with_its_only_record() -> None:
    schema = Schema(quasi={"h": KINDS["h"]}, sensitive="s")
    frame = pd.DataFrame({"h": ["Ålesund", "Bodø", "Çeşme", "Φ", "Φ"], "s": list("uvuvu")})
    assert Mondrian(k=2).anonymize(frame, schema)["h"].tolist() == ["world"] * 5
    assert by_both_ways({"k": 2}, frame, schema, 2)["h"].tolist() == ["north", "north", "Φ", "Φ"]


@pytest.mark.parametrize(
    "rule",
    [{"k": 1}, {"k": 3}, {"k": 2, "l": 2}, {"k": 2, "l": 3, "diversity": "distinct"}],
    ids=str,
)
@pytest.mark.parametrize("cells", ["ranges", "regions"])
@pytest.mark.parametrize("small", [0, 12])
def test_every_record_of_a_larger_table_can_be_left_out(rule: Rule, cells: Any, small: int) -> None:
    """Deep trees, where most of a path stays as it was."""
    rng = np.random.default_rng(5)
    size = 120
    frame = pd.DataFrame(
        {
            "n": rng.normal(size=size).round(1),
            "c": rng.choice(list("abcdefg"), size),
            "o": rng.choice(SIZES, size),
            "h": rng.choice(PLACES.leaves(PLACES.root), size),
            "s": rng.choice(list("uvwxyz"), size),
        }
    )
    schema = Schema(quasi={name: KINDS[name] for name in "ncoh"}, sensitive="s")
    data = Dataset.from_frame(frame, schema)
    quick, plain = Mondrian(**rule, cells=cells), Mondrian(**rule, cells=cells, incremental=False)
    with nodes_called_small(small):
        for drop in range(0, size, 5):
            assert released(quick, data, drop).equals(released(plain, data, drop)), drop


def test_what_is_released_without_a_record_does_not_depend_on_who_was_left_out_before() -> None:
    frame = pd.DataFrame({"n": np.arange(200) % 37, "c": [*"abcde"] * 40, "s": [*"uvwx"] * 50})
    schema = Schema(quasi={"n": "number", "c": "category"}, sensitive="s")
    data = Dataset.from_frame(frame, schema)
    one, other = Mondrian(k=3), Mondrian(k=3)
    forwards = [next(iter(one.answer(Ask(data, drop=(row,))))) for row in range(200)]
    backwards = [next(iter(other.answer(Ask(data, drop=(row,))))) for row in reversed(range(200))]
    for first, second in zip(forwards, reversed(backwards), strict=True):
        for a, b in zip(first.columns, second.columns, strict=True):
            assert a.palette.tolist() == b.palette.tolist()
            assert a.codes.tolist() == b.codes.tolist()


@needs_adult
@pytest.mark.parametrize("rule", [{"k": 5}, {"k": 5, "l": 4}], ids=str)
def test_adult_without_a_record_is_the_same_by_both_ways(rule: Rule) -> None:
    schema = Schema(
        quasi={
            "age": "number",
            "education": {"kind": "category", "hierarchy": DATA / "hierarchies" / "adult-education.csv"},
            "marital-status": "category",
            "hours-per-week": "number",
        },
        sensitive="occupation",
    )
    data = Dataset.from_frame(pd.read_csv(DATA / "adult.csv").sample(2000, random_state=0), schema)
    quick, plain = Mondrian(**rule), Mondrian(**rule, incremental=False)
    for drop in range(0, 2000, 67):
        assert released(quick, data, drop).equals(released(plain, data, drop)), drop
