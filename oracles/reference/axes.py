"""Quasi-identifiers as Mondrian sees them: ordered codes, and how wide a stretch of them is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.hierarchy import Hierarchy
from harness.vocabulary.schema import MISSING, Column
from harness.vocabulary.values import Raw, Reading, Span

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Tree:
    """A hierarchy over codes: the leaves under any node are a stretch of codes."""

    names: tuple[str, ...]  # [node]; "" for what stands above both the root and a missing cell
    first: Ints  # [node], its first leaf
    count: Ints  # [node], its leaves
    lineage: Ints  # [depth, code]: ancestors from the root down; below a leaf the leaf itself again

    @classmethod
    def of(cls, hierarchy: Hierarchy, gap: int) -> Tree:
        """With `gap` the code 0 is a missing cell, which has nothing in common with any leaf."""
        names, first, count = (["", MISSING], [0, 0], [0, 1]) if gap else ([], [], [])
        paths: list[tuple[int, ...]] = [(0, 1)] if gap else []
        above = (0,) if gap else ()
        for name, path in _walk(hierarchy, hierarchy.root, above, names):
            first.append(len(paths))
            count.append(len(hierarchy.leaves(name)))
            if not hierarchy.children(name):
                paths.append(path)
        if gap:
            count[0] = len(paths)
        deepest = max(map(len, paths))
        full = [(*path, *[path[-1]] * (deepest - len(path))) for path in paths]
        return cls(
            tuple(names), np.array(first, np.int32), np.array(count, np.int32), np.array(full, np.int32).T.copy()
        )

    def common(self, low: Ints, high: Ints) -> tuple[npt.NDArray[np.intp], Ints]:
        """Depth and node of the lowest common ancestor of each stretch of codes."""
        depth = (self.lineage[:, low] == self.lineage[:, high]).sum(axis=0) - 1
        return depth, self.lineage[depth, low]

    def branch(self, depth: npt.NDArray[np.intp], codes: Ints) -> Ints:
        """Where the child begins that holds each code, of its ancestor at this depth."""
        return self.first[self.lineage[np.minimum(depth + 1, len(self.lineage) - 1), codes]]


def _walk(
    hierarchy: Hierarchy, name: str, above: tuple[int, ...], names: list[str]
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Every node, parents first, with the numbers of the nodes from the root down to it."""
    path = (*above, len(names))
    names.append(name)
    yield name, path
    for child in hierarchy.children(name):
        yield from _walk(hierarchy, child, path, names)


@dataclass(frozen=True, eq=False)
class Axis:
    """One quasi-identifier. Codes stand in the order in which cuts are made."""

    kind: Literal["number", "date", "run", "set", "tree"]
    raws: tuple[Raw, ...]  # [code]
    gap: int  # 1 when code 0 stands for a missing cell, else 0
    tree: Tree | None = None

    @classmethod
    def of(cls, column: Column, reading: Reading) -> Axis:
        gap = int(MISSING in reading.domain[:1])
        if column.kind == "number" or column.kind == "date":
            return cls(column.kind, reading.domain, gap)
        if column.kind == "category" and column.hierarchy is not None:
            leaves = column.hierarchy.leaves(column.hierarchy.root)
            raws = (*reading.domain[:gap], *(reading.raw(leaf) for leaf in leaves))
            return cls("tree", raws, gap, Tree.of(column.hierarchy, gap))
        ordered = column.kind == "ordered" or bool(column.order)
        return cls("run" if ordered else "set", reading.domain, gap)

    def places(self, present: Flags) -> Floats:
        """Where each code lies on the axis's scale, given the codes that are present.  # [code]"""
        if self.kind == "set":
            return np.cumsum(present).astype(np.float64)
        if self.kind in ("run", "tree"):
            return np.arange(len(self.raws), dtype=np.float64)
        scale = [0.0] * self.gap + [_number(raw) for raw in self.raws[self.gap :]]
        return np.array(scale) / 2  # the range of the largest floats is no float; half of it is


def _number(raw: Raw) -> float:
    return float(raw.first if isinstance(raw, Span) else raw)


@dataclass(frozen=True, eq=False)
class Axes:
    """All quasi-identifiers of D with every record's codes; what does not depend on which rows are given."""

    each: tuple[Axis, ...]
    gaps: Ints  # [axis]
    trees: Flags  # [axis], is there a hierarchy
    codes: Ints  # [axis, record]
    secrets: Longs  # [record], the joint sensitive values that occur, counted from 0
    values: int  # how many of them there are

    @property
    def box(self) -> tuple[Ints, Ints]:
        """All codes: where each axis begins, and where it ends."""
        right = np.array([len(axis.raws) for axis in self.each], dtype=np.int32)
        return np.zeros_like(right), right

    @classmethod
    def of(cls, data: Dataset) -> Axes:
        quasi = zip(data.schema.quasi, data.readings, strict=False)
        each = tuple(Axis.of(column, reading) for column, reading in quasi)
        codes = np.stack([_recoded(axis, data, number) for number, axis in enumerate(each)])
        secrets = joint_ranks(data.codes[len(each) :])
        gaps = np.array([axis.gap for axis in each], dtype=np.int32)
        trees = np.array([axis.tree is not None for axis in each])
        return cls(each, gaps, trees, codes, secrets, int(secrets.max(initial=-1)) + 1)


def joint_ranks(columns: Sequence[Ints]) -> Longs:
    """The rank of each row's combination of codes among those that occur; there may be too many to count them all."""
    ranks = np.zeros(len(columns[0]), dtype=np.int64)
    for codes in columns:
        ranks = np.unique(ranks * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)[1].reshape(-1)
    return ranks


def _recoded(axis: Axis, data: Dataset, number: int) -> Ints:
    """The column's codes; a hierarchy's leaves may stand in another order than the declared one."""
    domain = data.readings[number].domain
    if axis.raws == domain:
        return data.codes[number]
    place = {raw: code for code, raw in enumerate(axis.raws)}
    return np.array([place[raw] for raw in domain], dtype=np.int32)[data.codes[number]]


@dataclass(frozen=True, eq=False)
class Scales:
    """Where the codes of all axes lie, one axis behind the other."""

    axes: tuple[Axis, ...]
    places: Floats
    offsets: Longs  # [axis], where each axis begins

    def reach(self, low: Ints, high: Ints) -> Floats:
        """How far each stretch of codes reaches, in the units of its axis.  # [node, axis]"""
        far: Floats = self.places[self.offsets + high] - self.places[self.offsets + low]
        for number, axis in enumerate(self.axes):
            if axis.tree is not None:
                _, node = axis.tree.common(low[:, number], high[:, number])
                leaves = axis.tree.count[node]
                far[:, number] = np.where(leaves > 1, leaves, 0)
        return far


@dataclass(frozen=True, eq=False)
class Ground:
    """The axes measured against the rows that were given: all that a cut may depend on."""

    axes: Axes
    rows: Longs  # the records given
    present: tuple[Flags, ...]  # per axis, which codes occur
    scales: Scales
    totals: Floats  # [axis], how far all rows together reach
    shares: Longs  # [secret], how often each occurs

    @classmethod
    def of(cls, axes: Axes, rows: Longs) -> Ground:
        columns = zip(axes.each, axes.codes.take(rows, axis=1), strict=True)
        present = tuple(np.bincount(codes, minlength=len(axis.raws)) > 0 for axis, codes in columns)
        places = [axis.places(here) for axis, here in zip(axes.each, present, strict=True)]
        offsets = np.cumsum([0, *map(len, places[:-1])])
        scales = Scales(axes.each, np.concatenate(places), offsets)
        totals = scales.reach(*_ends(axes, present))[0]
        shares = np.bincount(axes.secrets[rows], minlength=axes.values)
        return cls(axes, rows, present, scales, totals, shares)

    def widths(self, low: Ints, high: Ints) -> Floats:
        """How wide each stretch of codes is, relative to all rows; one is as wide as the table.  # [node, axis]

        A missing cell among others is released as `*`, so such a stretch counts as the whole axis.
        """
        gaps = self.axes.gaps
        reach = self.scales.reach(np.maximum(low, gaps), np.maximum(high, gaps))
        width = np.divide(reach, self.totals, out=np.zeros_like(reach), where=self.totals > 0)
        return np.where((low < gaps) & (high >= gaps), 1.0, width) if gaps.any() else width

    @cached_property
    def unique_extremes(self) -> frozenset[tuple[int, int]]:
        """(axis, code) held by one row whose absence would change the totals, or the ranks of a plain category."""
        extremes: set[tuple[int, int]] = set()
        low, high = _ends(self.axes, self.present)
        for number, axis in enumerate(self.axes.each):
            counts = np.bincount(self.axes.codes[number, self.rows], minlength=len(axis.raws))
            lone = np.flatnonzero(counts == 1).tolist()
            ends = (int(low[0, number]), int(high[0, number]))
            extremes.update((number, code) for code in lone if axis.kind == "set" or code in ends)
        return frozenset(extremes)


def _ends(axes: Axes, present: tuple[Flags, ...]) -> tuple[Ints, Ints]:
    """The lowest and the highest code of each axis among all rows, missing cells aside.  # each [1, axis]"""
    ends = []
    for axis, here in zip(axes.each, present, strict=True):
        codes = np.flatnonzero(here)
        codes = codes[codes >= axis.gap] if codes[-1] >= axis.gap else codes
        ends.append((codes[0], codes[-1]))
    low, high = np.array(ends, dtype=np.int32).T[:, None, :]
    return low, high
