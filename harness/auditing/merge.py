"""The journals of all shards of an audit put together to one, from which the audit goes on to its end. Asks nobody.

    check that every shard is there once, whole, finished, and of the same audit
    -> a journal without shards: what all of them begin with, an event with their heads, the persons of each in turn
    -> the same command goes on from there as from any interrupted audit, so that the report is that of one machine

The new journal takes its name when it is complete, so that a merge which was stopped is just made again. Shards are
read line by line and stay as they are.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from harness.auditing.draw_store import DrawStore, draws_file, stored_name
from harness.auditing.event_types import require_types
from harness.auditing.events import Drawn, Failed, Merged, Resumed, Salvaged, Selected, from_entry, root_of, to_entry
from harness.auditing.folder import JOURNAL
from harness.auditing.journal import (
    Journal,
    entries_beside_persons,
    head_of,
    is_taken,
    lines_of,
    measures_somebody,
    not_written,
    numbered_beside_persons,
    person_of,
)
from harness.auditing.keyed_digests import KEY, sealed_as, unsealed_part
from harness.auditing.prediction_file import FILE as PREDICTIONS
from harness.auditing.prediction_file import whole_records
from harness.auditing.read_journal import Reading
from harness.auditing.shard import Shard
from harness.auditing.what_differs import what_differs
from harness.vocabulary.errors import InputError, JournalError
from harness.vocabulary.private_files import make_private_folder, write_private, write_private_blocks

PARTIAL = "journal.jsonl.merging"
OF_PERSONS = (Failed.name, Resumed.name, Salvaged.name)  # what shards need not have in common

Entry = dict[str, Any]


@dataclass(frozen=True)
class ShardJournal:
    """The journal of a shard: whose it is, and what it has in common with the others."""

    folder: Path
    owner: Entry
    common: dict[tuple[str, Any], Entry]  # by kind and place

    @property
    def path(self) -> Path:
        return self.folder / JOURNAL

    @property
    def number(self) -> int:
        return int(self.owner["shard"]["number"])

    @property
    def of(self) -> int:
        return int(self.owner["shard"]["of"])


def require_same_audit(folders: Sequence[Path], plan: Mapping[str, Any], oracle: Mapping[str, Any]) -> None:
    """Every shard must be of this plan, and of the anonymizer that this identity tells.

    Each shard has a key of its own, so that its secrets can be compared with those of whoever goes on, and not with
    those of another shard: shards of two anonymizers may differ in nothing else.
    """
    for shard in map(_opened, folders):
        before = {name: shard.owner.get(name) for name in ("plan", "oracle")}
        now = {"plan": plan, "oracle": sealed_as(oracle, before["oracle"], shard.path)}
        now = json.loads(json.dumps(now))  # as it would stand in a journal
        if now != before:
            differs = "; ".join(what_differs(before, now))
            raise JournalError(
                f"{shard.folder}: is a shard of another audit than the one that is to go on here ({differs}); run that "
                "shard again, or put the shards together with the audit.toml and the anonymizer they were run with"
            )


def merge(folders: Sequence[Path], out: Path) -> Merged:
    """The journal of the whole audit in `out`, from those of all its shards; says what it was made from."""
    shards = _all_shards([_opened(folder) for folder in folders])
    common = _common(shards)
    heads = tuple(_finished(shard, common) for shard in shards)
    predictions = [whole_records(shard.folder) for shard in shards if os.path.lexists(shard.folder / PREDICTIONS)]
    merged = Merged(heads, root_of(heads))
    owner = {name: value for name, value in shards[0].owner.items() if name != "shard"}
    if (out / JOURNAL).exists():
        _require_same(out / JOURNAL, owner, merged)
        return merged
    try:
        make_private_folder(out)
        _copy_key(shards[0], out)
        _copy_draws(shards, common, out)
        if predictions:
            write_private_blocks(out / PREDICTIONS, chain.from_iterable(predictions))
        _write(out, owner, common, merged, shards)
    except OSError as error:
        raise not_written(out, error) from None
    return merged


def _opened(folder: Path) -> ShardJournal:
    path = folder / JOURNAL
    if not path.exists():
        raise InputError(f"{folder}: holds no journal; expected the --out folder of harness run --shard")
    if is_taken(path):
        raise JournalError(f"{path}: another process is writing this journal; wait until that shard is finished")
    lines = numbered_beside_persons(path)
    _, owner = next(lines)
    if not isinstance(owner.get("shard"), dict):
        raise InputError(f"{folder}: holds a whole audit, not a shard; expected the folder of harness run --shard")
    common: dict[tuple[str, Any], Entry] = {}
    with Reading(path, 1) as reading:
        for reading.line, entry in lines:
            require_types(from_entry(entry))
            ((kind, content),) = entry.items()
            if kind not in OF_PERSONS:
                place = (content["purpose"], content["question"]) if kind == Drawn.name else _ordinal(common, kind)
                common[kind, place] = entry
        reading.line = 1
        shard = ShardJournal(folder, owner, common)
        Shard(shard.number, shard.of, plan_digest(owner))  # whoever has no number, or no plan, is refused here
    return shard


def _ordinal(common: dict[tuple[str, Any], Entry], kind: str) -> int:
    return sum(known == kind for known, _ in common)


def _all_shards(shards: Sequence[ShardJournal]) -> list[ShardJournal]:
    """The shards in their order; every one of the same audit once, and none missing."""
    first = shards[0]
    for shard in shards[1:]:
        one, other = (unsealed_part({**each.owner, "shard": {"of": each.of}}) for each in (first, shard))
        if one != other:
            differs = next(iter(what_differs(one, other)), "the number of shards")
            raise JournalError(f"{shard.folder}: is a shard of another audit than {first.folder} ({differs})")
    by_number: dict[int, ShardJournal] = {}
    for shard in shards:
        if shard.number in by_number:
            twice = by_number[shard.number].folder
            raise InputError(f"shard {shard.number}/{shard.of} is given twice: {twice} and {shard.folder}")
        by_number[shard.number] = shard
    missing = [number for number in range(1, first.of + 1) if number not in by_number]
    if missing:
        shown = ", ".join(map(str, missing[:10])) + (f" and {len(missing) - 10} more" if len(missing) > 10 else "")
        raise InputError(f"of {first.of} shards {len(missing)} are missing: {shown}; give the folders of all of them")
    return [by_number[number] for number in sorted(by_number)]


def _common(shards: Sequence[ShardJournal]) -> dict[tuple[str, Any], Entry]:
    """What shards begin with; one without persons stops sooner. All must have seen the same oracle do the same."""
    longest = max(shards, key=lambda shard: len(shard.common))
    for shard in shards:
        for key, entry in shard.common.items():
            if longest.common.get(key) != entry:
                raise JournalError(
                    f"{shard.folder} and {longest.folder} are shards of one audit, but differ in {key[0]!r}: the "
                    "anonymizer did not answer both alike, so that they cannot be put together"
                )
    if ("selected", 0) not in longest.common:
        raise JournalError(f"{longest.folder}: this shard had not begun to examine records; run it again to continue")
    return longest.common


def _finished(shard: ShardJournal, common: dict[tuple[str, Any], Entry]) -> str:
    """The head of a shard that has come to its end and holds its own persons only."""
    hers = Shard(shard.number, shard.of, plan_digest(shard.owner))
    with Reading(shard.path):
        selected = [from_entry(entry) for (kind, _), entry in common.items() if kind == Selected.name][-1]
        assert isinstance(selected, Selected)
        part = np.array(hers.part(selected.examined), dtype=np.int64)
        seen = np.array(sorted({person for _, person in _persons(shard)}), dtype=np.int64)
    foreign = np.setdiff1d(seen, part)
    if len(foreign):
        raise JournalError(f"{shard.path}: holds person {foreign[0]}, who does not belong to shard {hers}")
    missing = len(np.setdiff1d(part, seen))
    if missing:
        raise InputError(
            f"shard {hers} in {shard.folder} is not finished: {missing} of its {len(part)} records are missing; run it "
            f"again to continue: harness run FILE --shard {hers} --out {shard.folder}"
        )
    return head_of(shard.path)


def plan_digest(owner: Entry) -> str:
    """What persons are shared out by; the plan as the journal has it."""
    return hashlib.sha256(json.dumps(owner["plan"], sort_keys=True).encode()).hexdigest()


def _persons(shard: ShardJournal) -> Iterator[tuple[bytes, int]]:
    """The entries about persons as they are written, and whom they are about."""
    begins = tuple(f'{{"{name}":'.encode() for name in (Failed.name, Salvaged.name))
    for line in lines_of(shard.path):
        if measures_somebody(line):
            yield line.body, person_of(line)
        elif line.body.startswith(begins[0]):
            yield line.body, int(json.loads(line.body)[Failed.name]["person"])


def _salvaged(shard: ShardJournal) -> Iterator[Entry]:
    """What was lost of a damaged journal is told in the report of the whole."""
    for _, entry in entries_beside_persons(shard.path):
        if Salvaged.name in entry:
            yield entry


def _require_same(path: Path, owner: Entry, merged: Merged) -> None:
    """A journal that is there already must be the merge of the same shards, which then just goes on."""
    lines = entries_beside_persons(path)
    _, known = next(lines)
    found = next((entry for _, entry in lines if Merged.name in entry), None)
    if known != owner or found != to_entry(merged):
        raise JournalError(f"{path}: is no merge of these shards; choose another --out, or remove the folder")


def _copy_key(shard: ShardJournal, out: Path) -> None:
    """The key of the secrets in the journal, which is that of the first shard. Each shard has its own, so that secrets
    of different shards are not compared with each other; those of the first must be those of who goes on."""
    if (shard.folder / KEY).exists():
        write_private(out / KEY, (shard.folder / KEY).read_bytes())


def _copy_draws(shards: Sequence[ShardJournal], common: dict[tuple[str, Any], Entry], out: Path) -> None:
    """The draws of f(D), from any shard that has them whole; else f is asked for them again when it goes on."""
    for (kind, place), entry in common.items():
        if kind != Drawn.name:
            continue
        name, digests = stored_name(*place), tuple(entry[Drawn.name]["digests"])
        for shard in shards:
            try:
                DrawStore(shard.folder).load(name, digests)
            except JournalError:
                continue
            write_private(draws_file(out, name), draws_file(shard.folder, name).read_bytes())
            break


def _write(
    out: Path, owner: Entry, common: dict[tuple[str, Any], Entry], merged: Merged, shards: Sequence[ShardJournal]
) -> None:
    partial = out / PARTIAL
    if is_taken(partial):
        raise JournalError(f"{partial}: another process is merging into this folder; wait for it")
    partial.unlink(missing_ok=True)
    with Journal(partial, owner) as journal:
        for entry in common.values():
            journal.append(entry)
        journal.append(to_entry(merged))
        for shard in shards:
            for entry in _salvaged(shard):
                journal.append(entry)
            for body, _ in _persons(shard):
                journal.append_written(body)
    os.replace(partial, out / JOURNAL)
