"""Every number of a measurement that follows from others that were kept, derived once more. Asks nobody.

Where chance plays no part: distance, both limits and the parts per value follow, bit for bit, from the two predictions,
and there is nothing else. Where it does, all follow from the draws (`derived_from_predictions`); of a measurement whose
draws were not kept `derived_from_draws` says what follows from its other numbers. Who could not be measured has no
number at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from harness.auditing.derived_from_draws import Drawn, contradiction, require_drawn
from harness.auditing.derived_from_predictions import named_draws, require_made_from
from harness.auditing.events import Examined, Selected
from harness.auditing.measure import Carried, Conditions
from harness.auditing.measurement import Measurement, Vector
from harness.auditing.plain_plan import declared_divergences
from harness.auditing.prediction_draws import PackedDraws, read_digest
from harness.auditing.prediction_file import KeptPredictions
from harness.auditing.state import AuditState
from harness.measuring.divergence import Divergence
from harness.measuring.estimate import compare
from harness.vocabulary.errors import JournalError


class Derivation:
    """Derives the numbers of one audit once more, and counts how far those of its draws were proven."""

    def __init__(self, spec: Mapping[str, Any], kept: KeptPredictions) -> None:
        self.spec, self.kept = spec, kept
        self.divergences = declared_divergences(spec)
        self.from_draws = 0  # measurements that were made once more from their draws
        self.without_draws = 0  # measurements whose draws were not kept
        self.by_own_distance = 0  # measurements by a user's own distance, which is not in the journal

    def require(self, state: AuditState, event: Examined) -> None:
        """Raises a JournalError unless all numbers of a person follow; `state` is what was known before her."""
        assert state.selected is not None, "nobody is examined who was not selected"
        _require_rows(event, state.selected)
        for one in event.measurements:
            if one.failure is not None:
                if one != Measurement(one.adversary, one.secret, one.row, failure=one.failure):
                    raise contradiction(event.person, "measurement", one.failure, "a failure without numbers")
            elif state.selected.exact[one.adversary]:
                divergence = self.divergences[one.secret]
                _require_exact(event.person, one, divergence, state.selected.looks[event.look - 1].draws)
            else:
                self._require_random(state, event, one)

    def _require_random(self, state: AuditState, event: Examined, one: Measurement) -> None:
        assert state.selected is not None
        assert state.profile is not None, "the oracle is probed first"
        looks, number = state.selected.looks[: event.look], one.secret
        look, divergence, rows = looks[event.look - 1], self.divergences[number], _rows(event, one)
        packed = self._packed_draws(one)
        if packed is not None and divergence is not None:
            draws = named_draws(packed, event, one, look.draws, len(self.spec["secrets"][number]["values"]))
            made = Conditions(
                state.claim, state.is_adaptive, state.profile, divergence, exact=False, look=look, rows=rows,
                last=draws.last,
            )  # fmt: skip
            carried = state.carried.get((event.person, one.adversary, number, one.row), Carried())
            require_made_from(draws, one, made, carried)
            self.from_draws += 1
            return
        require_drawn(event.person, one, Drawn(
            state.claim, state.is_adaptive, state.profile, divergence, float(self.spec["divergence"][number]["reach"]),
            look, sum(each.draws for each in looks), look.alpha / rows,
        ))  # fmt: skip
        if packed is None:
            self.without_draws += 1
        else:
            self.by_own_distance += 1

    def _packed_draws(self, one: Measurement) -> PackedDraws | None:
        """The draws that a measurement was made from, if they were kept."""
        return None if one.draws_digest is None else self.kept.get(read_digest(one.draws_digest))


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


def _require_exact(person: int, one: Measurement, divergence: Divergence | None, draws: int) -> None:
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
    if one.confidence not in pairs:
        raise JournalError(
            f"the confidence in the true value of person {person} is in neither of her two predictions; the journal "
            "cannot be trusted"
        )
    for name in ("lower", "upper", "own_upper"):
        _require_same(person, f"limit {name!r}", getattr(one, name), one.distance)
    if max(one.uncovered) > draws:
        raise contradiction(person, "draws without evidence", one.uncovered, f"at most {draws}")
    alone = Measurement(
        one.adversary, one.secret, one.row, one.distance, one.lower, one.upper, one.own_upper, one.present, one.absent,
        one.per_value, one.confidence, uncovered=one.uncovered,
    )  # fmt: skip
    if one != alone:
        raise contradiction(person, "measurement", one.draws, "two predictions: nothing else is known without chance")


def _require_same(person: int, what: str, found: object, proven: object) -> None:
    if found != proven:
        raise contradiction(person, what, found, repr(proven))
