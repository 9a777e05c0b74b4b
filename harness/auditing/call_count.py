"""How often f is called in the course of an audit: the one count that `harness plan` and budgets share.

A call is one release: a draw of microdata, or all draws of predictions that travel together.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.auditing.asking import calls, rounds
from harness.auditing.confirm import confirming_calls
from harness.auditing.events import Look, OracleProfile
from harness.auditing.plan import PlanNumbers
from harness.auditing.probe import closing_calls, probe_calls

BLOCK = 20  # persons that share draws of f(D) where both sides are drawn independently


def calls_before_persons(plan: PlanNumbers, profile: OracleProfile, looks: Sequence[Look]) -> int:
    """Calls that do not depend on who is examined: probes, the choice of risky persons, f(D), the last questions."""
    card = profile.card
    shared = probe_calls(profile) + confirming_calls(plan, profile) + closing_calls(profile, looks[0].draws)
    if card.releases == "predictions":
        return shared
    risk = 1 if plan.budget is not None else 0
    once = plan.questions_asked(card) * _side(profile, looks) if profile.coupled else 0
    return shared + risk + once


def calls_for_equal_persons(
    plan: PlanNumbers, profile: OracleProfile, looks: Sequence[Look], persons: int, rows: int = 1
) -> int:
    """Calls for so many persons with so many distinct rows each, who are settled by no look but the last, f(D) of
    predictions counted for each of them.
    """
    size = BLOCK if profile.in_blocks else 1
    full, rest = divmod(persons, size)
    items = [[rows] * size] * full + ([[rows] * rest] if rest else [])
    return calls_for_items(plan, profile, looks, items)


def calls_for_items(
    plan: PlanNumbers, profile: OracleProfile, looks: Sequence[Look], items: Sequence[Sequence[int]]
) -> int:
    """Calls for all work items, where persons of one item share the predictions, or the draws, of f(D).

    `items` holds for every work item the number of distinct rows of each of its persons.
    """
    drawn = _side(profile, looks)
    if profile.card.releases == "predictions":
        return drawn * sum(sum(rows) + (rows[0] if len(rows) > 1 else sum(rows)) for rows in items)
    own = 0 if profile.coupled else len(items)  # draws of f(D)
    return plan.questions_asked(profile.card) * drawn * (sum(map(len, items)) + own)


def _side(profile: OracleProfile, looks: Sequence[Look]) -> int:
    """Calls for all draws of one side of one person."""
    if profile.coupled:
        return sum(calls(profile.card, look.draws) for look in looks)
    return sum(calls(profile.card, draws) for look in looks for draws in rounds(look.draws))
