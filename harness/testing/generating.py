"""Hypothesis strategies for the tables, neighbours and hierarchies that anonymizers are tested with.

A table is a list of rows, so that shrinking removes rows and then makes cells simpler (towards the first value of a
domain, or its lowest number). Nothing is filtered away: every draw is a table. Domains come from the schema, or are
learnt column by column from a sample of real rows, none of which is ever repeated on purpose.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
from hypothesis import strategies as st

from harness.testing.domains import Cell, Domain, Domains, domains_from
from harness.vocabulary.errors import InputError
from harness.vocabulary.hierarchy import ROOT, Hierarchy
from harness.vocabulary.schema import Schema

Row = tuple[Cell, ...]
UNUSUAL = ("ß", "Zoë Ω", "日本", "👩‍🔬", "a,b", 'a"b', "a;b", "a b")  # texts of an open column that programs trip over


def tables(
    schema: Schema | str | Path, *, sample: pd.DataFrame | None = None, min_rows: int = 1, max_rows: int = 30
) -> st.SearchStrategy[pd.DataFrame]:
    """Data frames with the schema's columns, as an anonymizer is given them."""
    domains = domains_from(schema, sample)
    return rows(domains, min_rows=min_rows, max_rows=max_rows).map(domains.frame)


def neighbours(
    schema: Schema | str | Path, *, sample: pd.DataFrame | None = None, min_rows: int = 2, max_rows: int = 30
) -> st.SearchStrategy[tuple[pd.DataFrame, pd.DataFrame, int]]:
    """A table, the same table without one of its rows, and which row that is."""
    if min_rows < 2:
        raise InputError(f"min_rows = {min_rows}: a table with a row to leave out has at least 2 rows")

    def pair(frame: pd.DataFrame) -> st.SearchStrategy[tuple[pd.DataFrame, pd.DataFrame, int]]:
        row = st.integers(0, len(frame) - 1)
        return row.map(lambda left: (frame, frame.drop(index=left).reset_index(drop=True), left))

    return tables(schema, sample=sample, min_rows=min_rows, max_rows=max_rows).flatmap(pair)


@st.composite
def hierarchies(draw: st.DrawFn, leaves: tuple[str, ...] | list[str]) -> Hierarchy:
    """Generalisation trees over these leaves, from flat ones to those that join two nodes at a time."""
    if not leaves or len(set(leaves)) < len(leaves):
        raise InputError("a hierarchy needs at least one leaf, and each only once")
    paths: dict[str, list[str]] = {leaf: [leaf] for leaf in leaves}
    level = list(leaves)
    for height in range(draw(st.integers(0, max(0, len(leaves).bit_length() - 1)))):
        width = draw(st.integers(2, max(2, len(level))))
        groups = [level[start : start + width] for start in range(0, len(level), width)]
        for number, group in enumerate(groups):
            for path in paths.values():
                if path[-1] in group:
                    path.append(f"group {height + 1}.{number + 1}")
        level = [f"group {height + 1}.{number + 1}" for number in range(len(groups))]
    return Hierarchy.from_paths((f"leaf {leaf!r}", (*path, ROOT)) for leaf, path in paths.items())


def rows(domains: Domains, *, min_rows: int = 1, max_rows: int = 30) -> st.SearchStrategy[list[Row]]:
    """The rows of a table; half of all tables have more than a third of `max_rows`."""
    if not 0 <= min_rows <= max_rows:
        raise InputError(f"tables need 0 <= min_rows <= max_rows, not {min_rows} and {max_rows}")
    row = st.tuples(*map(cells, domains.columns))
    sizes = sorted({min_rows, max(min_rows, max_rows // 6), max(min_rows, max_rows // 3), max(min_rows, max_rows // 2)})
    return st.sampled_from(sizes).flatmap(lambda least: st.lists(row, min_size=least, max_size=max_rows))


def cells(domain: Domain) -> st.SearchStrategy[Any]:
    """The cells of one column, one of four missing where some may be."""
    known = _known_cells(domain)
    return st.one_of(known, known, known, st.none()) if domain.has_gaps else known


def _known_cells(domain: Domain) -> st.SearchStrategy[Any]:
    """Cells that are not missing; ends of ranges are as frequent as everything between them."""
    if domain.is_number:
        between: st.SearchStrategy[Any] = (
            st.integers(int(domain.low), int(domain.high))
            if domain.whole
            else st.floats(domain.low, domain.high, allow_nan=False, width=32)
        )
        return between if domain.low == domain.high else st.one_of(between, st.sampled_from(domain.corners))
    listed = st.sampled_from(domain.values)
    if domain.is_open and domain.kind == "category":
        return st.one_of(listed, listed, listed, st.sampled_from((*domain.values, *UNUSUAL)))
    return listed
