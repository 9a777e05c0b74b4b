"""A sweep under way: one audit per cell, each in a folder of its own. Can be interrupted and continued.

A sweep reads its data once. Cells that ask the same oracle about the same data share its answers (oracles beside
`reference:`, which answer sooner than a file is read): what f releases is asked for once, and kept in the folder
`answers` until all of them are done. Cells of `reference:` oracles are audited side by side, each in a worker process:
processes that share one audit would each work out what f does around a person, and all but one would wait while its
report is written.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from harness.analysis.sweep import CellOutcome, CellResult, sweep_plain
from harness.analysis.sweep_file import Cell, digest, read_sweep
from harness.api import open_oracle, oracle_log
from harness.auditing.config import AuditFile, build, dataset_of
from harness.auditing.folder import JOURNAL, write_text
from harness.executors import Processes
from harness.experiments.cells import CellAudit, folder_of, without_secrets_in_names
from harness.progress import SeveralAudits
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import HarnessError, InputError, OracleError
from harness.vocabulary.oracle import Oracle
from oracles.shared_answers import SharedAnswers

ANSWERS, SWEEP = "answers", "sweep.json"
QUICK = "reference:"  # addresses of oracles whose answers are not worth keeping

Tell = Callable[[str], None]


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
        run = cls([without_secrets_in_names(cell, out) for cell in read_sweep(path)], out, workers)
        tables: dict[str, Dataset] = {}
        for cell in run.distinct:
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

    @property
    def distinct(self) -> list[Cell]:
        """The cells to audit: equal ones are one audit."""
        return list({cell.folder: cell for cell in reversed(self.cells)}.values())[::-1]

    def results(self, progress: SeveralAudits, tell: Tell) -> list[CellResult]:
        """What became of each cell, in order; one that fails does not end the others."""
        quick = [cell for cell in self.distinct if _is_quick(cell)]
        beside = quick if min(len(quick), self._processes()) > 1 else []
        others = [cell for cell in self.distinct if cell not in beside]
        outcomes: dict[str, CellOutcome] = {}
        for cell, outcome in chain(self._side_by_side(beside, progress), self._in_turn(others, progress)):
            outcomes[cell.folder] = outcome
            progress.finish(cell.label)
            if outcome.error is not None:
                tell(f"cell {cell.label} failed: {outcome.error}")
        return [CellResult(cell, outcomes[cell.folder]) for cell in self.cells]

    def _processes(self) -> int:
        """How many processes of this machine do the work; 1 where others do."""
        declared = [file.workers if self.workers is None else self.workers for file in self.files.values()]
        return max((workers for workers in declared if isinstance(workers, int)), default=1)

    def _side_by_side(self, cells: Sequence[Cell], progress: SeveralAudits) -> Iterator[tuple[Cell, CellOutcome]]:
        """As they are done, in worker processes; where there are fewer cells than workers, some help within a cell."""
        if not cells:
            return
        at_once = min(len(cells), self._processes())
        audit = CellAudit(self.files, self.out, self._processes() // at_once)
        journals = {folder_of(self.out, cell) / JOURNAL: self.files[cell.folder].plan.data.population for cell in cells}
        with progress.reading(journals):
            yield from Processes(at_once).map(audit, cells)

    def _in_turn(self, cells: Sequence[Cell], progress: SeveralAudits) -> Iterator[tuple[Cell, CellOutcome]]:
        """One after the other, each with all workers."""
        audit = CellAudit(self.files, self.out, self.workers)
        for cell in cells:
            outcome = audit.outcome(cell, progress.watch(cell.label), partial(self._shared, cell))
            self._forget_answers(cell)
            yield cell, outcome

    def _shared(self, cell: Cell, oracle: Oracle) -> Oracle | None:
        alike = sum(_asked(other) == _asked(cell) for other in self.distinct)
        if alike == 1 or _is_quick(cell):
            return None
        return SharedAnswers(oracle, self.out / ANSWERS / _asked(cell))

    def _forget_answers(self, cell: Cell) -> None:
        """Released tables are confidential too: they are removed as soon as nobody needs them."""
        self.left[_asked(cell)] -= 1
        if self.left[_asked(cell)] == 0:
            shutil.rmtree(self.out / ANSWERS / _asked(cell), ignore_errors=True)
            with suppress(OSError):  # other answers are in it
                (self.out / ANSWERS).rmdir()


def _is_quick(cell: Cell) -> bool:
    return str(cell.content["oracle"]["address"]).startswith(QUICK)


def _asked(cell: Cell) -> str:
    """What must be equal for two audits to ask the same questions: the data and the oracle."""
    return digest([cell.identity["data"], cell.identity["oracle"]])


def run_sweep(
    path: Path, out: Path, workers: int | str | None = None, *, shown: bool = False, tell: Tell = print
) -> tuple[dict[str, Any], list[CellResult]]:
    """Run a sweep, or continue it; what sweep.json says afterwards, and what became of each cell."""
    run = SweepRun.of(path, out, workers)
    with SeveralAudits(len(run.files), shown) as progress:
        results = run.results(progress, tell)
    plain = sweep_plain(results)
    out.mkdir(parents=True, exist_ok=True)
    write_text(out / SWEEP, json.dumps(plain, indent=1, allow_nan=False) + "\n")
    return plain, results
