"""Single values, ranges and bounds: `25`, `1987-02`, `[20, 30[`, `19,26`, `23~33`, `20-<30`, `>= 45`, `60+`."""

import math
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import TypeAlias

from harness.vocabulary.values.atoms import endless, number, spans
from harness.vocabulary.values.kinds import (
    CoversNothing,
    EmptyRange,
    Exact,
    Interval,
    Number,
    OneOf,
    Raw,
    Unreadable,
    Value,
    closed,
    ends,
)
from harness.vocabulary.values.meaning import THOUSANDS, Candidate
from harness.vocabulary.values.reading import Reading, ambiguous_order

End: TypeAlias = tuple[Number, Number]  # the first and the last thing an end of a range means

_SEPARATOR = re.compile(r",|;|~|\.{2,3}|…|:|[-–—]|\s+to\s+")
_BETWEEN_DATES = re.compile(_SEPARATOR.pattern + "|/")  # ISO 8601 writes 1980-01-01/1989-12-31
_GROUPED = re.compile(r"\d,\d{3}(?!\d)", re.ASCII)
_DOTTED = re.compile(r"(?<!\d)(?<!\d\.)([1-9]\d{0,2})\.(\d{3})(?![\deE]|\.\d)", re.ASCII)
_DECIMAL = re.compile(r"\d\.\d", re.ASCII)
_CHAINS = (
    re.compile(r"(?P<low>[^<>=≤≥]+)(?P<left><=|<|≤)\s*[^\W\d][\w-]*\s*(?P<right><=|<|≤)(?P<high>[^<>=≤≥]+)"),
    re.compile(r"(?P<left>>=|>|≥)(?P<low>[^<>=≤≥]+)\sand\s*(?P<right><=|<|≤)(?P<high>[^<>=≤≥]+)"),
    re.compile(r"(?P<low>[^<>=≤≥]+)(?P<left>[-–—]|\sto\s)\s*(?P<right><)(?P<high>[^<>=≤≥]+)"),
)
_PLUS = re.compile(r"\+[\d.]", re.ASCII)
_WORDS = "under|below|less than|over|above|more than|at least|at most|up to"
_BOUND = re.compile(rf"(<=|>=|=<|=>|<|>|≤|≥|(?:{_WORDS})\s)\s*(.+)", re.IGNORECASE)
_LOWER = frozenset((">", ">=", "=>", "≥", "over", "above", "more than", "at least"))
_BELONGS = frozenset(("<=", "=<", "≤", ">=", "=>", "≥", "at least", "at most", "up to"))


def points(text: str, reading: Reading) -> list[Candidate]:
    """One number or one period of time."""
    if reading.kind == "number":
        value = number(text)
        return [] if value is None else [("number", _exact(text, value, reading))]
    return _periods(text, reading) if reading.kind == "date" else []


def _periods(text: str, reading: Reading) -> list[Candidate]:
    """A date of the domain is itself; a longer period covers the dates inside it."""
    possible = spans(text, reading.pattern)
    candidates: list[Candidate] = []
    for name, span in possible:
        wide = Interval(span.first, span.last, days=True)
        if span in reading.members:
            candidates.append((name, Exact(span)))
        elif any(map(wide.covers, reading.domain)):
            candidates.append((name, wide))
    return candidates or [(name, _exact(text, span, reading)) for name, span in possible]


def _exact(text: str, value: Raw, reading: Reading) -> Exact:
    if value in reading.members or reading.points:
        return Exact(value)
    raise Unreadable(
        text,
        f"no such {reading.kind} in the raw data",
        "declare points = true if released values may be means or synthetic",
    )


def ranges(text: str, reading: Reading, *, nested: bool = False) -> list[Candidate]:
    """Two ends with a separator, in brackets or bare; in an ordered column the run between two values.

    None with a colon `nested` in a set: `{17: 20, 18: 25}` is how Python prints values and their counts.
    """
    if reading.kind == "category":
        return []
    name = "run" if reading.kind == "ordered" else "interval"
    if chain := _chain(text, reading):
        return [(name, chain)]
    brackets, inner = _unbracket(text)
    if len(inner) > 2 * max(reading.longest, 120) + 16:  # no longer than two ends: keeps the search linear
        return []
    sides = ends(reading.closed) if reading.closed else brackets or (True, True)
    candidates: list[Candidate] = []
    for low, sign, high in _pairs(inner, reading):
        if sign == ";" if brackets is None else sign in ",~" and reading.notation == "set":
            continue  # several values rather than two ends
        if nested and sign == ":":
            raise Unreadable(text, "ambiguous: may be a range, or a value and its count", "print ranges as 20-30")
        if brackets is None and sign == ",":
            refuse_thousands(text, reading)
        candidates.append((name, _between(text, low, high, sides, reading)))
    return candidates


def _chain(text: str, reading: Reading) -> Value | None:
    """`20 <= x < 30`, `>=20 and <30`, `20-<30`: as bounds do, they say themselves which ends belong."""
    for pattern in _CHAINS:
        if match := pattern.fullmatch(text):
            low, high = _end(match["low"].strip(), reading), _end(match["high"].strip(), reading)
            sides = match["left"] not in ("<", ">"), match["right"] != "<"
            return _between(text, low, high, sides, reading) if low and high else None
    return None


def _unbracket(text: str) -> tuple[tuple[bool, bool] | None, str]:
    """Which ends belong to the range, None without brackets; and what stands between them."""
    if len(text) > 2 and text[0] in "[(]" and text[-1] in "])[":
        return (text[0] == "[", text[-1] == "]"), text[1:-1].strip()
    return None, text


def _pairs(inner: str, reading: Reading) -> Iterator[tuple[End, str, End]]:
    """Every way to see two ends; the minus of `-5--1` is also a separator, hence all are tried."""
    separator = _BETWEEN_DATES if reading.kind == "date" else _SEPARATOR
    for match in separator.finditer(inner):
        low = _end(inner[: match.start()].strip(), reading)
        high = _end(inner[match.end() :].strip(), reading) if low else None
        if low and high:
            yield low, match.group().strip(), high


def _end(text: str, reading: Reading) -> End | None:
    if reading.kind == "ordered":
        position = reading.positions.get(text)
        return None if position is None else (position, position)
    if (limit := endless(text)) is not None:
        return limit, limit
    if reading.kind == "number":
        value = number(text)
        return None if value is None else (value, value)
    readings = spans(text, reading.pattern)
    if len(readings) > 1:
        raise Unreadable(text, *ambiguous_order())
    return readings[0][1] if readings else None


def _between(text: str, low: End, high: End, sides: tuple[bool, bool], reading: Reading) -> Value:
    """An end that belongs to the range belongs wholly: `[1980, 1990[` ends before 1990 begins."""
    left, right = sides
    start, stop = low[0] if left else low[1], high[1] if right else high[0]
    try:
        interval = Interval(start, stop, closed(left, right), days=reading.kind == "date")
    except ValueError as problem:
        kind = CoversNothing if isinstance(problem, EmptyRange) else Unreadable
        raise kind(text, f"as a range, {problem}", "the release is malformed: fix the anonymizer") from None
    return interval if reading.kind != "ordered" else _run(text, interval, reading)


def _run(text: str, positions: Interval, reading: Reading) -> OneOf:
    values = frozenset(reading.domain[place] for place in reading.positions.values() if positions.covers(place))
    if not values:
        raise Unreadable(text, "no value of the declared order lies there", "correct the declared order")
    return OneOf(values)


def refuse_thousands(text: str, reading: Reading) -> None:
    """`50,000` may be one number or two; only a declaration can tell."""
    if reading.kind == "number" and reading.notation not in ("interval", "set") and _GROUPED.search(text):
        raise Unreadable(
            text,
            "ambiguous: may be a number with thousands separators, or several numbers",
            'print plain numbers, or declare notation = "interval" or notation = "set"',
        )


def bounds(text: str, reading: Reading) -> list[Candidate]:
    """One end with a sign or word; these say themselves whether it belongs, so `closed` is not asked."""
    if reading.kind == "category":
        return []
    word, rest = ">=", text[:-1] if text.endswith("+") else ""
    if reading.kind == "number" and reading.notation != "number" and _PLUS.match(text):
        rest = text[1:]
    if match := _BOUND.fullmatch(text):
        word, rest = match[1].strip().lower(), match[2]
    end = _end(rest.strip(), reading)
    if end is None:
        return []
    if word in _LOWER:
        value = _between(text, end, (math.inf, math.inf), (word in _BELONGS, False), reading)
    else:
        value = _between(text, (-math.inf, -math.inf), end, (False, word in _BELONGS), reading)
    return [("bound", value)]


def grouped(text: str, reading: Reading) -> list[Candidate]:
    """What `2.000` says if its dot parts thousands; raised as a doubt where raw numbers lie there too.

    No doubt if raw numbers have three decimals themselves, or another dot of the cell is a decimal one.
    """
    plain = _DOTTED.sub(r"\1\2", text)
    if reading.kind != "number" or reading.notation == "number" or reading.decimals > 2 or plain == text:
        return []
    candidates: list[Candidate] = []
    if not _DECIMAL.search(plain):
        for form in (points, ranges, bounds):
            with suppress(Unreadable):
                candidates += form(plain, reading)
    return [(THOUSANDS, value) for _, value in candidates if any(map(value.covers, reading.domain))]
