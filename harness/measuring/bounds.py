"""Confidence bounds on distances between laws, on means and on probabilities; knows draws, never their origin.

Every bound here is proved for every law of predictions and every number of draws; none is asymptotic.

The distance is d = Σₑ W₁(law of xₑ, law of yₑ) over the coordinates e of two random predictions (`Coordinates`: the
confidences themselves, or sums of them). `span` is the largest ‖x − y‖₁ there is: 2 for confidences. With V the
signed measure δₓ − δᵧ of one pair, d is the norm of E V and the plug-in d̂ that of its average over the draws, for
‖V‖ = sup h(x) − h(y) over h(x) = Σₑ φₑ(xₑ) with 1-Lipschitz φₑ (Kantorovich duality), and
|h(x) − h(y)| ≤ ‖x − y‖₁ ≤ span. From this follow

- the upper limit: the mean of ‖x − y‖₁ over pairs of draws is at least d, coupled or not, and so is the mean of d̂;
  the first is bounded by betting on a mean, the second by how closely d̂ keeps to its mean;
- the lower limit: a potential h is learnt on the first draws, and E h(x) − E h(y) ≤ d is bounded on the others by
  betting; with few draws, bands around the distribution functions may say more.

How a potential is learnt decides how much of d it gains. The best slope of φₑ is +1 where x lies above y and −1 where
below, and with many coordinates most of these signs cannot be told from few draws: a recipe (`_Recipe`) says which
sign is taken where the draws do not tell. Half of the draws at hand try the recipes on the other half; the one that
promises most is followed with all of them.

What needs no more than this from a distance is public for others: `upper_of_sides` and `lower_by_potential`. Bounds on
means are those of `betting`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Protocol

import numpy as np

from harness.measuring import special
from harness.measuring.betting import mean_at_least, mean_at_most, mean_limits
from harness.measuring.samples import Coordinates, Floats, pair_lengths

# How the error level of one end is shared between the bounds of which the best is taken.
MEAN_OF_PAIRS, NORM_OF_PAIRS, SQUARE_OF_PAIRS = 0.80, 0.16, 0.04
PAIRS_OF_SIDES, ALL_OF_SIDES = 0.20, 0.80
BOUNDED_STEPS, NORM_OF_SIDES, SPREAD_OF_SIDE = 0.20, 0.70, 0.05  # of what is `ALL_OF_SIDES`; the last for each side
DUALITY, BANDS = 0.80, 0.20

SIMPLEX_SPAN = 2.0  # the largest ‖x − y‖₁ of two points of the simplex
BANDS_UP_TO = 2_000  # draws; beyond it all of the level goes to duality, which needs no sorting
MANY_COORDINATES = 20  # from which bands say nothing, and a potential is worth learning once more
CELLS = 256  # of a potential's grid
SOME = 500  # pairs that are looked at before all are
TRIED = 700  # draws on which recipes are learnt, and as many on which they are tried

__all__ = [
    "LinearPotential", "PiecewisePotential", "Potential", "StraightPotential", "binomial_lower", "binomial_upper",
    "candidate_potentials", "interval", "learn_potential", "lower", "lower_by_potential", "mean_at_least",
    "mean_at_most", "mean_limits", "upper", "upper_of_sides",
]  # fmt: skip


class Potential(Protocol):
    """A function whose mean gain over pairs of draws is at most the distance."""

    @property
    def oscillation(self) -> float:
        """No pair gains less than minus this."""

    def gains(self, x: Floats, y: Floats) -> Floats:
        """What each pair of draws gains.  # [coordinates, draws] twice -> [draws]"""


Learner = Callable[[Floats, Floats, float], Potential]  # columns of both sides, and the price of a unit of oscillation


def binomial_upper(count: int, draws: int, alpha: float) -> float:
    """Clopper-Pearson: the probability of which `count` or fewer in `draws` has chance alpha."""
    return 1.0 if count >= draws else float(special.betaincinv(count + 1, draws - count, 1 - alpha))


def binomial_lower(count: int, draws: int, alpha: float) -> float:
    """Clopper-Pearson: the probability of which `count` or more in `draws` has chance alpha."""
    return 0.0 if count <= 0 else float(special.betaincinv(count, draws - count + 1, alpha))


def interval(
    x: Coordinates, y: Coordinates, estimate: float, alpha: float, *, coupled: bool, span: float = SIMPLEX_SPAN
) -> tuple[float, float]:
    """d lies between these, except with probability alpha: half of it for either end."""
    high = upper(x, y, estimate, alpha / 2, coupled=coupled, span=span)
    return min(high, lower(x, y, alpha / 2, span=span)), high


def upper(
    x: Coordinates, y: Coordinates, estimate: float, alpha: float, *, coupled: bool, span: float = SIMPLEX_SPAN
) -> float:
    """d is at most this, except with probability alpha; `estimate` is the plug-in d̂ of the same draws."""
    if coupled:
        return min(span, _upper_of_pairs(pair_lengths(x, y, span), estimate, alpha, span))
    high = upper_of_sides((x.columns, y.columns), estimate, ALL_OF_SIDES * alpha, span)
    # The limit of the pairs lies above their mean: of most laws, some of them show that they have nothing to add.
    for draws in (min(len(x), len(y), SOME), min(len(x), len(y))):
        moved = pair_lengths(Coordinates(x.columns[:, :draws]), Coordinates(y.columns[:, :draws]), span)
        if moved.mean() >= high:
            return high
    return min(high, mean_at_most(moved, PAIRS_OF_SIDES * alpha, span=span))


def lower(x: Coordinates, y: Coordinates, alpha: float, *, span: float = SIMPLEX_SPAN) -> float:
    """d is at least this, except with probability alpha, whether or not the draws are coupled."""
    draws = min(len(x), len(y))
    left, right = x.columns[:, :draws], y.columns[:, :draws]
    learn = partial(_learn, span=span)
    if draws > BANDS_UP_TO or len(left) >= MANY_COORDINATES:
        return lower_by_potential(left, right, alpha, span, learn)
    dual = lower_by_potential(left, right, DUALITY * alpha, span, learn)
    return max(dual, _lower_by_bands(x.ordered, y.ordered, BANDS * alpha))


def _upper_of_pairs(moved: Floats, estimate: float, alpha: float, span: float) -> float:
    """E‖x − y‖₁ ≥ d for every coupling; E d̂ ≥ d too (Jensen), and d̂ keeps close to its mean."""
    mean = mean_at_most(moved, MEAN_OF_PAIRS * alpha, span=span)
    variance = _mean_square(moved, SQUARE_OF_PAIRS * alpha, span) / len(moved)
    return min(mean, estimate + _shortfall(variance, span / len(moved), NORM_OF_PAIRS * alpha))


def upper_of_sides(sides: Sequence[Floats], estimate: float, alpha: float, span: float) -> float:
    """d is at most this, except with probability alpha, when the sides are drawn independently.

    E d̂ ≥ d (Jensen, any joint law); one draw of N moves d̂ by at most span/N, and mostly by less. True of every
    jointly convex distance of mean predictions that changes by no more than ‖x − x'‖₁/N when a draw x becomes x'.
    """
    sizes = [side.shape[1] for side in sides]
    steps = sum(span**2 / size for size in sizes)  # Σ c² of McDiarmid's inequality
    plain = math.sqrt(steps * math.log(1 / (BOUNDED_STEPS * alpha)) / 2)
    spreads = (_spread(side, SPREAD_OF_SIDE * alpha, span) for side in sides)
    variance = sum(spread / size for spread, size in zip(spreads, sizes, strict=True))
    return min(span, estimate + min(plain, _shortfall(variance, span / min(sizes), NORM_OF_SIDES * alpha)))


def _shortfall(variance: float, largest: float, alpha: float) -> float:
    """How far d̂ may fall below its mean, except with probability alpha.

    Reveal the draws one by one. Each step of E[d̂ | revealed] is W − E W, where W compares d̂ with d̂ when that
    draw is left out (a pair: |W| ≤ ‖x − y‖₁/N) or put at a fixed point c (of one side: |W| ≤ ‖x − c‖₁/N).
    Bennett's argument for martingales then needs only W ≥ −`largest` and Σ E W² ≤ `variance`.
    """
    goal = math.log(1 / alpha)
    return math.sqrt(2 * variance * goal) + largest * goal / 3


def _mean_square(lengths: Floats, alpha: float, span: float) -> float:
    """An upper confidence bound on E L² for lengths L from 0 to `span`.

    The mean of L² ≥ 0 falls short by s with probability at most exp(−N s² / 2 E L⁴), and E L⁴ ≤ span² E L².
    """
    slack = span**2 / 2 * math.log(1 / alpha) / len(lengths)
    return min(span**2, (math.sqrt(slack) + math.sqrt(slack + float(np.square(lengths).mean()))) ** 2)


def _spread(side: Floats, alpha: float, span: float) -> float:
    """An upper confidence bound on min E‖x − c‖₁² over c: the mean of half the draws, tried on the rest."""
    if side.shape[1] < 2:
        return span**2
    center = side[:, ::2].mean(axis=1, keepdims=True)
    return _mean_square(np.minimum(np.abs(side[:, 1::2] - center).sum(axis=0), span), alpha, span)


def _lower_by_bands(x: Floats, y: Floats, alpha: float) -> float:
    """Σₑ ∫ max(0, |F̂ₑ − Ĝₑ| − band) ≤ d when all distribution functions keep within Massart's bands."""
    each = alpha / (2 * len(x))
    error = sum(math.sqrt(math.log(2 / each) / (2 * side.shape[1])) for side in (x, y))
    total = 0.0
    for left, right in zip(x, y, strict=True):
        knots = np.sort(np.concatenate([left, right]))
        shares = (np.searchsorted(side, knots[:-1], "right") / len(side) for side in (left, right))
        gaps = np.abs(np.subtract(*shares)) - error
        total += float(np.maximum(0.0, gaps) @ np.diff(knots))
    return total


def lower_by_potential(x: Floats, y: Floats, alpha: float, span: float, learn: Learner) -> float:
    """d is at least this, except with probability alpha.

    The mean gain of every potential is at most d: learn one on the draws so far, bet on those to come. It is learnt
    on a quarter of the draws and again on a half; of many coordinates on a sixth, a third and two thirds.
    """
    draws = x.shape[1]
    starts = [draws // 6, draws // 3, 2 * draws // 3] if len(x) >= MANY_COORDINATES else [draws // 4, draws // 2]
    first, ends = starts[0], [*starts[1:], draws]
    if first < 2:
        return 0.0
    price = math.log(1 / alpha) / (draws - first)
    potentials = [learn(x[:, :seen], y[:, :seen], price) for seen in starts]
    if all(potential.oscillation == 0 for potential in potentials):
        return 0.0
    parts = [(0, ends[0]), *zip(starts[1:], ends[1:], strict=True)]  # the first potential's own draws set stakes
    gains = [
        potential.gains(x[:, start:end], y[:, start:end])
        for potential, (start, end) in zip(potentials, parts, strict=True)
    ]
    # Each part is bet on with the oscillation of the potential it uses, which is known before it begins.
    oscillations = [potential.oscillation for potential in potentials]
    below = np.repeat(oscillations, np.diff([*starts, draws]))
    return mean_at_least(np.concatenate(gains), alpha, span=2 * (oscillations[0] or span), seen=first, below=below)


@dataclass(frozen=True, eq=False)
class PiecewisePotential:
    """h(x) = Σₑ φₑ(xₑ), each φₑ straight in the cells of its own grid and constant outside it."""

    start: Floats  # [coordinates]
    width: Floats  # [coordinates]
    slopes: Floats  # [coordinates, CELLS], each −1, 0 or 1
    span: float

    @cached_property
    def oscillation(self) -> float:
        """The most h can differ by between two predictions."""
        return min(self.span, float((np.ptp(self._heights, axis=1) * self.width).sum()))

    def gains(self, x: Floats, y: Floats) -> Floats:
        """h(x) − h(y) of each pair.  # [draws]"""
        moved: Floats = self.heights(x) - self.heights(y)
        return np.clip(moved, -self.oscillation, self.oscillation)  # no more than rounding

    def heights(self, side: Floats) -> Floats:
        """h of each draw, all coordinates at once.  # [draws]"""
        places = np.clip((side - self.start[:, None]) / self.width[:, None], 0.0, CELLS)
        cells = np.minimum(places.astype(np.intp), CELLS - 1)
        rows = np.arange(len(side))[:, None]
        places -= cells
        places *= self.slopes.take(cells + rows * CELLS)
        places += self._heights.take(cells + rows * (CELLS + 1))
        heights: Floats = np.einsum("j,jk->k", self.width, places)
        return heights

    @cached_property
    def _heights(self) -> Floats:
        """φₑ at the ends of its cells, in units of their width.  # [coordinates, CELLS + 1]"""
        return np.pad(np.cumsum(self.slopes, axis=1), ((0, 0), (1, 0)))


@dataclass(frozen=True, eq=False)
class StraightPotential:
    """h(x) = Σₑ ±xₑ, all that is needed when every coordinate moved in one direction."""

    slopes: Floats  # [coordinates]
    oscillation: float

    def gains(self, x: Floats, y: Floats) -> Floats:
        """h(x) − h(y) of each pair.  # [draws]"""
        moved: Floats = np.einsum("j,jk->k", self.slopes, x - y)
        return np.clip(moved, -self.oscillation, self.oscillation)


@dataclass(frozen=True, eq=False)
class LinearPotential:
    """u·x + v·y, for distances of expected predictions that are at least u·p + v·q for all p and q."""

    u: Floats  # [n]
    v: Floats  # [n]

    @property
    def oscillation(self) -> float:
        """No pair of points of the simplex gains less than minus this."""
        return max(0.0, -float(self.u.min() + self.v.min()))

    def gains(self, x: Floats, y: Floats) -> Floats:
        """u·x + v·y of each pair.  # [draws]"""
        gains: Floats = np.einsum("j,jk->k", self.u, x) + np.einsum("j,jk->k", self.v, y)
        return np.maximum(gains, -self.oscillation)  # no more than rounding


@dataclass(frozen=True)
class _Recipe:
    """How slopes are made of draws."""

    # A coordinate rises if its mean gap is more than so many of its standard errors, and falls otherwise; None: it is
    # flat unless its mean gap is two standard errors. As confidences sum to 1, a few that clearly rise say that the
    # others fall together, though none of them shows it.
    rises_from: float | None
    # A cell has a slope of its own if its gap is more than so many standard errors; None: no cell has.
    clear_from: float | None = None


COORDINATES = tuple(map(_Recipe, (0.0, -1.0, 1.0, -2.0, 2.0, None)))


def _learn(x: Floats, y: Floats, price: float, span: float) -> Potential:
    """The potential whose bound promises most, `price` being ln(1/alpha) over the number of draws to bet on."""
    moved = x - y
    means = moved.mean(axis=1)
    one_way = bool(((moved.min(axis=1) >= 0) | (moved.max(axis=1) <= 0)).all())
    if one_way and _reach(x, y)[1].sum() >= span and np.abs(means).sum() > 10 * price * span:
        return StraightPotential(np.sign(means), span)
    recipe = _choose(x[:, : 2 * TRIED], y[:, : 2 * TRIED], price, span) if x.shape[1] >= 8 else _Recipe(0.0, 0.0)
    return _follow(recipe, x, y, price, span)


def learn_potential(
    x: Floats, y: Floats, alpha: float, *, draws: int | None = None, span: float = SIMPLEX_SPAN
) -> Potential:
    """A potential learnt on the columns of draws so far, to bet on draws to come: `draws` of them, or as many again.

    `bet_on_more(wager, potential.gains(x, y), epsilon, potential.oscillation)` bets on them that d is more than ε.
    """
    return _learn(x, y, math.log(1 / alpha) / (draws or x.shape[1]), span)


def candidate_potentials(x: Floats, y: Floats, span: float) -> list[Callable[[Floats], Floats]]:
    """Functions h of one side's draws, learnt from these, that change by at most ‖x − y‖₁ and tell the sides apart."""
    mean_gaps = _mean_gaps(x, y)
    straight = {tuple(_signs(recipe, mean_gaps).tolist()) for recipe in COORDINATES}
    start, reach = _reach(x, y)
    width = np.where(reach > 0, reach, 1.0) / CELLS
    gaps = _below(y, start, width) - _below(x, start, width)
    by_cells = PiecewisePotential(start, width, np.sign(gaps), span)
    return [partial(np.einsum, "j,jk->k", np.array(signs)) for signs in sorted(straight)] + [by_cells.heights]


def _choose(x: Floats, y: Floats, price: float, span: float) -> _Recipe:
    """The recipe that promises most when it is learnt on half of the draws and tried on the other half."""
    early, late = ((x[:, half::2], y[:, half::2]) for half in (0, 1))
    lengths, gaps, moved = _reach(*early)[1], _mean_gaps(*early), late[0] - late[1]

    def promise(gains: Floats, oscillation: float) -> float:
        """About the bound that a potential leads to."""
        return float(gains.mean()) - math.sqrt(2 * price * float(gains.var())) - price * oscillation

    def of_coordinates(recipe: _Recipe) -> float:
        signs = _signs(recipe, gaps)
        return promise(np.einsum("j,jk->k", signs, moved), min(span, float(np.abs(signs) @ lengths)))

    def of_cells(recipe: _Recipe) -> float:
        potential = _follow(recipe, *early, price, span)
        return promise(potential.gains(*late), potential.oscillation)

    best = max(COORDINATES, key=of_coordinates)
    return max(best, replace(best, clear_from=2.0), _Recipe(0.0, 0.0), key=of_cells)


def _signs(recipe: _Recipe, gaps: tuple[Floats, Floats]) -> Floats:
    """The slope of each coordinate.  # [coordinates]"""
    means, errors = gaps
    rises = recipe.rises_from
    flat_or_clear, either_way = np.sign(means) * (np.abs(means) > 2 * errors), means > (rises or 0.0) * errors
    signs: Floats = flat_or_clear if rises is None else np.where(either_way, 1.0, -1.0)
    return signs


def _mean_gaps(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """The mean of x − y of each coordinate, and its standard error.  # [coordinates] twice"""
    moved = x - y
    means = moved.mean(axis=1)
    moved -= means[:, None]
    squares: Floats = np.einsum("jk,jk->j", moved, moved)
    return means, np.sqrt(squares) / moved.shape[1]


def _follow(recipe: _Recipe, x: Floats, y: Floats, price: float, span: float) -> Potential:
    """The potential that a recipe makes of draws."""
    start, reach = _reach(x, y)
    signs = _signs(recipe, _mean_gaps(x, y))
    if recipe.clear_from is None and reach.sum() >= span:
        return StraightPotential(signs, span)
    width = np.where(reach > 0, reach, 1.0) / CELLS
    slopes = np.repeat(signs[:, None], CELLS, axis=1)
    if recipe.clear_from is None:
        return PiecewisePotential(start, width, slopes, span)
    # The steepest ascent of ∫ φ' (Ĝ − F̂) is φ' = sign(Ĝ − F̂); a cell whose gap is below the price costs more
    # oscillation than it gains, unless the oscillation has reached its limit, the span, anyway.
    draws = x.shape[1]
    below_x, below_y = (_below(side, start, width) / draws for side in (x, y))
    gaps = below_y - below_x
    noise = np.sqrt((below_x * (1 - below_x) + below_y * (1 - below_y)) / draws)
    slopes = np.where(np.abs(gaps) > recipe.clear_from * noise, np.sign(gaps), slopes)
    options = [PiecewisePotential(start, width, slopes * (np.abs(gaps) > least), span) for least in (-1.0, price)]
    return max(options, key=lambda h: float((h.slopes * gaps).sum(axis=1) @ width) - price * h.oscillation)


def _reach(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Where each coordinate starts, and how far it goes.  # [coordinates] twice"""
    start = np.minimum(x.min(axis=1), y.min(axis=1))
    return start, np.maximum(x.max(axis=1), y.max(axis=1)) - start


def _below(side: Floats, start: Floats, width: Floats) -> Floats:
    """How many draws lie below each cell, and half of those in it.  # [coordinates, CELLS]"""
    cells = np.minimum(((side - start[:, None]) / width[:, None]).astype(np.intp), CELLS - 1)
    cells += np.arange(len(side))[:, None] * CELLS
    inside = np.bincount(cells.ravel(), minlength=len(side) * CELLS).reshape(len(side), CELLS)
    result: Floats = np.cumsum(inside, axis=1) - inside / 2
    return result
