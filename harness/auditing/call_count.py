"""How often f is called in the course of an audit: the one count that `harness plan` and budgets share.

A call is one release: a draw of microdata, or all draws of predictions that travel together.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.auditing.asking import calls
from harness.auditing.events import Look, OracleProfile
from harness.auditing.plan import Plan
from harness.auditing.probe import closing_calls, probe_calls


def calls_before_persons(plan: Plan, profile: OracleProfile, looks: Sequence[Look]) -> int:
    """Calls that do not depend on who is examined: probes, the choice of risky persons, f(D), the closing question."""
    card = profile.card
    shared = probe_calls(profile) + closing_calls(profile, looks[0].draws)
    if card.releases == "predictions":
        return shared
    risk = 1 if plan.budget is not None else 0
    return shared + risk + len(plan.asked(card)) * sum(calls(card, look.draws) for look in looks)


def calls_per_person(plan: Plan, profile: OracleProfile, looks: Sequence[Look], rows: int = 1) -> int:
    """Calls for a person with so many distinct rows who is settled by no look but the last, f(D) of predictions
    counted for her alone.
    """
    drawn = sum(calls(profile.card, look.draws) for look in looks)
    if profile.card.releases == "predictions":
        return 2 * rows * drawn
    return len(plan.asked(profile.card)) * drawn


def calls_for_items(plan: Plan, profile: OracleProfile, looks: Sequence[Look], items: Sequence[Sequence[int]]) -> int:
    """Calls for all work items, where persons of one item share the predictions of f(D).

    `items` holds for every work item the number of distinct rows of each of its persons.
    """
    drawn = sum(calls(profile.card, look.draws) for look in looks)
    if profile.card.releases == "predictions":
        return drawn * sum(sum(rows) + (rows[0] if len(rows) > 1 else sum(rows)) for rows in items)
    return len(plan.asked(profile.card)) * drawn * sum(map(len, items))
