"""Divergences that are sums of W₁ over coordinates: v2's distance, its half and quarter, and EMD along a tree.

d = scale · Σₑ W₁(law of (T p)ₑ, law of (T p⁻)ₑ). T is the identity for v2's sum over sensitive values. The earth
mover's distance over a tree of values is of the same kind: to move a prediction into another, the confidence below
each edge must change by the difference of what the two have below it, so EMD = Σ over edges of length · |mass below
in p − mass below in q|. A line of values (an order, numbers) is a tree too. All of them share one estimate and one
set of bounds, and prove both ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from harness.measuring import bounds
from harness.measuring.divergence.interface import Proof
from harness.measuring.samples import Coordinates, Floats, Samples, pair_lengths, same_draws, same_values, wasserstein
from harness.vocabulary.hierarchy import Hierarchy


@dataclass(frozen=True)
class Tree:
    """Values at the nodes of a tree whose edges have lengths; the transform T of the earth mover's distance over it.

    Nodes are numbered so that children come before their parents, and the root last.
    """

    parents: tuple[int, ...]  # of every node but the root
    lengths: tuple[float, ...]  # of the edge from every node but the root to its parent
    places: tuple[int, ...]  # the node of each value

    @classmethod
    def of_positions(cls, positions: Sequence[float]) -> Tree:
        """Values on a line."""
        order = np.argsort(positions, kind="stable")
        steps = np.diff(np.asarray(positions, dtype=np.float64)[order])
        places = np.argsort(order, kind="stable")
        return cls(tuple(range(1, len(order))), tuple(steps.tolist()), tuple(places.tolist()))

    @classmethod
    def of_hierarchy(cls, hierarchy: Hierarchy, values: Sequence[str]) -> Tree:
        """Values at any nodes of a hierarchy, inner ones too, with edges of length 1 (v1, Figure 2).

        Only the part that joins the values is kept; a node without a value and with one child becomes part of an edge.
        """
        top = hierarchy.lowest_common_ancestor(values)
        paths = [hierarchy.path(value) for value in values]
        parents = {child: parent for path in paths for child, parent in _below(path, top)}
        children = Counter(parents.values())
        ends = {top, *values}
        kept = [node for node in [*parents, top] if node in ends or children[node] > 1]
        deepest_first = sorted(kept, key=lambda node: -len(hierarchy.path(node)))  # stable, hence the same everywhere
        numbers = {node: number for number, node in enumerate(deepest_first)}
        edges = [_up_to(node, parents, numbers) for node in deepest_first[:-1]]
        return cls(
            tuple(numbers[parent] for parent, _ in edges),
            tuple(length for _, length in edges),
            tuple(numbers[value] for value in values),
        )

    def __call__(self, confidences: Floats) -> Floats:
        """The mass below each edge, times the edge's length.  # [n, draws] -> [edges, draws]"""
        masses = np.zeros((len(self.parents) + 1, confidences.shape[1]))
        masses[list(self.places)] = confidences
        for node, parent in enumerate(self.parents):
            masses[parent] += masses[node]
        weighted: Floats = masses[:-1] * np.array(self.lengths)[:, None]
        return weighted

    @cached_property
    def diameter(self) -> float:
        """The longest path between two values, which is the largest earth mover's distance."""
        deepest = np.full(len(self.parents) + 1, -np.inf)  # the longest way down from a node to a value
        deepest[list(self.places)] = 0.0
        longest = 0.0
        for node, (parent, length) in enumerate(zip(self.parents, self.lengths, strict=True)):
            longest = max(longest, float(deepest[parent] + length + deepest[node]))
            deepest[parent] = max(deepest[parent], length + deepest[node])
        return longest


def _below(path: Sequence[str], top: str) -> list[tuple[str, str]]:
    """The edges of a path to the root that lie below `top`."""
    return list(pairwise(path[: path.index(top) + 1]))


def _up_to(node: str, parents: Mapping[str, str], kept: Container[str]) -> tuple[str, float]:
    """The nearest kept node above, and how many edges away it is."""
    above, length = parents[node], 1.0
    while above not in kept:
        above, length = parents[above], length + 1.0
    return above, length


@dataclass(frozen=True)
class SumOfDistances:
    """scale · Σₑ W₁ over the coordinates that `tree` makes of the predictions, or over the confidences themselves."""

    name: str
    describes: str
    scale: float = 1.0
    tree: Tree | None = None
    ground: Mapping[str, Any] = field(default_factory=dict, compare=False)  # what `tree` was made of, as plain data

    proves: Proof = field(default="both", init=False)

    @property
    def span(self) -> float:
        """The largest Σₑ of two predictions, before `scale`."""
        return bounds.SIMPLEX_SPAN if self.tree is None else self.tree.diameter

    @property
    def largest(self) -> float:
        """The distance of two certain predictions of the values that lie farthest apart."""
        return self.scale * self.span

    def between(self, p: Floats, q: Floats) -> float:
        """The distance of two points of the simplex."""
        if self.tree is None:
            return float(np.abs(np.asarray(p) - np.asarray(q)).sum()) * self.scale
        return float(self.per_value(Samples(np.atleast_2d(p)), Samples(np.atleast_2d(q))).sum())

    def coordinates(self, samples: Samples) -> Coordinates:
        """What the laws are taken of."""
        return samples.coordinates if self.tree is None else samples.under(self.tree)

    def paired(self, x: Samples, y: Samples) -> Floats:
        """scale · ‖T xₖ − T yₖ‖₁ of each pair of draws.  # [draws]"""
        x, y = same_draws(x, y)
        return pair_lengths(self.coordinates(x), self.coordinates(y), self.span) * self.scale

    def per_value(self, x: Samples, y: Samples) -> Floats:
        """W₁ of each value, or of each edge of the tree.  # [coordinates]"""
        x, y = same_values(x, y)
        return wasserstein(self.coordinates(x), self.coordinates(y)) * self.scale

    def upper(self, x: Samples, y: Samples, plug_in: float, alpha: float, *, coupled: bool) -> float:
        """An upper limit of the distance at level alpha."""
        left, right, estimate = self.coordinates(x), self.coordinates(y), plug_in / self.scale
        return bounds.upper(left, right, estimate, alpha, coupled=coupled, span=self.span) * self.scale

    def interval(
        self, x: Samples, y: Samples, plug_in: float, alpha: float, *, coupled: bool, lower_from: float
    ) -> tuple[float, float]:
        """Limits of the distance, half of alpha for either end."""
        high = self.upper(x, y, plug_in, alpha / 2, coupled=coupled)
        if plug_in < lower_from:
            return 0.0, high
        low = bounds.lower(self.coordinates(x), self.coordinates(y), alpha / 2, span=self.span) * self.scale
        return min(low, high), high

    def spec(self) -> dict[str, Any]:
        """The name, the scale, and the ground distance if there is one."""
        ground = {"ground": dict(self.ground)} if self.ground else {}
        return {"name": self.name, "scale": self.scale, **ground}
