"""What a test report takes from a journal: its head, its oracle, and the line that holds the witness. Asks nobody."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.auditing.compile_certificate import MALFORMED, Facts, compile_certificate, facts_of, to_text
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


def dated_as_issued(path: Path, report: Mapping[str, Any], facts: Facts) -> Facts:
    """The facts with dates and run of the certificate in a file, if it differs from the new one in nothing else."""
    try:
        text = path.read_text(encoding="utf-8")
        before = replace(facts_of(json.loads(text), facts), statements=facts.statements)
        same = to_text(compile_certificate(report, before)) == text
    except (OSError, *MALFORMED):
        return facts  # none is there, or a damaged one: it is issued now
    return before if same else facts


def _link_of(lines: Sequence[tuple[str, Entry]], person: int) -> str:
    """The link of the last line about a person, or about the one who was examined for her."""
    groups = [entry["selected"]["duplicates"] for _, entry in lines if "selected" in entry][-1]
    examined = next((group[0] for group in groups if person in group), person)
    kinds = ("examined", "failed")
    about = [link for link, entry in lines if any(entry.get(kind, {}).get("person") == examined for kind in kinds)]
    return about[-1]
