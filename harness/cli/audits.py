"""The commands of an auditor: demo, plan, run, verify, report."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import oracles
from harness.api import JOURNAL, LOG, REPORT, child_settings, oracle_log, run_audit
from harness.auditing.config import AuditFile, load
from harness.auditing.cost import estimate_cost
from harness.auditing.journal import entries
from harness.cli import allow_imports_beside, tell
from harness.cli.colours import coloured
from harness.cli.evidence import check_folder
from harness.demo import show
from harness.executors import choose_executor, workers_at_once
from harness.render.text import counted
from harness.report import Report
from harness.vocabulary.errors import HarnessError, InputError, JournalError
from harness.vocabulary.oracle import Oracle


def demo(chosen: argparse.Namespace) -> int:
    """Three anonymizers, three verdicts."""
    reports = show(_discard if chosen.json else _print, chosen.people)
    if chosen.json:
        print(json.dumps({name: report.to_dict() for name, report in reports.items()}))
    return 0


def _print(text: str) -> None:
    """Prints for a person: in colours where standard output is a terminal."""
    print(coloured(text, sys.stdout))


def _discard(text: str) -> None:
    """Prints nothing: where only machines read."""


def plan(chosen: argparse.Namespace) -> int:
    """What an audit will cost."""
    allow_imports_beside(chosen.file)
    file = load(chosen.file)
    out = _default_folder(chosen.file)
    with oracle_log(out if os.access(Path.cwd(), os.W_OK) else None) as log:  # where run will put it, too
        oracle = oracles.open_with(file.address, _options(file), child_settings(log))
        with closing(oracle):
            executor = choose_executor(file.workers, in_process=oracle.card.in_process)
            print(estimate_cost(file.plan, oracle, workers_at_once(executor)))
    return 0


def _options(file: AuditFile) -> dict[str, Any]:
    return oracles.options_beside(file.path.parent, file.address, file.options)


def _default_folder(file: Path) -> Path:
    """Where an audit is kept unless --out says otherwise."""
    return Path(f"{file.stem}.audit")


def run(chosen: argparse.Namespace) -> int:
    """Run an audit, or continue an interrupted one; the exit code is the outcome."""
    allow_imports_beside(chosen.file)
    file = load(chosen.file)
    out = chosen.out or _default_folder(chosen.file)
    options = _options(file)
    oracle = oracles.open_with(file.address, options, child_settings(out / LOG))
    workers = file.workers if chosen.workers is None else chosen.workers
    source = {"address": file.address, "options": oracles.options_of_identity(options)}
    start = time.monotonic()
    try:
        report = run_audit(
            file.plan, oracle, workers, out=out, source=source, progress=not chosen.quiet, reveal=chosen.reveal
        )
    except (KeyboardInterrupt, HarnessError) as error:
        if not isinstance(error, JournalError):  # which refuses just that
            _tell_what_is_kept(chosen.file, out)
        raise
    if chosen.json:
        print(report.to_json(), end="")
    else:
        _print(report.summary())
    if not chosen.quiet:
        number = counted(len(report.findings), "finding")
        tell(f"{number} in {time.monotonic() - start:.1f} s; report in {out / REPORT}")
        _tell_what_next(report, file, oracle)
    return report.verdict.outcome.exit_code


def _tell_what_is_kept(file: Path, out: Path) -> None:
    """After an interruption: how much was measured, and how to continue."""
    journal = out / JOURNAL
    examined = sum("examined" in line for line in entries(journal)) if journal.exists() else 0
    if examined:
        kept = counted(examined, "examined record")
        tell(f"stopped; {kept} kept in {out}. To continue: harness run {file} --out {out}")


def _tell_what_next(report: Report, file: AuditFile, oracle: Oracle) -> None:
    if needed := report.verdict.draws_needed:
        adaptive = "raise draws and run the same command again"
        tell(
            f"to settle it with about {needed:,} draws: "
            f"{adaptive if file.plan.adaptive else 'audit anew with adaptive = true'}"
        )
    if counts := getattr(oracle, "counts", None):  # of an oracle that is waited for
        tell(f"calls: {counts}")


def verify(chosen: argparse.Namespace) -> int:
    """Prove the report from the journal; 0 if every number follows from it, whatever the verdict."""
    evidence = check_folder(chosen.folder)
    _print("\n".join([*evidence.lines, str(evidence.report.verdict)]))
    return 0


def report(chosen: argparse.Namespace) -> int:
    """The report of a finished audit in another format."""
    page = Report.load(chosen.folder / REPORT).render(chosen.format)
    if chosen.output is None:
        print(page if chosen.format == "json" else coloured(page, sys.stdout), end="")
        return 0
    try:
        chosen.output.write_text(page, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise InputError(f"{chosen.output}: cannot be written: {error.strerror}") from None
    return 0
