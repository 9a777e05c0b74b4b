"""What an audit will cost, from a few timed calls: how many, how long. Knows plans and oracles."""

from __future__ import annotations

import time
from dataclasses import dataclass

from harness.oracle import Card, Oracle
from harness.plan import Plan
from harness.procedure import Examination, first_questions

TIMED = 3  # records examined to know the time of one


@dataclass(frozen=True)
class Cost:
    """Calls and seconds that an audit will take."""

    card: Card
    records: int
    draws: int
    calls: int
    seconds_per_record: float
    seconds: float
    notes: tuple[str, ...]

    def __str__(self) -> str:
        kind = "randomized" if self.card.randomized else "deterministic"
        lines = [
            f"oracle    {self.card.name} {self.card.version}".rstrip() + f", {kind}, releases {self.card.releases}",
            f"records   {self.records} to examine, {self.draws} {'draw' if self.draws == 1 else 'draws'} a side",
            f"calls     {self.calls} of the anonymizer",
            f"time      about {_spoken(self.seconds)} ({self.seconds_per_record * 1000:.3g} ms a record, measured)",
        ]
        return "\n".join([*lines, *(f"noticed   {note}" for note in self.notes)])


def estimated_cost(plan: Plan, oracle: Oracle, workers: int) -> Cost:
    """The cost of the whole audit, from its first questions and a few records; nothing else is asked."""
    opening = first_questions(plan, oracle)
    examine = Examination(plan, oracle, opening)
    examine(plan.targets[0])  # the first one reads f(D), which the others share
    start = time.perf_counter()
    for index in plan.targets[1 : 1 + TIMED] or plan.targets[:1]:
        examine(index)
    each = (time.perf_counter() - start) / min(TIMED, max(len(plan.targets) - 1, 1))
    count, draws = len(plan.targets), plan.draws_of(opening.card)
    sides = 2 if opening.card.releases == "predictions" else 1
    per_side = draws if opening.card.randomized else 1
    calls = 2 + (0 if sides == 2 else per_side) + count * sides * (1 if sides == 2 else per_side)
    return Cost(opening.card, count, draws, calls, each, each * count / workers, opening.notes)


def _spoken(seconds: float) -> str:
    for size, unit in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} seconds"
