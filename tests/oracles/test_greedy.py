"""Greedy k-anonymization: the classes of the plain algorithm, what it refuses, and what it is as an oracle."""

import copy
import time
from collections.abc import Mapping

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import harness
import oracles
from harness.synthetic_census import people as invented_people
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError
from harness.vocabulary.hierarchy import Hierarchy
from harness.vocabulary.oracle import Ask
from harness.vocabulary.schema import Schema
from oracles.reference import Greedy
from tests.data import ADULT, PEOPLE, adult, folder, needs_data
from tests.oracles.plain_greedy import PlainColumn, lost_leaves, on_categories, on_hierarchy, on_numbers, plain_greedy

CITIES = Hierarchy.from_nested({"*": {"north": ["a", "b"], "south": {"east": ["c", "d"], "west": ["e", "f", "g"]}}})
QUASI = {"city": {"hierarchy": CITIES}, "age": "number", "sex": "category"}
SCHEMA = Schema(QUASI, "illness")


def classes_of(release: pd.DataFrame, quasi: Mapping[str, object]) -> list[list[int]]:
    return sorted(sorted(map(int, rows)) for rows in release.groupby(list(quasi), dropna=False).indices.values())


def plain_columns(frame: pd.DataFrame) -> dict[str, PlainColumn]:
    return {
        "city": on_hierarchy(CITIES),
        "age": on_numbers(frame["age"].tolist()),
        "sex": on_categories(frame["sex"].tolist()),
    }


def people(rows: list[tuple[str, int, str]]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["city", "age", "sex"])
    return frame.assign(illness=[f"{row % 2}" for row in range(len(frame))])


tables = st.lists(
    st.tuples(st.sampled_from("abcdefg"), st.integers(20, 26), st.sampled_from("FM")), min_size=1, max_size=14
).map(people)


@settings(max_examples=60, deadline=None)
@given(frame=tables, k=st.integers(1, 5))
def test_the_classes_are_those_of_the_plain_algorithm(frame: pd.DataFrame, k: int) -> None:
    if len(frame) < k:
        with pytest.raises(InputError, match="lower k"):
            Greedy(k).anonymize(frame, SCHEMA)
        return
    release = Greedy(k).anonymize(frame, SCHEMA)
    assert classes_of(release, QUASI) == plain_greedy(frame, plain_columns(frame), k)


@settings(max_examples=30, deadline=None)
@given(frame=tables, k=st.integers(1, 4))
def test_every_class_has_k_rows_and_every_cell_covers_its_own_value(frame: pd.DataFrame, k: int) -> None:
    if len(frame) >= k:
        release = Greedy(k).anonymize(frame, SCHEMA)
        found = harness.metrics(release, QUASI, "illness", frame)
        assert found["k"] >= k
        assert found["outside"] in (None, {"cells": 0, "rows": 0})  # None: with one row there is no order to keep


def test_a_range_of_numbers_has_the_values_of_the_data_between_its_ends_as_leaves() -> None:
    """Leaves 1, 2, 3, 90: the row 3 joins 2, not 90, and [1, 90] would have all four."""
    frame = pd.DataFrame({"age": [1, 2, 3, 90], "s": list("abab")})
    release = Greedy(k=2).anonymize(frame, Schema({"age": "number"}, "s"))
    assert release["age"].tolist() == ["[1, 2]", "[1, 2]", "[3, 90]", "[3, 90]"]


def test_a_missing_cell_has_only_a_star_in_common_with_others() -> None:
    frame = pd.DataFrame({"age": [1, None], "city": ["a", None], "sex": [None, None], "illness": ["x", "y"]})
    release = Greedy(k=2).anonymize(frame, Schema(QUASI, "illness"))
    assert release[["city", "age", "sex"]].isna().values.tolist() == [[False, False, True]] * 2
    assert release[["city", "age"]].values.tolist() == [["*", "*"]] * 2


def test_dates_and_ordered_values_become_ranges() -> None:
    frame = pd.DataFrame({
        "born": ["1980-01-01", "1980-02-01", "1990-01-01", "1991-01-01"],
        "level": ["low", "mid", "mid", "high"],
        "s": list("abab"),
    })  # fmt: skip
    schema = Schema({"born": "date", "level": {"kind": "ordered", "order": ["low", "mid", "high"]}}, "s")
    release = Greedy(k=2).anonymize(frame, schema)
    assert set(release["born"]) == {"[1980-01-01, 1980-02-01]", "[1990-01-01, 1991-01-01]"}
    assert set(release["level"]) == {"{'low', 'mid'}", "{'high', 'mid'}"}


def test_k_larger_than_the_table_is_an_error() -> None:
    with pytest.raises(InputError, match=r"greedy: k = 3, but the table has 2 rows; lower k or give more rows"):
        Greedy(k=3).anonymize(pd.DataFrame({"age": [1, 2], "s": ["a", "b"]}), Schema({"age": "number"}, "s"))


def test_a_hierarchy_that_does_not_know_a_value_is_an_error() -> None:
    frame = pd.DataFrame({"city": ["a", "z"], "s": ["a", "b"]})
    with pytest.raises(InputError, match=r"column 'city': raw value 'z' is not a leaf of its hierarchy; add a line"):
        Greedy(k=2).anonymize(frame, Schema({"city": {"hierarchy": CITIES}}, "s"))


@pytest.mark.parametrize("wrong", [0, -1, 2.5, True, "5"])
def test_k_must_be_a_whole_number(wrong: object) -> None:
    with pytest.raises(InputError, match="greedy: k"):
        Greedy(k=wrong)  # type: ignore[arg-type]


def test_it_is_an_oracle_at_an_address() -> None:
    frame = pd.DataFrame({"city": list("aabbce"), "age": [20, 21, 22, 23, 24, 25], "sex": list("FMFMFM")})
    data = Dataset.from_frame(frame.assign(illness=list("xyxyxy")), SCHEMA)
    oracle = oracles.open("reference:greedy", k=2, proportional=True)
    assert oracle.card.name == "greedy(k=2, proportional=True)"
    (release,) = oracle.answer(Ask(data, drop=(1,)))
    (again,) = copy.copy(oracle).answer(Ask(data, drop=(1,)))  # as a worker gets it
    assert release.digest == again.digest
    alone = Dataset.within(SCHEMA, data.table.without([1]), [reading.domain for reading in data.readings])
    assert release.digest == next(iter(oracle.answer(Ask(alone)))).digest


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 5, 10])
def test_the_classes_of_adult_are_those_of_the_plain_algorithm(k: int) -> None:
    """Eight quasi-identifiers, as in the text's §IV-A."""
    place = folder()
    assert place is not None
    names = ["age", "sex", "race", "marital-status", "education", "native-country", "workclass", "occupation"]
    frame = adult(60)[[*names, "income"]]
    trees = {name: Hierarchy.from_csv(place / "hierarchies" / f"adult-{name}.csv") for name in names}
    release = Greedy(k).anonymize(frame, Schema({name: {"hierarchy": trees[name]} for name in names}, "income"))
    plain = plain_greedy(frame, {name: on_hierarchy(tree) for name, tree in trees.items()}, k)
    assert classes_of(release, trees) == plain


MOST_COST = 1.1  # of the plain algorithm's


def assert_costs_at_most_a_tenth_more(frame: pd.DataFrame, quasi: Mapping[str, object], sensitive: str) -> None:
    """With k = 5, in lost leaves of all cells."""
    columns = {
        name: on_hierarchy(tree["hierarchy"]) if isinstance(tree, dict)
        else on_numbers(frame[name].tolist()) if tree == "number"
        else on_categories(frame[name].tolist())
        for name, tree in quasi.items()
    }  # fmt: skip
    classes = classes_of(Greedy(5).anonymize(frame, Schema(quasi, sensitive)), quasi)
    ours = lost_leaves(frame, columns, classes)
    plain = lost_leaves(frame, columns, plain_greedy(frame, columns, 5))
    assert min(map(len, classes)) >= 5
    assert 0 < ours <= MOST_COST * plain, f"{float(ours):.1f} against {float(plain):.1f}"


@needs_data
@pytest.mark.slow
def test_a_thousand_records_of_adult_cost_at_most_a_tenth_more_than_by_the_plain_algorithm() -> None:
    place = folder()
    assert place is not None
    trees = {name: place / "hierarchies" / f"adult-{name}.csv" for name in ADULT}
    quasi = {
        name: {"hierarchy": Hierarchy.from_csv(trees[name])} if trees[name].is_file() else kind
        for name, kind in ADULT.items()
    }
    assert_costs_at_most_a_tenth_more(adult(1000)[[*ADULT, "income"]], quasi, "income")


def test_invented_people_cost_at_most_a_tenth_more_than_by_the_plain_algorithm() -> None:
    assert_costs_at_most_a_tenth_more(invented_people(300), PEOPLE, "occupation")


@pytest.mark.slow
def test_ten_thousand_records_take_less_than_a_minute() -> None:
    rng = np.random.default_rng(0)
    count = 10_000
    frame = pd.DataFrame({
        "age": rng.integers(17, 90, count),
        "hours": rng.integers(1, 99, count),
        "city": rng.choice(list("abcdefg"), count),
        "sex": rng.choice(["F", "M"], count),
        "level": rng.choice(list("pqrstuvw"), count),
        "illness": rng.choice(list("xyz"), count),
    })  # fmt: skip
    quasi = {"age": "number", "hours": "number", "city": {"hierarchy": CITIES}, "sex": "category", "level": "category"}
    start = time.process_time()
    release = Greedy(k=5).anonymize(frame, Schema(quasi, "illness"))
    assert time.process_time() - start < 60
    assert harness.metrics(release, list(quasi), "illness")["k"] >= 5
