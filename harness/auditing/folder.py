"""The files in the folder of an audit: their names, and how they are written. Knows no audit.

Each of them is confidential: a journal and a report speak of persons by their rows, a summary names them, the draws of
f(D) are releases, the draws of predictions are about persons, and a log may hold raw rows. All are readable by their
owner alone.
"""

from __future__ import annotations

import os
from pathlib import Path

from harness.auditing.journal import not_written
from harness.vocabulary.errors import JournalError
from harness.vocabulary.private_files import write_private

JOURNAL, REPORT, SUMMARY, RUN = "journal.jsonl", "report.json", "summary.txt", "run.json"
PAGE = "report.html"
CERTIFICATE = "certificate.json"  # the test report
ATTESTATION = "attestation.json"  # the signature
SHARD = "shard.json"  # which part of the audit a folder holds, and the audit.toml it was run with
LOG = "oracle.log"  # what a `python:` anonymizer printed and raised: it may hold raw rows


def require_journal_of_report(folder: Path) -> None:
    """Raises a JournalError where a finished report would be overwritten because its journal was lost."""
    if os.path.lexists(folder / REPORT) and not _holds_measurements(folder / JOURNAL):
        raise JournalError(
            f"{folder / JOURNAL}: the journal of {folder / REPORT} is missing or empty, and the report would be "
            "overwritten; restore the journal, choose another --out, or remove the folder to measure again"
        )


def _holds_measurements(journal: Path) -> bool:
    """Whether a journal holds a line behind the first, which says whose it is; who opens it says what else is wrong."""
    try:
        with open(journal, "rb") as file:
            return file.readline().endswith(b"\n") and file.readline() != b""
    except OSError as error:
        return not isinstance(error, FileNotFoundError)


def write_text(path: Path, text: str) -> None:
    """Write a file of an audit, whole or not at all; what cannot be encoded is written as an escape."""
    try:
        write_private(path, text.encode(errors="backslashreplace"))
    except OSError as error:
        raise not_written(path, error) from None
