"""One number or one calendar period out of a text; knows spellings, not columns or releases."""

import math
import re
from collections.abc import Iterable
from datetime import date, datetime

from harness.vocabulary.errors import InputError
from harness.vocabulary.values.kinds import Number, Span, months_after

# Typographic signs that mean the same as their plain spelling in numbers and dates.
PLAIN = str.maketrans({"−": "-", "–": "-", "—": "-", "‒": "-", "…": "..", "∞": "inf", "≤": "<=", "≥": ">="})

# How table libraries print a cell that is missing.
MISSING = frozenset(["NA", "N/A", "n/a", "#N/A", "NaN", "nan", "None", "null", "NULL", "<NA>", "<null>", "NaT"])

# At most 100 digits: Python refuses to convert thousands of them, and no column holds such numbers.
_NUMBER = re.compile(r"[-+]?(?:\d{1,100}(?:\.\d{0,100})?|\.\d{1,100})(?:[eE][-+]?\d{1,4})?", re.ASCII)
_ENDLESS = re.compile(r"([-+]?)inf(?:inity)?", re.IGNORECASE)

_MIDNIGHT = r"(?:[T ]00:00(?::00(?:\.0{1,9})?)?)?"
_YEAR = re.compile(r"(\d{4})", re.ASCII)
_DECADE = re.compile(r"(\d{3}0)s", re.ASCII)
_YEAR_MONTH = re.compile(r"(\d{4})[-/](\d{1,2})", re.ASCII)
_MONTH_YEAR = re.compile(r"(\d{1,2})[-/.](\d{4})", re.ASCII)
_QUARTER_YEAR = re.compile(r"[Qq]([1-4])[ /-]?(\d{4})", re.ASCII)
_YEAR_QUARTER = re.compile(r"(\d{4})[ /-]?[Qq]([1-4])", re.ASCII)
_YEAR_MONTH_DAY = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})" + _MIDNIGHT, re.ASCII)
_DAY_MONTH_YEAR = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4})" + _MIDNIGHT, re.ASCII)

DAY_FIRST, MONTH_FIRST = "%d/%m/%Y", "%m/%d/%Y"


def cell_text(cell: object) -> str:
    """A cell as text: nothing for a missing one, no `.0` on a whole number that a table library widened."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    if isinstance(cell, float) and (narrow := whole(cell)) is not None:
        return str(narrow)
    return str(cell)


def number(text: str) -> Number | None:
    """A finite number, whole if it can be; None for anything else ("50,000", "$5", "nan")."""
    text = text.translate(PLAIN)
    if not _NUMBER.fullmatch(text):
        return None
    try:
        return int(text)
    except ValueError:
        return whole(float(text))


def whole(value: float) -> Number | None:
    """A float as the integer it equals, as long as floats tell neighbouring integers apart."""
    if not math.isfinite(value):
        return None
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def endless(text: str) -> float | None:
    """Plus or minus infinity, as an end of a range may be printed."""
    match = _ENDLESS.fullmatch(text.translate(PLAIN))
    if not match:
        return None
    return -math.inf if match[1] == "-" else math.inf


def spans(text: str, pattern: str | None) -> list[tuple[str, Span]]:
    """The periods a text may mean, each with the pattern that says so; two when day and month can swap."""
    text = text.translate(PLAIN)
    if pattern and (span := _by_pattern(text, pattern)):
        return [(pattern, span)]
    if match := _DAY_MONTH_YEAR.fullmatch(text):
        return _both_orders(int(match[1]), int(match[3]), int(match[4]), pattern)
    span = _unmistakable(text)
    return [("", span)] if span else []


def day_first(pattern: str | None) -> bool | None:
    """Which of day and month a pattern names first; an ISO pattern says nothing about 03/02/1987."""
    if not pattern or "%d" not in pattern or "%m" not in pattern:
        return None
    year = max(pattern.find("%Y"), pattern.find("%y"))
    day, month = pattern.find("%d"), pattern.find("%m")
    return day < month if year > max(day, month) else None


def check_pattern(pattern: str) -> None:
    """A date pattern must be one that strptime knows, name the year, and leave ISO dates what they are."""
    sample = date(2001, 2, 3)
    try:
        year = datetime.strptime(sample.strftime(pattern), pattern).year
    except ValueError as problem:
        raise InputError(f"notation {pattern!r} is no pattern for dates: {problem}") from None
    if year != sample.year:
        raise InputError(f"notation {pattern!r} names no year; dates need one, as in %d/%m/%Y")
    if _by_pattern(sample.isoformat(), pattern) not in (None, _days(2001, 2, 3)):
        raise InputError(f"notation {pattern!r} reads 2001-02-03 as another day than ISO 8601 does")


def orders_possible(texts: Iterable[str]) -> set[str]:
    """Which of day/month/year and month/day/year fit every such date among the texts."""
    possible = {DAY_FIRST, MONTH_FIRST}
    for text in texts:
        match = _DAY_MONTH_YEAR.fullmatch(text)
        if match and int(match[1]) > 12:
            possible.discard(MONTH_FIRST)
        if match and int(match[3]) > 12:
            possible.discard(DAY_FIRST)
    return possible


def swappable(text: str) -> bool:
    """Would another order of day and month give another date?"""
    match = _DAY_MONTH_YEAR.fullmatch(text)
    return match is not None and int(match[1]) != int(match[3]) and max(int(match[1]), int(match[3])) <= 12


def _both_orders(first: int, second: int, year: int, pattern: str | None) -> list[tuple[str, Span]]:
    wanted = day_first(pattern)
    readings = []
    if wanted is not False:
        readings.append((DAY_FIRST, _days(year, second, first)))
    if wanted is not True:
        readings.append((MONTH_FIRST, _days(year, first, second)))
    possible = [(name, span) for name, span in readings if span]
    return possible[:1] if len({span for _, span in possible}) == 1 else possible


def _by_pattern(text: str, pattern: str) -> Span | None:
    """As long as the finest thing the pattern names: a day, a month or a year."""
    try:
        day = datetime.strptime(text, pattern).date()
    except ValueError:
        return None
    if any(sign in pattern for sign in ("%d", "%j", "%x", "%c", "%D")):
        return _days(day.year, day.month, day.day)
    months = 1 if any(sign in pattern for sign in ("%m", "%b", "%B")) else 12
    return _months(day.year, day.month, months)


def _unmistakable(text: str) -> Span | None:
    """Every spelling that means the same to all readers."""
    if match := _YEAR.fullmatch(text):
        return _months(int(match[1]), 1, 12)
    if match := _YEAR_MONTH_DAY.fullmatch(text):
        return _days(int(match[1]), int(match[3]), int(match[4]))
    if match := _YEAR_MONTH.fullmatch(text):
        return _months(int(match[1]), int(match[2]), 1)
    if match := _MONTH_YEAR.fullmatch(text):
        return _months(int(match[2]), int(match[1]), 1)
    if match := _QUARTER_YEAR.fullmatch(text):
        return _months(int(match[2]), int(match[1]) * 3 - 2, 3)
    if match := _YEAR_QUARTER.fullmatch(text):
        return _months(int(match[1]), int(match[2]) * 3 - 2, 3)
    if match := _DECADE.fullmatch(text):
        return _months(int(match[1]), 1, 120)
    return None


def _days(year: int, month: int, day: int) -> Span | None:
    try:
        ordinal = date(year, month, day).toordinal()
    except ValueError:
        return None
    return Span(ordinal, ordinal)


def _months(year: int, month: int, months: int) -> Span | None:
    if not (1 <= month <= 12 and year >= 1):
        return None
    return Span(date(year, month, 1).toordinal(), months_after(year, month, months) - 1)
