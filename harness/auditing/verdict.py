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
    weight,
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
    return overall(judge_pairs(findings, claim, context))


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


def judge_pairs(findings: Sequence[Finding], claim: Claim, context: JudgingContext) -> dict[Pair, Verdict]:
    """One verdict for each pair of adversary and secret, in the order of their first finding."""
    if not findings:
        raise InputError("there are no findings to judge; an audit needs at least one record")
    for finding in findings:
        _require_measured_for(finding, claim)
    pairs: dict[Pair, list[Finding]] = {}
    for finding in findings:
        pairs.setdefault((finding.adversary, finding.secret), []).append(finding)
    return {pair: _judge_pair(group, claim, context, len(pairs)) for pair, group in pairs.items()}


def _require_measured_for(finding: Finding, claim: Claim) -> None:
    """Exact distances decide any claim; limits hold at the confidence, and tails at the ε, they were measured at."""
    measured = finding.claim
    if finding.exact:
        return
    if measured is None:
        raise InputError("a finding with draws does not say which claim it was measured for; it cannot be judged")
    if claim.confidence > measured.confidence:
        raise InputError(
            f"the findings were measured for a confidence of {measured.confidence:g} and prove nothing at "
            f"{claim.confidence:g}; audit again with that confidence"
        )
    if claim.delta > 0 and claim.epsilon != measured.epsilon:
        raise InputError(
            f"the findings were measured at epsilon = {measured.epsilon:g}; with delta > 0 they say nothing about "
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


def _judge_pair(findings: Sequence[Finding], claim: Claim, context: JudgingContext, pairs: int) -> Verdict:
    measured = [finding for finding in findings if finding.failure is None]
    worst = max(measured or findings, key=lambda finding: (finding.distance, -finding.person))
    violating = [finding for finding in findings if finding.violates(claim)]
    unsettled = [finding for finding in findings if not finding.satisfies(claim)]
    persons = len({finding.person for finding in findings})
    certificate = None if context.doubts else _certificate(findings, violating, claim, context, pairs)
    is_untested = bool(measured) and (worst.adversary, worst.secret) in context.uninformed
    outcome, witness = Outcome.INCONCLUSIVE, worst
    confirmed = [finding for finding in violating if context.confirmed is None or finding.person in context.confirmed]
    if context.doubts:
        reason = f"{'; '.join(context.doubts)}; {not_proven(worst, context)}"
    elif violating and not confirmed:
        witness = max(violating, key=weight)
        reason = f"{violation(witness, claim, context)}, but f was not asked about that again; raise confirm"
    elif violating:
        outcome = Outcome.VIOLATED
        witness = max(confirmed, key=weight)
        reason = violation(witness, claim, context)
    elif is_untested:
        reason = untested(worst, context)
        certificate = None
    elif unsettled:
        reason = open_question(unsettled, claim, context) + certified(certificate, claim, context)
    elif persons < context.population:
        reason = part_of_all(persons, claim, context) + certified(certificate, claim, context)
    else:
        outcome, reason = Outcome.HOLDS, holding(findings, worst, claim, context)
    return Verdict(
        outcome=outcome,
        claim=claim,
        epsilon=at_most(findings, claim),
        at_least=max((finding.lower for finding in measured), default=0.0),
        at_most=at_most(findings, claim),
        witness=witness.person,
        rows=witness.rows,
        adversary=worst.adversary,
        secret=worst.secret,
        reason=reason,
        examined=persons,
        population=context.population,
        certificate=certificate,
        draws_needed=None if violating or context.doubts else draws_needed(unsettled, claim),
        unproven=persons if context.doubts or is_untested else len(_unproven(findings, claim)),
    )


def _unproven(findings: Sequence[Finding], claim: Claim) -> set[int]:
    """Persons who are not proven to keep the claim, by limits that hold together: they are counted."""
    return {finding.person for finding in findings if not finding.satisfies_together(claim)}


def _certificate(
    findings: Sequence[Finding], violating: Sequence[Finding], claim: Claim, context: JudgingContext, pairs: int
) -> Certificate | None:
    """Limits on how many of all persons do not keep the claim; certificates of all pairs hold together."""
    persons = {finding.person for finding in findings}
    if len(persons) >= context.population or not context.random or context.spent:
        return None
    exact = all(finding.exact for finding in findings)
    error = (1 - claim.confidence) * (1 if exact else HALF) / pairs
    possible = len(_unproven(findings, claim) & context.random)
    proven = len({finding.person for finding in violating} & context.random)
    least = certify(context.population, len(context.random), proven, error).least
    return replace(certify(context.population, len(context.random), possible, error), least=least)
