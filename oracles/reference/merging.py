"""Greedy k-anonymization (Proportional Representation, Algorithm 1): merge the smallest class until none is too small.

    rows with equal quasi-identifiers are a class to begin with
    while a class has fewer than k rows
        take a smallest class; of several the one with the lowest row
        merge it with the class for which the cost of the table grows least; of several the one with the lowest row
        a class that thereby became equal to another is joined with it

The cost of a table is the sum over rows and columns of (leaves(v) - 1) / (leaves(root) - 1), the Normalized Lost Leaves
Metric. Costs are counted in whole numbers, multiples of one common denominator, so that ties are exact; only where
64 bits do not hold them are they rounded.

Each merge compares the smallest class with all others at once: quadratic in the number of different rows, with numpy
in the inner loop. Knows columns of nodes, not what they are called.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from oracles.reference.generalising import GeneralisedColumn, Longs

Costs = npt.NDArray[Any]  # whole numbers, or floats where 64 bits do not hold them
LARGEST = 2**62


@dataclass(frozen=True, eq=False)
class Partition:
    """What the algorithm ends with."""

    classes: Longs  # [row], the class of each row that was given
    nodes: Longs  # [column, class]


def merged_classes(columns: Sequence[GeneralisedColumn], rows: Longs, k: int) -> Partition:
    """The classes of these records, each of at least k of them; there must be that many."""
    merging = _Merging(columns, rows)
    small = [(size, first) for size, first in zip(merging.sizes, merging.firsts, strict=True) if size < k]
    heapq.heapify(small)  # by size, then lowest row; an entry is void once its class has grown
    while small:
        size, first = heapq.heappop(small)
        place = merging.places.get(first)
        if place is None or merging.sizes[place] != size:
            continue
        grown, lowest = merging.merge(place)
        if grown < k:
            heapq.heappush(small, (grown, lowest))
    return merging.partition()


class _Merging:
    """The classes as they are, in slots 0 to count - 1; a class is known by its lowest row."""

    def __init__(self, columns: Sequence[GeneralisedColumn], rows: Longs) -> None:
        self.columns = columns
        self.weights = _weights(columns, len(rows))
        codes = np.stack([column.codes[rows] for column in columns])
        distinct, firsts, self.start, sizes = np.unique(
            codes, axis=1, return_index=True, return_inverse=True, return_counts=True
        )
        self.start = self.start.reshape(-1)  # [row], its first slot
        self.nodes, self.firsts, self.sizes = distinct, firsts.copy(), sizes.copy()
        self.costs: Costs = np.zeros(len(sizes), dtype=self.weights.dtype)  # of one row of each class
        self.count = len(sizes)
        self.places = {int(first): place for place, first in enumerate(self.firsts)}
        self.by_nodes = {tuple(nodes): int(first) for nodes, first in zip(distinct.T.tolist(), firsts, strict=True)}
        self.members = {int(first): [int(first)] for first in firsts}  # the first classes that each is made of

    def merge(self, place: int) -> tuple[int, int]:
        """Merge the class in this slot with its best partner; the size and the lowest row of what they become."""
        partner, cost = self._partner(place)
        pairs = zip(self.columns, self.nodes[:, place].tolist(), self.nodes[:, partner].tolist(), strict=True)
        nodes = tuple(column.merged(one, other) for column, one, other in pairs)
        firsts = {int(self.firsts[place]), int(self.firsts[partner])}
        equal = self.by_nodes.get(nodes)
        if equal is not None:
            firsts.add(equal)
        size = sum(self._remove(first) for first in firsts)
        lowest = min(firsts)
        self._add(lowest, size, nodes, cost, [one for first in firsts for one in self.members.pop(first)])
        return size, lowest

    def _partner(self, place: int) -> tuple[int, int | float]:
        """The slot whose class makes the cost of the table grow least, and the cost of a row of both together."""
        alive = slice(0, self.count)
        together: Costs = np.zeros(self.count, dtype=self.weights.dtype)
        for column, weight, nodes in zip(self.columns, self.weights, self.nodes, strict=True):
            together += (column.merged_leaves(int(nodes[place]), nodes[alive]) - 1) * weight
        sizes = self.sizes[alive]
        growth = together * (sizes + sizes[place]) - self.costs[alive] * sizes - self.costs[place] * sizes[place]
        growth[place] = growth.max() + 1
        best = np.flatnonzero(growth == growth.min())
        partner = int(best[np.argmin(self.firsts[best])])
        return partner, together[partner]

    def _remove(self, first: int) -> int:
        """Take a class out; the class of the last slot moves into its slot."""
        place, last = self.places.pop(first), self.count - 1
        size = int(self.sizes[place])
        del self.by_nodes[tuple(self.nodes[:, place].tolist())]
        if place != last:
            self.places[int(self.firsts[last])] = place
            for array in (self.sizes, self.firsts, self.costs):
                array[place] = array[last]
            self.nodes[:, place] = self.nodes[:, last]
        self.count = last
        return size

    def _add(self, first: int, size: int, nodes: tuple[int, ...], cost: int | float, members: list[int]) -> None:
        place = self.count
        self.nodes[:, place] = nodes
        self.sizes[place], self.firsts[place], self.costs[place] = size, first, cost
        self.places[first], self.by_nodes[nodes], self.members[first] = place, first, members
        self.count += 1

    def partition(self) -> Partition:
        """Each row's class, in the order of the slots."""
        slots = {member: self.places[first] for first, members in self.members.items() for member in members}
        firsts = np.unique(self.start, return_index=True)[1]
        return Partition(np.array([slots[int(first)] for first in firsts])[self.start], self.nodes[:, : self.count])


def _weights(columns: Sequence[GeneralisedColumn], rows: int) -> Costs:
    """What a lost leaf of each column costs, as a multiple of 1 / the common denominator.  # [column]"""
    divisors = [max(column.total - 1, 1) for column in columns]
    common = math.lcm(*divisors)
    if common * len(columns) * max(rows, 1) < LARGEST:
        return np.array([common // divisor for divisor in divisors], dtype=np.int64)
    return np.array([1 / divisor for divisor in divisors])
