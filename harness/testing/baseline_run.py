"""What the plugin of pytest does with audits and checks beyond the test itself: baselines, and what CI shows of them.

Knows options of pytest as plain attributes, so that it needs no pytest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from harness.analysis.baseline import AuditBaseline, baseline_of
from harness.analysis.baseline_file import baseline_to_extend, read_baseline, write_baseline
from harness.analysis.check_baseline import CheckBaseline, check_baseline_of
from harness.analysis.person_digest import DigestKey, find_key
from harness.analysis.recorded import recorded_now
from harness.analysis.regression import Comparison, compare_check_with_baseline, compare_with_baseline
from harness.analysis.regression_text import comparison_lines, persons_by_digest
from harness.api import versions
from harness.github_job import show_outcomes
from harness.render.outcomes import RESULTS, SEVERITIES, Location, NamedOutcome, OutcomeList
from harness.render.text import counted, printable
from harness.report import Report
from harness.testing.outcome import CheckReport

Plain = dict[str, Any]


def failures_of(audits: Mapping[str, Report], checks: Mapping[str, CheckReport], options: Any) -> list[str]:
    """What is worse than in the baseline, as lines; nothing where it is being written anew."""
    if options.harness_update_baseline:
        return []
    key, baseline = _key(options), read_baseline(Path(options.harness_baseline))
    baseline.require_no_other_key(key)
    today, lines = date.today(), list[str]()
    for name, report in audits.items():
        if name in baseline.audits:
            compared = compare_with_baseline(baseline, name, baseline_of(report, key), today)
            lines += _worse(compared, options, persons_by_digest(report, key))
        else:
            lines.append(_not_there(name, options))
    for name, check in checks.items():
        if name in baseline.checks:
            compared = compare_check_with_baseline(baseline, name, check_baseline_of(check.plain()), today)
            lines += _worse(compared, options, {})
        else:
            lines.append(_not_there(name, options))
    return lines


def _not_there(name: str, options: Any) -> str:
    return f"{name}: not in the baseline {options.harness_baseline}; --harness-update-baseline adds it"


def _worse(compared: Comparison, options: Any, persons: Mapping[str, str]) -> list[str]:
    if not compared.failing:
        return []
    title = f"{compared.audit}: worse than the baseline {options.harness_baseline}"
    return [title, *comparison_lines(compared, persons)]


def travelling(report: Report, options: Any) -> Plain:
    """What the process that the user started needs of an audit, as plain data."""
    plain: Plain = {"kind": "audit", "outcome": report.verdict.outcome.value, "reason": report.verdict.reason}
    if options.harness_baseline and options.harness_update_baseline:
        plain["baseline"] = baseline_of(report, _key(options)).plain()
    return plain


def travelling_check(report: CheckReport) -> Plain:
    """The same of a check: an outcome as that of an audit, with the names of broken laws."""
    names = ", ".join(result.law.name for result in report.failed)
    return {
        "kind": "check",
        "outcome": "violated" if report.failed else "holds",
        "reason": f"broken laws: {names}" if names else "no law is broken",
        "baseline": check_baseline_of(report.plain()).plain(),
    }


def _key(options: Any) -> DigestKey | None:
    path = options.harness_baseline_key
    return find_key(None if path is None else Path(path))


def closing_lines(found: Sequence[Plain], options: Any) -> Iterator[str]:
    """What is said, and written, when all tests have run."""
    for kind in ("audit", "check"):
        if mine := [one for one in found if one["kind"] == kind]:
            held = sum(one["outcome"] == "holds" for one in mine)
            yield f"{counted(len(mine), kind)}: {held} hold, {len(mine) - held} do not"
    for one in found:
        if one["outcome"] != "holds":
            yield printable(f"{one['outcome'].upper()} {one['name']}: {one['reason']}")
    if options.harness_baseline and options.harness_update_baseline:
        yield update_baseline(found, Path(options.harness_baseline), _key(options))
    show_outcomes(OutcomeList("harness in pytest", tuple(map(_outcome, found))))


def update_baseline(found: Sequence[Plain], path: Path, key: DigestKey | None) -> str:
    """Write audits and checks to the file, beside those of tests that did not run; says what was done."""
    audits = {one["name"]: AuditBaseline.from_plain(one["baseline"]) for one in found if one["kind"] == "audit"}
    checks = {one["name"]: CheckBaseline.from_plain(one["baseline"]) for one in found if one["kind"] == "check"}
    recorded = recorded_now(versions(), path.resolve().parent)
    extended = baseline_to_extend(path, key).with_audits(audits, recorded).with_checks(checks, recorded)
    write_baseline(extended, path)
    persons = "" if key is not None or not audits else "; without a key it holds no persons: see --harness-baseline-key"
    written = [counted(len(some), kind) for some, kind in ((audits, "audit"), (checks, "check")) if some]
    return f"{path}: {' and '.join(written)} written{persons}"


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
