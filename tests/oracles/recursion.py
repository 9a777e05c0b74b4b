"""Mondrian once more, as plain recursion over raw values: slow, short, and no code shared with the oracle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from harness.vocabulary.hierarchy import Hierarchy

Row = tuple[tuple[Any, ...], object]  # quasi-identifiers, sensitive value


class Scale:
    """One quasi-identifier among the rows of a table: its sort key, and how wide a set of values is."""

    def __init__(self, place: Callable[[Any], Any], values: Sequence[Any], hierarchy: Hierarchy | None = None) -> None:
        self.place, self.hierarchy = place, hierarchy
        self.total = self.reach({value for value in values if value is not None})

    def key(self, value: Any) -> tuple[int, Any]:
        return (0, 0) if value is None else (1, self.place(value))

    def reach(self, values: set[Any]) -> Any:
        if len(values) < 2:
            return 0
        if self.hierarchy:
            return len(self.hierarchy.leaves(self.hierarchy.lowest_common_ancestor(values)))
        places = [self.place(value) for value in values]
        return max(places) - min(places)

    def width(self, values: set[Any]) -> Any:
        if None in values and len(values) > 1:
            return 1
        return Fraction(self.reach(values)) / Fraction(self.total) if self.total else 0

    def splits(self, values: list[Any]) -> list[list[list[int]]]:
        """The candidate splits of a node in the order of trial, each as lists of positions."""
        if self.hierarchy and None not in values:
            return [_children(self.hierarchy, values)]
        if self.hierarchy:
            return [_groups([value is not None for value in values])]
        order = sorted(self.key(value) for value in values)
        half = len(order) // 2
        below, above = order.index(order[half]), len(order) - order[::-1].index(order[half])
        sides = [below, above] if half - below <= above - half else [above, below]
        tried = [half] if below == half else [at for at in sides if at < len(order)]
        return [_groups([self.key(value) >= order[at] for value in values]) for at in tried]


def _children(hierarchy: Hierarchy, values: list[Any]) -> list[list[int]]:
    top = hierarchy.lowest_common_ancestor(set(values))
    children = hierarchy.children(top)
    return _groups([next(child for child in children if value in hierarchy.leaves(child)) for value in values])


def _groups(labels: list[Any]) -> list[list[int]]:
    return [[i for i, other in enumerate(labels) if other == label] for label in dict.fromkeys(labels)]


def allowed(
    secrets: list[Any],
    everyone: list[Any],
    k: int,
    l: int | None,  # noqa: E741
    diversity: str,
    t: float | None,
) -> bool:
    counts, size = Counter(secrets), len(secrets)
    if size < k:
        return False
    if l and diversity == "probability" and max(counts.values()) * l > size:
        return False
    if l and diversity == "distinct" and len(counts) < l:
        return False
    if t is None:
        return True
    shares = Counter(everyone)
    drift = sum(abs(Fraction(counts[s], size) - Fraction(shares[s], len(everyone))) for s in shares) / 2
    return drift <= Fraction(t)


def classes(rows: list[Row], scales: list[Scale], rule: Callable[[list[Any]], bool]) -> list[list[int]]:
    """The classes of the table, as lists of row numbers."""

    def cut(node: list[int]) -> list[list[int]]:
        columns = [[rows[i][0][axis] for i in node] for axis in range(len(scales))]
        widths = [scale.width(set(column)) for scale, column in zip(scales, columns, strict=True)]
        for axis in sorted(range(len(scales)), key=lambda axis: -widths[axis]):
            if not widths[axis]:
                continue
            for split in scales[axis].splits(columns[axis]):
                parts = [[node[i] for i in part] for part in split]
                if len(parts) > 1 and all(rule([rows[i][1] for i in part]) for part in parts):
                    return [done for part in parts for done in cut(part)]
        return [node]

    return cut(list(range(len(rows))))
