"""The commands of an auditor: demo, plan, run, verify, report."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.api import open_oracle, oracle_log, run_audit, run_shard
from harness.auditing.config import AuditFile, load
from harness.auditing.cost import estimate_cost
from harness.auditing.folder import ATTESTATION, JOURNAL, LOG, PAGE, REPORT, SHARD, write_text
from harness.auditing.journal import head_of, lines_of, measures_somebody
from harness.auditing.shard import shard_of
from harness.auditing.verdict import Outcome
from harness.cli import allow_imports_beside, tell
from harness.cli.colours import coloured
from harness.cli.evidence import check_folder
from harness.demo import show
from harness.executors import choose_executor, workers_at_once
from harness.github_job import print_result, show_outcomes
from harness.render.outcomes import outcomes_of_report
from harness.render.text import counted
from harness.report import Report
from harness.signing.keys import load_verifying_key
from harness.vocabulary.errors import HarnessError, InputError, JournalError, OtherOracleError
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
        oracle, _ = open_oracle(file, log)
        with closing(oracle):
            executor = choose_executor(file.workers, in_process=oracle.card.in_process)
            print(estimate_cost(file.plan, oracle, workers_at_once(executor), file.keep_predictions))
    return 0


def _default_folder(file: Path) -> Path:
    """Where an audit is kept unless --out says otherwise."""
    return Path(f"{file.stem}.audit")


def run(chosen: argparse.Namespace) -> int:
    """Run an audit, or continue an interrupted one; the exit code is the outcome."""
    if chosen.shard is not None:
        return run_part(chosen)
    return complete(chosen, chosen.file, chosen.out or _default_folder(chosen.file))


def run_part(chosen: argparse.Namespace) -> int:
    """Examine the records of one shard; there is no verdict before all shards are put together."""
    number, of = shard_of(chosen.shard)
    allow_imports_beside(chosen.file)
    file = load(chosen.file)
    out = chosen.out or Path(f"{chosen.file.stem}.shard-{number}-of-{of}")
    oracle, source = open_oracle(file, out / LOG, of)
    workers = file.workers if chosen.workers is None else chosen.workers
    try:
        shard, state = run_shard(
            file.plan, oracle, workers, number, of, out=out, source=source, progress=not chosen.quiet,
            max_failures=chosen.max_failures, retry_failed=chosen.retry_failed, accept_card=chosen.accept_card,
            keep_predictions=file.keep_predictions,
        )  # fmt: skip
    except (KeyboardInterrupt, HarnessError) as error:
        if not isinstance(error, JournalError | OtherOracleError):
            tell_what_is_kept(chosen.file, out, f" --shard {number}/{of}")
        raise
    write_text(out / SHARD, json.dumps({**shard.plain(), "file": str(chosen.file.resolve())}) + "\n")
    assert state.selected is not None
    examined, failed = len(shard.part(state.selected.examined)) - len(state.failed), len(state.failed)
    head = head_of(out / JOURNAL)
    if chosen.json:
        print(json.dumps({**shard.plain(), "examined": examined, "failed": failed, "head": head}))
        return 0
    failures = f", {counted(failed, 'record')} could not be measured" if failed else ""
    print(f"shard {shard}: {counted(examined, 'record')} examined{failures}; kept in {out}")
    if not chosen.quiet:
        tell(f"head of the journal, to keep: {head}")
        tell(f"when all {of} shards are finished: harness merge DIR… --out DIR")
    return 0


def complete(chosen: argparse.Namespace, path: Path, out: Path) -> int:
    """Bring the audit of a file in a folder to its end, and show it."""
    allow_imports_beside(path)
    file = load(path)
    return finish(chosen, file, *open_oracle(file, out / LOG), out)


def finish(chosen: argparse.Namespace, file: AuditFile, oracle: Oracle, source: dict[str, Any], out: Path) -> int:
    """The same with the oracle open already; closes it."""
    workers = file.workers if chosen.workers is None else chosen.workers
    start = time.monotonic()
    try:
        report = run_audit(
            file.plan, oracle, workers, out=out, source=source, progress=not chosen.quiet, reveal=chosen.reveal,
            statements=file.statements, max_failures=getattr(chosen, "max_failures", None),
            retry_failed=getattr(chosen, "retry_failed", False), accept_card=getattr(chosen, "accept_card", False),
            keep_predictions=file.keep_predictions,
        )  # fmt: skip
    except (KeyboardInterrupt, HarnessError) as error:
        if not isinstance(error, JournalError | OtherOracleError):  # which refuse just that
            tell_what_is_kept(file.path, out)
        raise
    shown = report.to_json() if chosen.json else coloured(report.summary(), sys.stdout) + "\n"
    print_result(shown, is_json=chosen.json)
    show_outcomes(outcomes_of_report(report.plain))
    if not chosen.quiet:
        number = counted(report.number_of_findings, "finding")
        tell(f"{number} in {time.monotonic() - start:.1f} s; report in {out / PAGE}")
        tell(f"head of the journal, to keep: {head_of(out / JOURNAL)}")
        if (out / ATTESTATION).exists():
            tell(f"{out / ATTESTATION} is the signature of an earlier run; remove it and sign anew")
        _tell_what_next(report, file, oracle)
    return report.verdict.outcome.exit_code


def tell_what_is_kept(file: Path, out: Path, more: str = "") -> None:
    """After an interruption: how much was measured, and how to continue."""
    journal = out / JOURNAL
    examined = sum(map(measures_somebody, lines_of(journal))) if journal.exists() else 0
    if examined:
        kept = counted(examined, "examined record")
        tell(f"stopped; {kept} kept in {out}. To continue: harness run {file}{more} --out {out}")


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
    """Prove the report from the journal; 0 if every number follows, whatever the verdict, 4 if draws are missing."""
    key = None if chosen.key is None else load_verifying_key(chosen.key)
    evidence = check_folder(chosen.folder, key, chosen.head)
    _print("\n".join([*evidence.lines, f"the head of the journal is {evidence.head}", evidence.conclusion]))
    return 0 if evidence.is_complete else Outcome.INCONCLUSIVE.exit_code


def _report_of(folder: Path, *, reveal: bool) -> Report:
    """What a run wrote; of an interrupted one what its journal says so far, which has no verdict.

    What a run did not reveal is in its journal.
    """
    if not os.path.lexists(folder / REPORT) and (folder / JOURNAL).exists():
        return Report.of_journal(folder / JOURNAL)
    written = Report.load(folder / REPORT)
    return replace(written, complete=Report.of_journal(folder / JOURNAL).complete) if reveal else written


def report(chosen: argparse.Namespace) -> int:
    """The report of a finished audit, or what an interrupted one has measured so far, in another format."""
    page = _report_of(chosen.folder, reveal=chosen.reveal).render(chosen.format, reveal=chosen.reveal)
    if chosen.output is None:
        print(page if chosen.format == "json" else coloured(page, sys.stdout), end="")
        return 0
    try:
        chosen.output.write_text(page, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise InputError(f"{chosen.output}: cannot be written: {error.strerror}") from None
    return 0
