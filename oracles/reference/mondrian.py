"""Mondrian as an oracle: k-anonymity, ℓ-diversity and t-closeness by strict median cuts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any, get_args

import numpy as np
import pandas as pd

from harness.dataset import Dataset, Schema
from harness.errors import InputError, did_you_mean
from harness.oracle import Ask, Card
from harness.table import Cells, Table
from oracles.reference.axes import Axes, Ground
from oracles.reference.cells import STYLES, Style, cell_keys, number_cells, text
from oracles.reference.cuts import Diversity, Rule, is_allowed, partition
from oracles.reference.remembering import Remembered


@dataclass(frozen=True)
class Mondrian:
    """Cuts the widest quasi-identifier at its median as long as every part is a class of its own.

    A class has at least k rows; with `l` no sensitive value makes up more than 1/l of it ("probability"), or it
    has at least l different ones ("distinct"); with `t` its sensitive values lie within total variation t of
    the table's. `cells` are tight "ranges" of the members or the "regions" between the cuts.
    """

    k: int = 5
    l: int | None = None  # noqa: E741
    diversity: Diversity = "probability"
    t: float | None = None
    cells: Style = "ranges"
    _axes: Remembered[Axes] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_count("k", self.k)
        if self.l is not None:
            _check_count("l", self.l)
        if self.t is not None and not 0 <= self.t <= 1:
            raise InputError(f"mondrian: t = {self.t!r}; expected a number from 0 to 1, a total variation distance")
        _check_choice("diversity", self.diversity, get_args(Diversity))
        _check_choice("cells", self.cells, STYLES)
        object.__setattr__(self, "_axes", Remembered(Axes.of))

    def __reduce__(self) -> tuple[Any, ...]:
        return Mondrian, tuple(getattr(self, item.name) for item in fields(self) if item.init)

    @property
    def rule(self) -> Rule:
        return Rule(self.k, self.l, self.diversity, self.t)

    @property
    def card(self) -> Card:
        return Card(name=repr(self).lower(), version="1", randomized=False)

    def answer(self, ask: Ask) -> Iterable[Table]:
        return [self._release(ask.data, ask.drop)] * ask.draws

    def close(self) -> None:
        """Nothing is held open."""

    def anonymize(self, frame: pd.DataFrame, schema: Schema) -> pd.DataFrame:
        """The release of a DataFrame; a missing cell counts as a value of its own."""
        return self._release(Dataset.from_frame(frame, schema, missing="keep"), None).to_frame()

    def _release(self, data: Dataset, drop: int | None) -> Table:
        axes = self._axes(data)
        given = np.arange(data.size) if drop is None else np.delete(np.arange(data.size), drop)
        ground = Ground.of(axes, given)
        self._require_a_class(ground)
        sizes = np.array([len(axis.raws) for axis in axes.each], dtype=np.int32)
        rows, classes = partition(ground, self.rule, given, np.zeros_like(sizes), sizes)
        label = np.empty(data.size, dtype=np.int32)
        label[rows] = np.repeat(np.arange(len(classes.size)), classes.size)
        label = label[given]
        columns = []
        for number, axis in enumerate(axes.each):
            codes, keys = number_cells(cell_keys(ground, self.cells, number, rows, classes), {})
            palette = np.array([text(axis, self.cells, key) for key in keys], dtype=object)
            columns.append(Cells(palette, np.array(codes, dtype=np.int32)[label]))
        secrets = [data.table.column(column.name) for column in data.schema.sensitive]
        columns += secrets if drop is None else [cells.without(drop) for cells in secrets]
        return Table(data.schema.names, tuple(columns))

    def _require_a_class(self, ground: Ground) -> None:
        """A table that breaks the rule as a whole cannot be released at all."""
        if is_allowed(ground, self.rule):
            return
        rows, top = len(ground.rows), int(ground.shares.max())
        if rows < self.k:
            raise InputError(f"mondrian: k = {self.k}, but the table has {rows} rows; lower k or give more rows")
        what = (
            f"the most frequent sensitive value makes up {top} of its {rows} rows, more than 1/{self.l}"
            if self.diversity == "probability"
            else f"the table has only {np.count_nonzero(ground.shares)} different sensitive values"
        )
        raise InputError(f"mondrian: l = {self.l}, but {what}; lower l or leave it out")


def _check_count(name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InputError(f"mondrian: {name} = {value!r}; expected a whole number of at least 1")


def _check_choice(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InputError(f"mondrian: {name} = {value!r} is not known; {did_you_mean(str(value), known)}")
