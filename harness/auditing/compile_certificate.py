"""From a report to a test report in the sense of ISO/IEC 17025 (7.8.2, 7.8.6), as plain data: certificate.json.

A function of the report, of what the journal says about its oracle, of what run.json says (`run`), of what the auditor
states, and of the day of issue. Everything but the last three is proven by the journal; `checksums` protects all
sections from accidents, and a signature (harness/signing) from people. No section names a person: a witness is the
line of the journal that holds her measurement, by its link in the chain.

The sections, in this order: id and issue, conformity (with its decision rule and risks), who is concerned, what was
tested, with which data, when, by which method, against whom, how much, with which results, what was noticed, which
criteria were assessed, what could have been detected, limits, accepted findings, digests, environment, how to verify.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from harness.auditing.certificate_words import (
    LIMITS,
    METHOD,
    NOT_ASSESSED,
    NOT_STATED,
    claim_sentence,
    conformity_sentence,
    how_to_verify,
    unnamed,
)
from harness.auditing.confidential import with_sorted_values
from harness.auditing.confirm import repeated_in_words
from harness.auditing.decision import decision
from harness.auditing.detectable import detectable_share, exact_detectable, smallest_detectable
from harness.auditing.keyed_digests import unsealed_part
from harness.auditing.plain_plan import declared_divergence
from harness.auditing.plan import Claim
from harness.vocabulary.release import without_vendor_text

FORMAT = 1  # of certificate.json
MALFORMED = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)  # by a rewritten one
LONGEST_NAME = 200  # letters of what a vendor calls its product

Plain = dict[str, Any]


@dataclass(frozen=True)
class Facts:
    """What a certificate says beside the report."""

    issued: str  # date and time
    run: Mapping[str, Any]  # the content of run.json
    statements: Mapping[str, Any]  # of the auditor
    oracle: Mapping[str, Any]  # what the journal says of its oracle: address, options, identity
    head: str  # of the journal
    report: str  # SHA-256 of report.json
    witness: str  # link of the journal's line with the measurement of the witness
    shards: Mapping[str, Any] | None = None  # how many the journal was put together from, and the digest of their heads


def compile_certificate(report: Mapping[str, Any], facts: Facts) -> Plain:
    """The content of certificate.json."""
    plan = with_sorted_values(report["plan"])
    digests = {"journal_head": facts.head, "plan": report["plan_digest"], "report": facts.report}
    of_shards = {} if facts.shards is None else {"shards": dict(facts.shards)}
    sections: Plain = {
        "format": FORMAT,
        "id": report_id(digests, facts.issued),
        "conformity": _conformity(report, facts),
        "parties": _given(facts.statements, "auditor", "authorised_by", "place", "client", "recipient"),
        "item": _item(report, facts),
        "data": _data(plan),
        "dates": _dates(facts),
        "method": _method(facts),
        "claim": {**plan["claim"], "sentence": claim_sentence(report)},
        "decision": decision(report),
        "adversaries": _adversaries(report, plan, facts),
        "sampling": _sampling(report, plan),
        "draws": _draws(report, plan),
        "results": [_result(one) for one in report["results"]],
        "probes": _probes(report),
        "attempts": _attempts(report, facts),
        "baselines": report["baselines"] or NOT_ASSESSED,
        "criteria": _criteria(report),
        "detectable": _detectable(report, plan),
        "limits": list(LIMITS),
        "accepted": list(facts.statements.get("accepted", ())),
        "previous": facts.statements.get("previous"),
        "digests": {**digests, **of_shards},
        "environment": dict(facts.run["versions"]),
        "verify": how_to_verify(_version(facts)),
    }
    return {**sections, "checksums": checksums(sections)}


def facts_of(certificate: Mapping[str, Any], facts: Facts) -> Facts:
    """The same facts with what a certificate says that no journal proves: day of issue, run, and statements."""
    stated = {
        **certificate["parties"],
        **{name: certificate["item"][name] for name in ("release_model", "operated_by")},
        **{name: certificate["dates"][name] for name in ("received", "review_by")},
        "auxiliary_data": certificate["adversaries"]["auxiliary_data"],
        "deviations": certificate["method"]["deviations"],
        "accepted": certificate["accepted"],
        "previous": certificate["previous"],
    }
    run = {
        "started": certificate["dates"]["started"],
        "seconds": certificate["dates"]["seconds"],
        "calls": certificate["attempts"]["calls"],
        "versions": certificate["environment"],
    }
    given = {name: value for name, value in stated.items() if value not in (None, NOT_STATED, [])}
    return replace(facts, issued=certificate["dates"]["issued"], run=run, statements=given)


def to_text(certificate: Mapping[str, Any]) -> str:
    """The bytes of certificate.json as text."""
    return json.dumps(certificate, indent=1, allow_nan=False) + "\n"


def report_id(digests: Mapping[str, str], issued: str) -> str:
    """The id of a test report: one for each audit and issue, and the same whoever computes it."""
    return f"HT-{_digest([digests['journal_head'], digests['plan'], digests['report'], issued])[:20]}"


def checksums(sections: Mapping[str, Any]) -> dict[str, str]:
    """A SHA-256 of each section, so that one which was changed can be named."""
    return {name: _digest(section) for name, section in sections.items()}


def _digest(plain: Any) -> str:
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def _given(statements: Mapping[str, Any], *names: str) -> Plain:
    return {name: statements.get(name, NOT_STATED) for name in names}


def _conformity(report: Mapping[str, Any], facts: Facts) -> Plain:
    verdict = report["verdict"]
    return {
        "outcome": verdict["outcome"],
        "sentence": conformity_sentence(report),
        "reason": unnamed(verdict["reason"], report),
        "at_least": verdict["at_least"],
        "at_most": verdict["at_most"],
        "witness": facts.witness,
        "adversary": verdict["adversary"],
        "secret": verdict["secret"],
        "share": None if verdict["certificate"] is None else verdict["certificate"]["share"],
    }


def _item(report: Mapping[str, Any], facts: Facts) -> Plain:
    card, address = report["oracle"]["card"], facts.oracle.get("address")
    by_index = card["keeps_data"] and not (
        not card["in_process"] if report["plan"]["blind"] is None else report["plan"]["blind"]
    )
    return {
        "name": card["name"][:LONGEST_NAME],
        "version": card["version"][:LONGEST_NAME],
        "address_fingerprint": None if address is None else _digest(address),
        "identity_fingerprint": _digest(unsealed_part(facts.oracle)),
        "card": {name: value for name, value in card.items() if name not in ("name", "version")},
        "access": "black box: only its releases were seen",
        "asked": "by index: it was told which rows are left out"
        if by_index
        else "blind: with tables that do not say who is left out",
        **_given(facts.statements, "operated_by", "release_model"),
    }


def _data(plan: Mapping[str, Any]) -> Plain:
    data = plan["data"]
    return {
        "digest": data["digest"],
        "rows": data["rows"],
        "excluded_rows": data["dropped"],
        "population": data["population"],
        "unit": "one record is one person"
        if data["person"] is None
        else f"a person is all rows with one {data['person']!r}",
        "quasi_identifiers": [{"name": column["name"], "kind": column["kind"]} for column in plan["quasi"]],
        "sensitive": [{"name": secret["name"], "values": len(secret["values"])} for secret in plan["secrets"]],
    }


def _dates(facts: Facts) -> Plain:
    started, seconds = facts.run["started"], facts.run["seconds"]
    ended = datetime.fromisoformat(started) + timedelta(seconds=seconds)
    return {
        "received": facts.statements.get("received"),
        "started": started,
        "seconds": seconds,
        "ended": ended.isoformat(timespec="seconds"),
        "issued": facts.issued,
        "review_by": facts.statements.get("review_by"),
    }


def _method(facts: Facts) -> Plain:
    return {
        **METHOD,
        "software": f"anonymizer-harness {_version(facts)}",
        "deviations": list(facts.statements.get("deviations", ())),
    }


def _version(facts: Facts) -> str:
    return str(facts.run["versions"]["anonymizer-harness"])


def _adversaries(report: Mapping[str, Any], plan: Mapping[str, Any], facts: Facts) -> Plain:
    """Who inferred: the declared ones, or f itself where it releases predictions."""
    tried = dict.fromkeys(result["adversary"] for result in report["results"])
    declared = {one["spec"]["name"]: one["spec"] for one in plan["adversaries"]}
    return {
        "known_columns": [column["name"] for column in plan["quasi"]],
        "auxiliary_data": list(facts.statements.get("auxiliary_data", ())),
        "tried": [
            {"name": name, **{part: declared.get(name, {}).get(part) for part in ("encoder", "model", "prior")}}
            for name in tried
        ],
    }


def _sampling(report: Mapping[str, Any], plan: Mapping[str, Any]) -> Plain:
    selection, population = report["selection"], plan["data"]["population"]
    how = "everybody"
    if selection["persons"] < population:
        how = "drawn uniformly at random, without replacement"
        if selection["at_random"] < selection["persons"]:
            how += "; the others are those whom a release shows to be at risk"
    return {
        "examined": selection["persons"],
        "population": population,
        "at_random": selection["at_random"],
        "asked_about": selection["examined"],
        "how": how,
        "budget": plan["budget"],
    }


def _draws(report: Mapping[str, Any], plan: Mapping[str, Any]) -> Plain:
    return {
        "seed": plan["seed"],
        "looks": [dict(look) for look in report["selection"]["looks"]],
        "pairs": "equal seeds on both sides" if report["oracle"]["coupled"] else "drawn independently",
    }


def _result(result: Mapping[str, Any]) -> Plain:
    """One adversary and secret, with bounds, largest and mean distance."""
    verdict, numbers = result["verdict"], result.get("statistics", {})
    return {
        "adversary": result["adversary"],
        "secret": result["secret"],
        "distance": result["distance"],
        "outcome": verdict["outcome"],
        "exact": result["exact"],
        "at_least": verdict["at_least"],
        "at_most": verdict["at_most"],
        "largest": numbers.get("largest"),
        "mean": numbers.get("mean"),
        "deviation": numbers.get("deviation"),
        "noise_floor": numbers.get("floor"),
        "share_at_or_above": numbers.get("share_at_or_above", {}),
        "unproven": verdict["unproven"],
        "draws": result["draws"],
        "failures": result["failures"],
        "privacy_loss": _privacy_loss(result.get("privacy_loss")),
    }


def _privacy_loss(loss: Mapping[str, Any] | None) -> Plain | None:
    """Without the number of the person."""
    return None if loss is None else {name: value for name, value in loss.items() if name != "witness"}


def _probes(report: Mapping[str, Any]) -> Plain:
    notes = [unnamed(without_vendor_text(note), report) for note in report["notes"]]
    return {
        "noticed": list(dict.fromkeys(notes)),
        "assumed": list(report["assumptions"]),
        "repeated": _repeated(report),
        "coupled": report["oracle"]["coupled"],
        "row_order_invariant": report["oracle"]["row_order_invariant"],
    }


def _repeated(report: Mapping[str, Any]) -> Plain | None:
    confirmed = report["confirmed"]
    return None if confirmed is None else {**confirmed, "sentence": repeated_in_words(confirmed)}


def _attempts(report: Mapping[str, Any], facts: Facts) -> Plain:
    return {
        "calls": facts.run["calls"],
        "failures": sum(result["failures"] for result in report["results"]),
        "not_measured": _not_measured(report["not_measured"]),
        "excluded_rows": report["plan"]["data"]["dropped"],
    }


def _not_measured(section: Mapping[str, Any] | None) -> list[Plain]:
    """The reasons for which persons could not be measured, with their numbers; names nobody."""
    reasons = () if section is None else section["reasons"]
    return [{"reason": one["reason"], "persons": one["persons"]} for one in reasons]


def _criteria(report: Mapping[str, Any]) -> Plain:
    """The three risks of opinion 05/2014 of the Article 29 working party; only what was measured is assessed."""
    secrets = ", ".join(dict.fromkeys(result["secret"] for result in report["results"]))
    return {
        "source": "Article 29 Data Protection Working Party, Opinion 05/2014 on anonymisation techniques (WP216)",
        "singling_out": NOT_ASSESSED,
        "linkability": NOT_ASSESSED,
        "inference": f"assessed: how far a person's own record moves the inference of {secrets}",
    }


def _detectable(report: Mapping[str, Any], plan: Mapping[str, Any]) -> Plain:
    """The smallest effects that this plan could have shown, by secret, and of a sample by share of persons."""
    claim, looks, selection = Claim(**plan["claim"]), report["selection"]["looks"], report["selection"]
    largest = max(looks, key=lambda look: look["draws"])
    random = {one["secret"]: one["exact"] for one in report["results"]}
    for one in report["results"]:
        random[one["secret"]] = random[one["secret"]] and one["exact"]
    shown = {
        secret["name"]: exact_detectable()
        if random[secret["name"]]
        else smallest_detectable(
            declared_divergence(divergence, secret), claim, largest, len(secret["values"]),
            coupled=report["oracle"]["coupled"],
        )
        for secret, divergence in zip(plan["secrets"], plan["divergence"], strict=True)
    }  # fmt: skip
    share = None
    if selection["persons"] < plan["data"]["population"] and selection["at_random"]:
        share = detectable_share(plan["data"]["population"], selection["at_random"], 1 - claim.confidence)
    return {"by_secret": shown, "share_of_persons": share}
