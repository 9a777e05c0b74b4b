"""Every number of a measurement that follows from other numbers in the journal, derived once more. Asks nobody.

Where chance plays no part: distance, both limits and the parts per value follow, bit for bit, from the two predictions,
and there is nothing else. Where it does, `derived_from_draws` says what follows. Who could not be measured has no
number at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from harness.auditing.derived_from_draws import Drawn, contradiction, require_drawn
from harness.auditing.events import Event, Examined, Probed, Selected
from harness.auditing.measurement import Measurement, Vector
from harness.auditing.plan import Claim
from harness.measuring.divergence import Divergence, divergence_named
from harness.measuring.estimate import compare
from harness.vocabulary.errors import InputError, JournalError


def require_derived(spec: Mapping[str, Any], events: Iterable[Event]) -> Iterator[Event]:
    """The same events, if all their numbers follow; what rests on a user's own distance is not checked."""
    divergences = [
        declared_divergence(one, secret) for one, secret in zip(spec["divergence"], spec["secrets"], strict=True)
    ]
    claim, profile, selected = Claim(**spec["claim"]), None, None
    for event in events:
        if isinstance(event, Probed):
            profile = event.profile
        elif isinstance(event, Selected):
            selected = event
        elif isinstance(event, Examined):
            assert profile is not None, "the oracle is probed first"
            assert selected is not None, "nobody is examined who was not selected"
            looks = selected.looks[: event.look]
            _require_rows(event, selected)
            for one in event.measurements:
                number = one.secret
                _require_measurement(event.person, one, selected.exact[one.adversary], Drawn(
                    claim, spec["draws"] == "adaptive", profile, divergences[number],
                    float(spec["divergence"][number]["reach"]), looks[event.look - 1],
                    sum(look.draws for look in looks), looks[event.look - 1].alpha / _rows(event, one),
                ))  # fmt: skip
        yield event


def _rows(event: Examined, one: Measurement) -> int:
    """How many rows of the person were measured for the same adversary and secret."""
    return sum((each.adversary, each.secret) == (one.adversary, one.secret) for each in event.measurements)


def _require_rows(event: Examined, selected: Selected) -> None:
    """Each of her distinct rows once, the same ones for every adversary and secret."""
    pairs: dict[tuple[int, int], list[int]] = {}
    for one in event.measurements:
        pairs.setdefault((one.adversary, one.secret), []).append(one.row)
    rows = list(pairs.values())
    most = 1 if selected.rows is None else len(selected.rows[selected.places[event.person]])
    if any(each != rows[0] or sorted(set(each)) != each or not 0 <= each[0] <= each[-1] < most for each in rows):
        raise contradiction(event.person, "rows that were measured", rows[0], f"some of {most}, each once")


def _require_measurement(person: int, one: Measurement, exact: bool, made: Drawn) -> None:
    if one.failure is not None:
        if one != Measurement(one.adversary, one.secret, one.row, failure=one.failure):
            raise contradiction(person, "measurement", one.failure, "a failure without numbers")
    elif exact:
        _require_exact(person, one, made)
    else:
        require_drawn(person, one, made)


def _require_exact(person: int, one: Measurement, made: Drawn) -> None:
    if made.divergence is not None:
        present, absent = (np.array([side]) for side in (one.present, one.absent))
        proven = compare(made.divergence, present, absent, alpha=0.0, coupled=True, exact=True)
        if proven.distance != one.distance:
            raise JournalError(
                f"the distance of person {person} is {one.distance!r}, but her two predictions lie "
                f"{proven.distance!r} apart; the journal cannot be trusted"
            )
        _require_same(person, "parts of the distance per value", one.per_value, proven.per_value)
    pairs: list[Vector] = list(zip(one.present, one.absent, strict=True))
    if one.confidence not in pairs:
        raise JournalError(
            f"the confidence in the true value of person {person} is in neither of her two predictions; the journal "
            "cannot be trusted"
        )
    for name in ("lower", "upper", "own_upper"):
        _require_same(person, f"limit {name!r}", getattr(one, name), one.distance)
    if max(one.uncovered) > made.look.draws:
        raise contradiction(person, "draws without evidence", one.uncovered, f"at most {made.look.draws}")
    alone = Measurement(
        one.adversary, one.secret, one.row, one.distance, one.lower, one.upper, one.own_upper, one.present, one.absent,
        one.per_value, one.confidence, uncovered=one.uncovered,
    )  # fmt: skip
    if one != alone:
        raise contradiction(person, "measurement", one.draws, "two predictions: nothing else is known without chance")


def _require_same(person: int, what: str, found: object, proven: object) -> None:
    if found != proven:
        raise contradiction(person, what, found, repr(proven))


def declared_divergence(declared: Mapping[str, Any], secret: Mapping[str, Any]) -> Divergence | None:
    """The divergence that a plan names, made again from its declaration; None if it was given as an object."""
    if not str(declared["identity"].get("class", "")).startswith("harness."):
        return None
    try:
        divergence = divergence_named(declared["declared"]).for_values(tuple(secret["values"]))
    except InputError:  # the parameters of an object, which no name declares
        return None
    return divergence if divergence.spec() == declared["identity"]["spec"] else None
