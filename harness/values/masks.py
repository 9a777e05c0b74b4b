"""Masked characters: `2*`, `355**`, `Bachel***`, `198*`; each sign hides exactly one character."""

import re
from datetime import date

from harness.values.atoms import DAY_FIRST, MONTH_FIRST, PLAIN, day_first
from harness.values.kinds import OneOf, Span, Unreadable
from harness.values.meaning import Candidate
from harness.values.reading import Reading

_NOTHING = re.compile(r"\*+|\++|#+|\?+|_+")
_NO_NUMBER = re.compile(r"[xX]{2,}")
_NO_DATE = re.compile(r"\*+[-/.]\*+(?:[-/.]\*+)?")


def only_mask(text: str, reading: Reading) -> bool:
    """Everything is hidden: the cell is suppressed."""
    if _NOTHING.fullmatch(text):
        return True
    hidden = {"number": _NO_NUMBER, "date": _NO_DATE}.get(reading.kind)
    return hidden is not None and bool(hidden.fullmatch(text))


def masks(text: str, reading: Reading) -> list[Candidate]:
    """The values of the domain that a mask may hide; one that hides none is refused."""
    hidden = _hidden(text)
    if hidden is None or len(text) > reading.longest + 16:
        return []
    found = _dates(hidden, reading) if reading.kind == "date" else _spelled(hidden, reading)
    if not found and text.endswith("*") and text.count("*") == 1:
        found = _begun(text[:-1], reading)
    if not found and "*" in text:
        raise Unreadable(text, "a mask that fits no raw value", "each `*` stands for one character of the raw text")
    return found


def _hidden(text: str) -> str | None:
    """The text with every hidden character as `*`; None if nothing is hidden.

    Signs other than `*` also stand in ordinary words: they count only as a run at the end, x after a digit.
    """
    if "*" in text:
        return text
    last = text[-1:]
    if last not in ("+", "#", "_", "?", "x", "X"):
        return None
    head = text.rstrip(last)
    if not head or (last in "xX" and not head[-1].isdigit()):
        return None
    return head + "*" * (len(text) - len(head))


def _spelled(mask: str, reading: Reading) -> list[Candidate]:
    fits = _matcher(mask)
    values = [raw for spelling, raw in reading.spellings.get(len(mask), ()) if fits.fullmatch(spelling)]
    return [("mask", OneOf(frozenset(values)))] if values else []


def _begun(stem: str, reading: Reading) -> list[Candidate]:
    """One star at the end is also how "any ending" is printed."""
    values = [raw for group in reading.spellings.values() for text, raw in group if text.startswith(stem)]
    return [("mask", OneOf(frozenset(values)))] if values else []


def _matcher(mask: str) -> re.Pattern[str]:
    return re.compile("".join("." if sign == "*" else re.escape(sign) for sign in mask), re.DOTALL)


def _dates(mask: str, reading: Reading) -> list[Candidate]:
    """Dates are spelled as the mask is: year first, or year last in each possible order of day and month."""
    fits = _matcher(mask.replace("/", "-").replace(".", "-").translate(PLAIN))
    first = day_first(reading.pattern)
    orders = {DAY_FIRST: True, MONTH_FIRST: False} if first is None else {"mask": first}
    found: list[Candidate] = []
    for name, order in orders.items():
        values = [
            raw
            for raw in reading.domain
            if isinstance(raw, Span) and all(fits.fullmatch(_spell(day, mask, order)) for day in raw)
        ]
        if values:
            found.append((name, OneOf(frozenset(values))))
    return found


def _spell(ordinal: int, mask: str, first: bool) -> str:
    """A day in the shape of a mask: 198*, 1987-0*, 0*/1987, 1987-02-**, **/02/1987."""
    day = date.fromordinal(ordinal)
    year, rest = f"{day.year:04}", (f"{day.month:02}", f"{day.day:02}")
    if len(mask) <= 4:
        return year
    if mask[4:5] in "-/.":
        return "-".join((year, *rest))[: len(mask)]
    if len(mask) == 7:
        return f"{rest[0]}-{year}"
    return "-".join((*(reversed(rest) if first else rest), year))
