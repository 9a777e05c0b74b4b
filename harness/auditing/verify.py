"""What a journal proves by itself: its chain, and every number of the report. Asks no oracle and needs no data.

The report is compiled again from the journal and compared leaf by leaf, after every number of the journal that follows
from others in it, or from the draws that were kept beside it, was derived once more (`derived_numbers`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.auditing.compile_report import compile_report, compile_unfinished
from harness.auditing.confidential import withheld
from harness.auditing.derived_numbers import Derivation
from harness.auditing.draw_store import DrawStore, draws_file, stored_name
from harness.auditing.events import Drawn, Examined, from_entry
from harness.auditing.journal import entries, entries_beside_persons
from harness.auditing.plain_differences import ABSENT, Entries, plain_differences
from harness.auditing.prediction_file import KeptPredictions
from harness.auditing.read_journal import Reading
from harness.auditing.replay import Replay
from harness.auditing.shard_progress import shard_progress
from harness.auditing.state import AuditState
from harness.vocabulary.errors import JournalError

MOST_DIFFERENCES = 5  # named in an error


@dataclass(frozen=True)
class Proven:
    """The state that a journal proves, and how far its measurements with draws were proven."""

    state: AuditState
    has_file: bool  # with draws of predictions
    from_draws: int  # measurements that were made once more from their draws
    without_draws: int  # those whose draws were not kept
    by_own_distance: int  # those by a user's own distance, which is not in the journal


def recompile(journal: Path) -> dict[str, Any]:
    """The complete report that follows from a journal whose chain of hashes is intact."""
    return compiled_of(journal, prove(journal).state)


def recompile_unfinished(journal: Path) -> tuple[dict[str, Any], AuditState]:
    """What follows so far from the journal of an audit that may have been interrupted; the report of a finished one."""
    state = prove(journal).state
    with Reading(journal):
        if state.closed is not None and not state.missing:
            return compile_report(state), state
        return compile_unfinished(state, shard_progress(journal, state)), state


def prove(journal: Path) -> Proven:
    """The state of an audit after all that its journal holds, every derived number of which was derived again."""
    lines = entries(journal)
    with Reading(journal, 1) as reading, KeptPredictions(journal.parent) as kept:
        spec = next(lines)["plan"]
        state, derivation, replay = AuditState(spec), Derivation(spec, kept), Replay(spec)
        for event in map(from_entry, reading.numbered(lines, 2)):
            replay.require(state, event)
            if isinstance(event, Examined):
                derivation.require(state, event)
            state.add(event)
    counts = derivation.from_draws, derivation.without_draws, derivation.by_own_distance
    return Proven(state, kept.exists, *counts)


def compiled_of(journal: Path, state: AuditState) -> dict[str, Any]:
    """The complete report of the state that a journal proves."""
    with Reading(journal):
        return compile_report(state)


def stored_draws(journal: Path) -> tuple[list[str], list[str]]:
    """The files beside a journal whose draws of f(D) are those that it names, and those that are not there."""
    lines = (entry for _, entry in entries_beside_persons(journal) if Drawn.name in entry)
    with Reading(journal):
        drawn = [event for event in map(from_entry, lines) if isinstance(event, Drawn)]
        digests = {stored_name(one.purpose, one.question): one.digests for one in drawn}  # the last of a name counts
    files = {name: draws_file(journal.parent, name) for name in sorted(digests)}
    checked = [name for name, path in files.items() if os.path.lexists(path)]
    for name in checked:
        DrawStore(journal.parent).load(name, digests[name])
    return [files[name].name for name in checked], [files[name].name for name in files if name not in checked]


def verify_report(journal: Path, report: Path) -> dict[str, Any]:
    """The report that the journal proves; the file must say the same in every leaf, and nothing else."""
    return require_report(recompile(journal), report)


def require_report(complete: dict[str, Any], report: Path) -> dict[str, Any]:
    """What the file says, which must follow from the complete report: all of it, or all but what is confidential."""
    try:
        text = report.read_text(encoding="utf-8")
        forms = withheld(complete), complete
        different = [differing_leaves(text, json.dumps(form, allow_nan=False) + "\n") for form in forms]
    except (OSError, ValueError, RecursionError) as error:
        raise JournalError(f"{report}: cannot be read as a report: {error}") from None
    if "" not in different:
        raise JournalError(f"{report}: not what the journal proves: {min(different, key=len)}")
    return forms[different.index("")]


def differing_leaves(text: str, proven: str) -> str:
    """The first places at which a JSON text is not the proven one, in words; empty if they are the same."""
    if text == proven:  # byte for byte what a run writes
        return ""
    different = list(differences(_with_spelled_numbers(text), _with_spelled_numbers(proven)))
    more = f" (and {len(different) - MOST_DIFFERENCES} more)" if len(different) > MOST_DIFFERENCES else ""
    return "; ".join(different[:MOST_DIFFERENCES]) + more


def _with_spelled_numbers(text: str) -> Any:
    """JSON with its numbers as they are written, since 0.30 and 0.3 are one number.

    A key that occurs twice in one object is refused: readers differ in which of the two they take.
    """

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [key for key, _ in pairs]
        twice = next((key for key in keys if keys.count(key) > 1), None)
        if twice is not None:
            raise ValueError(f"the key {twice!r} occurs twice in one object")
        return dict(pairs)

    return json.loads(text, parse_float=Spelled, parse_int=Spelled, object_pairs_hook=once)


class Spelled(str):
    """A number as it is written; prints without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def differences(claimed: Any, proven: Any) -> Iterator[str]:
    """Every place at which a report differs from what the journal proves, in words."""
    for found in plain_differences(claimed, proven):
        if found.one is ABSENT:
            yield f"{found.place} is missing"
        elif found.other is ABSENT:
            yield f"{found.place} does not follow from the journal"
        else:
            has, but = ("has", "") if isinstance(found.one, Entries) else ("is", "but ")
            yield f"{found.place} {has} {found.one!r:.80}, {but}the journal proves {found.other!r:.80}"
