"""An audit in parts on many machines: the report is that of one machine, and parts that do not fit are refused."""

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import harness
from harness.api import open_oracle, run_audit, run_shard
from harness.auditing.config import AuditFile, load
from harness.auditing.events import to_entry
from harness.auditing.journal import Journal, entries, head_of, lines_of
from harness.auditing.merge import PARTIAL, merge
from harness.auditing.salvage import salvage
from harness.auditing.shard import Shard, shard_of
from harness.cli import main
from harness.cli.evidence import check_folder
from harness.vocabulary.oracle import Oracle
from oracles import as_oracle
from tests.auditing import shard_boxes
from tests.small_audits import table

BOXES = f"python:{shard_boxes.__name__}:"
FILE = """
[data]
path = "people.csv"
quasi = {{ age = "number", sex = "category" }}
sensitive = {{ ill = "category" }}
[claim]
epsilon = {epsilon}
[oracle]
address = "{boxes}{name}"
[run]
{run}
"""


def audit_file(folder: Path, name: str = "wide", run: str = "", epsilon: float = 0.1) -> Path:
    """An audit of 24 people beside their table."""
    table(24).to_csv(folder / "people.csv", index=False)
    (folder / "audit.toml").write_text(FILE.format(boxes=BOXES, name=name, run=run, epsilon=epsilon))
    return folder / "audit.toml"


def opened(file: AuditFile, out: Path, shards: int = 1) -> tuple[Oracle, dict[str, Any] | None]:
    """The oracle of an audit; our anonymizers are called in this process, because a process for each costs most."""
    if file.address.startswith(BOXES):
        return as_oracle(getattr(shard_boxes, file.address.removeprefix(BOXES))), None
    return open_oracle(file, out / "oracle.log", shards)


def whole(path: Path, out: Path) -> bytes:
    file = load(path)
    oracle, source = opened(file, out)
    run_audit(file.plan, oracle, out=out, source=source)
    return (out / "report.json").read_bytes()


def part(path: Path, number: int, of: int, out: Path | None = None) -> Path:
    """One shard, run to its end."""
    file, out = load(path), out or path.parent / f"shard{number}of{of}"
    oracle, source = opened(file, out, of)
    run_shard(file.plan, oracle, 1, number, of, out=out, source=source)
    return out


def parts(path: Path, of: int) -> list[Path]:
    return [part(path, number, of) for number in range(1, of + 1)]


@pytest.mark.parametrize(
    ("name", "run", "epsilon"),
    [
        ("wide", "", 0.1),
        ("wide", "records = 9", 0.1),
        ("shaken", "draws = 8", 0.1),
        ("failing", "", 0.1),
        pytest.param("shaken", "draws = 200\nadaptive = true", 1.5, marks=pytest.mark.slow),
        pytest.param("wide", "budget = 40", 0.1, marks=pytest.mark.slow),
    ],
)
def test_the_report_of_all_shards_is_that_of_one_machine(tmp_path: Path, name: str, run: str, epsilon: float) -> None:
    path = audit_file(tmp_path, name, run, epsilon)
    report = whole(path, tmp_path / "whole")
    merge(parts(path, 3)[::-1], tmp_path / "merged")
    assert whole(path, tmp_path / "merged") == report
    evidence = check_folder(tmp_path / "merged")
    assert any("put together from 3 shards" in line for line in evidence.lines)
    assert any("follow from their draws in predictions.bin" in line for line in evidence.lines) == (name == "shaken")
    assert not any("not proven from draws" in line for line in evidence.lines)


def test_the_command_runs_shards_and_puts_them_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = audit_file(tmp_path)
    monkeypatch.chdir(tmp_path)
    report = whole(path, tmp_path / "whole")
    for number in (1, 2):
        assert main(["run", "audit.toml", "--shard", f"{number}/2", "--quiet"]) == 0
    told = capsys.readouterr().out
    assert "shard 1/2:" in told
    assert "records examined; kept in audit.shard-1-of-2" in told
    assert main(["merge", "audit.shard-1-of-2", "audit.shard-2-of-2", "--out", "merged"]) == 1
    assert (tmp_path / "merged" / "report.json").read_bytes() == report
    heads = [head_of(tmp_path / f"audit.shard-{number}-of-2" / "journal.jsonl") for number in (1, 2)]
    root = hashlib.sha256("\n".join(heads).encode()).hexdigest()
    assert f"root digest, to keep: {root}" in capsys.readouterr().err
    certificate = json.loads((tmp_path / "merged" / "certificate.json").read_text())
    assert certificate["digests"]["shards"] == {"number": 2, "root": root}
    assert (
        main(["merge", "audit.shard-2-of-2", "audit.shard-1-of-2", "--out", "merged"]) == 1
    )  # once more changes nothing
    assert (tmp_path / "merged" / "report.json").read_bytes() == report


def test_secrets_of_shards_need_not_have_one_key(tmp_path: Path) -> None:
    """Each folder has its own key, so that the digests of one secret differ from shard to shard."""
    path = audit_file(tmp_path)
    path.write_text(
        path.read_text().replace(f'"{BOXES}wide"', '"cmd:cat"\n[oracle.options]\nenv = { TOKEN = "hunter2" }')
    )
    expected = whole(path, tmp_path / "whole")
    folders = parts(path, 2)
    merge(folders, tmp_path / "merged")
    assert whole(path, tmp_path / "merged") == expected
    for folder in (*folders, tmp_path / "merged"):
        assert b"hunter2" not in (folder / "journal.jsonl").read_bytes()


@given(of=st.integers(1, 40), persons=st.sets(st.integers(0, 10**6), max_size=50), plan=st.text())
def test_everybody_belongs_to_exactly_one_shard(of: int, persons: set[int], plan: str) -> None:
    shares = [Shard(number, of, plan).part(sorted(persons)) for number in range(1, of + 1)]
    assert sorted(person for share in shares for person in share) == sorted(persons)


@pytest.mark.parametrize("text", ["", "3", "0/4", "5/4", "1/0", "a/b", "-1/4", "1/2/3", "1/1000000"])
def test_a_shard_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(harness.InputError, match="expected the number of a shard and how many there are, such as 3/16"):
        shard_of(text)


def test_more_shards_than_records_are_no_matter(tmp_path: Path) -> None:
    path = audit_file(tmp_path, run="records = 2")
    report = whole(path, tmp_path / "whole")
    merge(parts(path, 5), tmp_path / "merged")
    assert whole(path, tmp_path / "merged") == report


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three shards of one audit, and one of another."""
    folder = tmp_path_factory.mktemp("made")
    path = audit_file(folder)
    parts(path, 3)
    part(path, 1, 2)
    whole(path, folder / "whole")
    (folder / "other").mkdir()
    part(audit_file(folder / "other", run="seed = 5"), 2, 3)
    return folder


def edited(journal: Path, edit: Callable[[list[dict[str, Any]]], None]) -> None:
    """The journal with other entries, and every hash made anew."""
    lines = json.loads(json.dumps(list(entries(journal))))
    edit(lines)
    journal.unlink()
    with Journal(journal, lines[0]) as written:
        for line in lines[1:]:
            written.append(line)


def refusal(made: Path, tmp_path: Path, change: Callable[[dict[int, Path]], list[Path]]) -> str:
    """What merge says to shards that do not fit; it writes nothing and changes nothing."""
    folders = {number: tmp_path / f"s{number}" for number in (1, 2, 3)}
    for number, folder in folders.items():
        shutil.copytree(made / f"shard{number}of3", folder)
    chosen = change(folders)
    before = {path: path.read_bytes() for folder in chosen if folder.is_dir() for path in folder.iterdir()}
    with pytest.raises(harness.HarnessError) as refused:
        merge(chosen, tmp_path / "merged")
    assert not (tmp_path / "merged").exists()
    assert before == {path: path.read_bytes() for folder in chosen if folder.is_dir() for path in folder.iterdir()}
    return str(refused.value)


def _shortened(folder: Path, lines: int) -> None:
    path = folder / "journal.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-lines]))


def _damaged(folder: Path) -> None:
    path = folder / "journal.jsonl"
    content = path.read_bytes()
    path.write_bytes(content[:-200] + b"#" + content[-199:])


def _with_a_person_of_another(lines: list[dict[str, Any]]) -> None:
    about = next(line for line in lines if "examined" in line)
    person = next(one for one in range(24) if one not in [line.get("examined", {}).get("person") for line in lines])
    lines.append({"examined": {**about["examined"], "person": person}})


def _with_another_first_answer(lines: list[dict[str, Any]]) -> None:
    lines[1]["probed"]["first"] = "0" * 64


def test_shards_that_do_not_fit_are_refused_with_what_is_wrong(made: Path, tmp_path: Path) -> None:
    def told(name: str, change: Callable[[dict[int, Path]], list[Path]]) -> str:
        (tmp_path / name).mkdir()
        return refusal(made, tmp_path / name, change)

    assert "of 3 shards 1 are missing: 2" in told("missing", lambda at: [at[1], at[3]])
    assert "shard 1/3 is given twice" in told("twice", lambda at: [at[1], at[2], at[3], at[1]])
    assert "is a shard of another audit" in told("count", lambda at: [at[1], at[2], made / "shard1of2"])
    foreign = told("foreign", lambda at: [at[1], made / "other" / "shard2of3", at[3]])
    assert "is a shard of another audit" in foreign
    assert "seed" in foreign
    assert "holds a whole audit, not a shard" in told("whole", lambda at: [at[1], at[2], made / "whole"])
    assert "holds no journal" in told("nothing", lambda at: [at[1], at[2], tmp_path / "nowhere"])

    def unfinished(at: dict[int, Path]) -> list[Path]:
        _shortened(at[2], 2)
        return list(at.values())

    assert "shard 2/3 in" in (message := told("unfinished", unfinished))
    assert "is not finished: 2 of its" in message

    def damaged(at: dict[int, Path]) -> list[Path]:
        _damaged(at[3])
        return list(at.values())

    assert "not what was written (the hash chain breaks here)" in told("damaged", damaged)

    def of_another(at: dict[int, Path]) -> list[Path]:
        edited(at[1] / "journal.jsonl", _with_a_person_of_another)
        return list(at.values())

    assert "who does not belong to shard 1/3" in told("person", of_another)

    def contradicting(at: dict[int, Path]) -> list[Path]:
        edited(at[1] / "journal.jsonl", _with_another_first_answer)
        return list(at.values())

    assert "the anonymizer did not answer both alike" in told("contradicting", contradicting)


def test_a_shard_that_is_being_written_is_waited_for(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made / "shard1of3", tmp_path / "s1")
    owner = next(entries(tmp_path / "s1" / "journal.jsonl"))
    with (
        Journal(tmp_path / "s1" / "journal.jsonl", owner),
        pytest.raises(harness.JournalError, match="another process"),
    ):
        merge([tmp_path / "s1", made / "shard2of3", made / "shard3of3"], tmp_path / "merged")


def test_a_merge_that_was_stopped_is_made_again_and_another_one_is_not_overwritten(made: Path, tmp_path: Path) -> None:
    folders = [made / f"shard{number}of3" for number in (1, 2, 3)]
    (tmp_path / "merged").mkdir()
    (tmp_path / "merged" / PARTIAL).write_bytes(b'[{"oracle"')
    first = merge(folders, tmp_path / "merged")
    content = (tmp_path / "merged" / "journal.jsonl").read_bytes()
    assert not (tmp_path / "merged" / PARTIAL).exists()
    assert merge(folders, tmp_path / "merged") == first
    assert (tmp_path / "merged" / "journal.jsonl").read_bytes() == content
    with pytest.raises(harness.JournalError, match="is no merge of these shards"):
        merge(folders, made / "whole")


def test_what_was_lost_of_a_shard_is_told_by_the_report_of_all(tmp_path: Path) -> None:
    path = audit_file(tmp_path)
    folders = parts(path, 2)
    _damaged(folders[1])
    salvage(folders[1], tmp_path / "new")
    part(path, 2, 2, tmp_path / "new")
    merge([folders[0], tmp_path / "new"], tmp_path / "merged")
    assert "the journal was damaged" in json.loads(whole(path, tmp_path / "merged"))["notes"][0]


def test_damaged_draws_of_a_shard_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    folders = parts(audit_file(tmp_path, "shaken", "draws = 8"), 2)
    path = folders[1] / "predictions.bin"
    content = path.read_bytes()
    path.write_bytes(b"x" + content[1:])
    with pytest.raises(harness.JournalError, match="shard2of2/predictions.bin: damaged at byte 0; restore"):
        merge(folders, tmp_path / "merged")
    assert not (tmp_path / "merged").exists()
    path.write_bytes(content + content[:50])  # a record that was not written whole
    merge(folders, tmp_path / "merged")
    joined = [(folder / "predictions.bin").read_bytes() for folder in (folders[0], tmp_path / "merged")]
    assert joined[1] == joined[0] + content


def test_an_edited_root_digest_is_refused(made: Path, tmp_path: Path) -> None:
    merged = merge([made / f"shard{number}of3" for number in (1, 2, 3)], tmp_path)
    heads = [*merged.heads[:2], "0" * 64]

    def another(lines: list[dict[str, Any]]) -> None:
        next(line for line in lines if "merged" in line)["merged"]["heads"] = heads

    edited(tmp_path / "journal.jsonl", another)
    with pytest.raises(harness.JournalError, match="the root digest is not that of the heads"):
        check_folder(tmp_path)
    assert to_entry(merged)["merged"]["root"] == merged.root


def test_shards_of_an_anonymizer_whose_answers_change_are_refused(tmp_path: Path) -> None:
    path = audit_file(tmp_path, "unsteady", "draws = 20\nrandomized = true")
    with pytest.raises(harness.InputError, match="this audit cannot be run in shards"):
        part(path, 1, 2)


def test_a_shard_of_another_number_does_not_continue_in_the_same_folder(made: Path, tmp_path: Path) -> None:
    path = audit_file(tmp_path)
    part(path, 1, 3)
    (tmp_path / "shard1of3").rename(tmp_path / "shard2of3")
    with pytest.raises(harness.JournalError, match="belongs to another audit .*shard"):
        part(path, 2, 3)


def test_the_pace_of_an_oracle_is_shared_by_all_shards(tmp_path: Path) -> None:
    path = audit_file(tmp_path)
    text = path.read_text().replace(f'"{BOXES}wide"', '"cmd:cat"\noptions = { per_second = 8 }')
    path.write_text(text)
    one, source = open_oracle(load(path), tmp_path / "log")
    shared, same = open_oracle(load(path), tmp_path / "log", 4)
    paces = []
    for oracle in (one, shared):
        inner: Any = oracle
        while not hasattr(inner, "per_second"):
            inner = inner.inner
        paces.append(inner.per_second)
        oracle.close()
    assert paces == [8, 2]
    assert source == same  # the pace is no part of what an audit is


def test_lines_of_shards_are_copied_as_they_are(made: Path, tmp_path: Path) -> None:
    folders = [made / f"shard{number}of3" for number in (1, 2, 3)]
    merge(folders, tmp_path)
    bodies = [line.body for line in lines_of(tmp_path / "journal.jsonl")]
    for folder in folders:
        assert {line.body for line in lines_of(folder / "journal.jsonl") if b'{"x":' in line.body} <= set(bodies)
