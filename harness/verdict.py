"""From findings to a judgement. Knows numbers and the claim; no disk, clock or oracle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from harness.certificate import certify
from harness.plan import Claim
from harness.procedure import Finding


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
    witness: int | None  # the record with it, or the one that breaks the claim
    reason: str
    examined: int
    population: int

    def __str__(self) -> str:
        return f"{self.outcome.name}: {self.reason}"

    def require(self) -> None:
        """Raise AssertionError unless the claim holds; for tests."""
        if self.outcome is not Outcome.HOLDS:
            raise AssertionError(str(self))


def judge(findings: Sequence[Finding], claim: Claim, population: int) -> Verdict:
    """VIOLATED needs one lower bound at ε or above, HOLDS all upper bounds below it and everybody examined."""
    worst = max(findings, key=lambda finding: (finding.distance, -finding.index))
    proof = max(findings, key=lambda finding: (finding.lower, finding.distance, -finding.index))
    doubtful = [finding for finding in findings if finding.upper >= claim.epsilon]
    if proof.lower >= claim.epsilon:
        outcome, witness, reason = Outcome.VIOLATED, proof, _violation(proof, claim)
    elif doubtful:
        outcome, witness, reason = Outcome.INCONCLUSIVE, worst, _doubt(doubtful, claim)
    elif len(findings) < population:
        outcome, witness, reason = Outcome.INCONCLUSIVE, worst, _partial(findings, claim, population)
    else:
        outcome, witness, reason = Outcome.HOLDS, worst, _holding(worst, claim, population)
    return Verdict(outcome, claim, worst.distance, witness.index, reason, len(findings), population)


def _interval(finding: Finding) -> str:
    if finding.lower == finding.upper:
        return f"{finding.distance:.4g}"
    return f"{finding.distance:.4g} (between {finding.lower:.4g} and {finding.upper:.4g})"


def _violation(finding: Finding, claim: Claim) -> str:
    return (
        f"record {finding.index} moves the inference about itself by {_interval(finding)}; "
        f"the claim allows less than {claim.epsilon:g}"
    )


def _doubt(doubtful: Sequence[Finding], claim: Claim) -> str:
    draws = max(finding.draws for finding in doubtful)
    return (
        f"{len(doubtful)} records may or may not stay below {claim.epsilon:g}: "
        f"{draws} draws leave their intervals on both sides of it; more draws will settle it"
    )


def _partial(findings: Sequence[Finding], claim: Claim, population: int) -> str:
    share = certify(population, len(findings), 0, 1 - claim.confidence).share
    return (
        f"all {len(findings)} records examined, of {population}, stay below {claim.epsilon:g}; with "
        f"{claim.confidence:.0%} confidence at most {share:.2%} of all records do not. "
        "Only an audit of all records can say that the claim holds"
    )


def _holding(worst: Finding, claim: Claim, population: int) -> str:
    return (
        f"none of the {population} records moves the inference about itself by {claim.epsilon:g} or more; "
        f"the largest distance is {_interval(worst)}, of record {worst.index}"
    )
