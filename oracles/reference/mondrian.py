"""Mondrian as an oracle: k-anonymity, ℓ-diversity and t-closeness by strict median cuts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any, get_args

import numpy as np
import pandas as pd

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError, did_you_mean
from harness.vocabulary.oracle import Ask, Card
from harness.vocabulary.schema import Schema
from harness.vocabulary.table import Table
from oracles.reference.axes import Axes, Ground, Longs
from oracles.reference.cells import STYLES, Style
from oracles.reference.cuts import Diversity, Rule
from oracles.reference.leave_one_out import Grown, Outcome
from oracles.reference.remembering import Remembered


@dataclass(frozen=True)
class Mondrian:
    """Cuts the widest quasi-identifier at its median as long as every part is a class of its own.

    A class has at least k rows; with `l` no sensitive value makes up more than 1/l of it ("probability"), or it
    has at least l different ones ("distinct"); with `t` its sensitive values lie within total variation t of
    the table's. `cells` are tight "ranges" of the members or the "regions" between the cuts. `incremental`
    remembers the run on D, so that D⁻ⁱ takes a fraction of the time; the releases are the same.
    """

    k: int = 5
    l: int | None = None  # noqa: E741
    diversity: Diversity = "probability"
    t: float | None = None
    cells: Style = "ranges"
    incremental: bool = True
    _axes: Remembered[Axes] = field(init=False, repr=False, compare=False)
    _full: Remembered[Grown | None] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_count("k", self.k)
        if self.l is not None:
            _check_count("l", self.l)
        if self.t is not None and (not isinstance(self.t, int | float) or not 0 <= self.t <= 1):
            raise InputError(f"mondrian: t = {self.t!r}; expected a number from 0 to 1, a total variation distance")
        _check_choice("diversity", self.diversity, get_args(Diversity))
        _check_choice("cells", self.cells, STYLES)
        object.__setattr__(self, "_axes", Remembered(Axes.of))
        object.__setattr__(self, "_full", Remembered(self._full_run))

    def __reduce__(self) -> tuple[Any, ...]:
        """Only what was declared travels."""
        return Mondrian, tuple(getattr(self, item.name) for item in fields(self) if item.init)

    @property
    def card(self) -> Card:
        settings = {item.name: getattr(self, item.name) for item in fields(self) if item.init}
        said = ", ".join(f"{name}={value}" for name, value in settings.items() if _matters(name, value, self))
        return Card(f"mondrian({said})", version="1", randomized=False, keeps_data=True, row_order_invariant=True)

    def answer(self, ask: Ask) -> Iterable[Table]:
        return [self._release(ask.data, ask.drop)] * ask.draws

    def close(self) -> None:
        """Nothing is held open."""

    def anonymize(self, frame: pd.DataFrame, schema: Schema) -> pd.DataFrame:
        """The release of a DataFrame; a missing cell counts as a value of its own."""
        return self._release(Dataset.from_frame(frame, schema, missing="keep"), None).to_frame()

    def _release(self, data: Dataset, drop: int | None) -> Table:
        outcome = self._outcome(data, drop)
        labels = np.zeros(data.size, dtype=np.int32)
        labels[outcome.rows] = np.repeat(np.arange(len(outcome.sizes), dtype=np.int32), outcome.sizes)
        quasi = [cells.taking(labels) for cells in outcome.columns]
        secrets = [data.table.column(column.name) for column in data.schema.sensitive]
        release = Table(data.schema.names, (*quasi, *secrets))
        return release if drop is None else release.without(drop)

    def _outcome(self, data: Dataset, drop: int | None) -> Outcome:
        full = self._full(data) if self.incremental else None
        known = None if full is None else full.whole() if drop is None else full.without(drop)
        if known is not None:
            return known
        everyone = np.arange(data.size)
        return self._grown(data, everyone if drop is None else np.delete(everyone, drop)).whole()

    def _full_run(self, data: Dataset) -> Grown | None:
        """The run on D; None if D cannot be released, although D⁻ⁱ may be."""
        try:
            return self._grown(data, np.arange(data.size))
        except InputError:
            return None

    def _grown(self, data: Dataset, rows: Longs) -> Grown:
        """A full run on these rows, which must be a class together: else nothing can be released."""
        if len(rows) < self.k:
            raise InputError(f"mondrian: k = {self.k}, but the table has {len(rows)} rows; lower k or give more rows")
        ground = Ground.of(self._axes(data), rows)
        top, distinct = int(ground.shares.max()), int(np.count_nonzero(ground.shares))
        rule = Rule(self.k, self.l, self.diversity, self.t)
        if not rule.suits(len(rows), top, distinct):
            found = (
                f"the most frequent sensitive value makes up {top} of its {len(rows)} rows, more than 1/{self.l}"
                if self.diversity == "probability"
                else f"the table has {distinct} different sensitive values"
            )
            raise InputError(f"mondrian: l = {self.l}, but {found}; lower l or leave it out")
        return Grown.of(ground, rule, self.cells)


def _matters(name: str, value: object, mondrian: Mondrian) -> bool:
    """Does a setting say anything about the releases?"""
    if name == "diversity":
        return mondrian.l is not None
    return value is not None and name != "incremental"


def _check_count(name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InputError(f"mondrian: {name} = {value!r}; expected a whole number of at least 1")


def _check_choice(name: str, value: object, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InputError(f"mondrian: {name} = {value!r} is not known; {did_you_mean(str(value), known)}")
