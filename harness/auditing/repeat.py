"""Some questions asked of a deterministic f again: which, and whether it answers as it did (see `confirm`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from harness.auditing import proofs
from harness.auditing.columns import Columns, Ints
from harness.auditing.confirm import TIMES, times_whole
from harness.auditing.events import Confirmed, OracleProfile
from harness.auditing.examine import Examination
from harness.auditing.finding import Finding
from harness.auditing.finding_store import digest_of
from harness.auditing.measurement import Measurement
from harness.auditing.plan import PlanNumbers
from harness.auditing.present_draws import PresentDraws
from harness.auditing.state import AuditState
from harness.auditing.state_columns import columns_of_examined
from harness.vocabulary.errors import AwayError, OracleError


def repeat_questions(examination: Examination, present: PresentDraws, state: AuditState) -> Confirmed:
    """Ask some questions again, in random order, and count the answers that differ from the first ones."""
    repeated = questions_to_repeat(examination.plan, examination.profile, state)
    again = [(person, _answers_again(examination, present, state, person)) for person in repeated]
    persons = tuple(sorted({person for person, same in again if person is not None and same is not None}))
    answers = [same for _, same in again if same is not None]
    return Confirmed(persons, len(answers), answers.count(False), len(again) - len(answers))


def _answers_again(
    examination: Examination, present: PresentDraws, state: AuditState, person: int | None
) -> bool | None:
    """Whether f answers a question about a person, or about f(D), as it did before; None: it failed on her now."""
    if person is None:
        questions = range(len(examination.plan.questions))
        return all(present.is_drawn_again(examination.oracle, number) for number in questions)
    _, first, _ = next(state.findings_of(person))
    try:
        measured = examination.examine_again(person, int(first.row or 0))
    except AwayError:
        raise
    except OracleError:
        return None
    return agree(measured, state.findings_of(person))


def questions_to_repeat(plan: PlanNumbers, profile: OracleProfile, state: AuditState) -> list[int | None]:
    """Whom to ask about again, in this order; None is f(D)."""
    examined = np.flatnonzero(state.latest)
    witnesses = _witnesses(state, examined, plan.confirm // TIMES)
    rng = np.random.default_rng(plan.seed_for("confirm"))
    persons = witnesses * TIMES
    persons += witnesses[:1] * max(0, plan.confirm // 2 - len(persons))
    others = np.setdiff1d(examined, witnesses).tolist() or witnesses
    persons += [others[place] for place in rng.integers(0, len(others), plan.confirm - len(persons))]
    members: list[int | None] = [*persons, *[None] * times_whole(plan, profile)]
    return [members[place] for place in rng.permutation(len(members))]


def _witnesses(state: AuditState, examined: Ints, most: int) -> list[int]:
    """The worst person of each pair of adversary and secret that somebody breaks the claim for.

    If these are too many, fewer persons who break it for as many pairs as possible. Without any violation, the person
    with the largest distance.
    """
    pairs = columns_of_examined(state)
    violating = [columns.where(proofs.violates(columns.get, state.claim)) for columns in pairs]
    worst = sorted(map(_worst, filter(len, violating)), reverse=True)
    persons = list(dict.fromkeys(-person for _, _, person in worst))
    if len(persons) > most:
        return _covering({each.pair: set(each.get("person").tolist()) for each in violating if len(each)}, most)
    return persons or [-max(map(_worst, pairs))[2]]


def _worst(columns: Columns) -> tuple[float, float, int]:
    """The largest lower limit and distance, and the person of it, negative so that the first of equals is largest."""
    worst = columns.first([columns.get("lower"), columns.get("distance")])
    return worst.lower, worst.distance, -worst.person


def _covering(violating: Mapping[tuple[str, str], set[int]], most: int) -> list[int]:
    """So many persons that are violating for as many pairs as possible, one after the other (greedy)."""
    left, chosen = dict(violating), list[int]()
    while left and len(chosen) < most:
        persons = sorted(set().union(*left.values()))
        best = max(persons, key=lambda person: sum(person in members for members in left.values()))
        chosen.append(best)
        left = {pair: members for pair, members in left.items() if best not in members}
    return chosen


def agree(measurements: Iterable[Measurement], findings: Iterable[tuple[bytes, Finding, tuple[int, int]]]) -> bool:
    """Whether measurements made again show the predictions that the findings, with their digests, rest on."""
    again = {(one.adversary, one.secret, one.row): one for one in measurements}
    for digest, finding, pair in findings:
        one = again.get((*pair, int(finding.row or 0)))
        if one is None:
            continue
        if (one.failure is None) != (finding.failure is None):
            return False
        if one.failure is None and digest_of(one) != digest:
            return False
    return True
