"""What the folder of an audit proves, file by file, and what was not checked. Asks no oracle and needs no data."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from harness.api import JOURNAL, LOG, PAGE, REPORT, SUMMARY
from harness.auditing.journal import incomplete_bytes
from harness.auditing.verify import recompile, stored_draws, verify_report
from harness.report import RUN, Report, load_run
from harness.vocabulary.errors import JournalError

RAW = "   {"  # how the raw rows in a line of a summary begin
PLACE_OF_A_ROW = {"raw": "record"}


@dataclass(frozen=True)
class Evidence:
    """The report that a journal proves, and what was found about each file."""

    report: Report
    lines: tuple[str, ...]


def check_folder(folder: Path) -> Evidence:
    """Everything in a folder that can be checked; a file that says something else is a JournalError."""
    journal, path = folder / JOURNAL, folder / REPORT
    there = os.path.lexists(path)  # also true of a broken link, which is not the same as no report
    report = Report(verify_report(journal, path) if there else recompile(journal))
    proven = f"every number of {path} follows from it" if there else "there is no report in the folder"
    lines = [f"{_integrity(journal)}, and {proven}", _summary(folder / SUMMARY, report)]
    lines += [_page(folder / PAGE, replace(report, run=load_run(folder / RUN))), *_draws(journal)]
    if os.path.lexists(folder / RUN):
        lines.append(f"{RUN} was not checked: its dates, seconds, calls and versions are not in the journal")
    if os.path.lexists(folder / LOG):
        lines.append(f"{LOG} was not checked: it is what the anonymizer printed, and may hold raw rows")
    return Evidence(report, tuple(lines))


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
        proven = _encoded(Report(report.plain, everybody)).splitlines()
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
    return re.sub(rb'<span class="raw">[^<]*</span>', b"", page)


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
    checked, missing = stored_draws(journal)
    if checked:
        yield f"the draws of f(D) in {', '.join(checked)} are those that the journal names"
    if missing:
        yield f"{', '.join(missing)} with draws of f(D): missing, and therefore not checked"
