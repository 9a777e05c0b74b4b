"""Questions of a deterministic f that are asked again before the verdict: do they get the same answers as before.

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
from harness.auditing.probe import REPEATS

Key = tuple[int, int, int]  # person, number of the adversary, of the secret
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
    """The worst person of each pair of adversary and secret that somebody breaks the claim for.

    If these are too many, fewer persons who break it for as many pairs as possible. Without any violation, the person
    with the largest distance.
    """
    violating: dict[tuple[int, int], list[tuple[float, float, int]]] = {}  # by pair, comparable
    for (person, adversary, secret), finding in findings.items():
        if finding.violates(claim):
            violating.setdefault((adversary, secret), []).append((finding.lower, finding.distance, -person))
    worst = dict.fromkeys(-max(members)[2] for members in sorted(violating.values(), key=max, reverse=True))
    if len(worst) > most:
        return _covering({pair: {-member[2] for member in members} for pair, members in violating.items()}, most)
    if worst:
        return list(worst)
    return [max(findings, key=lambda key: (findings[key].lower, findings[key].distance, -key[0]))[0]]


def _covering(violating: Mapping[tuple[int, int], set[int]], most: int) -> list[int]:
    """So many persons that are violating for as many pairs as possible, one after the other (greedy)."""
    left, chosen = dict(violating), list[int]()
    while left and len(chosen) < most:
        persons = sorted(set().union(*left.values()))
        best = max(persons, key=lambda person: sum(person in members for members in left.values()))
        chosen.append(best)
        left = {pair: members for pair, members in left.items() if best not in members}
    return chosen


def agree(measurements: Iterable[Measurement], findings: Mapping[tuple[int, int], Finding]) -> bool:
    """Whether measurements made again show the predictions that the findings, by adversary and secret, rest on."""
    again = {(one.adversary, one.secret, one.row): one for one in measurements}
    for (adversary, secret), finding in findings.items():
        one = again.get((adversary, secret, int(finding.row or 0)))
        if one is None:
            continue
        if (one.failure is None) != (finding.failure is None):
            return False
        if one.failure is None and (one.present, one.absent) != (finding.present, finding.absent):
            return False
    return True
