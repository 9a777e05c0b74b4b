"""Quasi-identifiers as the greedy algorithm sees them: nodes, what two become together, and how many leaves that has.

A column with a hierarchy has the nodes of its tree, and two nodes become their lowest common ancestor. Without one, a
column of numbers, dates or ordered values has ranges of its domain, whose leaves are the values between their ends,
and two ranges become the range that holds both; a plain category becomes `*`, as Gender does in Proportional
Representation, Example 1. A missing cell is a leaf of its own, and has only `*` in common with others.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.hierarchy import Hierarchy
from harness.vocabulary.schema import MISSING, Column
from harness.vocabulary.values import Exact, Interval, OneOf, Raw, Reading, Span, Suppressed, show

Longs = npt.NDArray[np.int64]
EVERYTHING = show(Suppressed())


class GeneralisedColumn(Protocol):
    """One quasi-identifier; nodes are numbers."""

    @property
    def codes(self) -> Longs:
        """The leaf of every record.  # [record]"""

    @property
    def total(self) -> int:
        """How many leaves the whole column has."""

    def merged_leaves(self, node: int, others: Longs) -> Longs:
        """How many leaves the node has together with each other one.  # [others]"""

    def merged(self, node: int, other: int) -> int:
        """What two nodes become together."""

    def text(self, node: int) -> str | None:
        """The node as it is printed; None for a missing cell."""


def generalised(data: Dataset) -> tuple[GeneralisedColumn, ...]:
    """The quasi-identifiers of D."""
    each = zip(data.schema.quasi, data.readings, data.codes, strict=False)
    return tuple(_column(column, reading, codes.astype(np.int64)) for column, reading, codes in each)


def _column(column: Column, reading: Reading, codes: Longs) -> GeneralisedColumn:
    if column.hierarchy is not None:
        return NodeColumn.of_hierarchy(column.hierarchy, reading, codes)
    if column.kind == "category" and not column.order:
        return NodeColumn.flat(reading, codes)
    return RangeColumn(codes, reading.domain, int(MISSING in reading.domain[:1]))


@dataclass(frozen=True, eq=False)
class NodeColumn:
    """A column whose nodes are those of a tree."""

    codes: Longs
    texts: tuple[str | None, ...]  # [node]
    counts: Longs  # [node], its leaves
    lineage: Longs  # [depth, node]: ancestors from the root down to the node itself, then -1
    _rows: dict[int, tuple[Longs, Longs]] = field(default_factory=dict)  # of a node: ancestors with all others, leaves

    @classmethod
    def of_hierarchy(cls, hierarchy: Hierarchy, reading: Reading, codes: Longs) -> NodeColumn:
        """The nodes of a hierarchy; above its root stands `*` where a missing cell has to be held as well."""
        names = hierarchy.subtree(hierarchy.root)
        paths = [tuple(reversed(hierarchy.path(name))) for name in names]
        counts = [len(hierarchy.leaves(name)) for name in names]
        texts: list[str | None] = list(names)
        place = {reading.raw(name): number for number, name in enumerate(names) if not hierarchy.children(name)}
        if MISSING in reading.domain:
            top = "above the root"
            paths = [*((top, *path) for path in paths), (top, MISSING), (top,)]
            counts = [*counts, 1, counts[0] + 1]
            place[MISSING] = len(texts)
            texts += [None, EVERYTHING]
        numbers = {path: number for number, path in enumerate(paths)}
        lineage = [[numbers[path[: depth + 1]] for depth in range(len(path))] for path in paths]
        return cls._of(np.array([place[raw] for raw in reading.domain])[codes], texts, counts, lineage)

    @classmethod
    def flat(cls, reading: Reading, codes: Longs) -> NodeColumn:
        """The values of the domain, and `*` above them."""
        texts = [None if raw == MISSING else show(Exact(raw)) for raw in reading.domain]
        root = len(texts)
        counts = [*[1] * root, root]
        return cls._of(codes, [*texts, EVERYTHING], counts, [*([root, leaf] for leaf in range(root)), [root]])

    @classmethod
    def _of(cls, codes: Longs, texts: list[str | None], counts: list[int], lineage: list[list[int]]) -> NodeColumn:
        deepest = max(map(len, lineage))
        padded = [path + [-1] * (deepest - len(path)) for path in lineage]
        return cls(codes, tuple(texts), np.array(counts), np.array(padded, dtype=np.int64).T.copy())

    @property
    def total(self) -> int:
        return int(self.counts.max())

    def merged_leaves(self, node: int, others: Longs) -> Longs:
        return self._with_all(node)[1][others]

    def merged(self, node: int, other: int) -> int:
        return int(self._with_all(node)[0][other])

    def text(self, node: int) -> str | None:
        return self.texts[node]

    def _with_all(self, node: int) -> tuple[Longs, Longs]:
        """The common ancestor of a node with every node, and its leaves; remembered."""
        if node not in self._rows:
            own = self.lineage[:, node]
            shared = ((self.lineage == own[:, None]) & (own >= 0)[:, None]).sum(axis=0)  # equal down to that depth
            ancestors = own[shared - 1]
            self._rows[node] = ancestors, self.counts[ancestors]
        return self._rows[node]


@dataclass(frozen=True, eq=False)
class RangeColumn:
    """A column whose nodes are ranges of its domain: the number low * size + high stands for one."""

    positions: Longs  # [record], in the domain
    domain: tuple[Raw, ...]
    gap: int  # 1 where the first value of the domain is a missing cell

    @property
    def codes(self) -> Longs:
        return self.positions * (len(self.domain) + 1)

    @property
    def total(self) -> int:
        return len(self.domain)

    def merged_leaves(self, node: int, others: Longs) -> Longs:
        low, high = self._hull(node, others)
        return high - low + 1

    def merged(self, node: int, other: int) -> int:
        low, high = self._hull(node, np.array([other]))
        return int(low[0] * self.total + high[0])

    def _hull(self, node: int, others: Longs) -> tuple[Longs, Longs]:
        """The range that holds both, for each other; a missing cell among values makes it everything."""
        own_low, own_high = divmod(node, self.total)
        lows, highs = np.divmod(others, self.total)
        low, high = np.minimum(lows, own_low), np.maximum(highs, own_high)
        return low, np.where((low < self.gap) & (high >= self.gap), self.total - 1, high)

    def text(self, node: int) -> str | None:
        low, high = divmod(node, self.total)
        if low < self.gap:
            return None if high < self.gap else EVERYTHING
        first, last = self.domain[low], self.domain[high]
        if low == high:
            return show(Exact(first))
        if isinstance(first, str):
            return show(OneOf(frozenset(self.domain[low : high + 1])))
        if isinstance(first, Span):
            days = max(raw.last for raw in self.domain[low : high + 1] if isinstance(raw, Span))
            return show(Interval(first.first, days, days=True))
        assert not isinstance(last, str | Span)
        return show(Interval(first, last))
