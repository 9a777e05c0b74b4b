"""Whom to take out of D after a round of repair, and what the rounds say (v2 §4.5.1). Functions of reports alone.

v2 removes the records whose distance stands out and repeats the whole test. There is no guarantee that this helps:
f is applied to other data then, and somebody else may move the inference more than anybody before (v1, footnote 12).
So the whole path is shown, and the round with the smallest largest distance is named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.auditing.verdict import Outcome
from harness.report import Report
from harness.vocabulary.errors import InputError
from harness.vocabulary.persons import RowName

FORMAT = 1  # of prune.json
ROUNDS = 10  # audits after the first, unless the command says otherwise
SHARE = 0.05  # of all persons who may be removed, likewise

Plain = dict[str, Any]


@dataclass(frozen=True)
class Budget:
    """How far a repair may go: rounds after the first audit, persons in all, persons in one round."""

    rounds: int
    people: int
    at_once: int | None = None  # None: all who break the claim

    def __post_init__(self) -> None:
        for name in ("rounds", "people", "at_once"):
            number = getattr(self, name)
            if number is not None and number < 1:
                raise InputError(f"{name.replace('_', '-')} must be at least 1, not {number}")


@dataclass(frozen=True)
class Round:
    """One audit of a repair: who was taken out for it (rows of the source), and its report."""

    removed: Sequence[Sequence[RowName]]
    report: Report
    folder: str


def whom_to_remove(report: Report, most: int) -> list[int]:
    """The persons proven to break the claim, who move the inference most first; at most so many of them."""
    moved: dict[int, tuple[float, float]] = {}
    for finding in report.all_findings():
        if finding.violates(report.claim):
            known = (finding.lower, finding.distance)
            moved[finding.person] = max(known, moved.get(finding.person, known))
    order = sorted(moved, key=lambda person: (-moved[person][0], -moved[person][1], person))
    return order[:most]


def prune_plain(rounds: Sequence[Round], stopped: str, budget: Budget) -> Plain:
    """The content of prune.json."""
    rows = [_row(number, one) for number, one in enumerate(rounds)]
    removed = 0
    for row in rows:
        removed += len(row["removed"])
        row["removed_so_far"] = removed
    best = min(range(len(rows)), key=lambda number: (float(rows[number]["at_most"]), number))
    return {
        "format": FORMAT,
        "holds": rounds[-1].report.verdict.outcome is Outcome.HOLDS,
        "outcome": rows[-1]["verdict"],
        "stopped": stopped,
        "budget": {"rounds": budget.rounds, "people": budget.people, "at_once": budget.at_once},
        "rounds": rows,
        "best_round": best,
        "rose": [number for number in range(1, len(rows)) if _largest(rows[number]) > _largest(rows[number - 1])],
        "removed": [row for one in rounds for person in one.removed for row in person],
    }


def _largest(row: Mapping[str, Any]) -> float:
    return float(row["at_least"])


def _row(number: int, one: Round) -> Plain:
    """What one audit found, for the adversary and secret of its verdict."""
    plain, statistics = one.report.plain, one.report.result().get("statistics", {})
    at_epsilon = len(whom_to_remove(one.report, plain["plan"]["data"]["population"]))
    return {
        "round": number,
        "folder": one.folder,
        "removed": [list(rows) for rows in one.removed],
        "persons": plain["plan"]["data"]["population"],
        "verdict": plain["verdict"]["outcome"],
        "at_least": plain["verdict"]["at_least"],
        "at_most": plain["verdict"]["at_most"],
        "mean": statistics.get("mean"),
        "breaking_the_claim": at_epsilon,
    }
