"""The journal: what it keeps, what it cuts, what it refuses."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.auditing.journal import Journal, entries
from harness.vocabulary.errors import JournalError

OWNER: dict[str, Any] = {"plan": {"seed": 1}, "oracle": "f"}
ENTRIES: list[dict[str, Any]] = [{"finding": {"index": index, "distance": index / 7}} for index in range(5)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return written(tmp_path)


def written(folder: Path) -> Path:
    """A journal with all entries."""
    path = folder / "journal.jsonl"
    with Journal(path, OWNER) as journal:
        for entry in ENTRIES:
            journal.append(entry)
    return path


def held(path: Path, owner: dict[str, Any] = OWNER) -> list[dict[str, Any]]:
    with Journal(path, owner) as journal:
        return list(journal.earlier())


def test_what_was_appended_is_there_again(path: Path) -> None:
    assert held(path) == ENTRIES
    assert list(entries(path)) == [OWNER, *ENTRIES]


def test_numbers_come_back_bit_for_bit(tmp_path: Path) -> None:
    numbers = {"finding": [0.1, 1 / 3, 5e-324, 1e308, -0.0, None]}
    with Journal(tmp_path / "j", OWNER) as journal:
        journal.append(numbers)
    assert json.dumps(held(tmp_path / "j")) == json.dumps([numbers])


@given(cut=st.integers(1, 200))
def test_a_torn_last_line_is_cut_and_the_rest_kept(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    path = written(tmp_path_factory.mktemp("torn"))
    lines = path.read_bytes().splitlines(keepends=True)
    cut = min(cut, len(lines[-1]))
    path.write_bytes(b"".join(lines)[:-cut])
    assert held(path) == ENTRIES[:-1]
    with Journal(path, OWNER) as journal:
        journal.append(ENTRIES[-1])
    assert held(path) == ENTRIES


@given(data=st.data())
def test_any_changed_digit_is_refused_and_its_line_named(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = written(tmp_path_factory.mktemp("tampered"))
    lines = path.read_text().splitlines(keepends=True)
    number = data.draw(st.integers(0, len(lines) - 2))
    digits = [place for place, sign in enumerate(lines[number]) if sign.isdigit()]
    place = data.draw(st.sampled_from(digits))
    other = data.draw(st.sampled_from([d for d in "0123456789" if d != lines[number][place]]))
    lines[number] = lines[number][:place] + other + lines[number][place + 1 :]
    path.write_text("".join(lines))
    with pytest.raises(JournalError, match=f"line {number + 1}: not what was written"):
        list(entries(path))


def test_a_line_taken_out_or_moved_is_refused(path: Path) -> None:
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:2] + lines[3:]))
    with pytest.raises(JournalError, match="line 3"):
        held(path)
    path.write_text("".join([lines[0], lines[2], lines[1], *lines[3:]]))
    with pytest.raises(JournalError, match="line 2"):
        held(path)


def test_the_journal_of_another_audit_is_refused_with_what_differs(path: Path) -> None:
    with pytest.raises(JournalError, match=r"belongs to another audit \(\[run\] seed: 1 before, 2 now\)"):
        held(path, {**OWNER, "plan": {"seed": 2}})
    several = {"plan": {"seed": 1, "draws": 5, "confirm": "g" * 100}, "oracle": "g", "more": None}
    with pytest.raises(JournalError) as refused:
        held(path, several)
    for place in ("[run] draws: nothing before, 5 now", "ggg… now", "the code or the parameters of the anonymizer)"):
        assert place in str(refused.value)


def test_a_second_writer_is_refused(path: Path) -> None:
    with Journal(path, OWNER), pytest.raises(JournalError, match="another process is writing this journal"):
        Journal(path, OWNER)


def test_a_journal_that_is_not_there_or_empty_says_so(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="cannot be read"):
        list(entries(tmp_path / "nowhere"))
    (tmp_path / "empty").touch()
    with pytest.raises(JournalError, match="holds no entries"):
        list(entries(tmp_path / "empty"))


def test_a_foreign_file_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    for content in (b"a diary without a newline", b'{"time": 1}', b"one line\n"):
        path.write_bytes(content)
        with pytest.raises(JournalError, match="this file is no journal|not what was written"):
            Journal(path, OWNER)
        assert path.read_bytes() == content
    path.write_bytes(b'[{"orac')  # the first line of ours, torn
    assert held(path) == []


def test_others_may_not_read_it(path: Path) -> None:
    assert path.stat().st_mode & 0o077 == 0


def test_a_killed_writer_loses_nothing_it_had_appended(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from harness.auditing.journal import Journal
with Journal(Path(sys.argv[1]), {"plan": {"seed": 1}, "oracle": "f"}) as journal:
    for index in range(10**6):
        journal.append({"finding": index})
        print(index, flush=True)
"""
    path = tmp_path / "j"
    writer = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    for line in writer.stdout:
        if int(line) >= 500:
            os.kill(writer.pid, signal.SIGKILL)
            break
    last_printed = int((writer.stdout.read().split() or [line])[-1])
    writer.wait()
    assert [entry["finding"] for entry in held(path)][: last_printed + 1] == list(range(last_printed + 1))
