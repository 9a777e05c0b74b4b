"""The fixed sentences of a test report, and how the others are worded. Knows the plain report.

No sentence concludes that data are free of personal data or that a law is kept: what was measured is said, and what
follows from it in law is for others to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.vocabulary.persons import RowNames, person_in_words

NOT_STATED = "not stated"
NOT_ASSESSED = "not assessed"
METHOD = {
    "name": "Differential Inference Testing",
    "definition": "for each person, the distance between what an adversary infers about her sensitive value from a "
    "release of all data and from a release of the data without her; (ε, δ)-differentiability (2018, Definition 1) and "
    "δ-indifferentiability (2019, Definition 1)",
}
LIMITS = (
    "This report relates only to the item tested: this anonymizer in this version, with this data, asked at this time.",
    "A claim that holds is not proof that the anonymizer is safe: another adversary, other data or other columns may "
    "show more.",
    "The test is a black-box test. An evasive vendor, whose anonymizer recognises that it is tested and behaves "
    "differently, is possible and would not be detected.",
    "Only the effect of a person's own record on the inference about that person was measured; what a release tells "
    "about people in general was not.",
    "What is marked as stated comes from the auditor and was not tested.",
    "This report may be copied only in full.",
)


def how_to_verify(version: str) -> list[str]:
    """The commands with which anybody checks the report, in the version that made it."""
    return [
        f"pip install 'anonymizer-harness[sign]=={version}'",
        "harness verify FOLDER --key PUBLIC.pem checks signature, chain of the journal, and every number",
        "harness verify FOLDER checks the same without the signature",
    ]


def claim_sentence(report: Mapping[str, Any]) -> str:
    """What is claimed, in one sentence."""
    claim, unit = report["plan"]["claim"], _unit(report)
    distances = ", ".join(dict.fromkeys(one["name"] for one in report["plan"]["divergence"]))
    often = f", except with probability {claim['delta']:g}" if claim["delta"] else ""
    return (
        f"no {unit} moves what an adversary infers about {'it' if unit == 'record' else 'that person'} by "
        f"{claim['epsilon']:g} or more{often} (distance: {distances}; confidence: {100 * claim['confidence']:g} %)"
    )


def conformity_sentence(report: Mapping[str, Any]) -> str:
    """The outcome as a sentence about the claim."""
    outcome, verdict = report["verdict"]["outcome"], report["verdict"]
    if outcome == "violated":
        return f"The claim is VIOLATED: at least one {_unit(report)} breaks it."
    if outcome == "holds":
        return (
            f"The claim HOLDS for all {verdict['population']:,} {_unit(report)}s of the data, with these adversaries."
        )
    return "INCONCLUSIVE: the claim is neither proven nor refuted."


def unnamed(text: str, report: Mapping[str, Any]) -> str:
    """A sentence of the report in which persons are not told apart."""
    rows, is_record = RowNames(**report["plan"]["data"]["source"]), _unit(report) == "record"
    names = {
        person_in_words(finding["person"], finding["rows"], rows, is_record=is_record) for finding in report["findings"]
    }
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, f"one {_unit(report)}")
    return text


def _unit(report: Mapping[str, Any]) -> str:
    return "record" if report["plan"]["data"]["person"] is None else "person"
