"""The test itself: one record examined, then all of them (v2 §3.2). Knows no command line, page or transport."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.dataset import Record
from harness.errors import OracleError, ReleaseError
from harness.estimate import Estimator
from harness.executors import Mapper, Serial
from harness.journal import Journal
from harness.kept import keep, kept
from harness.oracle import Ask, Card, Oracle
from harness.plan import Plan
from harness.release import Microdata, Predictions, Reader, as_release, checked_predictions
from harness.table import Table

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Finding:
    """How far record `index` moved the inference about itself."""

    index: int
    distance: float
    lower: float
    upper: float
    present: tuple[float, ...]  # M(qⁱ), the mean when there are draws
    absent: tuple[float, ...]  # M⁻ⁱ(qⁱ)
    per_value: tuple[float, ...]
    draws: int = 1
    floor: float | None = None
    notes: tuple[str, ...] = ()
    seconds: float = field(default=0.0, compare=False)

    @property
    def changed(self) -> bool:
        """Whether the prediction itself, the likeliest value, is another one."""
        return int(np.argmax(self.present)) != int(np.argmax(self.absent))

    @classmethod
    def from_entry(cls, entry: dict[str, Any]) -> Finding:
        plain: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()
        }
        return cls(**plain)


@dataclass(frozen=True, eq=False)
class Opening:
    """What the first questions taught: the card as checked, how sides are drawn, and f(D) itself."""

    card: Card
    coupled: bool
    notes: tuple[str, ...]
    present: tuple[Table, ...]  # the draws of f(D); none for an oracle that predicts

    def entry(self) -> dict[str, Any]:
        draws = [table.digest for table in self.present]
        return {"card": asdict(self.card), "coupled": self.coupled, "notes": list(self.notes), "present": draws}


def answers(oracle: Oracle, ask: Ask, what: str) -> Iterator[Table | Predictions]:
    """The oracle's releases for one ask, in shape and number as asked; `what` names the question in errors."""
    card = oracle.card
    step = min(ask.draws, card.max_draws or ask.draws)
    for done in range(0, ask.draws, step):
        part = replace(ask, draws=min(step, ask.draws - done), seed=(ask.seed + done) % 2**63)
        try:
            yield from _answered(oracle, part)
        except OracleError as error:
            text = f"oracle {card.name!r}, asked for {what}: {error}"
            raise type(error)(text, retryable=error.retryable) from None


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


def _named(target: Record | None, absent: bool) -> str:
    if not absent:
        return "f(D)"
    return f"f(D) without record {target.index if target else '?'}"


class Examination:
    """Everything a worker needs to examine one record; the one thing that travels to it."""

    def __init__(self, plan: Plan, oracle: Oracle, opening: Opening) -> None:
        self.plan, self.oracle, self.opening = plan, oracle, opening

    def __getstate__(self) -> dict[str, Any]:
        return {key: self.__dict__[key] for key in ("plan", "oracle", "opening")}

    @cached_property
    def reader(self) -> Reader:
        return Reader(self.plan.data)

    @cached_property
    def present(self) -> tuple[Microdata, ...]:
        """f(D), read once and shared by all records."""
        return tuple(self.reader.read(table) for table in self.opening.present)

    def __call__(self, index: int) -> Finding:
        start = time.perf_counter()
        target = self.plan.data.record(index)
        present, _ = self._samples(target, absent=False)
        absent, notes = self._samples(target, absent=True)
        card = self.opening.card
        estimate = Estimator(self.plan.distance).compare(
            present, absent, alpha=self.plan.alpha, coupled=self.opening.coupled, exact=not self.plan.randomized(card)
        )
        return Finding(
            index=index,
            distance=estimate.distance,
            lower=estimate.lower,
            upper=estimate.upper,
            present=tuple(present.mean(axis=0).tolist()),
            absent=tuple(absent.mean(axis=0).tolist()),
            per_value=estimate.per_value,
            draws=estimate.draws,
            floor=estimate.floor,
            notes=notes,
            seconds=time.perf_counter() - start,
        )

    def _samples(self, target: Record, *, absent: bool) -> tuple[Floats, tuple[str, ...]]:
        """What each draw of one side says about the target, and anything odd about those releases."""
        plan, opening = self.plan, self.opening
        ask = plan.ask(opening.card, target, absent=absent, coupled=opening.coupled)
        models = plan.model_seeds(opening.card, target, absent=absent, coupled=opening.coupled)
        if not absent and opening.present:
            return plan.inference.samples(self.present, target, self.reader, models), ()
        what = _named(target, absent)
        releases = [self._read(release, what) for release in answers(self.oracle, ask, what)]
        notes = {note for release in releases if isinstance(release, Microdata) for note in release.notes}
        return plan.inference.samples(releases, target, self.reader, models), tuple(sorted(notes))

    def _read(self, release: Table | Predictions, what: str) -> Microdata | Predictions:
        if isinstance(release, Predictions):
            return release
        try:
            return self.reader.read(release)
        except ReleaseError as error:
            raise ReleaseError(f"oracle {self.oracle.card.name!r}, asked for {what}: {error}") from None


@dataclass(eq=False)
class Audit:
    """Asks f(D) once and f(D⁻ⁱ) for every target; `run` yields one finding per record as it is measured."""

    plan: Plan
    oracle: Oracle
    journal: Journal | None = None
    executor: Mapper = field(default_factory=Serial)

    @cached_property
    def opening(self) -> Opening:
        """The first questions, asked once per audit even if it is interrupted."""
        if self.journal is None:
            return first_questions(self.plan, self.oracle)
        folder = self.journal.path.parent
        said = next((entry["opening"] for entry in self.journal.entries if "opening" in entry), None)
        if said is not None:
            notes, present = tuple(said["notes"]), kept(folder, said["present"])
            return Opening(Card(**said["card"]), said["coupled"], notes, present)
        opening = first_questions(self.plan, self.oracle)
        keep(folder, opening.present)
        self.journal.append({"opening": opening.entry()})
        return opening

    @cached_property
    def measured(self) -> dict[int, Finding]:
        """What earlier runs of this audit have found."""
        lines = self.journal.entries if self.journal is not None else []
        found = (Finding.from_entry(entry["finding"]) for entry in lines if "finding" in entry)
        return {finding.index: finding for finding in found}

    def run(self) -> Iterator[Finding]:
        yield from self.measured.values()
        left = [index for index in self.plan.targets if index not in self.measured]
        examine = Examination(self.plan, self.oracle, self.opening)
        for finding in self.executor.map(examine, left):
            if self.journal is not None:
                self.journal.append({"finding": asdict(finding)})
            yield finding


def first_questions(plan: Plan, oracle: Oracle) -> Opening:
    """Ask for f(D), ask again, and believe the card only as far as the two answers agree."""
    card = oracle.card
    target = plan.data.record(plan.targets[0]) if card.releases == "predictions" else None
    first, second = (_one_draw(plan, oracle, target) for _ in range(2))
    same = first == second
    notes = []
    if same and card.randomized is None:
        card = replace(card, randomized=False)
    elif not same:
        if card.randomized is False:
            notes.append("the oracle says it is deterministic, but two equal questions got different answers")
        if card.seedable:
            notes.append("the oracle says it honours seeds, but two equal questions got different answers")
        card = replace(card, randomized=True, seedable=False)
    coupled = bool(card.randomized and card.seedable) or not card.randomized
    present: tuple[Table, ...] = ()
    if card.releases == "microdata":
        ask = plan.ask(card, None, absent=False, coupled=coupled)
        present = tuple(release for release in answers(oracle, ask, "f(D)") if isinstance(release, Table))
        notes.extend(_notes(plan, oracle, present))
    return Opening(card, coupled, tuple(notes), present)


def _one_draw(plan: Plan, oracle: Oracle, target: Record | None) -> object:
    """One draw of f(D), in a form that can be compared."""
    ask = replace(plan.ask(oracle.card, target, absent=False, coupled=True), draws=1)
    (release,) = answers(oracle, ask, "f(D)")
    return release.digest if isinstance(release, Table) else release.rows.tobytes()


def _notes(plan: Plan, oracle: Oracle, present: tuple[Table, ...]) -> list[str]:
    """What is odd about f(D): read here once, so that an unreadable release ends the audit before it begins."""
    reader = Reader(plan.data)
    notes: dict[str, None] = {}
    for table in present:
        try:
            notes.update(dict.fromkeys(reader.read(table).notes))
        except ReleaseError as error:
            raise ReleaseError(f"oracle {oracle.card.name!r}, asked for f(D): {error}") from None
    return list(notes)
