"""How often a pair of predictions differs by ε or more (v1, Definition 1); knows the distance of each pair.

T(ε) = Pr[distance ≥ ε] for one record. Of independent pairs it also carries the noise of f itself; of coupled
pairs only what the record changed.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

from harness.measuring.bounds import binomial_lower, binomial_upper
from harness.measuring.samples import Floats

ROUNDING = 1e-12  # a distance this close below ε counts as ε


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
    draws = len(paired)
    falling = np.sort(paired)[::-1]
    counts = range(draws + 1)
    within = bisect_left(counts, True, key=lambda count: binomial_upper(count, draws, alpha / 2) > delta)
    beyond = bisect_left(counts, True, key=lambda count: binomial_lower(count, draws, alpha / 2) > delta)
    allowed = math.floor(delta * draws + ROUNDING)
    return Limits(
        value=float(falling[allowed]) if allowed < draws else 0.0,
        lower=float(falling[beyond - 1]) if beyond <= draws else 0.0,
        upper=largest if within == 0 else float(falling[within - 1]) if within <= draws else 0.0,
    )


def curve(counts: Sequence[int], draws: int, alpha: float) -> Curve:
    """T over a grid, from how many of the draws lie at or above each ε of it; the band fails with probability alpha.

    Clopper-Pearson at alpha over twice the size of the grid, since claims live where T is small: without a single
    pair at ε it says ln(2 grid/alpha)/N where the band of Dvoretzky, Kiefer and Wolfowitz says √(ln(2/alpha)/2N).
    """
    hits, each = np.asarray(counts, dtype=np.float64), alpha / (2 * len(counts))
    uppers = np.where(hits < draws, betaincinv(hits + 1, np.maximum(draws - hits, 1), 1 - each), 1.0)
    lowers = np.where(hits > 0, betaincinv(np.maximum(hits, 1), draws - hits + 1, each), 0.0)
    # T falls, so each limit also holds on one side of its ε.
    return Curve(hits / draws, np.maximum.accumulate(lowers[::-1])[::-1], np.minimum.accumulate(uppers))
