"""What a test report takes from a journal: its head, its oracle, and the line that holds the witness. Asks nobody."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.auditing.compile_certificate import MALFORMED, Facts, compile_certificate, facts_of, to_text
from harness.auditing.events import Merged
from harness.auditing.journal import Entry, beside_persons_and_head, lines_of, measures


def gather_facts(
    journal: Path, report: Mapping[str, Any], text: str, run: Mapping[str, Any], statements: Mapping[str, Any],
    issued: str,
) -> Facts:  # fmt: skip
    """The facts of an audit whose report.json holds this text."""
    beside, head = beside_persons_and_head(journal)
    owner = beside[0][1]
    merged = next((entry[Merged.name] for _, entry in beside if Merged.name in entry), None)
    return Facts(
        issued=issued,
        run=run,
        statements=statements,
        oracle=owner["oracle"],
        head=head,
        report=hashlib.sha256(text.encode()).hexdigest(),
        witness=_link_of(journal, beside, report["verdict"]["witness"]),
        shards=None if merged is None else {"number": len(merged["heads"]), "root": merged["root"]},
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


def _link_of(journal: Path, beside: Sequence[tuple[str, Entry]], person: int) -> str:
    """The link of the last line about a person, or about the one who was examined for her.

    `beside` are the entries of the journal that are not measurements of a person.
    """
    groups = [entry["selected"]["duplicates"] for _, entry in beside if "selected" in entry][-1]
    examined = next((group[0] for group in groups if person in group), person)
    failed = {link for link, entry in beside if entry.get("failed", {}).get("person") == examined}
    return [line.link for line in lines_of(journal) if measures(line, examined) or line.link in failed][-1]
