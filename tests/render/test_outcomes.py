"""Outcomes in the forms that CI reads: JUnit, SARIF, GitHub, a badge. Hostile names are text everywhere."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

import harness
from harness.render.github import annotation, annotations_of, inert, inert_json, step_summary
from harness.render.junit import junit
from harness.render.outcomes import Location, NamedOutcome, OutcomeList, outcomes_of_report, pair_names
from harness.render.sarif import sarif
from tests.small_audits import audit

HOSTILE = (
    "]]></failure><x y='1'>&amp;\x1b[31m\x00\ud800 ##[error]a\n::error::b\r%0A`|[click](http://e.example){0}\u202e"
)

# The parts of SARIF 2.1.0 (sections 3.13 to 3.28) that are written here, with what the standard requires of them.
SARIF: dict[str, Any] = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["tool", "results"],
                "properties": {
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "type": "object",
                                "required": ["name"],
                                "properties": {
                                    "rules": {
                                        "type": "array",
                                        "uniqueItems": True,
                                        "items": {
                                            "type": "object",
                                            "required": ["id", "fullDescription", "help"],  # the last two by GitHub
                                            "properties": {
                                                "shortDescription": {"type": "object", "required": ["text"]},
                                                "fullDescription": {"type": "object", "required": ["text"]},
                                                "help": {"type": "object", "required": ["text"]},
                                                "defaultConfiguration": {
                                                    "properties": {
                                                        "level": {"enum": ["none", "note", "warning", "error"]}
                                                    }
                                                },
                                            },
                                        },
                                    }
                                },
                            }
                        },
                    },
                    "invocations": {"type": "array", "items": {"required": ["executionSuccessful"]}},
                    "results": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["message", "ruleId"],
                            "properties": {
                                "kind": {"enum": ["notApplicable", "pass", "fail", "review", "open", "informational"]},
                                "level": {"enum": ["none", "note", "warning", "error"]},
                                "ruleIndex": {"type": "integer", "minimum": 0},
                                "message": {"type": "object", "required": ["text"]},
                                "locations": {
                                    "items": {
                                        "properties": {
                                            "physicalLocation": {
                                                "required": ["artifactLocation"],
                                                "properties": {
                                                    "region": {
                                                        "properties": {"startLine": {"type": "integer", "minimum": 1}}
                                                    },
                                                    "artifactLocation": {
                                                        "properties": {"uri": {"pattern": r"^[A-Za-z0-9%/._~-]+$"}}
                                                    },
                                                },
                                            }
                                        }
                                    }
                                },
                            },
                        },
                    },
                },
            },
        },
    },
}


@cache
def identity() -> harness.Report:
    return audit(lambda frame: frame)


@cache
def suppressed() -> harness.Report:
    return audit(lambda frame: frame.assign(age="*", sex="*"), epsilon=0.5)


def outcomes(text: str = "fine", *results: str) -> OutcomeList:
    """One outcome of each result, with this text wherever somebody else can write."""
    kinds: Any = results or ("passed", "failed", "inconclusive", "skipped")
    place = Location(f"{text}.csv", 3)
    listed = tuple(
        NamedOutcome(f"{kind}/{text}", kind, text, "error", place, (text, text), text, 0.5, text) for kind in kinds
    )
    return OutcomeList(f"suite {text}", listed, {"oracle": text})


def test_a_report_has_one_outcome_for_each_adversary_and_secret() -> None:
    (one,) = outcomes_of_report(identity().plain).outcomes
    assert (one.name, one.result, one.severity) == ("audit/bernoulli-on-tf-tf/ill", "failed", "error")
    assert one.message == str(identity().verdict)
    (one,) = outcomes_of_report(suppressed().plain).outcomes
    assert (one.result, one.severity) == ("passed", "note")


def test_no_sensitive_value_is_among_the_outcomes_of_a_report() -> None:
    shown = repr(outcomes_of_report(identity().plain)) + identity().render("junit") + identity().render("sarif")
    assert not re.search(r"flu|ulcer|none\b", shown.replace('"none"', ""))


def test_names_of_pairs_are_unique_words() -> None:
    names = pair_names([("a b", "x"), ("a-b", "x"), ("A B", "x"), ("é", "")])
    assert list(names.values()) == ["a-b/x", "a-b/x-2", "a-b/x-3", "unnamed/unnamed"]


def test_junit_counts_what_failed_and_what_proved_nothing() -> None:
    suite = ElementTree.fromstring(junit(outcomes())).find("testsuite")
    assert suite is not None
    counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped", "time")}
    assert counts == {"tests": "4", "failures": "1", "errors": "1", "skipped": "1", "time": "2.000"}
    children = {case.get("classname"): [part.tag for part in case] for case in suite.iter("testcase")}
    assert children == {
        "suite fine.passed": ["system-out"],
        "suite fine.failed": ["failure"],
        "suite fine.inconclusive": ["error"],
        "suite fine.skipped": ["skipped"],
    }


def test_junit_of_a_violated_audit_names_the_witness() -> None:
    (failure,) = ElementTree.fromstring(identity().render("junit")).iter("failure")
    assert failure.get("message") == str(identity().verdict)


@given(st.text(st.characters(), max_size=30))
def test_any_text_is_well_formed_xml_and_stays_text(text: str) -> None:
    root = ElementTree.fromstring(junit(outcomes(text)).encode())
    assert {part.tag for part in root.iter()} <= {
        "testsuites", "testsuite", "properties", "property", "testcase", "system-out", "failure", "error", "skipped",
    }  # fmt: skip


@pytest.mark.parametrize("make", [outcomes, lambda text="": outcomes_of_report(identity().plain)])
def test_sarif_is_as_its_standard_requires(make: Callable[..., OutcomeList]) -> None:
    for listed in (make(), make(HOSTILE)):
        content = json.loads(sarif(listed))
        jsonschema.Draft202012Validator(SARIF).validate(content)
        (run,) = content["runs"]
        rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
        assert all(rules[result["ruleIndex"]] == result["ruleId"] for result in run["results"])


def test_sarif_reports_what_did_not_pass_and_only_failures_have_a_level() -> None:
    results = json.loads(sarif(outcomes()))["runs"][0]["results"]
    assert [(one["kind"], one["level"]) for one in results] == [("fail", "error"), ("open", "none")]


def test_a_link_or_a_placeholder_in_sarif_is_text() -> None:
    (result,) = json.loads(sarif(outcomes(HOSTILE, "failed")))["runs"][0]["results"]
    text = result["message"]["text"]
    assert r"\[click\](http" in text
    assert "{{0}}" in text
    assert "\x1b" not in text


def parsed(command: str) -> tuple[str, dict[str, str], str]:
    """A command as the runner of GitHub reads it: unescaped, `%25` last."""

    def data(text: str) -> str:
        return text.replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")

    match = re.fullmatch(r"::(\w+) (.*?)::(.*)", command)
    assert match, command
    pairs = [pair.split("=", 1) for pair in match[2].split(",")]
    values = {name: data(value.replace("%3A", ":").replace("%2C", ",")) for name, value in pairs}
    return match[1], values, data(match[3])


@given(st.text(max_size=40))
def test_the_runner_reads_back_from_an_annotation_what_was_written(text: str) -> None:
    text = text.replace("##[", "")
    line = annotation("warning", text, text, Location(text, 7))
    assert "\n" not in line
    assert "\r" not in line
    assert parsed(line) == ("warning", {"file": text, "title": text, "line": "7"}, text)


def test_only_what_did_not_pass_is_annotated() -> None:
    listed = OutcomeList("suite", (NamedOutcome("a", "passed", ""), NamedOutcome("b", "failed", "no", "error")))
    assert [*annotations_of(listed)] == ["::error title=suite%3A b::no"]


def test_of_many_failures_the_first_are_annotated() -> None:
    many = tuple(NamedOutcome(f"{number}", "failed", "no") for number in range(99))
    lines = [*annotations_of(OutcomeList("suite", many))]
    assert lines == [f"::error title=suite%3A {number}::no" for number in range(10)]


@given(st.text(max_size=40))
def test_no_line_of_output_is_a_command_to_the_runner(text: str) -> None:
    for line in inert(f"::error::{text}\n  ::x::{text}##[error]").split("\n"):
        assert not line.lstrip().startswith("::")
        assert "##[" not in line


def test_inert_json_means_the_same() -> None:
    text = json.dumps({"note": "##[error]x ::y"})
    assert "##[" not in inert_json(text)
    assert json.loads(inert_json(text)) == json.loads(text)


def test_a_step_summary_holds_no_markup_of_others() -> None:
    text = step_summary(outcomes(HOSTILE))
    own = re.sub(r"</?(details|summary)>", "", text)
    assert "<" not in own
    assert "](" not in own
    assert all(line.count("|") == 4 for line in text.splitlines() if line.startswith("|"))


def test_a_long_step_summary_is_cut() -> None:
    assert len(step_summary(outcomes("x" * 60_000)).encode()) < 1024**2


@pytest.mark.parametrize(("report", "message", "colour"), [
    (identity, "violated at ε = 0.1", "red"), (suppressed, "holds at ε = 0.5", "brightgreen"),
])  # fmt: skip
def test_a_badge_is_an_endpoint_of_shields(report: Callable[[], harness.Report], message: str, colour: str) -> None:
    content = json.loads(report().render("badge"))
    assert content == {"schemaVersion": 1, "label": "anonymizer audit", "message": message, "color": colour}
