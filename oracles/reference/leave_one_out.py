"""Mondrian of D⁻ⁱ from Mondrian of D, where i is one row: only the nodes that held it can change, and few do.

From the root down, a node is left as it is while taking i away certainly changes neither the order of its axes,
nor its cuts, nor what the rule says of them. From the first node where that is not certain, everything is cut
again by the same kernel. So a doubt costs time, never a different release.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from harness.vocabulary.table import Cells
from oracles.reference.axes import Ground, Ints, Longs
from oracles.reference.cells import Printed, Style
from oracles.reference.cuts import (
    Nodes,
    Rule,
    View,
    as_one,
    candidates,
    medians,
    part_labels,
    partition,
    parts_of,
    secret_counts,
    sorted_view,
)

Place = tuple[int, int]  # a node: where it begins in the array of rows, and its size


class Split(NamedTuple):
    """A candidate: where its parts but the first begin, and what the rule looks at in each."""

    edges: list[int]
    sizes: list[int]
    tops: list[int]  # how often the most frequent sensitive value occurs
    modes: list[int]  # which one that is; -1 if several do
    distinct: list[int]
    good: list[bool]

    def stays(self, rule: Rule, code: int, secret: int) -> bool:
        """Whether the rule certainly says the same of this split without a row of this code and sensitive value."""
        part = bisect_right(self.edges, code)
        size, top = self.sizes[part] - 1, self.tops[part] - (self.modes[part] == secret)
        if size == 0:
            return False
        if not all(self.good[:part] + self.good[part + 1 :]):
            return True
        distinct = self.distinct[part]  # or one less, if the row was the last of its sensitive value
        return bool(rule.suits(size, top, distinct - 1) == rule.suits(size, top, distinct) == self.good[part])


class Attempt(NamedTuple):
    """One axis a node tried: its median among ties, and the splits up to the one that was allowed."""

    axis: int
    is_tree: bool
    size: int
    below: int  # rows below the value at the median
    above: int  # rows up to the end of that value
    median: int
    splits: list[Split]

    def stays(self, rule: Rule, code: int, secret: int) -> bool:
        if not self.is_tree and not self._same_candidates(code):
            return False
        return all(split.stays(rule, code, secret) for split in self.splits)

    def _same_candidates(self, code: int) -> bool:
        """Does the median stay on its value, with the same side of its ties nearer?"""
        old = _situation(self.size, self.below, self.above)
        new = _situation(self.size - 1, self.below - (code < self.median), self.above - (code <= self.median))
        return new is not None and old == new


def _situation(size: int, below: int, above: int) -> tuple[bool, bool] | None:
    """Do ties straddle the median, and which side is nearer; None if the median lies elsewhere."""
    middle = size // 2
    if not below <= middle < above:
        return None
    return below < middle, middle - below <= above - middle


@dataclass(frozen=True, eq=False)
class Decision:
    """How a node was cut or why not, and which rows it depends on."""

    fragile: frozenset[tuple[int, int]]  # (axis, code) held by one row, whose absence moves an end or a cut
    attempts: list[Attempt]
    start: int

    def stays(self, rule: Rule, codes: list[int], secret: int) -> bool:
        if any(held in self.fragile for held in enumerate(codes)):
            return False
        return all(attempt.stays(rule, codes[attempt.axis], secret) for attempt in self.attempts)

    def child(self, codes: list[int]) -> Place:
        """The part of a node that was cut which holds these codes."""
        last = self.attempts[-1]
        split = last.splits[-1]
        part = bisect_right(split.edges, codes[last.axis])
        return self.start + sum(split.sizes[:part]), split.sizes[part]


class Outcome(NamedTuple):
    """A release, class by class."""

    rows: Longs  # in the order of the classes
    sizes: Longs  # [class]
    columns: tuple[Cells, ...]  # of the quasi-identifiers; codes [class]


@dataclass(frozen=True, eq=False)
class FullRun:
    """A full run, kept with every node that was cut."""

    ground: Ground
    rule: Rule
    style: Style
    rows: Longs  # in the order of the classes
    classes: Nodes
    nodes: Nodes  # the classes, then the nodes that were cut
    numbers: dict[Place, int]  # of these nodes
    columns: tuple[Printed, ...]
    decisions: dict[int, Decision] = field(default_factory=dict)  # by node, worked out when first needed

    @classmethod
    def of(cls, ground: Ground, rule: Rule, style: Style) -> FullRun:
        history: list[Nodes] = []
        rows, classes = partition(ground, rule, ground.rows, *ground.axes.box, history)
        nodes = Nodes.joined([classes, *history])
        numbers = {place: n for n, place in enumerate(zip(nodes.start.tolist(), nodes.size.tolist(), strict=True))}
        columns = tuple(Printed.of(ground, style, axis, rows, classes) for axis in range(len(ground.axes.each)))
        return cls(ground, rule, style, rows, classes, nodes, numbers, columns)

    def whole(self) -> Outcome:
        return Outcome(self.rows, self.classes.size, tuple(column.cells for column in self.columns))

    def without(self, record: int) -> Outcome | None:
        """The outcome of D⁻ⁱ; None if i's absence changes what widths are measured against, and so everything."""
        axes = self.ground.axes
        codes, secret = axes.codes[:, record].tolist(), int(axes.secrets[record])
        if not self._same_measure(codes, secret):
            return None
        number, certain = self._first_doubt(codes, secret)
        start, size = int(self.nodes.start[number]), int(self.nodes.size[number])
        left, right = self.nodes.left[number], self.nodes.right[number]
        rows = self.rows[start : start + size]
        rows = rows[rows != record]
        if certain:
            classes = as_one(self.ground, rows, left, right)
        else:
            rows, classes = partition(self.ground, self.rule, rows, left, right)
        return self._respliced(start, size, rows, classes)

    def _respliced(self, start: int, size: int, rows: Longs, classes: Nodes) -> Outcome:
        """The outcome with other rows and classes in the place of a node."""
        begin, end = np.searchsorted(self.classes.start, [start, start + size])
        columns = tuple(
            column.respliced(self.ground, self.style, axis, rows, classes, slice(begin, end))
            for axis, column in enumerate(self.columns)
        )
        return Outcome(
            np.concatenate([self.rows[:start], rows, self.rows[start + size :]]),
            np.concatenate([self.classes.size[:begin], classes.size, self.classes.size[end:]]),
            columns,
        )

    def _same_measure(self, codes: list[int], secret: int) -> bool:
        """Do the other rows together reach as far, and are they a class? t is measured against all of them."""
        shares = self.ground.shares.copy()
        shares[secret] -= 1
        if self.rule.t is not None or not self.rule.suits(shares.sum(), shares.max(), np.count_nonzero(shares)):
            return False
        return not any(held in self.ground.unique_extremes for held in enumerate(codes))

    def _first_doubt(self, codes: list[int], secret: int) -> tuple[int, bool]:
        """The first node on the record's path that may change, or its class if that certainly stays one."""
        place = (0, len(self.rows))
        while True:
            number = self.numbers[place]
            decision = self._decision(number)
            if not decision.stays(self.rule, codes, secret):
                return number, False
            if number < len(self.classes.start):
                return number, True
            place = decision.child(codes)

    def _decision(self, number: int) -> Decision:
        if number not in self.decisions:
            node = self.nodes.taking(slice(number, number + 1))
            tried = node.tries + 1 if number >= len(self.classes.start) else node.tries
            self.decisions[number] = _decided(self.ground, self.rule, self.rows, node, int(tried[0]))
        return self.decisions[number]


def _decided(ground: Ground, rule: Rule, rows: Longs, node: Nodes, tried: int) -> Decision:
    """The attempts to cut the node, repeated with the functions of cuts and written down."""
    start, size = int(node.start[0]), int(node.size[0])
    mine = rows[start : start + size].copy()
    codes = ground.axes.codes[:, mine]
    ends = np.concatenate([node.low, node.high]).T
    lone = np.count_nonzero(codes[:, None, :] == ends[:, :, None], axis=2) == 1
    fragile = {(axis, int(ends[axis, end])) for axis, end in np.argwhere(lone).tolist()}
    attempts = []
    for tries in range(tried):
        here = replace(node, start=np.array([0]), tries=np.array([tries]))
        view = sorted_view(ground, mine, here)
        labels = part_labels(ground, view, here)
        attempt = _attempted(ground, rule, view, labels)
        attempts.append(attempt)
        if not attempt.is_tree:
            fragile |= _lone_neighbours(view, attempt)
    return Decision(frozenset(fragile), attempts, start)


def _attempted(ground: Ground, rule: Rule, view: View, labels: Ints) -> Attempt:
    middle, below, above = (int(where[0]) for where in medians(view))
    splits: list[Split] = []
    for cuts in candidates(ground, view, labels):
        if len(cuts) and not (splits and all(splits[-1].good)):
            splits.append(_split(ground, rule, view, labels, cuts))
    axis = int(view.axis[0])
    return Attempt(axis, bool(ground.axes.trees[axis]), len(view.rows), below, above, int(view.codes[middle]), splits)


def _split(ground: Ground, rule: Rule, view: View, labels: Ints, cuts: Longs) -> Split:
    parts = parts_of(view, cuts)
    counts = secret_counts(ground, view, parts.start, parts.size)
    tops = counts.max(axis=1)
    alone = np.count_nonzero(counts == tops[:, None], axis=1) == 1
    figures = (
        parts.size,
        tops,
        np.where(alone, counts.argmax(axis=1), -1),
        np.count_nonzero(counts, axis=1),
        rule.allows(counts, parts.size, ground.shares),
    )
    return Split(labels[cuts].tolist(), *(figure.tolist() for figure in figures))


def _lone_neighbours(view: View, attempt: Attempt) -> set[tuple[int, int]]:
    """Values on either side of a cut that one row holds: without it the cut is at another value."""
    lone = set()
    for split in attempt.splits:
        for at in (split.sizes[0] - 1, split.sizes[0]):
            code = view.codes[at]
            if np.count_nonzero(view.codes == code) == 1:
                lone.add((attempt.axis, int(code)))
    return lone
