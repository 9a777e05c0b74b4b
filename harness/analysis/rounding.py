"""Limits with six digits, as a file holds them: rounded outwards, so that they stay limits. Knows numbers only."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from harness.analysis.compare import Span

DIGITS = 6


def outwards(span: Span) -> Span:
    """The same with six digits and never narrower: other machines differ in the last digits."""
    return Span(_rounded(span.lower, math.floor), _rounded(span.upper, math.ceil))


def plain_span(span: Span) -> list[float | str]:
    """At least, at most; infinity is a text, because JSON has none."""
    return [end if math.isfinite(end) else str(end) for end in (span.lower, span.upper)]


def span_from_plain(plain: Any) -> Span:
    """What `plain_span` gave; ValueError or TypeError for anything else."""
    lower, upper = plain
    span = Span(float(lower), float(upper))
    if not span.lower <= span.upper:
        raise ValueError(f"{plain!r} are no limits: the first is above the second")
    return span


def is_one_number(span: Span) -> bool:
    """Whether both limits are equal but for the rounding."""
    return math.isclose(span.lower, span.upper, rel_tol=1e-4)


def span_in_words(span: Span) -> str:
    """One number where both limits are equal but for the rounding."""
    if is_one_number(span):
        return f"{span.upper:.4g}"
    return f"{span.lower:.4g} to {span.upper:.4g}"


def _rounded(number: float, towards: Callable[[float], int]) -> float:
    if not math.isfinite(number) or number == 0:
        return number
    digits = DIGITS - 1 - math.floor(math.log10(abs(number)))
    scaled = number * 10.0**digits if digits < 300 else math.inf
    if not math.isfinite(scaled):  # smaller than any distance that matters
        return 0.0 if towards is math.floor else number
    near = round(scaled)
    whole = near if math.isclose(near, scaled, rel_tol=1e-12) else towards(scaled)
    return float(f"{whole}e{-digits}")
