"""Two limits of a number that is known up to chance, and how they are written: rounded outwards. Knows numbers only."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

DIGITS = 6


@dataclass(frozen=True)
class Interval:
    """The number is at least `lower` and at most `upper`."""

    lower: float
    upper: float

    @classmethod
    def from_plain(cls, plain: Any) -> Interval:
        """What `plain()` gave; ValueError or TypeError for anything else."""
        lower, upper = plain
        interval = cls(float(lower), float(upper))
        if not interval.lower <= interval.upper:
            raise ValueError(f"{plain!r} is no interval: the first number is above the second")
        return interval

    @classmethod
    def mean(cls, lowers: Sequence[float], uppers: Sequence[float]) -> Interval:
        """Limits of a mean, from limits that hold together."""
        return cls(sum(lowers) / len(lowers), sum(uppers) / len(uppers))

    def plain(self) -> list[float | str]:
        """Both limits with six digits, never narrower; infinity is a text, because JSON has none."""
        return [_plain(one) for one in (self.outwards().lower, self.outwards().upper)]

    def outwards(self) -> Interval:
        """The same with six digits and never narrower: other machines differ in the last digits."""
        return Interval(_rounded(self.lower, math.floor), _rounded(self.upper, math.ceil))

    def __str__(self) -> str:
        if math.isclose(self.lower, self.upper, rel_tol=1e-4):  # exact, but for the rounding
            return f"{self.upper:.4g}"
        return f"{self.lower:.4g} to {self.upper:.4g}"


def _rounded(number: float, towards: Callable[[float], int]) -> float:
    if not math.isfinite(number) or number == 0:
        return number
    digits = DIGITS - 1 - math.floor(math.log10(abs(number)))
    scaled = number * 10.0**digits
    if not math.isfinite(scaled):  # smaller than any distance that matters
        return 0.0 if towards is math.floor else number
    near = round(scaled)
    whole = near if math.isclose(near, scaled, rel_tol=1e-12) else towards(scaled)
    return float(f"{whole}e{-digits}")


def _plain(number: float) -> float | str:
    return number if math.isfinite(number) else str(number)
