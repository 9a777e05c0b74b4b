"""Encodings by the place of a cell in its hierarchy (proportional-representation §II.C, Table II).

The features are the nodes of the column's hierarchy, leaves first, root last; a column without one is flat: the values
of D and '*' above them. A cell stands at the least general node that covers it, the lowest common ancestor of its
leaves; '*' stands at the root. What covers no leaf (an unknown value, a missing one in a column with a hierarchy) has
no node and is all zeros.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from harness.measuring.encoding.column import ColumnEncoding, encode_each
from harness.measuring.features import ColumnFeatures, Floats
from harness.vocabulary.errors import ReleaseError
from harness.vocabulary.hierarchy import ROOT, Hierarchy
from harness.vocabulary.lexicon import CellIds, Lexicon
from harness.vocabulary.values import Exact, Raw, Reading, Suppressed, Value

Fill = Literal["one-class", "fill-parent", "fill-child"]
PROPORTIONAL = "proportional"


@dataclass(frozen=True, eq=False)
class Tree:
    """A hierarchy over the raw values of one column."""

    hierarchy: Hierarchy
    leaves: Mapping[Raw, str]  # in the order of the hierarchy
    place: Mapping[str, int]  # of each node among the features

    def node(self, value: Value) -> str | None:
        """The least general node that covers a cell; None if it covers no leaf."""
        if isinstance(value, Suppressed):
            return self.hierarchy.root
        if isinstance(value, Exact) and value.raw in self.leaves:  # a month too, even where its days are leaves
            return self.leaves[value.raw]
        covered = [leaf for raw, leaf in self.leaves.items() if value.covers(raw)]
        # The leaves below a node stand together, so the first and the last of them have the ancestor of all.
        return self.hierarchy.lowest_common_ancestor((covered[0], covered[-1])) if covered else None

    @cached_property
    def places_above(self) -> Mapping[Raw, list[int]]:
        """The place of each raw value's leaf among the features, and of all its ancestors."""
        return {raw: [self.place[node] for node in self.hierarchy.path(leaf)] for raw, leaf in self.leaves.items()}

    def names(self) -> tuple[str, ...]:
        """Each node's name, a flat column's values as they are."""
        values = {leaf: str(raw) for raw, leaf in self.leaves.items()}
        return tuple(values.get(node, node) for node in self.place)


@lru_cache(maxsize=256)  # a reading is one column of one dataset, and is asked for with every release
def tree_of(reading: Reading, hierarchy: Hierarchy | None) -> Tree:
    """The hierarchy of a column, or the flat one of its domain."""
    if hierarchy is None:
        names = {raw: f"leaf {position}" for position, raw in enumerate(reading.domain)}
        hierarchy = Hierarchy(ROOT, {ROOT: tuple(names.values())})
    else:
        names = {reading.raw(leaf): leaf for leaf in hierarchy.leaves(hierarchy.root)}
    return Tree(hierarchy, names, {node: place for place, node in enumerate(hierarchy.leaves_to_root)})


@dataclass(frozen=True)
class Nodes(ColumnEncoding):
    """one-class: the cell's node. fill-parent: and all its ancestors. fill-child: and all nodes below it."""

    fill: Fill
    relative: ClassVar[bool] = False

    def encode(self, column: CellIds, target: Raw | None) -> ColumnFeatures:
        tree = tree_of(column.lexicon.reading, column.lexicon.hierarchy)

        def work_out(value: Value) -> npt.NDArray[np.bool_]:
            flags = np.zeros(len(tree.place), dtype=bool)
            flags[[tree.place[node] for node in self._filled(tree, value)]] = True
            return flags

        return encode_each(column, self.fill, len(tree.place), work_out)

    def _filled(self, tree: Tree, value: Value) -> tuple[str, ...]:
        node = tree.node(value)
        if node is None:
            return ()
        if self.fill == "one-class":
            return (node,)
        return tree.hierarchy.path(node) if self.fill == "fill-parent" else tree.hierarchy.subtree(node)

    def labels(self, column: CellIds) -> tuple[str, ...]:
        return tree_of(column.lexicon.reading, column.lexicon.hierarchy).names()

    def parameters(self) -> dict[str, Any]:
        return {}


@dataclass(frozen=True)
class Proportions(ColumnEncoding):
    """The share of the class's original values that lie under each node (the text's equation (1) and Table III).

    The target is its leaf with all ancestors: what a class of the target alone would show. Of the plain table only a
    cell with a single value says as much; any other cell without shares is refused.
    """

    relative: ClassVar[bool] = False

    def encode(self, column: CellIds, target: Raw | None) -> ColumnFeatures:
        lexicon = column.lexicon
        tree = tree_of(lexicon.reading, lexicon.hierarchy)
        known = lexicon.each_number(PROPORTIONAL, lambda number: _proportions(tree, lexicon, number))
        cells = known[column.ids].reshape(len(column.ids), len(tree.place))
        if np.isnan(cells).any():
            raise ReleaseError(
                f"column {lexicon.name!r}: a released cell does not say how the values of its class are shared out, "
                'which encoder "proportional" reads; have the anonymizer print it (proportional = true), or choose '
                "another encoder"
            )
        return ColumnFeatures(cells, column.codes, lambda raw: _filled(tree, [(raw, 1)], 1))

    def labels(self, column: CellIds) -> tuple[str, ...]:
        return tree_of(column.lexicon.reading, column.lexicon.hierarchy).names()

    def parameters(self) -> dict[str, Any]:
        return {}


def _proportions(tree: Tree, lexicon: Lexicon, number: int) -> Floats:
    """The features of a cell; not a number where it says nothing about shares."""
    shares, value = lexicon.shares(number), lexicon.value(number)
    if shares is not None:
        return _filled(tree, shares.counts, shares.rows)
    return _filled(tree, [(value.raw, 1)], 1) if isinstance(value, Exact) else np.full(len(tree.place), np.nan)


def _filled(tree: Tree, counts: Iterable[tuple[Raw, int]], rows: int) -> Floats:
    """Rows under each node / all rows; the counts are whole numbers, so that each share is rounded once.  # [nodes]"""
    under = np.zeros(len(tree.place))
    for raw, count in counts:
        under[tree.places_above.get(raw, [])] += count
    return under / rows
