"""Every number of a measurement that follows from other numbers in the journal, derived once more. Asks nobody.

Where chance plays no part: distance, both limits and the parts per value follow, bit for bit, from the two predictions.
Where it does, the journal holds mean predictions and counts instead of draws, and from these follow

- the distance: the sum of its parts; of a sum of distances, no less than that of the mean predictions (Jensen);
- how often pairs lie ε or more apart, with its limits (Clopper-Pearson), from the count of such pairs;
- the number of draws, which is that of the look.

The limits of a distance and the bets rest on draws that nobody kept; only to measure again proves them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from harness.auditing.events import Event, Examined, Look, Measurement, Selected, Vector
from harness.measuring.bounds import binomial_lower, binomial_upper
from harness.measuring.divergence import Divergence, SumOfDistances, divergence_named
from harness.measuring.estimate import compare
from harness.measuring.tail import Limits
from harness.vocabulary.errors import InputError, JournalError

TOLERANCE = 1e-9  # of numbers that another version of a library may compute with other last digits


def require_derived(spec: Mapping[str, Any], events: Iterable[Event]) -> Iterator[Event]:
    """The same events, if all their numbers follow; what rests on a user's own distance is not checked."""
    divergences = [
        declared_divergence(one, secret) for one, secret in zip(spec["divergence"], spec["secrets"], strict=True)
    ]
    selected: Selected | None = None
    for event in events:
        if isinstance(event, Selected):
            selected = event
        elif isinstance(event, Examined):
            assert selected is not None, "nobody is examined who was not selected"
            _require_examined(event, selected, divergences)
        yield event


def _require_examined(event: Examined, selected: Selected, divergences: list[Divergence | None]) -> None:
    rows = Counter((one.adversary, one.secret) for one in event.measurements)
    for one in event.measurements:
        if one.failure is not None:
            continue
        divergence = divergences[one.secret]
        if selected.exact[one.adversary]:
            _require_exact(event.person, one, divergence)
        else:
            look = selected.looks[event.look - 1]
            _require_random(event.person, one, divergence, look, rows[one.adversary, one.secret])


def _require_exact(person: int, one: Measurement, divergence: Divergence | None) -> None:
    if divergence is not None:
        present, absent = (np.array([side]) for side in (one.present, one.absent))
        proven = compare(divergence, present, absent, alpha=0.0, coupled=True, exact=True)
        if proven.distance != one.distance:
            raise JournalError(
                f"the distance of person {person} is {one.distance!r}, but her two predictions lie "
                f"{proven.distance!r} apart; the journal cannot be trusted"
            )
        _require_same(person, "parts of the distance per value", one.per_value, proven.per_value)
    pairs: list[Vector] = list(zip(one.present, one.absent, strict=True))
    if one.confidence and one.confidence not in pairs:
        raise JournalError(
            f"the confidence in the true value of person {person} is in neither of her two predictions; the journal "
            "cannot be trusted"
        )
    for name in ("lower", "upper", "own_upper"):
        _require_same(person, f"limit {name!r}", getattr(one, name), one.distance)


def _require_random(person: int, one: Measurement, divergence: Divergence | None, look: Look, rows: int) -> None:
    _require_same(person, "number of draws", one.draws, look.draws)
    if divergence is not None:
        total = min(float(np.array(one.per_value).sum()), divergence.largest)
        _require_close(person, "distance", one.distance, total)
    if isinstance(divergence, SumOfDistances):
        least = divergence.between(np.array(one.present), np.array(one.absent))
        if one.distance < least * (1 - TOLERANCE) - TOLERANCE:
            raise _contradiction(person, "distance", one.distance, f"at least {least!r}, by the mean predictions")
    alpha = look.alpha / rows
    if one.delta_at_epsilon is not None:
        _require_limits(person, one.delta_at_epsilon, one.hits, one.draws, alpha)
    if one.own_delta_upper is not None:
        own = binomial_upper(one.hits, one.draws, max(look.own_alpha, alpha / 2))
        _require_close(person, "'own_delta_upper'", one.own_delta_upper, own)


def _require_limits(person: int, limits: Limits, hits: int, draws: int, alpha: float) -> None:
    """How often pairs are ε or more apart, as `tail.smallest_delta` says it."""
    ends = {
        "value": hits / draws,
        "lower": binomial_lower(hits, draws, alpha / 2),
        "upper": binomial_upper(hits, draws, alpha / 2),
    }
    for name, end in ends.items():
        _require_close(person, f"{name} of 'delta_at_epsilon'", getattr(limits, name), end)


def _require_same(person: int, what: str, found: object, proven: object) -> None:
    if found != proven:
        raise _contradiction(person, what, found, repr(proven))


def _require_close(person: int, what: str, found: float, proven: float) -> None:
    if not math.isclose(found, proven, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
        raise _contradiction(person, what, found, repr(proven))


def _contradiction(person: int, what: str, found: object, proven: str) -> JournalError:
    return JournalError(
        f"the {what} of person {person} is {found!r:.80}, but follows as {proven:.80}; the journal cannot be trusted"
    )


def declared_divergence(declared: Mapping[str, Any], secret: Mapping[str, Any]) -> Divergence | None:
    """The divergence that a plan names, made again from its declaration; None if it was given as an object."""
    if not str(declared["identity"].get("class", "")).startswith("harness."):
        return None
    try:
        divergence = divergence_named(declared["declared"]).for_values(tuple(secret["values"]))
    except InputError:  # the parameters of an object, which no name declares
        return None
    return divergence if divergence.spec() == declared["identity"]["spec"] else None
