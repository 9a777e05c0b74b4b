"""The command compare: finished audits side by side."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from harness.analysis.check_baseline import is_check, read_check
from harness.analysis.compare import compare_reports, worst
from harness.analysis.compare_checks import compare_checks
from harness.auditing.folder import REPORT
from harness.render.compared_laws import compared_laws_text
from harness.render.comparison import comparison_text
from harness.report import Report
from harness.vocabulary.errors import HarnessError, InputError
from harness.vocabulary.persons import RowNames


def compare(chosen: argparse.Namespace) -> int:
    """Compare each further audit with the first; 0 whatever the comparison says."""
    if len(chosen.folders) < 2:
        raise InputError("compare needs at least two finished audits, the first of them to compare with")
    first, *others = chosen.folders
    if any(map(is_check, chosen.folders)):
        return _compare_checks(first, others, as_json=chosen.json)
    base = _report(first)
    comparisons = []
    for folder in others:
        later = _report(folder)
        try:
            comparisons.append({"first": str(first), "later": str(folder), **compare_reports(base, later)})
        except HarnessError as error:
            raise error.within(f"{first}, {folder}") from None
    if chosen.json:
        whole = {"overall": worst([one["overall"] for one in comparisons]), "comparisons": comparisons}
        print(json.dumps(comparisons[0] if len(comparisons) == 1 else whole, indent=1, allow_nan=False))
        return 0
    rows = RowNames(**base.plain["plan"]["data"]["source"])
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
    return Report.load(folder / REPORT if folder.is_dir() else folder)
