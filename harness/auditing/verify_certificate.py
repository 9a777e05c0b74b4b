"""Whether certificate.json is what its journal, its report and its own statements give. Asks no oracle.

The certificate is compiled again from the proven report, from the journal, and from what it says itself that no
journal proves: day of issue, statements, and what run.json holds. Every other leaf must come out the same. Those few
are compared with run.json, and with the checksum of their section.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.auditing.compile_certificate import MALFORMED, compile_certificate, facts_of, to_text
from harness.auditing.journal_facts import gather_facts
from harness.auditing.plain_differences import plain_differences
from harness.auditing.verify import differing_leaves
from harness.vocabulary.errors import JournalError

Plain = dict[str, Any]


def require_certificate(path: Path, journal: Path, report: Mapping[str, Any], report_text: str) -> Plain:
    """The certificate in a file, which must follow from journal and report; a JournalError names what does not."""
    try:
        text = path.read_text(encoding="utf-8")
        certificate = json.loads(text)
        facts = gather_facts(journal, report, report_text, {}, {}, "")
        proven = compile_certificate(report, facts_of(certificate, facts))
        different = differing_leaves(text, to_text(proven))
    except JournalError as error:
        raise error.within(str(path)) from None
    except OSError as error:
        raise JournalError(f"{path}: cannot be read: {error.strerror}") from None
    except MALFORMED as error:
        raise JournalError(f"{path}: cannot be read as a certificate: {type(error).__name__}: {error}") from None
    _require_checksums(path, certificate, proven)
    if different:
        raise JournalError(f"{path}: not what journal and report prove: {different}")
    if text != to_text(proven):
        raise JournalError(f"{path}: not written as a certificate is: something was added or moved in it")
    return proven


def _require_checksums(path: Path, certificate: Plain, proven: Plain) -> None:
    """Sections that follow from nothing else than themselves must fit to their checksum."""
    for name, section in proven.items():
        same = certificate.get(name) == section and name != "checksums"
        if same and certificate["checksums"].get(name) != proven["checksums"][name]:
            raise JournalError(f"{path}: the section {name!r} was changed after the certificate was issued")


def require_run(path: Path, certificate: Mapping[str, Any]) -> None:
    """run.json says what the certificate says of the run."""
    try:
        run = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise JournalError(f"{path}: cannot be read: {error}") from None
    for found in plain_differences(run, run_stated_in(certificate)):
        raise JournalError(f"{path}: {found.place} is {found.one!r:.80}, and the certificate says {found.other!r:.80}")


def run_stated_in(certificate: Mapping[str, Any]) -> Plain:
    """What run.json holds, as the certificate says it."""
    return {
        "started": certificate["dates"]["started"],
        "seconds": certificate["dates"]["seconds"],
        "calls": certificate["attempts"]["calls"],
        "versions": certificate["environment"],
    }
