"""The audit of one cell of a sweep, in this process or in a worker process. Knows the cell, not the other cells."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.analysis.sweep import CellOutcome
from harness.analysis.sweep_file import Cell, Place
from harness.api import open_oracle, run_audit
from harness.auditing.config import AuditFile
from harness.auditing.cost import predicted_calls
from harness.auditing.events import Event, OracleProfile, Probed, Selected
from harness.auditing.folder import JOURNAL, LOG
from harness.auditing.journal import is_taken
from harness.auditing.keyed_digests import sealed_in
from harness.progress import Watcher, watcher
from harness.report import Report
from harness.vocabulary.errors import HarnessError
from harness.vocabulary.oracle import Oracle
from oracles.addresses import shown_address, shown_option, without_secrets

CELLS = "cells"  # folder of all cells
WRITER_ENDS = 10.0  # seconds in which the worker process of a killed sweep has ended, even on a busy machine

Share = Callable[[Oracle], Oracle | None]  # the same oracle with the answers that other audits got, if any


@dataclass
class Questions:
    """Listens to an audit: how many questions it consists of, interruptions and repetitions aside."""

    profile: OracleProfile | None = None
    selected: Selected | None = None

    def heard(self, watch: Watcher) -> Watcher:
        """The same watcher, with what is heard noted here."""
        return lambda events, known: watch(self._noted(events), known)

    def _noted(self, events: Iterable[Event]) -> Iterator[Event]:
        for event in events:
            if isinstance(event, Probed):
                self.profile = event.profile
            elif isinstance(event, Selected):
                self.selected = event
            yield event

    def count(self, file: AuditFile) -> int | None:
        """Calls of the anonymizer; at most so many where a person may be settled before the last look."""
        if self.profile is None or self.selected is None:
            return None
        return predicted_calls(file.plan, self.profile, self.selected)


def without_secrets_in_names(cell: Cell, out: Path) -> Cell:
    """The same cell; nothing that it is named or shown by tells a secret without the key of the sweep's folder."""
    oracle = cell.identity["oracle"]
    kept = {**oracle, **without_secrets(oracle["address"], oracle.get("options", {}))}
    identity = sealed_in({**cell.identity, "oracle": kept}, out, (out / CELLS).glob(f"*/{JOURNAL}"))
    shown = {key: _shown(cell.places[key], value) for key, value in cell.parameters.items()}
    return replace(cell, identity=identity, parameters=shown)


def _shown(place: Place, value: Any) -> Any:
    if place == ("oracle", "address"):
        return shown_address(value)
    return shown_option(".".join(place[2:]), value) if place[:2] == ("oracle", "options") else value


def folder_of(out: Path, cell: Cell) -> Path:
    """The folder of a cell's audit."""
    return out / CELLS / cell.folder


def share_nothing(oracle: Oracle) -> Oracle | None:
    """For audits that ask everything themselves."""
    return None


@dataclass(frozen=True)
class CellAudit:
    """Audits cells; an error is an outcome, too. Can be sent to worker processes."""

    files: Mapping[str, AuditFile]  # by the folder of the cell
    out: Path
    workers: int | str | None  # instead of the file's

    def __call__(self, cell: Cell) -> tuple[Cell, CellOutcome]:
        """In a worker process: nothing is shown, and nothing shared."""
        return cell, self.outcome(cell, watcher(shown=False), share_nothing)

    @staticmethod
    def item_in_words(cell: Cell) -> str:
        """The cell, in the message about a worker process that ended."""
        return f"cell {cell.label}"

    def outcome(self, cell: Cell, watch: Watcher, share: Share) -> CellOutcome:
        file, questions = self.files[cell.folder], Questions()
        try:
            report = self._report(cell, questions.heard(watch), share)
        except HarnessError as error:
            return CellOutcome.failed(error)
        return CellOutcome.finished(report, questions.count(file))

    def _report(self, cell: Cell, watch: Watcher, share: Share) -> Report:
        file, folder = self.files[cell.folder], folder_of(self.out, cell)
        oracle, source = open_oracle(file, folder / LOG)
        _wait_for_killed_writer(folder / JOURNAL)
        workers = file.workers if self.workers is None else self.workers
        return run_audit(
            file.plan, oracle, workers, out=folder, source=source, progress=watch, shared=share(oracle),
            keep_predictions=file.keep_predictions,
        )  # fmt: skip


def _wait_for_killed_writer(journal: Path) -> None:
    """A worker process ends a moment after the sweep that was killed; its journal is free then."""
    deadline = time.monotonic() + WRITER_ENDS
    while is_taken(journal) and time.monotonic() < deadline:
        time.sleep(0.05)
