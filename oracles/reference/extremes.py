"""Oracles whose distances are known by hand: they show that a measurement is right at both ends.

Under Conditional inference, with n sensitive values:
- Constant: every prediction is uniform with or without anybody; d = 0 for all.
- Leaky: d = 2(n-1)/(n(n+1)) for the leaked record if nobody equals it, from (2, 1, …, 1)/(n+1) to (1, …, 1)/n;
  d = 0 for everybody else, and for the leaked record if another one equals it.
- Identity: of m > 1 records with the same quasi-identifiers, c of them with the sensitive value of i, the share
  of that value goes from c/m to (c-1)/(m-1), and d = 2(m-c)/(m(m-1)).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError, did_you_mean
from harness.vocabulary.oracle import Ask, Card, Oracle
from harness.vocabulary.schema import Schema
from harness.vocabulary.table import Cells, Table
from harness.vocabulary.values import Reading, Suppressed, show
from oracles.reference.declared import check_truth
from oracles.reference.domains import raw_of, sensitive_cells
from oracles.reference.proportional import with_shares

Ints = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Identity:
    """Releases the rows as they are."""

    proportional: bool = False  # cells also say how the original values of their class are shared out: all are equal

    def __post_init__(self) -> None:
        check_truth("identity", "proportional", self.proportional)

    @property
    def card(self) -> Card:
        name = "identity(proportional=True)" if self.proportional else "identity"
        return Card(name, version="1", randomized=False)

    def answer(self, ask: Ask) -> Iterable[Table]:
        release = ask.table.selecting(ask.data.schema.names)
        if self.proportional:
            release = with_shares(release, ask.data, np.delete(np.arange(ask.data.size), ask.drop))
        return [release] * ask.draws

    def close(self) -> None:
        """Nothing is held open."""

    def anonymize(self, frame: pd.DataFrame, schema: Schema) -> pd.DataFrame:
        return _one_release(self, frame, schema).set_axis(frame.index)


@dataclass(frozen=True)
class Constant:
    """Releases each value of the sensitive domain once, for anybody: the domain of D is public, its rows are not."""

    @property
    def card(self) -> Card:
        return Card("constant", version="1", randomized=False)

    def answer(self, ask: Ask) -> Iterable[Table]:
        return [_anybody(ask.data)] * ask.draws

    def close(self) -> None:
        """Nothing is held open."""

    def anonymize(self, frame: pd.DataFrame, schema: Schema) -> pd.DataFrame:
        return _one_release(self, frame, schema)


@dataclass(frozen=True)
class Leaky:
    """Constant, and the row of one record as it is whenever the table holds a row that equals it.

    `record` is its number in D. An oracle that is asked blind sees D⁻ʲ under other numbers: give it the record's
    values by column instead.
    """

    record: int | Mapping[str, Any] = 0  # number of the record in D, or its values by column

    def __post_init__(self) -> None:
        number = isinstance(self.record, int) and not isinstance(self.record, bool) and self.record >= 0
        if not number and not isinstance(self.record, Mapping):
            raise InputError(
                f"leaky: record = {self.record!r}; expected the number of a record from 0, or its values by column"
            )

    @property
    def card(self) -> Card:
        return Card(f"leaky({self.record!r})", version="1", randomized=False)

    def answer(self, ask: Ask) -> Iterable[Table]:
        release = _anybody(ask.data)
        row = self._found(ask)
        return [release if row is None else _with_row(release, ask.table, row)] * ask.draws

    def close(self) -> None:
        """Nothing is held open."""

    def anonymize(self, frame: pd.DataFrame, schema: Schema) -> pd.DataFrame:
        return _one_release(self, frame, schema)

    def _found(self, ask: Ask) -> int | None:
        """Where the table holds the record's values, if it does."""
        data = ask.data
        same = np.ones(data.size, dtype=bool)
        for name, reading, codes in zip(data.schema.names, data.readings, data.codes, strict=True):
            same &= codes == self._code(name, reading, codes)
        same = np.delete(same, ask.drop)
        return int(np.argmax(same)) if same.any() else None

    def _code(self, name: str, reading: Reading, codes: Ints) -> int:
        if isinstance(self.record, Mapping):
            if name not in self.record:
                raise InputError(f"leaky: the record has no value of {name!r}; {did_you_mean(name, self.record)}")
            raw = raw_of(reading, self.record[name])
            return reading.domain.index(raw) if raw in reading.domain else -1
        if self.record >= len(codes):
            raise InputError(f"leaky: record = {self.record}, but the data has only {len(codes)} records")
        return int(codes[self.record])


def _anybody(data: Dataset) -> Table:
    """Every joint sensitive value once, every quasi-identifier suppressed."""
    star = np.array([show(Suppressed())], dtype=object)
    nobody = Cells(star, np.zeros(len(data.sensitive_domain), dtype=np.int32))
    return Table(data.schema.names, (*[nobody] * len(data.schema.quasi), *sensitive_cells(data)))


def _with_row(release: Table, table: Table, row: int) -> Table:
    """The release and one row of the table, as it is."""
    columns = []
    for name, cells in zip(release.names, release.columns, strict=True):
        leaked = table.column(name).taking(np.array([row])).values()
        columns.append(Cells.of([*cells.values().tolist(), *leaked.tolist()]))
    return Table(release.names, tuple(columns))


def _one_release(oracle: Oracle, frame: pd.DataFrame, schema: Schema) -> pd.DataFrame:
    """What the oracle releases of a DataFrame; a missing cell counts as a value of its own."""
    release = next(iter(oracle.answer(Ask(Dataset.from_frame(frame, schema, missing="keep")))))
    assert isinstance(release, Table)
    return release.to_frame()
