"""A lower bound on the ε of differential privacy that both sides allow; knows outputs, never a mechanism.

If f is (ε, δ)-differentially private, p ≤ e^ε q + δ for the probabilities p, q of any event on the two sides.
The event is chosen on a sixth of the draws, 5,000 of a side at most, and judged on the others, so however it is
chosen, the bound holds. The error is shared between p and q as the choosing draws promise most from.

Claims in other terms are translated by `epsilon_of_zcdp` and `epsilon_of_renyi` to the ε they imply at a δ. The
conversions are implications: to refute the (ε, δ) is to refute the claim, and not the other way round.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from harness.measuring.bounds import binomial_lower, binomial_upper
from harness.measuring.samples import Floats
from harness.vocabulary.errors import InputError

Counts = npt.NDArray[np.int64]

THRESHOLDS = 16  # tried for each score and side, evenly over the draws
CHOOSING = 5_000  # draws a side: more of them would find hardly better events
CHOOSING_SHARE = 6  # one in so many draws chooses
# Standard errors by which an event is taken to be worse than it looked; from simulation. With δ > 0 the events that
# count are rare, and too much doubt would never choose one.
DOUBT, DOUBT_IN_TAILS = 2.5, 1.0
SHARES_OF_LIKELIER = (0.1, 0.25, 0.5, 0.75)  # of the error, for the limit of p; the rest for that of q


@dataclass(frozen=True)
class PrivacyLoss:
    """With confidence 1 − alpha the ε of differential privacy is at least `epsilon`; the event that shows it."""

    epsilon: float
    delta: float
    alpha: float
    likelier: str  # "present" or "absent": the side on which the event is more probable
    hits: tuple[int, int]  # how often it happened there, and on the other side
    draws: tuple[int, int]


@dataclass(frozen=True, eq=False)
class _Event:
    """{weights · output ≥ threshold}, or its complement when `above` is false."""

    weights: Floats  # (features,)
    threshold: float
    above: bool
    present: bool  # it is the likelier when the record is present
    share: float = 0.5  # of the error, for the limit of the likelier side

    def hits(self, outputs: Floats) -> int:
        count = int(np.count_nonzero(outputs @ self.weights >= self.threshold))
        return count if self.above else len(outputs) - count


def least_privacy_loss(present: Floats, absent: Floats, *, alpha: float, delta: float = 0.0) -> PrivacyLoss:
    """The bound from draws of both sides: scalars (draws,) or vectors (draws, features), coupled or not."""
    x, y = (np.asarray(side, dtype=np.float64).reshape(len(side), -1) for side in (present, absent))
    if min(len(x), len(y)) < 2:
        raise InputError("some of the draws choose an event and the others judge it; got fewer than 2 on a side")
    (x_choose, x_judge), (y_choose, y_judge) = _split(x), _split(y)
    event = _choose(x_choose, y_choose, (len(x_judge), len(y_judge)), alpha, delta)
    ours, theirs = (x_judge, y_judge) if event.present else (y_judge, x_judge)
    hits, draws = (event.hits(ours), event.hits(theirs)), (len(ours), len(theirs))
    epsilon = _bound(hits[0], draws[0], hits[1], draws[1], alpha, delta, event.share)
    return PrivacyLoss(max(0.0, epsilon), delta, alpha, "present" if event.present else "absent", hits, draws)


def _split(side: Floats) -> tuple[Floats, Floats]:
    """The draws that choose, spread over the first ones, and all others."""
    chooses = np.zeros(len(side), dtype=bool)
    chooses[: CHOOSING_SHARE * CHOOSING : CHOOSING_SHARE] = True
    return side[chooses], side[~chooses]


def _bound(more: int, of_more: int, less: int, of_less: int, alpha: float, delta: float, share: float) -> float:
    """ln((p − δ) / q) at the Clopper-Pearson limits of p and q, which share alpha; −∞ where it says nothing."""
    p, q = binomial_lower(more, of_more, share * alpha), binomial_upper(less, of_less, (1 - share) * alpha)
    return math.log((p - delta) / q) if p > delta else -math.inf


def _choose(x: Floats, y: Floats, judges: tuple[int, int], alpha: float, delta: float) -> _Event:
    """The event that promises the largest bound on the draws that judge."""
    weights = np.stack(list(_scores(x, y)))  # (scores, features)
    scores = [np.sort(weights @ side.T, axis=1) for side in (x, y)]  # each (scores, draws)
    thresholds = np.hstack([side[:, _ranks(side.shape[1], tails=delta > 0)] for side in scores])
    above_x, above_y = (_at_or_above(side, thresholds) for side in scores)
    best, chosen = -math.inf, _Event(np.ones(x.shape[1]), -math.inf, above=True, present=True)
    for above in (True, False):
        hits_x, hits_y = (above_x, above_y) if above else (len(x) - above_x, len(y) - above_y)
        for present in (True, False):
            ours, theirs = ((hits_x, len(x), judges[0]), (hits_y, len(y), judges[1]))[:: 1 if present else -1]
            bounds = np.stack([_promise(ours, theirs, alpha, delta, share) for share in SHARES_OF_LIKELIER])
            worth = bounds.max(axis=0)
            score, place = np.unravel_index(int(worth.argmax()), worth.shape)
            if worth[score, place] > best:
                best = float(worth[score, place])
                share = SHARES_OF_LIKELIER[int(bounds[:, score, place].argmax())]
                chosen = _Event(weights[score], float(thresholds[score, place]), above, present, share)
    return chosen


def _ranks(draws: int, *, tails: bool) -> npt.NDArray[np.intp]:
    """Which of the sorted draws are thresholds; with `tails` also rare ones, which decide (ε, δ)-claims."""
    shares = np.linspace(0, draws - 1, THRESHOLDS)
    if tails:
        ends = draws / np.geomspace(THRESHOLDS, max(draws / 4, THRESHOLDS), THRESHOLDS // 2)
        shares = np.concatenate([shares, ends, draws - 1 - ends])
    return np.unique(np.clip(shares.astype(np.intp), 0, draws - 1))


def _at_or_above(rising: Floats, thresholds: Floats) -> Counts:
    """How many of each row's values reach each of that row's thresholds."""
    return np.stack([len(row) - np.searchsorted(row, ends) for row, ends in zip(rising, thresholds, strict=True)])


Seen = tuple[Counts, int, int]  # hits of the draws that choose, how many these are, and how many judge


def _rate(seen: Seen) -> Floats:
    """The share of hits, half a hit and half a miss added so that it is neither 0 nor 1."""
    hits, draws, _ = seen
    rate: Floats = (hits + 0.5) / (draws + 1)
    return rate


def _promise(more: Seen, less: Seen, alpha: float, delta: float, share: float) -> Floats:
    """About the bound that the draws to judge will give; nothing is claimed from it.

    Of so many events the best looks better than it is: each is taken to be some standard errors worse.
    """
    doubt = DOUBT_IN_TAILS if delta > 0 else DOUBT

    def limit(seen: Seen, level: float, side: int) -> Floats:
        rate, z = _rate(seen), -float(ndtri(level))
        _, draws, judge = seen
        spread = np.sqrt(rate * (1 - rate))
        found: Floats = rate + side * (doubt * spread / math.sqrt(draws) + z * spread / math.sqrt(judge))
        return found + side * z**2 / (3 * judge)

    p, q = limit(more, share * alpha, -1), limit(less, (1 - share) * alpha, 1)
    with np.errstate(divide="ignore"):
        result: Floats = np.log(np.maximum(p - delta, 0.0) / np.minimum(q, 1.0))
    return result


def _scores(x: Floats, y: Floats) -> Iterator[Floats]:
    """Each feature by itself, then Fisher's discriminant of them all."""
    yield from np.eye(x.shape[1])
    if x.shape[1] > 1:
        scatter = (
            np.atleast_2d(np.cov(x.T)) + np.atleast_2d(np.cov(y.T)) if min(len(x), len(y)) > 1 else np.eye(x.shape[1])
        )
        # Predictions sum to one, so the scatter is singular: the least-norm solution is the discriminant.
        yield np.linalg.pinv(scatter, hermitian=True) @ (x.mean(axis=0) - y.mean(axis=0))
