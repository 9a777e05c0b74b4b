"""The one call: what it shows while it runs, and what it leaves behind."""

import json
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.measuring.prior import FittedPrior
from oracles.clients.local import Local
from tests.anonymizers import chunks
from tests.small_audits import audit


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
        "certificate.json", "identity.key", "journal.jsonl", "present-look-1-0.npz", "report.html", "report.json",
        "run.json", "summary.txt",
    }  # fmt: skip


class Closing(Local):
    """An oracle that remembers whether it was closed."""

    closed = False

    def close(self) -> None:
        self.closed = True


def test_the_oracle_is_closed_whatever_is_refused(tmp_path: Path) -> None:
    refused: list[dict[str, Any]] = [
        {"workers": 0},
        {"workers": "local:x"},
        {"out": tmp_path, "prior": unknown_prior()},
    ]
    for options in refused:
        oracle = Closing(chunks)
        with pytest.raises(harness.InputError):
            audit(oracle, **options)
        assert oracle.closed


def unknown_prior() -> FittedPrior:
    """One of a class that no other process could find."""

    class Local(FittedPrior):
        pass

    return Local()


def test_workers_may_be_an_address() -> None:
    assert audit(chunks, workers="local:1", records=3) == audit(chunks, records=3)
