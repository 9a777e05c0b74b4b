"""The command that keeps what is left of a damaged journal: salvage."""

from __future__ import annotations

import argparse
from pathlib import Path

from harness.auditing.folder import JOURNAL
from harness.auditing.journal import entries_beside_persons
from harness.auditing.salvage import salvage as keep_intact
from harness.render.text import counted


def salvage(chosen: argparse.Namespace) -> int:
    """Copy the intact part of a journal into a new folder, and say what was lost."""
    folder: Path = chosen.folder
    into: Path = chosen.out or folder.with_name(f"{folder.name}.salvaged")
    kept, lost = keep_intact(folder, into)
    print(f"{counted(kept, 'line')} of the journal {_are(kept)} intact and kept in {into}")
    print(f"{counted(lost.lines, 'line')} ({lost.size:,} bytes) {_are(lost.lines)} lost, from line {kept + 1} on: what")
    print("was measured there is measured again when the audit goes on, and the report will say so")
    _, owner = next(entries_beside_persons(into / JOURNAL))
    part = f" --shard {owner['shard']['number']}/{owner['shard']['of']}" if "shard" in owner else ""
    print(f"to continue: harness run FILE{part} --out {into}")
    return 0


def _are(number: int) -> str:
    return "is" if number == 1 else "are"
