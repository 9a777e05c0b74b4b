"""A sweep under way: one audit per cell, each in a folder of its own. Can be interrupted and continued.

A sweep reads its data once. Cells that ask the same oracle about the same data share its answers (oracles beside
`reference:`, which answer sooner than a file is read): what f releases is asked for once, and kept in the folder
`answers` until all of them are done.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.analysis.sweep import CellResult, sweep_plain
from harness.analysis.sweep_file import Cell, digest, read_sweep
from harness.api import open_oracle, oracle_log, run_audit
from harness.auditing.config import AuditFile, build, dataset_of
from harness.auditing.cost import predicted_calls
from harness.auditing.events import Event, OracleProfile, Probed, Selected
from harness.auditing.folder import LOG, write_text
from harness.progress import SeveralAudits, Watcher
from harness.report import Report
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import HarnessError, InputError, OracleError
from harness.vocabulary.oracle import Oracle
from oracles.shared_answers import SharedAnswers

CELLS, ANSWERS, SWEEP = "cells", "answers", "sweep.json"
QUICK = "reference:"  # addresses of oracles whose answers are not worth keeping

Tell = Callable[[str], None]


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


@dataclass
class SweepRun:
    """A sweep under way: its cells, their audits, and which of them share an oracle's answers."""

    cells: list[Cell]
    out: Path
    workers: int | str | None = None  # instead of the file's
    files: dict[str, AuditFile] = field(default_factory=dict)  # by folder: equal cells are one audit
    left: Counter[str] = field(default_factory=Counter)  # audits to come by what they share

    @classmethod
    def of(cls, path: Path, out: Path, workers: int | str | None = None) -> SweepRun:
        """The sweep that a file describes; all its cells are checked, and the data is read once."""
        run = cls(read_sweep(path), out, workers)
        tables: dict[str, Dataset] = {}
        for cell in run.cells:
            if cell.folder in run.files:
                continue
            known = digest(cell.content["data"])
            if known not in tables:
                tables[known] = dataset_of(path, cell.content)
            try:
                run.files[cell.folder] = build(path, cell.content, tables[known])
            except HarnessError as error:
                raise error.within(f"cell {cell.label}") from None
            run.left[_asked(cell)] += 1
        run._require_oracles_that_open()
        return run

    def _require_oracles_that_open(self) -> None:
        """A mistake in the options of any oracle is refused before the first cell; one that is away fails its cells."""
        opened = set()
        for cell in self.cells:
            named = digest(cell.content["oracle"])
            if named in opened:
                continue
            opened.add(named)
            with oracle_log(None) as log, suppress(OracleError):
                try:
                    open_oracle(self.files[cell.folder], log)[0].close()
                except InputError as error:
                    raise error.within(f"cell {cell.label}") from None

    def results(self, progress: SeveralAudits, tell: Tell) -> Iterator[CellResult]:
        """What became of each cell, in order; one that fails does not end the others."""
        done: dict[str, CellResult] = {}
        for cell in self.cells:
            if cell.folder not in done:
                done[cell.folder] = self._result(cell, progress, tell)
                self._forget_answers(cell)
                progress.finish()
            known = done[cell.folder]
            yield CellResult(cell, known.report, known.calls, known.error)

    def _result(self, cell: Cell, progress: SeveralAudits, tell: Tell) -> CellResult:
        file, questions = self.files[cell.folder], Questions()
        try:
            report = self._audit(cell, file, questions.heard(progress.watch(cell.label)))
        except HarnessError as error:
            tell(f"cell {cell.label} failed: {error}")
            return CellResult(cell, error=error)
        return CellResult(cell, report, questions.count(file))

    def _audit(self, cell: Cell, file: AuditFile, watch: Watcher) -> Report:
        folder = self.out / CELLS / cell.folder
        oracle, source = open_oracle(file, folder / LOG)
        workers = file.workers if self.workers is None else self.workers
        return run_audit(
            file.plan, oracle, workers, out=folder, source=source, progress=watch, shared=self._shared(cell, oracle)
        )

    def _shared(self, cell: Cell, oracle: Oracle) -> Oracle | None:
        alike = sum(_asked(other) == _asked(cell) for other in {one.folder: one for one in self.cells}.values())
        if alike == 1 or cell.content["oracle"]["address"].startswith(QUICK):
            return None
        return SharedAnswers(oracle, self.out / ANSWERS / _asked(cell))

    def _forget_answers(self, cell: Cell) -> None:
        """Released tables are confidential too: they are removed as soon as nobody needs them."""
        self.left[_asked(cell)] -= 1
        if self.left[_asked(cell)] == 0:
            shutil.rmtree(self.out / ANSWERS / _asked(cell), ignore_errors=True)
            with suppress(OSError):  # other answers are in it
                (self.out / ANSWERS).rmdir()


def _asked(cell: Cell) -> str:
    """What must be equal for two audits to ask the same questions: the data and the oracle."""
    return digest([cell.content["data"], cell.content["oracle"]])


def run_sweep(
    path: Path, out: Path, workers: int | str | None = None, *, shown: bool = False, tell: Tell = print
) -> tuple[dict[str, Any], list[CellResult]]:
    """Run a sweep, or continue it; what sweep.json says afterwards, and the reports."""
    run = SweepRun.of(path, out, workers)
    with SeveralAudits(len(run.files), shown) as progress:
        results = list(run.results(progress, tell))
    plain = sweep_plain(results)
    out.mkdir(parents=True, exist_ok=True)
    write_text(out / SWEEP, json.dumps(plain, indent=1, allow_nan=False) + "\n")
    return plain, results
