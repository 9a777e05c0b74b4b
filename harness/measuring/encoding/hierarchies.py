"""Encodings by the place of a cell in its hierarchy (proportional-representation §II.C, Table II).

The features are the nodes of the column's hierarchy, leaves first, root last; a column without one is flat: the values
of D and '*' above them. A cell stands at the least general node that covers it, the lowest common ancestor of its
leaves; '*' stands at the root. What covers no leaf (an unknown value, a missing one in a column with a hierarchy) has
no node and is all zeros.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from harness.measuring.encoding.column import ColumnEncoding, encode_each
from harness.measuring.features import ColumnFeatures
from harness.vocabulary.hierarchy import ROOT, Hierarchy
from harness.vocabulary.release import CellIds
from harness.vocabulary.values import Exact, Raw, Reading, Suppressed, Value

Fill = Literal["one-class", "fill-parent", "fill-child"]


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
