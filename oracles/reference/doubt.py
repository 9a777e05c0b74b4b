"""Which rows of a node that Mondrian cut, or left as a class, may change that by their absence.

A row is certain if without it the node would rank its axes alike, try the same cuts of them, and hear the same of the
rule: then the node stays cut as it is. Everything else is doubtful, also where a closer look would find no change.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from oracles.reference.axes import Flags, Ground, Ints, Longs
from oracles.reference.cuts import (
    Nodes,
    Rule,
    View,
    candidates,
    medians,
    part_labels,
    parts_of,
    secret_counts,
    sorted_view,
)


def doubtful_rows(ground: Ground, rule: Rule, rows: Longs, node: Nodes, tried: int) -> Flags:
    """Whether the node might be cut otherwise without each of its rows; it tried so many axes.  # [row]"""
    codes, secrets = ground.axes.codes[:, rows], ground.axes.secrets[rows]
    doubtful = _holds_an_end_alone(codes, node)
    for tries in range(tried):
        here = replace(node, start=np.array([0]), tries=np.array([tries]))
        view = sorted_view(ground, rows.copy(), here)
        doubtful |= _doubted(ground, rule, view, part_labels(ground, view, here), codes[view.axis[0]], secrets)
    return doubtful


def _holds_an_end_alone(codes: Ints, node: Nodes) -> Flags:
    """The rows that alone hold the lowest or highest code of the node on some axis: widths depend on these."""
    ends = np.concatenate([node.low, node.high]).T
    holds = codes[:, None, :] == ends[:, :, None]  # [axis, end, row]
    lone = np.count_nonzero(holds, axis=2) == 1
    alone: Flags = (holds & lone[:, :, None]).any(axis=(0, 1))
    return alone


def _doubted(ground: Ground, rule: Rule, view: View, labels: Ints, codes: Ints, secrets: Longs) -> Flags:
    """One axis that the node tried: whether its candidates, or what the rule says of them, may change."""
    is_tree = bool(ground.axes.trees[view.axis[0]])
    doubtful = np.zeros(len(codes), dtype=bool) if is_tree else _moves_candidates(view, codes)
    for cuts in candidates(ground, view, labels):
        if not len(cuts):
            continue
        if not is_tree:
            doubtful |= _stands_alone_beside(view, int(cuts[0]), codes)
        stays, allowed = _rule_stays(ground, rule, view, labels, cuts, codes, secrets)
        doubtful |= ~stays
        if allowed:
            break
    return doubtful


def _moves_candidates(view: View, codes: Ints) -> Flags:
    """Does the median leave its value without the row, or is the other side of its ties nearer?"""
    middle, below, above = (int(where[0]) for where in medians(view))
    median = view.codes[middle]
    size, fewer_below, fewer_above = len(codes) - 1, below - (codes < median), above - (codes <= median)
    new = size // 2
    inside = (fewer_below <= new) & (new < fewer_above)
    straddled = (fewer_below < new) == (below < middle)
    nearer = (new - fewer_below <= fewer_above - new) == (middle - below <= above - middle)
    moves: Flags = ~(inside & straddled & nearer)
    return moves


def _stands_alone_beside(view: View, cut: int, codes: Ints) -> Flags:
    """The rows that alone hold the value on one side of the cut: without it the cut is at another value."""
    lone = np.zeros(len(codes), dtype=bool)
    for code in view.codes[cut - 1 : cut + 1]:
        holds = codes == code
        if np.count_nonzero(holds) == 1:
            lone |= holds
    return lone


def _rule_stays(
    ground: Ground, rule: Rule, view: View, labels: Ints, cuts: Longs, codes: Ints, secrets: Longs
) -> tuple[Flags, bool]:
    """Whether the rule certainly says the same of these cuts without each row, and whether it allows them now."""
    parts = parts_of(view, cuts)
    counts = secret_counts(ground, view, parts.start, parts.size)
    good = rule.allows(counts, parts.size, ground.shares)
    tops = counts.max(axis=1)
    modes = np.where(np.count_nonzero(counts == tops[:, None], axis=1) == 1, counts.argmax(axis=1), -1)
    part = np.searchsorted(labels[cuts], codes, side="right")
    size, top = parts.size[part] - 1, tops[part] - (modes[part] == secrets)
    distinct = np.count_nonzero(counts, axis=1)[part]  # or one less, if the row was the last of its sensitive value
    same = (rule.suits(size, top, distinct - 1) == good[part]) & (rule.suits(size, top, distinct) == good[part])
    fails_elsewhere = np.count_nonzero(~good) > ~good[part]
    return (size > 0) & (same | fails_elsewhere), bool(good.all())
