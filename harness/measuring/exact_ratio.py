"""An exact test of p ≤ r q for the probabilities of one event on two independent sides; knows counts only.

Of m draws a side the event was seen a and b times. Pairs of counts are ordered by how far a lies above r₀ b, in the
deviations that b suggests:

    T(a, b) = (a − r₀ b) / √(m (p̃ (1 − p̃) + r₀² q̃ (1 − q̃))),  q̃ = (b + 1) / (m + 2),  p̃ = min(r₀ q̃, 1).

The p-value is the largest probability, over all q that b leaves possible, of a pair that is ordered as high as the one
seen, plus the error of "leaves possible" (Berger & Boos, 1994). The order has the one ratio r₀ for every r that is
tested, so the p-value grows with r, and every ratio below one that is refuted is refuted as well.

No grid is trusted: q runs over small intervals, and on each the probability is bounded by taking q at its left end for
b and at its right end for p = r q.
"""

import math
from collections.abc import Callable

import numpy as np

from harness.measuring.samples import Floats

INTERVALS = 48  # of q
SPENT = 0.02  # of the error level, on where q is
FARTHEST = 9.0  # standard deviations of b from its mean that are summed over; what lies beyond is added as it is
STEPS = 12  # of halving the interval in which the ratio lies


def largest_ratio_refuted(hits: int, others: int, draws: int, *, against: float, alpha: float) -> float:
    """The largest r for which p ≤ r q is refuted at level alpha; 0 if none is. `against` is r₀, where it is best."""
    p_value = _p_values(hits, others, draws, against, SPENT * alpha)
    low, high = 0.0, against
    while p_value(high) <= alpha and high < draws:  # so many draws show no larger ratio
        low, high = high, 2 * high
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if p_value(middle) <= alpha else (low, middle)
    return low


def _p_values(hits: int, others: int, draws: int, against: float, spent: float) -> Callable[[float], float]:
    """The p-value as a function of r."""
    from scipy.stats import beta, binom  # late: it takes longer to import than most audits need

    least = float(beta.ppf(spent / 2, others, draws - others + 1)) if others else 0.0
    most = float(beta.isf(spent / 2, others + 1, draws - others)) if others < draws else 1.0
    ends = np.linspace(least, most, INTERVALS + 1)
    counts = _near(least, most, draws)
    needed = _needed(counts, float(_order(hits, others, draws, against)), draws, against)
    left = ends[:-1, None]
    chances = binom.pmf(counts, draws, left)  # (intervals, counts)
    beyond = binom.cdf(counts[0] - 1, draws, left[:, 0]) + binom.sf(counts[-1], draws, left[:, 0])

    def p_value(ratio: float) -> float:
        p = np.minimum(ratio * ends[1:, None], 1.0)
        reached = (chances * binom.sf(needed - 1, draws, p)).sum(axis=1)
        return float((reached + beyond).max()) + spent

    return p_value


def _near(least: float, most: float, draws: int) -> Floats:
    """The counts b that may be seen."""
    low, high = (
        draws * q + side * (FARTHEST * math.sqrt(draws * q * (1 - q)) + FARTHEST)
        for q, side in ((least, -1), (most, 1))
    )
    return np.arange(max(0, math.floor(low)), min(draws, math.ceil(high)) + 1, dtype=np.float64)


def _needed(counts: Floats, seen: float, draws: int, against: float) -> Floats:
    """For each b the smallest a that is ordered as high; made to rise with b, which only adds pairs."""
    smallest = np.ceil(against * counts + seen * _spread(counts, draws, against) - 1e-9)
    rising: Floats = np.minimum.accumulate(smallest[::-1])[::-1]
    return rising


def _order(hits: float, others: float, draws: int, ratio: float) -> float:
    return float((hits - ratio * others) / _spread(np.array(float(others)), draws, ratio))


def _spread(others: Floats, draws: int, ratio: float) -> Floats:
    q = (others + 1) / (draws + 2)
    p = np.minimum(ratio * q, 1.0)
    spread: Floats = np.sqrt(draws * (p * (1 - p) + ratio**2 * q * (1 - q)))
    return spread
