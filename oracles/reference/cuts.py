"""Strict median cuts of all nodes at once: Mondrian's kernel. Knows codes and a rule, no cells and no oracle.

A node is a set of rows: a stretch of one array of rows. In every round each open node tries one axis, its
widest untried one, and all of them are sorted, cut and judged together. A node that could be cut is replaced
by its parts, the others try their next axis in the next round.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from oracles.reference.axes import Flags, Ground, Ints, Longs

Diversity = Literal["probability", "distinct"]
MOST_COUNTS = 1 << 21  # (part, sensitive value) pairs counted at once


@dataclass(frozen=True)
class Rule:
    """What every class must satisfy: k-anonymity, ℓ-diversity, t-closeness with equal ground distance."""

    k: int
    l: int | None = None  # noqa: E741
    diversity: Diversity = "probability"
    t: float | None = None

    @property
    def least(self) -> int:
        """The fewest rows a class can have: ℓ different values take ℓ rows."""
        return max(self.k, self.l or 1)

    @property
    def looks_at_secrets(self) -> bool:
        return self.l is not None or self.t is not None

    def allows(self, counts: Longs, sizes: Longs, shares: Longs) -> Flags:
        """Which parts, given as counts of their sensitive values, may be classes.  # counts [part, secret]"""
        good: Flags = self.suits(sizes, counts.max(axis=1), np.count_nonzero(counts, axis=1))
        if self.t is not None:
            # ½Σ|cᵥ/size − Cᵥ/N| ≤ t with its fractions cleared: whole numbers do not round
            everyone = shares.sum()
            drift = np.abs(counts * everyone - shares * sizes[:, None]).sum(axis=1)
            good &= drift <= 2 * self.t * everyone * sizes
        return good

    def suits(self, size: Any, top: Any, distinct: Any) -> Any:
        """k and ℓ, for parts of this size, with so many rows of the most frequent of so many sensitive values."""
        if self.l is None:
            return size >= self.k
        diverse = self.l * top <= size if self.diversity == "probability" else distinct >= self.l
        return (size >= self.k) & diverse


@dataclass(frozen=True, eq=False)
class Nodes:
    """Several nodes: where each lies in the array of rows, its codes and its box.  # 2-D: [node, axis]"""

    start: Longs
    size: Longs
    low: Ints  # the lowest code of its rows, per axis
    high: Ints
    left: Ints  # its box of cuts: left ≤ code < right
    right: Ints
    ranking: npt.NDArray[np.intp]  # axes, the widest first
    cuttable: Longs  # how many of these have any width
    tries: Longs  # how many were tried in vain

    def taking(self, which: npt.NDArray[Any] | slice) -> Nodes:
        return Nodes(*(getattr(self, field.name)[which] for field in fields(self)))

    @staticmethod
    def joined(several: list[Nodes]) -> Nodes:
        if len(several) == 1:
            return several[0]
        return Nodes(*(np.concatenate([getattr(nodes, f.name) for nodes in several]) for f in fields(Nodes)))


class View(NamedTuple):
    """The rows of all open nodes, in each node sorted by the axis it tries. Positions count these rows."""

    axis: npt.NDArray[np.intp]  # [node]
    first: Longs  # [node], its first position
    last: Longs  # [node], its last position + 1
    owner: Longs  # [position], the node
    rows: Longs  # [position]
    codes: Ints  # [position], on the node's axis


class Parts(NamedTuple):
    """Candidate parts of some nodes, as stretches of a view."""

    owner: Longs
    start: Longs
    size: Longs
    head: npt.NDArray[np.intp]  # where each node's parts begin


def partition(
    ground: Ground, rule: Rule, rows: Longs, nodes: Nodes, history: list[Nodes] | None = None
) -> tuple[Longs, Nodes]:
    """The rows in the order of their classes, and the classes, of nodes that may have rows in common.

    `history` collects the nodes that were cut, each with the number of axes it had tried in vain.
    """
    rows = rows.copy()
    classes = []
    while True:
        ready = (nodes.size >= 2 * rule.least) & (nodes.tries < nodes.cuttable)
        classes.append(nodes.taking(~ready))
        if not ready.any():
            done = Nodes.joined(classes)
            return rows, done.taking(np.argsort(done.start))
        nodes = _next_round(ground, rule, rows, nodes.taking(ready), history)


def equal_nodes(ground: Ground, rows: Longs, size: int, left: Ints, right: Ints) -> Nodes:
    """The rows as nodes of this size in the same box, one behind the other."""
    start = np.arange(0, len(rows), size)
    boxes = (np.repeat(side[None, :], len(start), axis=0) for side in (left, right))
    return _measured(ground, rows, start, np.full_like(start, size), *boxes)


def _measured(ground: Ground, rows: Longs, start: Longs, size: Longs, left: Ints, right: Ints) -> Nodes:
    """Nodes with the extremes of their rows, and their axes ranked by width, ties to the first declared."""
    first = np.cumsum(size) - size
    codes = ground.axes.codes.take(rows[_stretches(start, first, size)], axis=1)
    low = np.minimum.reduceat(codes, first, axis=1).T
    high = np.maximum.reduceat(codes, first, axis=1).T
    widths = ground.widths(low, high)
    ranking = np.argsort(-widths, axis=1, kind="stable")
    return Nodes(start, size, low, high, left, right, ranking, np.count_nonzero(widths, axis=1), np.zeros_like(start))


def _stretches(start: Longs, first: Longs, size: Longs) -> Longs:
    """start, start + 1, … for each of several stretches of these sizes, one behind the other."""
    return np.arange(size.sum()) + np.repeat(start - first, size)


def _next_round(ground: Ground, rule: Rule, rows: Longs, nodes: Nodes, history: list[Nodes] | None) -> Nodes:
    """The parts of every node that its next axis can cut, and the other nodes, one axis poorer."""
    view = sorted_view(ground, rows, nodes)
    labels = part_labels(ground, view, nodes)
    cuts = _allowed_cuts(ground, rule, view, labels)
    cut = np.zeros(len(nodes.start), dtype=bool)
    cut[view.owner[cuts]] = True
    if history is not None:
        history.append(nodes.taking(cut))
    rest = nodes.taking(~cut)
    rest = replace(rest, tries=rest.tries + 1)
    if not len(cuts):
        return rest
    return Nodes.joined([_children(ground, rows, nodes, view, labels, cuts), rest])


def sorted_view(ground: Ground, rows: Longs, nodes: Nodes) -> View:
    """Sorts the rows of each node by its next axis, in place: its parts are then stretches again."""
    count = len(nodes.start)
    last = np.cumsum(nodes.size)
    first = last - nodes.size
    owner = np.repeat(np.arange(count), nodes.size)
    at = _stretches(nodes.start, first, nodes.size)
    mine = rows[at]
    axis = nodes.ranking[np.arange(count), nodes.tries]
    records = ground.axes.codes.shape[1]
    codes = ground.axes.codes.ravel().take((axis * records)[owner] + mine)
    # least significant first; numpy sorts 16 bit keys by radix, several times faster than wider ones
    order = np.argsort(_narrow(codes), kind="stable")
    if count > 1:
        order = order[np.argsort(_narrow(owner[order]), kind="stable")]
    mine = mine[order]
    rows[at] = mine
    return View(axis, first, last, owner, mine, codes[order])


def _narrow(keys: npt.NDArray[np.integer]) -> npt.NDArray[np.integer]:
    return keys.astype(np.min_scalar_type(int(keys.max())))


def part_labels(ground: Ground, view: View, nodes: Nodes) -> Ints:
    """The code at which a part would begin here: the row's own, on a hierarchy the child's first leaf."""
    labels = view.codes
    for number, axis in enumerate(ground.axes.each):
        mine = np.flatnonzero(view.axis == number)
        if axis.tree is None or not len(mine):
            continue
        depth = np.zeros(len(view.axis), dtype=np.intp)
        depth[mine] = axis.tree.common(nodes.low[mine, number], nodes.high[mine, number])[0]
        here = np.flatnonzero((view.axis == number)[view.owner])
        labels = labels.copy() if labels is view.codes else labels
        labels[here] = axis.tree.branch(depth[view.owner[here]], view.codes[here])
    return labels


def _allowed_cuts(ground: Ground, rule: Rule, view: View, labels: Ints) -> Longs:
    """The positions at which nodes are cut; of a node's candidates the first that the rule allows."""
    first, second = candidates(ground, view, labels)
    chosen = first[_allowed(ground, rule, view, first)]
    settled = np.zeros(len(view.first), dtype=bool)
    settled[view.owner[chosen]] = True
    second = second[~settled[view.owner[second]]]
    second = second[_allowed(ground, rule, view, second)]
    return np.sort(np.concatenate([chosen, second])) if len(second) else chosen


def candidates(ground: Ground, view: View, labels: Ints) -> tuple[Longs, Longs]:
    """The cuts to try first, and those to try where the first are not allowed; all lie inside their nodes.

    On a hierarchy a node falls into the children of its lowest common ancestor, or not at all. Elsewhere it is
    cut at the median; where equal values straddle it, on the nearer side of them, else on the other.
    """
    trees = ground.axes.trees[view.axis]
    middle, below, above = medians(view)
    straddled = below < middle
    lower = ~straddled | (middle - below <= above - middle)
    first, second = np.where(lower, below, above), np.where(lower, above, below)
    first = first[~trees & (first > view.first) & (first < view.last)]
    second = second[~trees & straddled & (second > view.first) & (second < view.last)]
    if trees.any():
        edge = (labels[1:] != labels[:-1]) & (view.owner[1:] == view.owner[:-1]) & trees[view.owner[1:]]
        first = np.sort(np.concatenate([first, np.flatnonzero(edge) + 1]))
    return first, second


def medians(view: View) -> tuple[Longs, Longs, Longs]:
    """Each node's middle position, where the value there begins, and where the next one does."""
    middle = view.first + (view.last - view.first) // 2
    key = view.owner * (int(view.codes.max()) + 1) + view.codes
    return middle, np.searchsorted(key, key[middle], "left"), np.searchsorted(key, key[middle], "right")


def parts_of(view: View, cuts: Longs) -> Parts:
    """What the cuts (sorted positions) make of the nodes they lie in."""
    nodes = view.owner[cuts]
    nodes = nodes[_heads(nodes)]
    start = np.sort(np.concatenate([view.first[nodes], cuts]))
    end = np.sort(np.concatenate([cuts, view.last[nodes]]))
    owner = view.owner[start]
    return Parts(owner, start, end - start, _heads(owner))


def _heads(owner: Longs) -> npt.NDArray[np.intp]:
    """Where each owner's entries begin."""
    new = np.ones(len(owner), dtype=bool)
    np.not_equal(owner[1:], owner[:-1], out=new[1:])
    return np.flatnonzero(new)


def _allowed(ground: Ground, rule: Rule, view: View, cuts: Longs) -> Flags:
    """Which cuts belong to a node whose every part the rule allows.  # [cut]"""
    if not len(cuts):
        return np.zeros(0, dtype=bool)
    parts = parts_of(view, cuts)
    good = parts.size >= rule.least
    fine = np.zeros(len(view.first), dtype=bool)
    fine[parts.owner[parts.head]] = np.logical_and.reduceat(good, parts.head)
    if rule.looks_at_secrets and fine.any():
        which = np.flatnonzero(fine[parts.owner])
        bad = which[~_judged(ground, rule, view, parts.start[which], parts.size[which])]
        fine[parts.owner[bad]] = False
    return fine[view.owner[cuts]]


def _judged(ground: Ground, rule: Rule, view: View, start: Longs, size: Longs) -> Flags:
    """Which parts the rule allows, by their sensitive values.  # [part]"""
    step = max(1, MOST_COUNTS // ground.axes.values)
    good = []
    for chunk in range(0, len(start), step):
        some = slice(chunk, chunk + step)
        counts = secret_counts(ground, view, start[some], size[some])
        good.append(rule.allows(counts, size[some], ground.shares))
    return np.concatenate(good)


def secret_counts(ground: Ground, view: View, start: Longs, size: Longs) -> Longs:
    """How often each sensitive value occurs in each part.  # [part, secret]"""
    values = ground.axes.values
    rows = view.rows[_stretches(start, np.cumsum(size) - size, size)]
    part = np.repeat(np.arange(len(start)) * values, size)
    return np.bincount(part + ground.axes.secrets[rows], minlength=len(start) * values).reshape(-1, values)


def _children(ground: Ground, rows: Longs, nodes: Nodes, view: View, labels: Ints, cuts: Longs) -> Nodes:
    """The parts as nodes of their own, each with its share of its parent's box."""
    parts = parts_of(view, cuts)
    start = nodes.start[parts.owner] + parts.start - view.first[parts.owner]
    left, right = nodes.left[parts.owner], nodes.right[parts.owner]
    lower = np.ones(len(start), dtype=bool)
    lower[parts.head] = False
    inner = np.flatnonzero(lower)  # every part but its node's first begins at a cut
    axis = view.axis[parts.owner[inner]]
    gaps = ground.axes.gaps[axis]
    at = parts.start[inner]
    # a lower part of missing cells only: the cut lies between them and every value there may be
    edge = np.where(view.codes[at - 1] < gaps, gaps, labels[at])
    left[inner, axis] = edge
    right[inner - 1, axis] = edge
    return _measured(ground, rows, start, parts.size, left, right)
