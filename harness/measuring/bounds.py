"""Confidence bounds on d = Σⱼ W₁(Pⱼ, P⁻ⱼ), means and probabilities; knows draws, never where they come from.

Every bound here is proved for every law of predictions and every number of draws; none is asymptotic. With V
the signed measure δₓ − δᵧ of one pair, d is the norm of E V and d̂ that of its average over the draws, for
‖V‖ = sup h(x) − h(y) over h(x) = Σⱼ φⱼ(xⱼ) with 1-Lipschitz φⱼ (Kantorovich duality). On the simplex
|h(x) − h(y)| ≤ ‖x − y‖₁ ≤ 2.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

from harness.measuring.divergence import Floats, Samples, paired

# How the error level of one end is shared between the bounds of which the best is taken.
MEAN_OF_PAIRS, NORM_OF_PAIRS, SQUARE_OF_PAIRS = 0.80, 0.16, 0.04
BOUNDED_STEPS, NORM_OF_SIDES, SPREAD_OF_SIDE = 0.20, 0.70, 0.05  # the last for each side
DUALITY, BANDS = 0.80, 0.20

BANDS_UP_TO = 2_000  # draws; beyond it all of the level goes to duality, which needs no sorting
BOLDNESS = 0.9  # the largest share of the capital staked on one draw
CELLS = 256  # of a potential's grid


def binomial_upper(count: int, draws: int, alpha: float) -> float:
    """Clopper-Pearson: the probability of which `count` or fewer in `draws` has chance alpha."""
    return 1.0 if count >= draws else float(betaincinv(count + 1, draws - count, 1 - alpha))


def binomial_lower(count: int, draws: int, alpha: float) -> float:
    """Clopper-Pearson: the probability of which `count` or more in `draws` has chance alpha."""
    return 0.0 if count <= 0 else float(betaincinv(count, draws - count + 1, alpha))


def interval(x: Samples, y: Samples, estimate: float, alpha: float, *, coupled: bool) -> tuple[float, float]:
    """d lies between these, except with probability alpha: half of it for either end."""
    high = upper(x, y, estimate, alpha / 2, coupled=coupled)
    return min(high, lower(x, y, alpha / 2)), high


def upper(x: Samples, y: Samples, estimate: float, alpha: float, *, coupled: bool) -> float:
    """d is at most this, except with probability alpha; `estimate` is the plug-in d̂ of the same draws."""
    if coupled:
        return min(2.0, _upper_of_pairs(paired(x, y), estimate, alpha))
    return min(2.0, _upper_of_sides(x.columns, y.columns, estimate, alpha))


def lower(x: Samples, y: Samples, alpha: float) -> float:
    """d is at least this, except with probability alpha, whether or not the draws are coupled."""
    draws = min(len(x), len(y))
    left, right = x.columns[:, :draws], y.columns[:, :draws]
    if draws > BANDS_UP_TO:
        return max(0.0, _lower_by_duality(left, right, alpha))
    dual = _lower_by_duality(left, right, DUALITY * alpha)
    return max(0.0, dual, _lower_by_bands(x.ordered, y.ordered, BANDS * alpha))


def mean_at_least(values: Floats, alpha: float, *, span: float, seen: int = 0, below: Floats | float = 0.0) -> float:
    """A lower confidence bound, from 0 up, on the mean of values ≥ −`below`, by betting that it is larger.

    Waudby-Smith & Ramdas: were the mean at most m, the capital Π(1 + λₜ(zₜ − m)) would be a nonnegative
    supermartingale for stakes λₜ ≤ 1/(m + belowₜ) set by the past, and reach 1/alpha with probability at most
    alpha. The first `seen` values set stakes and are not bet on; `span` is the width of what the first ones can be.
    """
    goal = math.log(1 / alpha)
    stakes, bets = _stakes(values, goal, span, seen), values[seen:]

    def gained(mean: float) -> float:
        return float(np.log1p(np.minimum(stakes, BOLDNESS / (mean + below)) * (bets - mean)).sum()) - goal

    least, most = 1e-9 * span, float(bets.max())
    if most <= least or gained(least) <= 0:
        return 0.0
    # The capital falls as m grows, so every m below the root is refuted; stay on that side of it.
    from scipy.optimize import brentq  # late: it takes longer to import than most audits need

    root: float = brentq(gained, least, most, xtol=1e-8 * span, rtol=1e-8)
    return max(0.0, root - 2e-8 * span)


def _stakes(values: Floats, goal: float, span: float, seen: int) -> Floats:
    """The stakes that would be best if the values to come had the variance of those before."""
    squares = np.empty(len(values))
    squares[0] = span**2 / 4  # the largest variance there is, until something is seen
    squares[1:] = (values[1:] - np.cumsum(values[:-1]) / np.arange(1, len(values))) ** 2
    variances = np.cumsum(squares) / np.arange(1, len(values) + 1)
    before = np.concatenate([squares[:1], variances[:-1]])[seen:]
    return np.sqrt(2 * goal / (len(before) * before))


def _upper_of_pairs(moved: Floats, estimate: float, alpha: float) -> float:
    """E‖x − y‖₁ ≥ d for every coupling; E d̂ ≥ d too (Jensen), and d̂ keeps close to its mean."""
    mean = 2.0 - mean_at_least(2.0 - moved, MEAN_OF_PAIRS * alpha, span=2.0)
    variance = _mean_square(moved, SQUARE_OF_PAIRS * alpha) / len(moved)
    return min(mean, estimate + _shortfall(variance, 2 / len(moved), NORM_OF_PAIRS * alpha))


def _upper_of_sides(x: Floats, y: Floats, estimate: float, alpha: float) -> float:
    """E d̂ ≥ d (Jensen, any joint law); one draw of N moves d̂ by at most 2/N, and mostly by less."""
    sizes = x.shape[1], y.shape[1]
    steps = sum(4 / size for size in sizes)  # Σ c² of McDiarmid's inequality
    plain = math.sqrt(steps * math.log(1 / (BOUNDED_STEPS * alpha)) / 2)
    variance = _spread(x, SPREAD_OF_SIDE * alpha) / sizes[0] + _spread(y, SPREAD_OF_SIDE * alpha) / sizes[1]
    return estimate + min(plain, _shortfall(variance, 2 / min(sizes), NORM_OF_SIDES * alpha))


def _shortfall(variance: float, largest: float, alpha: float) -> float:
    """How far d̂ may fall below its mean, except with probability alpha.

    Reveal the draws one by one. Each step of E[d̂ | revealed] is W − E W, where W compares d̂ with d̂ when that
    draw is left out (a pair: |W| ≤ ‖x − y‖₁/N) or put at a fixed point c (of one side: |W| ≤ ‖x − c‖₁/N).
    Bennett's argument for martingales then needs only W ≥ −`largest` and Σ E W² ≤ `variance`.
    """
    goal = math.log(1 / alpha)
    return math.sqrt(2 * variance * goal) + largest * goal / 3


def _mean_square(lengths: Floats, alpha: float) -> float:
    """An upper confidence bound on E L² for lengths L in [0, 2].

    The mean of L² ≥ 0 falls short by s with probability at most exp(−N s² / 2 E L⁴), and E L⁴ ≤ 4 E L².
    """
    slack = 2 * math.log(1 / alpha) / len(lengths)
    return min(4.0, (math.sqrt(slack) + math.sqrt(slack + float(np.square(lengths).mean()))) ** 2)


def _spread(side: Floats, alpha: float) -> float:
    """An upper confidence bound on min E‖x − c‖₁² over c: the mean of half the draws, tried on the rest."""
    if side.shape[1] < 2:
        return 4.0
    center = side[:, ::2].mean(axis=1, keepdims=True)
    return _mean_square(np.minimum(np.abs(side[:, 1::2] - center).sum(axis=0), 2.0), alpha)


def _lower_by_bands(x: Floats, y: Floats, alpha: float) -> float:
    """Σⱼ ∫ max(0, |F̂ⱼ − Ĝⱼ| − e) ≤ d when all 2n distribution functions keep within Massart's bands."""
    each = alpha / (2 * len(x))
    error = sum(math.sqrt(math.log(2 / each) / (2 * side.shape[1])) for side in (x, y))
    total = 0.0
    for left, right in zip(x, y, strict=True):
        knots = np.sort(np.concatenate([left, right]))
        shares = (np.searchsorted(side, knots[:-1], "right") / len(side) for side in (left, right))
        gaps = np.abs(np.subtract(*shares)) - error
        total += float(np.maximum(0.0, gaps) @ np.diff(knots))
    return total


def _lower_by_duality(x: Floats, y: Floats, alpha: float) -> float:
    """E h(x) − E h(y) ≤ d for every potential h: learn h on the draws so far, bet on those to come."""
    draws = x.shape[1]
    first, second = draws // 4, draws // 2
    if first < 2:
        return 0.0
    price = math.log(1 / alpha) / (draws - first)
    early, late = (_learn(x[:, :seen], y[:, :seen], price) for seen in (first, second))
    if early.swing == late.swing == 0:
        return 0.0
    gains = np.concatenate([early.gains(x[:, :second], y[:, :second]), late.gains(x[:, second:], y[:, second:])])
    # Each part is bet on with the swing of the potential it uses, which is known before it begins.
    below = np.repeat([early.swing, late.swing], [second - first, draws - second])
    return mean_at_least(gains, alpha, span=2 * (early.swing or 2.0), seen=first, below=below)


@dataclass(frozen=True, eq=False)
class _Bent:
    """h(x) = Σⱼ φⱼ(xⱼ), each φⱼ straight in the cells of its own grid and constant outside it."""

    start: Floats  # (n,)
    width: Floats  # (n,)
    slopes: Floats  # (n, CELLS), each −1, 0 or 1

    @property
    def swing(self) -> float:
        """The most h can differ by between two predictions."""
        return min(2.0, float((np.ptp(self._heights(), axis=1) * self.width).sum()))

    def gains(self, x: Floats, y: Floats) -> Floats:
        """h(x) − h(y) of each pair."""
        total = np.zeros(x.shape[1])
        for j, heights in enumerate(self._heights()):
            for side, sign in ((x[j], 1.0), (y[j], -1.0)):
                place = np.clip((side - self.start[j]) / self.width[j], 0.0, CELLS)
                cell = np.minimum(place.astype(np.intp), CELLS - 1)
                height = heights.take(cell) + self.slopes[j].take(cell) * (place - cell)
                total += sign * self.width[j] * height
        return np.clip(total, -self.swing, self.swing)  # no more than rounding

    def _heights(self) -> Floats:
        """φⱼ at the ends of its cells, in units of their width."""  # (n, CELLS + 1)
        return np.pad(np.cumsum(self.slopes, axis=1), ((0, 0), (1, 0)))


@dataclass(frozen=True, eq=False)
class _Straight:
    """h(x) = Σⱼ ±xⱼ, all that is needed when every value moved in one direction."""

    slopes: Floats  # (n,)
    swing: float = 2.0

    def gains(self, x: Floats, y: Floats) -> Floats:
        """h(x) − h(y) of each pair."""
        moved: Floats = np.einsum("j,jk->k", self.slopes, x - y)
        return np.clip(moved, -self.swing, self.swing)


def _learn(x: Floats, y: Floats, price: float) -> _Bent | _Straight:
    """The potential whose bound promises most: what it gains on these draws less `price` times its swing."""
    start = np.minimum(x.min(axis=1), y.min(axis=1))
    reach = np.maximum(x.max(axis=1), y.max(axis=1)) - start
    moved = x - y
    means = moved.mean(axis=1)
    one_way = bool(((moved.min(axis=1) >= 0) | (moved.max(axis=1) <= 0)).all())
    if one_way and reach.sum() >= 2 and np.abs(means).sum() > 20 * price:
        return _Straight(np.sign(means))
    width = np.where(reach > 0, reach, 1.0) / CELLS
    # The steepest ascent of ∫ φ' (Ĝ − F̂) is φ' = sign(Ĝ − F̂); a cell whose gap is below the price costs more
    # swing than it gains, unless the swing has reached its limit of 2 anyway.
    gaps = (_below(y, start, width) - _below(x, start, width)) / x.shape[1]
    options = [_Bent(start, width, np.sign(gaps) * (np.abs(gaps) > least)) for least in (0.0, price)]
    return max(options, key=lambda h: float((h.slopes * gaps).sum(axis=1) @ width) - price * h.swing)


def _below(side: Floats, start: Floats, width: Floats) -> Floats:
    """How many draws lie below each cell, and half of those in it."""  # (n, CELLS)
    cells = ((row - begin) / step for row, begin, step in zip(side, start, width, strict=True))
    counts = [np.bincount(np.minimum(cell.astype(np.intp), CELLS - 1), minlength=CELLS) for cell in cells]
    inside = np.array(counts)
    result: Floats = np.cumsum(inside, axis=1) - inside / 2
    return result
