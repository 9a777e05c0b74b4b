"""How often limits miss, and how wide they are, over many simulated audits of laws that are known.

`of_distance` is the upper and the lower limit of one law; `PROCEDURES` are all other limits, each a function that
says whether it missed in one simulated audit, with the rate at which it may.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from harness.measuring import bounds
from harness.measuring.betting import (
    Wager,
    bet_on_less,
    bet_on_more,
    evidence_above,
    evidence_below,
    mean_at_least,
    mean_at_most,
    probability_limits,
)
from harness.measuring.certificate import certify
from harness.measuring.divergence import divergence_named
from harness.measuring.privacy_loss import least_privacy_loss
from harness.measuring.samples import Floats, Samples, wasserstein
from harness.measuring.tail import delta_beyond_noise, placebo_delta, smallest_delta, smallest_epsilon
from tests.calibration.laws import LAWS, skewed
from tests.measuring.mechanisms import REFERENCE_ERROR, Mechanism, two_points, two_values

ALPHA = 0.1
SUM = divergence_named("sum").for_values(("a", "b"))


@dataclass(frozen=True)
class Misses:
    """Of so many runs, how many lower and upper limits missed at ALPHA/2 each, and how far they lay from the truth."""

    runs: int
    lower: int
    upper: int
    below: float
    above: float


def of_distance(law: Mechanism, coupled: bool, draws: int, runs: int, seed: int = 1) -> Misses:
    """The limits of the distance between two laws."""
    rng = np.random.default_rng([seed, draws, coupled])
    limits = np.array([_interval(law(rng, draws, coupled), coupled) for _ in range(runs)])
    d = LAWS[law]
    lower, upper = limits.T
    return Misses(
        runs,
        int(np.count_nonzero(lower > d + REFERENCE_ERROR)),
        int(np.count_nonzero(upper < d - REFERENCE_ERROR)),
        float((d - lower).mean()),
        float((upper - d).mean()),
    )


def _interval(sides: tuple[Floats, Floats], coupled: bool) -> tuple[float, float]:
    x, y = (Samples(side).coordinates for side in sides)
    return bounds.interval(x, y, float(wasserstein(x, y).sum()), ALPHA, coupled=coupled)


def _lengths(rng: np.random.Generator, mean: float, draws: int) -> Floats:
    """Lengths from 0 to 2 of this mean: rare ones and small ones."""
    return np.where(rng.random(draws) < mean / 4, 2.0, rng.random(draws) * mean / (1 - mean / 4))


def mean_of_lengths_above(rng: np.random.Generator) -> bool:
    return mean_at_most(_lengths(rng, 0.1, 80), ALPHA, span=2.0) < 0.1


def mean_of_lengths_below(rng: np.random.Generator) -> bool:
    return mean_at_least(_lengths(rng, 0.1, 300), ALPHA, span=2.0) > 0.1


def wager_on_less_at_the_worst_moment(rng: np.random.Generator) -> bool:
    return bet_on_less(Wager(), _lengths(rng, 0.1, 1_500), 0.1, 2.0).refutes(ALPHA)


def wager_on_more_at_the_worst_moment(rng: np.random.Generator) -> bool:
    """Gains of a potential that is learnt anew on all draws before, against the true distance."""
    x, y = (Samples(side).coordinates.columns for side in two_points(rng, 400, False))
    wager = Wager()
    for start, end in ((20, 100), (100, 400)):
        potential = bounds.learn_potential(x[:, :start], y[:, :start], 0.05)
        gains = potential.gains(x[:, start:end], y[:, start:end])
        wager = bet_on_more(wager, gains, LAWS[two_points], potential.oscillation)
    return wager.refutes(ALPHA)


def counts_at_the_worst_of_eight_looks(rng: np.random.Generator) -> bool:
    hits = np.cumsum(rng.random(2_000) < 0.05)
    looks = [(int(hits[look - 1]), look) for look in (10, 20, 50, 100, 200, 500, 1_000, 2_000)]
    goal = np.log(2 / ALPHA)
    return any(evidence_below(*look, 0.05) >= goal or evidence_above(*look, 0.05) >= goal for look in looks)


def probability_at_the_worst_of_eight_looks(rng: np.random.Generator) -> bool:
    hits = np.cumsum(rng.random(2_000) < 0.05)
    looks = (10, 20, 50, 100, 200, 500, 1_000, 2_000)
    limits = [probability_limits(int(hits[look - 1]), look, ALPHA) for look in looks]
    return any(low > 0.05 or high < 0.05 for low, high in limits)


def tail_at_epsilon(rng: np.random.Generator) -> bool:
    found = smallest_delta(2 * rng.random(200) ** 4, 2 * 0.8**4, ALPHA)
    return not found.lower <= 0.2 <= found.upper


def epsilon_of_tail(rng: np.random.Generator) -> bool:
    found = smallest_epsilon(2 * rng.random(200) ** 4, 0.2, ALPHA, largest=2.0)
    return not found.lower <= 2 * 0.8**4 <= found.upper


def placebo(rng: np.random.Generator) -> bool:
    side = Samples(two_values((rng.random(200) < 0.3).astype(float)))
    found = placebo_delta(SUM, side, 0.1, ALPHA)
    return found is not None and not found.lower <= 0.42 <= found.upper


def tail_beyond_noise_of_equal_laws(rng: np.random.Generator) -> bool:
    x, _ = skewed(rng, 300, True)
    y, _ = skewed(rng, 300, True)
    return (delta_beyond_noise(SUM, Samples(x), Samples(y), 0.05, ALPHA) or 0.0) > 0


def tail_beyond_noise_of_a_fifth(rng: np.random.Generator) -> bool:
    """A fifth of the draws moves from 0.6 to 0.2 in both values, which is 0.8 apart."""
    x, y = two_points(rng, 300, False)
    return (delta_beyond_noise(SUM, Samples(x), Samples(y), 0.5, ALPHA) or 0.0) > 0.2


def privacy_loss_of_laplace(rng: np.random.Generator) -> bool:
    noise = rng.laplace(size=(2, 600))
    return least_privacy_loss(1 + noise[0], noise[1], alpha=ALPHA).epsilon > 1


def privacy_loss_of_normal(rng: np.random.Generator) -> bool:
    """σ = 3.7306317 is (1, 1e-5)-differentially private."""
    noise = rng.normal(0, 3.7306317, size=(2, 600))
    return least_privacy_loss(1 + noise[0], noise[1], alpha=ALPHA, delta=1e-5).epsilon > 1


def privacy_loss_of_responses(rng: np.random.Generator) -> bool:
    truth = np.e / (1 + np.e)
    x, y = (rng.random((2, 600)) < np.array([[truth], [1 - truth]])).astype(float)
    return least_privacy_loss(x, y, alpha=ALPHA).epsilon > 1


def certificate_of_both_ends(rng: np.random.Generator) -> bool:
    found = certify(200, 50, int(rng.hypergeometric(20, 180, 50)), ALPHA, joint=True)
    return not found.least <= 20 <= found.most


def certificate_of_the_upper_end(rng: np.random.Generator) -> bool:
    return certify(200, 50, int(rng.hypergeometric(20, 180, 50)), ALPHA).most < 20


PROCEDURES: tuple[Callable[[np.random.Generator], bool], ...] = (
    mean_of_lengths_above,
    mean_of_lengths_below,
    wager_on_less_at_the_worst_moment,
    wager_on_more_at_the_worst_moment,
    counts_at_the_worst_of_eight_looks,
    probability_at_the_worst_of_eight_looks,
    tail_at_epsilon,
    epsilon_of_tail,
    placebo,
    tail_beyond_noise_of_equal_laws,
    tail_beyond_noise_of_a_fifth,
    privacy_loss_of_laplace,
    privacy_loss_of_normal,
    privacy_loss_of_responses,
    certificate_of_both_ends,
    certificate_of_the_upper_end,
)


def misses_of(procedure: Callable[[np.random.Generator], bool], runs: int) -> int:
    """In how many of the runs it missed."""
    rng = np.random.default_rng(len(procedure.__name__))
    return sum(procedure(rng) for _ in range(runs))
