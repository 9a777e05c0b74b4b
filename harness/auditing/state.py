"""The state of an audit: a fold over its events. Journal, resume, verify, progress bar and report all use this one.

Knows the plan as plain data, so that an audit can be read back without its data or its oracle.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

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
    Measurement,
    OracleProfile,
    Probed,
    Salvaged,
    Selected,
    Watched,
)
from harness.auditing.finding import Finding, merge_rows_and_looks
from harness.auditing.measure import Carried, RowKey
from harness.auditing.plan import Claim
from harness.auditing.reference_events import Baselines, ClassSizes
from harness.measuring.betting import evidence_below
from harness.measuring.samples import Samples
from harness.measuring.tail import Limits
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
    examined: set[tuple[int, int]] = field(default_factory=set)  # person and look
    findings: dict[Key, Finding] = field(default_factory=dict)  # of the latest look at each examined person
    notes: dict[str, int] = field(default_factory=dict)  # about releases without a person, and how often
    failed: dict[int, Failed] = field(default_factory=dict)  # persons who could not be measured, until they could
    violated: set[tuple[int, int]] = field(default_factory=set)  # adversary and secret that somebody breaks it for
    chosen: list[Chosen] = field(default_factory=list)  # who went on to further looks, in this order
    latest: dict[int, int] = field(default_factory=dict)  # the latest look at each person
    moved: dict[Key, float] = field(default_factory=dict)  # draws times distance without noise, of all looks
    carried: dict[RowKey, Carried] = field(default_factory=dict)  # what earlier looks leave to the next
    counts: dict[RowKey, tuple[int, int]] = field(default_factory=dict)  # pairs at or above ε, and all
    moved_first: dict[int, float] = field(default_factory=dict)  # the distance of each person at the first look
    informed: set[tuple[int, int]] = field(default_factory=set)  # adversaries and secrets with evidence about anybody
    copied: set[int] = field(default_factory=set)  # persons whose draws were copies of each other
    baselines: Baselines | None = None
    class_sizes: ClassSizes | None = None
    described: Described | None = None
    unpaired: set[int] = field(default_factory=set)  # persons of whom equal seeds did not make draws alike
    salvaged: list[Salvaged] = field(default_factory=list)  # what was lost of a damaged journal
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
        self.examined.add((event.person, event.look))
        self.latest[event.person] = event.look
        if any(one.copied for one in event.measurements):
            self.copied.add(event.person)
        if any(one.unpaired for one in event.measurements):
            self.unpaired.add(event.person)
        for note in event.notes:
            self.notes[note] = self.notes.get(note, 0) + 1
        for (adversary, secret), measured in _by_pair(event.measurements).items():
            key = (event.person, adversary, secret)
            self._carry(event.person, measured)
            if any(one.failure is None and min(one.uncovered) < one.draws for one in measured):
                self.informed.add((adversary, secret))
            finding = self._finding(event, adversary, secret, measured, self.findings.get(key))
            self.findings[key] = finding
            if event.look == 1 and finding.failure is None:
                self.moved_first[event.person] = max(self.moved_first.get(event.person, 0.0), finding.distance)
            if finding.failure is None:
                self.moved[key] = self.moved.get(key, 0.0) + finding.draws * _without_noise(finding)
            if finding.violates(self.claim):
                self.violated.add((adversary, secret))

    def _finding(
        self, event: Examined, adversary: int, secret: int, measured: list[Measurement], earlier: Finding | None
    ) -> Finding:
        assert self.selected is not None, "persons are examined only after they were selected"
        exact = self.selected.exact[adversary]
        blank = replace(
            self._blank(event.person, event.look, adversary, secret),
            alpha=0.0 if exact else self.selected.looks[event.look - 1].alpha / len(measured),
            kept=all(self._bets_prove(event.person, one, keeps=True) for one in measured),
            broken=any(self._bets_prove(event.person, one, keeps=False, rows=len(measured)) for one in measured),
        )
        finding = merge_rows_and_looks(measured, blank, earlier)
        return _with_exact_tail(finding) if exact and finding.failure is None else finding

    def _blank(self, person: int, look: int, adversary: int, secret: int) -> Finding:
        """A finding that says whom and what it is about, and nothing else."""
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
        )

    def _carry(self, person: int, measured: Iterable[Measurement]) -> None:
        """Remember the bets, and the counts of pairs, of all looks so far."""
        for one in measured:
            key = (person, one.adversary, one.secret, one.row)
            if one.kept is not None or one.broken is not None:
                self.carried[key] = self.carried.get(key, Carried()).with_look(one)
            if one.delta_at_epsilon is not None:
                hits, pairs = self.counts.get(key, (0, 0))
                self.counts[key] = hits + one.hits, pairs + one.draws

    def _bets_prove(self, person: int, one: Measurement, *, keeps: bool, rows: int = 1) -> bool:
        """Whether all looks together prove that the claim is kept, by this person alone, or that it is broken."""
        assert self.selected is not None
        if self.spec["draws"] != "adaptive" or one.failure is not None:
            return False
        level = self.selected.wager if keeps else self.selected.looks[0].alpha / rows  # half of what all looks spend
        if self.claim.delta == 0:
            wager = one.kept if keeps else one.broken
            return wager is not None and wager.refutes(level)
        hits, pairs = self.counts.get((person, one.adversary, one.secret, one.row), (0, 0))
        return keeps and evidence_below(hits, pairs, self.claim.delta) >= math.log(1 / level)

    def is_open(self, person: int) -> bool:
        """Whether further draws of an examined person could say more.

        She is not settled for some pair of adversary and secret for which nobody is proven to break the claim.
        """
        return any(self.open_pairs(person))

    def open_pairs(self, person: int) -> Iterator[tuple[int, int]]:
        """The adversaries and secrets for which she is not settled, and nobody is proven to break the claim."""
        for pair in self._pairs() if person not in self.failed else ():
            finding = self.findings[(person, *pair)]
            settled = finding.failure is not None or self._is_proven(finding)
            if not settled and pair not in self.violated:
                yield pair

    def _is_proven(self, finding: Finding) -> bool:
        """Whether she is proven to keep the claim, or to break it."""
        return finding.violates(self.claim) or finding.satisfies(self.claim)

    @property
    def is_decided(self) -> bool:
        """Whether somebody is proven to break the claim for every pair of adversary and secret."""
        return all(pair in self.violated for pair in self._pairs())

    def moving_most(self, count: int) -> list[int]:
        """So many examined persons, those with the largest proven distance."""
        largest: dict[int, float] = {}
        for (person, _, _), finding in self.findings.items():
            largest[person] = max(largest.get(person, 0.0), finding.lower)
        return sorted(largest, key=lambda person: (-largest[person], person))[:count]

    @property
    def examines_blocks(self) -> bool:
        """Whether persons are examined in blocks with draws of f(D) of their own."""
        return self.profile is not None and self.profile.in_blocks

    @property
    def draws_of_persons(self) -> int:
        """Draws without a person, of all persons and looks."""
        return sum(self.selected.looks[look - 1].draws for _, look in self.examined) if self.selected else 0

    @property
    def privacy_witnesses(self) -> frozenset[int]:
        """Persons who are drawn to the end to test a claim of differential privacy: who moved most at the first look.

        Most persons of an adaptive audit are settled by too few draws to refute one.
        """
        if self.profile is None or self.profile.card.noise_epsilon is None:
            return frozenset()
        order = sorted(self.moved_first, key=lambda person: (-self.moved_first[person], person))
        return frozenset(order[:PRIVACY_WITNESSES])

    def _pairs(self) -> Iterator[tuple[int, int]]:
        assert self.selected is not None
        for adversary in range(len(self.selected.adversaries)):
            for secret in range(len(self.spec["secrets"])):
                yield adversary, secret

    def all_findings(self) -> Iterator[Finding]:
        """One finding per person, adversary and secret, the duplicates of an examined person among them."""
        if self.selected is None:
            return
        represented = {group[0]: group for group in self.selected.duplicates}
        reported = [(person, first) for first in self.selected.examined for person in represented.get(first, (first,))]
        for person, first in sorted(reported):
            rows = self.rows_of(person)
            for adversary, secret in self._pairs():
                finding = self._reported(first, adversary, secret)
                if finding is not None:
                    alone = len(rows) == 1
                    row = (
                        rows[int(finding.row or 0)] if alone or person == first else None
                    )  # duplicates order theirs anyhow
                    yield replace(finding, person=person, rows=rows, row=row)

    def rows_of(self, person: int) -> tuple[RowName, ...]:
        """The rows of the source that a selected person has."""
        assert self.selected is not None
        if self.selected.rows is None:
            return (self.spec["data"]["source"]["first"] + person,)
        return self.selected.rows[self.selected.places[person]]

    def _reported(self, person: int, adversary: int, secret: int) -> Finding | None:
        """Her finding; of somebody who could not be measured, what an earlier look proved, or that there is none."""
        finding, failed = self.findings.get((person, adversary, secret)), self.failed.get(person)
        if failed is None or (finding is not None and self._is_proven(finding)):
            return finding
        return replace(self._blank(person, failed.look, adversary, secret), failure=failed.reason)

    @property
    def uninformed(self) -> frozenset[tuple[str, str]]:
        """Adversaries and secrets, by name, of which no release held evidence about anybody."""
        assert self.selected is not None
        return frozenset(
            (self.selected.adversaries[adversary], self.spec["secrets"][secret]["name"])
            for adversary, secret in self._pairs()
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
        seen = {person for person, _ in self.examined} | set(self.failed)
        return sum(person not in seen for person in self.selected.examined)


def _by_pair(measurements: Iterable[Measurement]) -> dict[tuple[int, int], list[Measurement]]:
    pairs: dict[tuple[int, int], list[Measurement]] = {}
    for measurement in measurements:
        pairs.setdefault((measurement.adversary, measurement.secret), []).append(measurement)
    return pairs


def _without_noise(finding: Finding) -> float:
    """The distance without what sampling noise adds to that of independent draws, about in quadrature."""
    floor = 0.0 if finding.coupled else finding.floor or 0.0
    return math.sqrt(max(0.0, finding.distance**2 - floor**2)) if floor else finding.distance


def _with_exact_tail(finding: Finding) -> Finding:
    """Without chance a person lies at or above ε, or does not."""
    assert finding.claim is not None
    often = float(finding.distance >= finding.claim.epsilon)
    return replace(
        finding,
        delta_at_epsilon=Limits(often, often, often),
        epsilon_at_delta=Limits(finding.distance, finding.distance, finding.distance),
    )
