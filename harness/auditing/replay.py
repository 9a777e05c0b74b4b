"""Whether the events of a journal are those of an audit: each where `procedure` makes it, none missing, none twice.

Asks nobody and has no data. Each event is looked at before it is added to the state; who goes on to a further look and
who is asked about again is decided once more by the functions that an audit decides it with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import cached_property
from typing import Any

import numpy as np

from harness.auditing.card_changes import CardAccepted, changed_card
from harness.auditing.class_sizes import FEWEST
from harness.auditing.columns import Ints
from harness.auditing.confirm import confirms
from harness.auditing.derived_selection import (
    plan_of,
    require_first_selection,
    require_further_selection,
    untrusted,
)
from harness.auditing.event_types import require_types
from harness.auditing.events import (
    EARLY,
    LATE,
    Chosen,
    Closed,
    Confirmed,
    Described,
    Drawn,
    Event,
    Examined,
    Failed,
    Merged,
    OracleProfile,
    Probed,
    Resumed,
    Selected,
    Watched,
)
from harness.auditing.plain_plan import PlainPlan, has_closed_form
from harness.auditing.present_draws import RISK
from harness.auditing.probe import (
    ANOTHER_AT_THE_END,
    MOST_WATCHED,
    believed_card,
    draws_are_coupled,
    drift_doubts,
    watches_for_drift,
)
from harness.auditing.race import next_round
from harness.auditing.reference_events import RAW, SUPPRESSED, Baselines, ClassSizes
from harness.auditing.repeat import questions_to_repeat
from harness.auditing.state import AuditState
from harness.vocabulary.errors import OtherOracleError


class Replay:
    """Follows the procedure of one audit, event by event."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self.spec = spec
        self.failed_in_run: set[int] = set()  # a later run may ask about these again
        self.joins_shards = False  # journals of shards follow each other, without the marks of their runs
        self.has_looked = False  # at everybody who was selected
        self.drawn_for: set[int] = set()  # looks of which all shared draws are known to be there

    @cached_property
    def entitled(self) -> Ints:
        """The last look at each person of the data that she was chosen for; 0: she was not selected."""
        return np.zeros(self.spec["data"]["population"], np.int32)

    def require(self, state: AuditState, event: Event) -> None:
        """Raises a JournalError unless an audit in this state can go on with this event."""
        if isinstance(event, Examined):  # by far the most
            self._require_entitled(state, event.person, event.look)
            self._require_draws_of(state, event.look)
            return
        require_types(event)
        match event:
            case Probed(profile):
                _require(state.profile is None, "the oracle is probed twice")
                _require_profile(self.spec, profile)
            case Selected():
                self._require_selected(state, event)
            case Drawn():
                self._require_drawn(state, event)
            case Described():
                _require(state.described is None, "the first draw of f(D) is described twice")
                _require(bool(state.drawn), "f(D) is described before it is drawn")
                _require_metrics(self.spec, event.metrics)
            case Watched():
                _require_watched(state, event)
            case Resumed():
                _require(state.profile is not None, "an audit is resumed that had not begun")
                self.failed_in_run.clear()
                self.joins_shards = False
            case Merged():
                _require(state.merged is None and not state.has_examined, "shards are put together twice, or too late")
                self.joins_shards = True
            case Chosen():
                self._require_chosen(state, event)
            case Failed():
                self._require_failed(state, event)
            case CardAccepted():
                _require_accepted(state, event)
            case Baselines():
                _require(state.baselines is None, "baselines are computed twice")
                _require_baselines(state, event)
            case ClassSizes():
                _require(state.class_sizes is None, "class sizes are counted twice")
                _require_class_sizes(state, event)
            case Confirmed():
                self._require_confirmed(state, event)
            case Closed():
                self._require_closed(state, event)

    def _plan(self, state: AuditState) -> PlainPlan:
        assert state.profile is not None
        assert state.selected is not None
        return plan_of(self.spec, state.profile, state.selected)

    def _require_selected(self, state: AuditState, event: Selected) -> None:
        _require(state.profile is not None, "persons are selected before the oracle is probed")
        assert state.profile is not None
        if state.selected is None:
            require_first_selection(self.spec, state.profile, event)
        else:
            require_further_selection(self.spec, state.profile, event, state.selected)
            if len(event.persons) > len(state.selected.persons):
                self._require_finished_rounds(state)
                _require(not state.is_decided, "further persons are selected although the verdict is decided")
        new = np.array(event.examined, dtype=np.int64)
        new = new[self.entitled[new] == 0]
        self.entitled[new] = 1
        self.has_looked = self.has_looked and not len(new)

    def _require_drawn(self, state: AuditState, event: Drawn) -> None:
        """Draws of f(D) have a purpose, and are as many as it needs."""
        profile = state.profile
        _require(profile is not None, "f(D) is drawn before the oracle is probed")
        assert profile is not None
        _require((event.purpose, event.question) not in state.drawn, f"f(D) is drawn for {event.purpose!r} twice")
        _require(profile.card.releases == "microdata", "f(D) is drawn, although f releases predictions")
        expected = self._draws_for(state, profile, event.purpose)
        _require(expected is not None, f"f(D) is drawn for {event.purpose!r}, which this audit does not need")
        if len(event.digests) != expected:
            raise untrusted(f"{len(event.digests)} draws of f(D) were made for {event.purpose!r}, not {expected}")

    def _draws_for(self, state: AuditState, profile: OracleProfile, purpose: str) -> int | None:
        if purpose == RISK:
            return 1 if self.spec["budget"] is not None and state.selected is None else None
        if state.selected is None:
            return None
        looks = state.selected.looks
        if purpose in (EARLY, LATE):
            watches = any(watches_for_drift(profile, look.draws) for look in looks)
            return min(looks[0].draws, MOST_WATCHED) if watches else None
        look = next((each for each in looks if each.purpose == purpose), None)
        if look is None or not profile.coupled:
            return None
        return look.draws if profile.card.randomized else 1

    def _require_chosen(self, state: AuditState, event: Chosen) -> None:
        """Those who go on are who must, after all rounds before; a budget may buy the first of them only."""
        self._require_finished_rounds(state)
        proven = next_round(state)
        persons = () if proven is None else proven.persons
        if self.spec["budget"] is not None:
            persons = persons[: len(event.persons)]
        if proven is None or event.look != proven.look or event.persons != persons or not persons:
            goes = "nobody goes on" if proven is None else f"{proven.persons!r:.60} go on to look {proven.look}"
            raise untrusted(
                f"{event.persons!r:.60} are chosen for look {event.look}, but {goes} from what was measured"
            )
        self.entitled[list(event.persons)] = event.look

    def _require_finished_rounds(self, state: AuditState) -> None:
        """Nobody goes on before all who were asked about have an answer, or failed."""
        if not self.has_looked:
            _require(state.selected is not None and not state.missing, "not all selected persons were examined")
            self.has_looked = True
        for latest in state.chosen[-1:]:
            left = [each for each in latest.persons if not state.is_examined(each, latest.look)]
            lacking = [person for person in left if person not in state.failed]
            if lacking:
                raise untrusted(f"person {lacking[0]} was chosen for look {latest.look}, but was not examined")

    def _require_entitled(self, state: AuditState, person: int, look: int) -> None:
        is_person = type(person) is int and 0 <= person < len(self.entitled)
        if not is_person or not 1 <= look <= self.entitled[person]:
            raise untrusted(f"person {person} was not chosen for look {look}")

    def _require_draws_of(self, state: AuditState, number: int) -> None:
        """What all persons are compared with at a look was drawn before, for every question."""
        profile = state.profile
        if number in self.drawn_for or profile is None or profile.card.releases != "microdata" or not profile.coupled:
            return
        assert state.selected is not None
        first, purpose = (state.selected.looks[place].purpose for place in (0, number - 1))
        asked, drawn = (sorted(each for for_what, each in state.drawn if for_what == one) for one in (first, purpose))
        if not drawn or drawn != list(range(len(drawn))) or drawn != asked:
            raise untrusted(f"persons are examined at look {number}, but f(D) was not drawn for it")
        self.drawn_for.add(number)

    def _require_failed(self, state: AuditState, event: Failed) -> None:
        self._require_entitled(state, event.person, event.look)
        latest = int(state.latest[event.person])
        if event.look != latest + 1:
            raise untrusted(f"person {event.person} failed at look {event.look}, but was examined at look {latest}")
        if event.person in self.failed_in_run and not self.joins_shards:
            raise untrusted(f"person {event.person} failed twice in one run")
        self.failed_in_run.add(event.person)

    def _require_confirmed(self, state: AuditState, event: Confirmed) -> None:
        """The questions that were asked again are those that chance and the findings name."""
        profile = state.profile
        _require(state.confirmed is None, "questions are asked again twice")
        fits = profile is not None and confirms(profile) and state.has_examined
        _require(fits, "questions are asked again, although one answer of f does not stand for all")
        self._require_finished_rounds(state)
        assert profile is not None
        asked = questions_to_repeat(self._plan(state), profile, state)
        persons = {person for person in asked if person is not None}
        if event.repeated + event.unanswered != len(asked) or not 0 <= event.different <= event.repeated:
            raise untrusted(
                f"{event.repeated} questions were asked again, but the plan and the findings give {len(asked)}"
            )
        lacking = persons - set(event.persons)
        if tuple(sorted(persons - lacking)) != event.persons or not len(lacking) <= event.unanswered:
            raise untrusted(
                f"{event.persons!r:.60} were asked about again, but the plan and the findings give "
                f"{tuple(sorted(persons))!r:.60}"
            )

    def _require_closed(self, state: AuditState, event: Closed) -> None:
        """Everything that an audit does before its end was done."""
        profile, selected = state.profile, state.selected
        _require(state.closed is None, "the audit is closed twice")
        _require(profile is not None and selected is not None, "the audit is closed before it began")
        assert profile is not None
        assert selected is not None
        self._require_finished_rounds(state)
        if self.spec["budget"] is None and (further := next_round(state)) is not None:
            raise untrusted(f"the audit is closed, but {further.persons!r:.60} go on to look {further.look}")
        _require(state.baselines is not None, "the audit is closed without baselines")
        if (selected.looks[0].purpose, 0) in state.drawn:
            _require(state.class_sizes is not None, "the audit is closed without class sizes")
        if confirms(profile) and state.has_examined:
            _require(state.confirmed is not None, "the audit is closed, but no question was asked again")
        _require(state.described is not None or not self._has_a_release(state), "the release was not described")
        self._require_doubts(state, profile, selected, event)

    def _has_a_release(self, state: AuditState) -> bool:
        """Whether the first draw of f(D) had a row that counts, which is then described."""
        profile, sizes, first = state.profile, state.class_sizes, next(iter(state.drawn), None)
        assert profile is not None
        assert state.selected is not None
        same = not profile.card.randomized or (first is not None and first[0] == state.selected.looks[0].purpose)
        return same and sizes is not None and any(sizes.covering)

    def _require_doubts(self, state: AuditState, profile: OracleProfile, selected: Selected, event: Closed) -> None:
        """What the last question showed, or the comparison of early with late draws of f(D)."""
        if profile.coupled:
            _require(event.doubts in ((), (ANOTHER_AT_THE_END,)), "the doubts at the end are none that an audit has")
            return
        if watches_for_drift(profile, selected.looks[0].draws) and state.has_examined:
            self._require_both_ends(state, profile)
        early, late = (state.watched.get(purpose) for purpose in (EARLY, LATE))
        proven = drift_doubts(self._plan(state), early, late)
        if event.doubts != proven:
            raise untrusted(
                f"the doubts at the end are {event.doubts!r:.80}, but early and late draws give {proven!r:.80}"
            )

    def _require_both_ends(self, state: AuditState, profile: OracleProfile) -> None:
        """f(D) was drawn early and late; only a model that may fail on a release says nothing of it."""
        predicts = profile.card.releases == "predictions"
        told = predicts or all(map(has_closed_form, self.spec["adversaries"]))
        for purpose in (EARLY, LATE):
            drawn = predicts or (purpose, 0) in state.drawn
            if not drawn or (told and purpose not in state.watched):
                raise untrusted(f"the {purpose} draws of f(D), which would show a drift, are missing")


def _require(fits: bool, otherwise: str) -> None:
    if not fits:
        raise untrusted(otherwise)


def _require_profile(spec: Mapping[str, Any], profile: OracleProfile) -> None:
    """The card is believed as far as the probe, and the card as it was shown, allow."""
    stated, card = profile.stated, profile.card
    if stated is None:  # of an earlier version
        return
    plan = PlainPlan.of(spec, draws=1, random_adversaries=[False] * len(spec["adversaries"]))
    believed = [believed_card(plan, stated, same=same) for same in (True, False)]
    if card not in believed:
        nearest = min(believed, key=lambda one: sum(value != getattr(card, key) for key, value in asdict(one).items()))
        differs = [name for name, value in asdict(nearest).items() if value != getattr(card, name)]
        raise untrusted(f"the card was believed in other terms than the oracle stated it ({', '.join(differs)})")
    _require(profile.coupled == draws_are_coupled(plan, card), "'coupled' of the probe does not follow from the card")
    _require(
        profile.says_if_random == (stated.randomized is not None), "'says_if_random' does not follow from the card"
    )
    _require(profile.ignores_seeds == (stated.seedable and not card.seedable), "'ignores_seeds' does not follow")
    _require(not profile.is_still or bool(card.randomized), "'is_still' does not follow from the card")
    invariant = card.row_order_invariant and profile.coupled
    _require(invariant or not profile.row_order_invariant, "'row_order_invariant' does not follow from the card")


def _require_metrics(spec: Mapping[str, Any], metrics: Mapping[str, Any]) -> None:
    """Metrics are of the declared columns, and numbers; which numbers they are, only the release could say."""
    quasi = [column["name"] for column in spec["quasi"]]
    for section, names in (("columns", quasi), ("secrets", spec["sensitive"])):
        parts = metrics[section]
        fits = sorted(parts) == sorted(names) and all(isinstance(part, Mapping) for part in parts.values())
        _require(fits, f"the {section!r} of the described release are not those of the plan")
    rates = [part["discrimination_rate"] for part in metrics["secrets"].values()]
    _require(all(isinstance(rate["by"], Mapping) for rate in rates), "discrimination rates are not by column")
    numbers = {name: value for name, value in metrics.items() if name != "notes"}
    notes = all(isinstance(note, str) for note in metrics["notes"])
    _require(notes and _are_numbers(numbers), "the described release has other parts than numbers")


def _are_numbers(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(map(_are_numbers, value.values()))
    return (
        value is None
        or value in ("inf", "-inf", "nan")
        or (isinstance(value, int | float) and not isinstance(value, bool))
    )


def _require_watched(state: AuditState, event: Watched) -> None:
    _require(event.purpose in (EARLY, LATE), f"draws of f(D) were watched for {event.purpose!r}")
    _require(event.purpose not in state.watched, f"the {event.purpose} draws of f(D) were watched twice")
    fits = state.profile is not None and state.selected is not None and not state.profile.coupled
    _require(fits, "draws of f(D) are watched, although equal questions get equal answers")
    assert state.selected is not None
    draws = min(state.selected.looks[0].draws, MOST_WATCHED)
    _require(len(event.samples) == draws, f"{len(event.samples)} draws of f(D) were watched instead of {draws}")


def _require_accepted(state: AuditState, event: CardAccepted) -> None:
    before = state.accepted[-1].now if state.accepted else state.profile and state.profile.stated
    _require(event.before == before, "the card before a change is not the one that was known")
    try:
        changed = changed_card(event.before, event.now, accept=True)
    except OtherOracleError:
        changed = None
    _require(changed is not None, "a change of the card was accepted that is none, or that no audit accepts")


def _require_baselines(state: AuditState, event: Baselines) -> None:
    """Those of examined persons, by the adversaries and about the secrets that there are."""
    assert state.selected is not None
    pairs = set(state.pairs())
    keys = [(one.release, one.adversary, one.secret) for one in event.known]
    _require(len(set(keys)) == len(keys), "baselines of an adversary and a secret are there twice")
    skipped = {adversary for adversary, _ in event.skipped}
    expected = ((release, *pair) for release in (RAW, SUPPRESSED) for pair in pairs if pair[0] not in skipped)
    _require(set(expected) <= set(keys), "baselines of an adversary and a secret are missing")
    examined = np.array(state.selected.examined)
    for one in event.known:
        fits = (one.adversary, one.secret) in pairs and len(one.persons) == len(one.distances)
        _require(fits and bool(np.isin(one.persons, examined).all()), "baselines of others than were examined")


def _require_class_sizes(state: AuditState, event: ClassSizes) -> None:
    assert state.selected is not None
    examined, persons = state.selected.examined, event.persons
    fits = len(persons) == len(event.covering) == len(event.rarest) and bool(np.isin(persons, examined).all())
    _require(fits and list(persons) == sorted(set(persons)), "class sizes of others than were examined")
    _require(len(persons) >= min(FEWEST, len(examined)), "class sizes of too few persons")
