"""Confidence bounds on distances between laws, on means and on probabilities; knows draws, never their origin.

Every bound here is proved for every law of predictions and every number of draws; none is asymptotic.

The distance is d = Σₑ W₁(law of xₑ, law of yₑ) over the coordinates e of two random predictions (`Coordinates`: the
confidences themselves, or sums of them). `span` is the largest ‖x − y‖₁ there is: 2 for confidences. With V the
signed measure δₓ − δᵧ of one pair, d is the norm of E V and the plug-in d̂ that of its average over the draws, for
‖V‖ = sup h(x) − h(y) over h(x) = Σₑ φₑ(xₑ) with 1-Lipschitz φₑ (Kantorovich duality), and
|h(x) − h(y)| ≤ ‖x − y‖₁ ≤ span. From this follow

- the upper limit: the mean of ‖x − y‖₁ over coupled pairs is at least d, and so is the mean of d̂; the first is
  bounded by betting on a mean, the second by how closely d̂ keeps to its mean;
- the lower limit: a potential h is learnt on the first draws, and E h(x) − E h(y) ≤ d is bounded on the others by
  betting; with few draws, bands around the distribution functions may say more.

What needs no more than this from a distance is public for others: `upper_of_sides`, `lower_by_potential`,
`mean_at_least`, `mean_at_most` and `mean_limits`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
from scipy.special import betaincinv

from harness.measuring.samples import Coordinates, Floats, pair_lengths

# How the error level of one end is shared between the bounds of which the best is taken.
MEAN_OF_PAIRS, NORM_OF_PAIRS, SQUARE_OF_PAIRS = 0.80, 0.16, 0.04
BOUNDED_STEPS, NORM_OF_SIDES, SPREAD_OF_SIDE = 0.20, 0.70, 0.05  # the last for each side
DUALITY, BANDS = 0.80, 0.20

SIMPLEX_SPAN = 2.0  # the largest ‖x − y‖₁ of two points of the simplex
BANDS_UP_TO = 2_000  # draws; beyond it all of the level goes to duality, which needs no sorting
MAX_STAKE = 0.9  # the largest share of the capital staked on one draw
CELLS = 256  # of a potential's grid


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
    return 1.0 if count >= draws else float(betaincinv(count + 1, draws - count, 1 - alpha))


def binomial_lower(count: int, draws: int, alpha: float) -> float:
    """Clopper-Pearson: the probability of which `count` or more in `draws` has chance alpha."""
    return 0.0 if count <= 0 else float(betaincinv(count, draws - count + 1, alpha))


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
    return upper_of_sides((x.columns, y.columns), estimate, alpha, span)


def lower(x: Coordinates, y: Coordinates, alpha: float, *, span: float = SIMPLEX_SPAN) -> float:
    """d is at least this, except with probability alpha, whether or not the draws are coupled."""
    draws = min(len(x), len(y))
    left, right = x.columns[:, :draws], y.columns[:, :draws]
    learn = partial(_learn, span=span)
    if draws > BANDS_UP_TO:
        return lower_by_potential(left, right, alpha, span, learn)
    dual = lower_by_potential(left, right, DUALITY * alpha, span, learn)
    return max(dual, _lower_by_bands(x.ordered, y.ordered, BANDS * alpha))


def mean_at_least(values: Floats, alpha: float, *, span: float, seen: int = 0, below: Floats | float = 0.0) -> float:
    """A lower confidence bound, from 0 up, on the mean of values ≥ −`below`, by betting that it is larger.

    Waudby-Smith & Ramdas: were the mean at most m, the capital Π(1 + λₜ(zₜ − m)) would be a nonnegative
    supermartingale for stakes λₜ ≤ 1/(m + belowₜ) set by the past, and reach 1/alpha with probability at most
    alpha. The first `seen` values set stakes and are not bet on; `span` is the width of what the first ones can be.
    """
    goal = math.log(1 / alpha)
    stakes, bets = _stakes(values, goal, span, seen), values[seen:]

    def gained(mean: float) -> float:
        return float(np.log1p(np.minimum(stakes, MAX_STAKE / (mean + below)) * (bets - mean)).sum()) - goal

    least, most = 1e-9 * span, float(bets.max())
    if most <= least or gained(least) <= 0:
        return 0.0
    # The capital falls as m grows, so every m below the root is refuted; stay on that side of it.
    from scipy.optimize import brentq  # late: it takes longer to import than most audits need

    root: float = brentq(gained, least, most, xtol=1e-8 * span, rtol=1e-8)
    return max(0.0, root - 2e-8 * span)


def mean_at_most(values: Floats, alpha: float, *, span: float) -> float:
    """An upper confidence bound on the mean of values from 0 to `span`."""
    return span - mean_at_least(span - values, alpha, span=span)


def mean_limits(columns: Floats, alpha: float) -> tuple[Floats, Floats]:
    """Lower and upper limits of the means of rows of values from 0 to 1.  # [rows, draws] -> [rows] twice

    All of them hold at once, except with probability alpha.
    """
    each = alpha / (2 * len(columns))
    lows = [mean_at_least(row, each, span=1.0) for row in columns]
    highs = [mean_at_most(row, each, span=1.0) for row in columns]
    return np.array(lows), np.array(highs)


def _stakes(values: Floats, goal: float, span: float, seen: int) -> Floats:
    """The stakes that would be best if the values to come had the variance of those before."""
    squares = np.empty(len(values))
    squares[0] = span**2 / 4  # the largest variance there is, until something is seen
    squares[1:] = (values[1:] - np.cumsum(values[:-1]) / np.arange(1, len(values))) ** 2
    variances = np.cumsum(squares) / np.arange(1, len(values) + 1)
    before = np.concatenate([squares[:1], variances[:-1]])[seen:]
    return np.sqrt(2 * goal / (len(before) * before))


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

    The mean gain of every potential is at most d: learn one on the draws so far, bet on those to come.
    """
    draws = x.shape[1]
    first, second = draws // 4, draws // 2
    if first < 2:
        return 0.0
    price = math.log(1 / alpha) / (draws - first)
    early, late = (learn(x[:, :seen], y[:, :seen], price) for seen in (first, second))
    if early.oscillation == late.oscillation == 0:
        return 0.0
    gains = np.concatenate([early.gains(x[:, :second], y[:, :second]), late.gains(x[:, second:], y[:, second:])])
    # Each part is bet on with the oscillation of the potential it uses, which is known before it begins.
    below = np.repeat([early.oscillation, late.oscillation], [second - first, draws - second])
    return mean_at_least(gains, alpha, span=2 * (early.oscillation or span), seen=first, below=below)


@dataclass(frozen=True, eq=False)
class PiecewisePotential:
    """h(x) = Σₑ φₑ(xₑ), each φₑ straight in the cells of its own grid and constant outside it."""

    start: Floats  # [coordinates]
    width: Floats  # [coordinates]
    slopes: Floats  # [coordinates, CELLS], each −1, 0 or 1
    span: float

    @property
    def oscillation(self) -> float:
        """The most h can differ by between two predictions."""
        return min(self.span, float((np.ptp(self._heights(), axis=1) * self.width).sum()))

    def gains(self, x: Floats, y: Floats) -> Floats:
        """h(x) − h(y) of each pair.  # [draws]"""
        total = np.zeros(x.shape[1])
        for j, heights in enumerate(self._heights()):
            for side, sign in ((x[j], 1.0), (y[j], -1.0)):
                place = np.clip((side - self.start[j]) / self.width[j], 0.0, CELLS)
                cell = np.minimum(place.astype(np.intp), CELLS - 1)
                height = heights.take(cell) + self.slopes[j].take(cell) * (place - cell)
                total += sign * self.width[j] * height
        return np.clip(total, -self.oscillation, self.oscillation)  # no more than rounding

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


def _learn(x: Floats, y: Floats, price: float, span: float) -> Potential:
    """The potential whose bound promises most: what it gains on these draws less `price` times its oscillation."""
    start = np.minimum(x.min(axis=1), y.min(axis=1))
    reach = np.maximum(x.max(axis=1), y.max(axis=1)) - start
    moved = x - y
    means = moved.mean(axis=1)
    one_way = bool(((moved.min(axis=1) >= 0) | (moved.max(axis=1) <= 0)).all())
    if one_way and reach.sum() >= span and np.abs(means).sum() > 10 * price * span:
        return StraightPotential(np.sign(means), span)
    width = np.where(reach > 0, reach, 1.0) / CELLS
    # The steepest ascent of ∫ φ' (Ĝ − F̂) is φ' = sign(Ĝ − F̂); a cell whose gap is below the price costs more
    # oscillation than it gains, unless the oscillation has reached its limit, the span, anyway.
    gaps = (_below(y, start, width) - _below(x, start, width)) / x.shape[1]
    signs = (np.sign(gaps) * (np.abs(gaps) > least) for least in (0.0, price))
    options = [PiecewisePotential(start, width, slopes, span) for slopes in signs]
    return max(options, key=lambda h: float((h.slopes * gaps).sum(axis=1) @ width) - price * h.oscillation)


def _below(side: Floats, start: Floats, width: Floats) -> Floats:
    """How many draws lie below each cell, and half of those in it.  # [coordinates, CELLS]"""
    cells = ((row - begin) / step for row, begin, step in zip(side, start, width, strict=True))
    counts = [np.bincount(np.minimum(cell.astype(np.intp), CELLS - 1), minlength=CELLS) for cell in cells]
    inside = np.array(counts)
    result: Floats = np.cumsum(inside, axis=1) - inside / 2
    return result
