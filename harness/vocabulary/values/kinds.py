"""What a released cell may mean: the kinds of value, what each covers, and its canonical text."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

from harness.vocabulary.errors import ReleaseError

Closed = Literal["both", "left", "right", "neither"]
LAST_DAY = date.max.toordinal()


class Span(NamedTuple):
    """What a date text means: its first and its last day, as proleptic ordinals."""

    first: int
    last: int

    def within(self, other: "Span") -> bool:
        return other.first <= self.first and self.last <= other.last


Number: TypeAlias = int | float
Raw: TypeAlias = str | int | float | Span


@dataclass(frozen=True)
class Exact:
    """One raw value, printed as itself; a period of time also covers the shorter ones inside it."""

    raw: Raw

    def covers(self, raw: Raw) -> bool:
        if isinstance(self.raw, Span) and isinstance(raw, Span):
            return raw.within(self.raw)
        return self.raw == raw


@dataclass(frozen=True)
class Interval:
    """Everything between two ends; `days` says that the ends are day ordinals.

    Equal sets are equal values: an infinite end is never closed, and days are counted from end to end. `printed` keeps
    the ends as they were given, open ones too.
    """

    low: Number
    high: Number
    closed: Closed = "both"
    days: bool = False
    printed: tuple[Number, Number] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "printed", (self.low, self.high))
        left, right = ends(self.closed)
        if self.days:
            left, right = self._close(left, right)
        left, right = left and self.low != -math.inf, right and self.high != math.inf
        object.__setattr__(self, "closed", closed(left, right))
        if math.isnan(self.low) or math.isnan(self.high):
            raise ValueError("an end is not a number")
        if self.days and not all(1 <= end <= LAST_DAY for end in (self.low, self.high) if math.isfinite(end)):
            raise ValueError("it leaves the calendar")
        if self.low > self.high:
            raise ValueError("its low end lies above its high end")
        if self.low == self.high and not (left and right):
            raise EmptyRange("it holds no value at all")

    def _close(self, left: bool, right: bool) -> tuple[bool, bool]:
        """Days are whole numbers: "after the 3rd" is "from the 4th"."""
        if not left:
            object.__setattr__(self, "low", self.low + 1)
        if not right:
            object.__setattr__(self, "high", self.high - 1)
        return True, True

    def covers(self, raw: Raw) -> bool:
        if isinstance(raw, str):
            return False
        first, last = raw if isinstance(raw, Span) else (raw, raw)
        above = self.low <= first if self.closed in ("both", "left") else self.low < first
        below = last <= self.high if self.closed in ("both", "right") else last < self.high
        return above and below


@dataclass(frozen=True)
class OneOf:
    """One of several raw values: a set, a run of an ordered domain, a mask, a node of a hierarchy.

    `printed` are the ends of a range, where the name of a node is one.
    """

    values: frozenset[Raw]
    printed: tuple[Number, Number] | None = field(default=None, compare=False, repr=False)

    def covers(self, raw: Raw) -> bool:
        if raw in self.values:
            return True
        return isinstance(raw, Span) and any(map(raw.within, self._periods))

    @cached_property
    def _periods(self) -> tuple[Span, ...]:
        """The values that can hold shorter ones; few, so that days are looked up and not searched."""
        return tuple(value for value in self.values if isinstance(value, Span) and value.first < value.last)


@dataclass(frozen=True)
class Other:
    """Some raw value that is not printed as itself elsewhere in this column; see `resolve_other`."""

    def covers(self, raw: Raw) -> bool:
        return True


@dataclass(frozen=True)
class Suppressed:
    """Nothing is said: every raw value is covered."""

    def covers(self, raw: Raw) -> bool:
        return True


Value: TypeAlias = Exact | Interval | OneOf | Other | Suppressed


class Unreadable(ReleaseError):
    """A cell that cannot be read: its text, why, and what the auditor can do about it."""

    def __init__(self, text: str, why: str, remedy: str) -> None:
        super().__init__(f"{quote(text)}: {why}; {remedy}")
        self.text, self.why, self.remedy = text, why, remedy

    def __reduce__(self) -> tuple[Callable[..., "Unreadable"], tuple[str, str, str], dict[str, object]]:
        return type(self), (self.text, self.why, self.remedy), {"args": self.args}


class CoversNothing(Unreadable):
    """A cell whose notation is clear and that no value can lie in, such as [20, 20)."""


class EmptyRange(ValueError):
    """Two ends with nothing between them."""


def ends(side: Closed) -> tuple[bool, bool]:
    """Does the low end belong to the range, does the high end."""
    return side in ("both", "left"), side in ("both", "right")


def closed(left: bool, right: bool) -> Closed:
    """The name of which ends belong to a range."""
    if left:
        return "both" if right else "left"
    return "right" if right else "neither"


def quote(text: str, longest: int = 80) -> str:
    """A text as an error message may print it: escaped, and never long."""
    return repr(text if len(text) <= longest else text[: longest - 1] + "…")


def show(value: Value) -> str:
    """The canonical text of a value; parsing it again gives the same value.

    Two declarations change that: a domain that itself holds "*" or "OTHER", and notation = "set" in a
    number or date column, where "[20, 30]" is a set.
    """
    match value:
        case Exact(raw):
            return show_raw(raw)
        case OneOf(values):
            return "{" + ", ".join(_elements(values)) + "}"
        case Interval():
            return _show_interval(value)
        case Other():
            return "OTHER"
        case Suppressed():
            return "*"


def show_raw(raw: Raw) -> str:
    """The canonical text of one raw value: 25 for 25.0, ISO 8601 for dates."""
    if isinstance(raw, Span):
        return _show_span(raw)
    if isinstance(raw, float) and raw.is_integer() and abs(raw) < 2**53:
        return str(int(raw))
    return str(raw)


def _elements(values: Iterable[Raw]) -> list[str]:
    """Strings are quoted, so that a comma inside one does not split it."""
    ordered = sorted(values, key=lambda raw: (isinstance(raw, str), raw))
    return [repr(str(raw)) if isinstance(raw, str) else show_raw(raw) for raw in ordered]


def _show_interval(value: Interval) -> str:
    left, right = ends(value.closed)
    low, high = (_show_end(end, value.days) for end in (value.low, value.high))
    return f"{'[' if left else '('}{low}, {high}{']' if right else ')'}"


def _show_end(end: Number, days: bool) -> str:
    if math.isinf(end):
        return "inf" if end > 0 else "-inf"
    if days:
        return date.fromordinal(int(end)).isoformat()
    text = show_raw(end)
    return f"{text}0" if len(text.partition(".")[2]) == 3 else text  # 1.125 could be taken for 1125


def _show_span(span: Span) -> str:
    """The name of a calendar period: a day, month, quarter, year or decade; anything else as a range."""
    start, after = date.fromordinal(span.first), span.last + 1
    year, month = start.year, start.month
    if span.first == span.last:
        return start.isoformat()
    if start.day == 1:
        names = (
            (months_after(year, month, 1), f"{year:04}-{month:02}"),
            (months_after(year, month, 3) if month % 3 == 1 else 0, f"{year:04}-Q{month // 3 + 1}"),
            (months_after(year, month, 12) if month == 1 else 0, f"{year:04}"),
            (months_after(year, month, 120) if month == 1 and year % 10 == 0 else 0, f"{year:04}s"),
        )
        for ending, name in names:
            if ending == after:
                return name
    return f"[{start.isoformat()}, {date.fromordinal(span.last).isoformat()}]"


def months_after(year: int, month: int, months: int) -> int:
    """The ordinal of the first day that many months later; the calendar ends with the year 9999."""
    count = year * 12 + month - 1 + months
    if count >= 10_000 * 12:
        return LAST_DAY + 1
    return date(count // 12, count % 12 + 1, 1).toordinal()
