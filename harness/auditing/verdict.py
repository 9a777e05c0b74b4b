"""From findings to a judgement. Knows numbers and the claim; no disk, clock or oracle."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from harness.auditing.finding import Finding
from harness.auditing.plan import Claim
from harness.auditing.select import HALF
from harness.measuring.certificate import Certificate, certify


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
    """The judgement on a claim, with the record that carries it."""

    outcome: Outcome
    claim: Claim
    epsilon: float  # the largest distance seen: minimal ε (v1), minimal δ of v2's indifferentiability
    witness: int  # the record that breaks the claim, or the one with that distance
    reason: str
    examined: int
    population: int
    certificate: Certificate | None = None  # what a random part of the records says about all
    draws_needed: int | None = None  # about how many draws would settle an inconclusive one

    def __str__(self) -> str:
        return f"{self.outcome.name}: {self.reason}"

    def require(self) -> None:
        """Raise AssertionError unless the claim holds; for tests."""
        if self.outcome is not Outcome.HOLDS:
            raise AssertionError(str(self))


def judge(
    findings: Sequence[Finding],
    claim: Claim,
    population: int,
    *,
    exact: bool = True,
    coupled: bool = True,
    random: Iterable[int] = (),
) -> Verdict:
    """VIOLATED needs one record proven to break the claim, HOLDS all proven to keep it and everybody examined.

    `random` are the examined records that were drawn at random and so stand for the others; pairs that are not
    `coupled` also differ by f's own noise, which the words must not blame on a record.
    """
    terms = (claim.epsilon, claim.delta, exact)
    worst = max(findings, key=lambda finding: (finding.distance, -finding.index))
    guilty = [finding for finding in findings if finding.violates(*terms)]
    doubtful = [finding for finding in findings if not finding.satisfies(*terms)]
    certificate = None
    if len(findings) < population and (chosen := set(random)):
        error = (1 - claim.confidence) * (1 if exact else HALF)
        possible, proven = (sum(each.index in chosen for each in group) for group in (doubtful, guilty))
        least = certify(population, len(chosen), proven, error).least
        certificate = replace(certify(population, len(chosen), possible, error), least=least)
    outcome, witness = Outcome.INCONCLUSIVE, worst
    if guilty:
        outcome = Outcome.VIOLATED
        witness = max(
            guilty, key=lambda finding: (finding.lower, finding.delta.lower, finding.distance, -finding.index)
        )
        reason = _violation(witness, claim, exact, coupled)
    elif doubtful:
        reason = _doubt(doubtful, claim) + _certified(certificate, claim)
    elif len(findings) < population:
        reason = _partial(findings, claim, population) + _certified(certificate, claim)
    else:
        outcome, reason = Outcome.HOLDS, _holding(worst, claim, population, exact)
    needed = None if guilty else _needed(doubtful)
    return Verdict(
        outcome, claim, worst.distance, witness.index, reason, len(findings), population, certificate, needed
    )


def _interval(finding: Finding) -> str:
    if finding.lower == finding.upper:
        return f"{finding.distance:.4g}"
    return f"{finding.distance:.4g} (between {finding.lower:.4g} and {finding.upper:.4g})"


def _by_tail(claim: Claim, exact: bool) -> bool:
    return claim.delta > 0 and not exact


def _violation(finding: Finding, claim: Claim, exact: bool, coupled: bool) -> str:
    if _by_tail(claim, exact):
        often = f"with probability {finding.delta.value:.4g} (at least {finding.delta.lower:.4g})"
        if coupled:
            moved = f"record {finding.index} moves the inference about itself by {claim.epsilon:g} or more {often}"
        else:
            moved = (
                f"inferences about record {finding.index} from a draw with it and one without lie {claim.epsilon:g} or "
                f"more apart {often}, f's own noise included"
            )
        return f"{moved}; the claim allows {claim.delta:g}"
    return (
        f"record {finding.index} moves the inference about itself by {_interval(finding)}; "
        f"the claim allows less than {claim.epsilon:g}"
    )


def _needed(doubtful: Sequence[Finding]) -> int | None:
    known = [finding.draws_needed for finding in doubtful if finding.draws_needed is not None]
    return max(known, default=None)


def _doubt(doubtful: Sequence[Finding], claim: Claim) -> str:
    needed = _needed(doubtful)
    settle = f"about {needed:,} draws would settle it" if needed else "more draws may settle it"
    draws = max(finding.draws for finding in doubtful)
    count = f"{len(doubtful)} records" if len(doubtful) > 1 else "1 record"
    return f"{count} may lie on either side of the claim (ε = {claim.epsilon:g}) after {draws:,} draws; {settle}"


def _partial(findings: Sequence[Finding], claim: Claim, population: int) -> str:
    return (
        f"all {len(findings)} records examined, of {population}, stay below {claim.epsilon:g}, "
        "but only an audit of all records can say that the claim holds"
    )


def _certified(certificate: Certificate | None, claim: Claim) -> str:
    if certificate is None or certificate.share >= 1:
        return ""
    return f"; with {claim.confidence:.0%} confidence at most {certificate.share:.2%} of all records do not keep it"


def _holding(worst: Finding, claim: Claim, population: int, exact: bool) -> str:
    often = f" with probability above {claim.delta:g}" if _by_tail(claim, exact) else ""
    return (
        f"no record of {population} moves the inference about itself by {claim.epsilon:g} or more{often}; "
        f"the largest distance is {_interval(worst)}, of record {worst.index}"
    )
