"""One record examined (v2 §3.2): asked about, inferred with and without, compared. What travels to a worker."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

from harness.auditing.finding import Finding
from harness.auditing.plan import Plan
from harness.auditing.select import Look
from harness.measuring.divergence import Floats, Samples, paired
from harness.measuring.estimate import Estimate, Estimator, draws_needed
from harness.measuring.privacy_loss import least_privacy_loss
from harness.measuring.tail import Limits, smallest_delta, smallest_epsilon, tail_count
from harness.vocabulary.dataset import Record
from harness.vocabulary.errors import InputError, OracleError, ReleaseError
from harness.vocabulary.oracle import Ask, Card, Oracle
from harness.vocabulary.release import Microdata, Predictions, Reader, as_release, checked_predictions
from harness.vocabulary.table import Table

REMEMBERED = 16  # predictions of f(D) kept for records that share their quasi-identifiers
# Of the (ε, δ) curve, as shares of the largest possible distance: dense where claims live.
GRID = tuple(round(10 ** (-4 + step / 4), 6) for step in range(17))


def answers(oracle: Oracle, ask: Ask, what: str) -> Iterator[Table | Predictions]:
    """The oracle's releases for one ask, in shape and number as asked; `what` names the question in errors."""
    card = oracle.card
    step = min(ask.draws, card.max_draws or ask.draws)
    for done in range(0, ask.draws, step):
        part = replace(ask, draws=min(step, ask.draws - done), seed=(ask.seed + done) % 2**63)
        try:
            yield from _answered(oracle, part)
        except InputError as error:  # an oracle of ours that cannot anonymize this table as it was told to
            raise InputError(f"oracle {card.name!r}, asked for {what}: {error}") from None
        except OracleError as error:
            text = f"oracle {card.name!r}, asked for {what}: {error}"
            raise (ReleaseError if isinstance(error, ReleaseError) else OracleError)(
                text, retryable=error.retryable
            ) from None


def _answered(oracle: Oracle, ask: Ask) -> Iterator[Table | Predictions]:
    predicts = oracle.card.releases == "predictions"
    expected = 1 if predicts else ask.draws
    count = 0
    for answer in oracle.answer(ask):
        release = as_release(answer)
        if isinstance(release, Predictions) != predicts:
            raise ReleaseError(f"its card says it releases {oracle.card.releases}, but it sent the other kind")
        count += 1
        if count > expected:
            break
        if isinstance(release, Predictions):
            release = checked_predictions(release.rows, ask.draws, len(ask.data.sensitive_domain))
        yield release
    if count != expected:
        raise ReleaseError(f"it sent {'more' if count > expected else count} releases; expected {expected}")


class Examination:
    """Examines records at one look: the plan, the oracle, and the draws of f(D) that all records share.

    `present` is empty for an oracle that predicts: what f(D) says then depends on whom it is asked about.
    """

    def __init__(
        self, plan: Plan, oracle: Oracle, card: Card, coupled: bool, look: Look, present: tuple[Table, ...]
    ) -> None:
        self.plan, self.oracle, self.card, self.coupled = plan, oracle, card, coupled
        self.look, self.tables = look, present
        self.reader = Reader(plan.data)  # one for all threads: what is read here means something to it alone

    def __reduce__(self) -> tuple[Any, ...]:
        """Only what was given travels; cells are read anew by each worker."""
        return Examination, (self.plan, self.oracle, self.card, self.coupled, self.look, self.tables)

    @cached_property
    def present(self) -> tuple[Microdata, ...]:
        """f(D), read once and shared by all records."""
        return tuple(self._microdata(table, "f(D)") for table in self.tables)

    @cached_property
    def _remembered(self) -> OrderedDict[tuple[int, ...], Samples]:
        return OrderedDict()

    @property
    def exact(self) -> bool:
        return not self.plan.randomized(self.card)

    def __call__(self, index: int) -> Finding:
        start = time.perf_counter()
        target = self.plan.data.record(index)
        present = self.present_samples(target)
        absent, notes = self._samples(target, absent=True)
        # Before the last look a lower bound matters only if it may prove a violation.
        lower_from = 0.0 if self.look.last else self.plan.claim.epsilon
        estimate = Estimator(self.plan.distance, lower_from=lower_from).compare(
            present, absent, alpha=self.look.alpha, coupled=self.coupled, exact=self.exact
        )
        finding = Finding(
            index=index,
            distance=estimate.distance,
            lower=estimate.lower,
            upper=estimate.upper,
            present=tuple(present.draws.mean(axis=0).tolist()),
            absent=tuple(absent.draws.mean(axis=0).tolist()),
            per_value=estimate.per_value,
            draws=estimate.draws,
            look=self.look.number,
            floor=estimate.floor,
            notes=notes,
        )
        if self.exact:
            far, often = estimate.distance, float(estimate.distance >= self.plan.claim.epsilon)
            finding = replace(finding, epsilon=Limits(far, far, far), delta=Limits(often, often, often))
        else:
            finding = self._with_chances(finding, estimate, present, absent)
        return replace(finding, seconds=time.perf_counter() - start)

    def _with_chances(self, finding: Finding, estimate: Estimate, present: Samples, absent: Samples) -> Finding:
        """What only draws can tell: the tail of v1's definition, and the privacy loss where one is claimed."""
        claim, largest, alpha = self.plan.claim, self.plan.distance.largest, self.look.alpha
        apart = paired(present, absent) * self.plan.distance.scale
        loss = None
        settled = self.look.last or estimate.upper < claim.epsilon
        if self.card.noise_epsilon is not None and len(present) > 1 and settled:
            loss = least_privacy_loss(present.draws, absent.draws, alpha=alpha).epsilon
        return replace(
            finding,
            delta=smallest_delta(apart, claim.epsilon, alpha),
            epsilon=smallest_epsilon(apart, claim.delta, alpha, largest),
            above=tuple(tail_count(apart, share * largest)[0] for share in GRID),
            privacy_loss=loss,
            draws_needed=self._draws_needed(estimate, apart),
        )

    def _draws_needed(self, estimate: Estimate, apart: Floats) -> int | None:
        """About how many draws would settle the record, by its distance or by its tail; None when settled."""
        claim = self.plan.claim
        if claim.delta == 0:
            settled = estimate.upper < claim.epsilon or estimate.lower >= claim.epsilon
            return None if settled else draws_needed(estimate, claim.epsilon, self.look.alpha)
        often = smallest_delta(apart, claim.epsilon, self.look.alpha)
        gap = claim.delta - often.value
        if often.upper <= claim.delta or often.lower > claim.delta or gap == 0:
            return None
        reach = often.upper - often.value if gap > 0 else often.value - often.lower
        return math.ceil(len(apart) * (reach / gap) ** 2)  # limits close in as one over the root of the draws

    def present_samples(self, target: Record) -> Samples:
        """What f(D) says about the target; the same for all who share her quasi-identifiers."""
        if not self.coupled and not self.tables:
            return self._samples(target, absent=False)[0]
        known = self._remembered.get(target.codes)
        if known is None:
            known, _ = self._samples(target, absent=False)
            self._remembered[target.codes] = known
            if len(self._remembered) > REMEMBERED:
                self._remembered.popitem(last=False)
        return known

    def _samples(self, target: Record, *, absent: bool) -> tuple[Samples, tuple[str, ...]]:
        """What each draw of one side says about the target, and anything odd about those releases."""
        coupled, draws, look = self.coupled, self.look.draws, self.look.number
        seeds = self.plan.model_seeds(target, absent=absent, coupled=coupled, draws=draws, look=look)
        if self.tables and not absent:
            return Samples(self.plan.inference.samples(self.present, target, self.reader, seeds)), ()
        what = f"f(D) without record {target.index}" if absent else "f(D)"
        ask = self.plan.ask(self.card, target, absent=absent, coupled=coupled, draws=draws, look=look)
        notes: set[str] = set()
        releases = self._read(ask, what, notes)
        return Samples(self.plan.inference.samples(releases, target, self.reader, seeds)), tuple(sorted(notes))

    def _read(self, ask: Ask, what: str, notes: set[str]) -> Iterator[Microdata | Predictions]:
        """The releases as they come, so that no more than one is held; what is odd about them is noted."""
        for release in answers(self.oracle, ask, what):
            if isinstance(release, Predictions):
                yield release
            else:
                microdata = self._microdata(release, what)
                notes.update(microdata.notes)
                yield microdata

    def _microdata(self, table: Table, what: str) -> Microdata:
        try:
            return self.reader.read(table)
        except ReleaseError as error:
            raise ReleaseError(f"oracle {self.card.name!r}, asked for {what}: {error}") from None
