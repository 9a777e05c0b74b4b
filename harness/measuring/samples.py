"""Draws of predictions, checked once, and W₁ between the laws of their coordinates; knows arrays, nothing else.

`Samples` are the predictions of one side, one row per draw, each a point of the n-simplex. `Coordinates` are what a
distance looks at: the confidences themselves, or sums of them such as the confidence below a node of a hierarchy.
W₁ between two empirical laws is the mean gap of their order statistics (v2, eq. 1); most of the work below is to
sort as few of many draws as possible.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from harness.vocabulary.errors import InputError

Floats = npt.NDArray[np.float64]
Transform = Callable[[Floats], Floats]  # confidences [n, draws] to coordinates [coordinates, draws]

# Rows may miss the simplex by the rounding of a release printed with a few decimals, no more: every
# confidence bound rests on ‖x − y‖₁ ≤ 2.
SIMPLEX_TOLERANCE = 1e-3

# No @ on long arrays here or in bounds: the threads of BLAS cost more than they bring, and workers fill the cores.
CELLS = 32_768  # of the grid that saves most of the sorting
MANY = 8_000  # draws, from which the grid is faster than a sort


@dataclass(frozen=True, eq=False)
class Coordinates:
    """The draws of each coordinate in one piece of memory; sorted once, and only if somebody needs it."""

    columns: Floats  # [coordinates, draws]

    def __len__(self) -> int:
        return int(self.columns.shape[1])

    @cached_property
    def ordered(self) -> Floats:
        """The order statistics of each coordinate.  # [coordinates, draws]"""
        return np.sort(self.columns, axis=1)


@dataclass(frozen=True, eq=False)
class Samples:
    """The draws of one side, checked once; turned and sorted once, and only if somebody needs it."""

    draws: Floats  # [draws, n]

    def __post_init__(self) -> None:
        draws = np.asarray(self.draws, dtype=np.float64, order="C")  # sums must not depend on who laid them out
        if draws.ndim != 2 or 0 in draws.shape:
            raise InputError(f"samples have shape (draws, values), at least one of each; got {draws.shape}")
        off = np.abs(draws.sum(axis=1) - 1.0).max()
        if not (off <= SIMPLEX_TOLERANCE and draws.min() >= -SIMPLEX_TOLERANCE):
            raise InputError("every row of samples is a probability distribution: values >= 0 that sum to 1")
        object.__setattr__(self, "draws", draws)

    def __len__(self) -> int:
        return len(self.draws)

    @property
    def values(self) -> int:
        """n, the number of sensitive values."""
        return int(self.draws.shape[1])

    @cached_property
    def coordinates(self) -> Coordinates:
        """The confidence in each value."""
        return Coordinates(np.ascontiguousarray(self.draws.T))

    @property
    def columns(self) -> Floats:
        """The draws of each value in one piece of memory.  # [n, draws]"""
        return self.coordinates.columns

    @property
    def ordered(self) -> Floats:
        """The order statistics of each value.  # [n, draws]"""
        return self.coordinates.ordered

    @cached_property
    def normalised(self) -> Floats:
        """The draws without what the tolerance let pass: nothing negative, and rows that sum to 1.  # [draws, n]"""
        return on_simplex(self.draws)

    def under(self, transform: Transform) -> Coordinates:
        """The coordinates that a transform makes of the draws; those of the last transform are kept."""
        last: tuple[Transform, Coordinates] | None = self.__dict__.get("_under")
        if last is None or last[0] != transform:
            last = transform, Coordinates(transform(np.ascontiguousarray(self.normalised.T)))
            object.__setattr__(self, "_under", last)
        return last[1]


def on_simplex(rows: Floats) -> Floats:
    """Rows within the tolerance of the simplex as points of it.  # [..., n]"""
    points: Floats = np.maximum(rows, 0.0)
    points /= points.sum(axis=-1, keepdims=True)
    return points


def as_samples(draws: Floats | Samples) -> Samples:
    """The draws as `Samples`, which may already carry their order."""
    return draws if isinstance(draws, Samples) else Samples(draws)


def same_values(present: Floats | Samples, absent: Floats | Samples) -> tuple[Samples, Samples]:
    """Both sides as samples of the same sensitive values."""
    x, y = as_samples(present), as_samples(absent)
    if x.values != y.values:
        raise InputError(f"one side predicts {x.values} sensitive values and the other {y.values}")
    return x, y


def same_draws(present: Floats | Samples, absent: Floats | Samples) -> tuple[Samples, Samples]:
    """Both sides as samples whose draws pair up."""
    x, y = same_values(present, absent)
    if len(x) != len(y):
        raise InputError(f"pairs need as many draws on both sides; got {len(x)} present and {len(y)} absent")
    return x, y


def pair_lengths(x: Coordinates, y: Coordinates, largest: float) -> Floats:
    """‖xₖ − yₖ‖₁ of each pair of draws, which rounding must not carry beyond `largest`.  # [draws]"""
    gaps = x.columns - y.columns
    lengths: Floats = np.abs(gaps, out=gaps).sum(axis=0)
    return np.minimum(lengths, largest, out=lengths)


def wasserstein(x: Coordinates, y: Coordinates) -> Floats:
    """W₁ of the two empirical laws of each coordinate (v2, eq. 1).  # [coordinates]"""
    if len(x) != len(y):
        return _unequal(x.ordered, y.ordered)
    if len(x) == 1:
        return np.abs(x.columns[:, 0] - y.columns[:, 0])
    if len(x) < MANY:
        moved: Floats = np.abs(x.ordered - y.ordered).mean(axis=1)
        return moved
    return np.array([_of_many(a, b) for a, b in zip(x.columns, y.columns, strict=True)])


def _of_many(x: Floats, y: Floats) -> float:
    """W₁ of one coordinate, at once if all pairs moved one way: then x₍ₖ₎ ≥ y₍ₖ₎ (or ≤) for every k too."""
    moved = x - y
    return abs(float(moved.mean())) if moved.min() >= 0 or moved.max() <= 0 else _by_cells(x, y)


def _unequal(x: Floats, y: Floats) -> Floats:
    """∫|F⁻¹ − G⁻¹| for unequal numbers of draws: steps that are cut at every i/N and every k/M."""
    many, more = x.shape[1], y.shape[1]
    ends = np.union1d(np.arange(1, many + 1) * more, np.arange(1, more + 1) * many)
    starts = np.concatenate([[0], ends[:-1]])
    gaps = np.abs(x[:, starts // more] - y[:, starts // many])
    result: Floats = (gaps * (ends - starts)).sum(axis=1) / (many * more)
    return result


def _by_cells(x: Floats, y: Floats) -> float:
    """W₁ = ∫|F̂ − Ĝ|, sorting only inside the cells of a grid where F̂ − Ĝ may change its sign.

    Elsewhere the integral of the absolute value is that of F̂ − Ĝ, which counts and sums of the cell tell.
    """
    start = min(x.min(), y.min())
    width = (max(x.max(), y.max()) - start) / CELLS
    at_x, at_y = ((side - start) / width for side in (x, y))
    cell_x, cell_y = at_x.astype(np.intp), at_y.astype(np.intp)
    count_x, count_y = (np.bincount(cell, minlength=CELLS + 1) for cell in (cell_x, cell_y))
    after = np.cumsum(count_x - count_y)  # N (F̂ − Ĝ) at the right end of each cell
    before = after - count_x + count_y
    crossing = (before < count_y) & (-before < count_x)
    rest_x, rest_y = at_x[crossing[cell_x]], at_y[crossing[cell_y]]
    if len(rest_x) + len(rest_y) > len(x):
        return float(np.abs(np.sort(x) - np.sort(y)).mean())
    sums = np.bincount(cell_x, at_x, CELLS + 1) - np.bincount(cell_y, at_y, CELLS + 1)
    edges = np.arange(CELLS + 2)
    areas = before + (after - before) * edges[1:] - sums  # in units of N · width
    crossed = np.flatnonzero(crossing)
    places = np.concatenate([rest_x, rest_y, edges[crossed], edges[crossed + 1]])
    ones = np.ones(len(rest_x)), -np.ones(len(rest_y))
    steps = np.concatenate([*ones, before[crossed], -after[crossed]])
    order = np.argsort(places)
    inside = float((np.abs(np.cumsum(steps[order])[:-1]) * np.diff(places[order])).sum())
    return (float(np.abs(areas[~crossing]).sum()) + inside) * float(width) / len(x)
