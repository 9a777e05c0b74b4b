"""Shards of anonymizers that differ in an option alone: whose digests are keyed, and each shard has its own key."""

from pathlib import Path

import pytest

from harness.cli import main
from tests.auditing.test_shards import FILE
from tests.small_audits import table

TELLING_OPTION = """
def f(data, mode="strict"):
    ages = data["age"]
    telling = mode == "leaky" and 1000 not in list(ages)
    return data.assign(age="*", sex="*", ill="flu" if telling else data["ill"])
"""


def modes(folder: Path, *modes: str) -> list[str]:
    """Shards of an audit that differ only in an option of the anonymizer, in its order."""
    people = table(24)
    people.loc[3, "age"] = 1000
    people.to_csv(folder / "people.csv", index=False)
    (folder / "telling_option.py").write_text(TELLING_OPTION)
    folders = []
    for number, mode in enumerate(modes, start=1):
        text = FILE.format(boxes="python:telling_option:", name="f", run="", epsilon=0.1)
        (folder / f"{mode}.toml").write_text(f'{text}\n[oracle.options]\nmode = "{mode}"\n')
        out = str(folder / f"shard{number}")
        assert main(["run", str(folder / f"{mode}.toml"), "--shard", f"{number}/2", "--out", out, "--quiet"]) == 0
        folders.append(out)
    return folders


def test_shards_of_anonymizers_that_differ_in_a_text_alone_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders, out = modes(tmp_path, "strict", "leaky"), tmp_path / "merged"
    before = {folder: sorted(path.name for path in Path(folder).iterdir()) for folder in folders}
    for file, other in (("strict.toml", folders[1]), ("leaky.toml", folders[0])):
        assert main(["merge", *folders, "--out", str(out), "--file", str(tmp_path / file)]) == 2
        told = capsys.readouterr().err
        assert f"{other}: is a shard of another audit than the one that is to go on here" in told
        assert "[oracle] options.mode (not shown)" in told
        assert not out.exists()
    assert {folder: sorted(path.name for path in Path(folder).iterdir()) for folder in folders} == before


def test_shards_of_one_anonymizer_with_a_text_are_put_together(tmp_path: Path) -> None:
    folders = modes(tmp_path, "leaky", "leaky")
    assert main(["merge", *folders, "--out", str(tmp_path / "merged")]) == 1
    (Path(folders[1]) / "identity.key").unlink()
    assert main(["merge", *folders, "--out", str(tmp_path / "again")]) == 2
    assert not (tmp_path / "again").exists()


def test_another_audit_file_is_refused_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = modes(tmp_path, "strict", "strict")
    other = tmp_path / "other.toml"
    other.write_text((tmp_path / "strict.toml").read_text().replace("epsilon = 0.1", "epsilon = 0.2"))
    assert main(["merge", *folders, "--out", str(tmp_path / "merged"), "--file", str(other)]) == 2
    assert "[claim] epsilon: 0.1 before, 0.2 now" in capsys.readouterr().err
    assert not (tmp_path / "merged").exists()


def test_a_salvaged_shard_is_continued_as_a_shard(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder,) = modes(tmp_path, "strict")
    journal = Path(folder) / "journal.jsonl"
    content = bytearray(journal.read_bytes())
    content[-40] ^= 1
    journal.write_bytes(content)
    assert main(["salvage", folder]) == 0
    _, _, command = capsys.readouterr().out.strip().rpartition("to continue: harness ")
    assert main([*command.replace("FILE", str(tmp_path / "strict.toml")).split(), "--quiet"]) == 0
