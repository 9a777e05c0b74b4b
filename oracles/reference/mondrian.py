"""Mondrian as an oracle: k-anonymity, ℓ-diversity and t-closeness by strict median cuts.

One release: the rows that are left (axes, Ground) are cut as long as every part satisfies the rule (cuts), and the
classes are printed (cells). For D less one row the run on D is reused where it certainly stays the same
(leave_one_out); less several rows everything is run again. A table that breaks the rule as a whole cannot be
released at all: it is refused, or with `infeasible = "generalise"` every quasi-identifier is suppressed, as v1's
experiments do, and the release says so.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import TABLE_REFUSED, InputError, OracleError, did_you_mean
from harness.vocabulary.oracle import Ask, Card
from harness.vocabulary.schema import Schema
from harness.vocabulary.table import Cells, Table
from harness.vocabulary.values import Suppressed, show
from oracles.reference.axes import Axes, Ground, Longs
from oracles.reference.cells import STYLES, Style
from oracles.reference.cuts import Diversity, Rule
from oracles.reference.declared import check_truth, checked_count
from oracles.reference.leave_one_out import FullRun
from oracles.reference.proportional import with_shares
from oracles.remembering import Remembered

Infeasible = Literal["error", "generalise"]
USUAL_K = 5
OTHERWISE = 'infeasible = "generalise" releases such a table with every quasi-identifier suppressed'


class RuleBroken(InputError):
    """All rows together break the rule, so that there is no release of them; `parameter` is the one they break."""

    def __init__(self, message: str, parameter: str = "") -> None:
        super().__init__(message)
        self.parameter = parameter


@dataclass(frozen=True)
class Mondrian:
    """Cuts the widest quasi-identifier at its median as long as every part is a class of its own.

    A class has at least k rows; with `l` no sensitive value makes up more than 1/l of it ("probability"), or it
    has at least l different ones ("distinct"); with `t` its sensitive values lie within total variation t of
    the table's. k is 5 if it is not given, but 1 beside l or t. `cells` are tight "ranges" of the members or the
    "regions" between the cuts. A table that breaks the rule as a whole is an error, or is released with every
    quasi-identifier suppressed and a note, as `infeasible` says. `incremental` remembers the run on D, so that D
    less one row takes a fraction of the time; the releases are the same. With `proportional` every cell also says how
    the original values of its class are shared out.
    """

    k: int | None = None  # least rows of a class (None: 5, but 1 beside l or t)
    l: int | None = None  # diversity of the sensitive values of a class  # noqa: E741
    diversity: Diversity = "probability"  # no value in more than 1/l of a class, or at least l "distinct" ones
    t: float | None = None  # largest total variation of the sensitive values of a class from those of the table
    cells: Style = "ranges"  # "ranges" of the members, or the "regions" between the cuts
    infeasible: Infeasible = "error"  # what a table that breaks the rule as a whole is, or "generalise": suppressed
    incremental: bool = True  # remember the run on D: D less one row takes less time, and the releases are the same
    proportional: bool = False  # cells also say how the original values of their class are shared out
    _rule: Rule = field(init=False, repr=False, compare=False)
    _axes: Remembered[Axes] = field(init=False, repr=False, compare=False)
    _full: Remembered[FullRun | None] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        k = self.k if self.k is not None else USUAL_K if self.l is None and self.t is None else 1
        k = checked_count("mondrian", "k", k)
        if self.l is not None:
            object.__setattr__(self, "l", checked_count("mondrian", "l", self.l))
        if self.t is not None and (not isinstance(self.t, int | float) or not 0 <= self.t <= 1):
            raise InputError(f"mondrian: t = {self.t!r}; expected a number from 0 to 1, a total variation distance")
        _check_choice("diversity", self.diversity, get_args(Diversity))
        _check_choice("cells", self.cells, STYLES)
        _check_choice("infeasible", self.infeasible, get_args(Infeasible))
        check_truth("mondrian", "proportional", self.proportional)
        object.__setattr__(self, "k", k)
        object.__setattr__(self, "_rule", Rule(k, self.l, self.diversity, self.t))
        object.__setattr__(self, "_axes", Remembered(Axes.of))
        object.__setattr__(self, "_full", Remembered(self._full_run))

    def __reduce__(self) -> tuple[Any, ...]:
        """Only what was declared travels."""
        return Mondrian, tuple(getattr(self, item.name) for item in fields(self) if item.init)

    @cached_property
    def card(self) -> Card:
        settings = {item.name: getattr(self, item.name) for item in fields(self) if item.init}
        shown = ", ".join(f"{name}={value}" for name, value in settings.items() if _matters(name, value, self))
        return Card(f"mondrian({shown})", version="3", randomized=False, keeps_data=True, row_order_invariant=True)

    def answer(self, ask: Ask) -> Iterable[Table]:
        try:
            return [self._release(ask.data, ask.drop)] * ask.draws
        except RuleBroken as broken:  # asked as an oracle, it refuses a question
            raise OracleError(str(broken), reason=TABLE_REFUSED) from None

    def close(self) -> None:
        """Nothing is held open."""

    def anonymize(self, frame: pd.DataFrame, schema: Schema) -> pd.DataFrame:
        """The release of a DataFrame; a missing cell counts as a value of its own."""
        release = self._release(Dataset.from_frame(frame, schema, missing="keep"), ())
        for note in release.notes:
            warnings.warn(note, stacklevel=2)
        return release.to_frame().set_axis(frame.index)

    def _release(self, data: Dataset, drop: tuple[int, ...]) -> Table:
        plain = self._plain_release(data, drop)
        return with_shares(plain, data, np.delete(np.arange(data.size), drop)) if self.proportional else plain

    def _plain_release(self, data: Dataset, drop: tuple[int, ...]) -> Table:
        try:
            quasi = self._quasi_columns(data, drop)
        except RuleBroken as broken:
            if self.infeasible == "error":
                raise
            return _generalised(data, drop, broken.parameter)
        return Table(data.schema.names, (*quasi, *(cells.without(drop) for cells in _sensitive_columns(data))))

    def _quasi_columns(self, data: Dataset, drop: tuple[int, ...]) -> tuple[Cells, ...]:
        """Record by record, of the rows that are left."""
        full = self._full(data) if self.incremental and len(drop) < 2 else None
        if full is not None:
            columns = full.without(drop[0]) if drop else full.whole()
            if columns is not None:
                return columns
        whole = self._run(data, np.delete(np.arange(data.size), drop)).whole()  # void where a row is left out
        return tuple(cells.without(drop) for cells in whole) if drop else whole

    def _full_run(self, data: Dataset) -> FullRun | None:
        """The run on D; None if D cannot be released, although D⁻ⁱ may be."""
        try:
            return self._run(data, np.arange(data.size))
        except RuleBroken:
            return None

    def _run(self, data: Dataset, rows: Longs) -> FullRun:
        """A full run on these rows, which must be a class together: else nothing can be released."""
        k, l, size = self._rule.k, self.l, len(rows)  # noqa: E741
        if size < k:
            counted = f"{size} row{'' if size == 1 else 's'}"
            raise RuleBroken(
                f"mondrian: k = {k}, but the table has {counted}; lower k or give more rows; {OTHERWISE}", f"k = {k}"
            )
        ground = Ground.of(self._axes(data), rows)
        top, distinct = int(ground.shares.max()), int(np.count_nonzero(ground.shares))
        if not self._rule.suits(size, top, distinct):
            reason = (
                f"the most frequent sensitive value makes up {top} of its {size} rows, more than 1/{l}"
                if self.diversity == "probability"
                else f"the table has {distinct} different sensitive values in its {size} rows"
            )
            raise RuleBroken(f"mondrian: l = {l}, but {reason}; lower l or leave it out; {OTHERWISE}", f"l = {l}")
        return FullRun.of(ground, self._rule, self.cells)


def _generalised(data: Dataset, drop: tuple[int, ...], parameter: str) -> Table:
    """The table with every quasi-identifier suppressed, and a note that says why."""
    star = Cells(np.array([show(Suppressed())], dtype=object), np.zeros(data.size, dtype=np.int32))
    note = f"mondrian: all rows together break {parameter}, so that every quasi-identifier is suppressed"
    table = Table(data.schema.names, (*[star] * len(data.schema.quasi), *_sensitive_columns(data))).without(drop)
    return Table(table.names, table.columns, (note,))


def _sensitive_columns(data: Dataset) -> tuple[Cells, ...]:
    return tuple(data.table.column(column.name) for column in data.schema.sensitive)


def _matters(name: str, value: object, mondrian: Mondrian) -> bool:
    """Does a setting say anything about the releases?"""
    if name == "diversity":
        return mondrian.l is not None
    if name in ("infeasible", "proportional"):
        return value in ("generalise", True)
    return value is not None and name != "incremental"


def _check_choice(name: str, value: object, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InputError(f"mondrian: {name} = {value!r} is not known; {did_you_mean(str(value), known)}")
