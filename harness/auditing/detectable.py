"""The smallest effects that a plan could have shown, whatever was found. Knows the plan and the looks, no finding.

Where nothing is random, distances are computed and every change of a prediction is seen. Where chance plays a part,
both numbers are those of the most favourable case, by the very functions that judge:

- `holds_from`: the smallest ε of a claim that could have held. It is the upper limit of somebody whose rows move
  nothing at all, in every draw.
- `violated_from`: the smallest distance that could have been proven to reach the ε of the claim. It is that of two
  predictions without any noise whose lower limit is just ε.

With δ > 0 the same for probabilities: the smallest δ of a claim that could have held, when no pair of draws lies ε
apart, and the smallest share of pairs that proves more than the claimed δ. Of an adaptive audit these are the numbers
of its largest look alone; its bets over all looks can show less.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping
from typing import Any

import numpy as np

from harness.auditing.plan import Claim
from harness.measuring.bounds import binomial_lower, binomial_upper
from harness.measuring.certificate import certify
from harness.measuring.divergence import Divergence, upper_of
from harness.measuring.estimate import compare
from harness.measuring.samples import Samples

STEPS = 1_000  # between the smallest and the largest distance; the number given is at most one step too large
MOST_DRAWS = 2_000  # that are tried; with more, smaller effects could be shown, so the numbers are upper limits
DIGITS = 3

Plain = dict[str, Any]
Look = Mapping[str, Any]


def smallest_detectable(
    divergence: Divergence | None, claim: Claim, look: Look, values: int, *, coupled: bool
) -> Plain:
    """Both numbers of one secret; null where the distance proves no such thing, or is a user's own."""
    if claim.delta > 0:
        return _of_probabilities(claim, look)
    if divergence is None or divergence.proves == "nothing":
        return {"holds_from": None, "violated_from": None, "of": "distance"}
    draws = min(look["draws"], MOST_DRAWS)
    violated = _violated_from(divergence, claim, look, values, draws, coupled) if divergence.proves == "both" else None
    return {
        "holds_from": _upwards(_holds_from(divergence, look, values, draws, coupled), divergence.largest),
        "violated_from": None if violated is None else _upwards(violated, divergence.largest),
        "of": "distance",
    }


def exact_detectable() -> Plain:
    """Where nothing is random."""
    return {"holds_from": 0.0, "violated_from": 0.0, "of": "distance"}


def detectable_share(population: int, at_random: int, error: float) -> float:
    """The smallest share of all persons, breaking the claim, of whom a random sample shows one with confidence."""
    return (certify(population, at_random, 0, error).most + 1) / population


def _holds_from(divergence: Divergence, look: Look, values: int, draws: int, coupled: bool) -> float:
    same = Samples(np.full((draws, values), 1 / values))
    level = max(look["own_alpha"], look["alpha"] / 2)
    return upper_of(divergence, same, same, 0.0, level, coupled=coupled)


def _violated_from(
    divergence: Divergence, claim: Claim, look: Look, values: int, draws: int, coupled: bool
) -> float | None:
    """The smallest distance of two steady predictions whose lower limit reaches ε; None if not even the largest."""

    def sides(step: int) -> tuple[Samples, Samples]:
        moved = np.zeros((draws, values))
        moved[:, 0], moved[:, 1] = 1 - step / STEPS, step / STEPS
        steady = np.zeros((draws, values))
        steady[:, 0] = 1.0
        return Samples(steady), Samples(moved)

    def is_proven(step: int) -> bool:
        return (
            compare(divergence, *sides(step), alpha=look["alpha"], coupled=coupled, exact=False).lower >= claim.epsilon
        )

    if not is_proven(STEPS):
        return None
    present, absent = sides(bisect_left(range(STEPS), True, key=is_proven))
    return divergence.between(present.draws[0], absent.draws[0])


def _of_probabilities(claim: Claim, look: Look) -> Plain:
    draws = look["draws"]
    holds = binomial_upper(0, draws, max(look["own_alpha"], look["alpha"] / 2))
    enough = bisect_left(
        range(draws + 1), True, key=lambda hits: binomial_lower(hits, draws, look["alpha"] / 2) > claim.delta
    )
    violated = None if enough > draws else _upwards(enough / draws, 1.0)
    return {"holds_from": _upwards(holds, 1.0), "violated_from": violated, "of": "probability"}


def _upwards(number: float, largest: float) -> float:
    """With a few digits, not below the number, so that rounding differs on no machine."""
    if number <= 0 or not math.isfinite(number):
        return number
    scale = 10.0 ** (DIGITS - 1 - math.floor(math.log10(number)))
    return min(float(f"{math.ceil(round(number * scale, 6)) / scale:.{DIGITS}g}"), largest)
