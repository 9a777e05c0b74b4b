"""Tables, rules and checks that the tests of Mondrian share."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from hypothesis import assume
from hypothesis import strategies as st

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import OracleError
from harness.vocabulary.hierarchy import Hierarchy
from harness.vocabulary.oracle import Ask
from harness.vocabulary.schema import Schema
from harness.vocabulary.values import parse
from oracles.reference import Mondrian

Declared = tuple[pd.DataFrame, Schema]
Rule = dict[str, Any]

FIVE = pd.DataFrame(
    {"age": [28, 36, 47, 53, 72], "gender": list("MMFMF"), "disease": ["Flu", "Flu", "Cancer", "Flu", "Flu"]}
)
PAPER = Schema(quasi={"age": "number", "gender": "category"}, sensitive="disease")

SIZES = ("tiny", "small", "medium", "large", "huge")
PLACES = Hierarchy.from_nested(
    {"world": {"north": ["Ålesund", "Bodø"], "south": {"east": ["Çeşme", "Delphi"], "west": ["Évora"]}, "Ψ": ["Φ"]}}
)
KINDS: dict[str, object] = {
    "n": "number",
    "c": "category",
    "o": {"kind": "ordered", "order": SIZES},
    "h": {"kind": "category", "hierarchy": PLACES},
    "d": "date",
}
CELLS: dict[str, st.SearchStrategy[Any]] = {
    "n": st.one_of(st.integers(-3, 3), st.sampled_from([0.5, 1e-3, 2.25, 1e300])),
    "c": st.sampled_from(["a", "b, c", "ü", "{x}", "日本", "[1, 2]"]),
    "o": st.sampled_from(SIZES),
    "h": st.sampled_from(PLACES.leaves(PLACES.root)),
    "d": st.dates(date(2020, 1, 1), date(2020, 2, 10)).map(date.isoformat),
}


@st.composite
def tables(draw: st.DrawFn, gaps: bool = True, least: int = 1, most: int = 24) -> Declared:
    """A frame with quasi-identifiers of some kinds, full of ties, and its schema."""
    names = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=3, unique=True))
    size = draw(st.integers(least, most))
    columns: dict[str, Any] = {}
    for name in names:
        missing = gaps and draw(st.booleans())
        cell = st.one_of(st.none(), CELLS[name]) if missing else CELLS[name]
        column = draw(st.lists(cell, min_size=size, max_size=size))
        assume(any(value is not None for value in column))
        columns[name] = pd.Series(column, dtype=float if name == "n" else object)
    columns["s"] = draw(st.lists(st.sampled_from("uvw"), min_size=size, max_size=size))
    return pd.DataFrame(columns), Schema(quasi={name: KINDS[name] for name in names}, sensitive="s")


@st.composite
def rules(draw: st.DrawFn) -> Rule:
    return {
        "k": draw(st.integers(1, 4)),
        "l": draw(st.sampled_from([None, None, 1, 2, 3])),
        "diversity": draw(st.sampled_from(["probability", "distinct"])),
        "t": draw(st.sampled_from([None, None, 0.0, 0.25, 0.4])),
    }


styles = st.sampled_from(["ranges", "regions"])


def released(oracle: Mondrian, data: Dataset, *drop: int) -> pd.DataFrame:
    (table,) = oracle.answer(Ask(data, drop))
    return table.to_frame()


def released_or_refused(oracle: Mondrian, data: Dataset, *drop: int) -> pd.DataFrame | str:
    try:
        return released(oracle, data, *drop)
    except OracleError as error:
        return str(error)


def same(one: pd.DataFrame | str, other: pd.DataFrame | str) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return isinstance(one, str) and isinstance(other, str) and one == other
    return one.equals(other)


def covering(data: Dataset, release: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Does the released row r cover the quasi-identifiers of the record i.  # [i, r]"""
    covers = np.ones((data.size, len(release)), dtype=bool)
    for number, column in enumerate(data.schema.quasi):
        values = [parse(cell, data.readings[number]) for cell in release[column.name]]
        for i, code in enumerate(data.codes[number]):
            covers[i] &= [value.covers(data.readings[number].domain[code]) for value in values]
    return covers


def distinct_rows(release: pd.DataFrame) -> pd.DataFrame:
    """The quasi-identifiers of a release, each combination once."""
    return release.drop(columns="s").drop_duplicates()
