"""What released names stand for, such as `high` for several degrees: from a file of the auditor, or from the release.

from a file      a table `leaf;…;root` near the data that has every raw value as a leaf and every name as a node
from the rows    where the release keeps the order of rows, a name stands for the raw values of the rows that show
                 it; these sets must lie inside or beside each other, as the nodes of a tree do
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from harness.vocabulary.errors import InputError
from harness.vocabulary.hierarchy import ROOT, Hierarchy

FOLDERS = (".", "hierarchies", "hierarchy")
MOST_BYTES = 10 << 20  # of a file that is tried
Groups = Mapping[str, Set[str]]  # a released name -> the raw values of the rows that show it


def hierarchy_file(folder: Path, column: str, raws: Iterable[str], names: Iterable[str]) -> Path | None:
    """A file near the data with a hierarchy that holds these raw values and these names; those named like it first."""
    needed, nodes = set(raws), set(names)
    for path in _candidates(folder, column):
        try:
            tree = Hierarchy.from_csv(path)
        except InputError:
            continue
        if needed <= set(tree.leaves(tree.root)) and nodes <= {*tree.below, *needed}:
            return path
    return None


def _candidates(folder: Path, column: str) -> Iterator[Path]:
    plain = _plain(column)
    for inner in FOLDERS:
        place = folder / inner
        files = sorted(place.glob("*.csv")) if place.is_dir() else []
        yield from (path for path in files if plain in _plain(path.stem) and path.stat().st_size <= MOST_BYTES)


def _plain(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def hierarchy_of_rows(groups: Groups, raws: Sequence[str]) -> dict[str, Any] | None:
    """The tree in which each name stands above the raw values that it was shown for, or None if there is none."""
    sets = {name: frozenset(members) for name, members in groups.items() if len(members) > 1}
    if not sets or any(name in raws for name in sets) or not _is_nested(list(sets.values())):
        return None
    singles = [name for name, members in groups.items() if len(members) == 1 and name not in raws]
    if singles:  # a name that only one value shows may be above others that no row has
        return None
    return {ROOT: _below(frozenset(raws), sets, raws)}


def _is_nested(sets: Sequence[frozenset[str]]) -> bool:
    different = len(set(sets)) == len(sets)
    return different and all(one <= other or other <= one or not one & other for one in sets for other in sets)


def _below(raws: frozenset[str], sets: Mapping[str, frozenset[str]], order: Sequence[str]) -> Any:
    """The nodes inside a set of raw values: tables of their own where names lie inside names, else lists of leaves."""
    inside = {name: members for name, members in sets.items() if members <= raws}
    tops = {name: one for name, one in inside.items() if not any(one < other for other in inside.values())}
    if not tops:
        return [raw for raw in order if raw in raws]
    rest = raws.difference(*tops.values())
    nodes: list[Any] = []
    for name, members in tops.items():
        deeper = {other: one for other, one in inside.items() if other != name}
        nodes.append({name: _below(members, deeper, order)})
    return [*nodes, *(raw for raw in order if raw in rest)] if rest else _merged(nodes)


def _merged(nodes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {name: below for node in nodes for name, below in node.items()}
