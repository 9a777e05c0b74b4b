"""What Mondrian prints for a class: tight ranges of its members, or the region its cuts enclose.

Regions depend on the cuts and on the declared domain, not on which of its values occur in the table. So together
they tile the domain: every value of a column lies in exactly one region between two neighbouring cuts, also the
value of somebody who was left out. Two things cannot be tiled with the cells that anonymizers print. Missing cells
lie below all values, but no cell says "missing or below 5": such a region is `*` if one of its rows has a missing
cell, else "below 5", which covers no missing one. And a period of time that reaches over a cut is covered whole by
the region in which it begins, which then overlaps with the next.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from functools import lru_cache
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from harness.vocabulary.table import Cells
from harness.vocabulary.values import Closed, Exact, Interval, OneOf, Raw, Span, Suppressed, show
from oracles.reference.axes import Axis, Ground, Ints, Longs, Tree
from oracles.reference.cuts import Nodes

Style = Literal["ranges", "regions"]
STYLES = get_args(Style)
MOST_TEXTS = 1 << 16
NOTHING, EVERYTHING = "missing", "suppressed"  # the keys of a missing cell, and of one that covers all


class Printed(NamedTuple):
    """One column of a release, class by class."""

    known: dict[str, int]  # the code of every cell
    cells: Cells  # codes [class]

    @classmethod
    def of(cls, ground: Ground, style: Style, number: int, rows: Longs, classes: Nodes) -> Printed:
        """`rows` stand in the order of the classes."""
        codes, known = _numbered(_texts(ground, style, number, rows, classes), {})
        return cls(known, Cells(_palette(list(known)), codes))

    def continued(self, ground: Ground, style: Style, number: int, rows: Longs, classes: Nodes) -> Cells:
        """The same column of other classes: cells that are known keep their code, new ones get the next."""
        codes, fresh = _numbered(_texts(ground, style, number, rows, classes), self.known)
        return Cells(_palette([*self.cells.palette.tolist(), *fresh]), codes)


def _palette(texts: list[str]) -> npt.NDArray[Any]:
    """Cells that nobody can change: many releases share them, and whoever reads these looks them up once."""
    palette = np.array(texts, dtype=object)
    palette.flags.writeable = False
    return palette


def _numbered(texts: Iterable[str | None], known: Mapping[str, int]) -> tuple[Ints, dict[str, int]]:
    """A code per cell, as in `known` and then counted on, and the new ones; a missing cell has the code -1."""
    fresh: dict[str, int] = {}
    codes = []
    for text in texts:
        if text is None:
            codes.append(-1)
        else:
            codes.append(known[text] if text in known else fresh.setdefault(text, len(known) + len(fresh)))
    return np.array(codes, dtype=np.int32), fresh


def _texts(ground: Ground, style: Style, number: int, rows: Longs, classes: Nodes) -> list[str | None]:
    """The cell of each class; None where it is missing."""
    keys = _keys(ground, style, number, rows, classes)
    texts = {key: _text(ground.axes.each[number], style, key) for key in set(keys)}
    return [texts[key] for key in keys]


def _keys(ground: Ground, style: Style, number: int, rows: Longs, classes: Nodes) -> list[Hashable]:
    """Per class what its cell on this axis depends on."""
    if style == "ranges":
        return _range_keys(ground, number, rows, classes)
    return _region_keys(ground.axes.each[number], number, classes)


def _range_keys(ground: Ground, number: int, rows: Longs, classes: Nodes) -> list[Hashable]:
    """The members of each class; one that mixes missing cells with others says nothing."""
    axis = ground.axes.each[number]
    codes = ground.axes.codes[number][rows]
    low, high = classes.low[:, number], classes.high[:, number]
    keys: list[Hashable]
    if axis.kind == "set":
        keys = _members(codes, classes)
    elif axis.tree is not None:
        keys = axis.tree.common(low, high)[1].tolist()
    elif axis.kind == "date":
        keys = list(zip(low.tolist(), (high + 1).tolist(), _latest(axis, codes, classes), strict=True))
    else:
        keys = list(zip(low.tolist(), (high + 1).tolist(), strict=True))
    for place in np.flatnonzero(low < axis.gap).tolist():
        keys[place] = NOTHING if high[place] < axis.gap else EVERYTHING
    return keys


def _region_keys(axis: Axis, number: int, classes: Nodes) -> list[Hashable]:
    """The box of each class; one that no cut bounds, or that holds missing cells and may hold others, is everything."""
    left, right = classes.left[:, number], classes.right[:, number]
    begin = np.maximum(left, axis.gap)
    keys: list[Hashable] = list(zip(begin.tolist(), right.tolist(), strict=True))
    if axis.tree is not None:
        keys = _subtrees(axis.tree, begin, right)
    unbounded = (left < axis.gap) & (right == len(axis.raws))
    for place in np.flatnonzero(unbounded | (classes.low[:, number] < axis.gap)).tolist():
        keys[place] = NOTHING if right[place] <= axis.gap else EVERYTHING
    return keys


def _members(codes: Ints, classes: Nodes) -> list[Hashable]:
    """Each class's set of codes, as bytes."""
    count, span = len(classes.size), int(codes.max()) + 1
    pairs = np.unique(np.repeat(np.arange(count) * span, classes.size) + codes)
    ends = np.searchsorted(pairs, np.arange(count + 1) * span)
    return _slices((pairs % span).astype(np.int32), ends[:-1], ends[1:])


def _subtrees(tree: Tree, begin: Ints, end: Ints) -> list[Hashable]:
    """The node that has exactly the leaves of each stretch of codes; the stretch itself where none has."""
    node = tree.common(begin, np.maximum(end - 1, begin))[1]
    keys: list[Hashable] = node.tolist()
    for place in np.flatnonzero(tree.count[node] != end - begin).tolist():
        keys[place] = (int(begin[place]), int(end[place]))
    return keys


def _slices(codes: Ints, begins: npt.NDArray[np.intp], ends: npt.NDArray[np.intp]) -> list[Hashable]:
    buffer, width = codes.tobytes(), codes.itemsize
    return [buffer[begin:end] for begin, end in zip((begins * width).tolist(), (ends * width).tolist(), strict=True)]


def _latest(axis: Axis, codes: Ints, classes: Nodes) -> list[int]:
    """The last day any member of each class may mean; a year ends later than the days that sort behind it."""
    last = np.array([raw.last if isinstance(raw, Span) else 0 for raw in axis.raws])
    latest: list[int] = np.maximum.reduceat(last[codes], np.cumsum(classes.size) - classes.size).tolist()
    return latest


def _text(axis: Axis, style: Style, key: Hashable) -> str | None:
    if isinstance(key, str):
        return None if key == NOTHING else show(Suppressed())
    if isinstance(key, bytes):
        return _one_of(tuple(axis.raws[code] for code in np.frombuffer(key, np.int32).tolist()))
    if isinstance(key, int):
        assert axis.tree is not None
        return axis.tree.names[key]
    assert isinstance(key, tuple)
    if axis.kind == "number" or axis.kind == "date":
        return _range(axis, *key) if style == "ranges" else _region(axis, *key)
    return _one_of(axis.raws[slice(*key)])


def _range(axis: Axis, begin: int, end: int, latest: int = 0) -> str:
    """From the lowest to the highest member; of dates, to the last day any of them may mean."""
    low, high = axis.raws[begin], axis.raws[end - 1]
    if isinstance(low, Span):
        return _one_of((low,)) if low.last == latest else _interval(low.first, latest, days=True)
    return _one_of((low,)) if end - begin == 1 else _interval(low, high)


def _region(axis: Axis, begin: int, end: int) -> str:
    """From cut to cut, or endless; a period of the domain that reaches over the upper cut is covered whole."""
    low = axis.raws[begin] if begin > axis.gap else None
    high = axis.raws[end] if end < len(axis.raws) else None
    if low is None and high is None:
        return show(Suppressed())
    if isinstance(low, Span) or isinstance(high, Span):
        first = low.first if isinstance(low, Span) else -math.inf
        ends = [raw.last for raw in axis.raws[begin:end] if isinstance(raw, Span)]
        last = max(high.first - 1, *ends) if isinstance(high, Span) else math.inf
        return _interval(first, last, days=True)
    return _interval(-math.inf if low is None else low, math.inf if high is None else high, "left")


# Remembered across tables: an oracle prints the same few thousand cells for D and for every D⁻ⁱ.


@lru_cache(MOST_TEXTS, typed=True)
def _interval(low: Any, high: Any, closed: Closed = "both", *, days: bool = False) -> str:
    return show(Interval(low, high, closed, days))


@lru_cache(MOST_TEXTS)
def _one_of(raws: tuple[Raw, ...]) -> str:
    return show(Exact(raws[0]) if len(raws) == 1 else OneOf(frozenset(raws)))
