"""The commands of a developer: check, replay."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.cli import allow_imports_beside, tell
from harness.cli.option_words import options_from_words
from harness.github_job import print_result, show_outcomes
from harness.render.check_report import FORMATS, check_text, outcomes_of_check
from harness.testing import check as run_check
from harness.testing.checking import check_table
from harness.testing.kept_cases import FOLDER, kept_cases, read_case
from harness.testing.run import LAWS
from harness.vocabulary.errors import HarnessError, InputError, did_you_mean, why_not_written


def check(chosen: argparse.Namespace) -> int:
    """Try an anonymizer on generated tables; the exit code says whether it keeps all laws."""
    allow_imports_beside(chosen.schema)
    formats = [name for name in chosen.report.split(",") if name]
    for name in formats:
        if name not in FORMATS:
            raise InputError(f"--report {name!r} is not known; {did_you_mean(name, FORMATS)}")
    report = run_check(
        chosen.address,
        chosen.schema,
        options_from_words(chosen.claim, "--claim"),
        options=options_from_words(chosen.option, "--option"),
        laws=chosen.law or LAWS,
        seed=chosen.seed,
        budget_calls=chosen.budget_calls,
        max_time=chosen.max_time,
        max_failures=chosen.max_failures,
        keep_in=FOLDER,
    )
    plain = report.plain()
    for name in formats:
        _write(chosen.report_dir / f"check.{FORMATS[name].ending}", FORMATS[name].render(plain))
    print_result(json.dumps(plain) + "\n" if chosen.json else check_text(plain), is_json=chosen.json)
    show_outcomes(outcomes_of_check(plain))
    return report.exit_code(inconclusive_fails=chosen.inconclusive == "fail")


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise InputError(why_not_written(path, error)) from None


def replay(chosen: argparse.Namespace) -> int:
    """Ask again about every kept table: fixed, failed, or error."""
    paths = chosen.cases or kept_cases()
    if not paths:
        tell(f"no cases are kept in {FOLDER}: `harness check` keeps a table there when it breaks a law")
        return 0
    given = options_from_words(chosen.option, "--option")
    outcomes = [_replayed(path, given) for path in paths]
    for path, (outcome, why) in zip(paths, outcomes, strict=True):
        print(f"{outcome:<6} {shlex.quote(str(path))}{f': {why}' if why else ''}")
    seen = {outcome for outcome, _ in outcomes}
    return 3 if "error" in seen else 1 if "failed" in seen else 0


def _replayed(path: Path, given: Mapping[str, Any]) -> tuple[str, str | None]:
    case = read_case(path)
    allow_imports_beside(Path(case.schema))
    options: dict[str, Any] = {**case.options, **given}
    missing = next((name for name in case.withheld if name not in given), None)
    if missing is not None:
        return "error", f"its option {missing} was not kept, because it may be secret; add --option {missing}=…"
    try:
        result = check_table(
            case.address, case.schema, case.rows, case.law, case.claims, options=options, seed=case.seed, keep_in=FOLDER
        )
    except HarnessError as error:
        return "error", str(error)
    return ("failed", result.reason) if result.outcome == "failed" else ("fixed", None)
