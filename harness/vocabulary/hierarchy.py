"""Generalisation trees from ARX files, nested mappings or interval widths: ancestors, leaves, path lengths.

Knows names only; `Reading.with_nodes` makes raw values of the leaves. Leaves are ordered as they first
appear, depth first, so that those of every node stand together.
"""

import csv
import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from itertools import pairwise
from pathlib import Path

from harness.vocabulary.errors import InputError
from harness.vocabulary.files import not_utf_8
from harness.vocabulary.values import Interval, show

ROOT = "*"
MOST_LEAVES = 1_000_000


@dataclass(frozen=True)
class Hierarchy:
    """A tree of names, each standing in it once; `below` gives the children of each inner node."""

    root: str
    below: Mapping[str, tuple[str, ...]] = field(hash=False)

    @classmethod
    def from_csv(cls, path: str | Path, delimiter: str = ";") -> "Hierarchy":
        """One `leaf;…;root` on each line, as ARX writes it; neighbours of equal name are one node."""
        return cls.from_paths(_written(Path(path), delimiter), str(path))

    @classmethod
    def from_nested(cls, tree: Mapping[str, object]) -> "Hierarchy":
        """Mappings down to lists of leaves; several tops are put under a root `*`."""
        above: tuple[str, ...] = () if len(tree) <= 1 else (ROOT,)
        return cls.from_paths(_nested(tree, above))

    @classmethod
    def from_widths(cls, low: int, high: int, widths: Sequence[int]) -> "Hierarchy":
        """The whole numbers from low up to, without, high; intervals of each width begin at low."""
        _check_widths(low, high, widths)
        return cls.from_paths(
            (f"the leaf {leaf}", (str(leaf), *(_around(leaf, low, high, width) for width in widths), ROOT))
            for leaf in range(low, high)
        )

    @classmethod
    def from_paths(cls, paths: Iterable[tuple[str, Sequence[str]]], source: str = "the hierarchy") -> "Hierarchy":
        """The tree of all paths, each given as where it was found and its names from leaf to root."""
        below: dict[str, list[str]] = {}
        parents: dict[str, str] = {}
        seen: dict[str, tuple[str, ...]] = {}
        root = ""
        for where, names in paths:
            path = _collapsed(where, names)
            root = root or path[-1]
            if path[-1] != root:
                raise InputError(f"{where}: ends in {path[-1]!r}, but others end in {root!r}; use one root")
            if seen.setdefault(path[0], path) != path:
                raise InputError(f"{where}: the leaf {path[0]!r} was already given another path; keep one")
            for child, parent in pairwise(path):
                if child not in parents:
                    parents[child] = parent
                    below.setdefault(parent, []).append(child)
            _check_family(where, path, parents, below, seen)
        if not seen:
            raise InputError(f"{source}: empty; give at least one leaf with its ancestors")
        return cls(root, {node: tuple(children) for node, children in below.items()})

    @cached_property
    def _parents(self) -> Mapping[str, str]:
        return {child: parent for parent, children in self.below.items() for child in children}

    @cached_property
    def _depths(self) -> Mapping[str, int]:
        depths, ahead = {self.root: 0}, [self.root]
        while ahead:
            node = ahead.pop()
            for child in self.below.get(node, ()):
                depths[child] = depths[node] + 1
                ahead.append(child)
        return depths

    @cached_property
    def _extents(self) -> tuple[tuple[str, ...], Mapping[str, tuple[int, int]]]:
        """The leaves in order, and which of them lie under each node."""
        order: list[str] = []
        starts: dict[str, int] = {}
        extents: dict[str, tuple[int, int]] = {}
        ahead = [self.root]
        while ahead:
            node = ahead.pop()
            if node in starts:  # seen before: all below it has been walked
                extents[node] = starts[node], len(order)
            elif node in self.below:
                starts[node] = len(order)
                ahead += [node, *reversed(self.below[node])]
            else:
                order.append(node)
                extents[node] = len(order) - 1, len(order)
        return tuple(order), extents

    @cached_property
    def nodes(self) -> Mapping[str, frozenset[str]]:
        """The leaves below every inner node, the root among them."""
        return {node: frozenset(self.leaves(node)) for node in self.below}

    @cached_property
    def levels(self) -> tuple[tuple[str, ...], ...]:
        """Ever coarser partitions of the leaves, from the leaves themselves up to the root alone.

        Each cuts the tree at one depth; a leaf above the cut stands for itself.
        """
        order, _ = self._extents
        paths = [tuple(reversed(self.path(leaf))) for leaf in order]
        deepest = max(map(len, paths))
        return tuple(
            tuple(dict.fromkeys(path[min(depth, len(path) - 1)] for path in paths))
            for depth in reversed(range(deepest))
        )

    @cached_property
    def leaves_to_root(self) -> tuple[str, ...]:
        """All nodes once: the leaves, then ever coarser levels, the root last."""
        return tuple(dict.fromkeys(name for level in self.levels for name in level))

    def leaves(self, node: str) -> tuple[str, ...]:
        """The leaves below a node, in order; of a leaf, itself."""
        order, extents = self._extents
        start, stop = extents[self._checked(node)]
        return order[start:stop]

    def children(self, node: str) -> tuple[str, ...]:
        return self.below.get(self._checked(node), ())

    def parent(self, node: str) -> str | None:
        return self._parents.get(self._checked(node))

    def path(self, node: str) -> tuple[str, ...]:
        """The node and all its ancestors up to the root."""
        names = [self._checked(node)]
        while (above := self._parents.get(names[-1])) is not None:
            names.append(above)
        return tuple(names)

    def subtree(self, node: str) -> tuple[str, ...]:
        """The node and everything below it, each before its children."""
        names = [self._checked(node)]
        for name in names:  # grows while it is walked
            names += self.below.get(name, ())
        return tuple(names)

    def lowest_common_ancestor(self, names: Iterable[str]) -> str:
        """The smallest node that holds all the named ones; of a node and its ancestor, the ancestor."""
        distinct = list(dict.fromkeys(map(self._checked, names)))
        if not distinct:
            raise InputError("no names given; a common ancestor needs at least one")
        return reduce(self._meet, distinct)

    def _meet(self, one: str, other: str) -> str:
        depth, parents = self._depths, self._parents
        while one != other:
            if depth[one] >= depth[other]:
                one = parents[one]
            else:
                other = parents[other]
        return one

    def _checked(self, node: str) -> str:
        if node in self._depths:
            return node
        near = difflib.get_close_matches(node, self._depths, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"its root is {self.root!r}"
        raise InputError(f"the hierarchy has no {node!r}; {hint}")


def _collapsed(where: str, names: Sequence[str]) -> tuple[str, ...]:
    """A path without repeated neighbours, and fit to be one."""
    if not names or not all(names):
        raise InputError(f"{where}: an empty name; repeat the name of the level below instead")
    path = (names[0], *(upper for lower, upper in pairwise(names) if upper != lower))
    if len(path) < 2:
        raise InputError(f"{where}: only one name; write the leaf, its ancestors and the root: `leaf;…;root`")
    if len(set(path)) < len(path):
        again = next(name for place, name in enumerate(path) if name in path[:place])
        raise InputError(f"{where}: {again!r} is above itself; give the two levels different names")
    return path


def _check_family(
    where: str,
    path: tuple[str, ...],
    parents: Mapping[str, str],
    below: Mapping[str, object],
    leaves: Mapping[str, object],
) -> None:
    """Every name keeps the parent it was first given, and no leaf has children."""
    for child, parent in pairwise(path):
        if parents[child] != parent:
            known = parents[child]
            raise InputError(
                f"{where}: {child!r} lies below {parent!r}, but elsewhere below {known!r}; rename one of them"
            )
        if parent in leaves:
            raise InputError(f"{where}: {parent!r} is a leaf elsewhere; give the node another name")
    if path[0] in below:
        raise InputError(f"{where}: the leaf {path[0]!r} is an inner node elsewhere; rename one of them")


def _written(path: Path, delimiter: str) -> Iterator[tuple[str, list[str]]]:
    """The lines of a file, each with its place; text after a byte order mark is as good as any."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = csv.reader(file, delimiter=delimiter)
            for names in lines:
                where = f"{path}, line {lines.line_num}"
                if not any(map(str.strip, names)):
                    raise InputError(f"{where}: an empty line; remove it")
                yield where, [name.strip() for name in names]
    except OSError as problem:
        raise InputError(f"{path}: the hierarchy cannot be read: {problem.strerror or problem}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: {not_utf_8(path.read_bytes().splitlines())}") from None
    except csv.Error as problem:
        raise InputError(f"{path}: cannot be read as a hierarchy: {problem}") from None


def _nested(below: object, above: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Every path of a nested mapping; `above` runs from the node up to the root."""
    where = f"below {above[0]!r}" if above else "the hierarchy"
    if isinstance(below, Mapping) and below:
        for name, deeper in below.items():
            yield from _nested(deeper, (str(name), *above))
    elif isinstance(below, list | tuple) and below:
        for item in below:
            if isinstance(item, Mapping):
                yield from _nested(item, above)
            else:
                yield where, (_leaf(where, item), *above)
    else:
        raise InputError(f"{where}: expected a list of leaves or a table of nodes, found {below!r:.80}")


def _leaf(where: str, item: object) -> str:
    if isinstance(item, str | int | float):
        return str(item)
    raise InputError(f"{where}: expected a leaf, a text or a number, found {item!r:.80}")


def _check_widths(low: int, high: int, widths: Sequence[int]) -> None:
    if not widths or any(width < 1 for width in widths):
        raise InputError(f"widths {list(widths)!r}: expected at least one, all positive whole numbers")
    if not low < high <= low + MOST_LEAVES:
        raise InputError(f"from {low} to {high}: expected at least 1 and at most {MOST_LEAVES:,} whole numbers")
    for narrow, wide in pairwise(widths):
        if wide <= narrow or wide % narrow:
            raise InputError(f"width {wide} after {narrow}: expected a larger multiple, else intervals overlap")


def _around(leaf: int, low: int, high: int, width: int) -> str:
    """The name of the interval of that width that holds a number; the last one ends at high."""
    start = leaf - (leaf - low) % width
    return show(Interval(start, min(start + width, high), "left"))
