"""The sentence of a verdict: what was found, of whom, and what it rests on. Knows findings and the claim.

Each function words one outcome: `violation`, `holding`, and for what stays open `untested`, `open_question`,
`part_of_all` and `not_proven`, with the `certified` share of a random part behind it.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np

from harness.auditing import proofs
from harness.auditing.columns import Array, Columns
from harness.auditing.failures import counted_reasons
from harness.auditing.finding import Finding
from harness.auditing.plan import Claim
from harness.measuring.certificate import Certificate
from harness.vocabulary.persons import LABELS, RowNames, person_in_words


@dataclass(frozen=True)
class JudgingContext:
    """What a verdict depends on beside findings and claim."""

    population: int
    random: frozenset[int] = frozenset()  # examined persons who were drawn at random: they say something about all
    coupled: bool = True  # else pairs also differ by f's own noise, which no sentence may say of a person
    unit: str = "record"  # what a person is called where every row is one
    rows: RowNames = LABELS  # how the source names its rows
    unprovable: frozenset[str] = frozenset()  # secrets whose distance has no confidence limits when δ = 0
    confirmed: frozenset[int] | None = None  # persons about whom f was asked again; None where that needs no asking
    doubts: tuple[str, ...] = ()  # why the answers of f prove nothing
    uninformed: frozenset[tuple[str, str]] = frozenset()  # adversary and secret without evidence about anybody
    says_if_random: bool = True  # else that f is deterministic was only seen
    noise_stays: str = ""  # why f's own noise did not cancel between draws with and without a person
    spent: bool = False  # the limits took all of the error level, so that none is left for a certificate

    @property
    def oneself(self) -> str:
        return "itself" if self.unit == "record" else "herself"


def at_most(findings: Columns, claim: Claim) -> float:
    """An upper limit of the largest distance: that of the worst person alone, since only hers can be wrong."""
    limits = np.minimum(findings.get("own_upper"), findings.get("upper"))
    return float(np.where(findings.get("kept"), np.minimum(limits, claim.epsilon), limits).max())


def percent(probability: float) -> str:
    """A probability in percent, with as many digits as it has: 95 %, 99.9 %."""
    return f"{100 * probability:.6g} %"


def rounded_up(share: float, digits: int) -> float:
    """A share with so many digits, and not below it."""
    scale = 10 ** (digits - 1 - math.floor(math.log10(share))) if share > 0 else 1
    return math.ceil(share * scale) / scale


def weights(findings: Columns) -> list[Array]:
    """How strongly findings break a claim, the most important first."""
    often = np.nan_to_num(findings.get("delta_lower"))
    beyond = np.nan_to_num(findings.get("delta_beyond_noise"))
    return [findings.get("lower"), np.where(beyond == 0, often, beyond), findings.get("distance")]


def _named(finding: Finding, context: JudgingContext) -> str:
    return person_in_words(finding.person, finding.rows, context.rows, is_record=context.unit == "record")


def _interval(finding: Finding) -> str:
    if finding.lower == finding.upper:
        return f"{finding.distance:.4g}"
    return f"{finding.distance:.4g} (between {finding.lower:.4g} and {finding.upper:.4g})"


def _by_tail(finding: Finding, claim: Claim) -> bool:
    return claim.delta > 0 and not finding.exact


def violation(finding: Finding, claim: Claim, context: JudgingContext) -> str:
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


def not_proven(worst: Finding, context: JudgingContext) -> str:
    return f"the largest distance seen, {worst.distance:.4g} of {_named(worst, context)}, therefore proves nothing"


def draws_needed(unsettled: Columns, claim: Claim) -> int | None:
    """About how many draws would settle this claim; those that would settle another one say nothing."""
    same = np.ones(len(unsettled), dtype=bool)
    for name in ("epsilon", "delta", "confidence"):
        same &= unsettled.get(f"measured_{name}") == getattr(claim, name)
    needed = unsettled.get("draws_needed")[same].astype(float)
    known = needed[~np.isnan(needed)]
    return int(known.max()) if len(known) else None


def _count(number: int, context: JudgingContext) -> str:
    return f"{number} {context.unit}{'' if number == 1 else 's'}"


def _count_persons(findings: Columns, context: JudgingContext) -> str:
    return _count(len(np.unique(findings.get("person"))), context)


def open_question(unsettled: Columns, claim: Claim, context: JudgingContext) -> str:
    failures = unsettled.where(unsettled.get("failed"))
    if len(failures):
        reasons = counted_reasons(Counter(map(str, failures.get("failure"))))
        return f"{_count_persons(failures, context)} could not be measured ({reasons})"
    if claim.delta == 0 and unsettled.pair[1] in context.unprovable and not unsettled.get("exact")[0]:
        return (
            f"this distance has no confidence limits where f is randomized and delta = 0, so that only estimates are "
            f"shown for {_count_persons(unsettled, context)}; claim a delta above 0, or choose another distance"
        )
    is_noisy = ~unsettled.get("exact") & proofs.reaches(unsettled.get, claim) & (claim.delta > 0)
    noisy = unsettled.where(is_noisy)
    if len(noisy):
        worst = noisy.first(weights(noisy))
        return (
            f"{violation(worst, claim, context)}; whether {context.unit}s or only f's noise does this, pairs of equal "
            'seeds cannot tell; pairs = "independent" judges f with its noise'
        )
    needed = draws_needed(unsettled, claim)
    settle = f"about {needed:,} draws would settle it" if needed else "more draws may settle it"
    return (
        f"{_count_persons(unsettled, context)} may lie on either side of the claim (ε = {claim.epsilon:g}) after "
        f"{int(unsettled.get('draws').max()):,} draws{_because(context)}; {settle}"
    )


def _because(context: JudgingContext) -> str:
    return f", because {context.noise_stays}" if context.noise_stays else ""


def part_of_all(persons: int, claim: Claim, context: JudgingContext) -> str:
    return (
        f"all {_count(persons, context)} examined, of {context.population}, stay below {claim.epsilon:g}, "
        f"but only an audit of all {context.unit}s can say that the claim holds"
    )


def certified(certificate: Certificate | None, claim: Claim, context: JudgingContext) -> str:
    if certificate is None or certificate.share >= 1:
        return ""
    return (
        f"; with {percent(claim.confidence)} confidence at most {percent(rounded_up(certificate.share, 4))} of all "
        f"{context.unit}s do not keep it"
    )


def holding(findings: Columns, worst: Finding, claim: Claim, context: JudgingContext) -> str:
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
    most = at_most(findings, claim)
    return f"{nobody}; with {percent(claim.confidence)} confidence all distances are at most {most:.4g}"


def untested(worst: Finding, context: JudgingContext) -> str:
    return (
        f"nothing was tested: no released row is about any {context.unit} and shows {worst.secret!r}; check that the "
        "releases hold rows, and that their cells are written as the columns' kinds expect"
    )


def _without_evidence(findings: Columns) -> str:
    """A warning where the adversary had nothing to go by for most persons."""
    in_none = findings.get("uncovered").min(axis=1) >= findings.get("draws")
    blank = int(((findings.get("rows") == 1) & in_none).sum())
    return f" (the releases held no evidence about {blank} of them)" if 2 * blank > len(findings) else ""


def _seen_as_deterministic(context: JudgingContext) -> str:
    if context.says_if_random:
        return ""
    return "; f does not say whether it is random, and is treated as deterministic because repeated answers were equal"


def _pairing(finding: Finding) -> str:
    return "by equal seeds" if finding.coupled else "independently"
