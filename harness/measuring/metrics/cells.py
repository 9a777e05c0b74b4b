"""What the cells of one quasi-identifier leave open: lost leaves, certainty penalty, and whether they are true.

    lost leaves         (leaves(v) - 1) / (leaves(root) - 1) (Normalized Lost Leaves Metric, Mauger et al. 2020), where
                        v is the least general node of the hierarchy that covers the cell. A column without a
                        hierarchy has the values of its domain as leaves, and a cell has those that it covers: a
                        range the values between its ends.
    certainty penalty   of numbers and dates the width of the range / width of the domain; else leaves(v) /
                        leaves(root), and 0 for a single leaf (Xu et al. 2006)
    outside             the cell does not cover the value that its row has in the original

Everything is worked out once per distinct cell.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from harness.measuring.encoding.axis import axis_of
from harness.measuring.encoding.bins import NUMBER_KINDS
from harness.measuring.encoding.hierarchies import tree_of
from harness.measuring.metrics.classes import Floats
from harness.vocabulary.release import CellIds
from harness.vocabulary.schema import MISSING
from harness.vocabulary.values import Interval, OneOf, Raw, Reading, Suppressed, Value


def lost_leaves(column: CellIds) -> Floats:
    """The share of leaves that each row's cell loses, from 0 to 1.  # [rows]"""
    total = _all_leaves(column)
    lost = column.lexicon.each("lost leaves", lambda value: _lost(column, value, total))
    return _per_row(column, lost)


def certainty_penalty(column: CellIds) -> Floats:
    """How uncertain each row's cell leaves its value, from 0 to 1.  # [rows]"""
    penalties = column.lexicon.each("certainty penalty", lambda value: _penalty(column, value))
    return _per_row(column, penalties)


def outside(column: CellIds, original: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
    """Whether each row's cell fails to cover its own original value, given as a position in the domain.  # [rows]"""
    domain = column.lexicon.reading.domain
    pairs, rows = np.unique(column.codes.astype(np.int64) * len(domain) + original, return_inverse=True)
    cells, raws = np.divmod(pairs, len(domain))
    values = [column.lexicon.value(int(column.ids[cell])) for cell in cells]
    missed = [not value.covers(domain[raw]) for value, raw in zip(values, raws.tolist(), strict=True)]
    per_row: npt.NDArray[np.bool_] = np.array(missed, dtype=bool)[rows.reshape(-1)]
    return per_row


def _per_row(column: CellIds, numbers: npt.NDArray[np.float64]) -> Floats:
    return numbers.astype(np.float64)[column.ids][column.codes]


def _all_leaves(column: CellIds) -> int:
    reading, hierarchy = column.lexicon.reading, column.lexicon.hierarchy
    return len(_values(reading)) if hierarchy is None else len(hierarchy.leaves(hierarchy.root))


def _lost(column: CellIds, value: Value, total: int) -> float:
    return max(_leaves(column, value) - 1, 0) / (total - 1) if total > 1 else 0.0


def _penalty(column: CellIds, value: Value) -> float:
    reading = column.lexicon.reading
    if reading.kind in NUMBER_KINDS:
        axis = axis_of(reading)
        low, high = axis.ends(value)
        return axis.share(high - low)
    leaves, total = _leaves(column, value), _all_leaves(column)
    return leaves / total if leaves > 1 else 0.0


def _leaves(column: CellIds, value: Value) -> int:
    """How many leaves a cell leaves open."""
    reading, hierarchy = column.lexicon.reading, column.lexicon.hierarchy
    if hierarchy is None:
        return _covered(reading, value)
    node = tree_of(reading, hierarchy).node(value)
    return 0 if node is None else len(hierarchy.leaves(node))


def _covered(reading: Reading, value: Value) -> int:
    """How many values of the domain a cell covers; quickly where it is a range of numbers or a set."""
    values = _values(reading)
    if isinstance(value, Suppressed):
        return len(values)
    if isinstance(value, Interval) and reading.kind == "number":
        left = (bisect_left if value.closed in ("both", "left") else bisect_right)(values, value.low)
        right = (bisect_right if value.closed in ("both", "right") else bisect_left)(values, value.high)
        return right - left
    if isinstance(value, OneOf) and reading.kind != "date":
        return len(value.values & _members(reading))
    return sum(map(value.covers, values))


@lru_cache(maxsize=256)  # a reading is one column of one dataset
def _values(reading: Reading) -> tuple[Raw, ...]:
    """The values of the domain; numbers in their order."""
    values = [raw for raw in reading.domain if raw != MISSING]
    return tuple(sorted(values)) if reading.kind == "number" else tuple(values)


@lru_cache(maxsize=256)
def _members(reading: Reading) -> frozenset[Raw]:
    return frozenset(_values(reading))
