"""What an audit will cost, from a few timed calls: how many, how long. Knows plans and oracles."""

from __future__ import annotations

import time
from dataclasses import dataclass

from harness.auditing.examine import Examination
from harness.auditing.probe import REPEATS, VARIED
from harness.auditing.procedure import Audit
from harness.vocabulary.oracle import Card

TIMED = 3  # records examined to know the time of one


@dataclass(frozen=True)
class Cost:
    """Calls and seconds that an audit will take."""

    card: Card
    records: int
    examined: int  # without those that are equal to another
    draws: int
    looks: int
    calls: int
    seconds_per_record: float
    seconds: float
    notes: tuple[str, ...]

    def __str__(self) -> str:
        kind = "randomized" if self.card.randomized else "deterministic"
        equal = f" ({self.examined} after equal ones)" if self.examined < self.records else ""
        draws = f"{self.draws} {'draw' if self.draws == 1 else 'draws'} a side"
        most = f", at most, in up to {self.looks} looks" if self.looks > 1 else ""
        lines = [
            f"oracle    {self.card.title}, {kind}, releases {self.card.releases}",
            f"records   {self.records} to examine{equal}, {draws}{most}",
            f"calls     {self.calls} of the anonymizer",
            f"time      about {_spoken(self.seconds)} ({self.seconds_per_record * 1000:.3g} ms a record, measured)",
        ]
        return "\n".join([*lines, *(f"noticed   {note}" for note in self.notes)])


def estimated_cost(audit: Audit, workers: int) -> Cost:
    """The cost of the whole audit, from its first questions and a few records; nothing else is asked."""
    opening, looks, records = audit.opening, audit.looks, audit.course.examined
    last = looks[-1]
    present = audit.drawn(looks[0])
    examine = Examination(audit.plan, audit.oracle, opening.card, opening.coupled, looks[0], present)
    examine(records[0])  # the first one reads f(D), which the others share
    start = time.perf_counter()
    timed = records[1 : 1 + TIMED] or records[:1]
    for index in timed:
        examine(index)
    each = (time.perf_counter() - start) / len(timed) * sum(look.draws for look in looks) / looks[0].draws
    drawn = sum(look.draws for look in looks) if opening.card.randomized else 1
    sides = 2 * len(looks) * len(records) if opening.card.releases == "predictions" else drawn * (1 + len(records))
    calls = REPEATS + 4 + sides  # one f(D⁻ⁱ) twice, another order, and the first question at the end
    if opening.card.randomized:
        calls += 1 if opening.card.releases == "predictions" else VARIED
    whole = each * len(records) / workers
    return Cost(
        opening.card, len(audit.course.targets), len(records), last.draws, len(looks), calls, each, whole, opening.notes
    )


def _spoken(seconds: float) -> str:
    for size, unit in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} seconds"
