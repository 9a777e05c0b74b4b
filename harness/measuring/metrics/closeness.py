"""t-closeness (Li et al. 2007): how far the sensitive values of a class lie from those of everybody, at most.

The distance is the earth mover's between P, the shares of the values in the class, and Q, those of the whole; it
depends on how far apart two values are (the ground distance), which is at most 1:
    equal          all values are equally far apart: 1/2 sum |p_i - q_i|
    ordered        |i - j| / (m - 1) for the i-th and j-th of m values:
                   sum over i < m of |sum over j <= i of (p_j - q_j)| / (m - 1)
    hierarchical   height of the lowest common ancestor / height of the tree; what flows at a node is the lesser of
                   what its children have too much and too little of: sum over nodes height(node)/H min(surplus, lack)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from harness.measuring.metrics.classes import Floats
from harness.vocabulary.hierarchy import Hierarchy


def equal_distances(classes: Floats, whole: Floats) -> Floats:
    """The total variation of each class from the whole.  # [classes]"""
    distances: Floats = np.abs(classes - whole).sum(axis=1) / 2
    return distances


def ordered_distances(classes: Floats, whole: Floats) -> Floats:
    """The earth mover's distance of each class where values stand in their order, one step apart.  # [classes]"""
    steps = classes.shape[1] - 1
    if steps < 1:
        return np.zeros(len(classes))
    distances: Floats = np.abs(np.cumsum(classes - whole, axis=1))[:, :-1].sum(axis=1) / steps
    return distances


def hierarchical_distances(classes: Floats, whole: Floats, values: Sequence[str], hierarchy: Hierarchy) -> Floats:
    """The earth mover's distance of each class where values are as far apart as their common ancestor is high."""
    place = {value: number for number, value in enumerate(values)}
    heights = _heights(hierarchy)
    gaps = classes - whole  # [classes, values]
    extra: dict[str, Floats] = {}  # of each node: how much more of its leaves the class has
    moved = np.zeros(len(classes))
    for node in reversed(hierarchy.subtree(hierarchy.root)):  # children before their parents
        children = hierarchy.children(node)
        if not children:
            extra[node] = gaps[:, place[node]] if node in place else np.zeros(len(classes))
            continue
        below = np.stack([extra[child] for child in children])
        extra[node] = below.sum(axis=0)
        lesser = np.minimum(np.maximum(below, 0).sum(axis=0), np.maximum(-below, 0).sum(axis=0))
        moved += heights[node] / heights[hierarchy.root] * lesser
    return moved


def _heights(hierarchy: Hierarchy) -> Mapping[str, int]:
    """How many steps each node lies above the lowest leaf below it."""
    heights: dict[str, int] = {}
    for node in reversed(hierarchy.subtree(hierarchy.root)):
        heights[node] = max((heights[child] + 1 for child in hierarchy.children(node)), default=0)
    return heights
