"""Findings of one adversary and secret as columns, in the order of persons: what judging and statistics read.

Columns come from a list of findings or from the state of an audit, which holds no finding as an object. A single
finding is made when it is needed, for a sentence or a table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from harness.auditing.finding import Finding
from harness.measuring.tail import Limits
from harness.vocabulary.persons import RowName

Ints = npt.NDArray[np.int64]
Array = npt.NDArray[Any]


class Source(Protocol):
    """Where columns come from."""

    @property
    def adversary(self) -> str: ...

    @property
    def secret(self) -> str: ...

    def __len__(self) -> int: ...

    def column(self, name: str, places: Ints) -> Array:
        """The numbers of a name at these places.  # [places], or [places, 2 or more] of limits and pairs"""
        ...

    def finding(self, place: int) -> Finding: ...

    def names(self, place: int) -> tuple[tuple[RowName, ...], RowName | None]:
        """The rows of a person, and the one that has her distance."""
        ...


class Columns:
    """Some findings of a source, in its order."""

    def __init__(self, source: Source, places: Ints | None = None) -> None:
        self._source = source
        self._places = np.arange(len(source)) if places is None else places

    @property
    def pair(self) -> tuple[str, str]:
        return self._source.adversary, self._source.secret

    def __len__(self) -> int:
        return len(self._places)

    def get(self, name: str) -> Array:
        """A column by its name; `delta_lower` and the like are ends of limits, what is not known is NaN."""
        if name in ENDS:
            limits, end = ENDS[name]
            return self.get(limits)[:, end]
        return self._source.column(name, self._places)

    def where(self, chosen: npt.NDArray[np.bool_]) -> Columns:
        return Columns(self._source, self._places[chosen])

    def part(self, start: int, stop: int) -> Columns:
        """Those from one place to another."""
        return Columns(self._source, self._places[start:stop])

    def first(self, order: Sequence[Array]) -> Finding:
        """The finding with the largest of the first key, of those the one with the largest of the next, and so on.

        Of equal ones it is that of the first person.
        """
        left = np.arange(len(self))
        for key in order:
            left = left[key[left] == key[left].max()]
        return self.finding(int(left[0]))

    def finding(self, place: int) -> Finding:
        return self._source.finding(int(self._places[place]))

    def names(self, place: int) -> tuple[tuple[RowName, ...], RowName | None]:
        """The rows of a person, and the one that has her distance."""
        return self._source.names(int(self._places[place]))


ENDS = {
    "delta_value": ("delta_at_epsilon", 0),
    "delta_lower": ("delta_at_epsilon", 1),
    "delta_upper": ("delta_at_epsilon", 2),
}


class ListedFindings:
    """A list of findings of one adversary and secret."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self._findings = sorted(findings, key=lambda finding: finding.person)
        self.adversary, self.secret = findings[0].adversary, findings[0].secret
        self._whole = cache(lambda name: np.array([value_of(finding, name) for finding in self._findings]))

    def __len__(self) -> int:
        return len(self._findings)

    def column(self, name: str, places: Ints) -> Array:
        return self._whole(name)[places]

    def names(self, place: int) -> tuple[tuple[RowName, ...], RowName | None]:
        return self._findings[place].rows, self._findings[place].row

    def finding(self, place: int) -> Finding:
        return self._findings[place]


def listed_columns(findings: Sequence[Finding]) -> list[Columns]:
    """The columns of a list of findings, by adversary and secret in the order of their first finding."""
    pairs: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        pairs.setdefault((finding.adversary, finding.secret), []).append(finding)
    return [Columns(ListedFindings(group)) for group in pairs.values()]


def value_of(finding: Finding, name: str) -> Any:
    """What a finding has in a column."""
    if name == "rows":
        return len(finding.rows)
    if name == "failure":
        return finding.failure or ""
    if name in ("delta_at_epsilon", "epsilon_at_delta"):
        limits: Limits | None = getattr(finding, name)
        return (math.nan,) * 3 if limits is None else (limits.value, limits.lower, limits.upper)
    if name == "confidence":
        return finding.confidence or (math.nan, math.nan)
    return finding.number(name)
