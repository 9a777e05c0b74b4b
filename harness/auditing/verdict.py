"""From findings to a judgement. Knows numbers and the claim; no disk, clock or oracle.

Every pair of adversary and secret has a verdict of its own. The verdict of the audit is over the worst of them and
says which one that is. VIOLATED needs one person proven to break the claim, HOLDS all proven to keep it and
everybody examined.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from harness.auditing import proofs
from harness.auditing.columns import Columns, Ints, listed_columns
from harness.auditing.finding import Finding
from harness.auditing.plan import Claim
from harness.auditing.reasons import (
    JudgingContext,
    at_most,
    certified,
    draws_needed,
    holding,
    not_proven,
    open_question,
    part_of_all,
    percent,
    rounded_up,
    untested,
    violation,
    weights,
)
from harness.auditing.select import HALF
from harness.measuring.certificate import Certificate, certify
from harness.vocabulary.errors import InputError
from harness.vocabulary.persons import RowName

ROUNDING = 1e-9  # of sums of error levels


class Outcome(StrEnum):
    """The three answers; the exit codes of the command line follow them."""

    HOLDS = "holds"
    VIOLATED = "violated"
    INCONCLUSIVE = "inconclusive"

    @property
    def exit_code(self) -> int:
        return {"holds": 0, "violated": 1, "inconclusive": 4}[self.value]


@dataclass(frozen=True)
class Verdict:
    """The judgement on a claim, with the person that carries it."""

    outcome: Outcome
    claim: Claim
    epsilon: float  # what may be claimed: the largest distance, or its upper limit where chance plays a part
    at_least: float  # the largest distance is proven to be no less; all limits hold together
    at_most: float  # with the claim's confidence it is no more
    witness: int  # the person that breaks the claim, or the one with that distance
    rows: tuple[RowName, ...]  # of the source, of the witness
    adversary: str
    secret: str
    reason: str
    examined: int
    population: int
    certificate: Certificate | None = None  # what a random part of the persons says about all
    draws_needed: int | None = None  # about how many draws would settle an inconclusive one
    unproven: int = 0  # examined persons who are not proven to keep the claim, by limits that hold together

    def __str__(self) -> str:
        return f"{self.outcome.name}: {self.reason}"

    def require(self, share: float | None = None) -> None:
        """Raise AssertionError unless the claim holds; for tests.

        With a `share`, it is enough that at most this share of all persons does not keep the claim, with the claim's
        confidence: by the certificate of a random sample, or by a count where everybody was examined. One of them may
        have been found.
        """
        __tracebackhide__ = True  # pytest then shows the line of the test, not this one
        if share is not None and not (isinstance(share, int | float) and 0 < share < 1):
            raise InputError(f"share must be a number between 0 and 1, not {share!r}")
        if self.outcome is Outcome.HOLDS or (share is not None and self._certified_share <= share):
            return
        raise AssertionError(f"{self}{self._what_a_share_would_say(share)}")

    @property
    def _certified_share(self) -> float:
        """The largest share of all persons that may not keep the claim."""
        if self.certificate is not None:
            return self.certificate.share
        return self.unproven / self.population if self.examined == self.population else 1.0

    def _what_a_share_would_say(self, share: float | None) -> str:
        """What to do where a sample was examined: its certificate, and how to be content with it."""
        if self.certificate is None and share is None:
            return ""
        if self.certificate is None and self.examined < self.population:
            return "; a share is proven by the certificate of a random sample, and here is none"
        if self.certificate is None:
            return f"; {self.unproven} of {self.population} are not proven to keep it, more than share={share:g}"
        certified = percent(self.certificate.share)
        if share is None:
            return (
                f". A sample cannot prove a claim about everybody: examine all, or accept the certificate with "
                f"require(share={rounded_up(self.certificate.share, 2):g})"
            )
        return f"; the certificate allows up to {certified}, and require(share={share:g}) accepts {percent(share)}"


Pair = tuple[str, str]  # names of adversary and secret


def undecided(verdict: Verdict, reason: str) -> Verdict:
    """What is left of a verdict where only part of an audit was done: what is proven, and nothing that may change."""
    return replace(
        verdict, outcome=Outcome.INCONCLUSIVE, reason=reason, epsilon=math.inf, at_most=math.inf, certificate=None,
        draws_needed=None,
    )  # fmt: skip


def judge(
    findings: Sequence[Finding], claim: Claim, population: int, *, random: Iterable[int] = (), coupled: bool = True,
    unit: str = "record",
) -> Verdict:  # fmt: skip
    """The verdict over all adversaries and secrets that the findings are of.

    Findings that were measured for another claim are refused where they cannot decide this one. Persons `random`
    give a certificate only if the limits were measured at a level that leaves the other half of the error to it.
    """
    context = JudgingContext(
        population, frozenset(random), coupled, unit, spent=_spends_more_than_half(findings, claim)
    )
    return overall(judge_pairs(listed_columns(findings), claim, context))


def _spends_more_than_half(findings: Sequence[Finding], claim: Claim) -> bool:
    """Whether the limits of all findings together take more than their half of the error level.

    An audit with several looks spends 1 / (t (t + 1)) of a person's level on look t (`select.schedule`).
    """
    drawn = [finding for finding in findings if not finding.exact]
    adaptive = any(finding.look > 1 for finding in drawn)
    spent = sum(
        finding.alpha * max(1, len(finding.rows)) * (finding.look * (finding.look + 1) if adaptive else 1)
        for finding in drawn
    )
    return spent > (1 - claim.confidence) * HALF * (1 + ROUNDING)


def judge_pairs(findings: Sequence[Columns], claim: Claim, context: JudgingContext) -> dict[Pair, Verdict]:
    """One verdict for each pair of adversary and secret, in this order."""
    if not any(map(len, findings)):
        raise InputError("there are no findings to judge; an audit needs at least one record")
    for columns in findings:
        _require_measured_for(columns, claim)
    return {columns.pair: _judge_pair(columns, claim, context, len(findings)) for columns in findings}


def _require_measured_for(columns: Columns, claim: Claim) -> None:
    """Exact distances decide any claim; limits hold at the confidence, and tails at the ε, they were measured at."""
    drawn = columns.where(~columns.get("exact"))
    if not len(drawn):
        return
    confidence, epsilon = drawn.get("measured_confidence"), drawn.get("measured_epsilon")
    if np.isnan(confidence).any():
        raise InputError("a finding with draws does not say which claim it was measured for; it cannot be judged")
    if claim.confidence > confidence.min():
        raise InputError(
            f"the findings were measured for a confidence of {confidence.min():g} and prove nothing at "
            f"{claim.confidence:g}; audit again with that confidence"
        )
    others = epsilon[epsilon != claim.epsilon]
    if claim.delta > 0 and len(others):
        raise InputError(
            f"the findings were measured at epsilon = {others[0]:g}; with delta > 0 they say nothing about "
            f"epsilon = {claim.epsilon:g}; audit again with that epsilon"
        )


def overall(verdicts: dict[Pair, Verdict]) -> Verdict:
    """The worst verdict, labelled with its adversary and secret where there are several."""
    order = {Outcome.VIOLATED: 2, Outcome.INCONCLUSIVE: 1, Outcome.HOLDS: 0}
    worst = max(verdicts.values(), key=lambda verdict: (order[verdict.outcome], verdict.epsilon))
    if len(verdicts) == 1:
        return worst
    adversaries, secrets = (len({pair[side] for pair in verdicts}) for side in (0, 1))
    many = [f"{count} {word}" for count, word in ((adversaries, "adversaries"), (secrets, "secrets")) if count > 1]
    label = f"worst of {' and '.join(many)} ({worst.adversary}; {worst.secret})"
    largest = max(verdict.epsilon for verdict in verdicts.values())
    unproven = min(worst.examined, sum(verdict.unproven for verdict in verdicts.values()))  # perhaps the same persons
    return replace(worst, reason=f"{label}: {worst.reason}", epsilon=largest, unproven=unproven)


def _judge_pair(findings: Columns, claim: Claim, context: JudgingContext, pairs: int) -> Verdict:
    failed, broken = findings.get("failed"), proofs.violates(findings.get, claim)
    measured, violating = findings.where(~failed), findings.where(broken)
    unsettled = findings.where(~proofs.satisfies(findings.get, claim))
    seen = measured if len(measured) else findings
    worst = seen.first([seen.get("distance")])
    persons = len(np.unique(findings.get("person")))
    certificate = None if context.doubts else _certificate(findings, violating, claim, context, pairs)
    is_untested = bool(len(measured)) and findings.pair in context.uninformed
    outcome, witness = Outcome.INCONCLUSIVE, worst
    confirmed = _confirmed(violating, context)
    if context.doubts:
        reason = f"{'; '.join(context.doubts)}; {not_proven(worst, context)}"
    elif len(violating) and not len(confirmed):
        witness = violating.first(weights(violating))
        reason = f"{violation(witness, claim, context)}, but f was not asked about that again; raise confirm"
    elif len(violating):
        outcome = Outcome.VIOLATED
        witness = confirmed.first(weights(confirmed))
        reason = violation(witness, claim, context)
    elif is_untested:
        reason = untested(worst, context)
        certificate = None
    elif len(unsettled):
        reason = open_question(unsettled, claim, context) + certified(certificate, claim, context)
    elif persons < context.population:
        reason = part_of_all(persons, claim, context) + certified(certificate, claim, context)
    else:
        outcome, reason = Outcome.HOLDS, holding(findings, worst, claim, context)
    return Verdict(
        outcome=outcome,
        claim=claim,
        epsilon=at_most(findings, claim),
        at_least=float(measured.get("lower").max()) if len(measured) else 0.0,
        at_most=at_most(findings, claim),
        witness=witness.person,
        rows=witness.rows,
        adversary=worst.adversary,
        secret=worst.secret,
        reason=reason,
        examined=persons,
        population=context.population,
        certificate=certificate,
        draws_needed=None if len(violating) or context.doubts else draws_needed(unsettled, claim),
        unproven=persons if context.doubts or is_untested else len(_unproven(findings, claim)),
    )


def _confirmed(violating: Columns, context: JudgingContext) -> Columns:
    """Those of them about whom f was asked again, where that is needed."""
    if context.confirmed is None:
        return violating
    return violating.where(np.isin(violating.get("person"), list(context.confirmed)))


def _unproven(findings: Columns, claim: Claim) -> Ints:
    """Persons who are not proven to keep the claim, by limits that hold together: they are counted."""
    return np.unique(findings.where(~proofs.satisfies_together(findings.get, claim)).get("person"))


def _certificate(
    findings: Columns, violating: Columns, claim: Claim, context: JudgingContext, pairs: int
) -> Certificate | None:
    """Limits on how many of all persons do not keep the claim; certificates of all pairs hold together."""
    persons = len(np.unique(findings.get("person")))
    if persons >= context.population or not context.random or context.spent:
        return None
    exact = bool(findings.get("exact").all())
    error = (1 - claim.confidence) * (1 if exact else HALF) / pairs
    random = np.array(list(context.random))
    possible = int(np.isin(_unproven(findings, claim), random).sum())
    proven = int(np.isin(np.unique(violating.get("person")), random).sum())
    least = certify(context.population, len(context.random), proven, error).least
    return replace(certify(context.population, len(context.random), possible, error), least=least)
