"""From the draws of both sides at one row of a person to one Measurement: distance, limits, tail and bets.

Three kinds of limits answer three questions:

- intervals at `look.alpha` hold together for all persons, adversaries and secrets; a violation needs them, because
  one wrong accusation of so many is one too many;
- a person's own upper limits, at `look.own_alpha`, are not corrected for the number of persons; that all keep the claim
  needs no more;
- in an adaptive audit the bets that a person keeps the claim, or breaks it, go on from look to look: their capital
  is evidence that was gathered by all draws so far, whenever one stops.

With δ > 0 pairs of draws are judged (v1). Their pairing is the vendor's: draws with equal seeds need not belong
together. So a person is accused only of what every pairing shows (`delta_beyond_noise`); how often two draws of f(D)
itself lie as far apart is measured beside it (`placebo`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from harness.auditing.events import Look, OracleProfile
from harness.auditing.grid import grid
from harness.auditing.infer import Pair
from harness.auditing.measurement import Measurement, Vector
from harness.auditing.plan import Claim
from harness.measuring.betting import Wager, bet_on_less, bet_on_more
from harness.measuring.bounds import Potential, StraightPotential, binomial_upper, learn_potential
from harness.measuring.divergence import Divergence, SumOfDistances, upper_of
from harness.measuring.estimate import Estimate, compare, draws_needed
from harness.measuring.features import Floats
from harness.measuring.independence import copies_by_chance
from harness.measuring.privacy_loss import least_privacy_loss, least_privacy_loss_of_independent
from harness.measuring.samples import Samples
from harness.measuring.tail import (
    Limits,
    delta_beyond_noise,
    placebo_delta,
    smallest_delta,
    smallest_epsilon,
    tail_count,
)

LOOKED_AT = 1_000  # draws, for copies
FEW_DIFFERENT = 0.6  # of the draws: if each were sent twice, half of them would be different
COPIES = 1e-7  # draws that repeat each other so much by chance are taken for copies
FEWEST_TO_COMPARE = 20  # draws, of pairs of equal and of different seeds
AS_FAR = 0.8  # equal seeds do not make draws alike if they lie this part of what different ones do apart
MOST_DRAWS = 10**12  # of a person; nobody makes more
GENEROUS = 3  # times the draws that one look of the same length would need
LOOKS_TO_COME = 10  # times the draws of a look that a potential may need to prove a violation

RowKey = tuple[int, int, int, int]  # person, number of the adversary, of the secret, place of the row among hers


@dataclass(frozen=True, eq=False)
class Sides:
    """Draws of both sides about one row, and in how many there was no evidence about it."""

    present: Samples
    absent: Samples
    uncovered: tuple[int, int] = (0, 0)

    def confidence(self, value: int) -> Vector:
        """How likely the first draw of each side makes one value: what an adversary with one release believes."""
        return float(self.present.draws[0, value]), float(self.absent.draws[0, value])


@dataclass(frozen=True)
class Carried:
    """What earlier looks at a row leave to the next: the bets so far, and the mean predictions of all draws."""

    kept: Wager = field(default_factory=Wager)
    broken: Wager = field(default_factory=Wager)
    draws: int = 0
    present: Vector = ()
    absent: Vector = ()

    def with_look(self, measurement: Measurement) -> Carried:
        """What is left to the look after the one that a measurement is of."""
        draws = self.draws + measurement.draws
        means = [
            tuple(
                (before * self.draws + mean * measurement.draws) / draws for before, mean in zip(old, new, strict=True)
            )
            for old, new in (
                (self.present or measurement.present, measurement.present),
                (self.absent or measurement.absent, measurement.absent),
            )
        ]
        return Carried(measurement.kept or Wager(), measurement.broken or Wager(), draws, *means)


@dataclass(frozen=True, eq=False)
class Conditions:
    """What a measurement is made under: all that it depends on beside the draws and what earlier looks left."""

    claim: Claim
    adaptive: bool
    profile: OracleProfile
    divergence: Divergence
    exact: bool  # chance plays no part
    look: Look
    rows: int  # of the person, who share her error level
    last: bool  # no look is planned to follow

    @property
    def alpha(self) -> float:
        """The error level of one row."""
        return self.look.alpha / self.rows


def measure(made: Conditions, pair: Pair, row: int, value: int, sides: Sides, carried: Carried) -> Measurement:
    """The comparison of both sides at one row; `value` is the place of its true value among the predicted ones."""
    estimate = compare(
        made.divergence, sides.present, sides.absent, alpha=made.alpha, coupled=made.profile.coupled, exact=made.exact,
        # Before the last look a lower bound matters only if it may prove a violation.
        lower_from=0.0 if made.last else made.claim.epsilon,
    )  # fmt: skip
    measurement = Measurement(
        *pair,
        row,
        distance=estimate.distance,
        lower=estimate.lower,
        upper=estimate.upper,
        own_upper=estimate.upper,
        present=tuple(sides.present.draws.mean(axis=0).tolist()),
        absent=tuple(sides.absent.draws.mean(axis=0).tolist()),
        per_value=estimate.per_value,
        confidence=sides.confidence(value),
        uncovered=sides.uncovered,
    )
    if made.exact:
        return measurement
    measurement = _with_tail(made, measurement, estimate, sides)
    if made.claim.delta > 0:
        return measurement
    measurement = replace(measurement, own_upper=_own_upper(made, estimate, sides))
    if not made.adaptive:
        return measurement
    epsilon = made.claim.epsilon
    return replace(
        measurement,
        kept=_bet_on_keeping(made.divergence, sides, epsilon, carried.kept),
        broken=_bet_on_breaking(made.divergence, sides, epsilon, made.alpha, carried),
    )


def _own_upper(made: Conditions, estimate: Estimate, sides: Sides) -> float:
    """Her own upper limit, worked out where the one that holds together with all others does not decide."""
    own_alpha = made.look.own_alpha
    if own_alpha <= made.look.alpha / 2 or estimate.upper < made.claim.epsilon:
        return estimate.upper
    limit = upper_of(
        made.divergence, sides.present, sides.absent, estimate.distance, own_alpha, coupled=made.profile.coupled
    )
    return min(estimate.upper, limit)


def _with_tail(made: Conditions, measurement: Measurement, estimate: Estimate, sides: Sides) -> Measurement:
    """What only draws can tell: the tail of v1's definition, and the privacy loss where one is claimed."""
    claim, profile, divergence, alpha = made.claim, made.profile, made.divergence, made.alpha
    is_random = bool(profile.card.randomized)
    apart = divergence.paired(sides.present, sides.absent)
    hits, pairs = tail_count(apart, claim.epsilon)
    often = smallest_delta(apart, claim.epsilon, alpha)
    measurement = replace(
        measurement,
        draws=estimate.draws,
        floor=estimate.floor,
        delta_at_epsilon=often,
        epsilon_at_delta=smallest_epsilon(apart, claim.delta, alpha, divergence.largest),
        exceedances=tuple(tail_count(apart, epsilon)[0] for epsilon in grid(divergence)),
        hits=hits,
        privacy_loss=_privacy_loss(profile, sides, alpha) if pairs > 1 else None,
        copied=is_random and are_copies(sides.absent),
        unpaired=profile.coupled and is_random and are_unpaired(divergence, sides, apart),
        draws_needed=draws_that_settle(claim, made.adaptive, estimate, often, alpha),
    )
    if claim.delta == 0:
        return measurement
    return replace(
        measurement,
        own_delta_upper=binomial_upper(hits, pairs, max(made.look.own_alpha, alpha / 2)),
        delta_beyond_noise=delta_beyond_noise(divergence, sides.present, sides.absent, claim.epsilon, alpha),
        placebo=placebo_delta(divergence, sides.present, claim.epsilon, alpha),
    )


def _privacy_loss(profile: OracleProfile, sides: Sides, alpha: float) -> float | None:
    """The least ε of differential privacy, where one is claimed."""
    card, draws = profile.card, (sides.present.draws, sides.absent.draws)
    if card.noise_epsilon is None:
        return None
    if profile.coupled or card.noise_delta:
        return least_privacy_loss(*draws, alpha=alpha, delta=card.noise_delta or 0.0).epsilon
    return least_privacy_loss_of_independent(*draws, claimed=card.noise_epsilon, alpha=alpha).epsilon


def are_copies(samples: Samples) -> bool:
    """Whether draws that should be independent repeat each other; only few different ones are worth a closer look."""
    draws = [draw.tobytes() for draw in samples.draws[:LOOKED_AT]]
    return len(set(draws)) <= FEW_DIFFERENT * len(draws) and copies_by_chance(draws) <= COPIES


def are_unpaired(divergence: Divergence, sides: Sides, apart: Floats) -> bool:
    """Whether draws with equal seeds, which lie so far `apart`, are no closer than draws with different ones.

    That is so, too, where f(D) does not vary and only f without her does; so f(D) must vary as much.
    """
    if len(apart) < FEWEST_TO_COMPARE:
        return False
    x, y = sides.present.draws, sides.absent.draws
    crossed, own = (
        float(divergence.paired(Samples(x[:-1]), Samples(later[1:])).mean()) for later in (y, x)
    )  # with another seed: f without her, and f(D) itself
    seen = float(apart.mean())
    return 0 < AS_FAR * crossed <= seen and AS_FAR * seen <= own


def draws_that_settle(claim: Claim, adaptive: bool, estimate: Estimate, often: Limits, alpha: float) -> int | None:
    """About how many draws would settle a row, by its distance or by how `often` pairs lie apart.

    None when it is settled, or needs more draws than anybody can make. Of an adaptive audit it is how many there may
    be: a generous number costs nothing, since nobody is drawn longer than she needs, and its error is spread over
    several looks.
    """
    generous = GENEROUS if adaptive else 1
    if claim.delta == 0:
        settled = estimate.upper < claim.epsilon or estimate.lower >= claim.epsilon
        needed = None if settled else draws_needed(estimate, claim.epsilon, alpha)
        return None if needed is None else _that_can_be_made(generous * needed)
    gap = claim.delta - often.value
    if often.upper <= claim.delta or often.lower > claim.delta or gap == 0:
        return None
    width = often.upper - often.value if gap > 0 else often.value - often.lower
    # Limits close in as one over the root of draws.
    return _that_can_be_made(math.ceil(generous * estimate.draws * (width / gap) ** 2))


def _that_can_be_made(draws: int) -> int | None:
    return draws if draws <= MOST_DRAWS else None


def bets_on_pairs(divergence: Divergence, epsilon: float) -> bool:
    """Whether the mean distance of pairs is at least the distance, so that it can be bet on, below a largest one."""
    return isinstance(divergence, SumOfDistances) and epsilon < divergence.largest


def _bet_on_keeping(divergence: Divergence, sides: Sides, epsilon: float, wager: Wager) -> Wager | None:
    """The bet that the mean distance of pairs, which is at least the distance, is below ε."""
    if not bets_on_pairs(divergence, epsilon):
        return None
    return bet_on_less(wager, divergence.paired(sides.present, sides.absent), epsilon, divergence.largest)


def _bet_on_breaking(
    divergence: Divergence, sides: Sides, epsilon: float, alpha: float, carried: Carried
) -> Wager | None:
    """The bet that the gain of a potential, which is at most the distance, is above ε.

    Where the mean predictions of earlier looks lie more than ε apart, the potential is their direction, and all draws
    are bet on. Else one is learnt on the first quarter of the draws, if they show any, and bet on with the others.
    """
    if not isinstance(divergence, SumOfDistances):
        return None
    x, y = (divergence.coordinates(side).columns for side in (sides.present, sides.absent))
    draws, apart = min(x.shape[1], y.shape[1]), epsilon / divergence.scale  # in the units of the coordinates
    gaps = _mean_gaps(divergence, carried)
    seen = 0 if np.abs(gaps).sum() > apart else max(draws // 4, 2)
    if seen >= draws:
        return carried.broken
    potential: Potential = StraightPotential(np.sign(gaps), divergence.span)
    if seen > 0:
        further = LOOKS_TO_COME * (draws - seen)
        potential = learn_potential(x[:, :seen], y[:, :seen], alpha, draws=further, span=divergence.span)
    if potential.oscillation == 0:  # it gains nothing, and a bet on it is lost
        return carried.broken
    gains = potential.gains(x[:, seen:draws], y[:, seen:draws])
    return bet_on_more(carried.broken, gains, apart, potential.oscillation)


def _mean_gaps(divergence: SumOfDistances, carried: Carried) -> Floats:
    """How far apart the mean predictions of earlier looks lie.  # [coordinates]"""
    if carried.draws == 0:
        return np.zeros(1)
    sides = (Samples(np.array([mean])) for mean in (carried.present, carried.absent))
    x, y = (divergence.coordinates(side).columns[:, 0] for side in sides)
    gaps: Floats = x - y
    return gaps
