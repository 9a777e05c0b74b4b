"""All 27 encodings against naive ones, on data, releases and targets that hypothesis draws."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.measuring.encode_release import encode
from harness.measuring.encoding import encoder_named
from harness.measuring.features import Floats
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.schema import Column, Schema
from tests.measuring.naive_encodings import (
    NAMES,
    Cell,
    Known,
    encode_cell,
    encode_target,
    exactly,
    inner_edges,
    nearest,
)

AFTER = [name for name in NAMES if not name.startswith("quantiles-before")]
BEFORE = [name for name in NAMES if name.startswith("quantiles-before")]
TREE = {"*": {"vowel": ["a", "e"], "consonant": {"liquid": ["l", "r"], "stop": ["p"]}}}
PARENT = {"a": "vowel", "e": "vowel", "l": "liquid", "r": "liquid", "p": "stop"}
PARENT |= {"liquid": "consonant", "stop": "consonant", "vowel": "*", "consonant": "*"}
NODES = ["a", "e", "l", "r", "p", "liquid", "stop", "vowel", "consonant", "*"]
SCHEMA = Schema(
    [
        Column("number", "number", points=True),
        Column("day", "date", points=True),
        Column("letter", "category"),
        Column("level", "ordered", order=("low", "mid", "high")),
        Column.of("phone", {"kind": "category", "hierarchy": TREE}),
    ],
    "ill",
)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "number": st.integers(-120, 480).map(lambda quarters: quarters / 4),
    "day": st.integers(726_000, 726_060),  # ordinals
    "letter": st.sampled_from("abcd"),
    "level": st.sampled_from(["low", "mid", "high"]),
    "phone": st.sampled_from(["a", "e", "l", "r", "p"]),
}
DECLARED = {"level": ["low", "mid", "high"], "phone": ["a", "e", "l", "r", "p"]}  # domains that D's rows do not decide


def spelled(raw: Any, name: str) -> str:
    if name == "day" and not isinstance(raw, str) and math.isfinite(raw):
        return date.fromordinal(raw).isoformat()
    return str(int(raw)) if isinstance(raw, float) and raw.is_integer() else str(raw)


def printed(cell: Cell, name: str) -> str | None:
    if cell.kind == "all":
        return "*"
    if cell.kind == "range":
        ends = f"{spelled(cell.low, name)}, {spelled(cell.high, name)}"
        return f"{'[' if cell.left else '('}{ends}{']' if cell.right else ')'}"
    if cell.values == {""}:
        return None
    texts = [spelled(raw, name) for raw in sorted(cell.values)]
    return texts[0] if len(texts) == 1 else "{" + ", ".join(texts) + "}"


@st.composite
def ranges(draw: st.DrawFn, name: str) -> Cell:
    """Any range; of days only closed ones, since days are counted and "before the 10th" is "to the 9th"."""
    low, high = sorted((draw(VALUES[name]), draw(VALUES[name])))
    closed = name == "day" or low == high
    left, right = closed or draw(st.booleans()), closed or draw(st.booleans())
    if draw(st.booleans()):
        return Cell("range", low=low, high=high, left=left, right=right)
    upwards = draw(st.booleans())
    return Cell("range", low=low, left=left) if upwards else Cell("range", high=high, right=right)


def cells(column: Known) -> st.SearchStrategy[Cell]:
    """Cells that a release of D may show in this column."""
    own = st.sampled_from(column.domain).map(exactly)
    everything = st.just(Cell("all"))
    if column.number:
        sets = st.frozensets(VALUES[column.name], min_size=1, max_size=4).map(lambda raws: Cell("values", raws))
        return st.one_of(own, sets, ranges(column.name), everything)
    named = [raw for raw in column.domain if raw != ""]
    some = st.frozensets(st.sampled_from(named), min_size=1).map(lambda raws: Cell("values", raws)) if named else own
    return st.one_of(own, some, everything)


def flat(name: str, number: bool, domain: list[Any], rows: list[Any]) -> Known:
    return Known(name, number, domain, rows, dict.fromkeys(domain, "*"), [*domain, "*"])


@st.composite
def known_columns(draw: st.DrawFn) -> list[Known]:
    """The columns of some D; a missing value is ""."""
    size = draw(st.integers(1, 6))
    columns = []
    for name, values in VALUES.items():
        rows = draw(
            st.lists(st.one_of(values, st.just("")) if draw(st.booleans()) else values, min_size=size, max_size=size)
        )
        declared = DECLARED.get(name, sorted({raw for raw in rows if raw != ""}))
        domain = ([""] if "" in rows else []) + declared
        column = flat(name, name in ("number", "day"), domain, rows)
        columns.append(replace(column, parent=PARENT, nodes=NODES) if name == "phone" else column)
    return columns


@dataclass(frozen=True)
class Case:
    """D, a release of it, and a target."""

    columns: list[Known]
    release: list[list[Cell]]  # by column
    target: list[Any]

    def data(self) -> Dataset:
        texts = {column.name: [spelled(raw, column.name) or None for raw in column.rows] for column in self.columns}
        texts["number"] = [None if raw == "" else raw for raw in self.columns[0].rows]
        size = len(self.columns[0].rows)
        return Dataset.from_frame(pd.DataFrame(texts | {"ill": ["yes"] * size}), SCHEMA, missing="keep")

    def encode(self, encoding: Any) -> tuple[Floats, Floats]:
        pairs = zip(self.columns, self.release, strict=True)
        frame = pd.DataFrame(
            {
                column.name: pd.Series([printed(cell, column.name) for cell in cells], dtype=object)
                for column, cells in pairs
            }
        )
        target = {
            column.name: None if raw == "" else spelled(raw, column.name)
            for column, raw in zip(self.columns, self.target, strict=True)
        }
        return encode(frame, target, data=self.data(), encoding=encoding)

    def agrees(self, encoding: Any, name: str, columns: list[Known], target: list[Any]) -> None:
        """The features are those of the naive encoder, to 1e-12."""
        X, x = self.encode(encoding)
        informed = [
            replace(column, released=cells, bins=encoding.get("bins", 5), binning=encoding.get("binning", "width"))
            for column, cells in zip(columns, self.release, strict=True)
        ]
        expected = [
            [
                feature
                for column, raw, cell in zip(informed, target, row, strict=True)
                for feature in encode_cell(name, cell, raw, column)
            ]
            for row in zip(*self.release, strict=True)
        ]
        own = [
            feature
            for column, raw in zip(informed, target, strict=True)
            for feature in encode_target(name, raw, column)
        ]
        np.testing.assert_allclose(x, own, rtol=0, atol=1e-12)
        np.testing.assert_allclose(X, np.reshape(expected, (len(self.release[0]), len(own))), rtol=0, atol=1e-12)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    columns = draw(known_columns())
    rows = draw(st.integers(0, 6))
    release = [draw(st.lists(cells(column), min_size=rows, max_size=rows)) for column in columns]
    target = [draw(st.one_of(st.sampled_from(column.domain), UNKNOWN[column.name])) for column in columns]
    return Case(columns, release, target)


UNKNOWN: dict[str, st.SearchStrategy[Any]] = {
    "number": VALUES["number"].map(lambda number: 2 * number),  # also beyond what any D holds
    "day": st.integers(725_900, 726_200),
} | dict.fromkeys(("letter", "level", "phone"), st.just("unheard of"))


@pytest.mark.parametrize("name", AFTER)
@settings(max_examples=15, deadline=None)  # for each of more than twenty names
@given(case=cases())
def test_every_encoding_agrees_with_the_naive_one(name: str, case: Case) -> None:
    case.agrees({"name": name}, name, case.columns, case.target)


@settings(max_examples=50, deadline=None)
@given(case=cases(), bins=st.integers(1, 7), binning=st.sampled_from(["width", "quantiles"]))
def test_quantiles_agree_with_the_naive_ones_for_any_bins(case: Case, bins: int, binning: str) -> None:
    case.agrees({"name": "quantiles-hot", "bins": bins, "binning": binning}, "quantiles-hot", case.columns, case.target)


@st.composite
def cases_before(draw: st.DrawFn) -> tuple[Case, list[Known], list[Any], dict[str, Any]]:
    """D, a release of its bins, and the same columns and target as the binned data shows them."""
    options: dict[str, Any] = {
        "bins": draw(st.integers(1, 6)),
        "binning": draw(st.sampled_from(["width", "quantiles"])),
    }
    columns = [replace(column, **options) for column in draw(known_columns())]
    target = [draw(st.one_of(st.sampled_from(column.domain), UNKNOWN[column.name])) for column in columns]
    seen = [binned(column) if column.number else column for column in columns]
    rows = draw(st.integers(0, 6))
    release = [draw(st.lists(cells(column), min_size=rows, max_size=rows)) for column in seen]
    shown = [bin_of(raw, column) if column.number else raw for column, raw in zip(columns, target, strict=True)]
    return Case(columns, release, target), seen, shown, options


def bin_of(raw: Any, column: Known) -> str:
    return "" if raw == "" else str(sum(edge <= nearest(raw, *column.ends) for edge in inner_edges(column)))


def binned(column: Known) -> Known:
    labels = [str(number) for number in range(column.bins)]
    rows = [bin_of(raw, column) for raw in column.rows]
    return flat(column.name, False, ([""] if "" in rows else []) + labels, rows)


@pytest.mark.parametrize("name", BEFORE)
@settings(max_examples=30, deadline=None)
@given(drawn=cases_before())
def test_quantiles_before_f_agree_with_the_naive_ones(
    name: str, drawn: tuple[Case, list[Known], list[Any], dict[str, Any]]
) -> None:
    case, columns, target, options = drawn
    case.agrees({"name": name, **options}, name, columns, target)


@settings(max_examples=40, deadline=None)
@given(drawn=cases_before())
def test_the_data_that_f_is_asked_about_holds_the_bins_of_the_numbers(
    drawn: tuple[Case, list[Known], list[Any], dict[str, Any]],
) -> None:
    case, columns, _, options = drawn
    data = case.data()
    prepared = encoder_named({"name": "quantiles-before-hot", **options}).prepare(data)
    again = Dataset.from_frame(prepared.table.to_frame(), prepared.schema, missing="keep")
    for place, column in enumerate(columns):
        assert prepared.readings[place].domain == tuple(column.domain)
        assert [prepared.record(row).raws[place] for row in range(data.size)] == column.rows
        assert again.readings[place].domain == prepared.readings[place].domain
        assert np.array_equal(again.codes[place], prepared.codes[place])
    assert prepared.sensitive_labels == data.sensitive_labels
