"""Outcomes as JUnit XML, which every CI server reads. Knows named outcomes, nothing of audits.

What failed is a `failure`; what proved nothing is an `error`, so that no CI server shows it as passed.
"""

from __future__ import annotations

from xml.etree import ElementTree

from harness.render.outcomes import NamedOutcome, OutcomeList
from harness.render.text import printable

ELEMENTS = {"failed": "failure", "inconclusive": "error", "skipped": "skipped"}


def junit(outcomes: OutcomeList) -> str:
    """The whole file. Signs that XML cannot hold, such as those that move a cursor, are written as escapes."""
    root = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(root, "testsuite", _counts(outcomes))
    if outcomes.facts:
        properties = ElementTree.SubElement(suite, "properties")
        for name, value in outcomes.facts.items():
            ElementTree.SubElement(properties, "property", {"name": name, "value": printable(value)})
    for one in outcomes.outcomes:
        _add_case(suite, outcomes.title, one)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=False).join(
        ('<?xml version="1.0" encoding="UTF-8"?>\n', "\n")
    )


def _counts(outcomes: OutcomeList) -> dict[str, str]:
    return {
        "name": printable(outcomes.title),
        "tests": str(len(outcomes.outcomes)),
        "failures": str(outcomes.count("failed")),
        "errors": str(outcomes.count("inconclusive")),
        "skipped": str(outcomes.count("skipped")),
        "time": _seconds(sum(one.seconds or 0.0 for one in outcomes.outcomes)),
    }


def _add_case(suite: ElementTree.Element, title: str, one: NamedOutcome) -> None:
    group, _, name = one.name.partition("/")
    attributes = {"classname": printable(f"{title}.{group}"), "name": printable(name or group)}
    case = ElementTree.SubElement(suite, "testcase", {**attributes, "time": _seconds(one.seconds or 0.0)})
    text = "\n".join(printable(line) for line in (one.message, *one.details))
    if one.result == "passed":
        ElementTree.SubElement(case, "system-out").text = text
        return
    kind = {"message": printable(one.message), "type": one.result}
    if one.result == "skipped":
        del kind["type"]
    ElementTree.SubElement(case, ELEMENTS[one.result], kind).text = text


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f}"
