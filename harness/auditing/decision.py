"""The decision rule of an audit in words, and its risks in numbers (ISO/IEC 17025, 7.8.6). Knows the plain report.

    false acceptance   HOLDS is stated although somebody breaks the claim
    false rejection    VIOLATED is stated although everybody keeps the claim

How the error 1 − confidence is shared is decided in `select.share_levels`; the risks here follow from it:

- where nothing is random, distances are computed and both risks are 0, if f is as deterministic as it seemed;
- where chance plays a part and everybody was examined, each verdict may be wrong with probability 1 − confidence;
  only one of the two can be stated;
- of a sample HOLDS is never stated; half of the error is spent on limits, the other half on the certified share, which
  has all of it where distances are exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.auditing.confirm import AT_FIRST, repeated_in_words
from harness.auditing.reasons import percent
from harness.auditing.select import HALF

Plain = dict[str, Any]


def decision(report: Mapping[str, Any]) -> Plain:
    """Rule, risks and multiplicity of this audit."""
    return {
        "rule": _rule(report),
        "false_acceptance": _false_acceptance(report),
        "false_rejection": _false_rejection(report),
        "multiplicity": _multiplicity(report),
        "different_answers_at_most": _different_answers(report),
    }


def _is_exact(report: Mapping[str, Any]) -> bool:
    return all(result["exact"] for result in report["results"])


def _is_sample(report: Mapping[str, Any]) -> bool:
    return bool(report["selection"]["persons"] < report["plan"]["data"]["population"])


def _error(report: Mapping[str, Any]) -> float:
    return float(1 - report["plan"]["claim"]["confidence"])


def _unit(report: Mapping[str, Any]) -> str:
    return "record" if report["plan"]["data"]["person"] is None else "person"


def _rule(report: Mapping[str, Any]) -> list[str]:
    claim, unit = report["plan"]["claim"], _unit(report)
    epsilon, delta = claim["epsilon"], claim["delta"]
    if _is_exact(report):
        rules = [
            f"VIOLATED if the distance of one {unit} is {epsilon:g} or more and repeated questions confirm it",
            f"HOLDS if every {unit} was examined and every distance is below {epsilon:g}",
        ]
    elif delta > 0:
        paired = ", whichever way draws are paired" if report["oracle"]["coupled"] else ""
        rules = [
            f"VIOLATED if the lower confidence limit of how often draws of one {unit} lie {epsilon:g} or more apart "
            f"is above {delta:g}{paired}",
            f"HOLDS if every {unit} was examined and its upper confidence limit is at most {delta:g}",
        ]
    else:
        rules = [
            f"VIOLATED if the lower confidence limit of the distance of one {unit} is {epsilon:g} or more",
            f"HOLDS if every {unit} was examined and every upper confidence limit is below {epsilon:g}",
        ]
    if report["plan"]["draws"] == "adaptive" and not _is_exact(report):
        rules.append("either may also rest on bets over all looks (test martingales), within the same error level")
    return [
        *rules,
        "INCONCLUSIVE otherwise, and whenever the answers of the anonymizer were not what it says of itself",
        "the limits are the guard band: no further allowance is made"
        if not _is_exact(report)
        else "distances are computed, not estimated: there is no measurement uncertainty and no guard band",
    ]


def _false_acceptance(report: Mapping[str, Any]) -> Plain:
    if _is_sample(report):
        return {
            "at_most": 0.0,
            "why": f"HOLDS is not stated about a part of the {_unit(report)}s; the certified share, where one is "
            f"given, is wrong with probability at most {percent(_error(report))}",
        }
    if _is_exact(report):
        return {"at_most": 0.0, "why": _if_deterministic(report)}
    return {
        "at_most": _rounded(_error(report)),
        "why": f"that all keep the claim is wrong only if it is wrong for the worst {_unit(report)}, whose own limit "
        "has this error level",
    }


def _false_rejection(report: Mapping[str, Any]) -> Plain:
    if _is_exact(report):
        return {"at_most": 0.0, "why": _if_deterministic(report)}
    share = HALF if _is_sample(report) else 1.0
    return {
        "at_most": _rounded(share * _error(report)),
        "why": "all limits hold together except with this probability",
    }


def _if_deterministic(report: Mapping[str, Any]) -> str:
    return (
        "if the anonymizer is deterministic: distances are then computed, not estimated. Repeated questions: "
        f"{repeated_in_words(report['confirmed'])}"
    )


def repeated_questions(report: Mapping[str, Any]) -> tuple[int, int]:
    """How often a question was asked again, at the beginning and at the end, and how often the answer was another."""
    confirmed = report["confirmed"] or {"repeated": 0, "different": 0}
    return AT_FIRST + confirmed["repeated"], confirmed["different"]


def _different_answers(report: Mapping[str, Any]) -> float | None:
    """How often f may answer an equal question differently, with the claim's confidence, if no repeat showed it."""
    repeated, different = repeated_questions(report)
    if different or not any(result["exact"] for result in report["results"]):
        return None
    return _rounded(1 - _error(report) ** (1 / repeated))


def _multiplicity(report: Mapping[str, Any]) -> str:
    keys = report["selection"]["persons"] * len(report["results"])
    statements = f"{keys:,} statements ({_unit(report)}s times adversaries and secrets)"
    if _is_exact(report):
        return f"{statements}, none of which has an error level"
    looks = len(report["selection"]["looks"])
    over_looks = f" and {looks} looks" if looks > 1 else ""
    return f"the error level is shared over {statements}{over_looks} (union bound)"


def _rounded(probability: float) -> float:
    return float(f"{probability:.6g}")
