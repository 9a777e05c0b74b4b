"""What is signed about an audit: an in-toto Statement v1 with the test-result predicate, from the files of its folder.

Subjects are the files, each with the SHA-256 of its bytes, and the plan with its digest. The predicate says what came
out: HOLDS is PASSED, INCONCLUSIVE is WARNED, VIOLATED is FAILED, with one test for each adversary and secret. To check
a statement it is made again from the folder and from the report that the journal proves, and compared leaf by leaf.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from harness.auditing.folder import CERTIFICATE, JOURNAL, PAGE, REPORT
from harness.auditing.plain_differences import plain_differences
from harness.vocabulary.errors import InputError, JournalError

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://in-toto.io/attestation/test-result/v0.1"
RESULTS = {"holds": "PASSED", "inconclusive": "WARNED", "violated": "FAILED"}
TESTS = {"PASSED": "passedTests", "WARNED": "warnedTests", "FAILED": "failedTests"}
PLAN = "plan"  # the subject that is no file
SIGNED = (JOURNAL, REPORT, CERTIFICATE, PAGE)
NEEDED = (JOURNAL, REPORT, CERTIFICATE)  # an audit made from Python without pages has no more

Plain = dict[str, Any]


def statement_of(folder: Path, report: Mapping[str, Any]) -> Plain:
    """The statement about a folder whose journal proves this report."""
    for name in NEEDED:
        if not (folder / name).is_file():
            raise InputError(f"{folder / name}: is not there; only a finished audit can be signed: harness run …")
    files = [name for name in SIGNED if (folder / name).is_file()]
    subjects = [{"name": name, "digest": {"sha256": digest_of(folder / name)}} for name in files]
    plan = {"name": PLAN, "digest": {"sha256": report["plan_digest"]}}
    return {
        "_type": STATEMENT,
        "subject": [*subjects, plan],
        "predicateType": PREDICATE,
        "predicate": _predicate(report, plan),
    }


def serialized(statement: Mapping[str, Any]) -> bytes:
    """The statement as it is signed."""
    return json.dumps(statement, sort_keys=True).encode()


def digest_of(path: Path) -> str:
    """The SHA-256 of a file."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise JournalError(f"{path}: cannot be read: {error.strerror}") from None


def require_statement(payload: bytes, folder: Path, report: Mapping[str, Any]) -> Plain:
    """The signed statement, which must be the one about this folder; a JournalError names the file or the leaf."""
    signed = _parsed(payload)
    subjects = _subjects(signed)
    if subjects.get(PLAN) != report["plan_digest"]:
        raise JournalError(
            f"the signature is of another audit: it names the plan {subjects.get(PLAN)!r:.80}, and this folder holds "
            f"the audit of the plan {report['plan_digest']!r}"
        )
    if unknown := [name for name in subjects if name not in (*SIGNED, PLAN)]:
        raise JournalError(f"the signature names a file that is none of an audit: {unknown[0]!r:.80}")
    if unnamed := [name for name in NEEDED if name not in subjects]:
        raise JournalError(f"the signature does not name {unnamed[0]}")
    if PAGE not in subjects and (folder / PAGE).exists():
        raise JournalError(f"{PAGE} is in the folder, but was not signed")
    for name in SIGNED:  # the journal first: whatever changes it changes the files that are made from it
        if name in subjects:
            _require_file(folder / name, subjects[name])
    expected = json.loads(serialized(statement_of(folder, report)))
    for found in plain_differences(signed, expected):
        raise JournalError(f"{found.place} is {found.one!r:.80}, but the folder gives {found.other!r:.80}")
    return signed


def _require_file(path: Path, digest: str) -> None:
    if not path.is_file():
        raise JournalError(f"{path.name} was signed, but is not in the folder")
    if digest_of(path) != digest:
        raise JournalError(f"{path.name} is not the file that was signed: it was changed since, or is of another audit")


def _predicate(report: Mapping[str, Any], plan: Mapping[str, Any]) -> Plain:
    tests: dict[str, list[str]] = {name: [] for name in TESTS.values()}
    for result in report["results"]:
        tests[TESTS[RESULTS[result["verdict"]["outcome"]]]].append(f"{result['secret']}: {result['adversary']}")
    return {"result": RESULTS[report["verdict"]["outcome"]], "configuration": [dict(plan)], **tests}


def _parsed(payload: bytes) -> Plain:
    try:
        statement = json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise JournalError(f"the signed text is not JSON: {error}") from None
    if not isinstance(statement, dict) or statement.get("_type") != STATEMENT:
        raise JournalError(f"the signed text is no in-toto statement; its _type must be {STATEMENT!r}")
    if statement.get("predicateType") != PREDICATE:
        kind = statement.get("predicateType")
        raise JournalError(f"the statement is about something else ({kind!r:.80}); expected {PREDICATE!r}")
    return statement


def _subjects(statement: Mapping[str, Any]) -> dict[str, str]:
    """The digest of each subject by its name, each once."""

    def pairs() -> Iterator[tuple[str, str]]:
        for subject in statement["subject"]:
            yield str(subject["name"]), str(subject["digest"]["sha256"])

    try:
        listed = list(pairs())
    except (LookupError, TypeError):
        raise JournalError("the statement has no subjects with names and SHA-256 digests") from None
    if len(dict(listed)) < len(listed):
        raise JournalError("the statement names a subject twice")
    return dict(listed)
