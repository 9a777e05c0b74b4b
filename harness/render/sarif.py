"""Outcomes as SARIF 2.1.0, which code hosts show as alerts. Knows named outcomes, nothing of audits.

Every name is a rule; what failed is a result of kind `fail`, what proved nothing one of kind `open` (section 3.27.9).
What passed is no result, because some readers show every result as an alert. GitHub requires a full description and
a help text of every rule, and a location of every result that it is to show.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from harness.render.outcomes import Location, NamedOutcome, OutcomeList
from harness.render.text import printable

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
KINDS = {"failed": "fail", "inconclusive": "open"}

Plain = dict[str, Any]


def sarif(outcomes: OutcomeList) -> str:
    """The whole file."""
    reported = [(number, one) for number, one in enumerate(outcomes.outcomes) if one.result in KINDS]
    run = {
        "tool": {"driver": {"name": outcomes.title, "rules": [_rule(one) for one in outcomes.outcomes]}},
        "invocations": [{"executionSuccessful": True}],
        "results": [_result(number, one) for number, one in reported],
        "properties": {name: printable(value) for name, value in outcomes.facts.items()},
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _rule(one: NamedOutcome) -> Plain:
    described = {name: {"text": _text(one.describes or one.name)} for name in ("shortDescription", "fullDescription")}
    help_text = {"text": _text(one.explains or one.describes or one.name)}
    level = {"level": one.severity}
    return {"id": printable(one.name), **described, "help": help_text, "defaultConfiguration": level}


def _result(number: int, one: NamedOutcome) -> Plain:
    kind = KINDS[one.result]
    located = {"locations": [_location(one.location)]} if one.location is not None else {}
    return {
        "ruleId": printable(one.name),
        "ruleIndex": number,
        "kind": kind,
        "level": one.severity if kind == "fail" else "none",  # section 3.27.10: only a failure has a level
        "message": {"text": "\n".join(_text(line) for line in (one.message, *one.details))},
        **located,
        "partialFingerprints": {"outcomeName/v1": printable(one.name)},  # the same alert from run to run
    }


def _location(location: Location) -> Plain:
    region = {} if location.line is None else {"region": {"startLine": max(1, location.line)}}
    address = quote(printable(location.file).replace("\\", "/"), safe="/._-~")
    return {"physicalLocation": {"artifactLocation": {"uri": address}, **region}}


def _text(text: str) -> str:
    """Text as it is: brackets would be a link and braces a placeholder (sections 3.11.5 and 3.11.6)."""
    plain = printable(text)
    for sign in "\\[]":
        plain = plain.replace(sign, f"\\{sign}")
    return plain.replace("{", "{{").replace("}", "}}")
