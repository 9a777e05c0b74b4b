"""What follows, of a measurement whose draws were not kept, from its other numbers, derived once more. Asks nobody.

The journal holds mean predictions and counts. From these follow

- the distance: the sum of its parts; of a sum of distances no part is less than that of the mean predictions (Jensen);
- how often pairs lie ε or more apart, and two draws of f(D), with their limits (Clopper-Pearson), from whole counts;
- between which ε of the grid the limits of `epsilon_at_delta` lie, from how many pairs reach each of them;
- about how many draws would settle the row, from distance and limits;
- the number of draws, which is that of the look; for how many a bet goes on, and how much it may have won at most;
- which numbers there are at all: tails, bets and privacy loss only where plan and oracle ask for them.

The limits of a distance, what a bet has won, the privacy loss, the noise floor and whether draws are copies rest on the
draws, and only these prove them (`derived_from_predictions`). Limits must still be limits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from harness.auditing.events import Look, OracleProfile
from harness.auditing.grid import epsilons
from harness.auditing.measure import bets_on_pairs, draws_that_settle
from harness.auditing.measurement import Measurement
from harness.auditing.plan import Claim
from harness.measuring.betting import SHARES, Wager
from harness.measuring.bounds import binomial_lower, binomial_upper
from harness.measuring.divergence import Divergence, SumOfDistances
from harness.measuring.estimate import Estimate
from harness.measuring.samples import Samples
from harness.measuring.tail import ROUNDING, Limits, ranks_of_limits
from harness.vocabulary.errors import JournalError

TOLERANCE = 1e-9  # of numbers that another version of a library may compute with other last digits


@dataclass(frozen=True)
class Drawn:
    """What a measurement with draws was made under."""

    claim: Claim
    adaptive: bool
    profile: OracleProfile
    divergence: Divergence | None  # None: a user's own
    reach: float
    look: Look
    drawn: int  # draws of all looks up to this one
    alpha: float  # of this row


def require_drawn(person: int, one: Measurement, made: Drawn) -> None:
    """Raises a JournalError unless all that follows from other numbers of the measurement does."""
    _require(one.draws == made.look.draws, person, "number of draws", one.draws, f"{made.look.draws}")
    _require_counts(person, one, made)
    _require_tail(person, one, made)
    _require_kinds(person, one, made)
    if made.divergence is not None:
        _require_distance(person, one, made.divergence)
        _require_ends(person, one, made, made.divergence)
        _require_epsilon(person, one, made, made.divergence)
        _require_bets(person, one, made, made.divergence)
        _require_draws_needed(person, one, made, made.divergence)


def _require_distance(person: int, one: Measurement, divergence: Divergence) -> None:
    total = min(float(np.array(one.per_value).sum()), divergence.largest)
    require_close(person, "distance", one.distance, total)
    sides = (Samples(np.array([side])) for side in (one.present, one.absent))
    if isinstance(divergence, SumOfDistances):
        least = divergence.per_value(*sides)
        for part, at_least in zip(one.per_value, least.tolist(), strict=True):
            if part < at_least * (1 - TOLERANCE) - TOLERANCE:
                raise contradiction(person, "distance", part, f"at least {at_least!r}, by the mean predictions")


def _require_counts(person: int, one: Measurement, made: Drawn) -> None:
    """How many pairs reach each ε of the grid: fewer and fewer, and as many as reach the claim's ε around it."""
    grid = epsilons(made.reach)
    counts = one.exceedances
    falls = all(more >= fewer for more, fewer in pairwise((one.draws, *counts, 0)))
    _require(len(counts) == len(grid) and falls, person, "counts of pairs", counts, "as many as draws, and falling")
    for epsilon, count in zip(grid, counts, strict=True):
        fits = count >= one.hits if epsilon <= made.claim.epsilon else count <= one.hits
        _require(fits, person, "count of pairs at the claim", one.hits, f"{count} at {epsilon:g}")
    _require(max(one.uncovered) <= one.draws, person, "draws without evidence", one.uncovered, f"at most {one.draws}")


def _require_tail(person: int, one: Measurement, made: Drawn) -> None:
    often, placebo = one.delta_at_epsilon, one.placebo
    if often is None or one.epsilon_at_delta is None:
        raise contradiction(person, "tail", None, "limits of how often pairs lie apart")
    _require_limits(person, "delta_at_epsilon", often, one.hits, one.draws, made.alpha)
    by_tail, pairs = made.claim.delta > 0, one.draws // 2
    _require((placebo is not None) == (by_tail and pairs > 0), person, "'placebo'", placebo, "one where delta > 0")
    if placebo is not None:
        _require_limits(person, "placebo", placebo, round(placebo.value * pairs), pairs, made.alpha)
    own = binomial_upper(one.hits, one.draws, max(made.look.own_alpha, made.alpha / 2)) if by_tail else None
    _require((one.own_delta_upper is None) == (own is None), person, "'own_delta_upper'", one.own_delta_upper, f"{own}")
    if own is not None and one.own_delta_upper is not None:
        require_close(person, "'own_delta_upper'", one.own_delta_upper, own)
    beyond = one.delta_beyond_noise
    told = by_tail and isinstance(made.divergence, SumOfDistances)
    if made.divergence is not None:
        _require((beyond is not None) == told, person, "'delta_beyond_noise'", beyond, "one where delta > 0")
    if one.hits == 0:
        _require(not beyond, person, "'delta_beyond_noise'", beyond, "0 where no pair lies so far apart")


def _require_limits(person: int, name: str, limits: Limits, hits: int, draws: int, alpha: float) -> None:
    """How often pairs are ε or more apart, as `tail.smallest_delta` says it."""
    ends = {
        "value": hits / draws,
        "lower": binomial_lower(hits, draws, alpha / 2),
        "upper": binomial_upper(hits, draws, alpha / 2),
    }
    for end, proven in ends.items():
        require_close(person, f"{end} of {name!r}", getattr(limits, end), proven)


def _require_kinds(person: int, one: Measurement, made: Drawn) -> None:
    """Numbers that only some plans and oracles have."""
    card = made.profile.card
    if one.copied or one.unpaired:
        _require(bool(card.randomized), person, "note about draws", one.copied, "none where f is deterministic")
    if one.unpaired:
        _require(made.profile.coupled, person, "note about pairs", one.unpaired, "none without common seeds")
    tested = card.noise_epsilon is not None and one.draws > 1
    _require(
        (one.privacy_loss is not None) == tested, person, "privacy loss", one.privacy_loss, "one where it is claimed"
    )
    if isinstance(made.divergence, SumOfDistances) and one.draws > 1:
        _require(one.floor is not None, person, "noise floor", one.floor, "a number")
    if not made.adaptive or made.claim.delta > 0:
        _require(one.kept is None and one.broken is None, person, "bets", one.kept or one.broken, "none")
    numbers = [*one.confidence, one.floor or 0.0, one.privacy_loss or 0.0]
    fine = len(one.confidence) == 2 and all(-TOLERANCE <= number < math.inf for number in numbers)
    _require(fine and max(one.confidence) <= 1 + 1e-3, person, "confidence", one.confidence, "two shares")


def _require_ends(person: int, one: Measurement, made: Drawn, divergence: Divergence) -> None:
    """Limits that are limits, and her own one where it is the common one."""
    most = divergence.largest * (1 + TOLERANCE)
    ordered = 0 <= one.lower <= one.upper * (1 + TOLERANCE) and 0 < one.upper <= most
    _require(ordered, person, "interval", (one.lower, one.upper), "limits from 0 to the largest distance")
    _require(0 < one.own_upper <= one.upper, person, "limit 'own_upper'", one.own_upper, f"at most {one.upper!r}")
    decided = made.look.own_alpha <= made.look.alpha / 2 or one.upper < made.claim.epsilon
    if made.claim.delta > 0 or decided:
        _require(one.own_upper == one.upper, person, "limit 'own_upper'", one.own_upper, f"{one.upper!r}")


def _require_epsilon(person: int, one: Measurement, made: Drawn, divergence: Divergence) -> None:
    """An end of `epsilon_at_delta` is the distance of the pair of a known rank, so it lies where the counts say."""
    limits, grid = one.epsilon_at_delta, epsilons(made.reach)
    assert limits is not None
    ranks = ranks_of_limits(one.draws, made.claim.delta, made.alpha)
    for name, rank in ranks.items():
        end = getattr(limits, name)
        if rank is None:
            _require(end == divergence.largest, person, f"{name} of 'epsilon_at_delta'", end, f"{divergence.largest}")
            continue
        if rank > one.draws:
            _require(end == 0, person, f"{name} of 'epsilon_at_delta'", end, "0")
            continue
        for epsilon, count in zip(grid, one.exceedances, strict=True):
            reaches = end >= epsilon - ROUNDING
            words = f"{'at least' if count >= rank else 'below'} {epsilon:g}"
            _require(reaches == (count >= rank), person, f"{name} of 'epsilon_at_delta'", end, words)


def _require_bets(person: int, one: Measurement, made: Drawn, divergence: Divergence) -> None:
    """Bets go on over all draws so far, and win no more than every draw at its best."""
    epsilon = made.claim.epsilon
    if one.kept is not None:
        _require(bets_on_pairs(divergence, epsilon), person, "bet", one.kept.highest, "none for this distance")
        won = made.drawn * math.log1p(float(SHARES.max()) * epsilon / (divergence.largest - epsilon))
        _require(one.kept.draws == made.drawn, person, "draws of a bet", one.kept.draws, f"{made.drawn}")
        _require(one.kept.highest <= won + TOLERANCE, person, "gain of a bet", one.kept.highest, f"at most {won!r}")
    for wager in (one.kept, one.broken):
        _require(wager is None or _is_possible(wager, made.drawn), person, "bet", wager, "one that was won so far")


def _is_possible(wager: Wager, drawn: int) -> bool:
    return 0 <= wager.draws <= drawn and wager.highest >= max(0.0, wager.log_capital - TOLERANCE)


def _require_draws_needed(person: int, one: Measurement, made: Drawn, divergence: Divergence) -> None:
    estimate = Estimate(
        distance=one.distance, per_value=one.per_value, floor=one.floor, lower=one.lower, upper=one.upper,
        draws=one.draws, coupled=made.profile.coupled, exact=False, alpha=made.alpha, proves=divergence.proves,
        largest=divergence.largest,
    )  # fmt: skip
    assert one.delta_at_epsilon is not None
    needed = draws_that_settle(made.claim, made.adaptive, estimate, one.delta_at_epsilon, made.alpha)
    found = one.draws_needed
    same = found == needed
    if found is not None and needed is not None:
        same = math.isclose(found, needed, rel_tol=1e-6, abs_tol=1)
    _require(same, person, "number of draws that would settle it", found, f"{needed}")


def _require(holds: bool, person: int, what: str, found: object, proven: str) -> None:
    if not holds:
        raise contradiction(person, what, found, proven)


def require_close(person: int, what: str, found: float, proven: float) -> None:
    """Raises unless two numbers are the same but for their last digits."""
    if not math.isclose(found, proven, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
        raise contradiction(person, what, found, repr(proven))


def contradiction(person: int, what: str, found: Any, proven: str) -> JournalError:
    """The error that names a number which does not follow."""
    return JournalError(
        f"the {what} of person {person} is {found!r:.80}, but follows as {proven:.80}; the journal cannot be trusted"
    )
