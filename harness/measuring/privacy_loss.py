"""A lower bound on the ε of differential privacy that both sides allow; knows outputs, never a mechanism.

If f is (ε, δ)-differentially private, p ≤ e^ε q + δ for the probabilities p, q of any event E on the two sides. So the
mean over pairs of draws of z = 1[x in E] − e^ε 1[y in E] is at most δ, whether or not the draws are coupled. Against
that is bet (see `betting`): the capital Π(1 + λ(z − δ)) reaches 1/alpha with probability at most alpha, and it falls
as ε grows, so every ε below the one at which it is just 1/alpha is refuted.

The first eighth of the draws chooses an event and the stake λ for the second eighth; then a quarter chooses for the
second quarter, and a half for the other half. However they are chosen, what is bet on comes later, and the bound holds.
Of few draws a quarter chooses once; of many, no more than `CHOOSING` choose for all others.

Where the draws of both sides are independent and δ = 0, bets give power away: they would be valid at every number of
draws, and the number is known. A quarter of the draws then chooses the event that would most clearly refute the claimed
ε, and the others judge it by an exact test (see `exact_ratio`).

Claims in other terms are translated by `privacy_claim` to the ε they imply at a δ. The conversions are implications:
to refute the (ε, δ) is to refute the claim, and not the other way round.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from harness.measuring.exact_ratio import largest_ratio_refuted
from harness.measuring.samples import Floats
from harness.vocabulary.errors import InputError

Counts = npt.NDArray[np.int64]
Promise = Callable[[Counts, Counts], tuple[Floats, Floats]]  # of hits on either side: how good events are, and stakes

THRESHOLDS = 16  # tried for each score and side, evenly over the draws
FEW = 100  # draws a side: fewer choose badly
CHOOSING, CHOOSING_IN_TAILS = 2_000, 5_000  # draws a side, at most: more would find hardly better events
PARTS = (8, 4, 2)  # one in so many draws, the first ones, choose for the draws up to the next part
# Standard errors by which an event is taken to be worse than it looked; from simulation. With δ > 0 (the second
# numbers) the events that count are rare: more draws are needed to see one, and much doubt would never choose one.
DOUBT, DOUBT_IN_TAILS = 2.5, 1.0
DOUBTED_HITS = 10.0  # from simulation
LARGEST_SHARE = 0.95  # of the capital that is staked on one pair
SMALLEST = 1e-12  # a prediction is taken to be at least this, where logarithms are taken
LARGEST_EPSILON = 50.0  # no number of draws shows more


@dataclass(frozen=True)
class PrivacyLoss:
    """With confidence 1 − alpha the ε of differential privacy is at least `epsilon`; the event last bet on."""

    epsilon: float
    delta: float
    alpha: float
    likelier: str  # "present" or "absent": the side on which the event is more probable
    hits: tuple[int, int]  # how often it happened there, and on the other side
    draws: int  # pairs that were bet on with this event


@dataclass(frozen=True, eq=False)
class _Event:
    """{weights · output ≥ threshold}, or its complement when `above` is false; and how much is staked on it."""

    weights: Floats  # (features,)
    threshold: float
    above: bool
    present: bool  # it is the likelier when the record is present
    stake: float

    def happens(self, outputs: Floats) -> npt.NDArray[np.bool_]:
        happens: npt.NDArray[np.bool_] = (outputs @ self.weights >= self.threshold) == self.above
        return happens


@dataclass(frozen=True)
class _Bet:
    """How many pairs there were of each kind: the event on the likelier side alone, the other alone, both, neither."""

    stake: float
    likelier: int
    other: int
    both: int
    neither: int

    def log_capital(self, ratio: float, delta: float) -> float:
        """The logarithm of the capital against p ≤ `ratio` q + δ, which falls as the ratio grows."""
        stake = min(self.stake, LARGEST_SHARE / (ratio + delta))
        return (
            self.likelier * math.log1p(stake * (1 - delta))
            + self.other * math.log1p(-stake * (ratio + delta))
            + self.both * math.log1p(stake * (1 - delta - ratio))
            + self.neither * math.log1p(-self.stake * delta)  # no less than is lost, so that it does not grow
        )


def least_privacy_loss(present: Floats, absent: Floats, *, alpha: float, delta: float = 0.0) -> PrivacyLoss:
    """The bound from draws of both sides: scalars (draws,) or vectors (draws, features), coupled or not."""
    x, y = _features(present, absent)
    draws, goal, bets = len(x), math.log(1 / alpha), list[_Bet]()
    likelier, hits, judges = "present", (0, 0), 0
    most = CHOOSING_IN_TAILS if delta > 0 else CHOOSING
    for first, last in _parts(draws, most):
        chose = min(first, most)
        promise = partial(_promise, chose=chose, draws=draws, goal=goal, delta=delta)
        event = _choose(x[:chose], y[:chose], promise, tails=delta > 0)
        if event is None:
            continue
        ours, theirs = (event.happens(side[first:last]) for side in ((x, y) if event.present else (y, x)))
        bets.append(_bet(event.stake, ours, theirs))
        likelier, judges = "present" if event.present else "absent", last - first
        hits = int(np.count_nonzero(ours)), int(np.count_nonzero(theirs))
    return PrivacyLoss(_largest_refuted(bets, goal, delta), delta, alpha, likelier, hits, judges)


def least_privacy_loss_of_independent(present: Floats, absent: Floats, *, claimed: float, alpha: float) -> PrivacyLoss:
    """The bound with δ = 0 from independent draws of both sides; best near the claimed ε, and valid for every one."""
    x, y = _features(present, absent)
    draws, against = len(x), math.exp(min(claimed, LARGEST_EPSILON))
    first = min(max(1, draws // 4), CHOOSING)
    event = _choose(x[:first], y[:first], lambda more, less: _clearness(more, less, first, against))
    if event is None:
        return PrivacyLoss(0.0, 0.0, alpha, "present", (0, 0), 0)
    ours, theirs = (event.happens(side[first:]) for side in ((x, y) if event.present else (y, x)))
    hits = int(np.count_nonzero(ours)), int(np.count_nonzero(theirs))
    ratio = largest_ratio_refuted(*hits, draws - first, against=against, alpha=alpha)
    likelier = "present" if event.present else "absent"
    return PrivacyLoss(math.log(max(ratio, 1.0)), 0.0, alpha, likelier, hits, draws - first)


def _features(present: Floats, absent: Floats) -> tuple[Floats, Floats]:
    """As many draws of either side, (draws, features)."""
    draws = min(len(present), len(absent))
    if draws < 2:
        raise InputError("some of the draws choose an event and the others judge it; got fewer than 2 on a side")
    x, y = (_with_ratios(np.asarray(side[:draws], dtype=np.float64).reshape(draws, -1)) for side in (present, absent))
    return x, y


def _with_ratios(outputs: Floats) -> Floats:
    """Predictions with the logarithms of how many times as large each is as the smallest of its draw beside them.

    Shares of noisy counts mix the noise of all counts. Where one of these is at its floor, which noise below it often
    sees to, the ratio to it is the noisy count itself, and tells the sides apart as well as the count would.
    """
    if outputs.shape[1] < 2 or outputs.min() < 0:
        return outputs
    logarithms = np.log(np.maximum(outputs, SMALLEST))
    return np.hstack([outputs, logarithms - logarithms.min(axis=1, keepdims=True)])


def _parts(draws: int, most: int) -> Iterator[tuple[int, int]]:
    """Where the draws begin that an event chosen on all before them is bet on, and where they end."""
    starts = [draws // part for part in PARTS if draws // part >= FEW] or [max(1, draws // 4)]
    enough = next((start for start in starts if start >= most), draws)  # it need not be chosen again
    starts = [start for start in starts if start <= enough]
    yield from zip(starts, [*starts[1:], draws], strict=True)


def _bet(stake: float, ours: npt.NDArray[np.bool_], theirs: npt.NDArray[np.bool_]) -> _Bet:
    both, one, other = (int(np.count_nonzero(kind)) for kind in (ours & theirs, ours, theirs))
    return _Bet(stake, one - both, other - both, both, len(ours) - one - other + both)


def _largest_refuted(bets: Sequence[_Bet], goal: float, delta: float) -> float:
    """The largest ε that all bets together refute; 0 if they refute none."""

    def refuted(epsilon: float) -> bool:
        return sum(bet.log_capital(math.exp(epsilon), delta) for bet in bets) >= goal

    low, high = 0.0, LARGEST_EPSILON
    if not refuted(low):
        return 0.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low


def _choose(x: Floats, y: Floats, promise: Promise, *, tails: bool = False) -> _Event | None:
    """The event that promises most; None if none promises anything. With `tails` rare ones are tried too."""
    weights = np.stack(list(_scores(x, y)))  # (scores, features)
    scores = [np.sort(weights @ side.T, axis=1) for side in (x, y)]  # each (scores, draws)
    thresholds = np.hstack([side[:, _ranks(side.shape[1], tails=tails)] for side in scores])
    above_x, above_y = (_at_or_above(side, thresholds) for side in scores)
    best, chosen = 0.0, None
    for above in (True, False):
        hits_x, hits_y = (above_x, above_y) if above else (len(x) - above_x, len(y) - above_y)
        for present in (True, False):
            more, less = (hits_x, hits_y) if present else (hits_y, hits_x)
            promised, stakes = promise(more, less)
            score, place = np.unravel_index(int(promised.argmax()), promised.shape)
            if promised[score, place] > best:
                best = float(promised[score, place])
                threshold, stake = float(thresholds[score, place]), float(stakes[score, place])
                chosen = _Event(weights[score], threshold, above, present, stake)
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


def _promise(more: Counts, less: Counts, *, chose: int, draws: int, goal: float, delta: float) -> tuple[Floats, Floats]:
    """About the e^ε that a bet on so many draws will refute, 0 if none, and the stake that does; for each event.

    `more` and `less` are its hits on either side among the draws that choose. Of so many events the best looks better
    than it is: each is taken to be some standard errors worse. Nothing is claimed from it.
    """
    doubt = (DOUBT_IN_TAILS if delta > 0 else DOUBT) / math.sqrt(chose)
    p, q = ((hits + 0.5) / (chose + 1) for hits in (more, less))  # neither 0 nor 1
    p, q = p - doubt * np.sqrt(p * (1 - p)), np.minimum(q + doubt * np.sqrt(q * (1 - q)) + goal / (3 * draws), 1.0)
    # With the best stake the capital is reached where the mean of z is √(2 goal variance / draws). With r = e^ε that
    # is p − δ − r q = √(price (p (1 − p) + r² q (1 − q))), a quadratic equation.
    price, gap = 2 * goal / draws, p - delta
    of_p, of_q = p * (1 - p), q * (1 - q)
    rest = gap**2 - price * of_p
    root = np.sqrt(np.maximum((gap * q) ** 2 - (q**2 - price * of_q) * rest, 0.0))
    found = (gap > 0) & (rest > 0)
    ratios: Floats = np.where(found, rest / np.where(found, gap * q + root, 1.0), 0.0)
    stakes = (gap - ratios * q) / (of_p + ratios**2 * of_q)
    return ratios, np.clip(stakes, 0.0, LARGEST_SHARE / (ratios + delta + 1e-9))


def _clearness(more: Counts, less: Counts, chose: int, against: float) -> tuple[Floats, Floats]:
    """How many standard errors p lies above r q, for each event; nothing is staked.

    Errors are taken to be no smaller than `DOUBTED_HITS` hits: rare events look clear by chance.
    """
    p, q = ((hits + 0.5) / (chose + 1) for hits in (more, less))
    variance = (p * (1 - p) + against**2 * q * (1 - q)) / chose + (DOUBTED_HITS / chose) ** 2
    return (p - against * q) / np.sqrt(variance), np.zeros(p.shape)


def _scores(x: Floats, y: Floats) -> Iterator[Floats]:
    """Each feature by itself, then Fisher's discriminant of them all."""
    yield from np.eye(x.shape[1])
    if x.shape[1] > 1:
        scatter = (
            np.atleast_2d(np.cov(x.T)) + np.atleast_2d(np.cov(y.T)) if min(len(x), len(y)) > 1 else np.eye(x.shape[1])
        )
        # Predictions sum to one, so the scatter is singular: the least-norm solution is the discriminant.
        yield np.linalg.pinv(scatter, hermitian=True) @ (x.mean(axis=0) - y.mean(axis=0))
