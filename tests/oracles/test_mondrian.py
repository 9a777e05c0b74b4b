"""Mondrian: its classes, what it makes of a table that breaks its rule, and what it is as an oracle."""

import pickle
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError, OracleError
from harness.vocabulary.oracle import Ask, Oracle
from harness.vocabulary.release import Reader
from harness.vocabulary.schema import Schema
from oracles.reference import Mondrian
from tests.oracles import recursion
from tests.oracles.mondrian_tables import (
    FIVE,
    PAPER,
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


def by_recursion(frame: pd.DataFrame, schema: Schema, rule: Rule) -> list[list[int]] | None:
    """The classes of the plain recursion, or None if the whole table breaks the rule."""
    plain = frame.astype(object).where(frame.notna(), None)
    rows = [(row[:-1], row[-1]) for row in plain.itertuples(index=False, name=None)]
    secrets = [secret for _, secret in rows]
    if not recursion.allowed(secrets, secrets, **rule):
        return None
    scales = []
    for number, column in enumerate(schema.quasi):
        values = [quasi[number] for quasi, _ in rows]
        present = sorted({value for value in values if value is not None})
        places: dict[str, Callable[[Any], Any]] = {
            "n": float, "c": present.index, "o": SIZES.index, "h": str,
            "d": lambda text: date.fromisoformat(text).toordinal(),
        }  # fmt: skip
        scales.append(recursion.Scale(places[column.name], values, column.hierarchy))
    return recursion.classes(rows, scales, lambda part: recursion.allowed(part, secrets, **rule))


def printed_classes(frame: pd.DataFrame, quasi: list[str]) -> set[frozenset[int]]:
    """Rows that print the same quasi-identifiers, as sets of row numbers."""
    groups = frame[quasi].fillna("(missing)").groupby(quasi, sort=False)
    return {frozenset(rows) for rows in groups.indices.values()}


# The paper


@pytest.mark.parametrize(
    ("drop", "classes"),
    [
        ((), [{1, 2}, {3, 4, 5}]),
        ((1,), [{2, 3}, {4, 5}]),
        ((2,), [{1, 3}, {4, 5}]),
        ((3,), [{1, 2}, {4, 5}]),
        ((4,), [{1, 2}, {3, 5}]),
        ((5,), [{1, 2}, {3, 4}]),
    ],
)
def test_the_papers_example_has_the_papers_classes(drop: tuple[int, ...], classes: list[set[int]]) -> None:
    """v2, Tables 1 and 2."""
    data = Dataset.from_frame(FIVE, PAPER)
    release = released(Mondrian(k=2, cells="regions"), data, *[person - 1 for person in drop])
    people = np.array([person for person in range(1, 6) if person not in drop])
    assert [set(people[rows]) for rows in release.groupby("age", sort=False).indices.values()] == classes


# Classes


@settings(max_examples=200, deadline=None)
@given(tables(), rules())
def test_the_classes_are_those_of_the_plain_recursion(table: Declared, rule: Rule) -> None:
    frame, schema = table
    expected = by_recursion(frame, schema, rule)
    if expected is None:
        with pytest.raises(InputError, match="lower"):
            Mondrian(**rule).anonymize(frame, schema)
        return
    release = Mondrian(**rule, cells="regions").anonymize(frame, schema)
    printed = printed_classes(release, [column.name for column in schema.quasi])
    classes = {frozenset(part) for part in expected}
    if all(frame[column.name].notna().all() for column in schema.quasi):
        assert printed == classes
    else:  # a mixture with missing cells prints `*`, and so may several classes
        assert all(any(part <= alike for alike in printed) for part in classes)


@settings(max_examples=100, deadline=None)
@given(tables(), rules(), styles, st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(table: Declared, rule: Rule, cells: Any, random: Any) -> None:
    frame, schema = table
    order = random.sample(range(len(frame)), len(frame))
    one, other = (
        released_or_refused(Mondrian(**rule, cells=cells), Dataset.from_frame(rows, schema, missing="keep"))
        for rows in (frame, frame.iloc[order].reset_index(drop=True))
    )
    assert same(one if isinstance(one, str) else one.iloc[order].reset_index(drop=True), other)


def test_a_constant_table_is_one_class() -> None:
    frame = pd.DataFrame({"age": [40] * 6, "gender": ["F"] * 6, "disease": list("ababab")})
    release = Mondrian(k=2).anonymize(frame, PAPER)
    assert release["age"].tolist() == ["40"] * 6
    assert release["gender"].tolist() == ["F"] * 6


def test_a_single_row_with_k_1_is_released_as_it_is() -> None:
    assert Mondrian(k=1).anonymize(FIVE[:1], PAPER).astype(str).equals(FIVE[:1].astype(str))


def test_ties_at_the_median_stay_together_on_its_nearer_side() -> None:
    schema = Schema(quasi={"age": "number"}, sensitive="s")
    frame = pd.DataFrame({"age": [1, 2, 2, 2, 2, 3, 4, 5], "s": list("abcdefgh")})
    assert Mondrian(k=3).anonymize(frame, schema)["age"].tolist() == ["[1, 2]"] * 5 + ["[3, 5]"] * 3
    assert Mondrian(k=4).anonymize(frame, schema)["age"].tolist() == ["[1, 5]"] * 8


def test_the_widest_column_is_measured_against_the_table() -> None:
    schema = Schema(quasi={"a": "number", "b": "number"}, sensitive="s")
    frame = pd.DataFrame({"a": [0, 1000, 500, 500], "b": [0, 0, 1, 1], "s": list("wxyz")})
    release = Mondrian(k=2).anonymize(frame, schema)  # a tie of widths goes to a, whose median cut leaves one row
    assert release["b"].tolist() == ["0", "0", "1", "1"]


def test_t_closeness_bounds_the_total_variation_of_every_class() -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"age": rng.integers(0, 80, 300), "gender": "F", "disease": rng.choice(list("abc"), 300)})
    release = Mondrian(k=2, t=0.2).anonymize(frame, PAPER)
    table = frame["disease"].value_counts(normalize=True)
    classes = release.groupby("age")["disease"]
    assert classes.ngroups > 3
    for _, members in classes:
        assert members.value_counts(normalize=True).sub(table, fill_value=0).abs().sum() / 2 <= 0.2 + 1e-12


def test_classes_are_diverse_in_the_joint_value_of_many_sensitive_columns() -> None:
    """Six columns of 500 values each have more joint values than could be counted one by one."""
    rng = np.random.default_rng(4)
    size, secrets = 500, [f"s{number}" for number in range(6)]
    frame = pd.DataFrame({"age": rng.integers(0, 60, size), **{name: rng.permutation(size) for name in secrets}})
    schema = Schema(quasi={"age": "number"}, sensitive=secrets)
    release = Mondrian(l=3).anonymize(frame, schema)
    joint = release.groupby("age")[secrets].apply(lambda members: len(members.drop_duplicates()))
    assert len(joint) > 10
    assert joint.min() >= 3


# A table that breaks the rule as a whole


@pytest.mark.parametrize(
    ("options", "drop", "message"),
    [
        ({"k": 6}, (), "k = 6, but the table has 5 rows"),
        ({"k": 5}, (0,), "k = 5, but the table has 4 rows"),
        ({"k": 3}, (0, 2, 4), "k = 3, but the table has 2 rows"),
        ({"k": 1, "l": 2}, (), "l = 2, but the most frequent sensitive value makes up 4 of its 5 rows"),
        ({"k": 1, "l": 2, "diversity": "distinct"}, (2,), "l = 2, but the table has 1 different sensitive values"),
    ],
)
@pytest.mark.parametrize("cells", ["ranges", "regions"])
def test_a_table_that_breaks_the_rule_is_an_error_or_fully_generalised(
    options: Rule, drop: tuple[int, ...], message: str, cells: Any
) -> None:
    """v1 reports full generalisation where no other release has the property."""
    data = Dataset.from_frame(FIVE, PAPER)
    with pytest.raises(InputError) as caught:
        Mondrian(**options, cells=cells).anonymize(FIVE.drop(index=list(drop)), PAPER)
    with pytest.raises(OracleError) as asked:
        released(Mondrian(**options, cells=cells), data, *drop)
    assert str(asked.value) == str(caught.value)
    assert message in str(caught.value)
    assert "; lower" in str(caught.value)
    assert 'infeasible = "generalise"' in str(caught.value)
    (release,) = Mondrian(**options, cells=cells, infeasible="generalise").answer(Ask(data, drop))
    rest = FIVE.drop(index=list(drop)).reset_index(drop=True)
    assert release.to_frame().equals(rest.assign(age="*", gender="*"))
    parameter = message.partition(",")[0]
    assert release.notes == (
        f"mondrian: all rows together break {parameter}, so that every quasi-identifier is suppressed",
    )


def test_the_reader_passes_on_what_the_anonymizer_says_about_a_release() -> None:
    data = Dataset.from_frame(FIVE, PAPER)
    (release,) = Mondrian(k=6, infeasible="generalise").answer(Ask(data))
    assert Reader(data).read(release).notes == (f"the oracle says: {release.notes[0]}",)
    (release,) = Mondrian(k=2).answer(Ask(data))
    assert Reader(data).read(release).notes == ()


def test_what_is_said_about_a_release_is_no_part_of_its_digest() -> None:
    (release,) = Mondrian(k=6, infeasible="generalise").answer(Ask(Dataset.from_frame(FIVE, PAPER)))
    silent = type(release)(release.names, release.columns)
    assert release.notes
    assert release.digest == silent.digest


def test_a_data_frame_that_breaks_the_rule_is_generalised_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="break k = 6"):
        assert set(Mondrian(k=6, infeasible="generalise").anonymize(FIVE, PAPER)["age"]) == {"*"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Mondrian(k=2).anonymize(FIVE, PAPER)


# The oracle


def test_it_is_an_oracle_that_says_what_it_does() -> None:
    oracle = Mondrian(k=3, l=2)
    assert isinstance(oracle, Oracle)
    assert oracle.card.name == "mondrian(k=3, l=2, diversity=probability, cells=ranges)"
    assert oracle.card.randomized is False


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({}, "mondrian(k=5, cells=ranges)"),
        ({"l": 3}, "mondrian(k=1, l=3, diversity=probability, cells=ranges)"),
        ({"t": 0.2}, "mondrian(k=1, t=0.2, cells=ranges)"),
        ({"k": 5, "l": 3, "infeasible": "generalise"},
         "mondrian(k=5, l=3, diversity=probability, cells=ranges, infeasible=generalise)"),
    ],
)  # fmt: skip
def test_k_is_five_only_if_nothing_else_is_asked_for_and_the_card_says_so(options: Rule, name: str) -> None:
    assert Mondrian(**options).card.name == name


def test_l_alone_makes_the_classes_of_k_1_and_l() -> None:
    rng = np.random.default_rng(8)
    frame = pd.DataFrame({"age": rng.integers(0, 60, 80), "gender": "F", "disease": rng.choice(list("abcd"), 80)})
    alone = Mondrian(l=2).anonymize(frame, PAPER)
    assert alone.equals(Mondrian(k=1, l=2).anonymize(frame, PAPER))
    assert not alone.equals(Mondrian(k=5, l=2).anonymize(frame, PAPER))


def test_every_draw_is_the_same_release() -> None:
    releases = list(Mondrian(k=2).answer(Ask(Dataset.from_frame(FIVE, PAPER), draws=3)))
    assert len(releases) == 3
    assert all(release.to_frame().equals(releases[0].to_frame()) for release in releases)


def test_a_pickled_oracle_answers_the_same_without_what_it_remembered() -> None:
    data = Dataset.from_frame(FIVE, PAPER)
    oracle = Mondrian(k=2, cells="regions", infeasible="generalise")
    before = released(oracle, data, 1)
    sent = pickle.dumps(oracle)
    assert len(sent) < 500
    copy = pickle.loads(sent)  # noqa: S301
    assert copy == oracle
    assert released(copy, data, 1).equals(before)


def test_threads_share_one_oracle() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"age": rng.integers(0, 60, 200), "gender": rng.choice(["F", "M"], 200), "disease": "x"})
    data, oracle = Dataset.from_frame(frame, PAPER), Mondrian(k=3)
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda drop: released(oracle, data, drop), range(40)))
    alone = Mondrian(k=3, incremental=False)
    assert all(release.equals(released(alone, data, drop)) for drop, release in enumerate(together))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k = 0; expected a whole number of at least 1"),
        ({"k": 2.5}, "k = 2.5; expected a whole number"),
        ({"l": True}, "l = True; expected a whole number"),
        ({"t": 1.5}, "t = 1.5; expected a number from 0 to 1"),
        ({"t": "near"}, "t = 'near'; expected a number from 0 to 1"),
        ({"diversity": "entropy"}, "diversity = 'entropy' is not known; known: distinct, probability"),
        ({"cells": "region"}, "cells = 'region' is not known; did you mean 'regions'?"),
        ({"infeasible": "generalize"}, "infeasible = 'generalize' is not known; did you mean 'generalise'?"),
    ],
)
def test_a_bad_parameter_is_refused_when_the_oracle_is_made(options: Rule, message: str) -> None:
    with pytest.raises(InputError) as caught:
        Mondrian(**options)
    assert message in str(caught.value)
