"""Files of a finished audit that were lost or damaged: what another run makes again, and what it refuses to replace."""

from collections.abc import Callable
from pathlib import Path

import pytest

import harness
from harness.cli.evidence import check_folder
from tests.command_line import run_harness
from tests.oracles.failing import QUASI, people, shaken, whole

DRAWS = "present-look-1-0.npz"
AUDIT = """
[data]
path = "people.csv"
sensitive = "ill"
[data.quasi]
age = "number"
[oracle]
address = "python:tests.oracles.failing:whole"
[claim]
epsilon = 1.99
"""


def audit(out: Path, f: Callable[..., object] = whole, **options: object) -> harness.Report:
    return harness.audit(f, people(), quasi=QUASI, sensitive="ill", epsilon=1.99, out=out, **options)  # type: ignore[arg-type]


def contents(out: Path) -> dict[str, bytes]:
    """Every file but the draws of f(D), whose container holds no more than they do."""
    return {path.name: path.read_bytes() for path in out.iterdir() if path.name != DRAWS}


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def halved(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.mark.parametrize("damage", [Path.unlink, emptied, halved])
@pytest.mark.parametrize("f", [whole, shaken])
def test_a_finished_audit_that_is_run_again_asks_for_lost_draws_and_changes_nothing_else(
    f: Callable[..., object], damage: Callable[[Path], None], tmp_path: Path
) -> None:
    options = {"draws": 5} if f is shaken else {}
    audit(tmp_path, f, **options)
    before, size = contents(tmp_path), (tmp_path / DRAWS).stat().st_size
    damage(tmp_path / DRAWS)
    audit(tmp_path, f, **options)
    assert contents(tmp_path) == before
    assert (tmp_path / DRAWS).stat().st_size == size
    assert any(f"{DRAWS} are those that the journal names" in line for line in check_folder(tmp_path).lines)


def test_verify_says_how_damaged_draws_are_made_again(tmp_path: Path) -> None:
    audit(tmp_path)
    emptied(tmp_path / DRAWS)
    with pytest.raises(harness.JournalError, match=f"{DRAWS}: .*; or remove it and run the same command again"):
        check_folder(tmp_path)
    (tmp_path / DRAWS).unlink()
    assert any(f"{DRAWS} with draws of f(D): missing" in line for line in check_folder(tmp_path).lines)


def test_a_missing_run_is_named_and_written_again_with_what_the_test_report_says(tmp_path: Path) -> None:
    audit(tmp_path)
    before = contents(tmp_path)
    (tmp_path / "run.json").unlink()
    lines = check_folder(tmp_path).lines
    assert "run.json is missing; what it said is in certificate.json, and running the audit again writes it" in lines
    assert any(line.startswith("report.html follows from it") for line in lines)
    audit(tmp_path)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("damage", [Path.unlink, emptied])
def test_a_report_whose_journal_is_lost_is_not_overwritten(damage: Callable[[Path], None], tmp_path: Path) -> None:
    audit(tmp_path)
    damage(tmp_path / "journal.jsonl")
    before = contents(tmp_path)
    with pytest.raises(harness.JournalError, match="the journal of .*report.json is missing or empty, and the report"):
        audit(tmp_path)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("name", [DRAWS, "report.json", "report.html", "run.json", "summary.txt"])
def test_a_directory_where_a_file_belongs_is_named(name: str, tmp_path: Path) -> None:
    people().to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "audit.toml").write_text(AUDIT)
    assert run_harness("run", "audit.toml", "--out", "out", "--quiet", cwd=tmp_path).returncode == 0
    (tmp_path / "out" / name).unlink()
    (tmp_path / "out" / name).mkdir()
    again = run_harness("run", "audit.toml", "--out", "out", "--quiet", cwd=tmp_path)
    assert again.returncode == 74
    assert f"{name}: a directory stands where this file belongs; move it away" in again.stderr
    verified = run_harness("verify", "out", cwd=tmp_path)
    assert verified.returncode == 2
    assert name in verified.stderr
