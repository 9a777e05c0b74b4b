"""The command sweep: many audits that differ in a few keys, as one table, one page and one JSON file."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from harness.analysis.sweep import distances_by_cell
from harness.auditing.folder import write_text
from harness.cli import allow_imports_beside, tell, telling_how_to_continue
from harness.experiments.sweeps import SWEEP, run_sweep
from harness.render.sweep import sweep_page, sweep_text
from harness.render.text import counted

PAGE = "sweep.html"


def sweep(chosen: argparse.Namespace) -> int:
    """Run a sweep, or continue it; 0 if every cell has a verdict, else the exit code of the first error."""
    allow_imports_beside(chosen.file)
    out = chosen.out or Path(f"{chosen.file.stem}.sweep")
    with telling_how_to_continue("sweep", chosen.file, out):
        plain, results = run_sweep(chosen.file, out, chosen.workers, shown=not chosen.quiet, tell=tell)
    write_text(out / PAGE, sweep_page(plain, distances_by_cell(results), f"Sweep {chosen.file.name}"))
    print(json.dumps(plain, indent=1) if chosen.json else sweep_text(plain))
    failed = [result.outcome.error for result in results if result.outcome.error is not None]
    if not chosen.quiet:
        cells = f"{counted(len(results), 'cell')}, {len(failed)} failed"
        tell(f"{cells}; numbers in {out / SWEEP}, figures in {out / PAGE}")
    return failed[0].exit_code if failed else 0
