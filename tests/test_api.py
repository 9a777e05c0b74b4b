"""The one call: what it shows while it runs, and what it leaves behind."""

import json
from pathlib import Path

import pytest

from tests.anonymizers import chunks
from tests.small_audits import audit


def test_a_progress_bar_counts_the_records_and_shows_the_largest_distance(capsys: pytest.CaptureFixture[str]) -> None:
    report = audit(chunks, progress=True)
    shown = capsys.readouterr().err
    assert "30/30" in shown
    assert f"largest distance {report.verdict.epsilon:.4g}" in shown


def test_nothing_is_shown_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    audit(chunks)
    assert capsys.readouterr() == ("", "")


def test_a_kept_audit_leaves_report_summary_run_and_journal(tmp_path: Path) -> None:
    report = audit(chunks, out=tmp_path)
    assert (tmp_path / "report.json").read_text() == report.to_json()
    assert (tmp_path / "summary.txt").read_text() == report.summary() + "\n"
    run = json.loads((tmp_path / "run.json").read_text())
    assert "numpy" in run["versions"]
    assert {path.name for path in tmp_path.iterdir()} == {
        "journal.jsonl", "present-look-1-0.npz", "report.json", "run.json", "summary.txt",
    }  # fmt: skip
