"""The test itself, all records of it (v2 §3.2): opening, looks, records, closing. Knows no page or transport."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from harness.auditing.draw_store import keep, kept
from harness.auditing.examine import Examination, answers
from harness.auditing.finding import Finding
from harness.auditing.journal import Journal
from harness.auditing.plan import Plan
from harness.auditing.probe import FEWEST_HALVES, Opening, first_questions, last_question, still_the_same
from harness.auditing.select import Course, Look, choose, looks, twins
from harness.executors import Mapper, Serial
from harness.measuring.divergence import Samples
from harness.vocabulary.dataset import Record
from harness.vocabulary.errors import ReleaseError
from harness.vocabulary.oracle import Oracle
from harness.vocabulary.release import Reader
from harness.vocabulary.table import Table

# Who is risky is seen on a draw of its own: one that the estimates used too would bias the choice.
BEFORE = Look(0, 1, 1.0)
AGAIN, MOST_AGAIN = -1, 100  # the look, and its draws, that are compared with the first ones to see a drift


@dataclass(eq=False)
class Audit:
    """Asks for f(D) and for f(D⁻ⁱ) of every target; `run` yields one finding per record when it is settled.

    Whatever is learnt goes to the journal first, so that the same audit run again goes on where it stopped.
    """

    plan: Plan
    oracle: Oracle
    journal: Journal | None = None
    executor: Mapper = field(default_factory=Serial)
    _new: bool = field(default=False, init=False)  # whether this run has anything to measure

    def _said(self, kind: str) -> list[Any]:
        """What the journal held of one kind when this run began."""
        return [entry[kind] for entry in self.journal.entries if kind in entry] if self.journal is not None else []

    def _say(self, kind: str, what: Any) -> None:
        if self.journal is not None:
            self.journal.append({kind: what})

    @cached_property
    def opening(self) -> Opening:
        """The first questions, asked once per audit even if it is interrupted."""
        if said := self._said("opening"):
            return Opening.from_entry(said[-1])
        opening = first_questions(self.plan, self.oracle)
        self._say("opening", opening.entry())
        return opening

    @cached_property
    def course(self) -> Course:
        """Whom to examine, and for whom each stands; what f(D) shows decides who is risky when there is a budget."""
        if said := self._said("course"):
            return Course.from_entry(said[0])
        reader, present = Reader(self.plan.data), None
        if self.plan.budget is not None and (drawn := self.drawn(BEFORE)):
            present = reader.read(drawn[0])
        choice = choose(self.plan, self.opening.card, self.opening.coupled, reader, present)
        alike = twins(self.plan.data, choice.targets) if self.opening.row_order_invariant else {}
        course = Course(not self.plan.randomized(self.opening.card), choice.targets, choice.random, alike)
        self._say("course", course.entry())
        return course

    @cached_property
    def looks(self) -> tuple[Look, ...]:
        return looks(self.plan, self.opening.card, self.opening.coupled, len(self.course.targets))

    @cached_property
    def measured(self) -> dict[tuple[int, int], Finding]:
        """What earlier runs of this audit have found, by record and look."""
        found = map(Finding.from_entry, self._said("finding"))
        return {(finding.index, finding.look): finding for finding in found}

    def drawn(self, look: Look) -> tuple[Table, ...]:
        """The draws of f(D) for one look, kept beside the journal; none for an oracle that predicts."""
        if look.number not in self._drawn:
            self._drawn[look.number] = self._kept_or_asked(look)
        return self._drawn[look.number]

    @cached_property
    def _drawn(self) -> dict[int, tuple[Table, ...]]:
        return {}

    def _kept_or_asked(self, look: Look) -> tuple[Table, ...]:
        if self.opening.card.releases == "predictions":
            return ()
        known = next((said["digests"] for said in self._said("present") if said["look"] == look.number), None)
        path = self.journal.path.with_name(f"present-{look.number}.npz") if self.journal is not None else None
        if known is not None and path is not None:
            return kept(path, known)
        tables = self._asked(look)
        if path is not None:
            keep(path, tables)
        self._say("present", {"look": look.number, "digests": [table.digest for table in tables]})
        return tables

    def _asked(self, look: Look) -> tuple[Table, ...]:
        card, coupled = self.opening.card, self.opening.coupled
        if card.releases == "predictions":
            return ()
        ask = self.plan.ask(card, None, absent=False, coupled=coupled, draws=look.draws, look=look.number)
        return tuple(release for release in answers(self.oracle, ask, "f(D)") if isinstance(release, Table))

    def run(self) -> Iterator[Finding]:
        """Look after look, until every record is settled, one is proven to break the claim, or draws are spent."""
        latest: dict[int, Finding] = {}
        waiting = self.in_random_order()
        for look in self.looks:
            unsettled: set[int] = set()
            for finding in self._examined(look, waiting):
                latest[finding.index] = finding.after(latest.get(finding.index))
                if look is self.looks[-1] or self.settled(latest[finding.index]):
                    yield from self._with_twins(latest[finding.index])
                else:
                    unsettled.add(finding.index)
            waiting = [index for index in waiting if index in unsettled]
            if any(self._violates(finding) for finding in latest.values()):
                break
        else:
            waiting = []
        for index in waiting:  # nothing they could show would change the verdict
            yield from self._with_twins(latest[index])
        self.closing  # noqa: B018

    def _examined(self, look: Look, targets: list[int]) -> Iterator[Finding]:
        """The findings of one look: what is known already, then what has to be asked."""
        known = [self.measured[index, look.number] for index in targets if (index, look.number) in self.measured]
        yield from known
        left = [index for index in targets if (index, look.number) not in self.measured]
        if not left:
            return
        if not self._new:
            self._begin()
        examine = self._examination(look, self.drawn(look))
        for finding in self.executor.map(examine, left):
            self._say("finding", finding.entry())
            yield finding

    def _begin(self) -> None:
        """Before the first question of this run: an audit that goes on must find the oracle that it began with."""
        if self._said("finding"):
            still_the_same(self.plan, self.oracle, self.opening)
        self.early  # noqa: B018  (asked for now, looked at in the end)
        self._new = True

    def in_random_order(self) -> list[int]:
        """Targets that share their quasi-identifiers together, since f(D) says the same of them; else at random.

        An oracle that drifts, or remembers what it was asked, then hurts no particular kind of record.
        """
        examined = np.array(self.course.examined)
        known = np.stack(self.plan.data.codes[: len(self.plan.data.schema.quasi)])[:, examined]
        group = np.unique(known, axis=1, return_inverse=True)[1].ravel()
        place = np.random.default_rng(self.plan.seed_for("questions")).permutation(group.max() + 1)
        return [int(index) for index in examined[np.lexsort((examined, place[group]))]]

    def settled(self, finding: Finding) -> bool:
        claim = self.plan.claim
        return self._violates(finding) or finding.satisfies(claim.epsilon, claim.delta, self.course.exact)

    def _violates(self, finding: Finding) -> bool:
        return finding.violates(self.plan.claim.epsilon, self.plan.claim.delta, self.course.exact)

    def _with_twins(self, finding: Finding) -> Iterator[Finding]:
        for index in self.course.alike(finding.index):
            yield replace(finding, index=index)

    @cached_property
    def closing(self) -> tuple[str, ...]:
        """The last question, asked once per audit, and what it brought to light."""
        if (said := self._said("closing")) and not self._new:
            return tuple(said[-1])
        notes = last_question(self.plan, self.oracle, self.opening, self.early, self._late())
        self._say("closing", list(notes))
        return notes

    @cached_property
    def early(self) -> Samples | None:
        """What independent draws of f(D) say about one record before all others are asked about; to see a drift."""
        look = self.looks[0]
        if self.opening.coupled or look.draws < FEWEST_HALVES:
            return None
        return self._examination(look, self.drawn(look)).present_samples(self._first_target)

    def _late(self) -> Samples | None:
        """The same once more, after them."""
        if self.early is None:
            return None
        again = Look(AGAIN, min(self.looks[0].draws, MOST_AGAIN), self.looks[0].alpha)
        return self._examination(again, self._asked(again)).present_samples(self._first_target)

    @property
    def _first_target(self) -> Record:
        return self.plan.data.record(self.course.targets[0])

    def _examination(self, look: Look, present: tuple[Table, ...]) -> Examination:
        return Examination(self.plan, self.oracle, self.opening.card, self.opening.coupled, look, present)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What is odd about the oracle and about f(D)."""
        reader, found = Reader(self.plan.data), dict.fromkeys(self.opening.notes)
        for table in self.drawn(self.looks[0]):
            try:
                found.update(dict.fromkeys(reader.read(table).notes))
            except ReleaseError as error:
                raise ReleaseError(f"oracle {self.opening.card.name!r}, asked for f(D): {error}") from None
        return (*found, *self.closing)
