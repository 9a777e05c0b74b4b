"""A comparison with a baseline as lines for a terminal, and as named outcomes for CI."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from harness.analysis.person_digest import DigestKey
from harness.analysis.regression import PERSON, Change, Comparison, Judged
from harness.render.outcomes import Location, NamedOutcome, OutcomeList
from harness.render.text import counted, printable
from harness.report import Report
from harness.vocabulary.persons import RowNames

MOST_LINES = 10  # of each kind


def persons_by_digest(report: Report, key: DigestKey | None) -> dict[str, str]:
    """Where each examined person stands in the source, by the digest that a baseline has of her; none without a key."""
    if key is None:
        return {}
    names = RowNames(**report.plain["plan"]["data"]["source"])
    return {key.person(finding.rows): names.in_source(finding.rows) for finding in report.all_findings()}


def comparison_lines(comparison: Comparison, persons: Mapping[str, str] = MappingProxyType({})) -> Iterator[str]:
    """What fails first, then what is accepted or known, then what got better; `persons` says who a digest is."""
    failing = [f"{_shown(one.change, persons)} ({one.reason})" for one in comparison.failing]
    passing = [one for one in comparison.judged if not one.fails]
    accepted = [f"{_shown(one.change, persons)} ({one.reason})" for one in passing if one.acceptance is not None]
    known = [f"{one.change.finding}: {one.change.after}" for one in passing if one.acceptance is None]
    yield from _listed("FAILS", failing)
    yield from _listed("accepted", accepted)
    yield from _listed("as bad as in the baseline", known)
    yield from _listed("better", [_shown(one, persons) for one in comparison.better])
    changed, same = ("changed, which may be chance", "not worse by more than chance")
    if comparison.exact:
        changed, same = "changed, neither better nor worse", "the same"
    yield from _listed(changed, [_shown(one, persons) for one in comparison.changed])
    yield f"{same}: {counted(comparison.same, 'finding')}"
    unused = [f"{one.finding} (until {one.until}: {one.reason})" for one in comparison.unused]
    yield from _listed("accepted, but not there any more; take it out of the file", unused)
    if comparison.persons_left_out:
        yield "persons were not compared: the key of their digests is not here (--key, or the environment variable)"
    if comparison.not_compared:
        yield f"not compared: {counted(comparison.not_compared, 'digest')} of persons that only one of the two has"


def _shown(change: Change, persons: Mapping[str, str]) -> str:
    """A change, with the rows of the person where it is about one and they are known."""
    kind, _, rest = change.finding.partition("/")
    rows = persons.get(rest.partition("/")[0]) if kind == PERSON else None
    return str(change) if rows is None else f"{change}; this person is {rows}"


def _listed(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f"{title}: {len(lines):,}"
        yield from (f"  {printable(line)}" for line in lines[:MOST_LINES])
    if len(lines) > MOST_LINES:
        yield f"  … and {len(lines) - MOST_LINES} more"


def recorded_in_words(recorded: Mapping[str, Any]) -> str:
    """What a baseline was recorded with, in one line."""
    versions = recorded.get("versions", {})
    version = versions.get("anonymizer-harness", "?") if isinstance(versions, Mapping) else "?"
    commit = str(recorded.get("commit") or "unknown")[:12]
    return printable(f"recorded {recorded.get('date', '?')}, commit {commit}, harness {version}")


def comparison_outcomes(comparison: Comparison, location: Location | None = None) -> OutcomeList:
    """The same for CI: one outcome for each finding that fails, is accepted or known, and one that nothing fails."""
    outcomes = [_outcome(one, location) for one in comparison.judged]
    if not comparison.failing:
        better = counted(len(comparison.better), "finding")
        outcomes.append(NamedOutcome("baseline/not-worse", "passed", f"not worse than the baseline; {better} better"))
    return OutcomeList(f"harness baseline {comparison.audit}", tuple(outcomes))


def _outcome(one: Judged, location: Location | None) -> NamedOutcome:
    change: Change = one.change
    return NamedOutcome(
        name=f"baseline/{change.finding}",
        result="failed" if one.fails else "passed",
        message=f"{change} ({one.reason})",
        location=location,
        describes=f"{change.finding.partition('/')[0]} compared with the baseline",
    )
