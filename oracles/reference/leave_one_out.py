"""Mondrian of D⁻ⁱ from Mondrian of D, where i is one row: only the nodes that held it can change, and few do.

From the root down, a node is left as it is while taking i away certainly changes nothing about it (doubt). The first
node where that is not certain is cut again by the same kernel, and its classes take the place of the old ones; so is a
small node at once. A doubt costs time, never a different release.

The kernel takes as long for one small node as for hundreds. So a node is cut again without each of its doubtful rows in
one go, and the results are kept for those who will be asked about next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from harness.vocabulary.table import Cells
from oracles.reference.axes import Flags, Ground, Ints, Longs
from oracles.reference.cells import Printed, Style
from oracles.reference.cuts import Nodes, Rule, equal_nodes, partition
from oracles.reference.doubt import doubtful_rows

SMALL = 80  # rows of a node that is cut again without asking first which of them are doubtful
MOST_AT_ONCE = 1 << 14  # rows that are cut again in one go
MOST_KEPT = 1 << 12  # goes whose results are kept


class Place(NamedTuple):
    """A node to replace, and whether it is cut again or stays a class."""

    node: int
    again: bool


class Variants(NamedTuple):
    """A node without each of several of its rows, one variant behind the other, and the classes of each."""

    rows: Ints  # in the order of the classes
    begin: Longs  # [variant], its first class; then the number of all classes
    sizes: Longs  # [class]
    codes: Ints  # [axis, class]
    palettes: tuple[npt.NDArray[Any], ...]  # per axis


@dataclass(frozen=True, eq=False)
class FullRun:
    """A full run, kept with every node that was cut."""

    ground: Ground
    rule: Rule
    style: Style
    rows: Longs  # in the order of the classes
    classes: Nodes
    nodes: Nodes  # the classes, then the nodes that were cut
    parents: list[int]  # of each node; the root's is -1
    class_of: Ints  # [record]
    columns: tuple[Printed, ...]  # codes [class]
    doubts: dict[int, frozenset[int]] = field(default_factory=dict)  # by node, worked out when first needed

    @classmethod
    def of(cls, ground: Ground, rule: Rule, style: Style) -> FullRun:
        history: list[Nodes] = []
        root = equal_nodes(ground, ground.rows, len(ground.rows), *ground.axes.box)
        rows, classes = partition(ground, rule, ground.rows, root, history)
        nodes = Nodes.joined([classes, *history])
        class_of = np.zeros(ground.axes.codes.shape[1], dtype=np.int32)
        class_of[rows] = np.repeat(np.arange(len(classes.size), dtype=np.int32), classes.size)
        columns = tuple(Printed.of(ground, style, axis, rows, classes) for axis in range(len(ground.axes.each)))
        return cls(ground, rule, style, rows, classes, nodes, _parents(nodes), class_of, columns)

    def whole(self) -> tuple[Cells, ...]:
        """The quasi-identifiers as they are released, record by record."""
        return tuple(column.cells.taking(self.class_of) for column in self.columns)

    def without(self, record: int) -> tuple[Cells, ...] | None:
        """Those of D⁻ⁱ, without i's own; None if i's absence changes what widths are measured against."""
        axes = self.ground.axes
        if not self._same_measure(axes.codes[:, record].tolist(), int(axes.secrets[record])):
            return None
        place = self._place(record)
        go, variant = divmod(int(np.searchsorted(self._left_out(place), record)), self._variants_at_once(place))
        return self._replaced(record, place, self._variants(place, go), variant)

    def _same_measure(self, codes: list[int], secret: int) -> bool:
        """Do the other rows together reach as far, and are they a class? t is measured against all of them."""
        shares = self.ground.shares.copy()
        shares[secret] -= 1
        if self.rule.t is not None or not self.rule.suits(shares.sum(), shares.max(), np.count_nonzero(shares)):
            return False
        return not any(held in self.ground.unique_extremes for held in enumerate(codes))

    def _place(self, record: int) -> Place:
        """The first node from the root down that is small, that may change without the record, or is its class."""
        path = [int(self.class_of[record])]
        while self.parents[path[-1]] >= 0:
            path.append(self.parents[path[-1]])
        for node in reversed(path):
            if self.nodes.size[node] <= SMALL or record in self._doubtful(node):
                return Place(node, again=True)
        return Place(path[0], again=False)

    def _rows(self, node: int) -> Longs:
        """In the order of the records."""
        start = self.nodes.start[node]
        return np.sort(self.rows[start : start + self.nodes.size[node]])

    def _doubtful(self, node: int) -> frozenset[int]:
        if node not in self.doubts:
            alone, rows = self.nodes.taking(slice(node, node + 1)), self._rows(node)
            tried = int(alone.tries[0]) + (node >= len(self.classes.size))
            doubtful = doubtful_rows(self.ground, self.rule, rows, alone, tried)
            self.doubts[node] = frozenset(rows[doubtful].tolist())
        return self.doubts[node]

    def _variants_at_once(self, place: Place) -> int:
        return max(1, MOST_AT_ONCE // int(self.nodes.size[place.node]))

    @cached_property
    def _left_out(self) -> Callable[[Place], Longs]:
        """The rows whose place it may be, in order; some of them have theirs further up."""
        return lru_cache(MOST_KEPT)(self._find_left_out)

    def _find_left_out(self, place: Place) -> Longs:
        rows = self._rows(place.node)
        if len(rows) <= SMALL:
            return rows
        doubtful = np.isin(rows, list(self._doubtful(place.node)))
        return rows[doubtful] if place.again else rows[~doubtful]

    @cached_property
    def _variants(self) -> Callable[[Place, int], Variants]:
        """The node without each of the rows that are left out in one go."""
        return lru_cache(MOST_KEPT)(self._cut_again)

    def _cut_again(self, place: Place, go: int) -> Variants:
        mine, node, step = self._rows(place.node), place.node, self._variants_at_once(place)
        left_out = self._left_out(place)[go * step : (go + 1) * step]
        rows = np.tile(mine, len(left_out))[(left_out[:, None] != mine).ravel()]
        classes = equal_nodes(self.ground, rows, len(mine) - 1, self.nodes.left[node], self.nodes.right[node])
        if place.again:
            rows, classes = partition(self.ground, self.rule, rows, classes)
        begin = np.searchsorted(classes.start, np.arange(len(left_out) + 1) * (len(mine) - 1))
        columns = [
            column.continued(self.ground, self.style, axis, rows, classes) for axis, column in enumerate(self.columns)
        ]
        codes = np.stack([column.codes for column in columns])
        return Variants(rows.astype(np.int32), begin, classes.size, codes, tuple(each.palette for each in columns))

    @cached_property
    def _codes_by_class(self) -> Ints:
        """What each class prints.  # [axis, class]"""
        return np.stack([column.cells.codes for column in self.columns])

    @cached_property
    def _codes_by_record(self) -> Ints:
        """What is released of each record.  # [axis, record]"""
        return self._codes_by_class.take(self.class_of, axis=1)

    def _replaced(self, record: int, place: Place, variants: Variants, variant: int) -> tuple[Cells, ...]:
        """The release without the record, with the classes of a variant in the place of the old ones."""
        start, size = int(self.nodes.start[place.node]), int(self.nodes.size[place.node])
        old = slice(*np.searchsorted(self.classes.start, [start, start + size]).tolist())
        new = slice(*variants.begin[variant : variant + 2].tolist())
        rows, sizes = variants.rows[variant * (size - 1) : (variant + 1) * (size - 1)], variants.sizes[new]
        before, after = self._codes_by_class, variants.codes[:, new]
        by_class = np.concatenate([before[:, : old.start], after, before[:, old.stop :]], axis=1)
        codes = _without_record(self._codes_by_record, record)
        codes[:, rows - (rows > record)] = np.repeat(after, sizes, axis=1)
        each = zip(variants.palettes, codes, _used_cells(by_class, variants.palettes), strict=True)
        return tuple(_with_used_cells(*column) for column in each)


def _without_record(codes: Ints, record: int) -> Ints:
    axes, records = codes.shape
    left = np.empty((axes, records - 1), dtype=np.int32)
    left[:, :record], left[:, record:] = codes[:, :record], codes[:, record + 1 :]
    return left


def _used_cells(by_class: Ints, palettes: Sequence[npt.NDArray[Any]]) -> list[Flags]:
    """Which cells of each palette some class prints; a missing cell has the code -1.  # per axis [cell]"""
    ends = np.cumsum([len(palette) + 1 for palette in palettes])
    begin = ends - [len(palette) for palette in palettes]  # one place before it is that of a missing cell
    used = np.bincount((by_class + begin[:, None]).ravel(), minlength=int(ends[-1])) > 0
    return [used[first:end] for first, end in zip(begin.tolist(), ends.tolist(), strict=True)]


def _with_used_cells(palette: npt.NDArray[Any], codes: Ints, used: Flags) -> Cells:
    """A column without the cells that no class prints."""
    if used.all():
        return Cells(palette, codes)
    ranks = np.append(np.cumsum(used) - 1, -1).astype(np.int32)
    return Cells(palette[used], ranks.take(codes))


def _parents(nodes: Nodes) -> list[int]:
    """The node that each was cut from; -1 for the one that holds all rows."""
    parents = [-1] * len(nodes.start)
    around: list[int] = []
    ends = (nodes.start + nodes.size).tolist()
    for node in np.lexsort([-nodes.size, nodes.start]).tolist():  # a node stands before those that it holds
        while around and ends[around[-1]] < ends[node]:
            around.pop()
        parents[node] = around[-1] if around else -1
        around.append(node)
    return parents
