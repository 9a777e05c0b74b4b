"""How the cells of one column are to be read: its kind, its raw domain, and what the auditor declared."""

import difflib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Literal, TypeAlias, get_args

from harness.vocabulary.errors import InputError, did_you_mean
from harness.vocabulary.values.atoms import MISSING, cell_text, check_pattern, number, orders_possible, spans, swappable
from harness.vocabulary.values.kinds import (
    Closed,
    Exact,
    OneOf,
    Raw,
    Span,
    Suppressed,
    Unreadable,
    Value,
    quote,
    show_raw,
)

Kind: TypeAlias = Literal["number", "category", "ordered", "date"]

# The names an auditor may declare to decide ambiguous cells; dates also take a strptime pattern.
NOTATIONS: Mapping[Kind, tuple[str, ...]] = {
    "number": ("interval", "set", "bound", "mask", "prefix", "number"),
    "category": ("set", "mask", "prefix"),
    "ordered": ("run", "set", "bound", "mask", "prefix"),
    "date": ("interval", "set", "bound", "mask"),
}


@dataclass(frozen=True, eq=False)
class Reading:
    """How the cells of one column are to be read; the domain of an ordered column is in its order."""

    kind: Kind
    domain: tuple[Raw, ...]
    nodes: Mapping[str, frozenset[Raw]] = field(default_factory=dict)
    notation: str | None = None
    closed: Closed | None = None
    points: bool = False
    least: float | None = None  # declared ends of a number column; None: those of the domain
    greatest: float | None = None
    suppressed: frozenset[str] = frozenset()  # texts of a suppressed cell, also where a raw value is written so

    def __post_init__(self) -> None:
        object.__setattr__(self, "domain", tuple(self.domain))
        object.__setattr__(self, "nodes", dict(self.nodes))
        if self.kind not in get_args(Kind):
            raise InputError(f"unknown kind {self.kind!r}; {did_you_mean(str(self.kind), get_args(Kind))}")
        if self.closed is not None and self.closed not in get_args(Closed):
            raise InputError(f"unknown closed {self.closed!r}; {did_you_mean(self.closed, get_args(Closed))}")
        if self.pattern is not None:
            check_pattern(self.pattern)
        elif self.notation is not None and self.notation not in NOTATIONS[self.kind]:
            known = did_you_mean(self.notation, NOTATIONS[self.kind])
            also = ', or a date pattern such as "%d/%m/%Y"' if self.kind == "date" else ""
            raise InputError(f"unknown notation {self.notation!r} for a {self.kind} column; {known}{also}")

    @classmethod
    def of(
        cls,
        kind: Kind,
        texts: Iterable[object],
        *,
        nodes: Mapping[str, Iterable[str]] | None = None,
        notation: str | None = None,
        closed: Closed | None = None,
        points: bool = False,
    ) -> "Reading":
        """The reading of a column from its raw texts (of an ordered one: its values in order).

        Numbers and dates are sorted, categories keep their first appearance; whether day or month comes
        first is decided by all dates together.
        """
        distinct = list(dict.fromkeys(texts))
        if kind == "date" and notation is None:
            notation = date_order([str(text).strip() for text in distinct])
        bare = cls(kind, (), notation=notation, closed=closed, points=points)
        try:
            domain = list(dict.fromkeys(bare.raw(text) for text in distinct))
        except Unreadable as problem:
            raise InputError(str(problem)) from None
        if kind in ("number", "date"):
            domain.sort()
        reading = replace(bare, domain=tuple(domain))
        return reading.with_nodes(nodes) if nodes else reading

    def with_nodes(self, nodes: Mapping[str, Iterable[str]]) -> "Reading":
        """The same reading, with the nodes of a hierarchy whose leaves are raw texts."""
        leaves = dict.fromkeys(leaf for below in nodes.values() for leaf in below)
        try:
            typed = {leaf: self.raw(leaf) for leaf in leaves}
        except Unreadable as problem:
            raise InputError(f"a leaf of the hierarchy is no {self.kind}: {problem}") from None
        return replace(self, nodes={name: frozenset(typed[leaf] for leaf in below) for name, below in nodes.items()})

    def raw(self, text: object) -> Raw:
        """A raw cell of the data, typed: 25 for "25.0", a Span for a date, stripped text otherwise."""
        if self.kind == "number" and type(text) is int:  # True is none
            return text
        plain = cell_text(text).strip()
        if self.kind == "number":
            value = number(plain)
            if value is None:
                raise Unreadable(plain, "not a number", 'correct the cell, or declare kind = "category"')
            return value
        if self.kind == "date":
            return self._raw_date(plain)
        return plain

    def _raw_date(self, text: str) -> Span:
        readings = spans(text, self.pattern)
        if not readings:
            raise Unreadable(text, "not a date", 'correct it, or declare a pattern: notation = "%d.%m.%y"')
        if len(readings) > 1:
            raise Unreadable(text, *ambiguous_order())
        return readings[0][1]

    @property
    def pattern(self) -> str | None:
        """The declared strptime pattern, if the notation is one."""
        return self.notation if self.kind == "date" and self.notation and "%" in self.notation else None

    @cached_property
    def members(self) -> frozenset[Raw]:
        """Every raw value that may be printed as itself: the domain and the leaves of the hierarchy."""
        return frozenset(self.domain).union(*self.nodes.values())

    @cached_property
    def known(self) -> Mapping[str, Value]:
        """What needs no parsing: raw values, then names of nodes, then the words for a missing value that was kept."""
        known: dict[str, Value] = {}
        for raw in (*self.domain, *(self.members - set(self.domain))):
            known.setdefault(show_raw(raw), Exact(raw))
        for raw in self.domain:
            known.setdefault(show_raw(raw).strip(), Exact(raw))
        for name, leaves in self.nodes.items():
            masked = not name.strip().strip("*")
            known.setdefault(name.strip(), Suppressed() if masked else OneOf(leaves))
        if "" in self.members:
            taken = {text.casefold() for text in known}
            known |= {word: Exact("") for word in MISSING if word.casefold() not in taken}
        return known | {text: Suppressed() for text in self.suppressed}

    @cached_property
    def folded(self) -> Mapping[str, str]:
        """Known texts by their case-insensitive spelling."""
        return {text.casefold(): text for text in self.known}

    @cached_property
    def longest(self) -> int:
        return max(map(len, self.known), default=0)

    @cached_property
    def positions(self) -> Mapping[str, int]:
        """Where each value of an ordered domain stands; a missing cell that was kept has no place."""
        return {str(raw).strip(): index for index, raw in enumerate(self.domain) if raw != ""}

    @cached_property
    def joints(self) -> Mapping[str, int]:
        """How many of each separator one known text may hold: `Smith, John` holds one comma."""
        return {sign: max((text.count(sign) for text in self.known), default=0) for sign in ",;|~"}

    @cached_property
    def spellings(self) -> Mapping[int, list[tuple[str, Raw]]]:
        """The texts of the domain by their length, for masks; among decimals, f saw 22 as `22.0`."""
        table: dict[int, list[tuple[str, Raw]]] = defaultdict(list)
        for raw in self.domain:
            text = show_raw(raw)
            table[len(text)].append((text, raw))
            if self.decimals and text.lstrip("-").isdigit():
                table[len(text) + 2].append((f"{text}.0", raw))
        return dict(table)

    @cached_property
    def decimals(self) -> int:
        """How many decimals the raw numbers show at most; none in a column of anything else."""
        shown = (show_raw(raw).partition(".")[2] for raw in self.domain if isinstance(raw, float))
        return max(map(len, shown), default=0)

    def nearest(self, text: str) -> str:
        """A hint at the known text most like this one; the domain may be too large to print."""
        if text.casefold() in self.folded:
            return f"did you mean {quote(self.folded[text.casefold()])}? "
        if len(text) > 80 or len(self.known) > 5000:
            return ""
        near = difflib.get_close_matches(text, self.known, n=1)
        return f"did you mean {quote(near[0])}? " if near else ""

    def __getstate__(self) -> dict[str, object]:
        """Only what was declared travels; the tables are built again where they are needed."""
        return {item.name: getattr(self, item.name) for item in fields(self)}


def ambiguous_order() -> tuple[str, str]:
    return (
        "ambiguous: may be day/month/year or month/day/year",
        'declare notation = "%d/%m/%Y" or notation = "%m/%d/%Y"',
    )


def date_order(texts: Sequence[str]) -> str | None:
    """The one order of day and month that fits all texts; None if no text needs to know."""
    possible = orders_possible(texts)
    if not possible:
        raise InputError(
            "some dates only fit day/month/year and others only month/day/year; correct the column, "
            'or declare kind = "category"'
        )
    if len(possible) == 1:
        return possible.pop()
    doubtful = next((text for text in texts if swappable(text)), None)
    if doubtful is not None:
        why, remedy = ambiguous_order()
        raise InputError(f"{quote(doubtful)}: {why}; {remedy}")
    return None
