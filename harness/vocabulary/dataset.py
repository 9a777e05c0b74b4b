"""D: raw records, their domains and digest, from frames and files. Knows no release and no oracle."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from harness.vocabulary.errors import InputError, did_you_mean
from harness.vocabulary.persons import RowName, RowNames
from harness.vocabulary.schema import MISSING, Column, Schema
from harness.vocabulary.source import (
    Source,
    csv_frame,
    is_typed,
    needed_columns,
    require_columns,
    typed_frame,
    with_numbers,
)
from harness.vocabulary.table import Cells, Codes, Table
from harness.vocabulary.values import Raw, Reading, Unreadable

Missing = Literal["error", "drop", "keep"]
MOST_SENSITIVE_VALUES = 10_000  # every prediction has one coordinate per value


@dataclass(frozen=True)
class Record:
    """One row of D: what the adversary knows of it, in three spellings."""

    index: int
    quasi: tuple[Any, ...]  # as D holds them
    codes: tuple[int, ...]  # as positions in each quasi-identifier's domain
    raws: tuple[Raw, ...]  # as the raw values at these positions


@dataclass(frozen=True)
class Secret:
    """What the adversary wants to know: one sensitive column, or several of them jointly (v2 §3.1)."""

    name: str
    columns: tuple[int, ...]  # positions among the sensitive columns
    sizes: tuple[int, ...]  # of their domains
    labels: tuple[str, ...]  # one per (joint) value; their order fixes the coordinates of every prediction
    is_ordered: bool = False  # whether that order means something: numbers, or a declared order
    ranks: tuple[int, ...] = ()  # of each value when the values are sorted, as scikit-learn numbers its classes

    @property
    def values(self) -> int:
        """n, the number of values."""
        return len(self.labels)

    def codes(self, columns: Sequence[npt.NDArray[np.int32]]) -> npt.NDArray[np.int32]:
        """Each row's position among the values, from its positions in all sensitive columns; -1 where one is -1."""
        chosen = [columns[column] for column in self.columns]
        joint = chosen[0]
        for size, codes in zip(self.sizes[1:], chosen[1:], strict=True):
            joint = np.where((joint < 0) | (codes < 0), -1, joint * size + codes).astype(np.int32)
        return joint


@dataclass(frozen=True, eq=False)
class Dataset:
    """D with its schema: `table` holds the schema's columns and nothing else."""

    schema: Schema
    table: Table
    readings: tuple[Reading, ...] = field(repr=False)  # one per column of the table, with its domain
    places: tuple[Codes, ...] = field(repr=False)  # [palette + 1] of each cell in its domain; the last: a missing one's
    rows: npt.NDArray[np.intp] | None = None  # of the source, for each record; None when none was left out
    dropped: int = 0  # rows of the source left out for missing values
    removed: int = 0  # rows of persons who were taken out of D on purpose
    persons: npt.NDArray[np.int32] | None = field(default=None, repr=False)  # whose row each is; None: one row each
    source: Source = field(default_factory=Source, repr=False)  # how rows are named

    @classmethod
    def of(cls, schema: Schema, table: Table, where: Callable[[int], str]) -> Dataset:
        """D from the schema's columns; the domains are the values that occur. Errors name a row as `where` does."""
        if table.rows == 0:
            raise InputError("the data holds no records; an audit needs at least one")
        table = table.with_used_cells()  # what only rows that were left out had is no value of D
        known = [_bind(column, table.column(column.name), where, secret=False) for column in schema.quasi]
        wanted = [_bind(column, table.column(column.name), where, secret=True) for column in schema.sensitive]
        readings, places = zip(*known, *wanted, strict=True)
        return cls(schema, table, readings, places)

    @classmethod
    def within(cls, schema: Schema, table: Table, domains: Sequence[Sequence[Raw]]) -> Dataset:
        """D or D⁻ⁱ as its owner knows it: one domain per column, which may hold values that no row has."""
        secrets = [False] * len(schema.quasi) + [True] * len(schema.sensitive)
        columns = zip((*schema.quasi, *schema.sensitive), secrets, domains, strict=True)
        where = Source().in_words
        bound = [
            _bind(column, table.column(column.name), where, secret=secret, domain=domain)
            for column, secret, domain in columns
        ]
        readings, places = zip(*bound, strict=True)
        return cls(schema, table, readings, places)

    def __getstate__(self) -> dict[str, Any]:
        """Only what was given travels; the rest is computed where it is needed."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    @classmethod
    def from_frame(
        cls, frame: pd.DataFrame, schema: Schema, missing: Missing = "error", source: Source | None = None
    ) -> Dataset:
        """D from a DataFrame that holds at least the schema's columns; its rows are named as in `source`, or by the
        labels of its index.
        """
        if not isinstance(frame, pd.DataFrame) or not isinstance(schema, Schema):
            raise InputError(
                f"expected a DataFrame and a Schema, not a {type(frame).__name__} and a {type(schema).__name__}; "
                "declare harness.Schema(quasi, sensitive)"
            )
        source = Source.of_index(frame.index) if source is None else source
        require_columns(needed_columns(schema), [str(name) for name in frame.columns], "the data")
        named = frame.set_axis([str(name) for name in frame.columns], axis=1)
        chosen = named.loc[:, list(schema.names)]
        for column in (*schema.quasi, *schema.sensitive):
            if column.kind == "number" and chosen[column.name].dtype == object:  # numbers, unless one of them is text
                chosen = chosen.assign(**{column.name: chosen[column.name].infer_objects()})
        for column in (*schema.quasi, *schema.sensitive):
            if column.is_binned:
                chosen = chosen.assign(**{column.name: column.binned(_as_numbers(column, chosen[column.name]))})
        table = Table.from_frame(chosen)
        persons = None if schema.person is None else _persons(schema.person, named[schema.person], source)
        gaps = np.zeros(table.rows, dtype=bool)
        for cells in table.columns:
            gaps |= cells.codes < 0
        if missing not in get_args(Missing):
            raise InputError(f"missing = {missing!r} is not known; {did_you_mean(str(missing), get_args(Missing))}")
        if not gaps.any() or missing == "keep":
            return replace(cls.of(schema, table, source.in_words), persons=persons, source=source)
        if missing == "drop":
            kept = np.flatnonzero(~gaps)
            remaining = None if persons is None else pd.factorize(persons[kept])[0].astype(np.int32)
            data = cls.of(schema, table.taking(kept), lambda row: source.in_words(int(kept[row])))
            return replace(data, rows=kept, dropped=int(gaps.sum()), persons=remaining, source=source)
        row = int(np.flatnonzero(gaps)[0])
        name = next(n for n, c in zip(table.names, table.columns, strict=True) if c.codes[row] < 0)
        raise InputError(
            f"column {name!r}, {source.in_words(row)}: the value is missing ({_rows_have(int(gaps.sum()))} gaps); "
            'say missing = "drop" to leave such rows out, or "keep" to treat a gap as a value of its own'
        )

    @classmethod
    def from_file(
        cls, path: str | Path, schema: Schema, missing: Missing = "error", missing_values: Sequence[str] = ("",)
    ) -> Dataset:
        """D from a Parquet or Excel file if its name says so, else from a CSV file; each may be compressed."""
        if is_typed(Path(path)):
            return cls.from_parquet(path, schema, missing)
        return cls.from_csv(path, schema, missing, missing_values)

    @classmethod
    def from_csv(
        cls, path: str | Path, schema: Schema, missing: Missing = "error", missing_values: Sequence[str] = ("",)
    ) -> Dataset:
        """D from a CSV file in UTF-8, with any of the usual delimiters.

        Quotes are ordinary characters; empty cells are missing.
        """
        path = Path(path)
        frame, source = csv_frame(path, needed_columns(schema), missing_values)
        return cls._from_frame_of(path, with_numbers(frame, schema, path, source), schema, missing, source)

    @classmethod
    def from_parquet(cls, path: str | Path, schema: Schema, missing: Missing = "error") -> Dataset:
        """D from a Parquet or Excel file; needs the extra `parquet` or `excel`."""
        path = Path(path)
        frame = typed_frame(path, needed_columns(schema))
        return cls._from_frame_of(path, frame, schema, missing, Source(RowNames("row", path.name)))

    @classmethod
    def _from_frame_of(
        cls, path: Path, frame: pd.DataFrame, schema: Schema, missing: Missing, source: Source
    ) -> Dataset:
        try:
            return cls.from_frame(frame, schema, missing, source)
        except InputError as error:
            raise error.within(str(path)) from None

    @property
    def size(self) -> int:
        return self.table.rows

    @cached_property
    def codes(self) -> tuple[Codes, ...]:
        """Every cell as a position in the domain of its column.  # each [rows]"""
        return tuple(places[cells.codes] for places, cells in zip(self.places, self.table.columns, strict=True))

    def row(self, index: int) -> RowName:
        """The name of the row of the source that a record was."""
        return self.source.name(index if self.rows is None else int(self.rows[index]))

    @property
    def rows_are_counted(self) -> bool:
        """Whether every row has the name that follows the one before it: none was left out, and none has a label."""
        return self.rows is None and self.source.names is None

    @cached_property
    def digest(self) -> str:
        return self.table.digest

    @cached_property
    def persons_digest(self) -> str | None:
        """SHA-256 of which rows belong to whom; None when every row is a person."""
        return None if self.persons is None else hashlib.sha256(self.persons.astype("<i4").tobytes()).hexdigest()

    @cached_property
    def rows_digest(self) -> str | None:
        """SHA-256 of the names of the rows that the records were; None when they are counted one by one."""
        if self.rows_are_counted:
            return None
        return hashlib.sha256(repr([self.row(index) for index in range(self.size)]).encode()).hexdigest()

    @property
    def population(self) -> int:
        """How many persons there are; a row each unless a person column says otherwise."""
        return self.size if self.persons is None else int(self.persons.max()) + 1

    def rows_of(self, person: int) -> tuple[int, ...]:
        """The rows of one person; persons are counted from 0 in the order of their first row."""
        if self.persons is None:
            return (person,)
        order, starts = self._rows_by_person
        return tuple(order[starts[person] : starts[person + 1]].tolist())

    @cached_property
    def _rows_by_person(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        assert self.persons is not None
        order = np.argsort(self.persons, kind="stable")
        return order, np.searchsorted(self.persons[order], np.arange(self.population + 1))

    def secrets(self, joint: bool) -> tuple[Secret, ...]:
        """What is inferred: each sensitive column for itself, or all of them as one joint value."""
        names = [column.name for column in self.schema.sensitive]
        columns = range(len(names))
        return (self._secret(tuple(columns)),) if joint else tuple(self._secret((column,)) for column in columns)

    def _secret(self, columns: tuple[int, ...]) -> Secret:
        domains = [self.readings[len(self.schema.quasi) + column].domain for column in columns]
        name = " | ".join(self.schema.sensitive[column].name for column in columns)
        sizes = tuple(map(len, domains))
        _check_values(f"the secret {name!r}", sizes)
        joints = list(product(*domains))
        labels = tuple(" | ".join(str(raw) for raw in joint) for joint in joints)
        numbers = all(isinstance(raw, int | float) for domain in domains for raw in domain)
        ordered = len(columns) == 1 and (numbers or bool(self.schema.sensitive[columns[0]].order))
        place = sorted(range(len(joints)), key=lambda one: joints[one] if numbers else labels[one])
        return Secret(name, columns, sizes, labels, ordered, tuple(np.argsort(place).tolist()))

    @cached_property
    def sensitive_domain(self) -> tuple[tuple[Raw, ...], ...]:
        """All joint sensitive values: the coordinates of what an oracle that releases predictions predicts."""
        domains = [reading.domain for reading in self.readings[len(self.schema.quasi) :]]
        _check_values("the sensitive columns together", tuple(map(len, domains)))
        return tuple(product(*domains))

    @cached_property
    def sensitive_labels(self) -> tuple[str, ...]:
        return tuple(" | ".join(str(raw) for raw in joint) for joint in self.sensitive_domain)

    @cached_property
    def sensitive_codes(self) -> npt.NDArray[np.int64]:
        """Each record's position in the joint sensitive domain."""
        joint = np.zeros(self.size, dtype=np.int64)
        offset = len(self.schema.quasi)
        for reading, codes in zip(self.readings[offset:], self.codes[offset:], strict=True):
            joint = joint * len(reading.domain) + codes
        return joint

    @property
    def sensitive_columns(self) -> tuple[Codes, ...]:
        """Each record's position in the domain of each sensitive column."""
        return self.codes[len(self.schema.quasi) :]

    @cached_property
    def sensitive_counts(self) -> tuple[npt.NDArray[np.intp], ...]:
        """How many records have each value of each sensitive column."""
        domains = (reading.domain for reading in self.readings[len(self.schema.quasi) :])
        columns = zip(self.sensitive_columns, domains, strict=True)
        return tuple(np.bincount(codes, minlength=len(domain)) for codes, domain in columns)

    def without(self, rows: Sequence[int]) -> Dataset:
        """D⁻ⁱ as a table of its own; the domains stay those of D, which are public."""
        return Dataset(self.schema, self.table.without(rows), self.readings, self.places)

    def taking(self, rows: npt.NDArray[Any]) -> Dataset:
        """These rows in this order, with the domains of D."""
        return Dataset(self.schema, self.table.taking(rows), self.readings, self.places)

    def without_persons(self, persons: Collection[int]) -> Dataset:
        """D as if these persons had never been in it: the domains are those of who is left, rows keep their names."""
        gone = [row for person in sorted(persons) for row in self.rows_of(person)]
        if not gone:
            return self
        kept = np.delete(np.arange(self.size), gone)
        rows = kept if self.rows is None else self.rows[kept]
        data = Dataset.of(self.schema, self.table.taking(kept), lambda row: self.source.in_words(int(rows[row])))
        whose = None if self.persons is None else pd.factorize(self.persons[kept])[0].astype(np.int32)
        removed = self.removed + len(gone)
        return replace(data, rows=rows, dropped=self.dropped, removed=removed, persons=whose, source=self.source)

    def record(self, index: int) -> Record:
        names = [column.name for column in self.schema.quasi]
        quasi = tuple(_plain(self.table.column(name), index) for name in names)
        codes = tuple(int(codes[index]) for codes in self.codes[: len(names)])
        raws = tuple(reading.domain[code] for reading, code in zip(self.readings, codes, strict=False))
        return Record(index, quasi, codes, raws)


def _check_values(what: str, sizes: Sequence[int]) -> None:
    values = math.prod(sizes)
    if values > MOST_SENSITIVE_VALUES:
        raise InputError(
            f"{what} have {values} values, more than {MOST_SENSITIVE_VALUES}; group them into fewer before the audit"
        )


def _rows_have(count: int) -> str:
    return f"{count} row has" if count == 1 else f"{count} rows have"


def _persons(name: str, labels: pd.Series[Any], source: Source) -> npt.NDArray[np.int32]:
    """The number of each row's person, counted from 0 in the order of first appearance."""
    codes = Cells.of(labels).codes
    if (codes < 0).any():
        where = source.in_words(int(np.argmin(codes)))
        raise InputError(f"column {name!r}, {where}: the row names no person; every row needs one, or leave it out")
    return codes


def _as_numbers(column: Column, series: pd.Series[Any]) -> pd.Series[Any]:
    try:
        return pd.to_numeric(series)
    except (ValueError, TypeError) as error:
        raise InputError(f"column {column.name!r}: only numbers can be put into bins: {error}") from None


def _plain(cells: Cells, row: int) -> Any:
    code = cells.codes[row]
    return None if code < 0 else cells.palette[code].item() if cells.palette.dtype != object else cells.palette[code]


def _bind(
    column: Column, cells: Cells, where: Callable[[int], str], *, secret: bool, domain: Sequence[Raw] | None = None
) -> tuple[Reading, Codes]:
    """The column's reading with its domain, given or found, and the place of each cell of the palette in it.

    The last place is that of a missing cell, whose code -1 picks it; -1 if none is missing. A sensitive domain stands
    in its declared order, numbers from the smallest, else in the order of appearance.
    """
    if secret and cells.palette.dtype.kind in "if":
        column = replace(column, kind="number")
    try:
        untyped = column.untyped(cells.palette.tolist())
        raws = _typed(untyped, cells, where)
        known = raws if domain is None else domain
        if secret and not column.order and not column.values:
            reading = replace(untyped, domain=_as_seen_or_rising(known))
        else:
            reading = column.reading(untyped, known)
    except InputError as error:
        raise InputError(f"column {column.name!r}: {error}") from None
    place = {raw: position for position, raw in enumerate(reading.domain)}
    unknown = next((raw for raw in raws if raw not in place), None)
    if unknown is not None:
        raise InputError(f"column {column.name!r}: raw value {unknown!r} is not in the domain it was given")
    unused = [-1] if len(raws) == len(cells.palette) else []
    return reading, np.array([*map(place.__getitem__, raws), *unused], dtype=np.int32)


def _as_seen_or_rising(raws: Sequence[Raw]) -> tuple[Raw, ...]:
    """Each value once: numbers from the smallest to the largest, anything else in the order of first appearance."""
    distinct = tuple(dict.fromkeys(raws))
    numbers = [raw for raw in distinct if isinstance(raw, int | float)]
    return tuple(sorted(numbers)) if len(numbers) == len(distinct) else distinct


def _typed(untyped: Reading, cells: Cells, where: Callable[[int], str]) -> list[Raw]:
    """The raw value behind each cell of the palette, and MISSING at the end where a cell is missing."""
    raws: list[Raw] = []
    for position, cell in enumerate(cells.palette.tolist()):
        try:
            raws.append(untyped.raw(cell))
        except Unreadable as error:
            raise InputError(f"{where(int(np.argmax(cells.codes == position)))}: {error}") from None
    return [*raws, MISSING] if (cells.codes < 0).any() else raws
