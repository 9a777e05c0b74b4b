"""One person examined (v2 §3.2): f asked without her, inferred with and without, compared. What travels to a worker.

    ask f(D without her) once per draw -> read each release once -> every adversary and secret predict at her
    quasi-identifiers -> compare with what f(D) says -> one Measurement per adversary, secret and distinct row

What f(D) says comes from its draws, which travel along; adversaries that train once for everybody have their
predictions computed beforehand. An oracle that releases predictions is asked about f(D), too.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from harness.auditing.asking import ask_oracle
from harness.auditing.events import Examined, Failed, Look, Measurement, OracleProfile
from harness.auditing.grid import grid
from harness.auditing.infer import Inferred, Pair, PresentPredictions, Side, infer, target_key
from harness.auditing.plan import Plan
from harness.auditing.select import distinct_rows
from harness.measuring.divergence import Divergence
from harness.measuring.estimate import Estimate, compare, draws_needed
from harness.measuring.features import Floats
from harness.measuring.one_thread import one_thread
from harness.measuring.privacy_loss import least_privacy_loss
from harness.measuring.samples import Samples
from harness.measuring.tail import smallest_delta, smallest_epsilon, tail_count
from harness.vocabulary.dataset import Record, Secret
from harness.vocabulary.errors import HarnessError
from harness.vocabulary.oracle import Ask, Oracle
from harness.vocabulary.persons import person_in_words
from harness.vocabulary.release import Microdata, Predictions, Reader
from harness.vocabulary.table import Table

REMEMBERED = 16  # inferences from f(D) kept for persons who share their quasi-identifiers


@dataclass(frozen=True)
class Outcome:
    """What became of a work item: the persons examined, and the error that ended it, if one did."""

    examined: tuple[Examined, ...]
    failed: Failed | None = None
    error: HarnessError | None = None


@dataclass(frozen=True, eq=False)
class _Answers:
    """Both sides of one adversary and secret at one row: draws, and in how many there was no evidence."""

    present: Samples
    absent: Samples
    uncovered: tuple[int, int]


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
    ) -> None:
        """`tables` are the draws of f(D), per question; `predicted` is what was inferred from them beforehand."""
        self.plan, self.oracle, self.profile, self.look, self.last = plan, oracle, profile, look, last
        self.tables, self.predicted = tables, predicted
        self.questions = plan.asked(profile.card)
        self.readers = tuple(Reader(question.data) for question in self.questions)  # shared by all threads
        self._remembered: OrderedDict[tuple[int, ...], Inferred] = OrderedDict()

    def __reduce__(self) -> tuple[Any, ...]:
        """Only what was given travels; cells are read anew by each worker."""
        given = {"last": self.last, "tables": self.tables, "predicted": self.predicted}
        return _rebuilt, (self.plan, self.oracle, self.profile, self.look, given)

    def __call__(self, persons: tuple[int, ...]) -> Outcome:
        with one_thread():
            return self._examine_together(persons)

    def _examine_together(self, persons: tuple[int, ...]) -> Outcome:
        examined: list[Examined] = []
        present: Samples | None = None  # what f(D) predicts, for persons examined together
        for person in persons:
            try:
                if len(persons) > 1 and present is None:
                    present = self.predict_present(self.plan.data.rows_of(person)[0], self._purpose)
                examined.append(self.examine(person, present))
            except HarnessError as error:
                return Outcome(tuple(examined), Failed(person, self.look.number, str(error)), error)
        return Outcome(tuple(examined))

    def examine(self, person: int, present: Samples | None = None) -> Examined:
        """All measurements of one person; `present` is what f(D) predicts where that is known already."""
        rows = distinct_rows(self.plan, person)
        if self.profile.card.releases == "predictions":
            return self._examine_predictions(person, rows, present)
        measured: list[Measurement] = []
        notes: set[str] = set()
        for number, question in enumerate(self.questions):
            targets = [question.data.record(row) for row in rows]
            ask = self.plan.ask_absent(
                self.profile.card, question, person, self._purpose, self.look.draws, coupled=self.profile.coupled
            )
            releases = self._read(number, ask, person, notes)
            absent = infer(self.plan, question.adversaries, releases, targets, self._side("absent"))
            for adversary in question.adversaries:
                for secret in range(len(self.plan.secrets)):
                    measured += self._compare_pair(number, (adversary, secret), person, targets, absent)
        ordered = sorted(measured, key=lambda one: (one.adversary, one.secret, one.row))
        return Examined(person, self.look.number, tuple(ordered), tuple(sorted(notes)))

    @property
    def _purpose(self) -> str:
        return f"look {self.look.number}"

    def _side(self, name: str) -> Side:
        seeds: Any = "both" if self.profile.coupled else name
        return Side(self.look, seeds, bool(self.profile.card.randomized))

    def _read(self, number: int, ask: Ask, person: int, notes: set[str]) -> Iterator[Microdata]:
        """The releases as they come, so that no more than one is held; what is odd about them is noted."""
        what = f"f(D) without {self._named(person)}"
        for release in ask_oracle(self.oracle, ask, what):
            assert isinstance(release, Table)
            microdata = self._microdata(number, release, what)
            notes.update(microdata.notes)
            yield microdata

    def _named(self, person: int) -> str:
        data = self.plan.data
        rows = [data.row(row) for row in data.rows_of(person)]
        return person_in_words(person, rows, is_record=data.persons is None)

    def _microdata(self, number: int, table: Table, what: str) -> Microdata:
        try:
            return self.readers[number].read(table)
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
        self, number: int, pair: Pair, person: int, targets: Sequence[Record], absent: Inferred
    ) -> Iterator[Measurement]:
        """The measurements of one adversary and secret, one for each distinct row of the person."""
        hers = self.plan.data.rows_of(person)
        for place, target in enumerate(targets):
            with_her, uncovered, failure = self._present(number, pair, target)
            failure = failure or absent.failures.get((pair, place))
            if failure is not None:
                yield Measurement(*pair, hers.index(target.index), failure=failure)
                continue
            answers = _Answers(
                Samples(with_her), Samples(absent.samples(pair, place)), (uncovered, absent.uncovered[pair, place])
            )
            yield self._measure(pair, hers.index(target.index), answers, len(targets))

    def _present(self, number: int, pair: Pair, target: Record) -> tuple[Floats, int, str | None]:
        """What f(D) says about a target: draws, how many of them without evidence, or why there is nothing."""
        nothing = np.empty((0, 0))
        if not self.plan.adversaries[pair[0]].depends_on_target:
            known = self.predicted[number]
            key = (pair, known.places[target_key(self.plan, target)])
            if key in known.failures:
                return nothing, 0, known.failures[key]
            return known.samples[key], known.uncovered[key], None
        inferred = self._inferred_present(number, target)
        if (pair, 0) in inferred.failures:
            return nothing, 0, inferred.failures[pair, 0]
        return inferred.samples(pair, 0), inferred.uncovered[pair, 0], None

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

    def _examine_predictions(self, person: int, rows: Sequence[int], known: Samples | None) -> Examined:
        """f itself predicts: what it says with and without her is compared as it is, secret by secret."""
        measured: list[Measurement] = []
        for row in rows:
            purpose = self._purpose if self.profile.coupled else f"{self._purpose}, person {person}, row {row}"
            present = known or self.predict_present(row, purpose)
            ask = self.plan.ask_absent(
                self.profile.card, self.questions[0], person, self._purpose, self.look.draws,
                coupled=self.profile.coupled, about=row,
            )  # fmt: skip
            absent = self._predictions(ask, f"f(D) without {self._named(person)}")
            for number, secret in enumerate(self.plan.secrets):
                with_her, without = (_of_secret(self.plan, side, secret) for side in (present, absent))
                place = self.plan.data.rows_of(person).index(row)
                answers = _Answers(with_her, without, (0, 0))
                measured.append(self._measure((0, number), place, answers, len(rows)))
        ordered = sorted(measured, key=lambda one: (one.adversary, one.secret, one.row))
        return Examined(person, self.look.number, tuple(ordered))

    def predict_present(self, row: int, purpose: str) -> Samples:
        """What f(D) predicts at one row."""
        ask = self.plan.ask_present(self.profile.card, self.questions[0], purpose, self.look.draws, row)
        return self._predictions(ask, "f(D)")

    def _predictions(self, ask: Ask, what: str) -> Samples:
        parts = [release.rows for release in ask_oracle(self.oracle, ask, what) if isinstance(release, Predictions)]
        return Samples(parts[0] if len(parts) == 1 else np.concatenate(parts))

    def _measure(self, pair: Pair, row: int, answers: _Answers, rows: int) -> Measurement:
        """The comparison of both sides at one row; her rows share her error level."""
        divergence, alpha = self.plan.divergences[pair[1]], self.look.alpha / rows
        exact = self.plan.is_exact(self.profile.card, pair[0])
        estimate = self._estimate(divergence, answers, alpha, exact)
        measurement = Measurement(
            *pair,
            row,
            distance=estimate.distance,
            lower=estimate.lower,
            upper=estimate.upper,
            present=tuple(answers.present.draws.mean(axis=0).tolist()),
            absent=tuple(answers.absent.draws.mean(axis=0).tolist()),
            per_value=estimate.per_value,
            uncovered=answers.uncovered,
        )
        return measurement if exact else self._with_tail(measurement, divergence, estimate, answers, alpha)

    def _estimate(self, divergence: Divergence, answers: _Answers, alpha: float, exact: bool) -> Estimate:
        """The distance with its limits."""
        # Before the last look a lower bound matters only if it may prove a violation.
        lower_from = 0.0 if self.last else self.plan.claim.epsilon
        return compare(
            divergence, answers.present, answers.absent, alpha=alpha, coupled=self.profile.coupled, exact=exact,
            lower_from=lower_from,
        )  # fmt: skip

    def _with_tail(
        self, measurement: Measurement, divergence: Divergence, estimate: Estimate, answers: _Answers, alpha: float
    ) -> Measurement:
        """What only draws can tell: the tail of v1's definition, and the privacy loss where one is claimed."""
        claim, card = self.plan.claim, self.profile.card
        apart = divergence.paired(answers.present, answers.absent)
        loss = None
        settled = self.last or estimate.upper < claim.epsilon
        if card.noise_epsilon is not None and len(answers.present) > 1 and settled:
            loss = least_privacy_loss(answers.present.draws, answers.absent.draws, alpha=alpha).epsilon
        return replace(
            measurement,
            draws=estimate.draws,
            floor=estimate.floor,
            delta_at_epsilon=smallest_delta(apart, claim.epsilon, alpha),
            epsilon_at_delta=smallest_epsilon(apart, claim.delta, alpha, divergence.largest),
            exceedances=tuple(tail_count(apart, epsilon)[0] for epsilon in grid(divergence)),
            privacy_loss=loss,
            draws_needed=self._draws_needed(estimate, apart, alpha),
        )

    def _draws_needed(self, estimate: Estimate, apart: Floats, alpha: float) -> int | None:
        """About how many draws would settle the row, by its distance or by its tail; None when settled."""
        claim = self.plan.claim
        if claim.delta == 0:
            settled = estimate.upper < claim.epsilon or estimate.lower >= claim.epsilon
            return None if settled else draws_needed(estimate, claim.epsilon, alpha)
        often = smallest_delta(apart, claim.epsilon, alpha)
        gap = claim.delta - often.value
        if often.upper <= claim.delta or often.lower > claim.delta or gap == 0:
            return None
        width = often.upper - often.value if gap > 0 else often.value - often.lower
        return math.ceil(len(apart) * (width / gap) ** 2)  # limits close in as one over the root of the draws


def _rebuilt(plan: Plan, oracle: Oracle, profile: OracleProfile, look: Look, given: dict[str, Any]) -> Examination:
    return Examination(plan, oracle, profile, look, **given)


def _of_secret(plan: Plan, joint: Samples, secret: Secret) -> Samples:
    """Predictions of all sensitive columns together as predictions of one secret: the others are summed over."""
    sizes = [len(reading.domain) for reading in plan.data.readings[len(plan.data.schema.quasi) :]]
    if len(secret.columns) == len(sizes):
        return joint
    others = tuple(1 + column for column in range(len(sizes)) if column not in secret.columns)
    return Samples(joint.draws.reshape(len(joint), *sizes).sum(axis=others).reshape(len(joint), secret.values))
