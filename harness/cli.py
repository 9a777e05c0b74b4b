"""The command `harness`: demo, plan, run. A door: it turns words into plans and outcomes into exit codes."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from harness.errors import HarnessError, InputError

INTERRUPTED = 130
REPORT, SUMMARY = "report.json", "summary.txt"


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit codes: 0 holds, 1 violated, 2 your input, 3 the oracle, 4 inconclusive, 130 interrupted."""
    chosen = _parser().parse_args(arguments)
    perform: Callable[[argparse.Namespace], int] = chosen.perform
    try:
        return perform(chosen)
    except HarnessError as error:
        _tell(f"error: {error}")
        return error.exit_code
    except KeyboardInterrupt:
        _tell("interrupted")
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output has left; there is nobody to tell
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="harness",
        description="Test an anonymizer from outside: how far does a person's own record move what a release says "
        "about that person?",
        epilog=main.__doc__,
    )
    commands = parser.add_subparsers(required=True, metavar="command")

    demo = commands.add_parser("demo", help="audit three reference anonymizers on invented people")
    demo.add_argument("--people", type=int, default=1000, metavar="N", help="how many people to invent (1000)")
    demo.add_argument("--json", action="store_true", help="print the reports as JSON")
    demo.set_defaults(perform=_demo)

    plan = commands.add_parser("plan", help="check an audit.toml, and say what the audit will cost")
    plan.add_argument("file", type=Path, help="audit.toml")
    plan.set_defaults(perform=_plan)

    run = commands.add_parser("run", help="run an audit; run it again to go on after an interruption")
    run.add_argument("file", type=Path, help="audit.toml")
    run.add_argument("--out", type=Path, metavar="DIR", help="folder for journal and report (NAME.audit)")
    run.add_argument("--json", action="store_true", help="print the report as JSON instead of the summary")
    run.add_argument("--reveal", action="store_true", help="show raw records in the report")
    run.set_defaults(perform=_run)

    verify = commands.add_parser("verify", help="recompute chain and verdict from a journal, without the oracle")
    verify.add_argument("folder", type=Path, help="the --out folder of a run")
    verify.set_defaults(perform=_verify)
    return parser


def _tell(text: str) -> None:
    print(f"harness: {text}", file=sys.stderr)


def _demo(chosen: argparse.Namespace) -> int:
    from harness.demo import show

    if chosen.people < 20:
        raise InputError("--people must be at least 20, or there is nothing to hide in")
    reports = show(_silent if chosen.json else print, chosen.people)
    if chosen.json:
        print(json.dumps({name: report.to_dict() for name, report in reports.items()}, ensure_ascii=False))
    return 0


def _silent(text: str) -> None:
    """Says nothing."""


def _plan(chosen: argparse.Namespace) -> int:
    import oracles
    from harness.cost import estimated_cost
    from harness.planfile import load
    from harness.procedure import Audit

    _let_import(chosen.file)
    planned = load(chosen.file)
    oracle = oracles.open(planned.address, **planned.options)
    try:
        print(estimated_cost(Audit(planned.plan, oracle), planned.workers))
    finally:
        oracle.close()
    return 0


def _run(chosen: argparse.Namespace) -> int:
    import oracles
    from harness.doors import audited, shown
    from harness.planfile import load
    from harness.report import Report

    _let_import(chosen.file)
    planned = load(chosen.file)
    out = chosen.out or Path(f"{chosen.file.stem}.audit")
    source = {"address": planned.address, "options": planned.options}
    oracle = oracles.open(planned.address, **planned.options)
    start = time.monotonic()
    with audited(planned.plan, oracle, workers=planned.workers, out=out, source=source) as audit:
        findings = []
        try:
            for finding in shown(audit):
                findings.append(finding)
        except (KeyboardInterrupt, HarnessError) as error:
            if findings or isinstance(error, KeyboardInterrupt):
                _tell_kept(len(findings), chosen.file, out)
            if isinstance(error, KeyboardInterrupt):
                return INTERRUPTED
            raise
        report = Report.of(audit, findings, reveal=chosen.reveal)
    _write(out / REPORT, report.to_json())
    _write(out / SUMMARY, report.summary() + "\n")
    print(report.to_json() if chosen.json else report.summary(), end="" if chosen.json else "\n")
    _tell(f"{len(findings)} findings in {time.monotonic() - start:.1f} s; report in {out / REPORT}")
    return report.verdict.outcome.exit_code


def _verify(chosen: argparse.Namespace) -> int:
    from harness.doors import JOURNAL
    from harness.verification import verified

    report = chosen.folder / REPORT
    verdict = verified(chosen.folder / JOURNAL, report if report.exists() else None)
    print(f"the journal is whole, and what it holds gives\n{verdict}")
    return 0


def _tell_kept(found: int, file: Path, out: Path) -> None:
    _tell(f"stopped; {found} findings are kept in {out}. To go on: harness run {file} --out {out}")


def _let_import(file: Path) -> None:
    """`python:` addresses mean modules beside the audit.toml, or where the command was given."""
    for folder in (os.getcwd(), str(file.resolve().parent)):
        if folder not in sys.path:
            sys.path.insert(0, folder)


def _write(path: Path, text: str) -> None:
    """Whole or not at all: nobody reads half a report."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


if __name__ == "__main__":
    sys.exit(main())
