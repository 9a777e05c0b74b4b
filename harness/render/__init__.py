"""Reports for people and machines. Each module reads the plain data of report.json and nothing else.

`RENDERERS` is the list of formats: `Report.render(name)` and `harness report --format name` know no other.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.vocabulary.errors import InputError, did_you_mean

Plain = Mapping[str, Any]


@dataclass(frozen=True)
class Beside:
    """What a page may show beside the report; what the report itself reveals is decided before."""

    records: Mapping[int, Sequence[Plain]] = field(default_factory=dict)  # raw rows by person, where they are at hand
    run: Plain | None = None  # the content of run.json: calls, seconds, versions; nothing proves it
    certificate: Plain | None = None  # the content of certificate.json: the test report


@dataclass(frozen=True)
class Renderer:
    """A format of reports."""

    describes: str
    render: Callable[[Plain, Beside], str]


def _text(report: Plain, beside: Beside) -> str:
    from harness.render.text import summary  # when it is used: a list of formats should cost nothing

    return summary(report, beside.records) + "\n"


def _details(report: Plain, _: Beside) -> str:
    from harness.render.details import details

    return details(report) + "\n"


def _html(report: Plain, beside: Beside) -> str:
    from harness.render.html import page

    return page(report, beside)


def _markdown(report: Plain, _: Beside) -> str:
    from harness.render.markdown import markdown

    return markdown(report)


def _certificate(_: Plain, beside: Beside) -> str:
    from harness.render.certificate import text

    if beside.certificate is None:
        raise InputError("there is no certificate.json beside the report; a finished `harness run` writes it")
    return text(beside.certificate) + "\n"


def _json(report: Plain, _: Beside) -> str:
    return json.dumps(report, allow_nan=False) + "\n"


def _junit(report: Plain, _: Beside) -> str:
    from harness.render.junit import junit
    from harness.render.outcomes import outcomes_of_report

    return junit(outcomes_of_report(report))


def _sarif(report: Plain, _: Beside) -> str:
    from harness.render.outcomes import outcomes_of_report
    from harness.render.sarif import sarif

    return sarif(outcomes_of_report(report))


def _badge(report: Plain, _: Beside) -> str:
    from harness.render.badge import badge

    return badge(report)


RENDERERS: dict[str, Renderer] = {
    "text": Renderer("the summary of one screen", _text),
    "details": Renderer("all numbers, notices and assumptions", _details),
    "html": Renderer("a page for a browser, with figures, and for print", _html),
    "md": Renderer("Markdown, for an issue or a merge request", _markdown),
    "certificate": Renderer("the test report: who, what, how, risks, limits, digests", _certificate),
    "json": Renderer("the content of report.json", _json),
    "junit": Renderer("test results for CI servers, as JUnit XML", _junit),
    "sarif": Renderer("alerts for code hosts, as SARIF 2.1.0", _sarif),
    "badge": Renderer("the verdict as an endpoint file of shields.io", _badge),
}


def render(report: Plain, name: str, beside: Beside | None = None) -> str:
    """The plain data of a report in the format of this name."""
    if name not in RENDERERS:
        raise InputError(f"format {name!r} is not known; {did_you_mean(str(name), RENDERERS)}")
    return RENDERERS[name].render(report, beside or Beside())
