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
from harness.auditing.select import HALF
from harness.measuring.certificate import Certificate, certify
from harness.vocabulary.errors import InputError
from harness.vocabulary.persons import LABELS, RowName, RowNames, person_in_words

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

    def __str__(self) -> str:
        return f"{self.outcome.name}: {self.reason}"

    def require(self, share: float | None = None) -> None:
        """Raise AssertionError unless the claim holds; for tests.

        With a `share`, a random sample is enough if its certificate says, with the claim's confidence, that at most
        this share of all persons does not keep the claim. One of them may have been found.
        """
        if share is not None and not (isinstance(share, int | float) and 0 < share < 1):
            raise InputError(f"share must be a number between 0 and 1, not {share!r}")
        if self.outcome is Outcome.HOLDS or (share is not None and self._certified_share <= share):
            return
        raise AssertionError(f"{self}{self._what_a_share_would_say(share)}")

    @property
    def _certified_share(self) -> float:
        return 1.0 if self.certificate is None else self.certificate.share

    def _what_a_share_would_say(self, share: float | None) -> str:
        """What to do where a sample was examined: its certificate, and how to be content with it."""
        if self.certificate is None:
            return (
                "" if share is None else "; a share is proven by the certificate of a random sample, and here is none"
            )
        certified = percent(self.certificate.share)
        if share is None:
            return (
                f" A sample cannot prove a claim about everybody: examine all, or accept the certificate with "
                f"require(share={_rounded_up(self.certificate.share, 2):g})"
            )
        return f"; the certificate allows up to {certified}, and require(share={share:g}) accepts {percent(share)}"


@dataclass(frozen=True)
class JudgingContext:
    """What a verdict depends on beside findings and claim."""

    population: int
    random: frozenset[int] = frozenset()  # examined persons who were drawn at random and so stand for the others
    coupled: bool = True  # else pairs also differ by f's own noise, which the words must not blame on a person
    unit: str = "record"  # what a person is called where every row is one
    rows: RowNames = LABELS  # how the source names its rows
    unprovable: frozenset[str] = frozenset()  # secrets whose distance has no confidence limits when δ = 0
    confirmed: frozenset[int] | None = None  # persons about whom f was asked again; None where that needs no asking
    doubts: tuple[str, ...] = ()  # why the answers of f prove nothing
    uninformed: frozenset[tuple[str, str]] = frozenset()  # adversary and secret without evidence about anybody
    says_if_random: bool = True  # else that f is deterministic was only seen
    spent: bool = False  # the limits took all of the error level, so that none is left for a certificate

    @property
    def oneself(self) -> str:
        return "itself" if self.unit == "record" else "herself"


Pair = tuple[str, str]  # names of adversary and secret


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
    return replace(worst, reason=f"{label}: {worst.reason}", epsilon=largest)


def _judge_pair(findings: Sequence[Finding], claim: Claim, context: JudgingContext, pairs: int) -> Verdict:
    measured = [finding for finding in findings if finding.failure is None]
    worst = max(measured or findings, key=lambda finding: (finding.distance, -finding.person))
    violating = [finding for finding in findings if finding.violates(claim)]
    unsettled = [finding for finding in findings if not finding.satisfies(claim)]
    persons = len({finding.person for finding in findings})
    certificate = None if context.doubts else _certificate(findings, violating, claim, context, pairs)
    outcome, witness = Outcome.INCONCLUSIVE, worst
    confirmed = [finding for finding in violating if context.confirmed is None or finding.person in context.confirmed]
    if context.doubts:
        reason = f"{'; '.join(context.doubts)}; {_not_proven(worst, context)}"
    elif violating and not confirmed:
        witness = max(violating, key=_weight)
        reason = f"{_violation(witness, claim, context)}, but f was not asked about that again; raise confirm"
    elif violating:
        outcome = Outcome.VIOLATED
        witness = max(confirmed, key=_weight)
        reason = _violation(witness, claim, context)
    elif (worst.adversary, worst.secret) in context.uninformed and measured:
        reason = _untested(worst, context)
        certificate = None
    elif unsettled:
        reason = _doubt(unsettled, claim, context) + _certified(certificate, claim, context)
    elif persons < context.population:
        reason = _partial(persons, claim, context) + _certified(certificate, claim, context)
    else:
        outcome, reason = Outcome.HOLDS, _holding(findings, worst, claim, context)
    return Verdict(
        outcome=outcome,
        claim=claim,
        epsilon=_at_most(findings, claim),
        at_least=max((finding.lower for finding in measured), default=0.0),
        at_most=_at_most(findings, claim),
        witness=witness.person,
        rows=witness.rows,
        adversary=worst.adversary,
        secret=worst.secret,
        reason=reason,
        examined=persons,
        population=context.population,
        certificate=certificate,
        draws_needed=None if violating or context.doubts else _needed(unsettled, claim),
    )


def _at_most(findings: Sequence[Finding], claim: Claim) -> float:
    """An upper limit of the largest distance: that of the worst person alone, since only hers can be wrong."""
    limits = [min(finding.alone, finding.upper) for finding in findings]
    kept = [min(limit, claim.epsilon) if one.kept else limit for one, limit in zip(findings, limits, strict=True)]
    return max(kept)


def percent(probability: float) -> str:
    """A probability in percent, with as many digits as it has: 95 %, 99.9 %."""
    return f"{100 * probability:.6g} %"


def _rounded_up(share: float, digits: int) -> float:
    """A share with so many digits, and not below it."""
    scale = 10 ** (digits - 1 - math.floor(math.log10(share))) if share > 0 else 1
    return math.ceil(share * scale) / scale


def _weight(finding: Finding) -> tuple[float, float, float, int]:
    """How strongly a finding breaks a claim; of equals the first person."""
    often = finding.delta_at_epsilon.lower if finding.delta_at_epsilon else 0.0
    return finding.lower, finding.delta_beyond_noise or often, finding.distance, -finding.person


def _certificate(
    findings: Sequence[Finding], violating: Sequence[Finding], claim: Claim, context: JudgingContext, pairs: int
) -> Certificate | None:
    """Limits on how many of all persons do not keep the claim; certificates of all pairs hold together."""
    persons = {finding.person for finding in findings}
    if len(persons) >= context.population or not context.random or context.spent:
        return None
    exact = all(finding.exact for finding in findings)
    unsettled = [finding for finding in findings if not finding.satisfies_together(claim)]
    error = (1 - claim.confidence) * (1 if exact else HALF) / pairs
    possible, proven = (len({each.person for each in group} & context.random) for group in (unsettled, violating))
    least = certify(context.population, len(context.random), proven, error).least
    return replace(certify(context.population, len(context.random), possible, error), least=least)


def _named(finding: Finding, context: JudgingContext) -> str:
    return person_in_words(finding.person, finding.rows, context.rows, is_record=context.unit == "record")


def _interval(finding: Finding) -> str:
    if finding.lower == finding.upper:
        return f"{finding.distance:.4g}"
    return f"{finding.distance:.4g} (between {finding.lower:.4g} and {finding.upper:.4g})"


def _by_tail(finding: Finding, claim: Claim) -> bool:
    return claim.delta > 0 and not finding.exact


def _violation(finding: Finding, claim: Claim, context: JudgingContext) -> str:
    who = _named(finding, context)
    if not _by_tail(finding, claim):
        return (
            f"{who} moves the inference about {context.oneself} by {_interval(finding)}; "
            f"the claim allows less than {claim.epsilon:g}"
        )
    tail = finding.delta_at_epsilon
    assert tail is not None
    if finding.violates_beyond_noise(claim):
        moved = (
            f"{who} moves the inference about {context.oneself} by {claim.epsilon:g} or more with probability at least "
            f"{finding.delta_beyond_noise:.4g}, however draws are paired"
        )
    else:
        moved = (
            f"inferences about {who} from a draw with it and one without lie {claim.epsilon:g} or more apart with "
            f"probability {tail.value:.4g} (at least {tail.lower:.4g}), f's own noise included{_placebo(finding)}"
        )
    return f"{moved}; the claim allows {claim.delta:g}"


def _placebo(finding: Finding) -> str:
    """How often two draws of f(D) itself lie as far apart."""
    placebo = finding.placebo
    return "" if placebo is None else f" (two draws of f(D) itself: {placebo.value:.4g})"


def _not_proven(worst: Finding, context: JudgingContext) -> str:
    return f"the largest distance seen, {worst.distance:.4g} of {_named(worst, context)}, therefore proves nothing"


def _needed(unsettled: Sequence[Finding], claim: Claim) -> int | None:
    """About how many draws would settle this claim; those that would settle another one say nothing."""
    mine = [finding for finding in unsettled if finding.claim == claim]
    known = [finding.draws_needed for finding in mine if finding.draws_needed is not None]
    return max(known, default=None)


def _count(number: int, context: JudgingContext) -> str:
    return f"{number} {context.unit}{'' if number == 1 else 's'}"


def _count_persons(findings: Sequence[Finding], context: JudgingContext) -> str:
    return _count(len({finding.person for finding in findings}), context)


def _doubt(unsettled: Sequence[Finding], claim: Claim, context: JudgingContext) -> str:
    failures = [finding for finding in unsettled if finding.failure is not None]
    if failures:
        return f"{_count_persons(failures, context)} could not be measured ({failures[0].failure})"
    if claim.delta == 0 and unsettled[0].secret in context.unprovable and not unsettled[0].exact:
        return (
            f"this distance has no confidence limits where f is randomized and delta = 0, so that only estimates are "
            f"shown for {_count_persons(unsettled, context)}; claim a delta above 0, or choose another distance"
        )
    noisy = [finding for finding in unsettled if claim.delta > 0 and not finding.exact and finding.reaches(claim)]
    if noisy:
        worst = max(noisy, key=_weight)
        return (
            f"{_violation(worst, claim, context)}; whether {context.unit}s or only f's noise does this, pairs of equal "
            'seeds cannot tell; pairs = "independent" judges f with its noise'
        )
    needed = _needed(unsettled, claim)
    settle = f"about {needed:,} draws would settle it" if needed else "more draws may settle it"
    draws = max(finding.draws for finding in unsettled)
    return (
        f"{_count_persons(unsettled, context)} may lie on either side of the claim (ε = {claim.epsilon:g}) after "
        f"{draws:,} draws; {settle}"
    )


def _partial(persons: int, claim: Claim, context: JudgingContext) -> str:
    return (
        f"all {_count(persons, context)} examined, of {context.population}, stay below {claim.epsilon:g}, "
        f"but only an audit of all {context.unit}s can say that the claim holds"
    )


def _certified(certificate: Certificate | None, claim: Claim, context: JudgingContext) -> str:
    if certificate is None or certificate.share >= 1:
        return ""
    return (
        f"; with {percent(claim.confidence)} confidence at most {percent(_rounded_up(certificate.share, 4))} of all "
        f"{context.unit}s do not keep it"
    )


def _holding(findings: Sequence[Finding], worst: Finding, claim: Claim, context: JudgingContext) -> str:
    often = f" with probability above {claim.delta:g}" if _by_tail(worst, claim) else ""
    nobody = (
        f"no {context.unit} of {context.population} moves the inference about {context.oneself} by "
        f"{claim.epsilon:g} or more{often}"
    )
    nobody += _without_evidence(findings)
    if worst.exact and worst.distance == 0:
        return (
            f"{nobody}; all distances are 0, so that the release says the same of everybody with and without her: "
            f"check that f reads the data it is given{_seen_as_deterministic(context)}"
        )
    if worst.exact:
        return (
            f"{nobody}; the largest distance is {worst.distance:.4g}, of {_named(worst, context)}"
            f"{_seen_as_deterministic(context)}"
        )
    if _by_tail(worst, claim):
        return f"{nobody} (draws paired {_pairing(worst)}); {percent(claim.confidence)} confidence"
    most = _at_most(findings, claim)
    return f"{nobody}; with {percent(claim.confidence)} confidence all distances are at most {most:.4g}"


def _untested(worst: Finding, context: JudgingContext) -> str:
    return (
        f"nothing was tested: no released row is about any {context.unit} and shows {worst.secret!r}; check that the "
        "releases hold rows, and that their cells are written as the columns' kinds expect"
    )


def _without_evidence(findings: Sequence[Finding]) -> str:
    """A warning where the adversary had nothing to go by for most persons."""
    blank = sum(len(finding.rows) == 1 and min(finding.uncovered) >= finding.draws for finding in findings)
    return f" (the releases held no evidence about {blank} of them)" if 2 * blank > len(findings) else ""


def _seen_as_deterministic(context: JudgingContext) -> str:
    if context.says_if_random:
        return ""
    return "; f does not say whether it is random, and is treated as deterministic because repeated answers were equal"


def _pairing(finding: Finding) -> str:
    return "by equal seeds" if finding.coupled else "independently"
