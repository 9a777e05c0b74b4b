"""What a journal proves by itself: its chain, and every number of the report. Asks no oracle and needs no data.

The report is compiled again from the journal and compared leaf by leaf. Where chance plays no part the journal holds
both predictions, and each distance must be, bit for bit, the one between them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from harness.auditing.compile_report import compile_report, compile_unfinished
from harness.auditing.draw_store import DrawStore, draws_file, stored_name
from harness.auditing.events import Drawn, Event, Examined, Measurement, Selected, from_entry
from harness.auditing.journal import entries
from harness.auditing.plain_differences import ABSENT, Entries, plain_differences
from harness.auditing.state import AuditState
from harness.measuring.divergence import Divergence, divergence_named
from harness.measuring.estimate import compare
from harness.vocabulary.errors import InputError, JournalError

MOST_DIFFERENCES = 5  # named in an error
# What reading a journal raises whose chain of hashes is intact but whose content no audit writes.
IMPOSSIBLE = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    InputError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
)


def recompile(journal: Path) -> dict[str, Any]:
    """The report that follows from a journal whose chain of hashes is intact."""
    return _compile(journal, compile_report)


def recompile_unfinished(journal: Path) -> dict[str, Any]:
    """What follows so far from the journal of an audit that may have been interrupted; the report of a finished one."""
    return _compile(journal, lambda state: (compile_report if _is_finished(state) else compile_unfinished)(state))


def _is_finished(state: AuditState) -> bool:
    return state.closed is not None and not state.missing


def _compile(journal: Path, compiled: Callable[[AuditState], dict[str, Any]]) -> dict[str, Any]:
    owner, *lines = entries(journal)
    try:
        proven = _with_proven_distances(owner["plan"], map(from_entry, lines))
        return compiled(AuditState.fold(owner["plan"], proven))
    except JournalError as error:
        raise error.within(str(journal)) from None
    except IMPOSSIBLE as error:
        raise _impossible(journal, error) from error


def stored_draws(journal: Path) -> tuple[list[str], list[str]]:
    """The files beside a journal whose draws of f(D) are those that it names, and those that are not there."""
    _, *lines = entries(journal)
    try:
        drawn = [event for event in map(from_entry, lines) if isinstance(event, Drawn)]
        digests = {stored_name(one.purpose, one.question): one.digests for one in drawn}  # the last of a name counts
    except IMPOSSIBLE as error:
        raise _impossible(journal, error) from error
    files = {name: draws_file(journal.parent, name) for name in sorted(digests)}
    checked = [name for name, path in files.items() if os.path.lexists(path)]
    for name in checked:
        DrawStore(journal.parent).load(name, digests[name])
    return [files[name].name for name in checked], [files[name].name for name in files if name not in checked]


def _impossible(journal: Path, error: Exception) -> JournalError:
    why = f"{type(error).__name__}: {error}"
    return JournalError(f"{journal}: holds what no audit writes ({why:.200}); the journal cannot be trusted")


def _with_proven_distances(spec: Mapping[str, Any], events: Iterable[Event]) -> Iterator[Event]:
    """The same events, if every exact distance is that of its two predictions; of distances of ours, not a user's."""
    divergences = [_divergence(one, secret) for one, secret in zip(spec["divergence"], spec["secrets"], strict=True)]
    exact: tuple[bool, ...] = ()
    for event in events:
        if isinstance(event, Selected):
            exact = event.exact
        elif isinstance(event, Examined):
            for one in event.measurements:
                if exact[one.adversary] and one.failure is None:
                    _require_proven(event.person, one, divergences[one.secret])
        yield event


def _require_proven(person: int, measurement: Measurement, divergence: Divergence | None) -> None:
    if divergence is None:
        return
    present, absent = (np.array([side]) for side in (measurement.present, measurement.absent))
    proven = compare(divergence, present, absent, alpha=0.0, coupled=True, exact=True).distance
    if proven != measurement.distance:
        raise JournalError(
            f"the distance of person {person} is {measurement.distance!r}, but her two predictions lie {proven!r} "
            "apart; the journal cannot be trusted"
        )


def _divergence(declared: Mapping[str, Any], secret: Mapping[str, Any]) -> Divergence | None:
    """The divergence that a plan names, made again from its declaration; None if it was given as an object."""
    if not str(declared["identity"].get("class", "")).startswith("harness."):
        return None
    try:
        divergence = divergence_named(declared["declared"]).for_values(tuple(secret["values"]))
    except InputError:  # the parameters of an object, which no name declares
        return None
    return divergence if divergence.spec() == declared["identity"]["spec"] else None


def verify_report(journal: Path, report: Path) -> dict[str, Any]:
    """The report that the journal proves; the file must say the same in every leaf, and nothing else."""
    proven = recompile(journal)
    written = json.dumps(proven, allow_nan=False) + "\n"
    try:
        text = report.read_text(encoding="utf-8")
        if text == written:  # byte for byte what a run writes
            return proven
        different = list(differences(_with_spelled_numbers(text), _with_spelled_numbers(written)))
    except (OSError, ValueError, RecursionError) as error:
        raise JournalError(f"{report}: cannot be read as a report: {error}") from None
    if different:
        more = f" (and {len(different) - MOST_DIFFERENCES} more)" if len(different) > MOST_DIFFERENCES else ""
        raise JournalError(f"{report}: not what the journal proves: {'; '.join(different[:MOST_DIFFERENCES])}{more}")
    return proven


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
