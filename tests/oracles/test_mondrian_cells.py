"""What Mondrian prints: ranges of the members, or regions that tile the domain and cover who was left out."""

from typing import Any

import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.schema import Schema
from harness.vocabulary.values import parse, show
from oracles.reference import Mondrian
from tests.oracles.mondrian_tables import (
    FIVE,
    KINDS,
    PAPER,
    Declared,
    Rule,
    covering,
    distinct_rows,
    released,
    rules,
    styles,
    tables,
)


def test_the_papers_regions_cover_the_absent_person_and_tight_ranges_do_not() -> None:
    """v2 §3.3: the cut of f(D⁻¹) lies at 53, and the absent person is 28."""
    data = Dataset.from_frame(FIVE, PAPER)
    regions = released(Mondrian(k=2, cells="regions"), data, 0)
    ranges = released(Mondrian(k=2, cells="ranges"), data, 0)
    assert regions["age"].tolist() == ["(-inf, 53)", "(-inf, 53)", "[53, inf)", "[53, inf)"]
    assert ranges["age"].tolist() == ["[36, 47]", "[36, 47]", "[53, 72]", "[53, 72]"]
    assert covering(data, regions)[0].tolist() == [True, True, False, False]
    assert not covering(data, ranges)[0].any()


@settings(max_examples=60, deadline=None)
@given(tables(), rules(), styles)
def test_every_row_is_covered_by_its_own_released_row(table: Declared, rule: Rule, cells: Any) -> None:
    frame, schema = table
    data = Dataset.from_frame(frame, schema, missing="keep")
    release = released(Mondrian(**rule, cells=cells, infeasible="generalise"), data)
    assert release["s"].tolist() == frame["s"].tolist()
    assert covering(data, release).diagonal().all()


@settings(max_examples=60, deadline=None)
@given(tables(gaps=False, least=2, most=16), rules(), st.data())
def test_regions_cover_everybody_exactly_once_whoever_was_left_out(
    table: Declared, rule: Rule, choice: st.DataObject
) -> None:
    """So what is inferred about an absent person is inferred from the one class she would have been in."""
    frame, schema = table
    data, oracle = Dataset.from_frame(frame, schema), Mondrian(**rule, cells="regions", infeasible="generalise")
    several = choice.draw(st.lists(st.integers(0, len(frame) - 1), max_size=len(frame) - 1, unique=True))
    for drop in ((), tuple(several), *((row,) for row in range(len(frame)))):
        covered = covering(data, distinct_rows(released(oracle, data, *drop)))
        assert covered.sum(axis=1).tolist() == [1] * len(frame), drop


@settings(max_examples=60, deadline=None)
@given(tables(least=2, most=16), rules())
def test_regions_cover_everybody_whose_cells_are_not_missing_whoever_was_left_out(table: Declared, rule: Rule) -> None:
    frame, schema = table
    data = Dataset.from_frame(frame, schema, missing="keep")
    oracle = Mondrian(**rule, cells="regions", infeasible="generalise")
    whole = frame.notna().all(axis=1).to_numpy()
    assume(whole.any())
    for row in range(len(frame)):
        assert covering(data, released(oracle, data, row))[whole].any(axis=1).all(), row


def test_a_region_holds_the_category_that_only_the_absent_person_has() -> None:
    schema = Schema(quasi={"c": "category"}, sensitive="s")
    data = Dataset.from_frame(pd.DataFrame({"c": list("aabbd"), "s": list("uvuvu")}), schema)
    release = released(Mondrian(k=2, cells="regions"), data, 4)
    assert release["c"].tolist() == ["a", "a", *["{'b', 'd'}"] * 2]


@pytest.mark.parametrize("cells", ["ranges", "regions"])
def test_a_period_that_reaches_over_a_cut_is_covered_whole(cells: Any) -> None:
    schema = Schema(quasi={"d": "date"}, sensitive="s")
    frame = pd.DataFrame({"d": ["2020", "2020-01-05", "2020-02", "2020-03-01"], "s": list("uvuv")})
    data = Dataset.from_frame(frame, schema)
    release = released(Mondrian(k=2, cells=cells), data)
    assert release["d"].nunique() == 2
    assert covering(data, release).diagonal().all()


def test_a_region_covers_the_period_of_somebody_who_was_left_out() -> None:
    schema = Schema(quasi={"d": "date"}, sensitive="s")
    frame = pd.DataFrame({"d": ["2020", "2020-01-05", "2020-01-07", "2020-02", "2020-03-01"], "s": list("uvuvu")})
    data = Dataset.from_frame(frame, schema)
    release = released(Mondrian(k=2, cells="regions"), data, 0)
    assert release["d"].nunique() == 2
    assert covering(data, release)[0].tolist() == [True, True, False, False]


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
def test_each_kind_of_column_prints_its_halves(name: str, ranges: list[str], regions: list[str]) -> None:
    schema = Schema(quasi={name: KINDS[name]}, sensitive="s")
    reading = Dataset.from_frame(EACH_KIND, schema).readings[0]
    styled: list[tuple[Any, list[str]]] = [("ranges", ranges), ("regions", regions)]
    for style, cells in styled:
        printed = Mondrian(k=2, cells=style).anonymize(EACH_KIND, schema)[name].unique()
        assert set(printed) == {show(parse(cell, reading)) for cell in cells}


def test_a_hierarchy_falls_into_children_and_prints_their_names() -> None:
    schema = Schema(quasi={"h": KINDS["h"]}, sensitive="s")
    frame = pd.DataFrame({"h": ["Ålesund", "Bodø", "Çeşme", "Évora"], "s": list("uvuv")})
    assert Mondrian(k=2).anonymize(frame, schema)["h"].tolist() == ["north", "north", "south", "south"]
    regions = Mondrian(k=2, cells="regions").anonymize(frame, schema)["h"].tolist()
    assert regions == ["north", "north", *[regions[2]] * 2]  # the empty Ψ belongs to its neighbour, so regions tile
    reading = Dataset.from_frame(frame, schema).readings[0]
    assert parse(regions[2], reading).covers("Φ")
    assert not parse(regions[2], reading).covers("Bodø")


def test_a_hierarchy_is_not_cut_when_one_child_would_be_too_small() -> None:
    schema = Schema(quasi={"h": KINDS["h"]}, sensitive="s")
    frame = pd.DataFrame({"h": ["Ålesund", "Bodø", "Çeşme", "Évora", "Φ"], "s": list("uvuvu")})
    assert Mondrian(k=2).anonymize(frame, schema)["h"].tolist() == ["world"] * 5


def test_missing_cells_stay_missing_and_a_mixture_is_suppressed() -> None:
    frame = pd.DataFrame({"age": [None, None, 1, 2], "gender": ["F"] * 4, "disease": list("abab")})
    parted = Mondrian(k=2, cells="regions").anonymize(frame, PAPER)["age"]
    assert parted.isna().tolist() == [True, True, False, False]
    assert parted.tolist()[2:] == ["*", "*"]  # no cut bounds them on either side
    assert Mondrian(k=3).anonymize(frame, PAPER)["age"].tolist() == ["*"] * 4


def test_the_cut_between_missing_cells_and_the_others_bounds_no_value() -> None:
    schema = Schema(quasi={"g": "number", "n": "number"}, sensitive="s")
    frame = pd.DataFrame({"g": [0] * 4 + [1] * 4, "n": [1, 1, 2, 2, None, None, 5, 6], "s": list("stuvwxyz")})
    release = Mondrian(k=2, cells="regions").anonymize(frame, schema)
    assert release["n"].isna().tolist() == [False] * 4 + [True] * 2 + [False] * 2
    assert release["n"].tolist()[6:] == ["*", "*"]  # not [5, inf), which would leave a hole below 5


@pytest.mark.parametrize(("name", "values"), [("c", ["a", "ü"]), ("o", ["tiny", "small"]), ("h", ["Bodø", "Φ"])])
def test_a_region_that_no_cut_bounds_is_everything_also_where_cells_are_missing(name: str, values: list[str]) -> None:
    schema = Schema(quasi={"g": "number", name: KINDS[name]}, sensitive="s")
    frame = pd.DataFrame({"g": [0, 0, 1, 1], name: [*values, None, None], "s": list("uvuv")})
    data = Dataset.from_frame(frame, schema, missing="keep")
    assert released(Mondrian(k=2, cells="regions"), data)[name].tolist() == ["*"] * 4
    ranges = released(Mondrian(k=2, cells="ranges"), data)[name]
    assert ranges.isna().tolist() == [False, False, True, True]


@settings(max_examples=60, deadline=None)
@given(tables(), rules(), styles)
def test_every_printed_cell_is_read_back_as_it_was_meant(table: Declared, rule: Rule, cells: Any) -> None:
    frame, schema = table
    data = Dataset.from_frame(frame, schema, missing="keep")
    release = released(Mondrian(**rule, cells=cells, infeasible="generalise"), data)
    for column, reading in zip(schema.quasi, data.readings, strict=False):
        for cell in release[column.name].dropna().unique():
            value = parse(cell, reading)
            assert cell in reading.nodes or show(value) == cell
