"""Questions of a deterministic f that are asked again before the verdict: do they get the same answers as before.

Many persons are examined and the worst becomes the witness, so an f that once in a while releases something else is
likely to accuse somebody by chance. Therefore the two questions about the witness of every pair of adversary and
secret are asked again, several times, in random order and among questions about others and about f(D). Their number
is fixed by the plan, whatever was found (`repeat` says which they are). An answer that differs shows that f is not
deterministic.
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.auditing.events import OracleProfile
from harness.auditing.plan import PlanNumbers
from harness.auditing.probe import REPEATS

AT_FIRST = REPEATS - 1  # repetitions of the first question when an audit begins
TIMES = 2  # every witness is asked about again, at least


def repeated_in_words(confirmed: Mapping[str, int] | None) -> str:
    """How many questions were asked again, and how many answers differed; `confirmed` as report.json has it."""
    if confirmed is None:
        return f"{AT_FIRST} at the beginning, none at the end"
    return f"{AT_FIRST} at the beginning, {confirmed['repeated']} at the end; {confirmed['different']} answers differed"


def confirms(profile: OracleProfile) -> bool:
    """Whether questions are asked again: where one answer stands for all that f would give."""
    return not profile.card.randomized


def confirming_calls(plan: PlanNumbers, profile: OracleProfile) -> int:
    """How often f is called for that: about persons, and half as often about f(D)."""
    if not confirms(profile):
        return 0
    if profile.card.releases == "predictions":
        return 2 * plan.confirm  # f(D) and f without her, each about one row
    return plan.questions_asked(profile.card) * (plan.confirm + times_whole(plan, profile))


def times_whole(plan: PlanNumbers, profile: OracleProfile) -> int:
    """How often f(D) itself is asked for again; predictions of f(D) are asked for with every person anyway."""
    return 0 if profile.card.releases == "predictions" else plan.confirm // 2
