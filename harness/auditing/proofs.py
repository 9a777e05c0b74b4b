"""What numbers of a finding prove about a claim; the same rules for one finding and for columns of many.

Each rule is given a function that returns a number of the finding by its name, or a column of them. A number that is
not known is NaN, of which no comparison is true; `&`, `|` and `^ True` (not) mean the same for truth values and for
columns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness.auditing.plan import Claim

Get = Callable[[str], Any]  # a number or truth value by its name, or a column of them


def violates(get: Get, claim: Claim) -> Any:
    """Proven to break the claim: with δ = 0, or nothing random, by its distance; else by its tail.

    Draws of equal seeds are paired as the vendor chose, so only what every pairing shows counts against a person.
    """
    by_distance = (get("lower") >= claim.epsilon) | (get("broken") & (claim.epsilon <= get("measured_epsilon")))
    by_tail = violates_beyond_noise(get, claim) | ((get("coupled") ^ True) & reaches(get, claim))
    return _measured(get, claim, by_distance, by_tail)


def violates_beyond_noise(get: Get, claim: Claim) -> Any:
    """With δ > 0: the two laws lie further apart than the claim allows, however draws are paired."""
    return get("delta_beyond_noise") > claim.delta


def reaches(get: Get, claim: Claim) -> Any:
    """With δ > 0: pairs of draws lie ε or more apart more often than the claim allows, f's own noise included."""
    return get("delta_lower") > claim.delta


def satisfies(get: Get, claim: Claim) -> Any:
    """Proven, for this person alone, to keep the claim."""
    below = (get("own_upper") < claim.epsilon) | (get("upper") < claim.epsilon)
    by_distance = below | (get("kept") & (claim.epsilon >= get("measured_epsilon")))
    by_bets = get("kept") & (claim.delta >= get("measured_delta"))
    by_tail = by_bets | _stays(get, claim) | (get("own_delta_upper") <= claim.delta)
    return _measured(get, claim, by_distance, by_tail)


def satisfies_together(get: Get, claim: Claim) -> Any:
    """Proven to keep the claim by limits that hold together with those of all others."""
    return _measured(get, claim, get("upper") < claim.epsilon, _stays(get, claim))


def _stays(get: Get, claim: Claim) -> Any:
    return get("delta_upper") <= claim.delta


def _measured(get: Get, claim: Claim, by_distance: Any, by_tail: Any) -> Any:
    """What is judged by its distance, or by its tail; nothing is proven about who could not be measured."""
    judged_by_distance = get("exact") | (claim.delta == 0)
    return (get("failed") ^ True) & ((judged_by_distance & by_distance) | ((judged_by_distance ^ True) & by_tail))
