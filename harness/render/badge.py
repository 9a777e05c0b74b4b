"""The verdict as a badge: the content of an endpoint file of shields.io. Reads the plain data of report.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

COLOURS = {"holds": "brightgreen", "violated": "red", "inconclusive": "yellow"}


def badge(report: Mapping[str, Any]) -> str:
    """One JSON object; the claim is named with the outcome, because it means nothing without."""
    outcome, claim = report["verdict"]["outcome"], report["plan"]["claim"]
    delta = f", δ = {claim['delta']:g}" if claim["delta"] else ""
    content = {
        "schemaVersion": 1,
        "label": "anonymizer audit",
        "message": f"{outcome} at ε = {claim['epsilon']:g}{delta}",
        "color": COLOURS[outcome],
    }
    return json.dumps(content, ensure_ascii=False) + "\n"
