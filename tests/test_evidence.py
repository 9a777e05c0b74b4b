"""What `harness verify` checks in a folder, what it says that it did not check, and what it refuses."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import harness
from harness.auditing.journal import Journal, entries
from harness.cli.evidence import NEEDS_THE_DATA, check_folder
from tests.anonymizers import chunks
from tests.small_audits import audit


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished audit, which no test changes."""
    out = tmp_path_factory.mktemp("finished")
    audit(chunks, out=out)
    return out


@pytest.fixture
def folder(finished: Path, tmp_path: Path) -> Path:
    """A copy of it, to change."""
    return shutil.copytree(finished, tmp_path, dirs_exist_ok=True)


def said(folder: Path) -> str:
    return "\n".join(check_folder(folder).lines)


def test_every_file_is_named_with_what_was_checked(folder: Path) -> None:
    certificate = json.loads((folder / "certificate.json").read_text())
    assert said(folder).splitlines() == [
        f"the journal's chain of hashes is intact, and every number of {folder / 'report.json'} follows from it",
        "summary.txt follows from it",
        "the draws of f(D) in present-look-1-0.npz are those that the journal names",
        NEEDS_THE_DATA,
        f"certificate.json follows from it (test report {certificate['id']}); what it states fits to its checksums",
        "run.json says what the test report says",
        "report.html follows from it, except for calls and times, which are those of run.json",
    ]


def test_a_folder_of_another_version_that_differs_says_so(folder: Path) -> None:
    run = json.loads((folder / "run.json").read_text())
    run["versions"]["anonymizer-harness"] = "0.1.0"
    (folder / "run.json").write_text(json.dumps(run))
    with pytest.raises(harness.JournalError, match=r"run.json: .*; the folder was written by version '0.1.0'"):
        check_folder(folder)


def test_files_that_are_not_there_are_named(folder: Path) -> None:
    for name in ("certificate.json", "report.html"):
        (folder / name).unlink()
    assert said(folder).splitlines()[-2:] == [
        "run.json was not checked: its dates, seconds, calls and versions are not in the journal",
        "there is no report.html",
    ]
    for name in ("report.json", "summary.txt", "run.json", "present-look-1-0.npz"):
        (folder / name).unlink()
    assert said(folder).splitlines() == [
        "the journal's chain of hashes is intact, and there is no report in the folder",
        "there is no summary.txt",
        "present-look-1-0.npz with draws of f(D): missing, and therefore not checked",
        NEEDS_THE_DATA,
        "there is no certificate.json",
        "there is no report.html",
    ]


def test_an_edited_summary_is_refused_with_its_line(folder: Path) -> None:
    path = folder / "summary.txt"
    good = path.read_text()
    for edited, line in (
        (good.replace("VIOLATED", "HOLDS", 1), 1),
        (good.replace("\n", "   {'all': 'is well'}\n", 1), 1),
        (good + "all is well\n", len(good.splitlines()) + 1),
        (good.rstrip("\n").rpartition("\n")[0], len(good.splitlines())),
    ):
        path.write_text(edited)
        with pytest.raises(harness.JournalError, match=rf"summary.txt, line {line}: "):
            check_folder(folder)


def test_raw_records_in_a_summary_are_said_not_to_be_checked(tmp_path: Path) -> None:
    audit(chunks, out=tmp_path, reveal=True)
    assert "summary.txt follows from it, except for the raw records that it shows (--reveal), which were" in said(
        tmp_path
    )


def test_an_edited_page_is_refused(folder: Path) -> None:
    path = folder / "report.html"
    good = path.read_text()
    for edited in (
        good.replace("VIOLATED", "HOLDS", 1),
        good.replace('value="0.1"', 'value="0.2"', 1),
        good.replace("</main>", '<span class="raw">all is well</span></main>'),
        good[:-1],
        good + " ",
    ):
        assert edited != good
        path.write_text(edited)
        with pytest.raises(
            harness.JournalError, match=r"report.html: not what the journal and run.json prove: byte \d+"
        ):
            check_folder(folder)


def test_raw_records_on_a_page_are_said_not_to_be_checked_but_all_else_is(tmp_path: Path) -> None:
    audit(chunks, out=tmp_path, reveal=True)
    assert "report.html follows from it, except for the raw records that it shows (--reveal), which were" in said(
        tmp_path
    )
    path = tmp_path / "report.html"
    path.write_text(path.read_text().replace("VIOLATED", "HOLDS", 1))
    with pytest.raises(harness.JournalError, match="report.html"):
        check_folder(tmp_path)


def test_other_draws_are_refused(folder: Path) -> None:
    path = folder / "present-look-1-0.npz"
    with np.load(path) as arrays:
        changed = {name: array.copy() for name, array in arrays.items()}
    changed["0.0.codes"] = changed["0.0.codes"][::-1]
    np.savez(path, **changed)
    with pytest.raises(harness.JournalError, match="its content is not what the journal says was released"):
        check_folder(folder)
    path.write_bytes(b"PK\x03\x04 and then nothing")
    with pytest.raises(harness.JournalError, match="the kept draws of f\\(D\\) cannot be used"):
        check_folder(folder)


def test_an_incomplete_last_line_is_ignored_and_said_to_be(folder: Path) -> None:
    with open(folder / "journal.jsonl", "ab") as journal:
        journal.write(b'[{"entry": all is w')
    assert "except for an incomplete last line (19 bytes), which was ignored" in said(folder)


def test_a_report_that_is_a_link_to_nowhere_is_not_a_missing_report(folder: Path) -> None:
    (folder / "report.json").unlink()
    os.symlink(folder / "nowhere", folder / "report.json")
    with pytest.raises(harness.JournalError, match="report.json: cannot be read as a report"):
        check_folder(folder)


def _without_the_plan(lines: list[dict[str, Any]]) -> None:
    del lines[0]["plan"]["claim"]


def _with_a_person_before_all(lines: list[dict[str, Any]]) -> None:
    lines.insert(1, next(line for line in lines if "examined" in line))


def _with_an_adversary_too_many(lines: list[dict[str, Any]]) -> None:
    next(line for line in lines if "examined" in line)["examined"]["measurements"][0]["adversary"] = 7


def _with_a_negative_claim(lines: list[dict[str, Any]]) -> None:
    lines[0]["plan"]["claim"]["epsilon"] = -1


def _with_text_for_numbers(lines: list[dict[str, Any]]) -> None:
    next(line for line in lines if "examined" in line)["examined"]["measurements"][0]["distance"] = "far"


def _with_two_events_in_a_line(lines: list[dict[str, Any]]) -> None:
    lines[1].update(closed={"doubts": []})


@pytest.mark.parametrize(
    "spoil",
    [
        _without_the_plan,
        _with_a_person_before_all,
        _with_an_adversary_too_many,
        _with_a_negative_claim,
        _with_text_for_numbers,
        _with_two_events_in_a_line,
    ],
)
def test_a_journal_written_anew_with_impossible_content_is_refused(
    folder: Path, spoil: Callable[[list[dict[str, Any]]], None]
) -> None:
    path = folder / "journal.jsonl"
    lines = json.loads(json.dumps(list(entries(path))))
    spoil(lines)
    path.unlink()
    with Journal(path, lines[0]) as journal:
        for line in lines[1:]:
            journal.append(line)
    with pytest.raises(harness.JournalError, match="line [0-9]+: (holds what no audit writes|person 8 was not chosen)"):
        check_folder(folder)


def test_a_summary_with_raw_records_may_not_be_edited_beside_them(tmp_path: Path) -> None:
    audit(chunks, out=tmp_path, reveal=True)
    path = tmp_path / "summary.txt"
    good = path.read_text()
    number = next(number for number, line in enumerate(good.splitlines(), start=1) if "   {" in line)
    for wrong in (good.replace("row label ", "row label 9", 2), good.replace(" with, ", " with and ", 1)):
        path.write_text(wrong)
        with pytest.raises(harness.JournalError, match=r"summary.txt, line \d+: "):
            check_folder(tmp_path)
    path.write_text(good.replace("'sex': ", "'gender': "))
    assert f"summary.txt, line {number}" not in said(tmp_path)
