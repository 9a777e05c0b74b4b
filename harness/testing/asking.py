"""Asking an oracle within a budget of calls and time, and what its releases say. Knows the oracle interface.

A question is a list of rows. `Session.trial` asks it once and remembers the answer, so that all laws about a single
release share one call; `Session.ask` asks anew, for laws about repetition. An error of the anonymizer is an answer
like any other: whether it may refuse a table is for a law to say. So is the end of its process on this machine, and
the failure of a server on another one that still answers what it answered before. One that does not ends the check.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from harness.testing.domains import Domains
from harness.testing.generating import Row
from harness.vocabulary.answers import checked_answers
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError, OracleError, ReleaseError
from harness.vocabulary.oracle import Ask, Card, Oracle
from harness.vocabulary.release import Microdata, Predictions, Reader
from harness.vocabulary.schema import Column
from harness.vocabulary.table import Table
from harness.vocabulary.values import Exact, Interval, OneOf, Suppressed, Value

Rows = tuple[Row, ...]
Bools = npt.NDArray[np.bool_]
RAISED = re.compile(r"raised (\w+)")
MOST_WEIGHT = 10_000  # released rows that stand for more people than this in all are not matched one by one


class OutOfBudget(Exception):
    """The calls or the time of this check are used up; not an error of anybody."""


@dataclass(frozen=True, eq=False)
class Answer:
    """What came back: a release, or the error of the anonymizer."""

    release: Table | None = None
    error: str | None = None
    kind: str | None = None  # class of the exception, where it is known

    @property
    def identity(self) -> tuple[Any, ...]:
        """Equal for answers that say the same."""
        return (self.release.digest if self.release is not None else None, self.kind, self.error)


@dataclass(frozen=True, eq=False)
class Trial:
    """One table with the answer to it, read against the schema."""

    data: Dataset
    rows: Rows
    answer: Answer

    @cached_property
    def _read(self) -> tuple[Microdata | None, ReleaseError | None]:
        if self.answer.release is None:
            return None, None
        try:
            return Reader(self.data).read(self.answer.release), None
        except ReleaseError as error:
            return None, error

    @property
    def microdata(self) -> Microdata | None:
        return self._read[0]

    @property
    def unreadable(self) -> ReleaseError | None:
        """Why the release cannot be read, if it cannot."""
        return self._read[1]

    @cached_property
    def weights(self) -> npt.NDArray[np.float64]:
        """How many people each released row stands for.  # [released rows]"""
        assert self.microdata is not None
        if self.microdata.weights is not None:
            return self.microdata.weights
        return np.ones(len(self.microdata.sensitive[0]), dtype=np.float64)

    @property
    def rows_released(self) -> float:
        """How many people the release stands for; 0 where it cannot be read."""
        return 0.0 if self.microdata is None else float(self.weights.sum())

    @cached_property
    def classes(self) -> npt.NDArray[np.intp]:
        """The class of each released row: rows whose quasi-identifiers mean the same.  # [released rows]"""
        assert self.microdata is not None
        columns = [column.ids[column.codes] for column in self.microdata.quasi]
        if not len(columns[0]):
            return np.zeros(0, dtype=np.intp)
        return np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)[1].reshape(-1)

    @cached_property
    def suppressed(self) -> Bools:
        """Which released rows show no quasi-identifier at all.  # [released rows]"""
        return self._all_are(lambda _column, _cell, value: isinstance(value, Suppressed))

    @cached_property
    def exact(self) -> Bools:
        """Which released rows show every quasi-identifier as it was.  # [released rows]"""
        return self._all_are(lambda _column, _cell, value: isinstance(value, Exact))

    @cached_property
    def exact_in_effect(self) -> Bools:
        """The same, where [34, 34] and {Bonn} are as good as 34 and Bonn.  # [released rows]"""
        assert self.answer.release is not None
        release = self.answer.release
        palettes = [[*release.column(one.name).palette.tolist(), None] for one in self.data.schema.quasi]  # None: gaps
        return self._all_are(lambda column, cell, value: _is_one_value(value, str(palettes[column][cell])))

    def _all_are(self, holds: Callable[[int, int, Value], bool]) -> Bools:
        """Rows of which every quasi-identifier, given by its place, place of the cell and meaning, is so."""
        assert self.microdata is not None
        whole = np.ones(len(self.classes), dtype=bool)
        for column, cells in enumerate(self.microdata.quasi):
            known = [holds(column, cell, cells.lexicon.value(number)) for cell, number in enumerate(cells.ids)]
            whole &= np.array(known, dtype=bool)[cells.codes] if known else False
        return whole

    @cached_property
    def covers(self) -> Bools:
        """Whether each released row's cells cover each row of the table.  # [released rows, rows]"""
        assert self.microdata is not None
        whole = np.ones((len(self.microdata.sensitive[0]), self.data.size), dtype=bool)
        for place, cells in enumerate(self.microdata.quasi):
            reading, codes = self.data.readings[place], self.data.codes[place]
            raws = [reading.domain[code] for code in codes]
            table = np.array([[cells.lexicon.value(number).covers(raw) for raw in raws] for number in cells.ids])
            if len(table):
                whole &= table[cells.codes]
        return whole

    @cached_property
    def shows_secret(self) -> Bools:
        """Whether each released row has the sensitive values of each row, or hides them.  # [released rows, rows]"""
        assert self.microdata is not None
        whole = np.ones((len(self.microdata.sensitive[0]), self.data.size), dtype=bool)
        for place, released in enumerate(self.microdata.sensitive):
            original = self.data.codes[len(self.data.schema.quasi) + place]
            whole &= (released[:, None] == original[None, :]) | (released < 0)[:, None]
        return whole

    @property
    def shows_all_secrets(self) -> bool:
        """Whether no released row hides its sensitive values."""
        return self.microdata is not None and all((released >= 0).all() for released in self.microdata.sensitive)

    def unmatched(self, possible: Bools) -> int | None:
        """The first released row for which no row of the table is left, one for each person; None if all have one.

        Row order is not trusted: any assignment will do (a largest matching in the graph of `possible` pairs).
        """
        counts = np.rint(self.weights).astype(int)
        if counts.sum() > MOST_WEIGHT or not np.allclose(counts, self.weights):
            return None
        rows = np.repeat(np.arange(len(counts)), counts)
        partner = maximum_bipartite_matching(csr_array(possible[rows].astype(np.int8)), perm_type="column")
        lonely = np.flatnonzero(partner < 0)
        return int(rows[lonely[0]]) if len(lonely) else None

    def printed(self, row: int) -> str:
        """The quasi-identifiers of one released row, as the anonymizer printed them."""
        return self._cells(row, self.data.schema.quasi)

    def printed_secret(self, row: int) -> str:
        """Its sensitive values, for laws that are about them."""
        return self._cells(row, self.data.schema.sensitive)

    def _cells(self, row: int, columns: Sequence[Column]) -> str:
        assert self.answer.release is not None
        table, place = self.answer.release, np.array([row])
        return ", ".join(f"{one.name}={table.column(one.name).taking(place).values()[0]}" for one in columns)


@dataclass(eq=False)
class Budget:
    """How many calls of f, and how much time, a check may take."""

    calls: int
    seconds: float
    spent: int = 0
    _start: float = field(default_factory=time.monotonic)

    @property
    def share_of_time(self) -> float:
        """How much of the time is over; 1 or more: all of it."""
        return (time.monotonic() - self._start) / self.seconds

    @property
    def left(self) -> int:
        """Calls that may still be made; none once the time is over."""
        return 0 if self.share_of_time >= 1 else max(0, self.calls - self.spent)

    def spend(self, calls: int) -> None:
        if calls > self.left:
            raise OutOfBudget
        self.spent += calls


@dataclass(frozen=True, eq=False)
class Session:
    """The oracle under check, what it was asked so far, and what may still be asked."""

    oracle: Oracle
    domains: Domains
    budget: Budget
    seed: int = 0  # of draws and orders that laws choose by chance
    runs_here: bool = True  # on this machine: whatever fails, the anonymizer is to blame
    reopened: Callable[[Mapping[str, str]], Oracle] | None = None  # in a process with these environment variables
    _trials: dict[tuple[Rows, int], Trial] = field(default_factory=dict, repr=False)
    found_out: dict[str, bool] = field(default_factory=dict, repr=False)  # what a law need not ask twice

    @property
    def card(self) -> Card:
        return self.oracle.card

    @property
    def trials(self) -> Sequence[Trial]:
        """Every table that was asked about, with its answer."""
        return tuple(self._trials.values())

    def with_domains(self, domains: Domains) -> Session:
        """The same oracle and budget for tables with other columns."""
        return replace(self, domains=domains, _trials={})

    def trial(self, rows: Sequence[Row], seed: int = 0) -> Trial:
        """The table with the answer to it; asked once."""
        key = (tuple(rows), seed)
        if key not in self._trials:
            self._trials[key] = Trial(self._data(key[0]), key[0], self.ask(key[0], seed))
        return self._trials[key]

    def ask(self, rows: Sequence[Row], seed: int = 0) -> Answer:
        """A fresh answer to the table."""
        return self.draws(rows, 1, seed)[0]

    def draws(self, rows: Sequence[Row], draws: int, seed: int = 0) -> list[Answer]:
        """So many releases of one table, with seeds that follow each other."""
        self.budget.spend(draws)
        ask = Ask(self._data(tuple(rows)), draws=draws, seed=seed)
        try:
            return [_as_answer(release) for release in checked_answers(self.oracle, ask)]
        except OracleError as error:
            if error.retryable and not self.runs_here and not self._still_answers():
                raise  # out of reach, which says nothing about the anonymizer
            raised = RAISED.search(str(error))
            return [Answer(error=str(error), kind=raised[1] if raised else None)] * draws

    def _still_answers(self) -> bool:
        """Whether a table that was released before still is: then an error is about the table, not the way to it."""
        known = next((trial for trial in self.trials if trial.answer.release is not None), None)
        if known is None:
            return False
        self.budget.spend(1)
        try:
            return bool(list(checked_answers(self.oracle, Ask(known.data))))
        except OracleError:
            return False

    def predictions(self, rows: Sequence[Row], about: int, without: bool, draws: int, seed: int) -> Predictions:
        """What f predicts at the quasi-identifiers of one row, with that row in the table or without it."""
        self.budget.spend(1)
        data = self._data(tuple(rows))
        ask = Ask(data, drop=(about,) if without else (), about=data.record(about).quasi, draws=draws, seed=seed)
        parts = [part for part in checked_answers(self.oracle, ask) if isinstance(part, Predictions)]
        return Predictions(np.concatenate([part.rows for part in parts]))

    def _data(self, rows: Rows) -> Dataset:
        return self.domains.dataset(rows)


def _is_one_value(value: Value, printed: str) -> bool:
    """Whether a cell shows a single value. A mask or a node that covers only one value of the domain does not print
    it.
    """
    if isinstance(value, Interval):
        return value.low == value.high
    if isinstance(value, OneOf):
        return len(value.values) == 1 and str(next(iter(value.values))) in printed
    return isinstance(value, Exact)


def _as_answer(release: Table | Predictions) -> Answer:
    if isinstance(release, Predictions):
        raise InputError("the oracle releases predictions, not rows; laws about rows do not apply to it")
    return Answer(release)
