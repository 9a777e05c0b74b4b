"""Damaged files of an audit: what is intact is kept, f(D) is asked for again, and the audit goes on."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.auditing.prediction_file import FILE
from harness.auditing.salvage import salvage
from harness.auditing.verify import prove, verify_report
from harness.vocabulary.errors import InputError, JournalError
from tests.command_line import run_harness
from tests.oracles.failing import QUASI, people, shaken, whole

DRAWS = "present-look-1-0.npz"


def audit(out: Path) -> harness.Report:
    return harness.audit(whole, people(), quasi=QUASI, sensitive="ill", epsilon=1.99, out=out)


def damaged(out: Path, line: int) -> bytes:
    """The journal after one byte of a line was changed."""
    content = (out / "journal.jsonl").read_bytes()
    lines = content.split(b"\n")
    lines[line] = lines[line].replace(b"0", b"1", 1)
    (out / "journal.jsonl").write_bytes(b"\n".join(lines))
    return content


@pytest.mark.parametrize("line", [3, 8, 12])
def test_what_stands_before_a_bad_byte_is_kept_and_the_audit_goes_on(line: int, tmp_path: Path) -> None:
    first = audit(tmp_path / "out")
    content = damaged(tmp_path / "out", line)
    with pytest.raises(JournalError, match=rf"line {line + 1}: not what was written .* harness salvage"):
        audit(tmp_path / "out")
    kept, lost = salvage(tmp_path / "out", tmp_path / "new")
    assert (kept, lost.lines) == (line, content.count(b"\n") - line)
    assert (tmp_path / "new" / "journal.jsonl").read_bytes().startswith(b"\n".join(content.split(b"\n")[:line]))
    report = audit(tmp_path / "new")
    assert [one.distance for one in report.findings] == [one.distance for one in first.findings]
    assert f"the journal was damaged: {lost.lines} lines of it" in report.plain["notes"][0]
    assert verify_report(tmp_path / "new" / "journal.jsonl", tmp_path / "new" / "report.json")


def test_draws_of_predictions_are_kept_once_and_prove_the_numbers_that_were_measured_before(tmp_path: Path) -> None:
    options: dict[str, Any] = {"quasi": QUASI, "sensitive": "ill", "epsilon": 1.99, "draws": 5}
    harness.audit(shaken, people(), out=tmp_path / "out", **options)
    damaged(tmp_path / "out", 8)
    salvage(tmp_path / "out", tmp_path / "new")
    harness.audit(shaken, people(), out=tmp_path / "new", **options)
    proven = prove(tmp_path / "new" / "journal.jsonl")
    assert proven.from_draws
    assert not proven.without_draws
    assert (tmp_path / "new" / FILE).read_bytes() == (tmp_path / "out" / FILE).read_bytes()


def test_the_command_says_what_is_kept_what_is_lost_and_how_to_go_on(tmp_path: Path) -> None:
    audit(tmp_path / "out")
    damaged(tmp_path / "out", 5)
    run = run_harness("salvage", "out", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "5 lines of the journal are intact and kept in out.salvaged" in run.stdout
    assert "are lost, from line 6 on" in run.stdout
    assert "harness run FILE --out out.salvaged" in run.stdout
    again = run_harness("salvage", "out", cwd=tmp_path)
    assert again.returncode == 2
    assert "out.salvaged exists already; choose another folder with --out" in again.stderr


def test_a_journal_without_damage_or_without_a_first_line_is_not_salvaged(tmp_path: Path) -> None:
    audit(tmp_path / "out")
    with pytest.raises(InputError, match="nothing is damaged"):
        salvage(tmp_path / "out", tmp_path / "new")
    damaged(tmp_path / "out", 0)
    with pytest.raises(JournalError, match="its first line is damaged"):
        salvage(tmp_path / "out", tmp_path / "new")
    with pytest.raises(JournalError, match="cannot be read"):
        salvage(tmp_path / "nowhere", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def unfinished(out: Path) -> None:
    """An audit that stopped after some records."""
    audit(out)
    lines = (out / "journal.jsonl").read_bytes().split(b"\n")
    examined = [number for number, line in enumerate(lines) if line.startswith(b'[{"x":[')]
    (out / "journal.jsonl").write_bytes(b"\n".join(lines[: examined[4]]) + b"\n")
    (out / "report.json").unlink()


@pytest.mark.parametrize("content", [None, b"", b"PK\x03\x04 no zip", b"half"], ids=["missing", "empty", "odd", "half"])
def test_draws_of_f_of_all_data_that_are_damaged_or_missing_are_asked_for_again(
    content: bytes | None, tmp_path: Path
) -> None:
    unfinished(tmp_path / "out")
    path = tmp_path / "out" / DRAWS
    before = path.read_bytes()
    path.unlink()
    if content is not None:
        path.write_bytes(before[: len(before) // 2] if content == b"half" else content)
    report = audit(tmp_path / "out")
    assert report.to_json() == audit(tmp_path / "other").to_json()
    assert path.stat().st_size == len(before)


def test_draws_that_cannot_be_made_again_are_a_clear_error(tmp_path: Path) -> None:
    class Changing:
        """Random without seeds until it is told not to be: f(D) cannot be drawn again."""

        card = harness.Card("changing", randomized=True, seedable=False)
        count = 0

        def answer(self, ask: harness.Ask) -> Iterator[Any]:
            for _ in range(ask.draws):
                self.count += 1
                frame = ask.table.to_frame()
                width = 3 + self.count % 7
                yield frame.assign(
                    age=[f"[{age // width * width}, {age // width * width + width}]" for age in frame["age"]]
                )

        def close(self) -> None:
            pass

    options: dict[str, Any] = {
        "quasi": QUASI,
        "sensitive": "ill",
        "epsilon": 1.99,
        "draws": 20,
        "budget": 2000,
        "out": tmp_path,
    }
    harness.audit(Changing(), people(), **options)
    lines = (tmp_path / "journal.jsonl").read_bytes().split(b"\n")
    chosen = next(number for number, line in enumerate(lines) if b'"drawn"' in line and b'"risk"' in line)
    (tmp_path / "journal.jsonl").write_bytes(b"\n".join(lines[: chosen + 1]) + b"\n")
    (tmp_path / "present-risk-0.npz").write_bytes(b"")
    with pytest.raises(JournalError, match=r"cannot be used: .*; f\(D\) was asked for again, and is not what it was"):
        harness.audit(Changing(), people(), **options)
    assert json.loads(lines[chosen])[0]["drawn"]["purpose"] == "risk"


def test_seeded_draws_are_made_again(tmp_path: Path) -> None:
    options: dict[str, Any] = {"quasi": QUASI, "sensitive": "ill", "epsilon": 1.99, "draws": 5}
    first = harness.audit(shaken, people(), out=tmp_path / "one", **options)
    unfinished_lines = (tmp_path / "one" / "journal.jsonl").read_bytes().split(b"\n")
    examined = [number for number, line in enumerate(unfinished_lines) if line.startswith(b'[{"x":[')]
    (tmp_path / "one" / "journal.jsonl").write_bytes(b"\n".join(unfinished_lines[: examined[2]]) + b"\n")
    (tmp_path / "one" / DRAWS).write_bytes(b"")
    assert harness.audit(shaken, people(), out=tmp_path / "one", **options).to_json() == first.to_json()


def test_nothing_is_kept_of_a_journal_whose_first_line_is_damaged(tmp_path: Path) -> None:
    audit(tmp_path / "out")
    damaged(tmp_path / "out", 0)
    with pytest.raises(
        JournalError, match="line 1: not what was written .* measure again, with another --out"
    ) as error:
        audit(tmp_path / "out")
    assert "salvage" not in str(error.value)
    with pytest.raises(JournalError, match="its first line is damaged.* measure again with another --out"):
        salvage(tmp_path / "out", tmp_path / "new")


def test_one_lost_line_is_told_in_the_singular(tmp_path: Path) -> None:
    audit(tmp_path / "out")
    lines = (tmp_path / "out" / "journal.jsonl").read_bytes().count(b"\n")
    path = tmp_path / "out" / "journal.jsonl"
    path.write_bytes(path.read_bytes().replace(b'{"closed"', b'{"Closed"'))
    run = run_harness("salvage", "out", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert f" bytes) is lost, from line {lines} on" in run.stdout
