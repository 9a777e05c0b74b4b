"""One person examined (v2 §3.2): f asked without her, inferred with and without, compared. What travels to a worker.

    ask f(D without her) once per draw -> read each release once -> every adversary and secret predict at her
    quasi-identifiers -> compare with what f(D) says -> one Measurement per adversary, secret and distinct row

What f(D) says comes from its draws, which travel along; adversaries that train once for everybody have their
predictions computed beforehand. An oracle that releases predictions is asked about f(D), too.

Where f neither is deterministic nor honours seeds, its answers may depend on when it is asked. Persons are then
examined in blocks with draws of f(D) of their own. All draws of a block are made in rounds, each of them a few draws
of f(D) and of f without every person of the block, in random order: what changes with time changes all alike.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from harness.auditing.asking import ask_oracle, rounds
from harness.auditing.block import Block
from harness.auditing.events import WITHOUT_ANOTHER, Examined, Failed, Look, OracleProfile
from harness.auditing.infer import Inferred, Pair, Prediction, PresentPredictions, Side, infer, target_key
from harness.auditing.item_result import ExaminedPerson, ItemResult, Measured
from harness.auditing.measure import Carried, Conditions, RowKey, Sides, measure
from harness.auditing.measurement import Measurement
from harness.auditing.plan import Plan, Question
from harness.auditing.prediction_draws import PredictionDraws, digest_of, packed, spelled_digest
from harness.auditing.select import distinct_rows
from harness.measuring.features import Floats
from harness.measuring.one_thread import one_thread
from harness.measuring.samples import Samples
from harness.vocabulary.dataset import Dataset, Record, Secret
from harness.vocabulary.errors import AwayError, HarnessError, OracleError
from harness.vocabulary.oracle import Ask, Oracle
from harness.vocabulary.persons import person_in_words
from harness.vocabulary.release import Microdata, Predictions, Reader
from harness.vocabulary.table import Table

REMEMBERED = 16  # inferences from f(D) kept for persons who share their quasi-identifiers
LONGEST_DETAIL = 1000  # letters of a message that the journal keeps


class Examination:
    """Examines persons at one look; the function that executors map over work items."""

    def __init__(
        self,
        plan: Plan,
        oracle: Oracle,
        profile: OracleProfile,
        look: Look,
        *,
        last: bool,
        tables: tuple[tuple[Table, ...], ...] = (),
        predicted: tuple[PresentPredictions, ...] = (),
        carried: Mapping[RowKey, Carried] | None = None,
        keeps_draws: bool = False,
    ) -> None:
        """`tables` are the draws of f(D), per question; `predicted` is what was inferred from them beforehand.

        `carried` is what earlier looks at a person leave to this one. With `keeps_draws` the draws of predictions are
        sent back with the measurements that were made from them.
        """
        self.plan, self.oracle, self.profile, self.look, self.last = plan, oracle, profile, look, last
        self.tables, self.predicted, self.carried, self.keeps_draws = tables, predicted, carried or {}, keeps_draws
        self.questions = plan.asked(profile.card)
        self.readers = tuple(Reader(question.data) for question in self.questions)  # shared by all threads
        self._remembered: OrderedDict[tuple[int, ...], Inferred] = OrderedDict()

    def __reduce__(self) -> tuple[Any, ...]:
        """Only what was given travels; cells are read anew by each worker."""
        return _rebuilt, (self.plan, self.oracle, self.profile, self.look, self._given)

    @property
    def _given(self) -> dict[str, Any]:
        names = ("last", "tables", "predicted", "carried", "keeps_draws")
        return {name: getattr(self, name) for name in names}

    def asking(self, oracle: Oracle) -> Examination:
        """The same examination with the questions put to this oracle."""
        return self if oracle is self.oracle else _rebuilt(self.plan, oracle, self.profile, self.look, self._given)

    def __call__(self, persons: tuple[int, ...]) -> ItemResult:
        with one_thread():
            return self._examine_together(persons)

    def _examine_together(self, persons: tuple[int, ...]) -> ItemResult:
        if self.profile.in_blocks:
            return self._examine_block(persons)
        examined: list[ExaminedPerson] = []
        failures: dict[int, OracleError] = {}
        present: Samples | None = None  # what f(D) predicts, for persons examined together
        try:
            if len(persons) > 1:
                try:
                    present = self.predict_present(self.plan.data.rows_of(persons[0])[0], self.look.purpose)
                except OracleError as error:  # it is about all of them
                    return self._item_result((), dict.fromkeys(persons, error))
            for person in persons:
                try:
                    examined.append(self.examine(person, present))
                except OracleError as error:
                    failures[person] = error
        except HarnessError as error:
            return ItemResult(tuple(examined), error=error)
        return self._item_result(examined, failures)

    def _item_result(self, examined: Iterable[ExaminedPerson], failures: Mapping[int, OracleError]) -> ItemResult:
        failed = tuple(self._failed(person, error.reason, str(error)) for person, error in failures.items())
        away = any(isinstance(error, AwayError) for error in failures.values())
        return ItemResult(tuple(examined), failed, away)

    def _failed(self, person: int, reason: str, detail: str) -> Failed:
        return Failed(person, self.look.number, reason, detail[:LONGEST_DETAIL])

    def crashed(self, persons: tuple[int, ...], reason: str, detail: str) -> ItemResult:
        """What becomes of an item over which worker processes ended: nobody of it could be measured."""
        return ItemResult(failed=tuple(self._failed(person, reason, detail) for person in persons))

    def parts(self, persons: tuple[int, ...]) -> list[tuple[int, ...]]:
        """The item in smaller ones, to find out over whom of it worker processes end."""
        return [(person,) for person in persons]

    def examine(self, person: int, present: Samples | None = None) -> ExaminedPerson:
        """All measurements of one person; `present` is what f(D) predicts where that is known already."""
        rows = distinct_rows(self.plan, person)
        if self.profile.card.releases == "predictions":
            return self._examine_predictions(person, rows, present)
        measured: list[Measured] = []
        notes: set[str] = set()
        for number, question in enumerate(self.questions):
            targets = [question.data.record(row) for row in rows]
            absent = self._infer_absent(number, person, self.look.purpose, self.look.draws, targets, notes)
            for pair in self._pairs(question):
                with_her = [self._present(number, pair, target) for target in targets]
                without = [absent.prediction(pair, place) for place in range(len(targets))]
                measured += self._compare_pair(pair, person, targets, with_her, without)
        return self._examined(person, measured, notes)

    def examine_again(self, person: int, row: int) -> tuple[Measurement, ...]:
        """A person measured once more; of predictions only at one of her rows, given by its place among them."""
        if self.profile.card.releases == "microdata":
            return self.examine(person).event.measurements
        rows = (self.plan.data.rows_of(person)[row],)
        return self._examine_predictions(person, rows, None).event.measurements

    def _examined(self, person: int, measured: Sequence[Measured], notes: Iterable[str] = ()) -> ExaminedPerson:
        ordered = sorted((one.measurement for one in measured), key=lambda one: (one.adversary, one.secret, one.row))
        event = Examined(person, self.look.number, tuple(ordered), tuple(sorted(notes)))
        return ExaminedPerson(event, tuple(one.draws for one in measured if one.draws is not None))

    def _pairs(self, question: Question) -> list[Pair]:
        return [(adversary, secret) for adversary in question.adversaries for secret in range(len(self.plan.secrets))]

    def _infer_absent(
        self, number: int, person: int, purpose: str, draws: int, targets: Sequence[Record], notes: set[str],
        first_draw: int = 0,
    ) -> Inferred:  # fmt: skip
        """What draws of f without a person say about her."""
        question = self.questions[number]
        ask = self.plan.ask_absent(self.profile.card, question, person, purpose, draws, coupled=self.profile.coupled)
        releases = self._read_absent(number, ask, person, notes)
        return infer(self.plan, question.adversaries, releases, targets, self._side("absent"), first_draw)

    def _examine_block(self, persons: tuple[int, ...]) -> ItemResult:
        """Persons with draws of f(D) of their own.

        A person on whom f fails is left out from there on; a failure of f(D) itself ends the audit.
        """
        notes: dict[int, set[str]] = {person: set() for person in persons}
        measured: dict[int, list[Measured]] = {person: [] for person in persons}
        failures: dict[int, OracleError] = {}
        try:
            for number, question in enumerate(self.questions):
                targets = {
                    person: [question.data.record(row) for row in distinct_rows(self.plan, person)]
                    for person in persons
                }
                block = Block(targets)
                for name, draws, first_draw, order in self._rounds(persons, number):
                    for who in order:
                        if who is None:
                            block.present.extend(self._infer_block(number, name, draws, block.everybody, first_draw))
                        elif who not in failures:
                            try:
                                block.absent[who].extend(
                                    self._infer_absent(number, who, name, draws, targets[who], notes[who], first_draw)
                                )
                            except OracleError as error:
                                failures[who] = error
                for person in persons:
                    for pair in self._pairs(question) if person not in failures else ():
                        measured[person] += self._compare_pair(
                            pair, person, targets[person], *block.both_sides(pair, person)
                        )
        except HarnessError as error:
            return ItemResult(error=error)
        whole = [person for person in persons if person not in failures]
        return self._item_result([self._examined(each, measured[each], notes[each]) for each in whole], failures)

    def _rounds(self, persons: tuple[int, ...], number: int) -> Iterator[tuple[str, int, int, list[int | None]]]:
        """Each round of a block: its name, its draws, how many came before, and in which order who is asked about."""
        done = 0
        for turn, draws in enumerate(rounds(self.look.draws)):
            name = f"{self.look.purpose}, block {persons[0]}, question {number}, round {turn}"
            members: list[int | None] = [None, *persons]
            shuffled = np.random.default_rng(self.plan.seed_for("order", name)).permutation(len(members))
            yield name, draws, done, [members[place] for place in shuffled]
            done += draws

    def _infer_block(
        self, number: int, purpose: str, draws: int, targets: Sequence[Record], first_draw: int
    ) -> Inferred:
        """What draws of f(D) say about everybody in a block."""
        question = self.questions[number]
        ask = self.plan.ask_present(self.profile.card, question, purpose, draws)
        releases = self._read(number, ask, "f(D)", set())
        return infer(self.plan, question.adversaries, releases, targets, self._side("present"), first_draw)

    def _side(self, name: Literal["present", "absent"]) -> Side:
        return Side.of(self.look, self.profile, name)

    def _read(self, number: int, ask: Ask, what: str, notes: set[str]) -> Iterator[Microdata]:
        """The releases as they come, so that no more than one is held; what is odd about them is noted."""
        for release in ask_oracle(self.oracle, ask, what):
            assert isinstance(release, Table)
            microdata = self._microdata(number, release, what)
            notes.update(microdata.notes)
            yield microdata

    def _read_absent(self, number: int, ask: Ask, person: int, notes: set[str]) -> Iterator[Microdata]:
        """The releases without a person; a deterministic f that keeps sensitive values must have kept the others'."""
        for microdata in self._read(number, ask, f"f(D) without {self._named(person)}", notes):
            if self.profile.keeps_secrets and _is_without_another(self.questions[number].data, person, microdata):
                notes.add(WITHOUT_ANOTHER)
            yield microdata

    def _named(self, person: int) -> str:
        data = self.plan.data
        rows = [data.row(row) for row in data.rows_of(person)]
        return person_in_words(person, rows, data.source.kind, is_record=data.persons is None)

    def item_in_words(self, persons: tuple[int, ...]) -> str:
        """A work item as errors name it: whom it is about."""
        return ", ".join(map(self._named, persons))

    def _microdata(self, number: int, table: Table, what: str) -> Microdata:
        try:
            return self.readers[number].read(table.in_canonical_order() if self.profile.shuffles else table)
        except HarnessError as error:
            raise error.within(f"oracle {self.profile.card.name!r}, asked for {what}") from error

    @cached_property
    def present(self) -> tuple[tuple[Microdata, ...], ...]:
        """f(D) per question, read once and shared by all persons."""
        return tuple(
            tuple(self._microdata(number, table, "f(D)") for table in tables)
            for number, tables in enumerate(self.tables)
        )

    def _compare_pair(
        self, pair: Pair, person: int, targets: Sequence[Record], present: Sequence[Prediction],
        absent: Sequence[Prediction],
    ) -> Iterator[Measured]:  # fmt: skip
        """The measurements of one adversary and secret, one for each distinct row of the person."""
        hers = self.plan.data.rows_of(person)
        for target, with_her, without in zip(targets, present, absent, strict=True):
            if with_her.samples is None or without.samples is None:
                failure = with_her.failure or without.failure
                yield Measured(Measurement(*pair, hers.index(target.index), failure=failure))
                continue
            uncovered = (with_her.uncovered, without.uncovered)
            sides = Sides(Samples(with_her.samples), Samples(without.samples), uncovered)
            yield self._measure(person, pair, hers.index(target.index), sides, len(targets))

    def _present(self, number: int, pair: Pair, target: Record) -> Prediction:
        """What f(D) says about a target."""
        if not self.plan.adversaries[pair[0]].depends_on_target:
            known = self.predicted[number]
            return known.predictions[pair, known.places[target_key(self.plan, target)]]
        return self._inferred_present(number, target).prediction(pair, 0)

    def _inferred_present(self, number: int, target: Record) -> Inferred:
        """What adversaries that look from the target infer from f(D); the same for all who share her values."""
        key = (number, *target_key(self.plan, target))
        inferred = self._remembered.get(key)
        if inferred is None:
            relative = [
                adversary
                for adversary in self.questions[number].adversaries
                if self.plan.adversaries[adversary].depends_on_target
            ]
            inferred = infer(self.plan, relative, self.present[number], [target], self._side("present"))
            self._remembered[key] = inferred
            if len(self._remembered) > REMEMBERED:
                self._remembered.popitem(last=False)
        return inferred

    def _examine_predictions(self, person: int, rows: Sequence[int], known: Samples | None) -> ExaminedPerson:
        """f itself predicts: what it says with and without her is compared as it is, secret by secret."""
        measured: list[Measured] = []
        for row in rows:
            if self.profile.coupled:
                present = known or self.predict_present(row, self.look.purpose)
                absent = self._predict_absent(person, row, self.look.purpose, self.look.draws)
            else:
                present, absent = self._predict_in_turns(person, row)
            for number, secret in enumerate(self.plan.secrets):
                with_her, without = (_of_secret(self.plan, side, secret) for side in (present, absent))
                place = self.plan.data.rows_of(person).index(row)
                measured.append(self._measure(person, (0, number), place, Sides(with_her, without), len(rows)))
        return self._examined(person, measured)

    def _predict_in_turns(self, person: int, row: int) -> tuple[Samples, Samples]:
        """Both sides about one row, drawn in rounds of a few draws of each, in random order."""
        sides: dict[bool, list[Floats]] = {True: [], False: []}
        for turn, draws in enumerate(rounds(self.look.draws)):
            name = f"{self.look.purpose}, person {person}, row {row}, round {turn}"
            for present in np.random.default_rng(self.plan.seed_for("order", name)).permutation([True, False]):
                drawn = (
                    self.predict_present(row, name, draws)
                    if present
                    else self._predict_absent(person, row, name, draws)
                )
                sides[bool(present)].append(drawn.draws)
        return Samples(np.concatenate(sides[True])), Samples(np.concatenate(sides[False]))

    def _predict_absent(self, person: int, row: int, purpose: str, draws: int) -> Samples:
        """What f without a person predicts at one of her rows."""
        ask = self.plan.ask_absent(
            self.profile.card, self.questions[0], person, purpose, draws, coupled=self.profile.coupled, about=row
        )
        return self._predictions(ask, f"f(D) without {self._named(person)}")

    def predict_present(self, row: int, purpose: str, draws: int | None = None) -> Samples:
        """What f(D) predicts at one row."""
        ask = self.plan.ask_present(self.profile.card, self.questions[0], purpose, draws or self.look.draws, row)
        return self._predictions(ask, "f(D)")

    def _predictions(self, ask: Ask, what: str) -> Samples:
        parts = [release.rows for release in ask_oracle(self.oracle, ask, what) if isinstance(release, Predictions)]
        return Samples(parts[0] if len(parts) == 1 else np.concatenate(parts))

    def _measure(self, person: int, pair: Pair, row: int, sides: Sides, rows: int) -> Measured:
        """The comparison of both sides at one row of a person."""
        plan, look = self.plan, self.look
        exact = plan.is_exact(self.profile.card, pair[0])
        made = Conditions(
            plan.claim, plan.adaptive, self.profile, plan.divergences[pair[1]], exact, look, rows, self.last
        )
        value = int(plan.true_values[pair[1]][plan.data.rows_of(person)[row]])
        carried = self.carried.get((person, *pair, row), Carried())
        measurement = measure(made, pair, row, value, sides, carried)
        if exact:
            return Measured(measurement)
        content = PredictionDraws(person, look.number, *pair, row, value, self.last, sides).content()
        digest = digest_of(content)
        measurement = replace(measurement, draws_digest=spelled_digest(digest))
        return Measured(measurement, packed(content, digest) if self.keeps_draws else None)


def _rebuilt(plan: Plan, oracle: Oracle, profile: OracleProfile, look: Look, given: dict[str, Any]) -> Examination:
    return Examination(plan, oracle, profile, look, **given)


def _is_without_another(data: Dataset, person: int, release: Microdata) -> bool:
    """Whether a release holds as many rows as D without a person, all with sensitive values of D, but not of hers."""
    hers = list(data.rows_of(person))
    for column, whole, released in zip(data.sensitive_columns, data.sensitive_counts, release.sensitive, strict=True):
        if len(released) != data.size - len(hers) or released.min(initial=0) < 0:
            return False
        kept = np.bincount(released, minlength=len(whole))
        left_out = np.bincount(column[hers], minlength=len(whole))
        if (kept != whole - left_out).any() and (kept <= whole).all():
            return True
    return False


def _of_secret(plan: Plan, joint: Samples, secret: Secret) -> Samples:
    """Predictions of all sensitive columns together as predictions of one secret: the others are summed over."""
    sizes = [len(reading.domain) for reading in plan.data.readings[len(plan.data.schema.quasi) :]]
    if len(secret.columns) == len(sizes):
        return joint
    others = tuple(1 + column for column in range(len(sizes)) if column not in secret.columns)
    return Samples(joint.draws.reshape(len(joint), *sizes).sum(axis=others).reshape(len(joint), secret.values))
