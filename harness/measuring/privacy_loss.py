"""A lower bound on the ε of differential privacy that both sides allow; knows outputs, never a mechanism.

If f is (ε, δ)-differentially private, p ≤ e^ε q + δ for the probabilities p, q of any event on the two sides.
The event is chosen on half of the draws and judged on the other half, so however it is chosen, the bound holds.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, ndtri

from harness.measuring.samples import Floats
from harness.vocabulary.errors import InputError

Counts = npt.NDArray[np.int64]

THRESHOLDS = 64  # tried for each score
CHOOSING = 2_000  # draws a side: more of them would find hardly better events


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

    def hits(self, outputs: Floats) -> int:
        count = int(np.count_nonzero(outputs @ self.weights >= self.threshold))
        return count if self.above else len(outputs) - count


def least_privacy_loss(present: Floats, absent: Floats, *, alpha: float, delta: float = 0.0) -> PrivacyLoss:
    """The bound from draws of both sides: scalars (draws,) or vectors (draws, features), coupled or not."""
    x, y = (np.asarray(side, dtype=np.float64).reshape(len(side), -1) for side in (present, absent))
    if min(len(x), len(y)) < 2:
        raise InputError("half of the draws choose an event and half judge it; got fewer than 2 on a side")
    event = _choose(x[::2][:CHOOSING], y[::2][:CHOOSING], alpha, delta)
    ours, theirs = (x[1::2], y[1::2]) if event.present else (y[1::2], x[1::2])
    hits, draws = (event.hits(ours), event.hits(theirs)), (len(ours), len(theirs))
    epsilon = float(_bound(np.array(hits[0]), draws[0], np.array(hits[1]), draws[1], alpha, delta))
    return PrivacyLoss(max(0.0, epsilon), delta, alpha, "present" if event.present else "absent", hits, draws)


def _bound(more: Counts, of_more: int, less: Counts, of_less: int, alpha: float, delta: float) -> Floats:
    """ln((p − δ) / q) at the Clopper-Pearson limits of p and q, alpha/2 each; −∞ where it says nothing."""
    p = betaincinv(np.maximum(more, 1), of_more - more + 1, alpha / 2) * (more > 0)
    q = np.where(less < of_less, betaincinv(less + 1, np.maximum(of_less - less, 1), 1 - alpha / 2), 1.0)
    with np.errstate(divide="ignore"):
        result: Floats = np.log(np.maximum(p - delta, 0.0) / q)
    return result


def _choose(x: Floats, y: Floats, alpha: float, delta: float) -> _Event:
    """The event that promises the largest bound on these draws, at a level stern enough for the best of so many."""
    stern = alpha / (4 * THRESHOLDS * (x.shape[1] + 1))
    weights = np.stack(list(_scores(x, y)))  # (scores, features)
    scores = [np.sort(weights @ side.T, axis=1) for side in (x, y)]  # each (scores, draws)
    thresholds = np.hstack([side[:, :: max(1, 2 * side.shape[1] // THRESHOLDS)] for side in scores])
    above_x, above_y = (_at_or_above(side, thresholds) for side in scores)
    best, chosen = -math.inf, _Event(np.ones(x.shape[1]), -math.inf, above=True, present=True)
    for above in (True, False):
        hits_x, hits_y = (above_x, above_y) if above else (len(x) - above_x, len(y) - above_y)
        for present in (True, False):
            ours, theirs = ((hits_x, len(x)), (hits_y, len(y)))[:: 1 if present else -1]
            promises = _promise(*ours, *theirs, stern, delta)
            score, place = np.unravel_index(int(promises.argmax()), promises.shape)
            if promises[score, place] > best:
                best = float(promises[score, place])
                chosen = _Event(weights[score], float(thresholds[score, place]), above, present)
    return chosen


def _at_or_above(rising: Floats, thresholds: Floats) -> Counts:
    """How many of each row's values reach each of that row's thresholds."""
    return np.stack([len(row) - np.searchsorted(row, ends) for row, ends in zip(rising, thresholds, strict=True)])


def _promise(more: Counts, of_more: int, less: Counts, of_less: int, alpha: float, delta: float) -> Floats:
    """`_bound` with Wilson's limits, which are close and a hundred times cheaper; nothing is claimed from them."""
    z = -float(ndtri(alpha / 2))

    def limit(hits: Counts, draws: int, side: int) -> Floats:
        share = hits / draws
        spread = z * np.sqrt(share * (1 - share) / draws + (z / (2 * draws)) ** 2)
        found: Floats = (share + z**2 / (2 * draws) + side * spread) / (1 + z**2 / draws)
        return found

    with np.errstate(divide="ignore"):
        result: Floats = np.log(np.maximum(limit(more, of_more, -1) - delta, 0.0) / limit(less, of_less, 1))
    return result


def _scores(x: Floats, y: Floats) -> Iterator[Floats]:
    """Each feature by itself, then Fisher's discriminant of them all."""
    yield from np.eye(x.shape[1])
    if x.shape[1] > 1:
        scatter = np.atleast_2d(np.cov(x.T)) + np.atleast_2d(np.cov(y.T))
        # Predictions sum to one, so the scatter is singular: the least-norm solution is the discriminant.
        yield np.linalg.pinv(scatter, hermitian=True) @ (x.mean(axis=0) - y.mean(axis=0))
