"""What the plugin of pytest does with audits beyond the test itself: baselines, and what CI shows of them.

Knows options of pytest as plain attributes, so that it needs no pytest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from harness.analysis.baseline import AuditBaseline, baseline_of
from harness.analysis.baseline_file import baseline_to_extend, read_baseline, write_baseline
from harness.analysis.person_digest import DigestKey, find_key
from harness.analysis.recorded import recorded_now
from harness.analysis.regression import compare_with_baseline
from harness.analysis.regression_text import comparison_lines, persons_by_digest
from harness.api import versions
from harness.github_job import show_outcomes
from harness.render.outcomes import RESULTS, SEVERITIES, Location, NamedOutcome, OutcomeList
from harness.render.text import counted, printable
from harness.report import Report

Plain = dict[str, Any]


def failures_of(reports: Mapping[str, Report], options: Any) -> list[str]:
    """What is worse than in the baseline, as lines; nothing where it is being written anew."""
    if options.harness_update_baseline:
        return []
    key, baseline = _key(options), read_baseline(Path(options.harness_baseline))
    baseline.require_no_other_key(key)
    lines: list[str] = []
    for name, report in reports.items():
        if name not in baseline.audits:
            lines.append(f"{name}: not in the baseline {options.harness_baseline}; --harness-update-baseline adds it")
            continue
        compared = compare_with_baseline(baseline, name, baseline_of(report, key), date.today())
        if compared.failing:
            who = persons_by_digest(report, key)
            lines += [f"{name}: worse than the baseline {options.harness_baseline}", *comparison_lines(compared, who)]
    return lines


def travelling(report: Report, options: Any) -> Plain:
    """What the process that the user started needs of an audit, as plain data."""
    plain: Plain = {"outcome": report.verdict.outcome.value, "reason": report.verdict.reason}
    if options.harness_baseline and options.harness_update_baseline:
        plain["baseline"] = baseline_of(report, _key(options)).plain()
    return plain


def _key(options: Any) -> DigestKey | None:
    path = options.harness_baseline_key
    return find_key(None if path is None else Path(path))


def closing_lines(audits: Sequence[Plain], options: Any) -> Iterator[str]:
    """What is said, and written, when all tests have run."""
    held = sum(one["outcome"] == "holds" for one in audits)
    yield f"{counted(len(audits), 'audit')}: {held} hold, {len(audits) - held} do not"
    for one in audits:
        if one["outcome"] != "holds":
            yield printable(f"{one['outcome'].upper()} {one['name']}: {one['reason']}")
    if options.harness_baseline and options.harness_update_baseline:
        yield update_baseline(audits, Path(options.harness_baseline), _key(options))
    show_outcomes(OutcomeList("harness in pytest", tuple(map(_outcome, audits))))


def update_baseline(audits: Sequence[Plain], path: Path, key: DigestKey | None) -> str:
    """Write the audits to the file, beside those of tests that did not run; says what was done."""
    found = {one["name"]: AuditBaseline.from_plain(one["baseline"]) for one in audits}
    write_baseline(
        baseline_to_extend(path, key).with_audits(found, recorded_now(versions(), path.resolve().parent)), path
    )
    persons = "" if key is not None else "; without a key it holds no persons: see --harness-baseline-key"
    return f"{path}: {counted(len(found), 'audit')} written{persons}"


def _outcome(audit: Plain) -> NamedOutcome:
    """An audit of a test that passed is no failure, whatever its verdict: the test may expect it."""
    result = "passed" if audit["passed"] else RESULTS[audit["outcome"]]
    if not audit["passed"] and result == "passed":
        result = "failed"
    return NamedOutcome(
        name=audit["name"],
        result=result,
        message=f"{audit['outcome'].upper()}: {audit['reason']}",
        severity=SEVERITIES[result],
        location=Location(audit["file"], audit["line"]),
    )
