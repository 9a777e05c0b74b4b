"""Greedy k-anonymization as Algorithm 1 of Proportional Representation reads, in exact fractions: the second opinion.

Every class is compared with every other at every step. Classes are lists of rows; a class is generalised by asking the
hierarchy for the lowest common ancestor of its leaves. Nothing here is shared with oracles/reference.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import pandas as pd

from harness.vocabulary.hierarchy import Hierarchy

Node = object


@dataclass(frozen=True)
class PlainColumn:
    """How a set of raw values is generalised, and which share of the leaves that loses."""

    generalise: Callable[[Sequence[object]], Node]
    lost: Callable[[Node], Fraction]


def on_hierarchy(hierarchy: Hierarchy) -> PlainColumn:
    total = len(hierarchy.leaves(hierarchy.root))

    def lost(node: Node) -> Fraction:
        return Fraction(len(hierarchy.leaves(str(node))) - 1, total - 1)

    return PlainColumn(lambda values: hierarchy.lowest_common_ancestor([str(value) for value in values]), lost)


def on_numbers(domain: Sequence[float]) -> PlainColumn:
    values = sorted(set(domain))

    def lost(node: Node) -> Fraction:
        assert isinstance(node, tuple)
        inside = sum(node[0] <= value <= node[1] for value in values)
        return Fraction(inside - 1, max(len(values) - 1, 1))

    return PlainColumn(lambda members: (min(members), max(members)), lost)  # type: ignore[type-var]


def on_categories(domain: Sequence[object]) -> PlainColumn:
    single = len(set(domain)) == 1
    return PlainColumn(
        lambda members: members[0] if len(set(members)) == 1 else "*",
        lambda node: Fraction(0) if node != "*" or single else Fraction(1),
    )


def plain_greedy(frame: pd.DataFrame, columns: dict[str, PlainColumn], k: int) -> list[list[int]]:
    """The classes, each a sorted list of rows, in the order of their lowest rows."""
    nodes, cost = _generalising(frame, columns)
    classes = _joined([[row] for row in range(len(frame))], nodes)
    while small := [members for members in classes if len(members) < k]:
        smallest = min(small, key=lambda members: (len(members), members[0]))
        others = [members for members in classes if members is not smallest]
        before = cost(smallest)
        partner = min(others, key=lambda members: (cost(smallest + members) - before - cost(members), members[0]))
        rest = [members for members in others if members is not partner]
        classes = _joined([*rest, sorted(smallest + partner)], nodes)
    return sorted(classes)


def lost_leaves(frame: pd.DataFrame, columns: dict[str, PlainColumn], classes: Sequence[Sequence[int]]) -> Fraction:
    """The cost of a table: of each row and column the share of leaves that its class loses."""
    _, cost = _generalising(frame, columns)
    return sum(map(cost, classes), Fraction(0))


def _generalising(
    frame: pd.DataFrame, columns: dict[str, PlainColumn]
) -> tuple[Callable[[Sequence[int]], tuple[Node, ...]], Callable[[Sequence[int]], Fraction]]:
    """What a class becomes, and what that costs."""
    rows = list(frame[list(columns)].itertuples(index=False, name=None))
    kinds = list(columns.values())

    @cache
    def node(place: int, values: frozenset[object]) -> Node:
        return kinds[place].generalise(list(values))

    @cache
    def lost(nodes: tuple[Node, ...]) -> Fraction:
        return sum((kind.lost(each) for kind, each in zip(kinds, nodes, strict=True)), Fraction(0))

    def nodes(members: Sequence[int]) -> tuple[Node, ...]:
        held = zip(*(rows[member] for member in members), strict=True)
        return tuple(node(place, frozenset(values)) for place, values in enumerate(held))

    return nodes, lambda members: len(members) * lost(nodes(members))


def _joined(classes: list[list[int]], nodes: Callable[[Sequence[int]], tuple[Node, ...]]) -> list[list[int]]:
    """Classes that look alike are one."""
    alike: dict[tuple[Node, ...], list[int]] = {}
    for members in classes:
        alike.setdefault(nodes(members), []).extend(members)
    return [sorted(members) for members in alike.values()]
