"""The command compare: finished audits side by side, for a terminal, as JSON and as a page with figures."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from harness.analysis.check_baseline import is_check, read_check
from harness.analysis.compare import compare_reports, worst
from harness.analysis.compare_checks import compare_checks
from harness.analysis.compared_audit import compared_audit
from harness.auditing.confidential import withheld
from harness.auditing.folder import JOURNAL, REPORT, write_text
from harness.cli import tell
from harness.render.compared_laws import compared_laws_text
from harness.render.comparison import comparison_text
from harness.render.comparison_page import comparison_page
from harness.report import Report
from harness.vocabulary.errors import HarnessError, InputError
from harness.vocabulary.persons import RowNames


def compare(chosen: argparse.Namespace) -> int:
    """Compare each further audit with the first; 0 whatever the comparison says."""
    if len(chosen.folders) < 2:
        raise InputError("compare needs at least two finished audits, the first of them to compare with")
    first, *others = chosen.folders
    if any(map(is_check, chosen.folders)):
        if chosen.output is not None:
            raise InputError("--output writes figures of audits; a check.json has none: leave it out")
        return _compare_checks(first, others, as_json=chosen.json)
    base, reports = _report(first), [_report(folder) for folder in others]
    comparisons = []
    for folder, later in zip(others, reports, strict=True):
        try:
            comparisons.append({"first": str(first), "later": str(folder), **compare_reports(base, later)})
        except HarnessError as error:
            raise error.within(f"{first}, {folder}") from None
    rows = RowNames(**base.plain["plan"]["data"]["source"])
    if chosen.output is not None:
        audits = [
            compared_audit(str(name), report) for name, report in zip(chosen.folders, [base, *reports], strict=True)
        ]
        write_text(chosen.output, comparison_page(comparisons, audits, rows))
        tell(f"figures in {chosen.output}")
    if chosen.json:
        whole = {"overall": worst([one["overall"] for one in comparisons]), "comparisons": comparisons}
        print(json.dumps(comparisons[0] if len(comparisons) == 1 else whole, indent=1, allow_nan=False))
        return 0
    print("\n\n".join(comparison_text(one, one["first"], one["later"], rows) for one in comparisons))
    return 0


def _compare_checks(first: Path, others: Sequence[Path], *, as_json: bool) -> int:
    base = read_check(first)
    comparisons = [compare_checks(str(first), base, str(other), read_check(other)) for other in others]
    if as_json:
        print(json.dumps(comparisons[0] if len(comparisons) == 1 else {"comparisons": comparisons}, indent=1))
    else:
        print("\n\n".join(map(compared_laws_text, comparisons)))
    return 0


def _report(folder: Path) -> Report:
    """What an audit found, without what only `--reveal` shows."""
    if (folder / JOURNAL).exists() and not (folder / REPORT).exists():
        raise InputError(f"{folder}: this audit is not finished; run it to its end, then compare")
    written = Report.load(folder / REPORT if folder.is_dir() else folder)
    return replace(written, plain=withheld(written.plain))
