"""The files in the folder of an audit: their names, and how they are written. Knows no audit.

Each of them is confidential: a journal and a report speak of persons by their rows, a summary names them, the draws of
f(D) are releases, the draws of predictions are about persons, and a log may hold raw rows. All are readable by their
owner alone.
"""

from __future__ import annotations

from pathlib import Path

from harness.auditing.journal import not_written
from harness.vocabulary.private_files import write_private

JOURNAL, REPORT, SUMMARY, RUN = "journal.jsonl", "report.json", "summary.txt", "run.json"
PAGE = "report.html"
CERTIFICATE = "certificate.json"  # the test report
ATTESTATION = "attestation.json"  # the signature
SHARD = "shard.json"  # which part of the audit a folder holds, and the audit.toml it was run with
LOG = "oracle.log"  # what a `python:` anonymizer printed and raised: it may hold raw rows


def write_text(path: Path, text: str) -> None:
    """Write a file of an audit, whole or not at all; what cannot be encoded is written as an escape."""
    try:
        write_private(path, text.encode(errors="backslashreplace"))
    except OSError as error:
        raise not_written(path, error) from None
