"""One sensitive column of a release, and of the original where it is known: values, their order, who has which.

A value is its text; numbers of equal size are one value. Cells that show nothing ('*', an empty or missing one, or
what is declared as suppressed) have the code -1.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.measuring.metrics.classes import Classes, Floats
from harness.measuring.metrics.closeness import equal_distances, hierarchical_distances, ordered_distances
from harness.measuring.metrics.diversity import ByLevel, diversity
from harness.vocabulary.errors import InputError
from harness.vocabulary.schema import Column
from harness.vocabulary.table import Cells, Codes
from harness.vocabulary.values.atoms import cell_text, number

GROUNDS = ("equal", "ordered", "hierarchical")
SIDES = ("release", "original")

Plain = dict[str, Any]


@dataclass(frozen=True, eq=False)
class SecretColumn:
    """The values of a sensitive column in their order, and the value of each row."""

    column: Column
    values: tuple[str, ...]
    is_ordered: bool
    codes: Codes  # [rows of the release], -1 where nothing is shown
    original: Codes | None  # [rows of the original]

    @classmethod
    def of(cls, column: Column, cells: Cells, original: Cells | None, suppressed: Collection[str]) -> SecretColumn:
        """The column of a release, with the values of the original beside its own."""
        own = _texts(cells, suppressed)
        before = [] if original is None else _texts(original, suppressed=())
        occurring = list(dict.fromkeys(text for text in (*before, *own) if text is not None))
        values, is_ordered = _in_order(column, occurring)
        place = {value: position for position, value in enumerate(values)}
        return cls(
            column, values, is_ordered, _coded(own, place, cells),
            None if original is None else _coded(before, place, original),
        )  # fmt: skip

    def released(self, classes: Classes) -> Floats:
        """How often each class of the release has each value.  # [classes, values]"""
        return classes.counts(self.codes, len(self.values))

    def before(self) -> Floats | None:
        """How often the original has each value; None where it is not known.  # [values]"""
        if self.original is None:
            return None
        return np.bincount(self.original[self.original >= 0], minlength=len(self.values)).astype(np.float64)


def secret_metrics(secret: SecretColumn, classes: Classes) -> Plain:
    """ℓ and t of one sensitive column."""
    counts, before = secret.released(classes), secret.before()
    if not counts.any():
        return {"l": None, "t": None}
    against_release = closeness(secret, counts, counts.sum(axis=0))
    against_original = dict.fromkeys(GROUNDS) if before is None else closeness(secret, counts, before)
    return {
        "l": diversity(counts),
        "t": {name: {"release": against_release[name], "original": against_original[name]} for name in GROUNDS},
    }


def closeness(secret: SecretColumn, counts: Floats, whole: Floats) -> dict[str, float | None]:
    """t by ground distance: the largest distance of a class that shows values; None where it is not defined.

    Values stand one step apart in the declared order; of numbers without one, those that the class or the whole has.
    """
    shown = counts[counts.sum(axis=1) > 0]
    classes, everybody = shown / shown.sum(axis=1, keepdims=True), whole / whole.sum()
    t: dict[str, float | None] = dict.fromkeys(GROUNDS)
    t["equal"] = float(equal_distances(classes, everybody).max())
    if secret.is_ordered:
        occurs = np.full(len(whole), True) if secret.column.order else shown.any(axis=0) | (whole > 0)
        t["ordered"] = float(ordered_distances(classes[:, occurs], everybody[occurs]).max())
    if secret.column.hierarchy is not None:
        distances = hierarchical_distances(classes, everybody, secret.values, secret.column.hierarchy)
        t["hierarchical"] = float(distances.max())
    return t


def worst_diversity(each: Sequence[Plain | None]) -> Plain | None:
    """The least ℓ of several sensitive columns, and the largest c for every ℓ that all of them have."""
    shown = [one for one in each if one is not None]
    if not shown:
        return None
    levels = set.intersection(*(set(one["recursive_c"]) for one in shown))
    least: Plain = {name: min(one[name] for one in shown) for name in ("distinct", "entropy", "probability")}
    worst = {level: max(one["recursive_c"][level] for one in shown) for level in sorted(levels, key=int)}
    return {**least, "recursive_c": ByLevel(worst)}


def worst_closeness(each: Sequence[Plain | None]) -> Plain | None:
    """The largest t of several sensitive columns, where all of them have it."""
    shown = [one for one in each if one is not None]
    if not shown:
        return None
    return {ground: {side: _largest([one[ground][side] for one in shown]) for side in SIDES} for ground in GROUNDS}


def _largest(numbers: Sequence[float | None]) -> float | None:
    return None if None in numbers else max(number for number in numbers if number is not None)


def _texts(cells: Cells, suppressed: Collection[str]) -> list[str | None]:
    """The value of each cell of the palette; None where it shows nothing."""
    texts = [cell_text(cell).strip() for cell in cells.palette.tolist()]
    return [None if text in suppressed else _value(text) for text in texts]


def _value(text: str) -> str:
    """Numbers of equal size are one value: 4.0 is 4."""
    value = number(text)
    return text if value is None else str(value)


def _in_order(column: Column, occurring: list[str]) -> tuple[tuple[str, ...], bool]:
    """The values in the declared order, numbers by size, else as they occur; and whether the order means something."""
    declared = tuple(map(_value, column.order or column.values))
    if not declared and column.hierarchy is not None:
        declared = tuple(map(_value, column.hierarchy.leaves(column.hierarchy.root)))
    unknown = next((value for value in occurring if declared and value not in declared), None)
    if unknown is not None:
        known = "its declared order or values" if column.order or column.values else "its hierarchy"
        raise InputError(f"column {column.name!r}: the value {unknown!r:.80} is not in {known}; add it, or correct it")
    if declared:
        return declared, bool(column.order)
    if occurring and all(number(value) is not None for value in occurring):
        return tuple(sorted(occurring, key=float)), True
    return tuple(occurring), False


def _coded(texts: list[str | None], place: dict[str, int], cells: Cells) -> Codes:
    positions = [-1 if text is None else place[text] for text in texts]
    return np.array([*positions, -1], dtype=np.int32)[cells.codes]  # a missing cell's -1 picks the last entry
