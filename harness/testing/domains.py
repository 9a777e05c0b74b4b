"""Which values the cells of a column may have: what tables are generated from. Knows schemas and samples, no oracle.

A domain is declared (`values`, `order`, `min` and `max`, the leaves of a hierarchy) or learnt from a sample of real
rows. Of a sample only the values of each column are learnt, never which of them stand together in a row. A category
column whose values nobody listed is open: any text may occur in it. Cells of a quasi-identifier may be missing where
they are in the sample, or where `missing = "keep"` says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pandas as pd

from harness.auditing.config import load_declared_data, read_data
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError
from harness.vocabulary.schema import MISSING, Column, Schema
from harness.vocabulary.table import Table

Cell = str | int | float | None  # None: a missing cell
MOST_VALUES = 200  # of a learnt category column: more would make every row unique
FIRST_DAY = date(1930, 1, 1)
DAYS = 32_872  # up to 2019


@dataclass(frozen=True)
class Domain:
    """What one column may hold: listed values, or numbers from `low` to `high`."""

    name: str
    kind: str
    values: tuple[Cell, ...] = ()  # the simplest first; empty for numbers between two ends
    low: float = 0.0
    high: float = 0.0
    whole: bool = True  # numbers without decimals
    is_open: bool = False  # other texts may occur too
    has_gaps: bool = False  # cells may be missing

    @property
    def is_number(self) -> bool:
        return not self.values

    @property
    def corners(self) -> tuple[Cell, ...]:
        """Cells that anonymizers get wrong most often: ends of ranges, and numbers beside them."""
        if self.values:
            return (self.values[0], self.values[-1])
        step = 1.0 if self.whole else (self.high - self.low) / 100
        near = (self.low, self.high, self.low + step, self.high - step, self.low + (self.high - self.low) // 2)
        return tuple(dict.fromkeys(self.cell(number) for number in near if self.low <= number <= self.high))

    def cell(self, number: float) -> Cell:
        return int(number) if self.whole else float(number)


@dataclass(frozen=True)
class Domains:
    """The domains of all columns of a schema, in its order."""

    schema: Schema
    columns: tuple[Domain, ...]

    def with_gaps(self) -> Domains:
        """The same where every quasi-identifier may be missing."""
        count = len(self.schema.quasi)
        gapped = tuple(replace(column, has_gaps=True) for column in self.columns[:count])
        return replace(self, columns=(*gapped, *self.columns[count:]))

    def with_points(self) -> Domains:
        """The same for an f that changes numbers: those that it releases need not be in the table."""
        quasi = tuple(replace(one, points=True) if one.kind in ("number", "date") else one for one in self.schema.quasi)
        return replace(self, schema=self._with_quasi(quasi))

    def dataset(self, rows: Sequence[Sequence[Any]]) -> Dataset:
        """D with these rows; its public domains are those that are declared, with what the rows add to them."""
        return Dataset.within(self._widened(rows), Table.from_frame(self.frame(rows)), self._public(rows))

    def _widened(self, rows: Sequence[Sequence[Any]]) -> Schema:
        """The schema, with values that it does not list and that a table of bad input has."""
        quasi = list(self.schema.quasi)
        for place, column in enumerate(quasi):
            unseen = {str(row[place]): None for row in rows if row[place] is not None and column.values}
            if not unseen.keys() <= set(column.values):
                quasi[place] = replace(column, values=tuple(dict.fromkeys((*column.values, *unseen))))
        return self._with_quasi(quasi)

    def _with_quasi(self, quasi: Sequence[Column]) -> Schema:
        return Schema(quasi, self.schema.sensitive, self.schema.weight, self.schema.person, self.schema.suppressed)

    def frame(self, rows: Sequence[Sequence[Any]]) -> pd.DataFrame:
        """The rows as an anonymizer is given them."""
        names = [domain.name for domain in self.columns]
        return pd.DataFrame({name: [row[place] for row in rows] for place, name in enumerate(names)})

    def _public(self, rows: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
        columns = (*self.schema.quasi, *self.schema.sensitive)
        return [
            _raws(column, dict.fromkeys([*domain.values, *domain.corners, *(row[place] for row in rows)]))
            + ((MISSING,) if domain.has_gaps else ())
            for place, (column, domain) in enumerate(zip(columns, self.columns, strict=True))
        ]


def _raws(column: Column, cells: Mapping[Any, None]) -> tuple[Any, ...]:
    """The raw values that cells of a column have, as its readings know them."""
    untyped = column.untyped([str(cell) for cell in cells])
    return tuple(dict.fromkeys(untyped.raw(cell) for cell in cells if cell is not None and cell == cell))


def domains_from(schema: Schema | str | Path, sample: pd.DataFrame | None = None) -> Domains:
    """The same of a schema, or of a file with the section [data] of an audit.toml, whose `path` is then the sample."""
    if isinstance(schema, Schema):
        return domains_of(schema, sample)
    declared, data = load_declared_data(schema)
    if sample is None and "path" in data:
        sample = read_data(Path(schema).parent / data["path"], declared, {"missing": "keep", **data}).table.to_frame()
    try:
        domains = domains_of(declared, sample)
        return domains.with_gaps() if sample is None and data.get("missing") == "keep" else domains
    except InputError as error:
        raise error.within(str(schema)) from None


def domains_of(schema: Schema, sample: pd.DataFrame | None = None) -> Domains:
    """The domains that a schema declares; what it leaves open is learnt from the sample, if there is one."""
    quasi = tuple(
        replace(_domain(column, _seen(column, sample)), has_gaps=_has_gaps(column, sample)) for column in schema.quasi
    )
    return Domains(schema, (*quasi, *(_domain(column, _seen(column, sample)) for column in schema.sensitive)))


def _has_gaps(column: Column, sample: pd.DataFrame | None) -> bool:
    return sample is not None and bool(sample[column.name].isna().any())


def _seen(column: Column, sample: pd.DataFrame | None) -> list[Any]:
    if sample is None:
        return []
    if column.name not in sample.columns:
        raise InputError(f"the sample has no column {column.name!r}; its columns are {list(sample.columns)}")
    return sample[column.name].dropna().unique().tolist()


def _domain(column: Column, seen: list[Any]) -> Domain:
    if column.is_binned:
        count = column.bins or len(column.edges) - 1
        return Domain(column.name, column.kind, tuple(range(count)))
    if column.kind == "number" and column.hierarchy is None:
        return _numbers(column, seen)
    listed = _listed(column)
    if listed:
        return Domain(column.name, column.kind, listed)
    if column.kind == "date":
        return Domain(column.name, "date", tuple(sorted(map(str, seen))) or _days())
    if not seen:
        raise InputError(
            f'column {column.name!r}: its values are not known; list them (values = ["a", "b"]), declare a hierarchy '
            "or an order, or give a sample of real rows (path)"
        )
    return Domain(column.name, column.kind, tuple(sorted(map(str, seen))[:MOST_VALUES]), is_open=True)


def _listed(column: Column) -> tuple[Cell, ...]:
    if column.values or column.order:
        return column.values or column.order
    return tuple(column.hierarchy.leaves(column.hierarchy.root)) if column.hierarchy is not None else ()


def _numbers(column: Column, seen: list[Any]) -> Domain:
    numbers = [float(cell) for cell in seen]
    low = column.min if column.min is not None else min(numbers, default=None)
    high = column.max if column.max is not None else max(numbers, default=None)
    if low is None or high is None:
        raise InputError(
            f"column {column.name!r}: its numbers are not known; declare its ends (min = 0, max = 99), or give a "
            "sample of real rows (path)"
        )
    whole = all(float(number).is_integer() for number in (low, high, *numbers))
    return Domain(column.name, "number", (), float(low), float(high), whole)


def _days() -> tuple[str, ...]:
    return tuple((FIRST_DAY + timedelta(days=day)).isoformat() for day in range(0, DAYS, 211))
