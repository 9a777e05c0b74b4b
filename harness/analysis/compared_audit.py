"""One of several audits that are compared, as plain data for tables and figures: its numbers, and every person's."""

from __future__ import annotations

from typing import Any

from harness.analysis.sweep import precision_kept, result_numbers
from harness.report import Report

Plain = dict[str, Any]


def compared_audit(name: str, report: Report) -> Plain:
    """What tables and figures show of an audit; a person without a result is left out."""
    card = report.plain["oracle"]["card"]
    return {
        "name": name,
        "anonymizer": card["name"] + (f", version {card['version']}" if card["version"] else ""),
        "epsilon": report.claim.epsilon,
        "utility": precision_kept(report.plain),
        "results": [_result(report, place) for place in range(len(report.plain["results"]))],
    }


def _result(report: Report, place: int) -> Plain:
    numbers = result_numbers(report.plain, place)
    pair = numbers["adversary"], numbers["secret"]
    of_pair = (one for one in report.all_findings() if (one.adversary, one.secret) == pair)
    return {**numbers, "distances": {one.person: one.distance for one in of_pair if one.failure is None}}
