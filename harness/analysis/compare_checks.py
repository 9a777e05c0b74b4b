"""Two checks side by side: which laws are broken now and were not, and the other way round. Knows no disk."""

from __future__ import annotations

from typing import Any

from harness.analysis.check_baseline import CheckBaseline
from harness.analysis.regression import law_changes


def compare_checks(first: str, before: CheckBaseline, later: str, after: CheckBaseline) -> dict[str, Any]:
    """Every law with its outcomes and a direction; `overall` is the worst of them."""
    laws = [
        {"law": change.finding.removeprefix("law/"), "direction": change.direction}
        | {"before": change.before, "after": change.after}
        for change in law_changes(before.laws, after.laws)
    ]
    directions = {law["direction"] for law in laws}
    overall = next((one for one in ("worse", "better", "changed") if one in directions), "same")
    return {
        "first": first,
        "later": later,
        "overall": overall,
        "claims": {"before": dict(before.claims), "after": dict(after.claims)},
        "laws": laws,
    }
