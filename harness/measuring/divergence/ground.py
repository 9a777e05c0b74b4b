"""Ground distances between sensitive values, as people declare them, and the earth mover's distance each leads to.

A ground is declared as "ordered" (unit steps in the order of the values), "numeric" (the values are numbers), a table
with one of `order`, `positions`, `hierarchy` or `matrix` (with `values`), a `Hierarchy` or a square array. Orders,
positions and hierarchies become a `Tree` and a sum of W₁; a matrix becomes a linear programme.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from harness.measuring.divergence.earth_mover import EarthMover
from harness.measuring.divergence.interface import Divergence
from harness.measuring.divergence.sums import SumOfDistances, Tree
from harness.measuring.samples import Floats
from harness.vocabulary.errors import InputError, did_you_mean
from harness.vocabulary.hierarchy import Hierarchy

Labels = tuple[str, ...]

WORDS = ("ordered", "numeric")
TABLES = ("order", "positions", "hierarchy", "matrix")
DESCRIBES = (
    "how much probability has to be carried how far between the sensitive values, {way} (earth mover's distance, paper "
    "of 2018, §3.3)"
)


class Ground(Protocol):
    """A declared ground distance."""

    @property
    def labels(self) -> Labels | None:
        """The values that it names itself, in its own order; None if it takes those of the secret."""

    def spec(self) -> Any:
        """The declaration as plain data, from which `ground_of` makes it again."""

    def over(self, labels: Labels) -> Divergence:
        """The earth mover's distance over these values."""


def earth_mover_over(ground: Ground, labels: Labels) -> Divergence:
    """The earth mover's distance over the values of a secret."""
    if len(set(labels)) < max(2, len(labels)):
        raise InputError(f"a ground distance needs at least two values, none of them twice; got {list(labels)}")
    divergence = ground.over(labels)
    if not divergence.largest > 0:
        raise InputError("the ground distance between all values is 0; expected at least two that lie apart")
    return divergence


def ground_of(declared: Any, base: Path = Path()) -> Ground:
    """The ground distance that somebody declared; file names are relative to `base`."""
    if isinstance(declared, Order | Positions | OfHierarchy | OfMatrix):
        return declared
    if isinstance(declared, Hierarchy):
        return OfHierarchy(declared)
    if isinstance(declared, np.ndarray) or _is_list(declared):
        return OfMatrix(_checked_matrix(declared))
    if isinstance(declared, Mapping):
        return _from_table(dict(declared), base)
    if declared == "ordered":
        return Order()
    if declared == "numeric":
        return Positions()
    raise InputError(
        f"ground {declared!r} is not known; expected a table, a hierarchy, a matrix or a word: "
        f"{did_you_mean(str(declared), WORDS)}"
    )


def _is_list(declared: object) -> bool:
    return isinstance(declared, Sequence) and not isinstance(declared, str)


def _from_table(declared: dict[str, Any], base: Path) -> Ground:
    """A table with one of the known keys."""
    values = declared.pop("values", None)
    unknown = [str(key) for key in declared if key not in TABLES]
    if unknown or len(declared) != 1 or (values is not None and "matrix" not in declared):
        word = unknown[0] if unknown else ""
        hint = did_you_mean(word, TABLES)
        raise InputError(f"ground {word!r}: expected a table with one key, or with a matrix and its `values`; {hint}")
    ((kind, content),) = declared.items()
    if kind == "matrix":
        matrix = _checked_matrix(content)
        return OfMatrix(matrix, None if values is None else _names(values, "values", len(matrix)))
    if kind == "hierarchy":
        return OfHierarchy(_read_hierarchy(content, base))
    if kind == "order":
        return Order(_names(content, "order"))
    if not isinstance(content, Mapping):
        raise InputError(f"ground: positions must be a table of value = number, not {content!r:.80}")
    return Positions({str(label): _number(place) for label, place in content.items()})


def _names(content: Any, key: str, count: int | None = None) -> Labels:
    """A list of different values."""
    names = tuple(map(str, content)) if _is_list(content) else ()
    if not names or len(set(names)) < len(names) or (count is not None and len(names) != count):
        expected = "a list of values" if count is None else f"a list of {count} values, one per row of the matrix"
        raise InputError(f"ground: {key} must be {expected}, none of them twice, not {content!r:.80}")
    return names


def _number(content: Any) -> float:
    try:
        number = float(content)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"ground: {content!r} is not a finite number; declare an order, positions or a matrix instead")
    return number


def _read_hierarchy(content: Any, base: Path) -> Hierarchy:
    if isinstance(content, Hierarchy):
        return content
    if isinstance(content, str | Path):
        return Hierarchy.from_csv(base / content)
    if isinstance(content, Mapping):
        return Hierarchy.from_nested(dict(content))
    raise InputError(f"ground: hierarchy must be a file name or a nested table, not {content!r:.80}")


def _checked_matrix(content: Any) -> Floats:
    try:
        matrix = np.array(content, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"ground: a matrix of numbers was expected, not {content!r:.80}") from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"ground: a matrix must be square, one row and column per value; got shape {matrix.shape}")
    requirements = {
        "finite": np.isfinite(matrix).all(),
        "at least 0": (matrix >= 0).all(),
        "0 from a value to itself": (np.diag(matrix) == 0).all(),
        "the same in both directions (a symmetric matrix)": (matrix == matrix.T).all(),
    }
    for requirement, met in requirements.items():
        if not met:
            raise InputError(f"ground: every distance must be {requirement}")
    return matrix


def _places(known: Labels, labels: Labels, where: str) -> list[int]:
    """Where each value stands among the known ones."""
    places = {label: place for place, label in enumerate(known)}
    missing = [label for label in labels if label not in places]
    if missing:
        raise InputError(f"ground: {where} does not name the value {missing[0]!r}; {did_you_mean(missing[0], known)}")
    return [places[label] for label in labels]


def _along(tree: Tree, way: str, spec: Mapping[str, Any]) -> SumOfDistances:
    return SumOfDistances("emd", DESCRIBES.format(way=way), tree=tree, ground=spec)


@dataclass(frozen=True)
class Order:
    """Unit steps in an order; it may name values that the data does not have, which count as steps too."""

    labels: Labels | None = None

    def spec(self) -> Any:
        return "ordered" if self.labels is None else {"order": list(self.labels)}

    def over(self, labels: Labels) -> SumOfDistances:
        order = self.labels or labels
        tree = Tree.of_positions([float(place) for place in _places(order, labels, "the order")])
        return _along(tree, "one unit for each step in their order", {"order": list(order)})


@dataclass(frozen=True)
class Positions:
    """Numbers on a line; without a table of them, the values themselves are the numbers."""

    numbers: Mapping[str, float] | None = None

    @property
    def labels(self) -> Labels | None:
        return None if self.numbers is None else tuple(self.numbers)

    def spec(self) -> Any:
        return "numeric" if self.numbers is None else {"positions": dict(self.numbers)}

    def over(self, labels: Labels) -> SumOfDistances:
        numbers = {label: _number(label) for label in labels} if self.numbers is None else self.numbers
        _places(tuple(numbers), labels, "positions")
        tree = Tree.of_positions([numbers[label] for label in labels])
        return _along(tree, "on the line of their numbers", {"positions": dict(numbers)})


@dataclass(frozen=True)
class OfHierarchy:
    """One unit for each edge of the path between two nodes; values may be inner nodes (v1, Figure 2)."""

    hierarchy: Hierarchy

    @property
    def labels(self) -> Labels:
        return self.hierarchy.leaves(self.hierarchy.root)

    def spec(self) -> Any:
        return {"hierarchy": self._nested(self.hierarchy.root)}

    def over(self, labels: Labels) -> SumOfDistances:
        try:
            tree = Tree.of_hierarchy(self.hierarchy, labels)
        except InputError as error:
            raise error.within("ground") from None
        return _along(tree, "one unit for each edge of their hierarchy", self.spec())

    def _nested(self, node: str) -> Any:
        """The tree below a node as `Hierarchy.from_nested` reads it."""
        below = self.hierarchy.children(node)
        return {node: [self._nested(child) for child in below]} if below else node


@dataclass(frozen=True, eq=False)
class OfMatrix:
    """Any ground distances, in the order of `labels` if they are given, else of the secret's values."""

    matrix: Floats  # [n, n]
    labels: Labels | None = None

    def spec(self) -> Any:
        return {"matrix": self.matrix.tolist()} | ({} if self.labels is None else {"values": list(self.labels)})

    def over(self, labels: Labels) -> EarthMover:
        if self.labels is None and len(labels) != len(self.matrix):
            raise InputError(
                f"ground: a matrix of {len(self.matrix)} rows cannot be the distances of {len(labels)} values; "
                "name those it is made for with `values`"
            )
        places = _places(self.labels or labels, labels, "the matrix")
        way = "at the distances of a matrix, of the expected predictions"
        return EarthMover(DESCRIBES.format(way=way), labels, self.matrix[np.ix_(places, places)])
