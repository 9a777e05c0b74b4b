"""Orders that everybody knows: months, grades of agreement, sizes, ranges of numbers. Knows texts alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

SCALES: tuple[tuple[str, ...], ...] = (
    ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
     "december"),
    ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
    ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
    ("mon", "tue", "wed", "thu", "fri", "sat", "sun"),
    ("none", "very low", "low", "medium", "moderate", "middle", "average", "high", "very high", "extreme"),
    ("none", "mild", "moderate", "severe", "critical"),
    ("xs", "s", "m", "l", "xl", "xxl"),
    ("tiny", "small", "medium", "large", "huge"),
    ("never", "rarely", "seldom", "sometimes", "often", "usually", "always"),
    ("strongly disagree", "disagree", "neutral", "agree", "strongly agree"),
    ("very poor", "poor", "fair", "average", "good", "very good", "excellent"),
    ("primary", "secondary", "tertiary"),
    ("child", "teenager", "adult", "senior"),
    ("first", "second", "third", "fourth", "fifth"),
    ("i", "ii", "iii", "iv", "v", "vi"),
)  # fmt: skip
MOST_STEPS = 40  # of a scale; more are codes
_AMOUNT = r"[$€£]?\d[\d.]*[kKmM%]?"
_RANGE = re.compile(
    rf"(?P<below><=?|under|below|up to|less than)?(?P<above>>=?|over|above|more than)?[ _]*"
    rf"(?P<low>{_AMOUNT})(?:[ _]*(?:-|–|to)[ _]*{_AMOUNT})?(?P<more>[ _]*(?:\+|or more|and over))?",
    re.IGNORECASE,
)
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)", re.IGNORECASE)


def order_of(values: Sequence[str]) -> tuple[str, ...] | None:
    """The values from the lowest to the highest, if they are steps of a known scale, ordinals or ranges of numbers."""
    if not 3 <= len(values) <= MOST_STEPS or all(value.strip().isdigit() for value in values):
        return None
    return _in_scale(values) or _by_key(values, _ordinal) or _by_key(values, _range)


def _in_scale(values: Sequence[str]) -> tuple[str, ...] | None:
    folded = {_plain(value): value for value in values}
    for scale in SCALES:
        if len(folded) == len(values) and set(folded) <= set(scale):
            return tuple(folded[step] for step in scale if step in folded)
    return None


def _plain(value: str) -> str:
    return " ".join(value.replace("_", " ").replace("-", " ").casefold().split())


def _by_key(values: Sequence[str], key: Callable[[str], Any]) -> tuple[str, ...] | None:
    """The values by a number that each has, if no two have the same."""
    keys = {value: key(value) for value in values}
    if None in keys.values() or len(set(keys.values())) < len(values):
        return None
    return tuple(sorted(values, key=lambda value: keys[value]))


def _ordinal(value: str) -> float | None:
    match = _ORDINAL.fullmatch(value.strip())
    return None if match is None else float(match[1])


def _range(value: str) -> tuple[float, int] | None:
    """Where a range begins; one that is open below comes first among equals, one open above last."""
    match = _RANGE.fullmatch(value.strip())
    if match is None:
        return None
    digits = re.sub(r"[^\d.]", "", match["low"]).rstrip(".")
    if digits.count(".") > 1:
        return None
    return float(digits), -1 if match["below"] else 1 if match["above"] or match["more"] else 0
