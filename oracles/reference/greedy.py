"""Greedy k-anonymization as an oracle: the smallest class first, merged where that costs the table least.

One release: the quasi-identifiers as nodes (generalising), the classes (merging), and their cells printed. The order of
rows decides ties, so the same rows in another order may be released otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import TABLE_REFUSED, InputError, OracleError
from harness.vocabulary.oracle import Ask, Card
from harness.vocabulary.schema import Schema
from harness.vocabulary.table import Cells, Table
from oracles.reference.declared import check_truth, checked_count
from oracles.reference.generalising import GeneralisedColumn, Longs, generalised
from oracles.reference.merging import merged_classes
from oracles.reference.proportional import with_shares
from oracles.remembering import Remembered


@dataclass(frozen=True)
class Greedy:
    """Merges the smallest class with the one for which lost leaves grow least, until every class has k rows."""

    k: int = 5  # least rows of a class
    proportional: bool = False  # cells also say how the original values of their class are shared out
    _columns: Remembered[tuple[GeneralisedColumn, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", checked_count("greedy", "k", self.k))
        check_truth("greedy", "proportional", self.proportional)
        object.__setattr__(self, "_columns", Remembered(generalised))

    def __reduce__(self) -> tuple[Any, ...]:
        """Only what was declared travels."""
        return Greedy, (self.k, self.proportional)

    @property
    def card(self) -> Card:
        shown = f"k={self.k}, proportional=True" if self.proportional else f"k={self.k}"
        return Card(f"greedy({shown})", version="1", randomized=False, keeps_data=True)

    def answer(self, ask: Ask) -> Iterable[Table]:
        try:
            return [self._release(ask.data, ask.drop)] * ask.draws
        except InputError as error:  # asked as an oracle, it refuses a question
            raise OracleError(str(error), reason=TABLE_REFUSED) from None

    def close(self) -> None:
        """Nothing is held open."""

    def anonymize(self, frame: pd.DataFrame, schema: Schema) -> pd.DataFrame:
        """The release of a DataFrame; a missing cell counts as a value of its own."""
        release = self._release(Dataset.from_frame(frame, schema, missing="keep"), ())
        return release.to_frame().set_axis(frame.index)

    def _release(self, data: Dataset, drop: tuple[int, ...]) -> Table:
        rows = np.delete(np.arange(data.size), drop)
        if len(rows) < self.k:
            raise InputError(f"greedy: k = {self.k}, but the table has {len(rows)} rows; lower k or give more rows")
        columns = self._columns(data)
        partition = merged_classes(columns, rows, self.k)
        pairs = zip(columns, partition.nodes, strict=True)
        quasi = tuple(_printed(column, nodes[partition.classes]) for column, nodes in pairs)
        sensitive = data.table.without(drop).columns[len(columns) :]
        table = Table(data.schema.names, (*quasi, *sensitive))
        return with_shares(table, data, rows) if self.proportional else table


def _printed(column: GeneralisedColumn, nodes: Longs) -> Cells:
    """A column of the release; nodes that print alike are one cell."""
    distinct, codes = np.unique(nodes, return_inverse=True)
    return Cells.of(np.array([column.text(int(node)) for node in distinct], dtype=object)[codes.reshape(-1)])
