"""How often a pair of predictions differs by ε or more (v1, Definition 1); knows the distance of each pair.

T(ε) = Pr[distance ≥ ε] for one record depends on which pairs are meant. Of independent pairs it also carries the noise
of f itself. Of pairs with equal seeds it carries what the vendor's seeding makes of them, which need not be the
closest pairs there are. Two things tell what the record did from what f does anyway:

- the placebo (`placebo_delta`): the same tail between draws of f(D) with different seeds, x₁ and x₂, x₃ and x₄, …;
- a lower limit for every pairing (`delta_beyond_noise`). Let h change by no more than the distance of two predictions.
  A pair with h(x) ≥ t and h(y) ≤ t − ε is ε or more apart, so whatever the pairing (Strassen),
  T(ε) ≥ P(h(X) ≥ t) − P(h(Y) > t − ε). h and t are learnt on the first draws; on the others the right side is the mean
  of numbers −1, 0 and 1, bounded by betting. Without influence it is at most 0 for every h and t.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.measuring import special
from harness.measuring.betting import mean_at_least
from harness.measuring.bounds import binomial_lower, binomial_upper, candidate_potentials
from harness.measuring.divergence import Divergence, SumOfDistances
from harness.measuring.samples import Floats, Samples, same_values

ROUNDING = 1e-12  # a distance this close below ε counts as ε
LEARNING_SHARE = 3  # one in so many draws learns where to look for `delta_beyond_noise`


@dataclass(frozen=True)
class Limits:
    """An estimate between two confidence limits."""

    value: float
    lower: float
    upper: float


@dataclass(frozen=True, eq=False)
class Curve:
    """(ε, δ) over a rising grid of ε: the share of pairs at or above each, in a band that holds for all ε at once."""

    shares: Floats
    lowers: Floats
    uppers: Floats


def tail_count(paired: Floats, epsilon: float) -> tuple[int, int]:
    """How many pairs are at or above ε, and of how many."""
    return int(np.count_nonzero(paired >= epsilon - ROUNDING)), len(paired)


def smallest_delta(paired: Floats, epsilon: float, alpha: float) -> Limits:
    """T(ε), with Clopper-Pearson limits at alpha/2 each."""
    count, draws = tail_count(paired, epsilon)
    lower, upper = binomial_lower(count, draws, alpha / 2), binomial_upper(count, draws, alpha / 2)
    return Limits(count / draws, lower, upper)


def smallest_epsilon(paired: Floats, delta: float, alpha: float, largest: float) -> Limits:
    """The ε beyond which T stays within δ, with limits at alpha/2 each; `largest` is all a pair can differ by.

    Of the true one, Q, T(Q) ≥ δ: that at most k pairs reach Q has no more chance than at most k successes at
    rate δ. So the upper limit is the distance that k pairs exceed, for the largest k whose Clopper-Pearson limit
    is within δ; the lower limit mirrors it.
    """
    if delta == 0:  # the largest pair is proof of itself, and no number of draws rules out a larger one
        most = float(paired.max())
        return Limits(most, most, largest)
    falling = np.sort(paired)[::-1]
    ranks = ranks_of_limits(len(paired), delta, alpha)
    ends = {
        name: largest if rank is None else float(falling[rank - 1]) if rank <= len(falling) else 0.0
        for name, rank in ranks.items()
    }
    return Limits(**ends)


def ranks_of_limits(draws: int, delta: float, alpha: float) -> dict[str, int | None]:
    """Of which pair, the farthest is 1, the distance is the value of `smallest_epsilon` and each limit.

    None: of no pair, the limit is the largest distance; more than there are draws: it is 0.
    """
    if delta == 0:
        return {"value": 1, "lower": 1, "upper": None}
    counts = range(draws + 1)
    within = bisect_left(counts, True, key=lambda count: binomial_upper(count, draws, alpha / 2) > delta)
    beyond = bisect_left(counts, True, key=lambda count: binomial_lower(count, draws, alpha / 2) > delta)
    allowed = math.floor(delta * draws + ROUNDING)
    return {"value": allowed + 1, "lower": beyond, "upper": within or None}


def curve(counts: Sequence[int], draws: int, alpha: float) -> Curve:
    """T over a grid, from how many of the draws lie at or above each ε of it; the band fails with probability alpha.

    Clopper-Pearson at alpha over twice the size of the grid, since claims live where T is small: without a single
    pair at ε it says ln(2 grid/alpha)/N where the band of Dvoretzky, Kiefer and Wolfowitz says √(ln(2/alpha)/2N).
    """
    hits, each = np.asarray(counts, dtype=np.float64), alpha / (2 * len(counts))
    uppers = np.where(hits < draws, special.betaincinv(hits + 1, np.maximum(draws - hits, 1), 1 - each), 1.0)
    lowers = np.where(hits > 0, special.betaincinv(np.maximum(hits, 1), draws - hits + 1, each), 0.0)
    # T falls, so each limit also holds on one side of its ε.
    return Curve(hits / draws, np.maximum.accumulate(lowers[::-1])[::-1], np.minimum.accumulate(uppers))


def placebo_delta(divergence: Divergence, present: Samples, epsilon: float, alpha: float) -> Limits | None:
    """T(ε) between draws of one side with different seeds, limits at alpha/2 each; None of fewer than two draws."""
    pairs = len(present) // 2
    if pairs == 0:
        return None
    first, second = (Samples(present.draws[start : 2 * pairs : 2]) for start in (0, 1))
    return smallest_delta(divergence.paired(first, second), epsilon, alpha)


def delta_beyond_noise(
    divergence: Divergence, present: Samples, absent: Samples, epsilon: float, alpha: float
) -> float | None:
    """T(ε) is at least this for every pairing of the two laws, except with probability alpha; None if it cannot tell.

    Only sums of distances have functions that are known to change by no more than the distance.
    """
    if not isinstance(divergence, SumOfDistances):
        return None
    x, y = (divergence.coordinates(side).columns for side in same_values(present, absent))
    draws = min(x.shape[1], y.shape[1])
    learning = draws // LEARNING_SHARE
    apart = epsilon / divergence.scale  # in the units of the coordinates
    if learning < 2 or apart <= 0:
        return 0.0
    promised, best = 0.0, None
    for h in candidate_potentials(x[:, :learning], y[:, :learning], divergence.span):
        for sign in (1.0, -1.0):
            gap, threshold = _widest(sign * h(x[:, :learning]), sign * h(y[:, :learning]), apart)
            if gap > promised:
                promised, best = gap, (h, sign, threshold)
    if best is None:
        return 0.0
    h, sign, threshold = best
    ours = sign * h(x[:, learning:draws]) >= threshold
    theirs = sign * h(y[:, learning:draws]) > threshold - apart + ROUNDING / (2 * divergence.scale)
    return min(1.0, mean_at_least(ours.astype(np.float64) - theirs, alpha, span=2.0, below=1.0))


def _widest(x: Floats, y: Floats, apart: float) -> tuple[float, float]:
    """The largest P̂(x ≥ t) − P̂(y > t − apart), and its t: the middle of all that do as well."""
    x, y = np.sort(x), np.sort(y)
    ends = np.unique(np.concatenate([x, y + apart]))
    # Between two of these t, nothing changes; t just above the one is as good as at the other.
    shares = (len(x) - np.searchsorted(x, ends)) / len(x)
    others = (len(y) - np.searchsorted(y, ends - apart + ROUNDING / 2, "right")) / len(y)
    gaps = shares - others
    place = int(gaps.argmax())
    before = ends[place - 1] if place else ends[place]
    # Draws to come may lie lower than the lowest x seen: leave room on that side, if a pair is more than ε apart.
    lowest = before if gaps[place] == 1.0 else ends[place]
    return float(gaps[place]), float((lowest + ends[place]) / 2)
