"""Named outcomes: what audits, checks and baselines have in common for whoever reads test results.

JUnit, SARIF and the annotations of GitHub are written from this value, so that every kind of report is rendered by the
same code. Knows the plain data of report.json; names no sensitive value and shows no raw row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from harness.render.not_measured import not_measured
from harness.render.text import brief
from harness.vocabulary.persons import RowNames

Result = Literal["passed", "failed", "inconclusive", "skipped"]
Severity = Literal["error", "warning", "note"]
RESULTS: dict[str, Result] = {"holds": "passed", "violated": "failed", "inconclusive": "inconclusive"}
SEVERITIES: dict[Result, Severity] = {"passed": "note", "failed": "error", "inconclusive": "warning", "skipped": "note"}

Plain = Mapping[str, Any]


@dataclass(frozen=True)
class Location:
    """A file, as a path relative to where the command runs, and a line of it (from 1)."""

    file: str
    line: int | None = None


@dataclass(frozen=True)
class NamedOutcome:
    """One thing that was tested: its stable name, what came of it, and why."""

    name: str  # the same from run to run, such as audit/tf-tf-bernoulli/occupation
    result: Result
    message: str  # one paragraph
    severity: Severity = "error"  # of a failure; what passed has none
    location: Location | None = None
    details: tuple[str, ...] = ()  # further lines, for whoever wants to know more
    describes: str = ""  # what the name stands for, whatever came of it
    seconds: float | None = None
    explains: str = ""  # why that matters, or what to do where it failed


@dataclass(frozen=True)
class OutcomeList:
    """All outcomes of one run, with what is true of all of them."""

    title: str  # such as "harness audit"
    outcomes: tuple[NamedOutcome, ...]
    facts: Mapping[str, str] = field(default_factory=dict)  # such as the digest of the plan

    def count(self, result: Result) -> int:
        """How many outcomes have this result."""
        return sum(one.result == result for one in self.outcomes)


def slug(text: str) -> str:
    """A name as one word of lower-case letters, digits and hyphens: for names of findings."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "unnamed"


def pair_names(pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """A name `adversary/secret` for each pair of adversary and secret; equal ones are numbered."""
    names: dict[tuple[str, str], str] = {}
    for adversary, secret in pairs:
        name = wanted = f"{slug(adversary)}/{slug(secret)}"
        number = 1
        while name in names.values():
            number += 1
            name = f"{wanted}-{number}"
        names[adversary, secret] = name
    return names


def outcomes_of_report(report: Plain) -> OutcomeList:
    """The outcomes of an audit: one for each adversary and secret."""
    names = pair_names((result["adversary"], result["secret"]) for result in report["results"])
    card, claim = report["oracle"]["card"], report["plan"]["claim"]
    facts = {
        "oracle": f"{card['name']} {card['version']}".rstrip(),
        "claim": f"epsilon = {claim['epsilon']:g}, delta = {claim['delta']:g}, confidence = {claim['confidence']:g}",
        "seed": str(report["plan"]["seed"]),
        "plan_digest": report["plan_digest"],
    }
    outcomes = tuple(
        _outcome_of_result(report, result, names[result["adversary"], result["secret"]]) for result in report["results"]
    )
    return OutcomeList("harness audit", outcomes, facts)


def _outcome_of_result(report: Plain, result: Plain, name: str) -> NamedOutcome:
    verdict = result["verdict"]
    outcome = RESULTS[verdict["outcome"]]
    return NamedOutcome(
        name=f"audit/{name}",
        result=outcome,
        message=f"{verdict['outcome'].upper()}: {verdict['reason']}",
        severity=SEVERITIES[outcome],
        location=_witness(report, verdict),
        details=(*_numbers(report, verdict), *(f"noticed: {note}" for note in report["notes"])),
        describes=f"how far a person's own rows move what {result['adversary']} infers about {result['secret']}",
        explains="A person whose own rows move it far is told apart by the release; report.html shows how.",
    )


def _numbers(report: Plain, verdict: Plain) -> Iterator[str]:
    yield f"largest distance: at least {brief(verdict['at_least'])}, at most {brief(verdict['at_most'])}"
    yield f"examined: {verdict['examined']} of {verdict['population']}"
    if missing := not_measured(report):
        yield f"not measured: {missing}"


def _witness(report: Plain, verdict: Plain) -> Location | None:
    """Where the witness stands in the data, where that is a file with lines."""
    rows = RowNames(**report["plan"]["data"]["source"])
    if rows.file is None or rows.kind != "line" or not verdict["rows"]:
        return None
    return Location(rows.file, int(verdict["rows"][0]))
