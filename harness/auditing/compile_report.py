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
from harness.auditing.events import OracleProfile, Selected
from harness.auditing.finding import Finding, to_plain
from harness.auditing.grid import epsilons
from harness.auditing.plain_beside_proportional import in_words, proportional_beside_plain
from harness.auditing.plan import Claim
from harness.auditing.probe import REPEATS
from harness.auditing.reasons import JudgingContext, percent
from harness.auditing.references import plain_baselines, plain_class_sizes
from harness.auditing.state import AuditState
from harness.auditing.verdict import Pair, Verdict, judge_pairs, overall, undecided
from harness.measuring.membership import tell_members
from harness.measuring.tail import curve
from harness.vocabulary.errors import JournalError
from harness.vocabulary.oracle import Card
from harness.vocabulary.persons import RowNames, person_in_words
from harness.vocabulary.plain_numbers import plain_number
from harness.vocabulary.release import SHARES_ARE_SHOWN

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
    return {**_compiled(state, findings, verdicts), "unfinished": {"examined": examined, "of": of}}


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
        "notes": _notes(state, results, _context(state)),
        "assumptions": _assumptions(spec, state, profile, selected, findings),
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
        "confirmed": _plain_confirmed(state),
        "baselines": plain_baselines(state),
        "class_sizes": plain_class_sizes(state),
        "findings": [to_plain(finding) for finding in _with_few_vectors(findings, groups)],
    }


def _plain_confirmed(state: AuditState) -> Plain | None:
    """How many questions a deterministic f was asked again, and how many answers differed."""
    if state.confirmed is None:
        return None
    return {"repeated": state.confirmed.repeated, "different": state.confirmed.different}


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


def _notes(state: AuditState, results: Sequence[Plain], context: JudgingContext) -> list[str]:
    """What was odd about the oracle and its releases, each once, with the number of persons it was seen at."""
    assert state.profile is not None
    at_first = dict.fromkeys(state.profile.notes)
    for drawn in state.drawn.values():
        at_first.update(dict.fromkeys(drawn.notes))
    at_first.update(dict.fromkeys(state.doubts))
    later = [
        f"{note} (without {count} of the {context.unit}s)"
        for note, count in state.notes.items()
        if note not in at_first
    ]
    compared = [in_words(one) for one in proportional_beside_plain(state.spec, results)]
    if compared:  # somebody reads what it says that nobody may
        at_first.pop(SHARES_ARE_SHOWN, None)
    return [*compared, *at_first, *sorted(later), *_uncovered(results, context), *_refuted(state, results, context)]


def _uncovered(results: Sequence[Plain], context: JudgingContext) -> list[str]:
    """How often an adversary had no evidence about a person and fell back on the frequencies of the whole release."""
    notes = []
    for result in results:
        present, absent = (result.get("uncovered", {}).get(side, 0) for side in ("present", "absent"))
        if present or absent:
            notes.append(
                f"{result['adversary']}, {result['secret']}: no released row is evidence about {present} of the "
                f"{context.unit}s with their own rows in the data, and about {absent} without; the frequencies of the "
                "whole release were taken instead"
            )
    return notes


def _refuted(state: AuditState, results: Sequence[Plain], context: JudgingContext) -> list[str]:
    """A claim of differential privacy that the draws contradict."""
    losses = [result["privacy_loss"] for result in results if result.get("privacy_loss")]
    refuted = [loss for loss in losses if loss["refuted"]]
    rows = {finding.person: finding.rows for finding in state.all_findings()} if refuted else {}
    return [
        f"the oracle claims differential privacy with {_noise(loss)}, but "
        f"{person_in_words(loss['witness'], rows[loss['witness']], context.rows, is_record=context.unit == 'record')} "
        f"shows at least {loss['at_least']:.3g} ({percent(state.claim.confidence)} confidence)"
        for loss in refuted
    ]


def _noise(loss: Plain) -> str:
    delta = f" and noise_delta = {loss['delta']:g}" if loss["delta"] else ""
    return f"noise_epsilon = {loss['claimed']:g}{delta}"


def _assumptions(
    spec: Mapping[str, Any], state: AuditState, profile: OracleProfile, selected: Selected,
    findings: Sequence[Finding],
) -> list[str]:  # fmt: skip
    """What a reader must grant, or know, before relying on the verdict."""
    claim, data, unit = Claim(**spec["claim"]), spec["data"], "record"
    distances = dict.fromkeys(f"{one['name']}: {one['describes']}" for one in spec["divergence"])
    lines = [_who_infers(profile, selected), *(f"the distance is {one}" for one in distances)]
    if data["person"] is None:
        lines.append("every person has one record, and the quasi-identifiers are what the adversary knows")
    else:
        unit = "person"
        lines.append(
            f"a person is all rows with one {data['person']!r}; she is left out with all of them, and her distance is "
            "the largest over her rows; the quasi-identifiers are what the adversary knows"
        )
    if any(selected.exact):
        lines.append(
            f"f answered {REPEATS} equal questions at the beginning and {_repeated(state)} at the end equally and is "
            "treated as deterministic: distances are then exact; equal answers alone do not prove it"
        )
    if not all(selected.exact):
        lines.append(
            f"all {len(findings)} intervals hold together with {percent(claim.confidence)} confidence (union bound "
            f"over {unit}s, adversaries and secrets), and so does each other family of limits: tails, curves, privacy "
            "losses"
        )
        lines.append(
            f"that the claim holds, or a limit of the largest distance, rests on limits of the worst {unit} alone, "
            f"each with {percent(claim.confidence)} confidence: only hers can make it wrong"
        )
        lines.append(
            "pairs: both sides were drawn with the same seeds, which leaves each side's law as it is; with delta > 0 a "
            f"{unit} is accused only of what holds for every pairing of the draws"
            if profile.coupled
            else "pairs: both sides were drawn independently, so distances and tails carry f's own noise: compare with "
            "the floor, and with how far two draws of f(D) lie apart"
        )
    blind = spec["blind"] if spec["blind"] is not None else not profile.card.in_process
    lines.append(
        f"f was told which {unit} is left out, and is trusted not to use that"
        if profile.card.keeps_data and not blind
        else f"f was given D without the {unit} as just another table"
    )
    if data["dropped"]:
        lines.append(
            f"{data['dropped']} row{'' if data['dropped'] == 1 else 's'} with missing cells "
            f"{'was' if data['dropped'] == 1 else 'were'} left out, {data['rows']} remain; rows are named as in the "
            "source"
        )
    if spec["budget"] is not None:
        lines.append(_budget(spec, state, selected, unit))
    if len(selected.examined) < len(selected.persons):
        lines.append(
            f"{len(selected.examined)} {unit}s were examined for all {len(selected.persons)}: the oracle states that "
            f"the order of rows makes no difference, a permuted table agreed, so equal {unit}s need one examination"
        )
    return lines


def _budget(spec: Mapping[str, Any], state: AuditState, selected: Selected, unit: str) -> str:
    """Whom a budget was spent on, and why it was spent no further."""
    examined, at_random = len(selected.persons), len(selected.random)
    if examined == spec["data"]["population"]:
        whom, why = f"all {examined} {unit}s", f"every {unit} had all the draws that the verdict needs or the plan has"
    else:
        whom = (
            f"{at_random} {unit}s at random, fixed before the first answer, and {examined - at_random} of the riskiest"
        )
        why = f"what is left buys no further {unit}"
    if state.is_decided:
        why = "a violation is proven"
    return f"the budget of {spec['budget']} calls was for {whom}; it was not spent further because {why}"


def _repeated(state: AuditState) -> int:
    return 0 if state.confirmed is None else state.confirmed.repeated - state.confirmed.different


def _who_infers(profile: OracleProfile, selected: Selected) -> str:
    if profile.card.releases == "predictions":
        return "f releases predictions itself, and these are compared as they are; no other adversary was tried"
    names = "; ".join(selected.adversaries)
    many = "the adversary is" if len(selected.adversaries) == 1 else f"{len(selected.adversaries)} adversaries:"
    return f"{many} {names}; another may infer more"


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
