"""Before the verdict on a deterministic f: which questions are asked again, and do they get the same answers?

Many persons are examined and the worst becomes the witness, so an f that once in a while releases something else is
likely to accuse somebody by chance. Therefore the two questions about the witness of every pair of adversary and
secret are asked again, several times, in random order and among questions about others and about f(D). Their number
is fixed by the plan, whatever was found. An answer that differs shows that f is not deterministic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from harness.auditing.events import Measurement, OracleProfile
from harness.auditing.finding import Finding
from harness.auditing.plan import Claim, Plan

Key = tuple[int, int, int]  # person, number of the adversary, of the secret
TIMES = 2  # every witness is asked about again, at least


def confirms(profile: OracleProfile) -> bool:
    """Whether questions are asked again: where one answer stands for all that f would give."""
    return not profile.card.randomized


def confirming_calls(plan: Plan, profile: OracleProfile) -> int:
    """How often f is called for that: about persons, and half as often about f(D)."""
    if not confirms(profile):
        return 0
    if profile.card.releases == "predictions":
        return 2 * plan.confirm  # f(D) and f without her, each about one row
    return len(plan.asked(profile.card)) * (plan.confirm + times_whole(plan, profile))


def times_whole(plan: Plan, profile: OracleProfile) -> int:
    """How often f(D) itself is asked for again; predictions of f(D) are asked for with every person anyway."""
    return 0 if profile.card.releases == "predictions" else plan.confirm // 2


def questions_to_repeat(plan: Plan, profile: OracleProfile, findings: Mapping[Key, Finding]) -> list[int | None]:
    """Whom to ask about again, in this order; None is f(D)."""
    witnesses = _witnesses(findings, plan.claim, plan.confirm // TIMES)
    rng = np.random.default_rng(plan.seed_for("confirm"))
    persons = witnesses * TIMES
    persons += witnesses[:1] * max(0, plan.confirm // 2 - len(persons))
    others = sorted({person for person, _, _ in findings} - set(witnesses)) or witnesses
    persons += [others[place] for place in rng.integers(0, len(others), plan.confirm - len(persons))]
    members: list[int | None] = [*persons, *[None] * times_whole(plan, profile)]
    return [members[place] for place in rng.permutation(len(members))]


def _witnesses(findings: Mapping[Key, Finding], claim: Claim, most: int) -> list[int]:
    """So few persons that break the claim for as many pairs of adversary and secret as possible.

    Without any violation, the person with the largest distance.
    """
    measured = {key: finding for key, finding in findings.items() if finding.failure is None}
    worst = {person: 0.0 for person, _, _ in findings}
    for (person, _, _), finding in measured.items():
        worst[person] = max(worst[person], finding.lower)
    broken: dict[int, set[tuple[int, int]]] = {}
    for (person, *pair), finding in measured.items():
        if finding.violates(claim):
            broken.setdefault(person, set()).add((pair[0], pair[1]))
    chosen: list[int] = []
    left = set().union(*broken.values())
    while left and len(chosen) < most:
        best = max(broken, key=lambda person: (len(broken[person] & left), worst[person], -person))
        chosen.append(best)
        left -= broken[best]
    return chosen or [max(worst, key=lambda person: (worst[person], -person))]


def agree(measurements: Iterable[Measurement], findings: Mapping[tuple[int, int], Finding]) -> bool:
    """Whether measurements made again show the predictions that the findings, by adversary and secret, rest on."""
    again = {(one.adversary, one.secret, one.row): one for one in measurements}
    for (adversary, secret), finding in findings.items():
        one = again.get((adversary, secret, finding.row or 0))
        if one is None:
            continue
        if (one.failure is None) != (finding.failure is None):
            return False
        if one.failure is None and (one.present, one.absent) != (finding.present, finding.absent):
            return False
    return True
