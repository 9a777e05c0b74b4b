"""Cells that also say how the original values of their class are shared out: `mammals {"cat": 1/3, "lion": 2/3}`.

The proportional representation (Viton et al. 2021, Section III) as a cell: what the plain table prints, a space, and in
braces each original value of the class with how many of its rows have it, out of all its rows. Values are texts in
double quotation marks as JSON writes them, with every opening brace in them escaped, so that the last ` {` of a cell
is where its shares begin. Readers that do not know the notation refuse such a cell.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from harness.vocabulary.values.kinds import Exact, Raw, Unreadable, show_raw
from harness.vocabulary.values.reading import Reading

_ENTRY = re.compile(r'("(?:[^"\\]|\\.)*+"): (\d{1,18})/(\d{1,18})(?:, |\Z)', re.ASCII)


@dataclass(frozen=True)
class Shares:
    """How many rows of a class have each original value."""

    counts: tuple[tuple[Raw, int], ...]
    rows: int  # of the class

    def of(self, raws: frozenset[Raw]) -> float:
        """The share of the rows whose original value is one of these: M(l, v) of the text's equation (1)."""
        return sum(count for raw, count in self.counts if raw in raws) / self.rows


def show_with_shares(plain: str, counts: Mapping[Raw, int]) -> str:
    """A cell of the plain table with the shares of its class."""
    rows = sum(counts.values())
    entries = (f"{_quoted(show_raw(raw))}: {count}/{rows}" for raw, count in counts.items())
    return f"{plain} {{{', '.join(entries)}}}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("{", "\\u007b")


def split_shares(text: str, reading: Reading) -> tuple[str, Shares] | None:
    """The plain cell and its shares; None if the text has none. Raises Unreadable where they make no sense."""
    begin = text.rfind(' {"')
    if begin < 0 or not text.endswith("}"):
        return None
    counts: dict[Raw, int] = {}
    sizes: set[int] = set()
    place, end = begin + 2, len(text) - 1
    while place < end:
        entry = _ENTRY.match(text, place, end)
        if entry is None:
            return None
        raw = _raw(text, entry[1], reading)
        if raw in counts:
            raise Unreadable(text, f"names {entry[1]:.40} twice among its shares", "print each value once")
        counts[raw] = int(entry[2])
        sizes.add(int(entry[3]))
        place = entry.end()
    if len(sizes) != 1 or min(counts.values()) < 1 or sum(counts.values()) != max(sizes):
        raise Unreadable(text, "its shares do not add up to 1", "print each as rows with the value / rows of the class")
    return text[:begin], Shares(tuple(counts.items()), sizes.pop())


def _raw(text: str, quoted: str, reading: Reading) -> Raw:
    """One of the values that the column has."""
    try:
        value = reading.known.get(json.loads(quoted))
    except ValueError:
        value = None
    if not isinstance(value, Exact):
        raise Unreadable(text, f"{quoted:.60} among its shares is no raw value of the column", "print raw values there")
    return value.raw
