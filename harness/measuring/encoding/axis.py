"""Where the cells of a number or date column lie in its domain. Knows one column's domain in D, and what cells mean.

A cell is made of ranges of numbers: one for a range, one per value for a set, everything for '*', none for a missing
cell that was kept as a value. Its two ends are those it prints (so does a node of a hierarchy whose name is a range),
of a set the least and the greatest number, of a period of time the first and the last day; what says nothing about the
number has the ends of the domain.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from harness.vocabulary.errors import InputError
from harness.vocabulary.values import Exact, Interval, OneOf, Raw, Reading, Span, Value


@dataclass(frozen=True)
class Axis:
    """The domain of a number or date column: from its least number to its greatest, dates as ordinals of days."""

    low: float
    high: float

    @property
    def span(self) -> float:
        return self.high - self.low

    def ends(self, value: Value) -> tuple[float, float]:
        """The clipped ends of a cell, counted from the low end of the domain."""
        low, high = _printed_ends(value)
        return self._clipped(low), self._clipped(high)

    def _clipped(self, number: float) -> float:
        return self.nearest(number) - self.low

    def nearest(self, number: float) -> float:
        """The number of the domain's range that lies nearest."""
        return min(max(number, self.low), self.high)

    def middle(self, value: Value) -> float:
        """The mean of a cell's clipped ends, counted from the low end of the domain."""
        low, high = self.ends(value)
        return (low + high) / 2

    def share(self, offset: float) -> float:
        """An offset as a share of the domain; 0 in a domain of one number."""
        return offset / self.span if self.span else 0.0


@lru_cache(maxsize=256)  # a reading is one column of one dataset, and is asked for with every release
def axis_of(reading: Reading) -> Axis:
    """The domain of a column, with its declared ends; [0, 0] where D has no number at all."""
    ends = [end for raw in reading.domain if not isinstance(raw, str) for end in number_ends(raw)]
    ends += [end for end in (reading.least, reading.greatest) if end is not None]
    axis = Axis(min(ends), max(ends)) if ends else Axis(0, 0)
    if not math.isfinite(axis.span):
        raise InputError(
            f"a number column reaches from {axis.low:g} to {axis.high:g}, further than 64 bits can measure; divide its "
            "values by a power of ten, or choose tf for numbers"
        )
    return axis


def number_ends(raw: float | Span) -> tuple[float, float]:
    """A number twice, or the first and the last day of a period."""
    return raw if isinstance(raw, Span) else (raw, raw)


def _printed_ends(value: Value) -> tuple[float, float]:
    if isinstance(value, Interval | OneOf) and value.printed is not None:
        return value.printed
    ranges = list(pieces(value)) or [(-math.inf, math.inf, True)]
    return min(low for low, _, _ in ranges), max(high for _, high, _ in ranges)


def pieces(value: Value) -> Iterator[tuple[float, float, bool]]:
    """The ranges that make up a cell, each with its ends and whether the high end belongs; none for a missing value."""
    match value:
        case Interval(low=low, high=high, closed=closed):
            yield low, high, closed in ("both", "right")
        case Exact(raw=raw):
            yield from _points((raw,))
        case OneOf(values=values):
            yield from _points(values)
        case _:
            yield -math.inf, math.inf, True


def _points(raws: Iterable[Raw]) -> Iterator[tuple[float, float, bool]]:
    for raw in raws:
        if not isinstance(raw, str):
            yield *number_ends(raw), True
