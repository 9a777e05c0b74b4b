"""The findings of an audit as columns, one number per person; a million of them need about a hundred megabytes.

Each pair of adversary and secret has its own columns. A column is made when the first finding needs it: where chance
plays no part, there are no limits of tails and no counts. Vectors are large, and a report shows few of them. Where
chance plays no part, a finding never changes, so that the worst are known as they come, and only theirs are kept; of
all others a digest of both predictions is kept, which tells whether f answers again as it did.
"""

from __future__ import annotations

import hashlib
import heapq
import math
from typing import Any

import numpy as np

from harness.auditing.columns import Array, Ints
from harness.auditing.finding import Finding
from harness.auditing.measurement import Vector
from harness.measuring.tail import Limits

WORST = 1_000  # findings of a pair with vectors, where there are more

# Columns with the value that most findings have; what is not known is NaN, or -1 of a whole number.
NUMBERS = {
    "distance": 0.0, "lower": 0.0, "upper": math.inf, "own_upper": math.inf, "alpha": 0.0, "floor": math.nan,
    "own_delta_upper": math.nan, "delta_beyond_noise": math.nan, "privacy_loss": math.nan,
    "draws_needed": math.nan,  # a whole number that 32 bits may not hold
}  # fmt: skip
COUNTS = {"draws": 1, "drawn": 1, "look": 1, "row": 0, "failure": 0}
FLAGS = ("changed", "kept", "broken")
LIMITS = ("delta_at_epsilon", "epsilon_at_delta", "placebo")
VECTORS = ("present", "absent", "per_value")
WIDE = {"uncovered": (2, 0), "confidence": (2, math.nan), "exceedances": (0, 0)}  # width, and what most have
UNKNOWN = (math.nan, math.nan, math.nan)


class PairStore:
    """The findings of one adversary and secret, by person."""

    def __init__(self, population: int, *, exact: bool) -> None:
        self.population, self.exact = population, exact
        self._columns: dict[str, Array] = {}
        self._failures = [""]  # reasons, each once
        self._vectors = _WorstVectors() if exact else _AllVectors(population)

    def put(self, person: int, finding: Finding) -> None:
        """Keep what was found of a person, instead of what was found of her before."""
        for name, usual in NUMBERS.items():
            value = getattr(finding, name)
            self._set(name, person, math.nan if value is None else value, usual, np.float64)
        for name, usual in COUNTS.items():
            self._set(name, person, self._count(finding, name), usual, np.int32)
        for name in FLAGS:
            self._set(name, person, bool(getattr(finding, name)), False, np.bool_)
        for name in LIMITS:
            limits: Limits | None = getattr(finding, name)
            if limits is not None or name in self._columns:
                ends = UNKNOWN if limits is None else (limits.value, limits.lower, limits.upper)
                self._wide(name, 3, math.nan, np.float64)[person] = ends
        if finding.confidence or "confidence" in self._columns:
            self._wide("confidence", 2, math.nan, np.float64)[person] = finding.confidence or (math.nan, math.nan)
        if finding.uncovered != (0, 0) or "uncovered" in self._columns:
            self._wide("uncovered", 2, 0, np.int32)[person] = finding.uncovered
        if finding.exceedances or "exceedances" in self._columns:
            counts = self._wide("exceedances", len(finding.exceedances), 0, np.int64)
            counts[person] = finding.exceedances or 0
        self._wide("digest", 16, 0, np.uint8)[person] = np.frombuffer(digest_of(finding), dtype=np.uint8)
        self._vectors.put(person, finding)

    def _count(self, finding: Finding, name: str) -> int:
        value = getattr(finding, name)
        if name != "failure":
            return -1 if value is None else int(value)
        if value is None:
            return 0
        if value not in self._failures:
            self._failures.append(value)
        return self._failures.index(value)

    def _set(self, name: str, person: int, value: Any, usual: Any, kind: Any) -> None:
        column = self._columns.get(name)
        if column is None:
            if value == usual or (value != value and usual != usual):  # NaN is not equal to itself
                return
            column = self._columns[name] = _filled((self.population,), usual, kind)
        column[person] = value

    def _wide(self, name: str, width: int, usual: Any, kind: Any) -> Array:
        if name not in self._columns:
            self._columns[name] = _filled((self.population, width), usual, kind)
        return self._columns[name]

    def column(self, name: str, persons: Ints) -> Array:
        """The column of these persons."""
        if name == "failed":
            return self.column("failure", persons) > 0 if "failure" in self._columns else np.zeros(len(persons), bool)
        if name in self._columns:
            return self._columns[name][persons]
        if self.exact and name in ("delta_at_epsilon", "epsilon_at_delta"):
            raise KeyError(name)
        usual = {**NUMBERS, **COUNTS, **dict.fromkeys(FLAGS, False)}
        if name in usual:
            return np.full(len(persons), usual[name])
        width, value = WIDE.get(name, (3, math.nan))
        return np.full((len(persons), width), value)

    def reasons(self, codes: Ints) -> Array:
        """The reasons of failures, by the number that the column `failure` has; none is an empty text."""
        return np.array(self._failures, dtype=object)[codes]

    def fields(self, person: int) -> dict[str, Any]:
        """All that a finding has of its own."""
        fields: dict[str, Any] = {}
        for name, column in self._columns.items():
            if name in NUMBERS or name in COUNTS or name in FLAGS:
                fields[name] = column[person].item()
            elif name in LIMITS and not np.isnan(column[person, 0]):
                fields[name] = Limits(*column[person].tolist())
            elif name in ("uncovered", "exceedances") or (name == "confidence" and not np.isnan(column[person, 0])):
                fields[name] = tuple(column[person].tolist())
        for name, usual in NUMBERS.items():
            if usual != usual and fields.get(name, usual) != fields.get(name, usual):
                fields[name] = None
        fields["failure"] = self._failures[fields.get("failure", 0)] or None
        row = fields.get("row", COUNTS["row"])
        fields["row"] = None if row < 0 else row
        if fields.get("draws_needed") is not None:
            fields["draws_needed"] = int(fields["draws_needed"])
        if fields["failure"] is not None:
            fields.pop("exceedances", None)
        return {**fields, **dict(zip(VECTORS, self._vectors.get(person), strict=True))}

    def row(self, person: int) -> int:
        """The place among a person's rows of the one that has her distance."""
        return max(0, int(self._columns["row"][person])) if "row" in self._columns else 0

    def drawn(self, person: int) -> int:
        """The draws of all looks at a person, a side."""
        return int(self._columns["drawn"][person]) if "drawn" in self._columns else COUNTS["drawn"]

    def digest(self, person: int) -> bytes:
        """What tells two predictions about a person from others."""
        return bytes(self._columns["digest"][person].tobytes())


def digest_of(both: Any) -> bytes:
    """A digest of both predictions of a finding or a measurement."""
    sides = (np.array(side or (), dtype="<f8").tobytes() for side in (both.present, both.absent))
    return hashlib.blake2b(b"|".join(sides), digest_size=16).digest()


def _filled(shape: tuple[int, ...], value: Any, kind: Any) -> Array:
    return np.zeros(shape, kind) if value == 0 else np.full(shape, value, kind)


Three = tuple[Vector | None, Vector | None, Vector | None]


class _AllVectors:
    """The vectors of every finding; they have one length, whoever was measured."""

    def __init__(self, population: int) -> None:
        self._population = population
        self._columns: dict[str, Array] = {}
        self._known = np.zeros(population, bool)

    def put(self, person: int, finding: Finding) -> None:
        self._known[person] = bool(finding.present)
        for name in VECTORS if finding.present else ():
            vector = getattr(finding, name)
            if name not in self._columns:
                self._columns[name] = np.zeros((self._population, len(vector)))
            self._columns[name][person] = vector

    def get(self, person: int) -> Three:
        if not self._known[person]:
            return (), (), ()
        one, other, parts = (tuple(self._columns[name][person].tolist()) for name in VECTORS)
        return one, other, parts


class _WorstVectors:
    """The vectors of the worst findings, of all while there are few; None stands for those that were left out."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[tuple[float, float, int], Three]] = {}

    def put(self, person: int, finding: Finding) -> None:
        how_bad = (finding.lower, finding.distance, -person)
        self._kept[person] = (how_bad, (finding.present, finding.absent, finding.per_value))
        if len(self._kept) > 2 * WORST:
            worst = heapq.nlargest(WORST, self._kept.items(), key=lambda one: one[1][0])
            self._kept = dict(worst)

    def get(self, person: int) -> Three:
        return self._kept[person][1] if person in self._kept else (None, None, None)
