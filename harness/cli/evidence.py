"""What the folder of an audit proves, file by file, and what was not checked. Asks no oracle and needs no data."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from harness.auditing.confidential import withheld
from harness.auditing.draw_store import NOT_USABLE
from harness.auditing.findings_file import LINES, NEEDS_PYARROW, PARQUET, can_be_read, require_findings
from harness.auditing.folder import ATTESTATION, CERTIFICATE, JOURNAL, LOG, PAGE, REPORT, RUN, SUMMARY
from harness.auditing.journal import head_of, incomplete_bytes
from harness.auditing.list_findings import FINDINGS_FILE, rows_of_findings
from harness.auditing.prediction_file import FILE as PREDICTIONS
from harness.auditing.read_journal import IMPOSSIBLE, unreadable
from harness.auditing.shard_progress import ShardProgress, shard_progress
from harness.auditing.state import AuditState
from harness.auditing.state_columns import reported_columns
from harness.auditing.verify import Proven, compiled_of, prove, require_report, stored_draws
from harness.auditing.verify_certificate import require_certificate, require_run, run_stated_in
from harness.report import Report, with_files_beside
from harness.signing.envelope import LARGEST, opened
from harness.signing.keys import VerifyingKey
from harness.signing.statement import require_statement
from harness.vocabulary.errors import HarnessError, InputError, JournalError

RAW = "   {"  # how the raw rows in a line of a summary begin
PLACE_OF_A_ROW = {"raw": "record"}
ASK_AGAIN = (
    "restore the file; or remove it and run the same command again, which asks f(D) again and keeps the draws if their "
    "digests are those in the journal"
)
NEEDS_THE_DATA = (
    "metrics of the release, class sizes and baselines are as the journal has them: only the data could prove them"
)
TEST_REPORT = b'<section id="certificate"'  # how it begins on a page


@dataclass(frozen=True)
class Evidence:
    """The report that a journal proves, and what was found about each file."""

    report: Report | None  # None: the journal is that of a shard, which has none
    conclusion: str  # the verdict, or what is to be done with a shard
    head: str  # of the journal
    lines: tuple[str, ...]
    is_complete: bool  # nothing rests on draws that are not there


def check_folder(folder: Path, key: VerifyingKey | None = None, head: str | None = None) -> Evidence:
    """Everything in a folder that can be checked; a file that says something else is a JournalError.

    A public key checks the signature, a head that was kept since the run that the journal is still that one.
    """
    try:
        return _checked(folder, key, head)
    except JournalError as error:
        raise error if (hint := _other_version(folder)) is None else error.followed_by(hint) from None
    except HarnessError:
        raise
    except IMPOSSIBLE as error:  # content that passed all rules and can still not be shown
        raise unreadable(str(folder / JOURNAL), error) from error


def _other_version(folder: Path) -> str | None:
    """What to do if the folder was written by another version, whose sentences may differ from ours."""
    try:
        made_with = json.loads((folder / RUN).read_text(encoding="utf-8"))["versions"]["anonymizer-harness"]
    except (OSError, ValueError, LookupError, TypeError):
        return None
    if made_with == version("anonymizer-harness"):
        return None
    return f"the folder was written by version {made_with!r:.40}, and this is another one: verify it with that version"


def _checked(folder: Path, key: VerifyingKey | None, head: str | None) -> Evidence:
    journal, path = folder / JOURNAL, folder / REPORT
    there = os.path.lexists(path)  # also true of a broken link, which is not the same as no report
    proven = prove(journal)
    state = proven.state
    shard = shard_progress(journal, state)
    if shard is not None:
        _require_head(journal, head)
        return _checked_shard(folder, proven, shard, key)
    complete = compiled_of(journal, state)
    _require_head(journal, head)
    report = Report(require_report(complete, path) if there else withheld(complete), complete=complete)
    follows = f"every number of {path} follows from it" if there else "there is no report in the folder"
    lines = [f"{_integrity(journal)}, and {follows}", _summary(folder / SUMMARY, report)]
    lines += [*_draws(journal), *_predictions(proven), *_shards(state), NEEDS_THE_DATA]
    lines += [*_findings(folder, complete, state)]
    lines += [*_certificate(folder, report), *_attestation(folder, report, key)]
    lines.append(_page(folder / PAGE, _with_run(with_files_beside(report, folder))))
    if os.path.lexists(folder / LOG):
        lines.append(f"{LOG} was not checked: it is what the anonymizer printed, and may hold raw rows")
    return Evidence(report, str(report.verdict), head_of(journal), tuple(lines), _is_complete(proven))


def _checked_shard(folder: Path, proven: Proven, shard: ShardProgress, key: VerifyingKey | None) -> Evidence:
    """What the folder of a finished shard proves; it holds no report."""
    journal = folder / JOURNAL
    if not shard.is_finished:
        raise JournalError(f"{journal}: {shard}")
    if key is not None:
        raise InputError(f"{folder}: a shard is not signed; sign the audit that all shards are put together to")
    lines = [_integrity(journal), *_draws(journal), *_predictions(proven)]
    return Evidence(None, str(shard), head_of(journal), tuple(lines), _is_complete(proven))


def _is_complete(proven: Proven) -> bool:
    """Whether nothing rests on draws that are not there."""
    return not proven.without_draws + proven.by_own_distance


def _with_run(report: Report) -> Report:
    """The report with what its test report says of the run, where run.json is missing: it holds all of that."""
    if report.run is not None or report.certificate is None:
        return report
    return replace(report, run=run_stated_in(report.certificate))


def _require_head(journal: Path, head: str | None) -> None:
    if head is not None and head != head_of(journal):
        raise JournalError(
            f"{journal}: its head is {head_of(journal)}, not {head!r:.80}: something was added since, or it is another "
            "journal"
        )


def _integrity(journal: Path) -> str:
    torn = incomplete_bytes(journal)
    if not torn:
        return "the journal's chain of hashes is intact"
    return (
        f"the journal's chain of hashes is intact, except for an incomplete last line ({torn} bytes), which was ignored"
    )


def _summary(path: Path, report: Report) -> str:
    if not os.path.lexists(path):
        return f"there is no {path.name}"
    try:
        written = path.read_bytes().decode().splitlines()
    except (OSError, ValueError) as error:
        raise JournalError(f"{path}: cannot be read: {error}") from None
    proven = _encoded(report).splitlines()
    if written == proven:
        return f"{path.name} follows from it"
    if any(RAW in line for line in written):
        everybody = {finding.person: [PLACE_OF_A_ROW] for finding in report.findings}
        proven = _encoded(Report(report.complete or report.plain, everybody)).splitlines()
    for number, line in enumerate(proven, start=1):
        found = written[number - 1] if number <= len(written) else ""
        before, shows_a_row, after = line.partition(f"   {PLACE_OF_A_ROW}")
        revealed = shows_a_row and found.startswith(f"{before}{RAW}") and found.endswith(after)
        if found != line and not revealed:
            raise JournalError(
                f"{path}, line {number}: not what the journal proves: {found!r:.80} instead of {line!r:.80}"
            )
    if len(written) > len(proven):
        raise JournalError(f"{path}, line {len(proven) + 1}: does not follow from the journal")
    return f"{path.name} follows from it, except for the raw records that it shows (--reveal), which were not checked"


def _page(path: Path, report: Report) -> str:
    """Whether report.html is what the report and run.json are rendered to."""
    if not os.path.lexists(path):
        return f"there is no {path.name}"
    try:
        written = path.read_bytes()
    except OSError as error:
        raise JournalError(f"{path}: cannot be read: {error}") from None
    if report.certificate is None and TEST_REPORT in written:
        return f"{path.name} was not checked: {CERTIFICATE}, which it shows, is missing"
    everybody = {finding.person: [PLACE_OF_A_ROW] for finding in report.findings}
    pages = {  # what a run writes, without and with --reveal, and what `harness report --reveal` writes
        f"follows from it, except for calls and times, which are those of {RUN}": report.render("html"),
        f"follows from it (--reveal), except for calls and times, which are those of {RUN}": report.render(
            "html", reveal=True
        ),
        "follows from it, except for the raw records that it shows (--reveal), which were not checked": replace(
            report, records=everybody
        ).render("html", reveal=True),
    }
    for says, page in pages.items():
        if _without_raw(written) == _without_raw(_as_written(page)):
            return f"{path.name} {says}"
    raise JournalError(f"{path}: not what the journal and {RUN} prove{_first_difference(written, _as_written(page))}")


def _as_written(text: str) -> bytes:
    return text.encode(errors="backslashreplace")


def _without_raw(page: bytes) -> bytes:
    return re.sub(rb'(<span class="raw">)[^<]*(</span>)', rb"\1\2", page)


def _first_difference(written: bytes, proven: bytes) -> str:
    place = next(
        (at for at, (one, other) in enumerate(zip(written, proven, strict=False)) if one != other), len(proven)
    )
    found, expected = (part[place : place + 40].decode(errors="replace") for part in (written, proven))
    return f": byte {place} begins {found!r} instead of {expected!r}"


def _encoded(report: Report) -> str:
    """The summary as a run writes it."""
    return report.summary().encode(errors="backslashreplace").decode()


def _draws(journal: Path) -> Iterator[str]:
    try:
        checked, missing = stored_draws(journal)
    except JournalError as error:
        raise error if NOT_USABLE not in str(error) else error.followed_by(ASK_AGAIN) from None
    if checked:
        yield f"the draws of f(D) in {', '.join(checked)} are those that the journal names"
    if missing:
        yield f"{', '.join(missing)} with draws of f(D): missing, and therefore not checked"


def _predictions(proven: Proven) -> Iterator[str]:
    """How far the measurements with draws were proven."""
    number = proven.from_draws + proven.without_draws + proven.by_own_distance
    of = f"of {number:,} measurements with draws"
    if proven.from_draws:
        yield f"{proven.from_draws:,} {of} follow from their draws in {PREDICTIONS}, number by number"
    if proven.without_draws:
        why = "their draws were not kept" if proven.has_file else f"{PREDICTIONS} is missing"
        yield f"{proven.without_draws:,} {of} are not proven from draws, only as far as the journal goes: {why}"
    if proven.by_own_distance:
        why = "their distance is an object of your own"
        yield f"{proven.by_own_distance:,} {of} are not proven from draws, only as far as the journal goes: {why}"


def _shards(state: AuditState) -> Iterator[str]:
    """From which shards the journal was put together."""
    if state.merged is not None:
        number, root = len(state.merged.heads), state.merged.root
        yield f"it was put together from {number} shards; the root digest of their heads is {root}"
        yield from (f"the head of shard {number} was {head}" for number, head in enumerate(state.merged.heads, start=1))


def _findings(folder: Path, complete: Mapping[str, Any], state: AuditState) -> Iterator[str]:
    """The file with all findings of a large audit, leaf by leaf."""
    paths = [folder / name for name in (PARQUET, LINES)]
    there = [path for path in paths if os.path.lexists(path)]
    if FINDINGS_FILE not in complete:
        if there:
            raise JournalError(f"{there[0]}: does not follow from the journal: report.json lists all findings")
        return
    if not there:
        yield f"{PARQUET} or {LINES} with all findings: missing, and therefore not checked"
    for path in there:
        if not can_be_read(path):
            yield f"{path.name} was not checked: {NEEDS_PYARROW}"
            continue
        number = require_findings(path, rows_of_findings(reported_columns(state)))
        yield f"all {number:,} findings in {path.name} follow from it"


def _certificate(folder: Path, report: Report) -> Iterator[str]:
    """The test report, and run.json, of which the test report holds all."""
    path, run = folder / CERTIFICATE, folder / RUN
    if not os.path.lexists(path):
        yield f"there is no {path.name}"
        if os.path.lexists(run):
            yield f"{RUN} was not checked: its dates, seconds, calls and versions are not in the journal"
        return
    certificate = require_certificate(path, folder / JOURNAL, report.plain, report.to_json())
    yield f"{path.name} follows from it (test report {certificate['id']}); what it states fits to its checksums"
    if os.path.lexists(run):
        require_run(run, certificate)
        yield f"{RUN} says what the test report says"
    else:
        yield f"{RUN} is missing; what it said is in {CERTIFICATE}, and running the audit again writes it"


def _attestation(folder: Path, report: Report, key: VerifyingKey | None) -> Iterator[str]:
    path = folder / ATTESTATION
    if key is None:
        if os.path.lexists(path):
            yield f"{path.name} was not checked: name the public key of the signer with --key PUBLIC.pem"
        return
    if not os.path.lexists(path):
        raise InputError(f"{path}: is not there; this audit was not signed, so no key can verify it")
    try:
        statement = require_statement(opened(_text(path), key), folder, report.plain)
    except JournalError as error:
        raise error.within(str(path)) from None
    signed = ", ".join(subject["name"] for subject in statement["subject"])
    yield f"{path.name} is the signature of {signed}, made with the key {key.id}"


def _text(path: Path) -> str:
    """A small file as text, its bytes as they are."""
    try:
        content = path.read_bytes()
        if len(content) > LARGEST:
            raise JournalError(f"larger than {LARGEST} bytes, so it is no signature")
        return content.decode()
    except OSError as error:
        raise JournalError(f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise JournalError(f"cannot be read as text: {error}") from None
