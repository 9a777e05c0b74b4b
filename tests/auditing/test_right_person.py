"""Everything that a person reads names the row of the source."""

import json
from pathlib import Path

import pandas as pd
import pytest

import harness
from harness.cli import main
from tests.small_audits import audit, table

AUDIT = """
[data]
path = "people.csv"
sensitive = "ill"
missing = "drop"
[data.quasi]
age = "number"
sex = "category"
[oracle]
address = "python:returns_everything:f"
[claim]
epsilon = 0.1
"""
ROWS = ["30,F,flu", ",F,flu", "31,,flu", "30,F,flu", "30,M,ulcer", "30,F,flu", "30,F,flu"]
WITNESS = 6  # line of the only ulcer


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "audit.toml").write_text(AUDIT)
    (tmp_path / "people.csv").write_text("\n".join(["age,sex,ill", *ROWS]) + "\n")
    (tmp_path / "returns_everything.py").write_text("def f(df):\n    return df\n")
    return tmp_path


def test_the_witness_is_the_line_of_the_file_whatever_was_dropped(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "audit.toml", "--out", "out", "--reveal"]) == 1
    summary = capsys.readouterr().out
    assert summary.startswith(f"VIOLATED: the record on line {WITNESS} of people.csv moves")
    assert "2 rows with missing cells were left out" in summary
    revealed = next(line for line in summary.splitlines() if "'ulcer'" in line)
    assert f"line {WITNESS}" in revealed


def test_the_report_names_the_same_rows(folder: Path) -> None:
    assert main(["run", "audit.toml", "--out", "out"]) == 1
    plain = json.loads((folder / "out" / "report.json").read_text())
    assert plain["verdict"]["rows"] == [WITNESS]
    assert plain["plan"]["data"]["dropped"] == 2
    assert plain["plan"]["data"]["source"] == {"kind": "line", "file": "people.csv", "first": 2}
    assert [finding["rows"] for finding in plain["findings"]] == [[2], [5], [6], [7], [8]]
    assert main(["verify", "out"]) == 0


def test_an_anonymizer_that_fails_on_a_record_fails_on_a_line_of_the_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "audit.toml").write_text(AUDIT.replace("returns_everything:f", "failing_without_one:f"))
    (folder / "failing_without_one.py").write_text(
        "def f(df):\n    if len(df) == 4 and 'ulcer' not in set(df['ill']):\n        raise ValueError('no')\n"
        "    return df\n"
    )
    assert main(["run", "audit.toml", "--out", "out"]) == 4
    assert f"f raised ValueError (line {WITNESS})" in capsys.readouterr().out


def test_a_record_of_a_frame_is_named_by_its_label() -> None:
    data = table(12).assign(ill=["flu"] * 11 + ["ulcer"])
    report = audit(lambda rows: rows, data.set_axis([f"p{index}" for index in range(12)]))
    assert report.verdict.rows == ("p11",)
    assert "the record with row label 'p11' moves" in str(report.verdict)
    read = harness.Report(json.loads(report.to_json())).findings
    assert [(one.person, one.rows) for one in read] == [(one.person, one.rows) for one in report.findings]


def test_a_person_is_named_by_the_labels_of_her_rows() -> None:
    data = table(12).assign(ill=["flu"] * 10 + ["ulcer"] * 2, pid=[*range(10), 10, 10])
    report = audit(lambda rows: rows, data.set_axis([f"p{index}" for index in range(12)]), person="pid")
    assert "person 10 (row labels 'p10', 'p11') moves" in str(report.verdict)


def test_labels_that_are_other_objects_are_named_as_text() -> None:
    data = table(12).assign(ill=["flu"] * 11 + ["ulcer"])
    report = audit(lambda rows: rows, data.set_axis(pd.date_range("2020-01-01", periods=12)))
    assert report.verdict.rows == ("2020-01-12 00:00:00",)
