"""Bins of number and date columns, and D with its numbers replaced by their bins (v1's QuantilesB). Knows D only.

Bins are counted from 0 and left-closed, the last one closed: v1's example ([15,29], [30,44], …, [75,90], 30 in the
second) is right only this way. `width` makes them equally wide, as that example does; `quantiles` puts the edges at
the quantiles of D's rows. A date counts by the ordinal of its day, a longer period by the middle of its days.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from harness.measuring.encoding.axis import Axis, axis_of, number_ends
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError, did_you_mean
from harness.vocabulary.schema import MISSING, Column, Schema
from harness.vocabulary.table import Cells, Table
from harness.vocabulary.values import Kind, Raw, Reading, Span

Binning = Literal["width", "quantiles"]
NUMBER_KINDS: tuple[Kind, ...] = ("number", "date")  # the kinds that take the encoding of numbers


@dataclass(frozen=True)
class Bins:
    """Into how many bins a domain is cut, and where."""

    count: int = 5
    binning: Binning = "width"

    def __post_init__(self) -> None:
        if not isinstance(self.count, int) or isinstance(self.count, bool) or self.count < 1:
            raise InputError(f"bins must be a whole number of at least 1, not {self.count!r}")
        if self.binning not in get_args(Binning):
            hint = did_you_mean(str(self.binning), get_args(Binning))
            raise InputError(f"binning {self.binning!r} is not known; {hint}")

    def of_equal_width(self, low: float, high: float) -> tuple[float, ...]:
        """The edges between the bins; multiplied first, so that whole edges of whole numbers are exact."""
        return tuple(low + step * (high - low) / self.count for step in range(1, self.count))

    def edges_of(self, data: Dataset) -> dict[str, tuple[float, ...]]:
        """The edges between the bins of every number and date column of D."""
        columns = zip(data.schema.quasi, data.readings, data.codes, strict=False)
        return {
            column.name: self._edges(reading, codes)
            for column, reading, codes in columns
            if reading.kind in NUMBER_KINDS
        }

    def _edges(self, reading: Reading, codes: npt.NDArray[np.int32]) -> tuple[float, ...]:
        rows = np.array([np.nan if isinstance(raw, str) else _middle(raw) for raw in reading.domain])[codes]
        known = rows[~np.isnan(rows)]
        if self.binning == "width" or len(known) == 0:
            axis = axis_of(reading)
            return self.of_equal_width(axis.low, axis.high)
        return tuple(np.quantile(known, np.arange(1, self.count) / self.count).tolist())

    @property
    def labels(self) -> tuple[str, ...]:
        """The bins as the values of an ordered column."""
        return tuple(str(number) for number in range(self.count))

    def parameters(self) -> dict[str, Any]:
        return {"bins": self.count, "binning": self.binning}


def _middle(raw: float | Span) -> float:
    return sum(number_ends(raw)) / 2


def bin_label(raw: Raw, inner: tuple[float, ...], axis: Axis) -> str:
    """The bin of a raw value, beyond the domain that of the nearest number; a missing one stays what it is."""
    return MISSING if isinstance(raw, str) else str(bisect_right(inner, axis.nearest(_middle(raw))))


def binned(data: Dataset, bins: Bins) -> Dataset:
    """D as f sees it under QuantilesB: each number and date column is an ordered one of the numbers of its bins."""
    edges = bins.edges_of(data)
    columns, readings, places = list(data.schema.quasi), list(data.readings), list(data.places)
    cells = [data.table.column(name) for name in data.schema.names]
    for place, column in enumerate(data.schema.quasi):
        if column.name in edges:
            axis = axis_of(data.readings[place])
            labels = [bin_label(raw, edges[column.name], axis) for raw in data.readings[place].domain]
            columns[place] = Column(column.name, "ordered", order=bins.labels)
            readings[place] = columns[place].reading(columns[place].untyped(), labels)
            places[place] = _positions([*bins.labels, MISSING], readings[place].domain)
            cells[place] = Cells(
                np.array(bins.labels, dtype=object), _positions(labels, bins.labels)[data.codes[place]]
            )
    schema = Schema(
        tuple(columns), data.schema.sensitive, data.schema.weight, data.schema.person, data.schema.suppressed
    )
    table = Table(data.schema.names, tuple(cells))
    return replace(data, schema=schema, table=table, readings=tuple(readings), places=tuple(places))


def _positions(labels: list[str], among: tuple[Raw, ...]) -> npt.NDArray[np.int32]:
    """Where each label stands among others; -1 where it does not."""
    place = {label: position for position, label in enumerate(among)}
    return np.array([place.get(label, -1) for label in labels], dtype=np.int32)
