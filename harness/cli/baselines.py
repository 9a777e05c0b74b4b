"""The commands of a baseline: save, compare, accept."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path

from harness.analysis.baseline import baseline_of
from harness.analysis.baseline_file import Acceptance, Baseline, baseline_to_extend, read_baseline, write_baseline
from harness.analysis.check_baseline import CheckBaseline, is_check, read_check
from harness.analysis.person_digest import VARIABLE, DigestKey, create_key, find_key
from harness.analysis.recorded import recorded_now
from harness.analysis.regression import (
    PERSON,
    Comparison,
    Judged,
    compare_check_with_baseline,
    compare_with_baseline,
)
from harness.analysis.regression_text import (
    comparison_lines,
    comparison_outcomes,
    persons_by_digest,
    recorded_in_words,
)
from harness.api import open_oracle, oracle_log, run_audit, versions
from harness.auditing.config import load
from harness.auditing.folder import REPORT, RUN
from harness.cli import allow_imports_beside, tell
from harness.github_job import print_result, show_outcomes
from harness.render.outcomes import Location
from harness.render.text import counted, printable
from harness.report import Report
from harness.vocabulary.errors import InputError, nearest

WORSE = 1  # the exit code


def save(chosen: argparse.Namespace) -> int:
    """Write a baseline file, or put another audit into it."""
    if chosen.key is not None and not chosen.key.exists():
        create_key(chosen.key)
        tell(f"a new key is in {chosen.key}; keep it, and keep it out of the repository")
    key = find_key(chosen.key)
    if is_check(chosen.audit):
        return _save_check(chosen, key)
    found = baseline_of(_report(chosen.audit), key, _laws(chosen))
    baseline = baseline_to_extend(chosen.output, key)
    if chosen.tolerance is not None:
        if not 0 <= chosen.tolerance < float("inf"):
            raise InputError(f"--tolerance {chosen.tolerance:g}: expected 0 or a number above it")
        baseline = replace(baseline, tolerance=chosen.tolerance)
    recorded = recorded_now(_versions(chosen.audit), Path.cwd())
    write_baseline(baseline.with_audits({chosen.name: found}, recorded), chosen.output)
    persons = sum(len(one.persons or {}) for one in found.results.values())
    print(f"{chosen.output}: audit {chosen.name!r} saved with {counted(persons, 'digest')} of persons")
    if key is None:
        tell(
            f"without a key the baseline holds no persons, only numbers over all of them; set {VARIABLE}, or give "
            "--key FILE, which creates a random key, to compare person by person"
        )
    return 0


def _save_check(chosen: argparse.Namespace, key: DigestKey | None) -> int:
    baseline, found = baseline_to_extend(chosen.output, key), _check_of(chosen)
    recorded = recorded_now(versions(), Path.cwd())
    write_baseline(baseline.with_checks({chosen.name: found}, recorded), chosen.output)
    print(f"{chosen.output}: check {chosen.name!r} saved with {counted(len(found.laws), 'law')}")
    return 0


def _check_of(chosen: argparse.Namespace) -> CheckBaseline:
    if chosen.check is not None:
        raise InputError(f"--check {chosen.check} goes with an audit, and {chosen.audit} is a check itself")
    return read_check(chosen.audit)


def compare(chosen: argparse.Namespace) -> int:
    """What got better or worse since the baseline; 1 if something got worse and is not accepted."""
    baseline, comparison, persons = _compared(chosen)
    lines = [
        *comparison_lines(comparison, persons),
        f"baseline {chosen.baseline}: {recorded_in_words(baseline.recorded)}",
    ]
    verdict = "WORSE than the baseline" if comparison.failing else "NOT WORSE than the baseline"
    print_result("\n".join([verdict, *lines]) + "\n")
    show_outcomes(comparison_outcomes(comparison, Location(str(chosen.baseline))))
    return WORSE if comparison.failing else 0


def accept(chosen: argparse.Namespace) -> int:
    """Accept findings by name, with a reason, until a date."""
    until = _date(chosen.until)
    if not chosen.reason.strip():
        raise InputError("--reason is empty; say why the finding is accepted, for whoever reviews the file")
    baseline, comparison, _ = _compared(chosen)
    accepted = [one.change for one in _matching(chosen.finding, comparison)]
    for change in accepted:
        acceptance = Acceptance(comparison.audit, change.finding, chosen.reason, until, change.worst)
        baseline = baseline.with_accepted(acceptance)
    write_baseline(baseline, chosen.baseline)
    print("\n".join(printable(f"accepted until {until}: {change}") for change in accepted))
    return 0


def _date(text: str) -> date:
    try:
        until = date.fromisoformat(text)
    except ValueError:
        raise InputError(f"--until {text!r}: expected a date such as 2027-01-31") from None
    if until < date.today():
        raise InputError(f"--until {text}: that day has passed")
    return until


def _matching(pattern: str, comparison: Comparison) -> Sequence[Judged]:
    """The findings of this name; `*` stands for any part of it."""
    matching = [one for one in comparison.judged if fnmatchcase(one.change.finding, pattern)]
    if not matching and comparison.persons_left_out and fnmatchcase(PERSON, pattern.partition("/")[0]):
        raise InputError(
            f"{pattern!r} names a person, and persons cannot be compared without the key of their digests: give --key "
            f"FILE, or set the environment variable {VARIABLE}, with the key that the baseline was saved with"
        )
    if not matching:
        near = nearest(pattern, [one.change.finding for one in comparison.judged])
        raise InputError(
            f"there is no finding {pattern!r} to accept; {near}`harness baseline compare` names those that are worse "
            "than the baseline, or as bad as in it"
        )
    return matching


def _compared(chosen: argparse.Namespace) -> tuple[Baseline, Comparison, dict[str, str]]:
    """The baseline, what became of the audit since, and who the digests of persons are."""
    if chosen.baseline.is_dir() or chosen.baseline.suffix == ".toml":
        raise InputError(f"{chosen.baseline} is not a baseline file; the audit comes first and the baseline second")
    baseline, key = read_baseline(chosen.baseline), find_key(chosen.key)
    baseline.require_no_other_key(key)
    if is_check(chosen.audit):
        return baseline, compare_check_with_baseline(baseline, chosen.name, _check_of(chosen), date.today()), {}
    baseline.audit(chosen.name)  # a wrong name is told before the audit runs
    report = _report(chosen.audit)
    compared = compare_with_baseline(baseline, chosen.name, baseline_of(report, key, _laws(chosen)), date.today())
    return baseline, compared, persons_by_digest(report, key)


def _laws(chosen: argparse.Namespace) -> Mapping[str, str]:
    """The outcomes of the check that goes with an audit."""
    return {} if chosen.check is None else read_check(chosen.check).laws


def _report(audit: Path) -> Report:
    """Of a finished audit in a folder; an audit.toml is run first, and nothing of it is kept."""
    if audit.suffix != ".toml":
        return Report.load(audit / REPORT if audit.is_dir() else audit)
    allow_imports_beside(audit)
    file = load(audit)
    with oracle_log(None) as log:
        oracle, source = open_oracle(file, log)
        return run_audit(file.plan, oracle, file.workers, source=source)


def _versions(audit: Path) -> Mapping[str, str]:
    """What the numbers were computed with: as run.json beside them says, else as of now."""
    try:
        kept = json.loads((audit / RUN).read_text(encoding="utf-8"))["versions"]
        return {str(name): str(version) for name, version in kept.items()}
    except (OSError, ValueError, KeyError, AttributeError, TypeError):  # no folder, or one without it
        return versions()
