"""From the events of an audit to everything that is reported about it, as plain data: the content of report.json.

A function of the plan (as plain data) and the events alone: equal audits give equal reports byte for byte, and
`harness verify` compiles the report again from the journal and compares every leaf.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from harness.auditing.columns import Columns
from harness.auditing.confidential import plan_digest
from harness.auditing.confirm import AT_FIRST
from harness.auditing.events import OracleProfile, Selected
from harness.auditing.list_findings import is_large, plain_findings
from harness.auditing.not_measured import plain_not_measured
from harness.auditing.plain_beside_proportional import proportional_beside_plain
from harness.auditing.reasons import JudgingContext
from harness.auditing.references import plain_baselines, plain_class_sizes
from harness.auditing.report_sentences import assumptions_of, notes_of
from harness.auditing.shard_progress import ShardProgress
from harness.auditing.state import AuditState
from harness.auditing.state_columns import reported_columns
from harness.auditing.statistics_of_findings import (
    at_the_claim,
    curve_of,
    membership_of,
    privacy_loss_of,
    quantiles_of,
    statistics_of,
)
from harness.auditing.verdict import Pair, Verdict, judge_pairs, overall, undecided
from harness.vocabulary.errors import JournalError
from harness.vocabulary.oracle import Card
from harness.vocabulary.persons import RowNames
from harness.vocabulary.plain_numbers import plain_number

FORMAT = 2  # of report.json

Plain = dict[str, Any]


def compile_report(state: AuditState) -> Plain:
    """The complete report of an audit that has come to its end; `confidential.withheld` is what may be shown."""
    if state.profile is None or state.selected is None:
        raise JournalError("the audit had not begun to examine records; run the same command again to continue")
    if state.missing or state.closed is None:
        raise JournalError(
            f"the audit is not finished, {state.missing} records are missing; run the same command again to continue"
        )
    findings = reported_columns(state)
    return _compiled(state, findings, judge_pairs(findings, state.claim, _context(state)))


def compile_unfinished(state: AuditState, shard: ShardProgress | None = None) -> Plain:
    """What an interrupted audit has measured so far: the same as a report, with `unfinished`, and without a verdict.

    So has a shard, also a finished one.
    """
    if state.selected is None or not state.has_examined:
        if shard is not None:
            raise JournalError(str(shard))
        raise JournalError("the audit had not examined anybody yet; run the same command again to continue")
    findings = reported_columns(state)
    of = len(state.selected.examined)
    examined = of - state.missing
    unit = "record" if state.spec["data"]["person"] is None else "person"
    judged = judge_pairs(findings, state.claim, _context(state))
    reason = f"interrupted: {examined} of {of} {unit}s examined, no verdict; run the same command again to continue"
    if shard is not None:
        reason = str(shard)
    verdicts = {pair: undecided(verdict, reason) for pair, verdict in judged.items()}
    report = _compiled(state, findings, verdicts)
    so_far = {"persons": len(findings[0]), "examined": examined}
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


def _compiled(state: AuditState, findings: Sequence[Columns], verdicts: dict[Pair, Verdict]) -> Plain:
    spec, profile, selected = state.spec, state.profile, state.selected
    assert profile is not None
    assert selected is not None
    results = [_result(spec, state, columns, verdicts[columns.pair]) for columns in findings]
    return {
        "format": FORMAT,
        "revealed": True,
        "verdict": _plain_verdict(overall(verdicts)),
        "results": results,
        "notes": notes_of(state, results, _context(state)),
        "assumptions": assumptions_of(spec, state, profile, selected, sum(map(len, findings))),
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
        **plain_findings(findings, _named(results)),
    }


def _named(results: Sequence[Plain]) -> set[int]:
    """The persons whom results name."""
    named = {result["verdict"]["witness"] for result in results}
    for result in results:
        named |= {part["witness"] for part in result.values() if isinstance(part, dict) and "witness" in part}
    return named


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
    if len(state.unpaired) * 2 > np.count_nonzero(state.latest):
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


def _result(spec: Mapping[str, Any], state: AuditState, findings: Columns, verdict: Verdict) -> Plain:
    """All that is reported about one adversary and one secret."""
    measured = findings.where(~findings.get("failed"))
    number = [secret["name"] for secret in spec["secrets"]].index(findings.pair[1])
    result: Plain = {
        "adversary": findings.pair[0],
        "secret": findings.pair[1],
        "distance": spec["divergence"][number]["name"],
        "describes": spec["divergence"][number]["describes"],
        "verdict": _plain_verdict(verdict),
        "exact": bool(findings.get("exact").all()),
        "failures": len(findings) - len(measured),
        "draws": np.unique(measured.get("draws")).tolist(),
    }
    if not len(measured):
        return result
    uncovered = (measured.get("uncovered") > 0).sum(axis=0).tolist()
    return {
        **result,
        "statistics": statistics_of(measured, state.claim),
        **({"quantiles": quantiles_of(measured)} if is_large(findings) else {}),
        "uncovered": dict(zip(("present", "absent"), uncovered, strict=True)),
        "curve": curve_of(measured, float(spec["divergence"][number]["reach"])),
        **at_the_claim(measured),
        "privacy_loss": privacy_loss_of(measured, state.profile),
        "membership": membership_of(measured, state.claim),
    }
