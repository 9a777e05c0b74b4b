"""A repair under way: audit, take out who breaks the claim, audit again, until it holds or the budget is spent.

Each round is a whole audit of D without the persons removed so far, in a folder of its own, so that an interrupted
repair goes on where it stopped: rounds that are finished follow from their journals.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.analysis.prune import ROUNDS, SHARE, Budget, Round, prune_plain, whom_to_remove
from harness.api import open_oracle, run_audit
from harness.auditing.config import AuditFile, build, load, read_toml
from harness.auditing.folder import LOG, write_text
from harness.auditing.verdict import Outcome
from harness.progress import Watcher, with_title
from harness.report import Report
from harness.vocabulary.errors import InputError

PRUNE = "prune.json"
HOLDS = "the claim holds"
ROUNDS_SPENT, PEOPLE_SPENT = "all rounds are spent", "as many persons as allowed are removed"
NOBODY = "nobody is proven to break the claim, so nobody is removed; see the reason in the report of the last round"


class Repair:
    """Rounds of audits, each without the persons that the earlier ones removed."""

    def __init__(self, path: Path, out: Path, budget: Budget, workers: int | str | None, shown: bool) -> None:
        self.path, self.out, self.budget, self.workers, self.shown = path, out, budget, workers, shown
        self.content, self.first = read_toml(path), load(path)
        self.removed: set[int] = set()  # by their number in D
        self.stopped = ""

    def rounds(self) -> Iterator[Round]:
        """The rounds as they end; `stopped` says afterwards why there is no further one."""
        data, latest = self.first.plan.data, list[int]()
        for number in range(self.budget.rounds + 1):
            try:
                file = build(self.path, self.content, data.without_persons(self.removed))
            except InputError as error:
                self.stopped = f"too few are left to audit: {error}"
                return
            report = self._audit(file, number)
            rows = [[data.row(row) for row in data.rows_of(person)] for person in latest]
            yield Round(rows, report, _folder(number))
            latest = self._chosen(report, number)
            self.removed |= set(latest)
            if not latest:
                return

    def _chosen(self, report: Report, number: int) -> list[int]:
        """Whom to take out after a round, by their number in D; nobody where the repair ends."""
        people = self.budget.people - len(self.removed)
        left = [person for person in range(self.first.plan.data.population) if person not in self.removed]
        chosen = [left[person] for person in whom_to_remove(report, min(people, self.budget.at_once or people))]
        if report.verdict.outcome is Outcome.HOLDS:
            self.stopped = HOLDS
        elif number == self.budget.rounds:
            self.stopped = ROUNDS_SPENT
        elif people == 0:
            self.stopped = PEOPLE_SPENT
        elif not chosen:
            self.stopped = NOBODY
        return [] if self.stopped else chosen

    def _audit(self, file: AuditFile, number: int) -> Report:
        folder = self.out / _folder(number)
        oracle, source = open_oracle(file, folder / LOG)
        workers = file.workers if self.workers is None else self.workers
        watch: Watcher = with_title(f"round {number}: ", self.shown)
        return run_audit(
            file.plan, oracle, workers, out=folder, source=source, progress=watch,
            keep_predictions=file.keep_predictions,
        )  # fmt: skip


def _folder(number: int) -> str:
    return f"round-{number}"


def default_budget(
    path: Path, rounds: int | None = None, people: int | None = None, at_once: int | None = None
) -> Budget:
    """The budget with what was not said: ten rounds, and one person in twenty."""
    population = load(path).plan.data.population
    many = max(1, int(SHARE * population)) if people is None else people
    return Budget(ROUNDS if rounds is None else rounds, many, at_once)


def run_prune(
    path: Path, out: Path, budget: Budget, workers: int | str | None = None, *, shown: bool = False
) -> dict[str, Any]:
    """Repair, or continue a repair; what prune.json says afterwards."""
    repair = Repair(path, out, budget, workers, shown)
    rounds = list(repair.rounds())
    plain = prune_plain(rounds, repair.stopped, budget)
    out.mkdir(parents=True, exist_ok=True)
    write_text(out / PRUNE, json.dumps(plain, indent=1, allow_nan=False) + "\n")
    return plain
