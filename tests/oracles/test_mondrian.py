"""Mondrian: its classes, its cells, and what it makes of a table without one of its records."""

import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError
from harness.vocabulary.hierarchy import Hierarchy
from harness.vocabulary.oracle import Ask, Oracle
from harness.vocabulary.schema import Schema
from harness.vocabulary.values import parse, show
from oracles.reference import Mondrian
from tests.oracles import recursion

DATA = Path(os.environ.get("HARNESS_DATA", Path(__file__).resolve().parents[2].parent / "shared" / "data"))
needs_adult = pytest.mark.skipif(
    not (DATA / "adult.csv").is_file(), reason=f"no adult.csv at {DATA}; point HARNESS_DATA at its folder"
)

FIVE = pd.DataFrame(
    {"age": [28, 36, 47, 53, 72], "gender": list("MMFMF"), "disease": ["Flu", "Flu", "Cancer", "Flu", "Flu"]}
)
PAPER = Schema(quasi={"age": "number", "gender": "category"}, sensitive="disease")

SIZES = ("tiny", "small", "medium", "large", "huge")
PLACES = Hierarchy.from_nested(
    {"world": {"north": ["Ålesund", "Bodø"], "south": {"east": ["Çeşme", "Delphi"], "west": ["Évora"]}, "Ψ": ["Φ"]}}
)
KINDS = {
    "n": "number",
    "c": "category",
    "o": {"kind": "ordered", "order": SIZES},
    "h": {"kind": "category", "hierarchy": PLACES},
    "d": "date",
}
CELLS = {
    "n": st.one_of(st.integers(-3, 3), st.sampled_from([0.5, 1e-3, 2.25, 1e300])),
    "c": st.sampled_from(["a", "b, c", "ü", "{x}", "日本", "[1, 2]"]),
    "o": st.sampled_from(SIZES),
    "h": st.sampled_from(PLACES.leaves(PLACES.root)),
    "d": st.dates(date(2020, 1, 1), date(2020, 2, 10)).map(date.isoformat),
}


@st.composite
def tables(draw, gaps=True, most=24):
    """A frame with quasi-identifiers of some kinds, full of ties, and its schema."""
    names = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=3, unique=True))
    size = draw(st.integers(1, most))
    columns = {}
    for name in names:
        missing = gaps and draw(st.booleans())
        cell = st.one_of(st.none(), CELLS[name]) if missing else CELLS[name]
        column = draw(st.lists(cell, min_size=size, max_size=size))
        assume(any(value is not None for value in column))
        columns[name] = pd.Series(column, dtype=float if name == "n" else object)
    columns["s"] = draw(st.lists(st.sampled_from("uvw"), min_size=size, max_size=size))
    return pd.DataFrame(columns), Schema(quasi={name: KINDS[name] for name in names}, sensitive="s")


@st.composite
def rules(draw, with_t=True):
    return {
        "k": draw(st.integers(1, 4)),
        "l": draw(st.sampled_from([None, None, 1, 2, 3])),
        "diversity": draw(st.sampled_from(["probability", "distinct"])),
        "t": draw(st.sampled_from([None, None, 0.0, 0.25, 0.4])) if with_t else None,
    }


styles = st.sampled_from(["ranges", "regions"])


def released(oracle, data, drop=None):
    (table,) = oracle.answer(Ask(data, drop))
    return table.to_frame()


def released_or_refused(oracle, data, drop=None):
    try:
        return released(oracle, data, drop)
    except InputError as error:
        return str(error)


def same(one, other):
    return one == other if isinstance(one, str) or isinstance(other, str) else one.equals(other)


def by_recursion(frame, schema, rule):
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
        place = {
            "n": float, "c": present.index, "o": SIZES.index, "h": str,
            "d": lambda text: date.fromisoformat(text).toordinal(),
        }[column.name]  # fmt: skip
        scales.append(recursion.Scale(place, values, column.hierarchy))
    return recursion.classes(rows, scales, lambda part: recursion.allowed(part, secrets, **rule))


def printed_classes(frame, quasi):
    """Rows that print the same quasi-identifiers, as sets of row numbers."""
    groups = frame[quasi].fillna("(missing)").groupby(quasi, sort=False)
    return {frozenset(rows) for rows in groups.indices.values()}


def covering(data, release):
    """Does the released row r cover the quasi-identifiers of the record i.  # [i, r]"""
    covers = np.ones((data.size, len(release)), dtype=bool)
    for number, column in enumerate(data.schema.quasi):
        values = [parse(cell, data.readings[number]) for cell in release[column.name]]
        for i, code in enumerate(data.codes[number]):
            covers[i] &= [value.covers(data.readings[number].domain[code]) for value in values]
    return covers


# The paper


@pytest.mark.parametrize(
    ("drop", "classes"),
    [
        (None, [{1, 2}, {3, 4, 5}]),
        (1, [{2, 3}, {4, 5}]),
        (2, [{1, 3}, {4, 5}]),
        (3, [{1, 2}, {4, 5}]),
        (4, [{1, 2}, {3, 5}]),
        (5, [{1, 2}, {3, 4}]),
    ],
)
def test_the_papers_example_has_the_papers_classes(drop, classes):
    data = Dataset.from_frame(FIVE, PAPER)
    release = released(Mondrian(k=2, cells="regions"), data, None if drop is None else drop - 1)
    people = np.array([person for person in range(1, 6) if person != drop])
    assert [set(people[rows]) for rows in release.groupby("age", sort=False).indices.values()] == classes


def test_the_papers_regions_cover_the_absent_person_and_tight_ranges_do_not():
    data = Dataset.from_frame(FIVE, PAPER)
    regions = released(Mondrian(k=2, cells="regions"), data, 0)
    ranges = released(Mondrian(k=2, cells="ranges"), data, 0)
    assert regions["age"].tolist() == ["(-inf, 53)", "(-inf, 53)", "[53, inf)", "[53, inf)"]
    assert ranges["age"].tolist() == ["[36, 47]", "[36, 47]", "[53, 72]", "[53, 72]"]
    assert covering(data, regions)[0].tolist() == [True, True, False, False]
    assert not covering(data, ranges)[0].any()


# Classes


@settings(max_examples=200, deadline=None)
@given(tables(), rules())
def test_the_classes_are_those_of_the_plain_recursion(table, rule):
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
@given(tables(), rules(), styles)
def test_every_row_is_covered_by_its_own_released_row(table, rule, cells):
    frame, schema = table
    data = Dataset.from_frame(frame, schema, missing="keep")
    release = released_or_refused(Mondrian(**rule, cells=cells), data)
    assume(not isinstance(release, str))
    assert release["s"].tolist() == frame["s"].tolist()
    assert covering(data, release).diagonal().all()


@settings(max_examples=100, deadline=None)
@given(tables(gaps=False), rules())
def test_regions_cover_every_row_exactly_once(table, rule):
    frame, schema = table
    data = Dataset.from_frame(frame, schema)
    release = released_or_refused(Mondrian(**rule, cells="regions"), data)
    assume(not isinstance(release, str))
    classes = release.drop(columns="s").drop_duplicates()
    assert covering(data, classes).sum(axis=1).tolist() == [1] * len(frame)


@settings(max_examples=100, deadline=None)
@given(tables(), rules(), styles, st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(table, rule, cells, random):
    frame, schema = table
    order = random.sample(range(len(frame)), len(frame))
    one, other = (
        released_or_refused(Mondrian(**rule, cells=cells), Dataset.from_frame(rows, schema, missing="keep"))
        for rows in (frame, frame.iloc[order].reset_index(drop=True))
    )
    assert same(one if isinstance(one, str) else one.iloc[order].reset_index(drop=True), other)


def test_a_constant_table_is_one_class():
    frame = pd.DataFrame({"age": [40] * 6, "gender": ["F"] * 6, "disease": list("ababab")})
    release = Mondrian(k=2).anonymize(frame, PAPER)
    assert release["age"].tolist() == ["40"] * 6
    assert release["gender"].tolist() == ["F"] * 6


def test_a_single_row_with_k_1_is_released_as_it_is():
    assert Mondrian(k=1).anonymize(FIVE[:1], PAPER).astype(str).equals(FIVE[:1].astype(str))


def test_ties_at_the_median_stay_together_on_its_nearer_side():
    schema = Schema(quasi={"age": "number"}, sensitive="s")
    frame = pd.DataFrame({"age": [1, 2, 2, 2, 2, 3, 4, 5], "s": list("abcdefgh")})
    assert Mondrian(k=3).anonymize(frame, schema)["age"].tolist() == ["[1, 2]"] * 5 + ["[3, 5]"] * 3
    assert Mondrian(k=4).anonymize(frame, schema)["age"].tolist() == ["[1, 5]"] * 8


def test_the_widest_column_is_measured_against_the_table():
    schema = Schema(quasi={"a": "number", "b": "number"}, sensitive="s")
    frame = pd.DataFrame({"a": [0, 1000, 500, 500], "b": [0, 0, 1, 1], "s": list("wxyz")})
    release = Mondrian(k=2).anonymize(frame, schema)  # a tie of widths goes to a, whose median cut leaves one row
    assert release["b"].tolist() == ["0", "0", "1", "1"]


def test_t_closeness_bounds_the_total_variation_of_every_class():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"age": rng.integers(0, 80, 300), "gender": "F", "disease": rng.choice(list("abc"), 300)})
    release = Mondrian(k=2, t=0.2).anonymize(frame, PAPER)
    table = frame["disease"].value_counts(normalize=True)
    classes = release.groupby("age")["disease"]
    assert classes.ngroups > 3
    for _, members in classes:
        assert members.value_counts(normalize=True).sub(table, fill_value=0).abs().sum() / 2 <= 0.2 + 1e-12


# Cells

EACH_KIND = pd.DataFrame(
    {
        "n": [1, 2.5, 3, 10],
        "c": ["b", "a", "d", "c"],
        "o": ["tiny", "medium", "large", "huge"],
        "h": ["Çeşme", "Évora", "Bodø", "Φ"],
        "d": ["2020-01-01", "2020-01-05", "2020-02-01", "2020-03-01"],
        "s": list("uvuv"),
    }
)


@pytest.mark.parametrize(
    ("name", "ranges", "regions"),
    [
        ("n", ["[1, 2.5]", "[3, 10]"], ["(-inf, 3)", "[3, inf)"]),
        ("c", ["{'a', 'b'}", "{'c', 'd'}"], ["{'a', 'b'}", "{'c', 'd'}"]),
        ("o", ["{tiny, small, medium}", "{large, huge}"], ["{tiny, small, medium}", "{large, huge}"]),
        ("d", ["[2020-01-01, 2020-01-05]", "[2020-02-01, 2020-03-01]"], ["[-inf, 2020-01-31]", "[2020-02-01, inf]"]),
    ],
)  # fmt: skip
def test_each_kind_of_column_prints_its_halves(name, ranges, regions):
    schema = Schema(quasi={name: KINDS[name]}, sensitive="s")
    reading = Dataset.from_frame(EACH_KIND, schema).readings[0]
    for style, cells in (("ranges", ranges), ("regions", regions)):
        printed = Mondrian(k=2, cells=style).anonymize(EACH_KIND, schema)[name].unique()
        wanted = {show(parse(cell, reading)) for cell in cells}
        assert set(printed) == wanted


@pytest.mark.parametrize("cells", ["ranges", "regions"])
def test_a_period_that_reaches_over_a_cut_is_covered_whole(cells):
    schema = Schema(quasi={"d": "date"}, sensitive="s")
    frame = pd.DataFrame({"d": ["2020", "2020-01-05", "2020-02", "2020-03-01"], "s": list("uvuv")})
    data = Dataset.from_frame(frame, schema)
    release = released(Mondrian(k=2, cells=cells), data)
    assert release["d"].nunique() == 2
    assert covering(data, release).diagonal().all()


def test_a_hierarchy_falls_into_children_and_prints_their_names():
    schema = Schema(quasi={"h": KINDS["h"]}, sensitive="s")
    frame = pd.DataFrame({"h": ["Ålesund", "Bodø", "Çeşme", "Évora"], "s": list("uvuv")})
    assert Mondrian(k=2).anonymize(frame, schema)["h"].tolist() == ["north", "north", "south", "south"]
    regions = Mondrian(k=2, cells="regions").anonymize(frame, schema)["h"].tolist()
    assert regions == ["north", "north", *[regions[2]] * 2]  # the empty Ψ belongs to its neighbour, so regions tile
    reading = Dataset.from_frame(frame, schema).readings[0]
    assert parse(regions[2], reading).covers("Φ")
    assert not parse(regions[2], reading).covers("Bodø")


def test_a_hierarchy_is_not_cut_when_one_child_would_be_too_small():
    schema = Schema(quasi={"h": KINDS["h"]}, sensitive="s")
    frame = pd.DataFrame({"h": ["Ålesund", "Bodø", "Çeşme", "Évora", "Φ"], "s": list("uvuvu")})
    assert Mondrian(k=2).anonymize(frame, schema)["h"].tolist() == ["world"] * 5


def test_missing_cells_stay_missing_and_a_mixture_is_suppressed():
    frame = pd.DataFrame({"age": [None, None, 1, 2], "gender": ["F"] * 4, "disease": list("abab")})
    parted = Mondrian(k=2, cells="regions").anonymize(frame, PAPER)["age"]
    assert parted.isna().tolist() == [True, True, False, False]
    assert parted.tolist()[2:] == ["*", "*"]  # no cut bounds them on either side
    assert Mondrian(k=3).anonymize(frame, PAPER)["age"].tolist() == ["*"] * 4


def test_the_cut_between_missing_cells_and_the_others_bounds_no_value():
    schema = Schema(quasi={"g": "number", "n": "number"}, sensitive="s")
    frame = pd.DataFrame({"g": [0] * 4 + [1] * 4, "n": [1, 1, 2, 2, None, None, 5, 6], "s": list("stuvwxyz")})
    release = Mondrian(k=2, cells="regions").anonymize(frame, schema)
    assert release["n"].isna().tolist() == [False] * 4 + [True] * 2 + [False] * 2
    assert release["n"].tolist()[6:] == ["*", "*"]  # not [5, inf), which would leave a hole below 5


@pytest.mark.parametrize(
    ("name", "values", "region"),
    [
        ("c", ["a", "ü"], "{a, ü}"),
        ("o", ["tiny", "small"], "{tiny, small, medium, large, huge}"),
        ("h", ["Bodø", "Φ"], "world"),
    ],
)
def test_a_region_whose_rows_all_have_a_value_does_not_offer_a_missing_one(name, values, region):
    schema = Schema(quasi={"g": "number", name: KINDS[name]}, sensitive="s")
    frame = pd.DataFrame({"g": [0, 0, 1, 1], name: [*values, None, None], "s": list("uvuv")})
    data = Dataset.from_frame(frame, schema, missing="keep")
    printed = released(Mondrian(k=2, cells="regions"), data)[name].tolist()
    reading = data.readings[1]
    assert parse(printed[0], reading) == parse(printed[1], reading) == parse(region, reading)


@settings(max_examples=100, deadline=None)
@given(tables(), rules(), styles)
def test_every_printed_cell_is_read_back_as_it_was_meant(table, rule, cells):
    frame, schema = table
    data = Dataset.from_frame(frame, schema, missing="keep")
    release = released_or_refused(Mondrian(**rule, cells=cells), data)
    assume(not isinstance(release, str))
    for column, reading in zip(schema.quasi, data.readings, strict=False):
        for cell in release[column.name].dropna().unique():
            value = parse(cell, reading)
            assert cell in reading.nodes or show(value) == cell


# Without one record


@settings(max_examples=150, deadline=None)
@given(tables(), rules(), styles, st.data())
def test_leaving_a_record_out_is_anonymizing_the_table_without_it(table, rule, cells, choice):
    frame, schema = table
    data = Dataset.from_frame(frame, schema, missing="keep")
    oracle, plain = Mondrian(**rule, cells=cells), Mondrian(**rule, cells=cells, incremental=False)
    assert same(released_or_refused(oracle, data), released_or_refused(plain, data))
    for drop in choice.draw(st.lists(st.integers(0, len(frame) - 1), min_size=1, max_size=4, unique=True)):
        quick = released_or_refused(oracle, data, drop)
        assert same(quick, released_or_refused(plain, data, drop))
        assert same(quick, released_or_refused(plain, data.without(drop)))
        rest = frame.drop(index=drop).reset_index(drop=True)
        if len(rest) and all(rest[column.name].notna().any() for column in schema.quasi):
            assert same(quick, released_or_refused(plain, Dataset.from_frame(rest, schema, missing="keep")))


def by_both_ways(rule, frame, schema, drop):
    """What is released without a record, the same by every way to ask."""
    data = Dataset.from_frame(frame, schema, missing="keep")
    quick, plain = Mondrian(**rule), Mondrian(**rule, incremental=False)
    rest = Dataset.from_frame(frame.drop(index=drop), schema, missing="keep")
    release = released(plain, rest)
    assert released(quick, data, drop).equals(release)
    assert released(plain, data.without(drop)).equals(release)
    return release


def test_a_category_that_vanishes_with_its_record_narrows_the_scale_of_everybody():
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
def test_a_cut_beside_a_value_that_vanishes_with_its_record_moves(ages, k, drop, regions):
    schema = Schema(quasi={"n": "number"}, sensitive="s")
    frame = pd.DataFrame({"n": pd.Series(ages, dtype=float), "s": [f"{i}" for i in range(len(ages))]})
    release = by_both_ways({"k": k, "cells": "regions"}, frame, schema, drop)
    assert [None if pd.isna(cell) else cell for cell in release["n"].unique()] == regions


def test_a_child_of_a_hierarchy_may_vanish_with_its_only_record():
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
def test_every_record_of_a_larger_table_can_be_left_out(rule, cells):
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
    for drop in range(0, size, 2):
        assert released(quick, data, drop).equals(released(plain, data, drop)), drop


@needs_adult
@pytest.mark.parametrize("rule", [{"k": 5}, {"k": 5, "l": 4}], ids=str)
def test_adult_without_a_record_is_the_same_by_both_ways(rule):
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


# The oracle


def test_it_is_an_oracle_that_says_what_it_does():
    oracle = Mondrian(k=3, l=2)
    assert isinstance(oracle, Oracle)
    assert oracle.card.name == "mondrian(k=3, l=2, diversity=probability, cells=ranges)"
    assert oracle.card.randomized is False


def test_every_draw_is_the_same_release():
    releases = list(Mondrian(k=2).answer(Ask(Dataset.from_frame(FIVE, PAPER), draws=3)))
    assert len(releases) == 3
    assert all(release.to_frame().equals(releases[0].to_frame()) for release in releases)


def test_a_pickled_oracle_answers_the_same_without_what_it_remembered():
    data = Dataset.from_frame(FIVE, PAPER)
    oracle = Mondrian(k=2, cells="regions")
    before = released(oracle, data, 1)
    sent = pickle.dumps(oracle)
    assert len(sent) < 500
    twin = pickle.loads(sent)  # noqa: S301
    assert twin == oracle
    assert released(twin, data, 1).equals(before)


def test_threads_share_one_oracle():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"age": rng.integers(0, 60, 200), "gender": rng.choice(["F", "M"], 200), "disease": "x"})
    data, oracle = Dataset.from_frame(frame, PAPER), Mondrian(k=3)
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda drop: released(oracle, data, drop), range(40)))
    alone = Mondrian(k=3, incremental=False)
    assert all(release.equals(released(alone, data, drop)) for drop, release in enumerate(together))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"k": 0}, "k = 0; expected a whole number of at least 1"),
        ({"k": 2.5}, "k = 2.5; expected a whole number"),
        ({"l": True}, "l = True; expected a whole number"),
        ({"t": 1.5}, "t = 1.5; expected a number from 0 to 1"),
        ({"t": "near"}, "t = 'near'; expected a number from 0 to 1"),
        ({"diversity": "entropy"}, "diversity = 'entropy' is not known; known: distinct, probability"),
        ({"cells": "region"}, "cells = 'region' is not known; did you mean 'regions'?"),
    ],
)
def test_a_bad_parameter_dies_at_birth(options, said):
    with pytest.raises(InputError) as caught:
        Mondrian(**options)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("options", "drop", "said"),
    [
        ({"k": 6}, None, "k = 6, but the table has 5 rows"),
        ({"k": 5}, 0, "k = 5, but the table has 4 rows"),
        ({"k": 1, "l": 2}, None, "l = 2, but the most frequent sensitive value makes up 4 of its 5 rows"),
        ({"k": 1, "l": 2, "diversity": "distinct"}, 2, "l = 2, but the table has 1 different sensitive values"),
    ],
)
def test_a_table_that_breaks_the_rule_as_a_whole_is_refused(options, drop, said):
    with pytest.raises(InputError) as caught:
        released(Mondrian(**options), Dataset.from_frame(FIVE, PAPER), drop)
    assert said in str(caught.value)
    assert "lower" in str(caught.value)
