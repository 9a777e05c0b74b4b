"""Axes of a figure: from numbers to places in pixels, with ticks at round numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

ROUND_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)  # between ticks, times a power of ten
MOST_TICKS = 6
SMALLEST = 1e-290  # beyond it floating point has no room for steps between ticks


@dataclass(frozen=True)
class Axis:
    """One axis from `low` to `high`; a logarithmic one needs a positive `low`."""

    label: str
    low: float
    high: float
    log: bool = False
    percent: bool = False  # ticks are shares, written in percent

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise ValueError(f"axis {self.label!r}: from {self.low} to {self.high}; expected finite ends, low first")
        if self.log and self.low <= 0:
            raise ValueError(f"axis {self.label!r}: a logarithmic axis begins above 0, not at {self.low}")

    def share(self, values: npt.ArrayLike) -> Floats:
        """How far along the axis each value lies, from 0 to 1; what lies beyond an end is drawn at that end."""
        numbers = np.clip(np.nan_to_num(np.asarray(values, dtype=float), nan=self.low), self.low, self.high)
        if self.log:
            return np.asarray(np.log(numbers / self.low) / math.log(self.high / self.low))
        return np.asarray((numbers - self.low) / (self.high - self.low))

    def ticks(self, most: int = MOST_TICKS) -> list[float]:
        """Round numbers on the axis, at most so many."""
        return _powers(self.low, self.high, most) if self.log else _round_numbers(self.low, self.high, most)

    @property
    def quantity(self) -> str:
        """What the numbers are, without a word about the scale."""
        return self.label.removesuffix(" (logarithmic)")

    def text(self, value: float) -> str:
        """A tick in words."""
        if self.percent:
            return f"{100 * value:.3g} %"
        if 1e-7 <= abs(value) < 1e7:
            return np.format_float_positional(float(f"{value:.4g}"), trim="-")
        return f"{value:.4g}"


def axis_of(
    label: str, values: Iterable[float], *, log: bool = False, percent: bool = False, at_least: Sequence[float] = ()
) -> Axis:
    """An axis on which all values find a place, and `at_least` those; from 0 unless it is logarithmic or some are less.

    A logarithmic axis begins at a power of ten, and spans at most eight of them.
    """
    known = [value for value in (*values, *at_least) if math.isfinite(value)]
    if log:
        positive = [value for value in known if value > SMALLEST] or [0.1]
        high = _rounded_up(max(positive))
        low = 10.0 ** max(math.floor(math.log10(min(positive)) + 1e-9), math.ceil(math.log10(high)) - 8)
        return Axis(label, low if low < high else high / 10, high, log=True, percent=percent)
    low, high = min([0.0, *known]), max([0.0, *known])
    return Axis(label, low, high if high - low > SMALLEST else low + 1.0, percent=percent)


def _rounded_up(value: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is no less."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(power * factor for factor in (1.0, 2.0, 5.0, 10.0, 20.0) if power * factor >= value * (1 - 1e-12))


def _powers(low: float, high: float, most: int) -> list[float]:
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    if last - first < 1:  # within one power of ten
        return _round_numbers(low, high, most)
    stride = 1 + (last - first) // most
    return [10.0**power for power in range(first, last + 1, stride)]


def _round_numbers(low: float, high: float, most: int) -> list[float]:
    unit = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(unit * factor for factor in ROUND_STEPS if (high - low) / (unit * factor) <= most)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [float(f"{number * step:.12g}") for number in range(first, last + 1)]
