"""What the commands say of the folder of one shard: how far it is, and that it is to be put together with others."""

from pathlib import Path

import pytest

from harness.cli import main
from tests.auditing.test_shards import audit_file, part
from tests.signing.keys import write_keys


@pytest.fixture(scope="module")
def shard(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return part(audit_file(tmp_path_factory.mktemp("shards")), 2, 3)


def test_verify_checks_a_finished_shard_and_says_what_it_is(shard: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(shard)]) == 0
    told = capsys.readouterr().out
    assert "the journal's chain of hashes is intact" in told
    assert "present-look-1-0.npz are those that the journal names" in told
    assert "shard 2/3 of an audit, finished (" in told
    assert "put together: harness merge DIR… --out DIR" in told


def test_the_report_of_a_finished_shard_says_what_it_is(shard: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(shard)]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "NO VERDICT" in told
    assert "shard 2/3 of an audit, finished (" in told
    assert "interrupted" not in told


def test_an_unfinished_shard_says_how_many_of_its_own_are_missing(
    shard: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (shard / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "journal.jsonl").write_bytes(b"".join(lines[:-2]))
    assert main(["verify", str(tmp_path)]) == 2
    assert "shard 2/3 of an audit, not finished: 2 of its" in capsys.readouterr().err
    assert main(["report", str(tmp_path)]) == 0
    assert "not finished: 2 of its" in " ".join(capsys.readouterr().out.split())


def test_a_shard_is_not_signed(shard: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    private, public = write_keys(tmp_path)
    assert main(["sign", str(shard), "--key", str(private)]) == 2
    assert "sign that audit" in capsys.readouterr().err
    assert main(["verify", str(shard), "--key", str(public)]) == 2
    assert "a shard is not signed" in capsys.readouterr().err
