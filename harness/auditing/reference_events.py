"""What the distances of an audit are shown beside, as events: baselines, and how many share what a person shows.

    Baselines    distances under two releases that need no anonymizer: the data as it is, and all quasi-identifiers
                 suppressed
    ClassSizes   how many released rows cover a person, and how often her rarest value occurs in the data

No verdict rests on them. Knows numbers and names only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from harness.vocabulary.plain_numbers import plain_number

RAW, SUPPRESSED = "raw", "suppressed"  # releases that need no anonymizer


@dataclass(frozen=True)
class Baseline:
    """Distances of some persons under one such release, for one adversary and secret."""

    release: str
    adversary: int
    secret: int
    persons: tuple[int, ...]
    distances: tuple[float, ...]


@dataclass(frozen=True)
class Baselines:
    """Baselines of every adversary and secret that they could be computed for, and why not of the others."""

    name: ClassVar = "baselines"
    known: tuple[Baseline, ...]
    skipped: tuple[tuple[int, str], ...]  # adversary and reason

    def entry(self) -> dict[str, Any]:
        known = [
            [one.release, one.adversary, one.secret, list(one.persons), [*map(plain_number, one.distances)]]
            for one in self.known
        ]
        return {"known": known, "skipped": [list(one) for one in self.skipped]}

    @classmethod
    def from_entry(cls, entry: Mapping[str, Any]) -> Baselines:
        known = (
            Baseline(release, adversary, secret, tuple(persons), tuple(map(float, distances)))
            for release, adversary, secret, persons, distances in entry["known"]
        )
        return cls(tuple(known), tuple((adversary, reason) for adversary, reason in entry["skipped"]))


@dataclass(frozen=True)
class ClassSizes:
    """Of some persons: how many rows of f(D) cover what an adversary knows, and how often her rarest value occurs."""

    name: ClassVar = "class_sizes"
    persons: tuple[int, ...]
    covering: tuple[float, ...]  # rows of the first draw of f(D), or their weight
    rarest: tuple[int, ...]  # rows of D

    def entry(self) -> dict[str, Any]:
        return {key: list(value) for key, value in vars(self).items()}

    @classmethod
    def from_entry(cls, entry: Mapping[str, Any]) -> ClassSizes:
        return cls(*(tuple(entry[key]) for key in ("persons", "covering", "rarest")))
