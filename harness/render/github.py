"""What a job of GitHub Actions shows of named outcomes: annotations, and the summary of the step.

A line of output that begins with `::` is a command to the runner (and so is `##[` anywhere in it), so that whatever an
anonymizer or its data can write into our output is escaped here. Knows named outcomes, nothing of audits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from harness.render.outcomes import Location, NamedOutcome, OutcomeList
from harness.render.text import printable

COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}
MOST_BYTES = 900_000  # of a summary; GitHub refuses one of more than 1 MiB
SIGNS = {"passed": "✅ passed", "failed": "❌ failed", "inconclusive": "❔ inconclusive", "skipped": "skipped"}


def is_github(environment: Mapping[str, str]) -> bool:
    """Whether this is a job of GitHub Actions."""
    return environment.get("GITHUB_ACTIONS") == "true"


def annotations_of(outcomes: OutcomeList) -> Iterator[str]:
    """One command to the runner for each outcome that failed or proved nothing."""
    for one in outcomes.outcomes:
        if one.result in ("failed", "inconclusive"):
            yield annotation(one.severity, f"{outcomes.title}: {one.name}", one.message, one.location)


def annotation(severity: str, title: str, message: str, location: Location | None = None) -> str:
    """The command that shows a message at a place, in one line."""
    properties = {"title": title}
    if location is not None:
        properties = {"file": location.file, **properties}
        if location.line is not None:
            properties["line"] = str(location.line)
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{COMMANDS[severity]} {listed}::{_data(message)}"


def _data(text: str) -> str:
    """Text behind `::` as the runner reads it back."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A").replace("##[", "# #[")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def inert(text: str) -> str:
    """Text for the output of a job that the runner cannot take for a command."""
    lines = (re.sub(r"^(\s*)::", r"\1: :", line) for line in text.split("\n"))
    return "\n".join(lines).replace("##[", "# #[")


def inert_json(text: str) -> str:
    """The same for JSON in one line, whose meaning stays: only a text in it can hold these signs."""
    return text.replace("##[", "##\\u005b")


def step_summary(outcomes: OutcomeList) -> str:
    """A table of all outcomes in Markdown, with the messages of those that did not pass."""
    lines = [f"### {_cell(outcomes.title)}", "", "| | result | message |", "|---|---|---|"]
    lines += [f"| {_cell(one.name)} | {SIGNS[one.result]} | {_cell(one.message)} |" for one in outcomes.outcomes]
    for one in outcomes.outcomes:
        lines += _more(one)
    if outcomes.facts:
        lines += ["", " · ".join(f"{_cell(name)}: {_cell(value)}" for name, value in outcomes.facts.items())]
    return _bounded("\n".join(lines) + "\n")


def _more(one: NamedOutcome) -> Iterator[str]:
    if one.details and one.result != "passed":
        yield ""
        yield f"<details><summary>{_cell(one.name)}</summary>"
        yield ""
        yield from (f"- {_cell(line)}" for line in one.details)
        yield ""
        yield "</details>"


def _cell(text: str) -> str:
    """Text in Markdown that is text only: no tag, link, image, mention, table cell or code."""
    return re.sub(r"[&<>|`*_\[\]()!#@~:\\]", lambda sign: f"&#{ord(sign[0])};", printable(text))


def _bounded(text: str) -> str:
    if len(text.encode()) <= MOST_BYTES:
        return text
    return text.encode()[:MOST_BYTES].decode(errors="ignore") + "\n\n… cut: the summary is too long\n"
