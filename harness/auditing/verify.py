"""What a journal proves by itself: its chain, its findings, the verdict. Asks no oracle and needs no data."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.auditing.finding import Finding
from harness.auditing.journal import entries
from harness.auditing.plan import Claim
from harness.auditing.select import Course
from harness.auditing.verdict import Verdict, judge
from harness.vocabulary.errors import JournalError


def verified(journal: Path, report: Path | None = None) -> Verdict:
    """The verdict that follows from a journal whose chain is whole; a report beside it must say the same."""
    owner, *said = entries(journal)
    course = next((Course.from_entry(entry["course"]) for entry in said if "course" in entry), None)
    if course is None:
        raise JournalError(f"{journal}: the audit had not begun to examine records; run it again to go on")
    findings = _findings(course, [Finding.from_entry(entry["finding"]) for entry in said if "finding" in entry])
    missing = len(course.targets) - len(findings)
    if missing or not any("closing" in entry for entry in said):
        raise JournalError(
            f"{journal}: the audit is not finished, {missing} records are missing; run it again to go on"
        )
    plan = owner["plan"]
    claim, population = Claim(**plan["claim"]), plan["data"]["records"]
    coupled = next(entry["opening"]["coupled"] for entry in reversed(said) if "opening" in entry)
    verdict = judge(findings, claim, population, exact=course.exact, coupled=coupled, random=course.random)
    if report is not None:
        _compare(report, verdict, findings)
    return verdict


def _findings(course: Course, measured: list[Finding]) -> list[Finding]:
    """One finding per target: looks put together, twins counted as many."""
    latest: dict[int, Finding] = {}
    for finding in sorted(measured, key=lambda finding: finding.look):
        latest[finding.index] = finding.after(latest.get(finding.index))
    spoken_for = [replace(found, index=index) for found in latest.values() for index in course.alike(found.index)]
    return sorted(spoken_for, key=lambda finding: finding.index)


def _compare(report: Path, verdict: Verdict, findings: list[Finding]) -> None:
    """Every number of the report that the journal can prove."""
    try:
        told: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
        claims = {key: told["verdict"][key] for key in ("outcome", "epsilon", "witness", "reason")}
        numbers = [[each[key] for key in ("index", "distance", "lower", "upper")] for each in told["findings"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise JournalError(f"{report}: cannot be read as a report: {error}") from None
    proven = {key: getattr(verdict, key) for key in claims}
    for key in claims:
        if claims[key] != proven[key]:
            raise JournalError(f"{report}: its {key} is {claims[key]}, but the journal proves {proven[key]}")
    measured = [[finding.index, finding.distance, finding.lower, finding.upper] for finding in findings]
    for line, known in zip(numbers, measured, strict=False):
        if line != known:
            raise JournalError(f"{report}: the finding of record {known[0]} is not what the journal holds")
    if len(numbers) != len(measured):
        raise JournalError(f"{report}: has {len(numbers)} findings, the journal {len(measured)}")
