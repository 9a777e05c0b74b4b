"""What a test report takes from a journal: its head, its oracle, and the line that holds the witness. Asks nobody."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.auditing.compile_certificate import Facts
from harness.auditing.journal import Entry, linked_entries


def head_of(journal: Path) -> str:
    """The link of the last line: whoever keeps it can tell this journal from every other one."""
    return [link for link, _ in linked_entries(journal)][-1]


def gather_facts(
    journal: Path, report: Mapping[str, Any], text: str, run: Mapping[str, Any], statements: Mapping[str, Any],
    issued: str,
) -> Facts:  # fmt: skip
    """The facts of an audit whose report.json holds this text."""
    lines = list(linked_entries(journal))
    return Facts(
        issued=issued,
        run=run,
        statements=statements,
        oracle=lines[0][1]["oracle"],
        head=lines[-1][0],
        report=hashlib.sha256(text.encode()).hexdigest(),
        witness=_link_of(lines, report["verdict"]["witness"]),
    )


def _link_of(lines: Sequence[tuple[str, Entry]], person: int) -> str:
    """The link of the last line about a person, or about the one who was examined for her."""
    groups = [entry["selected"]["duplicates"] for _, entry in lines if "selected" in entry][-1]
    examined = next((group[0] for group in groups if person in group), person)
    about = [link for link, entry in lines if "examined" in entry and entry["examined"]["person"] == examined]
    return about[-1]
