"""Audits under way, one person after the other, and the CPU that each took. Knows audits, not what is compared.

An audit is a stream of events, so several can be advanced in turn: each step examines one more person, everything
included, from the question to the line of the journal.
"""

from __future__ import annotations

import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from harness.auditing.events import Event, Examined, Selected
from harness.auditing.examine import Examination
from harness.auditing.journal import Journal
from harness.auditing.plan import Claim, Plan
from harness.auditing.procedure import Audit
from harness.auditing.state import AuditState
from harness.measuring.adversary import adversary_from
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.oracle import Ask, Card, Oracle, Release
from tests.bench.measuring import ratio, typical

Item = TypeVar("Item")
Result = TypeVar("Result")
CLAIM = Claim(0.5)
Pairs = Sequence[tuple[str, str]]  # model and encoder of each adversary
USUAL: Pairs = (("bernoulli", "tf-tf"),)


def plan_for(data: Dataset, adversaries: Pairs = USUAL, **options: Any) -> Plan:
    declared = [adversary_from({"model": model, "encoder": encoder}) for model, encoder in adversaries]
    return Plan(data, CLAIM, tuple(declared), **options)


class MeteredOracle:
    """An oracle that knows how much CPU it has used."""

    def __init__(self, oracle: Oracle) -> None:
        self.oracle, self.seconds = oracle, 0.0

    @property
    def card(self) -> Card:
        return self.oracle.card

    def answer(self, ask: Ask) -> Iterator[Release]:
        start = time.process_time()
        for release in self.oracle.answer(ask):
            self.seconds += time.process_time() - start
            yield release
            start = time.process_time()
        self.seconds += time.process_time() - start

    def close(self) -> None:
        self.oracle.close()


@dataclass(frozen=True)
class Times:
    """Milliseconds of CPU of an audit, person by person."""

    whole: list[float]
    own: list[float]  # without the anonymizer
    beforehand: float  # between the draws of f(D) and the first person, per person of the audit


class RunningAudit:
    """One audit with a journal, advanced person by person."""

    def __init__(self, plan: Plan, oracle: Oracle, folder: Path) -> None:
        self.oracle = MeteredOracle(oracle)
        self.journal = Journal(folder / "journal.jsonl", {"plan": plan.spec()})
        self.events = Audit(plan, self.oracle).events(self.journal)
        self.persons = 0
        self.whole: list[float] = []
        self.own: list[float] = []
        self.first = self._to_first_person()

    def _to_first_person(self) -> float:
        """Milliseconds from the last draw of f(D) to the first person, who is examined then."""
        while True:
            event, whole, _ = self._next()
            if isinstance(event, Selected):
                self.persons = len(event.examined)
            if isinstance(event, Examined):
                return whole

    def _next(self) -> tuple[Event, float, float]:
        before, start = self.oracle.seconds, time.process_time()
        event = next(self.events)
        whole = time.process_time() - start
        return event, whole * 1000, (whole - self.oracle.seconds + before) * 1000

    def advance(self, *, timed: bool) -> None:
        """Examine one more person."""
        event, whole, own = self._next()
        assert isinstance(event, Examined), f"no person is left: {event.name}"
        if timed:
            self.whole.append(whole)
            self.own.append(own)

    def times(self) -> Times:
        return Times(self.whole, self.own, max(self.first - typical(self.whole), 0.0) / self.persons)

    def close(self) -> None:
        self.events.close()
        with self.journal:
            self.oracle.close()


Start = Callable[[Path], RunningAudit]


def start(plan: Plan, oracle: Oracle) -> Start:
    """An audit to be begun in a folder of its own."""
    return lambda folder: RunningAudit(plan, oracle, folder)


def in_turn(starts: Mapping[str, Start], unmeasured: int, measured: int) -> dict[str, Times]:
    """Several audits advanced in turn: first so many persons who are not measured, then those who are.

    The cells and nodes that most persons share are known by then, as they are in the midst of a long audit. Who
    comes first changes from turn to turn.
    """
    with tempfile.TemporaryDirectory() as folder:
        audits = {}
        for number, (name, begin) in enumerate(starts.items()):
            audits[name] = begin(Path(folder, str(number)))
        order = list(audits.values())
        for turn in range(unmeasured + measured):
            for audit in order[turn % len(order) :] + order[: turn % len(order)]:
                audit.advance(timed=turn >= unmeasured)
        for audit in order:
            audit.close()
    return {name: audit.times() for name, audit in audits.items()}


def compared(times: Mapping[str, Times], label: str) -> list[dict[str, Any]]:
    """A row per audit, with its ratios to the first of them."""
    baseline = next(iter(times.values()))
    return [
        {
            label: name,
            "whole person": typical(each.whole),
            "× baseline": ratio(each.whole, baseline.whole),
            "the harness": typical(each.own),
            "× its own": ratio(each.own, baseline.own),
            "beforehand": each.beforehand,
        }
        for name, each in times.items()
    ]


class WorkIsHeld(Exception):
    """Ends an audit whose work is kept for later."""


@dataclass(eq=False)
class HeldWork:
    """An executor that keeps the work of an audit instead of doing it, and ends the audit."""

    function: Any = None
    items: list[Any] = field(default_factory=list)

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        self.function, self.items = function, list(items)
        raise WorkIsHeld


def held_work(plan: Plan, oracle: Oracle) -> tuple[Examination, list[tuple[int, ...]], AuditState]:
    """What a worker of an audit holds, the items in the order in which they are examined, and the audit's state."""
    held, state = HeldWork(), AuditState(plan.spec())
    with suppress(WorkIsHeld):
        deque(Audit(plan, oracle, held).events(None, state), maxlen=0)
    assert isinstance(held.function, Examination), "the audit examined nobody"
    return held.function, held.items, state
