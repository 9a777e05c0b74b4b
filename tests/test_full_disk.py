"""A disk that takes no more: which file, why, and that what was measured is kept."""

import subprocess
import sys
from pathlib import Path

import pytest

from harness.auditing.draw_store import DrawStore
from harness.auditing.prediction_draws import PackedDraws
from harness.auditing.prediction_file import PredictionFile
from harness.vocabulary.errors import JournalError
from harness.vocabulary.table import Table
from tests.command_line import ENVIRONMENT, ROOT, run_harness
from tests.small_audits import table
from tests.waiting import PATIENCE

# No file may grow beyond so many bytes; the write that would is refused, as on a full disk.
LIMITED = """
import resource, sys
sys.dont_write_bytecode = True  # Python would keep half a module for those who import it next
from harness.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
sys.exit(main(sys.argv[2:]))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text((ROOT / "tests" / "golden" / "people.csv").read_text())
    (tmp_path / "audit.toml").write_text((ROOT / "tests" / "golden" / "good.toml").read_text())
    return tmp_path


def run_limited(size: int, out: str, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", LIMITED, str(size), *(words or ("run", "audit.toml")), "--out", out]
    return subprocess.run(
        command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


def test_a_full_disk_is_no_defect_of_ours_and_the_same_audit_goes_on(folder: Path) -> None:
    assert run_harness("run", "audit.toml", "--out", "whole", cwd=folder).returncode == 1
    sizes = {path.name: path.stat().st_size for path in (folder / "whole").iterdir()}
    draws, journal, report = (sizes[name] for name in ("present-look-1-0.npz", "journal.jsonl", "report.json"))
    assert draws < journal < report
    for size, name in (
        (draws, "journal.jsonl"),
        (journal - 10, "journal.jsonl"),
        (report - 10, "report.json"),
    ):
        out = f"limited-{size}"
        run = run_limited(size, out, folder)
        assert run.returncode == 74, run.stderr
        assert "Traceback" not in run.stderr
        assert f"{name}: cannot be written: File too large; what was measured before is kept" in run.stderr
        assert not list((folder / out).glob("*.partial"))
        assert run_harness("run", "audit.toml", "--out", out, cwd=folder).returncode == 1
        assert (folder / out / "report.json").read_bytes() == (folder / "whole" / "report.json").read_bytes()


def test_a_disk_that_is_full_while_shards_are_put_together_costs_nothing(folder: Path) -> None:
    assert run_harness("run", "audit.toml", "--out", "whole", cwd=folder).returncode == 1
    parts = ("s1", "s2")
    for number, out in enumerate(parts, start=1):
        assert run_harness("run", "audit.toml", "--shard", f"{number}/2", "--out", out, cwd=folder).returncode == 0
    assert run_harness("merge", *parts, "--out", "merged", cwd=folder).returncode == 1
    assert (folder / "merged" / "report.json").read_bytes() == (folder / "whole" / "report.json").read_bytes()
    sizes = {path.name: path.stat().st_size for path in (folder / "merged").iterdir()}
    kept = {path: path.read_bytes() for out in parts for path in (folder / out).iterdir()}
    journal = sizes["journal.jsonl"]
    for size in (0, journal // 2, journal - 10):  # the last is enough for the merge, not for the audit that goes on
        out = f"limited-{size}"
        run = run_limited(size, out, folder, "merge", *parts)
        assert run.returncode == 74, run.stderr
        assert "Traceback" not in run.stderr
        assert "cannot be written: File too large" in run.stderr
        assert (folder / out / "journal.jsonl").exists() is (size > journal // 2)
        assert {path: path.read_bytes() for path in kept} == kept
        assert run_harness("merge", *parts, "--out", out, cwd=folder).returncode == 1
        assert (folder / out / "report.json").read_bytes() == (folder / "merged" / "report.json").read_bytes()


def test_draws_that_cannot_be_kept_are_told_with_their_file(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="present-look-1-0.npz: cannot be written: No such file or directory"):
        DrawStore(tmp_path / "nowhere").save("present-look-1-0", (Table.from_frame(table()),))


def test_draws_of_predictions_that_cannot_be_kept_are_told_with_their_file(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="predictions.bin: cannot be written: No such file or directory"):
        PredictionFile(tmp_path / "nowhere", 1000).append(PackedDraws(bytes(24), b"x"))
    (tmp_path / "predictions.bin").symlink_to("/dev/full")
    with pytest.raises(JournalError, match="predictions.bin: cannot be written"):
        PredictionFile(tmp_path, 1000).append(PackedDraws(bytes(24), b"x"))
