"""What a report says in sentences: what was odd about the oracle, and what a reader must grant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from harness.auditing.confirm import repeated_in_words
from harness.auditing.events import OracleProfile, Selected
from harness.auditing.plain_beside_proportional import in_words, proportional_beside_plain
from harness.auditing.plan import Claim
from harness.auditing.reasons import JudgingContext, percent
from harness.auditing.state import AuditState
from harness.vocabulary.persons import person_in_words
from harness.vocabulary.release import SHARES_ARE_SHOWN

Plain = dict[str, Any]


def notes_of(state: AuditState, results: Sequence[Plain], context: JudgingContext) -> list[str]:
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
    return [
        *_salvaged(state), *(change.words for change in state.accepted), *compared, *_unanswered(state, context),
        *at_first, *sorted(later), *_uncovered(results, context), *_refuted(state, results, context),
    ]  # fmt: skip


def _salvaged(state: AuditState) -> list[str]:
    """What was lost of a damaged journal."""
    return [
        f"the journal was damaged: {lost.lines} {'line of it was' if lost.lines == 1 else 'lines of it were'} lost "
        f"({lost.size} bytes) and measured again; the damaged journal has the SHA-256 {lost.digest}"
        for lost in state.salvaged
    ]


def _unanswered(state: AuditState, context: JudgingContext) -> list[str]:
    """Questions that f answered once and failed on when they were asked again."""
    if state.confirmed is None or not state.confirmed.unanswered:
        return []
    return [
        f"asked again, f failed on {state.confirmed.unanswered} questions about {context.unit}s that it had answered "
        "before"
    ]


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
    return [
        f"the oracle claims differential privacy with {_noise(loss)}, but "
        f"{_named(state, loss['witness'], context)} "
        f"shows at least {loss['at_least']:.3g} ({percent(state.claim.confidence)} confidence)"
        for loss in refuted
    ]


def _named(state: AuditState, person: int, context: JudgingContext) -> str:
    return person_in_words(person, state.rows_of(person), context.rows, is_record=context.unit == "record")


def _noise(loss: Plain) -> str:
    delta = f" and noise_delta = {loss['delta']:g}" if loss["delta"] else ""
    return f"noise_epsilon = {loss['claimed']:g}{delta}"


def assumptions_of(
    spec: Mapping[str, Any], state: AuditState, profile: OracleProfile, selected: Selected,
    findings: int,
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
            f"f is treated as deterministic, and distances as exact, because of its answers to repeated questions "
            f"({repeated_in_words(_confirmed(state))}); equal answers alone do not prove it"
        )
    if not all(selected.exact):
        lines.append(
            f"all {findings} intervals hold together with {percent(claim.confidence)} confidence (union bound "
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


def _confirmed(state: AuditState) -> Mapping[str, int] | None:
    return None if state.confirmed is None else asdict(state.confirmed)


def _who_infers(profile: OracleProfile, selected: Selected) -> str:
    if profile.card.releases == "predictions":
        return "f releases predictions itself, and these are compared as they are; no other adversary was tried"
    names = "; ".join(selected.adversaries)
    many = "the adversary is" if len(selected.adversaries) == 1 else f"{len(selected.adversaries)} adversaries:"
    return f"{many} {names}; another may infer more"
