"""From the events of an audit to everything that is reported about it, as plain data: the content of report.json.

A function of the plan (as plain data) and the events alone: equal audits give equal reports byte for byte, and
`harness verify` compiles the report again from the journal and compares every leaf.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from harness.auditing.confidential import plan_digest
from harness.auditing.confirm import AT_FIRST
from harness.auditing.events import OracleProfile, Selected
from harness.auditing.finding import Finding, to_plain
from harness.auditing.grid import epsilons
from harness.auditing.not_measured import plain_not_measured
from harness.auditing.plain_beside_proportional import proportional_beside_plain
from harness.auditing.plan import Claim
from harness.auditing.reasons import JudgingContext
from harness.auditing.references import plain_baselines, plain_class_sizes
from harness.auditing.report_sentences import assumptions_of, notes_of
from harness.auditing.state import AuditState
from harness.auditing.verdict import Pair, Verdict, judge_pairs, overall, undecided
from harness.measuring.membership import tell_members
from harness.measuring.tail import curve
from harness.vocabulary.errors import JournalError
from harness.vocabulary.oracle import Card
from harness.vocabulary.persons import RowNames
from harness.vocabulary.plain_numbers import plain_number

FORMAT = 2  # of report.json
THRESHOLDS = (1e-3, 10**-2.5, 1e-2, 1e-1)  # v1 §3.4.2 quotes the share above 10^-2.5
ALL_VECTORS, WORST_VECTORS = 1_000, 100  # findings of a pair with vectors: all of so many, else the worst

Plain = dict[str, Any]


def compile_report(state: AuditState) -> Plain:
    """The complete report of an audit that has come to its end; `confidential.withheld` is what may be shown."""
    if state.profile is None or state.selected is None:
        raise JournalError("the audit had not begun to examine records; run the same command again to continue")
    if state.missing or state.closed is None:
        raise JournalError(
            f"the audit is not finished, {state.missing} records are missing; run the same command again to continue"
        )
    findings = tuple(state.all_findings())
    return _compiled(state, findings, judge_pairs(findings, state.claim, _context(state)))


def compile_unfinished(state: AuditState) -> Plain:
    """What an interrupted audit has measured so far: the same as a report, with `unfinished`, and without a verdict."""
    if state.selected is None or not state.examined:
        raise JournalError("the audit had not examined anybody yet; run the same command again to continue")
    findings = tuple(state.all_findings())
    of = len(state.selected.examined)
    examined = of - state.missing
    unit = "record" if state.spec["data"]["person"] is None else "person"
    judged = judge_pairs(findings, state.claim, _context(state))
    reason = f"interrupted: {examined} of {of} {unit}s examined, no verdict; run the same command again to continue"
    verdicts = {pair: undecided(verdict, reason) for pair, verdict in judged.items()}
    report = _compiled(state, findings, verdicts)
    so_far = {"persons": len({one.person for one in findings}), "examined": examined}
    return {**report, "selection": {**report["selection"], **so_far}, "unfinished": {"examined": examined, "of": of}}


def _context(state: AuditState) -> JudgingContext:
    """What judging needs to know beside the findings."""
    spec, profile, selected = state.spec, state.profile, state.selected
    assert profile is not None
    assert selected is not None
    return JudgingContext(
        population=spec["data"]["population"],
        random=frozenset(selected.random),
        coupled=profile.coupled,
        unit="record" if spec["data"]["person"] is None else "person",
        rows=RowNames(**spec["data"]["source"]),
        unprovable=frozenset(
            secret["name"]
            for secret, divergence in zip(spec["secrets"], spec["divergence"], strict=True)
            if divergence["proves"] == "nothing"
        ),
        confirmed=None if state.confirmed is None else _with_duplicates(state.confirmed.persons, selected),
        doubts=state.doubts,
        uninformed=state.uninformed,
        says_if_random=profile.says_if_random,
        noise_stays=_why_noise_stays(profile, state),
    )


def _compiled(state: AuditState, findings: Sequence[Finding], verdicts: dict[Pair, Verdict]) -> Plain:
    spec, profile, selected = state.spec, state.profile, state.selected
    assert profile is not None
    assert selected is not None
    groups = {pair: [one for one in findings if (one.adversary, one.secret) == pair] for pair in verdicts}
    results = [_result(spec, state, pair, groups[pair], verdict) for pair, verdict in verdicts.items()]
    return {
        "format": FORMAT,
        "revealed": True,
        "verdict": _plain_verdict(overall(verdicts)),
        "results": results,
        "notes": notes_of(state, results, _context(state)),
        "assumptions": assumptions_of(spec, state, profile, selected, findings),
        "plan": _as_in_the_journal(spec),
        "plan_digest": plan_digest(spec),
        "oracle": {
            "card": _plain_card(profile.card),
            "coupled": profile.coupled,
            "row_order_invariant": profile.row_order_invariant,
        },
        "proportional": proportional_beside_plain(spec, results),
        "release": None if state.described is None else _as_in_the_journal(state.described.metrics),
        "selection": {
            "persons": len(selected.persons),
            "examined": len(selected.examined),
            "at_random": len(selected.random),
            "looks": [asdict(look) for look in selected.looks],
            "wager": selected.wager,
        },
        "not_measured": plain_not_measured(state),
        "confirmed": _plain_confirmed(state),
        "baselines": plain_baselines(state),
        "class_sizes": plain_class_sizes(state),
        "findings": [to_plain(finding) for finding in _with_few_vectors(findings, groups)],
    }


def _plain_confirmed(state: AuditState) -> Plain | None:
    """How many questions a deterministic f was asked again, at first and at the end, and how many answers differed."""
    if state.confirmed is None:
        return None
    return {
        "at_first": AT_FIRST,
        "repeated": state.confirmed.repeated,
        "different": state.confirmed.different,
        "unanswered": state.confirmed.unanswered,
    }


def _as_in_the_journal(plain: Mapping[str, Any]) -> Plain:
    """Plain data with its keys in the order of the journal, so that a resumed audit has the same bytes."""
    ordered: Plain = json.loads(json.dumps(plain, sort_keys=True))
    return ordered


def _why_noise_stays(profile: OracleProfile, state: AuditState) -> str:
    """Why draws with and without a person differ by the noise of f as well, where f was expected to honour seeds."""
    if profile.ignores_seeds:
        return "f ignores the seed that it is given, so that its own noise does not cancel"
    if len(state.unpaired) * 2 > len(state.latest):
        return "equal seeds do not make draws with and without a person alike, so that f's own noise does not cancel"
    return ""


def _with_duplicates(persons: Sequence[int], selected: Selected) -> frozenset[int]:
    """Persons about whom f was asked again, and those whom they stand for."""
    groups = [group for group in selected.duplicates if group[0] in persons]
    return frozenset(persons).union(*groups)


def _plain_card(card: Card) -> Plain:
    noise = card.noise_epsilon
    return {**asdict(card), "noise_epsilon": None if noise is None else plain_number(noise)}


def _plain_verdict(verdict: Verdict) -> Plain:
    plain = asdict(verdict)
    certificate = plain["certificate"]
    return {
        **plain,
        "outcome": verdict.outcome.value,
        **{name: plain_number(getattr(verdict, name)) for name in ("epsilon", "at_least", "at_most")},
        "rows": list(verdict.rows),
        "certificate": certificate and {**certificate, "share": verdict.certificate and verdict.certificate.share},
    }


def _result(
    spec: Mapping[str, Any], state: AuditState, pair: Pair, findings: Sequence[Finding], verdict: Verdict
) -> Plain:
    """All that is reported about one adversary and one secret."""
    measured = [finding for finding in findings if finding.failure is None]
    number = [secret["name"] for secret in spec["secrets"]].index(pair[1])
    result: Plain = {
        "adversary": pair[0],
        "secret": pair[1],
        "distance": spec["divergence"][number]["name"],
        "describes": spec["divergence"][number]["describes"],
        "verdict": _plain_verdict(verdict),
        "exact": all(finding.exact for finding in findings),
        "failures": len(findings) - len(measured),
        "draws": sorted({finding.draws for finding in measured}),
    }
    if not measured:
        return result
    return {
        **result,
        "statistics": _statistics(measured, state.claim),
        "uncovered": {
            side: sum(finding.uncovered[place] > 0 for finding in measured)
            for place, side in enumerate(("present", "absent"))
        },
        "curve": _curve(measured, float(spec["divergence"][number]["reach"])),
        **_at_the_claim(measured),
        "privacy_loss": _privacy_loss(measured, state.profile),
        "membership": _membership(measured, state.claim),
    }


def _statistics(findings: Sequence[Finding], claim: Claim) -> Plain:
    """Distances over all persons.

    Where chance plays a part an estimate is mostly noise: shares and counts are then those of limits, and the mean
    stands beside the noise floor.
    """
    distances, lowers, uppers = (
        np.array([getattr(finding, name) for finding in findings]) for name in ("distance", "lower", "upper")
    )
    floors = [finding.floor for finding in findings if finding.floor is not None]
    thresholds = sorted({*THRESHOLDS, claim.epsilon})
    infinite = bool(np.isinf(distances).any())
    exact = all(finding.exact for finding in findings)
    return {
        "largest": plain_number(float(distances.max())),
        "mean": plain_number(float(distances.mean())),
        "deviation": None if infinite else float(distances.std()),
        "share_at_or_above": {f"{limit:.4g}": float((lowers >= limit).mean()) for limit in thresholds},
        "share_possibly_at_or_above": {f"{limit:.4g}": float((uppers >= limit).mean()) for limit in thresholds},
        "share_of_changed_predictions": float(np.mean([finding.changed for finding in findings])) if exact else None,
        "floor": float(np.mean(floors)) if floors else None,
        "by_decade": _by_decade(distances if exact else lowers),
    }


def _by_decade(distances: np.ndarray[Any, Any]) -> list[Plain]:
    edges = [0.0, *(10.0**power for power in range(-5, 1)), np.inf]
    counts = np.histogram(distances[np.isfinite(distances)], edges)[0]
    counts[-1] += int(np.isinf(distances).sum())
    return [{"from": edge, "count": int(count)} for edge, count in zip(edges[:-1], counts, strict=True)]


def _curve(findings: Sequence[Finding], reach: float) -> list[Plain]:
    """(ε, δ): the largest share of pairs at or above each ε, in a band that holds for all persons and ε at once.

    Exact when nothing is random: a person lies at or above ε, or does not.
    """
    grid = epsilons(reach)
    if all(finding.exact for finding in findings):
        largest = max(finding.distance for finding in findings)
        shares = lowers = uppers = np.array([float(largest >= epsilon) for epsilon in grid])
    else:
        # The largest count of those with equal draws and level has the largest share and limits.
        levels = {(finding.draws, finding.alpha) for finding in findings}
        curves = [
            curve(np.max([one.exceedances for one in findings if (one.draws, one.alpha) == level], axis=0), *level)
            for level in sorted(levels)
        ]
        shares, lowers, uppers = (
            np.max([getattr(each, part) for each in curves], axis=0) for part in ("shares", "lowers", "uppers")
        )
    columns = zip(grid, shares.tolist(), lowers.tolist(), uppers.tolist(), strict=True)
    return [dict(zip(("epsilon", "delta", "lower", "upper"), point, strict=True)) for point in columns]


def _at_the_claim(findings: Sequence[Finding]) -> Plain:
    """The claim read both ways, over all persons: δ at its ε, ε at its δ, each with limits and the person it is of.

    `indifferentiability` is the δ of v2, Definition 1: the largest distance itself.
    """
    worst = max(findings, key=lambda finding: (finding.distance, -finding.person))
    read: Plain = {}
    for name, field in (("smallest_delta", "delta_at_epsilon"), ("smallest_epsilon", "epsilon_at_delta")):
        limits = [(getattr(finding, field), finding.person) for finding in findings]
        most, witness = max(limits, key=lambda one: (one[0].value, one[0].upper, -one[1]))
        ends = {end: plain_number(max(getattr(each, end) for each, _ in limits)) for end in ("lower", "upper")}
        read[name] = {"value": plain_number(most.value), **ends, "witness": witness}
    read["indifferentiability"] = {
        "value": plain_number(worst.distance),
        "lower": plain_number(max(finding.lower for finding in findings)),
        "upper": plain_number(max(finding.upper for finding in findings)),
        "witness": worst.person,
    }
    return read


def _privacy_loss(findings: Sequence[Finding], profile: OracleProfile | None) -> Plain | None:
    """The differential privacy that is claimed, and the largest loss that the draws prove."""
    losses = [(finding.privacy_loss, -finding.person) for finding in findings if finding.privacy_loss is not None]
    claimed = profile.card.noise_epsilon if profile is not None else None
    if claimed is None or not losses:
        return None
    most, person = max(losses)
    delta = profile.card.noise_delta if profile is not None else None
    return {"claimed": claimed, "delta": delta, "at_least": most, "witness": -person, "refuted": most > claimed}


def _membership(findings: Sequence[Finding], claim: Claim) -> Plain | None:
    """How well one threshold on the confidence in the true value tells members from others, over all persons.

    `certain` is the share of persons whom an adversary with both models tells with certainty (f deterministic, d > 0).
    """
    scores = [finding.confidence for finding in findings if finding.confidence]
    members, others = (np.array([score[side] for score in scores]) for side in (0, 1))
    told = tell_members(members, others, claim.confidence)
    if told is None:
        return None
    exact = all(finding.exact for finding in findings)
    return {
        "persons": told.persons,
        "auc": asdict(told.auc),
        "points": [asdict(point) for point in told.points],
        "certain": float(np.mean([one.distance > 0 for one in findings])) if exact else None,
    }


def _with_few_vectors(findings: Sequence[Finding], groups: Mapping[Pair, Sequence[Finding]]) -> list[Finding]:
    """Large reports keep the vectors of the worst findings only."""
    keep: set[tuple[str, str, int]] = set()
    for (adversary, secret), group in groups.items():
        worst = sorted(group, key=lambda finding: (-finding.lower, -finding.distance, finding.person))
        chosen = worst if len(worst) <= ALL_VECTORS else worst[:WORST_VECTORS]
        keep.update((adversary, secret, finding.person) for finding in chosen)
    return [
        finding
        if (finding.adversary, finding.secret, finding.person) in keep
        else replace(finding, present=None, absent=None, per_value=None)
        for finding in findings
    ]
