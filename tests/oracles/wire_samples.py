"""Tables, datasets and the two forms of the protocol that the tests of wire share."""

from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.hierarchy import Hierarchy
from harness.vocabulary.oracle import Release
from harness.vocabulary.schema import Column, Schema
from harness.vocabulary.table import Cells, Table
from oracles.wire import answers, json_form, messages
from oracles.wire._pb import oracle_pb2 as pb

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
CELLS: dict[str, st.SearchStrategy[Any]] = {
    "ints": st.integers(-(2**63), 2**63 - 1),
    "floats": st.floats(allow_nan=False),
    "bools": st.booleans(),
    "texts": WORDS,
}
DTYPES: dict[str, Any] = {"ints": np.int64, "floats": np.float64, "bools": np.bool_, "texts": object}


@st.composite
def columns(draw: st.DrawFn, rows: int) -> Cells:
    kind = draw(st.sampled_from(sorted(CELLS)))
    entries = draw(st.lists(CELLS[kind], max_size=5, unique=True))
    codes = draw(st.lists(st.integers(-1, len(entries) - 1), min_size=rows, max_size=rows))
    return Cells(np.array(entries, dtype=DTYPES[kind]), np.array(codes, dtype=np.int32))


@st.composite
def tables(draw: st.DrawFn) -> Table:
    rows = draw(st.integers(0, 6))
    names = draw(st.lists(WORDS, max_size=4, unique=True))
    return Table(tuple(names), tuple(draw(columns(rows)) for _ in names))


def mixed() -> Dataset:
    """Every kind of column, a hierarchy, an order, dates that only together say their order, gaps."""
    frame = pd.DataFrame(
        {
            "age": [25, 31, 53, 53],
            "height": [1.5, 1.75, None, 2.0],
            "city": ["Rome", "Bern", "Rome", None],
            "grade": ["low", "high", "low", "middle"],
            "born": ["03/04/1990", "25/12/1991", "01/02/1990", "03/04/1990"],
            "smokes": [True, False, True, True],
            "illness": ["flu", "cold", "flu", "none"],
            "score": [3, 1, 2, 3],
        }
    )
    tree = Hierarchy.from_nested({"CH": ["Bern", "Basel"], "IT": ["Rome"]})
    quasi = [
        Column("age", "number", closed="left"),
        Column("height", "number"),
        Column("city", "category", hierarchy=tree),
        Column("grade", "ordered", order=("low", "middle", "high")),
        Column("born", "date"),
        Column("smokes", "category", notation="set", points=True),
    ]
    return Dataset.from_frame(frame, Schema(quasi, ["illness", "score"], weight="count"), missing="keep")


def same_table(one: Release, other: Table) -> bool:
    assert isinstance(one, Table)
    pairs = zip(one.columns, other.columns, strict=True)
    return one.names == other.names and all(
        a.palette.dtype == b.palette.dtype and a.palette.tolist() == b.palette.tolist() and (a.codes == b.codes).all()
        for a, b in pairs
    )


def releases_over_protobuf(releases: list[Release]) -> list[Release]:
    sent = [part.SerializeToString() for part in answers.parts(releases)]
    return list(answers.assembled((messages.parsed(pb.Part, part) for part in sent), len(releases)))


def releases_over_json(releases: list[Release]) -> list[Release]:
    body = json_form.dumped(json_form.json_releases(releases))
    return json_form.read_releases(json_form.loaded(body), len(releases))
