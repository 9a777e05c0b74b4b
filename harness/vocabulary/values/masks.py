"""Masked characters: `2*`, `355**`, `Bachel***`, `198*`; each sign hides one character, one last star maybe more."""

import re
from datetime import date

from harness.vocabulary.values.atoms import DAY_FIRST, MONTH_FIRST, PLAIN, day_first
from harness.vocabulary.values.kinds import OneOf, Span, Unreadable
from harness.vocabulary.values.meaning import Candidate
from harness.vocabulary.values.reading import Reading

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
    if hidden is None:
        return []
    candidates = _dates(hidden, reading) if reading.kind == "date" else _spelled(hidden, reading)
    if text.find("*") == len(text) - 1 and _any_ending(candidates, reading):
        candidates += _begun(text[:-1], reading)
    if not candidates and "*" in text:
        raise Unreadable(text, "a mask that fits no raw value", "each `*` stands for one character of the raw text")
    return candidates


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
    group = reading.spellings.get(len(mask))
    if not group:
        return []
    fits = _matcher(mask)
    values = [raw for spelling, raw in group if fits.fullmatch(spelling)]
    return [("mask", OneOf(frozenset(values)))] if values else []


def _any_ending(found: list[Candidate], reading: Reading) -> bool:
    """May one star at the end hide more? Of numbers and dates only if it cannot hide one character: ages `1*`."""
    if reading.kind != "date" and reading.notation in ("mask", "prefix"):
        return reading.notation == "prefix"
    return not found or reading.kind in ("category", "ordered")


def _begun(stem: str, reading: Reading) -> list[Candidate]:
    values = [raw for group in reading.spellings.values() for text, raw in group if text.startswith(stem)]
    return [("prefix", OneOf(frozenset(values)))] if values else []


def _matcher(mask: str) -> re.Pattern[str]:
    return re.compile("".join("." if sign == "*" else re.escape(sign) for sign in mask), re.DOTALL)


def _dates(mask: str, reading: Reading) -> list[Candidate]:
    """The dates that fit when spelled as the mask is; day and month may come in either order."""
    if len(mask) > len("1987-02-13"):
        return []
    fits = _matcher(mask.replace("/", "-").replace(".", "-").translate(PLAIN))
    first = day_first(reading.pattern)
    orders = {"mask": bool(first)}
    if first is None and len(mask) == len("13/02/1987") and mask[2] in "-/.":
        orders = {DAY_FIRST: True, MONTH_FIRST: False}
    candidates: list[Candidate] = []
    for name, day_leads in orders.items():
        values = [raw for raw in reading.domain if isinstance(raw, Span) and _fit(raw, fits, mask, day_leads)]
        if values:
            candidates.append((name, OneOf(frozenset(values))))
    return candidates


def _fit(span: Span, fits: re.Pattern[str], mask: str, day_leads: bool) -> bool:
    """A period fits if its first and its last day do: a mask shows nothing that changes in between."""
    return all(fits.fullmatch(_spell(ordinal, mask, day_leads)) for ordinal in set(span))


def _spell(ordinal: int, mask: str, day_leads: bool) -> str:
    """A day in the shape of a mask: 198*, 1987-0*, 0*/1987, 1987-02-**, **/02/1987."""
    day = date.fromordinal(ordinal)
    if len(mask) <= 4:
        return f"{day.year:04}"
    if mask[4] in "-/.":
        return day.isoformat()[: len(mask)]
    if len(mask) == 7:
        return f"{day.month:02}-{day.year:04}"
    lead, follow = (day.day, day.month) if day_leads else (day.month, day.day)
    return f"{lead:02}-{follow:02}-{day.year:04}"
