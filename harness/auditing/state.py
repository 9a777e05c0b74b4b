"""The state of an audit: a fold over its events. Journal, resume, verify, progress bar and report all use this one.

Knows the plan as plain data, so that an audit can be read back without its data or its oracle.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from harness.auditing.card_changes import CardAccepted
from harness.auditing.columns import Array, Ints
from harness.auditing.events import (
    LATE,
    WITHOUT_ANOTHER,
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
    Salvaged,
    Selected,
    Watched,
)
from harness.auditing.finding import Finding, merge_rows_and_looks
from harness.auditing.finding_store import PairStore
from harness.auditing.measure import Carried, RowKey
from harness.auditing.measurement import Measurement
from harness.auditing.plan import Claim
from harness.auditing.reference_events import Baselines, ClassSizes
from harness.auditing.reported_findings import stored_finding
from harness.measuring.betting import evidence_below
from harness.measuring.samples import Samples
from harness.vocabulary.errors import JournalError
from harness.vocabulary.persons import RowName

PRIVACY_WITNESSES = 3  # persons of an adaptive audit who are drawn to the end to test a claim of differential privacy

Key = tuple[int, int, int]  # person, number of the adversary, of the secret


@dataclass(eq=False)
class AuditState:
    """What is known so far."""

    spec: Mapping[str, Any]
    profile: OracleProfile | None = None
    selected: Selected | None = None
    batches: list[tuple[int, ...]] = field(default_factory=list)  # who was selected first, and who was added later
    drawn: dict[tuple[str, int], Drawn] = field(default_factory=dict)  # by purpose and question
    watched: dict[str, Samples] = field(default_factory=dict)  # early and late draws of f(D), what they say
    stores: dict[tuple[int, int], PairStore] = field(default_factory=dict)  # findings, by adversary and secret
    notes: dict[str, int] = field(default_factory=dict)  # about releases without a person, and how often
    failed: dict[int, Failed] = field(default_factory=dict)  # persons who could not be measured, until they could
    violated: set[tuple[int, int]] = field(default_factory=set)  # adversary and secret that somebody breaks it for
    chosen: list[Chosen] = field(default_factory=list)  # who went on to further looks, in this order
    moved: dict[Key, float] = field(default_factory=dict)  # draws times distance without noise, of all looks
    carried: dict[RowKey, Carried] = field(default_factory=dict)  # what earlier looks leave to the next
    counts: dict[RowKey, tuple[int, int]] = field(default_factory=dict)  # pairs at or above ε, and all
    informed: set[tuple[int, int]] = field(default_factory=set)  # adversaries and secrets with evidence about anybody
    copied: set[int] = field(default_factory=set)  # persons whose draws were copies of each other
    baselines: Baselines | None = None
    class_sizes: ClassSizes | None = None
    described: Described | None = None
    unpaired: set[int] = field(default_factory=set)  # persons of whom equal seeds did not make draws alike
    salvaged: list[Salvaged] = field(default_factory=list)  # what was lost of a damaged journal
    merged: Merged | None = None  # of which shards the journal was put together
    accepted: list[CardAccepted] = field(default_factory=list)  # other cards that the oracle showed later
    confirmed: Confirmed | None = None
    closed: Closed | None = None

    @classmethod
    def fold(cls, spec: Mapping[str, Any], events: Iterable[Event]) -> AuditState:
        state = cls(spec)
        for event in events:
            state.add(event)
        return state

    @cached_property
    def claim(self) -> Claim:
        return Claim(**self.spec["claim"])

    def add(self, event: Event) -> None:
        """Take one event into account; the last of a kind counts."""
        match event:
            case Probed(profile):
                self.profile = profile
            case Selected():
                self._select(event)
            case Drawn():
                self.drawn[event.purpose, event.question] = event
            case Described():
                self.described = event
            case Watched():
                self.watched[event.purpose] = event.samples
            case Chosen():
                self.chosen.append(event)
            case Examined():
                self._add_examined(event)
            case Failed():
                self.failed[event.person] = event
            case Salvaged():
                self.salvaged.append(event)
            case Merged():
                self.merged = event
            case CardAccepted():
                self.accepted.append(event)
            case Confirmed():
                self.confirmed = event
            case Baselines():
                self.baselines = event
            case ClassSizes():
                self.class_sizes = event
            case Closed():
                self.closed = event

    def _select(self, event: Selected) -> None:
        known = {person for batch in self.batches for person in batch}
        new = tuple(person for person in event.examined if person not in known)
        self.selected = event
        if new:
            self.batches.append(new)

    def _add_examined(self, event: Examined) -> None:
        self.failed.pop(event.person, None)
        if self.closed is not None:  # an audit that goes on is closed anew
            self.confirmed = self.closed = self.class_sizes = None
            self.watched.pop(LATE, None)
            self.drawn = {key: drawn for key, drawn in self.drawn.items() if key[0] != LATE}
        if any(one.copied for one in event.measurements):
            self.copied.add(event.person)
        if any(one.unpaired for one in event.measurements):
            self.unpaired.add(event.person)
        for note in event.notes:
            self.notes[note] = self.notes.get(note, 0) + 1
        measured = _by_pair(event.measurements)
        self._require_whole(event, measured)
        for (adversary, secret), of_pair in measured.items():
            self._carry(event.person, of_pair)
            if any(one.failure is None and min(one.uncovered) < one.draws for one in of_pair):
                self.informed.add((adversary, secret))
            finding = self._finding(event, adversary, secret, of_pair)
            self.store(adversary, secret).put(event.person, finding)
            if event.look == 1 and finding.failure is None:
                self.moved_first[event.person] = max(self.moved_first[event.person], finding.distance)
            if self.is_adaptive and finding.failure is None:
                key = (event.person, adversary, secret)
                self.moved[key] = self.moved.get(key, 0.0) + finding.draws * _without_noise(finding)
            if finding.violates(self.claim):
                self.violated.add((adversary, secret))
        self.latest[event.person] = event.look

    def _require_whole(self, event: Examined, measured: Mapping[tuple[int, int], list[Measurement]]) -> None:
        """Everybody is examined once at each look, by every adversary about every secret."""
        if event.look != self.latest[event.person] + 1:
            raise JournalError(
                f"person {event.person} is examined at look {event.look} after look {self.latest[event.person]}; "
                "the journal cannot be trusted"
            )
        if sorted(measured) != list(self.pairs()):
            raise JournalError(
                f"the measurements of person {event.person} at look {event.look} are not those of every adversary and "
                "secret; the journal cannot be trusted"
            )

    @cached_property
    def latest(self) -> Ints:
        """The latest look at each person of the data; 0: none."""
        return np.zeros(self.spec["data"]["population"], np.int32)

    @cached_property
    def moved_first(self) -> Array:
        """The distance of each person at the first look."""
        return np.zeros(self.spec["data"]["population"])

    @property
    def is_adaptive(self) -> bool:
        return bool(self.spec["draws"] == "adaptive")

    @property
    def has_examined(self) -> bool:
        """Whether anybody was."""
        return bool(self.stores)

    def is_examined(self, person: int, look: int) -> bool:
        """Whether this look at a person was made."""
        return bool(self.latest[person] >= look)

    def store(self, adversary: int, secret: int) -> PairStore:
        assert self.selected is not None, "persons are examined only after they were selected"
        if (adversary, secret) not in self.stores:
            exact = self.selected.exact[adversary]
            self.stores[adversary, secret] = PairStore(self.spec["data"]["population"], exact=exact)
        return self.stores[adversary, secret]

    def found(self, person: int, adversary: int, secret: int) -> Finding:
        """What is known of an examined person after the latest look at her."""
        blank = self.blank(person, 1, adversary, secret)
        return stored_finding(blank, self.stores[adversary, secret], person)

    def findings_of(self, person: int) -> Iterator[tuple[bytes, Finding, tuple[int, int]]]:
        """What is known of an examined person by every adversary and secret, with a digest of both predictions."""
        for pair in self.pairs():
            yield self.stores[pair].digest(person), self.found(person, *pair), pair

    def without_a_finding(self, failed: Failed, adversary: int, secret: int) -> Finding:
        """What is said of a person who could not be measured."""
        return replace(self.blank(failed.person, failed.look, adversary, secret), failure=failed.reason)

    def _finding(self, event: Examined, adversary: int, secret: int, measured: list[Measurement]) -> Finding:
        assert self.selected is not None, "persons are examined only after they were selected"
        exact = self.selected.exact[adversary]
        blank = self.blank(
            event.person, event.look, adversary, secret,
            alpha=0.0 if exact else self.selected.looks[event.look - 1].alpha / len(measured),
            kept=all(self._bets_prove(event.person, one, keeps=True) for one in measured),
            broken=any(self._bets_prove(event.person, one, keeps=False, rows=len(measured)) for one in measured),
        )  # fmt: skip
        earlier = self.found(event.person, adversary, secret) if self.latest[event.person] else None
        return merge_rows_and_looks(measured, blank, earlier)

    def blank(self, person: int, look: int, adversary: int, secret: int, **known: Any) -> Finding:
        """A finding that says whom and what it is about, and nothing else but what is given."""
        assert self.selected is not None, "persons are examined only after they were selected"
        return Finding(
            person=person,
            rows=(),
            adversary=self.selected.adversaries[adversary],
            secret=self.spec["secrets"][secret]["name"],
            distance=0.0,
            lower=0.0,
            upper=math.inf,
            exact=self.selected.exact[adversary],
            coupled=self.profile is None or self.profile.coupled,
            look=look,
            claim=self.claim,
            **known,
        )

    def _carry(self, person: int, measured: Iterable[Measurement]) -> None:
        """Remember the bets, and the counts of pairs, of all looks so far, where there are several."""
        for one in measured if self.is_adaptive else ():
            key = (person, one.adversary, one.secret, one.row)
            if one.kept is not None or one.broken is not None:
                self.carried[key] = self.carried.get(key, Carried()).with_look(one)
            if one.delta_at_epsilon is not None:
                hits, pairs = self.counts.get(key, (0, 0))
                self.counts[key] = hits + one.hits, pairs + one.draws

    def _bets_prove(self, person: int, one: Measurement, *, keeps: bool, rows: int = 1) -> bool:
        """Whether all looks together prove that the claim is kept, by this person alone, or that it is broken."""
        assert self.selected is not None
        if not self.is_adaptive or one.failure is not None:
            return False
        level = self.selected.wager if keeps else self.selected.looks[0].alpha / rows  # half of what all looks spend
        if self.claim.delta == 0:
            wager = one.kept if keeps else one.broken
            return wager is not None and wager.refutes(level)
        hits, pairs = self.counts.get((person, one.adversary, one.secret, one.row), (0, 0))
        return keeps and evidence_below(hits, pairs, self.claim.delta) >= math.log(1 / level)

    def is_proven(self, finding: Finding) -> bool:
        """Whether she is proven to keep the claim, or to break it."""
        return finding.violates(self.claim) or finding.satisfies(self.claim)

    @property
    def is_decided(self) -> bool:
        """Whether somebody is proven to break the claim for every pair of adversary and secret."""
        return all(pair in self.violated for pair in self.pairs())

    def moving_most(self, count: int) -> list[int]:
        """So many examined persons, those with the largest proven distance."""
        persons = np.flatnonzero(self.latest)
        if not len(persons):
            return []
        largest = np.max([store.column("lower", persons) for store in self.stores.values()], axis=0)
        return [int(person) for person in persons[np.lexsort((persons, -largest))][:count]]

    @property
    def examines_blocks(self) -> bool:
        """Whether persons are examined in blocks with draws of f(D) of their own."""
        return self.profile is not None and self.profile.in_blocks

    @property
    def draws_of_persons(self) -> int:
        """Draws without a person, of all persons and looks."""
        if self.selected is None:
            return 0
        made = np.cumsum([0, *(look.draws for look in self.selected.looks)])
        return int(made[self.latest].sum())

    @property
    def privacy_witnesses(self) -> frozenset[int]:
        """Persons who are drawn to the end to test a claim of differential privacy: who moved most at the first look.

        Most persons of an adaptive audit are settled by too few draws to refute one.
        """
        if self.profile is None or self.profile.card.noise_epsilon is None:
            return frozenset()
        persons = np.flatnonzero(self.latest)
        order = persons[np.lexsort((persons, -self.moved_first[persons]))]
        return frozenset(order[:PRIVACY_WITNESSES].tolist())

    def pairs(self) -> Iterator[tuple[int, int]]:
        assert self.selected is not None
        for adversary in range(len(self.selected.adversaries)):
            for secret in range(len(self.spec["secrets"])):
                yield adversary, secret

    def rows_of(self, person: int) -> tuple[RowName, ...]:
        """The rows of the source that a selected person has."""
        assert self.selected is not None
        if self.selected.rows is None:
            return (self.spec["data"]["source"]["first"] + person,)
        return self.selected.rows[self.selected.places[person]]

    @property
    def uninformed(self) -> frozenset[tuple[str, str]]:
        """Adversaries and secrets, by name, of which no release held evidence about anybody."""
        assert self.selected is not None
        return frozenset(
            (self.selected.adversaries[adversary], self.spec["secrets"][secret]["name"])
            for adversary, secret in self.pairs()
            if (adversary, secret) not in self.informed
        )

    @property
    def doubts(self) -> tuple[str, ...]:
        """Why no verdict but INCONCLUSIVE can rest on the answers."""
        doubts = list(self.profile.doubts) if self.profile is not None else []
        if self.confirmed is not None and self.confirmed.different:
            doubts.append(
                f"{self.confirmed.different} of {self.confirmed.repeated} questions that were asked again got another "
                "answer, so f is not deterministic; audit it with randomized = true"
            )
        if self.copied:
            doubts.append(f"draws of f were copies of each other (seen without {len(self.copied)} of the persons)")
        if WITHOUT_ANOTHER in self.notes:
            doubts.append(WITHOUT_ANOTHER)
        return tuple(dict.fromkeys([*doubts, *(self.closed.doubts if self.closed is not None else ())]))

    @property
    def missing(self) -> int:
        """How many persons have neither been examined nor failed."""
        if self.selected is None:
            return 0
        examined = np.array(self.selected.examined, dtype=np.int64)
        open_ones = examined[self.latest[examined] == 0]
        return int(np.count_nonzero(~np.isin(open_ones, list(self.failed))))


def _by_pair(measurements: Iterable[Measurement]) -> dict[tuple[int, int], list[Measurement]]:
    pairs: dict[tuple[int, int], list[Measurement]] = {}
    for measurement in measurements:
        pairs.setdefault((measurement.adversary, measurement.secret), []).append(measurement)
    return pairs


def _without_noise(finding: Finding) -> float:
    """The distance without what sampling noise adds to that of independent draws, about in quadrature."""
    floor = 0.0 if finding.coupled else finding.floor or 0.0
    return math.sqrt(max(0.0, finding.distance**2 - floor**2)) if floor else finding.distance
