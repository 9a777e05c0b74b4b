"""The persons who could not be measured, as a report holds them: how many, why, and the first of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from harness.auditing.events import Failed
from harness.auditing.state import AuditState

LISTED = 10  # persons named for each reason, and texts of the vendor that are shown where that is wanted

Plain = dict[str, Any]


def plain_not_measured(state: AuditState) -> Plain | None:
    """The section `not_measured` of a report, duplicates of examined persons among them; None if nobody failed."""
    if not state.failed or state.selected is None:
        return None
    represented = {group[0]: group for group in state.selected.duplicates}
    members = {person: represented.get(person, (person,)) for person in sorted(state.failed)}
    by_reason: dict[str, list[Failed]] = {}
    for person in members:
        by_reason.setdefault(state.failed[person].reason, []).append(state.failed[person])
    ranked = sorted(by_reason.items(), key=lambda one: (-sum(len(members[each.person]) for each in one[1]), one[0]))
    return {
        "persons": sum(map(len, members.values())),
        "reasons": [
            {
                "reason": reason,
                "persons": sum(len(members[each.person]) for each in failed),
                "first": _first(state, sorted(person for each in failed for person in members[each.person])),
                "details": _texts(failed),
            }
            for reason, failed in ranked
        ],
    }


def _first(state: AuditState, persons: Iterable[int]) -> list[Plain]:
    return [{"person": person, "rows": list(state.rows_of(person))} for person in list(persons)[:LISTED]]


def _texts(failed: Iterable[Failed]) -> list[str]:
    """What the oracle said, each text once; shown only where the vendor's texts are wanted."""
    return list(dict.fromkeys(each.detail for each in failed))[:LISTED]
