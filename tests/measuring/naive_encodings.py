"""Every encoding once more, row by row and feature by feature, without any code of the harness.

A column is its domain in D, D's rows, and a tree as the parent of each node; a cell is a set of raw values or a range.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np

NUMBERS = ["scaling", "bounds", "binary", "quantiles-before", "quantiles", "tf"]
CATEGORIES = ["hot", "binary", "hot-cells", "tf"]
NAMES = [*(f"{numbers}-{part}" for numbers in NUMBERS for part in CATEGORIES), "one-class", "fill-parent", "fill-child"]


@dataclass(frozen=True)
class Cell:
    kind: Literal["values", "range", "all"]
    values: frozenset[Any] = frozenset()
    low: float = -math.inf
    high: float = math.inf
    left: bool = False  # whether the low end belongs
    right: bool = False

    def covers(self, raw: Any) -> bool:
        if self.kind == "values":
            return raw in self.values
        if self.kind == "all":
            return True
        if isinstance(raw, str):
            return False
        above = self.low < raw or (self.left and self.low == raw)
        return above and (raw < self.high or (self.right and self.high == raw))


def exactly(raw: Any) -> Cell:
    return Cell("values", frozenset([raw]))


@dataclass(frozen=True)
class Known:
    """What an encoder may know of a column."""

    name: str
    number: bool
    domain: list[Any]
    rows: list[Any]
    parent: dict[Any, Any]
    nodes: list[Any]  # leaves first, root last
    bins: int = 5
    binning: str = "width"
    released: list[Cell] = field(default_factory=list)

    @property
    def ends(self) -> tuple[float, float]:
        numbers = [raw for raw in self.domain if raw != ""]
        return (min(numbers), max(numbers)) if numbers else (0, 0)


def encode_cell(name: str, cell: Cell, target: Any, column: Known) -> list[float]:
    if name in ("one-class", "fill-parent", "fill-child"):
        return place_in_tree(name, cell, column)
    numbers = next(part for part in NUMBERS if name.startswith(f"{part}-"))
    part = numbers if column.number else name.removeprefix(f"{numbers}-")
    if part == "tf":
        return [1.0 if cell.covers(target) else 0.0]
    return encode_number(part, cell, column) if column.number else encode_category(part, cell, column)


def encode_target(name: str, target: Any, column: Known) -> list[float]:
    return encode_cell(name, exactly(target), target, column)


def encode_number(part: str, cell: Cell, column: Known) -> list[float]:
    least, most = column.ends
    low, high = clipped_ends(cell, least, most)
    middle = (low + high) / 2
    if cell.kind == "all" and part in ("scaling", "bounds"):
        return [0.5] if part == "scaling" else [0.0, 1.0]
    if part == "scaling":
        return [share(middle, least, most)]
    if part == "bounds":
        return [share(low, least, most), share(high, least, most)]
    if part == "binary":
        return in_binary(math.floor(middle - least), math.floor(most - least))
    edges = [-math.inf, *inner_edges(column), math.inf]
    inside = replace(cell, values=frozenset(nearest(raw, least, most) for raw in cell.values if raw != ""))
    return [1.0 if touches(inside, begin, end) else 0.0 for begin, end in pairwise(edges)]


def nearest(number: float, least: float, most: float) -> float:
    return min(max(number, least), most)


def clipped_ends(cell: Cell, least: float, most: float) -> tuple[float, float]:
    numbers = [raw for raw in cell.values if raw != ""]
    if cell.kind == "range":
        numbers = [cell.low, cell.high]
    elif not numbers:
        numbers = [least, most]
    return min(max(min(numbers), least), most), min(max(max(numbers), least), most)


def share(number: float, least: float, most: float) -> float:
    return (number - least) / (most - least) if most > least else 0.0


def in_binary(number: int, largest: int) -> list[float]:
    """As many bits as the largest number needs; none if that is 0."""
    width = len(format(largest, "b")) if largest else 0
    return [float(bit) for bit in format(number, f"0{width}b")] if width else []


def inner_edges(column: Known) -> list[float]:
    least, most = column.ends
    rows = [raw for raw in column.rows if raw != ""]
    if column.binning == "quantiles" and rows:
        return [float(np.quantile(rows, k / column.bins)) for k in range(1, column.bins)]
    return [least + k * (most - least) / column.bins for k in range(1, column.bins)]


def touches(cell: Cell, begin: float, end: float) -> bool:
    """Whether a cell shares a number with [begin, end), or spans that bin where it holds none."""
    if cell.kind == "values":
        return any(begin <= raw < end for raw in cell.values if raw != "")
    return cell.low < end and (begin < cell.high or (cell.right and begin == cell.high))


def encode_category(part: str, cell: Cell, column: Known) -> list[float]:
    if part == "hot":
        return [1.0 if cell.covers(raw) else 0.0 for raw in column.domain]
    categories = sorted({meaning(other, column) for other in column.released})
    mine = meaning(cell, column)
    number = categories.index(mine) + 1 if mine[0] > 0 and mine in categories else 0
    if part == "binary":
        return in_binary(number, len(categories))
    return [1.0 if number == k + 1 else 0.0 for k in range(len(categories))]


def meaning(cell: Cell, column: Known) -> tuple[int, list[int]] | tuple[int, tuple[int, ...]]:
    places = tuple(place for place, raw in enumerate(column.domain) if cell.covers(raw))
    return len(places), places


def place_in_tree(fill: str, cell: Cell, column: Known) -> list[float]:
    inner = set(column.parent.values())
    covered = [ancestry(node, column) for node in column.nodes if node not in inner and cell.covers(node)]
    if cell.kind == "all":
        stand = column.nodes[-1]
    elif covered:
        stand = next(node for node in covered[0] if all(node in path for path in covered))
    else:
        return [0.0] * len(column.nodes)
    filled = {
        "one-class": [stand],
        "fill-parent": ancestry(stand, column),
        "fill-child": [node for node in column.nodes if stand in ancestry(node, column)],
    }
    return [1.0 if node in filled[fill] else 0.0 for node in column.nodes]


def ancestry(node: Any, column: Known) -> list[Any]:
    path = [node]
    while path[-1] in column.parent:
        path.append(column.parent[path[-1]])
    return path
