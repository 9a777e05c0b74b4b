"""Encodings of number and date columns (v1 appendix A.1, i = 1, 2, 3, 5). Knows the column's domain in D.

With the ends of a cell clipped to [min, max] of D and counted from min (`axis`), so that they lie in [0, span]:
    scaling     mid / span                        mid = mean of the ends
    bounds      low / span, high / span
    binary      floor(mid) in bit_length(floor(span)) bits, highest first
    quantiles   1 for each of the bins that the cell touches; an open end does not touch
What says nothing about the number ('*', a missing cell that was kept as a value) has the ends of the domain; but a
missing value touches no bin. Where D has one number only, span is 0 and all but '*' is scaled to 0.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from harness.measuring.encoding.axis import Axis, axis_of, pieces
from harness.measuring.encoding.bins import Bins
from harness.measuring.encoding.column import ColumnEncoding, bit_labels, encode_each
from harness.measuring.features import ColumnFeatures, Floats
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError
from harness.vocabulary.lexicon import CellIds, Lexicon
from harness.vocabulary.values import Exact, OneOf, Raw, Suppressed, Value

Scale = Literal["unit", "symmetric"]  # [0, 1] or [-1, 1]; v1 allows both


def _scaled(shares: list[float], scale: Scale) -> Floats:
    unit = np.array(shares, dtype=np.float64)
    return unit if scale == "unit" else 2 * unit - 1


@dataclass(frozen=True)
class Scaling(ColumnEncoding):
    """i = 1: where the middle of a cell lies in the domain."""

    scale: Scale = "unit"
    relative: ClassVar[bool] = False

    def encode(self, column: CellIds, target: Raw | None) -> ColumnFeatures:
        axis = axis_of(column.lexicon.reading)

        def work_out(value: Value) -> Floats:
            share = 0.5 if isinstance(value, Suppressed) else axis.share(axis.middle(value))
            return _scaled([share], self.scale)

        return encode_each(column, ("scaling", self.scale), 1, work_out)

    def labels(self, column: CellIds) -> tuple[str, ...]:
        return ("middle",)

    def parameters(self) -> dict[str, Any]:
        return {"scale": self.scale}


@dataclass(frozen=True)
class Bounds(ColumnEncoding):
    """i = 2: where both ends of a cell lie in the domain."""

    scale: Scale = "unit"
    relative: ClassVar[bool] = False

    def encode(self, column: CellIds, target: Raw | None) -> ColumnFeatures:
        axis = axis_of(column.lexicon.reading)

        def work_out(value: Value) -> Floats:
            shares = [0.0, 1.0] if isinstance(value, Suppressed) else [axis.share(end) for end in axis.ends(value)]
            return _scaled(shares, self.scale)

        return encode_each(column, ("bounds", self.scale), 2, work_out)

    def labels(self, column: CellIds) -> tuple[str, ...]:
        return ("low", "high")

    def parameters(self) -> dict[str, Any]:
        return {"scale": self.scale}


@dataclass(frozen=True)
class BinaryNumbers(ColumnEncoding):
    """i = 3: the middle of a cell as a whole number, counted from min, in binary; no bit where max − min < 1."""

    relative: ClassVar[bool] = False

    def encode(self, column: CellIds, target: Raw | None) -> ColumnFeatures:
        axis, width = axis_of(column.lexicon.reading), self._width(column)

        def work_out(value: Value) -> npt.NDArray[np.bool_]:
            number = math.floor(axis.middle(value))
            return np.array([number >> bit & 1 for bit in reversed(range(width))], dtype=bool)

        return encode_each(column, "binary numbers", width, work_out)

    def _width(self, column: CellIds) -> int:
        return math.floor(axis_of(column.lexicon.reading).span).bit_length()

    def labels(self, column: CellIds) -> tuple[str, ...]:
        return bit_labels(self._width(column))

    def parameters(self) -> dict[str, Any]:
        return {}


@dataclass(frozen=True)
class Quantiles(ColumnEncoding):
    """i = 5: 1 for each bin that a cell touches. The first and the last bin also take what lies beyond the domain.

    A bin between two equal quantiles holds no number; it counts as touched by ranges that cross it.
    """

    bins: Bins = field(default_factory=Bins)
    edges: Mapping[str, tuple[float, ...]] = field(default_factory=dict, hash=False)  # by column, once D is known
    relative: ClassVar[bool] = False

    def for_data(self, data: Dataset) -> Quantiles:
        """The same with edges at the quantiles of D's rows; equal widths need no rows."""
        return self if self.bins.binning == "width" else replace(self, edges=self.bins.edges_of(data))

    def encode(self, column: CellIds, target: Raw | None) -> ColumnFeatures:
        inner, axis = self._inner_edges(column.lexicon), axis_of(column.lexicon.reading)
        return encode_each(column, ("quantiles", inner), len(inner) + 1, lambda value: touched(value, inner, axis))

    def _inner_edges(self, lexicon: Lexicon) -> tuple[float, ...]:
        if self.bins.binning == "width":
            axis = axis_of(lexicon.reading)
            return self.bins.of_equal_width(axis.low, axis.high)
        if lexicon.name not in self.edges:
            raise InputError(
                f"column {lexicon.name!r}: quantiles are those of the data's rows, which this encoder was not given; "
                "call for_data(data) first"
            )
        return self.edges[lexicon.name]

    def labels(self, column: CellIds) -> tuple[str, ...]:
        axis, inner = axis_of(column.lexicon.reading), self._inner_edges(column.lexicon)
        ends = [f"{end:.10g}" for end in (axis.low, *inner, axis.high)]
        inner_bins = [f"[{low}, {high})" for low, high in pairwise(ends[:-1])]
        return tuple(f"bin {number} {ends}" for number, ends in enumerate((*inner_bins, f"[{ends[-2]}, {ends[-1]}]")))

    def parameters(self) -> dict[str, Any]:
        return self.bins.parameters()


def touched(value: Value, inner: tuple[float, ...], axis: Axis) -> npt.NDArray[np.bool_]:
    """Which bins a cell touches; bins are left-closed, so an inner edge belongs to the bin above it.  # [bins]

    A number beyond the domain counts as the nearest number of it.
    """
    bins = np.zeros(len(inner) + 1, dtype=bool)
    for low, high, high_belongs in pieces(value):
        if isinstance(value, Exact | OneOf):
            low, high = axis.nearest(low), axis.nearest(high)
        last = bisect_right(inner, high) if high_belongs else bisect_left(inner, high)
        bins[bisect_right(inner, low) : last + 1] = True
    return bins
