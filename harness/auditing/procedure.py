"""The test itself, all persons of it (v2 §3.2), as one stream of events; the only module that makes them happen.

    probe the oracle -> select persons -> draw f(D), examine everybody
    -> draw again, and examine those who go on to a further look, as long as somebody does
    -> compute what distances are shown beside -> ask a deterministic f some questions again -> close

Whatever happens goes to the journal before anybody else hears of it. The same audit on the same journal first
yields what the journal holds, asks nothing twice, and goes on where it stopped.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace

from harness.auditing.baselines import compute_baselines
from harness.auditing.budget import Round, rounds_of, with_more_persons, within_budget
from harness.auditing.card_changes import changed_card
from harness.auditing.class_sizes import count_class_sizes
from harness.auditing.confirm import confirms
from harness.auditing.events import (
    EARLY,
    LATE,
    Chosen,
    Closed,
    Confirmed,
    Event,
    Failed,
    Look,
    OracleProfile,
    Probed,
    Resumed,
    Selected,
    Watched,
    from_entry,
    to_entry,
)
from harness.auditing.examine import Examination
from harness.auditing.failures import IN_A_ROW, oracle_down, require_few
from harness.auditing.infer import Side, infer
from harness.auditing.item_result import ItemResult
from harness.auditing.journal import Journal
from harness.auditing.options import USUALLY_KEPT, kept_bytes
from harness.auditing.plan import Plan
from harness.auditing.prediction_file import PredictionFile
from harness.auditing.present_draws import RISK, PresentDraws
from harness.auditing.probe import (
    MOST_WATCHED,
    closing_doubts,
    probe,
    recognise,
    require_answer,
    watches_for_drift,
)
from harness.auditing.race import next_round
from harness.auditing.read_journal import Reading
from harness.auditing.repeat import repeat_questions
from harness.auditing.replay import Replay
from harness.auditing.select import in_random_order, schedule, select, work_items
from harness.auditing.shard import Shard, require_shardable
from harness.auditing.state import AuditState
from harness.executors import Mapper, Serial, workers_at_once
from harness.measuring.one_thread import one_thread
from harness.measuring.samples import Samples
from harness.vocabulary.errors import OracleError
from harness.vocabulary.oracle import Oracle
from harness.vocabulary.release import Microdata

MOST_MOVING = 50  # persons whose class sizes are counted beside those at random
START = 4.0  # seconds in which workers start, about


@dataclass(eq=False)
class Audit:
    """A plan, an oracle, and who does the work."""

    plan: Plan
    oracle: Oracle
    executor: Mapper = field(default_factory=Serial)
    shared: Oracle | None = None  # the same oracle with answers that another audit got: probes and repeats avoid it
    max_failures: int | None = None  # persons that may fail before the audit stops; None: see `failures`
    retry_failed: bool = False  # ask again about persons who could not be measured in earlier runs
    accept_card: bool = False  # go on although the oracle now says something else of itself
    shard: Shard | None = None  # examine only its persons, and stop before what depends on everybody
    keep_predictions: int = kept_bytes(USUALLY_KEPT)  # bytes of draws, at most, beside a journal

    def events(self, journal: Journal | None = None, state: AuditState | None = None) -> Generator[Event, None, None]:
        """Everything that happened so far and everything that happens from now on, to the end of the audit.

        All of it is added to `state`, a new one of this plan unless it is given.
        """
        state = state or AuditState(self.plan.spec())
        if journal is not None:
            yield from _earlier(journal, state)
        with one_thread(), closing(_Run(self, journal, state)) as run:
            yield from run.events()


def _earlier(journal: Journal, state: AuditState) -> Iterator[Event]:
    """What the journal holds, added to the state; refused where no audit of this plan can have written it."""
    replay = Replay(state.spec)
    with Reading(journal.path) as reading:
        for entry in reading.numbered(journal.earlier(), 2):
            event = from_entry(entry)
            replay.require(state, event)
            state.add(event)
            yield event


class _Run:
    """One run of an audit: the state it began with, and what it adds."""

    def __init__(self, audit: Audit, journal: Journal | None, state: AuditState) -> None:
        self.plan, self.oracle, self.executor = audit.plan, audit.oracle, audit.executor
        self.shared = audit.shared or audit.oracle
        self.journal, self.state = journal, state
        self.has_asked = False  # about persons, in this run
        self.resumes = False  # an earlier run is continued, and nothing was added to it yet
        self.latest: Examination | None = None
        self.seconds_of_draw: float | None = None  # that one worker takes for one draw of one person; None: not known
        folder = None if journal is None else journal.path.parent
        self.present = PresentDraws(self.plan, self.oracle, self.shared, state, folder)
        self.predictions = None if folder is None else PredictionFile(folder, audit.keep_predictions)
        self.max_failures, self.accept_card, self.shard = audit.max_failures, audit.accept_card, audit.shard
        self.to_retry = set(state.failed) if audit.retry_failed else set[int]()
        self.waiting: list[Failed] = []  # failures that no answer has followed yet

    def close(self) -> None:
        """What was kept beside the journal is on the disk."""
        if self.predictions is not None:
            self.predictions.close()

    def events(self) -> Iterator[Event]:
        if self.state.profile is None:
            yield self._record(Probed(probe(self.plan, self.oracle)))
        else:  # an audit that goes on, or has come to its end, must find the oracle that it began with
            before = self.state.accepted[-1].now if self.state.accepted else self.profile.stated
            change = changed_card(before, self.oracle.card, accept=self.accept_card)
            recognise(self.plan, self.oracle, self.profile)
            self.resumes = True
            if change is not None:
                yield self._record(change)
        if self.shard is not None:
            require_shardable(self.profile)
        yield from self._select()
        examined = self.selected.examined
        yield from self._examine(self.selected.looks[0], self.shard.part(examined) if self.shard else examined)
        if self.shard is None:
            yield from self._finish()
        self.present.restore_files()

    def _finish(self) -> Iterator[Event]:
        """What depends on everybody, after the first look."""
        yield from self._look_further()
        yield from self._refer()
        if self.state.confirmed is None and confirms(self.profile) and self.state.has_examined:
            yield self._record(self._confirm())
        if self.state.closed is None:
            yield from self._close()

    def _record(self, event: Event) -> Event:
        if self.resumes:  # only now: a finished audit that is run again stays as it is, and so does its signature
            self.resumes = False
            self._record(Resumed())
        if self.journal is not None:
            self.journal.append(to_entry(event))
        self.state.add(event)
        return event

    @property
    def profile(self) -> OracleProfile:
        assert self.state.profile is not None, "probed first"
        return self.state.profile

    @property
    def selected(self) -> Selected:
        assert self.state.selected is not None, "selected before anybody is examined"
        return self.state.selected

    def _select(self) -> Iterator[Event]:
        """Choose the persons once; an adaptive audit that was given more draws has more looks at the same persons."""
        if self.state.selected is None:
            if self.plan.budget is not None and self.profile.card.releases == "microdata":
                yield from self._draw(RISK, 1)  # of its own: draws that estimates use too would bias the choice
            selected = select(self.plan, self.profile, self._risk())
            if not self.plan.adaptive:  # all that it will cost is known
                rounds = rounds_of(selected, [selected.examined], ())
                selected = with_more_persons(self.plan, self.profile, selected, rounds, self._risk()) or selected
            yield self._record(selected)
            return
        looks = schedule(self.plan, self.profile, self.selected.shared_by, self.selected.looks)
        if looks != self.selected.looks:
            yield self._record(replace(self.selected, looks=looks))

    def _risk(self) -> Microdata | None:
        """The draw of f(D) that shows who is risky, where there is one."""
        return self.present.read(0, self.present.tables(RISK, 0))[0] if (RISK, 0) in self.state.drawn else None

    def _look_further(self) -> Iterator[Event]:
        """Further looks at those who need them; first at those whom an interrupted audit had chosen.

        What is then left of a budget buys further persons.
        """
        for look in self.selected.looks[1:] if self.to_retry else ():
            failed = [each.person for each in self.state.failed.values() if each.look == look.number]
            again = tuple(person for person in failed if person in self.to_retry)
            yield from self._examine(look, again)
        if self.state.chosen:
            yield from self._examine_chosen(self.state.chosen[-1])
        while True:
            if (chosen := self._next_round()) is not None:
                yield self._record(chosen)
                yield from self._examine_chosen(chosen)
            elif (grown := self._with_more_persons()) is not None:
                yield self._record(grown)
                yield from self._examine(grown.looks[0], grown.examined)
            else:
                return

    def _with_more_persons(self) -> Selected | None:
        """The selection with more persons, as far as a budget goes and the verdict may still depend on them."""
        if not self.plan.adaptive or self.state.is_decided:
            return None
        return with_more_persons(self.plan, self.profile, self.selected, self._rounds(), self._risk())

    def _rounds(self, *further: Chosen) -> list[Round]:
        return rounds_of(self.selected, self.state.batches, (*self.state.chosen, *further))

    def _examine_chosen(self, chosen: Chosen) -> Iterator[Event]:
        yield from self._examine(self.selected.looks[chosen.look - 1], chosen.persons)

    def _next_round(self) -> Chosen | None:
        """Who goes on to a further look, as far as the budget allows."""
        chosen = next_round(self.state)
        if chosen is None or self.plan.budget is None:
            return chosen
        persons = within_budget(self.plan, self.profile, self._rounds(chosen))
        return replace(chosen, persons=persons) if persons else None

    def _examine(self, look: Look, persons: tuple[int, ...]) -> Iterator[Event]:
        """One look at these persons; what is known already is not asked again."""
        if not persons:
            return
        ordered = in_random_order(self.plan, persons)
        left = [person for person in ordered if not self._is_done(person, look)]
        if not left:
            return
        self.to_retry -= set(left)
        yield from self._begin(look)
        yield from self._draw_for(look)
        yield from self._describe()
        items = work_items(self.plan, self.profile, left)
        self.latest = self._examination(look, tuple(left))
        draws, start = len(left) * look.draws, time.monotonic()
        executor = self._executor_for(draws)
        for outcome in executor.map(self.latest, items):
            yield from self._take(outcome)
        yield from self._settle_failures()
        self.seconds_of_draw = (time.monotonic() - start) * workers_at_once(executor) / draws

    def _is_done(self, person: int, look: Look) -> bool:
        """Whether this look at her was made, or cannot be made and is not to be tried again."""
        if self.state.is_examined(person, look.number):
            return True
        return person in self.state.failed and person not in self.to_retry

    def _take(self, outcome: ItemResult) -> Iterator[Event]:
        """What became of a work item; failures are believed when an answer follows them."""
        for examined in outcome.examined:
            for draws in examined.draws:  # before the line of the journal that names them
                assert self.predictions is not None, "draws are sent back only where they are kept"
                self.predictions.append(draws)
            yield self._record(examined.event)
        if outcome.error is not None:
            raise outcome.error
        if outcome.examined:
            yield from self._record_failures()
        self.waiting += outcome.failed
        if outcome.away or len(self.waiting) >= IN_A_ROW:
            yield from self._settle_failures()

    def _settle_failures(self) -> Iterator[Event]:
        """Believe the failures that wait if f still answers f(D); end the audit if it does not."""
        if not self.waiting:
            return
        try:
            require_answer(self.plan, self.oracle)
        except OracleError as error:
            raise oracle_down(self.waiting, error) from error
        yield from self._record_failures()

    def _record_failures(self) -> Iterator[Event]:
        while self.waiting:
            yield self._record(self.waiting.pop(0))
            require_few(self.state.failed, self.state.has_examined, self.max_failures)

    def _executor_for(self, draws: int) -> Mapper:
        """This process for a round that it makes sooner than workers would start; results do not depend on it."""
        known = self.seconds_of_draw
        is_quick = known is not None and known * draws < START
        return Serial() if is_quick and self.profile.card.in_process else self.executor

    def _begin(self, look: Look) -> Iterator[Event]:
        """Before the first question about a person: draws to compare later ones with."""
        if self.has_asked:
            return
        self.has_asked = True
        yield from self._watch(EARLY, look)

    def _draw_for(self, look: Look) -> Iterator[Event]:
        """The draws of f(D) that all persons share; those who are examined in blocks have their own."""
        if self.profile.card.releases == "microdata" and self.profile.coupled:
            yield from self._draw(look.purpose, look.draws)

    def _draw(self, purpose: str, draws: int) -> Iterator[Event]:
        """Draw f(D) for each question of the plan, unless that was done before."""
        for drawn in self.present.draw(purpose, draws):
            yield self._record(drawn)

    def _describe(self) -> Iterator[Event]:
        """Measure the first draw of f(D) that there is; none is drawn for it."""
        described = None if self.state.described is not None else self.present.described()
        if described is not None:
            yield self._record(described)

    def _examination(self, look: Look, persons: tuple[int, ...]) -> Examination:
        """What workers need: the draws of f(D), and what adversaries who train once for everybody infer from them."""
        last = look == self.selected.looks[-1]
        members = frozenset(persons)
        carried = {key: state for key, state in self.state.carried.items() if key[0] in members}
        shared = self.profile.card.releases == "microdata" and self.profile.coupled  # draws of f(D), by all persons
        questions = range(len(self.plan.questions)) if shared else ()
        return Examination(
            self.plan, self.shared, self.profile, look, last=last,
            tables=tuple(self.present.tables(look.purpose, number) for number in questions),
            predicted=tuple(self.present.inferred(look.purpose, number, look, persons) for number in questions),
            carried=carried,
            keeps_draws=self.predictions is not None and self.predictions.has_room,
        )  # fmt: skip

    def _refer(self) -> Iterator[Event]:
        """What distances are shown beside; the oracle is not asked."""
        if self.state.baselines is None:
            yield self._record(compute_baselines(self.plan, self.profile, self.selected.examined))
        purpose = self.selected.looks[0].purpose
        if self.state.class_sizes is None and (purpose, 0) in self.state.drawn:
            release = self.present.read(0, self.present.tables(purpose, 0)[:1])[0]
            moving = self.state.moving_most(MOST_MOVING)
            yield self._record(count_class_sizes(self.plan, release, self.selected.examined, moving))

    def _confirm(self) -> Confirmed:
        examination = self.latest or self._examination(self.selected.looks[-1], self.selected.examined)
        return repeat_questions(examination.asking(self.oracle), self.present, self.state)

    def _close(self) -> Iterator[Event]:
        """Ask the closing question and say what it brought to light."""
        yield from self._watch(LATE, self.selected.looks[0])
        early, late = (self.state.watched.get(purpose) for purpose in (EARLY, LATE))
        yield self._record(Closed(closing_doubts(self.plan, self.oracle, self.profile, early, late)))

    def _watch(self, purpose: str, look: Look) -> Iterator[Event]:
        """Draws of f(D) of which late ones are compared with early ones, where f may drift."""
        if not watches_for_drift(self.profile, look.draws) or purpose in self.state.watched:
            return
        row = self.plan.data.rows_of(self.selected.persons[0])[0]
        few = replace(look, draws=min(look.draws, MOST_WATCHED))
        if self.profile.card.releases == "predictions":
            examination = Examination(self.plan, self.oracle, self.profile, few, last=False)
            yield self._record(Watched(purpose, examination.predict_present(row, purpose)))
            return
        yield from self._draw(purpose, few.draws)
        question = self.plan.questions[0]
        releases = self.present.read(0, self.present.tables(purpose, 0))
        target = question.data.record(row)
        side = Side.of(few, self.profile, "present")
        inferred = infer(self.plan, question.adversaries[:1], releases, [target], side)
        prediction = inferred.prediction((question.adversaries[0], 0), 0)
        if prediction.samples is not None:
            yield self._record(Watched(purpose, Samples(prediction.samples)))
