"""Nothing is left behind: no raw table in the temporary folder, no process of a vendor, whatever ended the harness."""

import os
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import oracles
from harness.api import oracle_log
from harness.vocabulary.errors import HarnessError, NotWrittenError, OracleError
from oracles.process_marks import VARIABLE, ProcessMarks, end_marked, marked
from oracles.temporary_files import PREFIX, root_folder, sweep_leftovers, temporary_folder, write_input
from tests.command_line import ENVIRONMENT, ROOT
from tests.oracles.table_vendors import asked
from tests.waiting import PATIENCE, started, wait_until

linux = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found in /proc")
# Detached in three ways: of another session, of another session whose parent has ended, by nohup.
DETACH = (
    "setsid sleep 300 & echo $! >> pids; "
    "(setsid sh -c 'echo $$ >> pids; sleep 300; true' > /dev/null 2>&1 < /dev/null &); "
    "nohup setsid sh -c 'echo $$ >> pids; sleep 300; true' > /dev/null 2>&1 & "
    "while [ $(wc -l < pids) -lt 3 ]; do sleep 0.01; done; "
)


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def pids(folder: Path) -> list[int]:
    path = folder / "pids"
    return [int(word) for word in path.read_text().split()] if path.exists() else []


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    for pid in pids(tmp_path):  # of a test that failed
        if VARIABLE.encode() in _environment(pid):
            os.kill(pid, signal.SIGKILL)


def _environment(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


@linux
@pytest.mark.parametrize(
    ("after", "options", "complaint"),
    [
        ("cat", {}, None),
        ("exit 3", {}, "ended with status 3"),
        ("sleep 300", {"timeout": 1.0}, "did not end within 1 s"),
        ("kill -9 $$", {}, "ended by signal 9"),
    ],
)
def test_what_a_command_detached_is_ended_with_its_oracle(
    after: str, options: dict[str, float], complaint: str | None, folder: Path
) -> None:
    (folder / "vendor.sh").write_text(DETACH + after)
    oracle = oracles.open("cmd:sh vendor.sh", cwd=str(folder), **options)
    if complaint is None:
        asked(oracle)
    else:
        with pytest.raises(OracleError, match=complaint):
            asked(oracle)
        wait_until(lambda: not any(map(lives, pids(folder))))  # at once, not only when the oracle is closed
    oracle.close()
    assert len(pids(folder)) == 3
    wait_until(lambda: not any(map(lives, pids(folder))))


@linux
def test_what_a_python_anonymizer_detached_is_ended_with_its_oracle(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "detaching.py").write_text(
        "import subprocess\ndef f(df):\n    one = subprocess.Popen(['sleep', '300'], start_new_session=True)\n"
        f"    open({str(folder / 'pids')!r}, 'a').write(f'{{one.pid}}\\n')\n    return df\n"
    )
    monkeypatch.syspath_prepend(folder)
    oracle = oracles.open("python:detaching:f")
    asked(oracle)
    (pid,) = pids(folder)
    assert lives(pid)
    oracle.close()
    wait_until(lambda: not lives(pid))


@linux
def test_processes_of_another_oracle_live_on() -> None:
    mine, other = ProcessMarks("test-root"), ProcessMarks("test-root")
    with started(["sleep", "300"], env=marked(os.environ, other.begin())) as process:
        mine.end_all()
        assert process.poll() is None
        other.end_all()
        process.wait(PATIENCE)


@linux
def test_a_harness_that_was_started_by_another_is_found_by_both() -> None:
    outer, inner = ProcessMarks("outer-root"), ProcessMarks("inner-root")
    environment = marked(marked(os.environ, outer.begin()), inner.begin())
    with started(["sleep", "300"], env=environment) as process:
        assert end_marked(lambda mark: mark.startswith("outer-root:")) == 1
        process.wait(PATIENCE)


def test_a_closed_command_starts_no_more() -> None:
    oracle = oracles.open("cmd:cat")
    oracle.close()
    with pytest.raises(OracleError, match="was closed"):
        asked(oracle)


def test_temporary_files_are_their_owners_alone_whatever_the_umask() -> None:
    before = os.umask(0)
    try:
        with temporary_folder() as folder:
            write_input(folder / "input.csv", b"raw rows")
            modes = [stat.S_IMODE(path.stat().st_mode) for path in (folder.parent, folder, folder / "input.csv")]
    finally:
        os.umask(before)
    assert modes == [0o700, 0o700, 0o600]
    assert not folder.exists()


def test_a_folder_that_an_anonymizer_made_hard_to_remove_is_removed() -> None:
    with temporary_folder() as folder:
        (folder / "locked").mkdir()
        (folder / "locked" / "file").write_text("raw rows")
        (folder / "locked").chmod(0)
    assert not folder.exists()


HANGING = """
import sys
import oracles
from tests.oracles.table_vendors import asked
asked(oracles.open("cmd:sh vendor.sh {input}", cwd=sys.argv[1]))
"""


@linux
def test_the_next_process_sweeps_what_a_killed_one_left_and_nothing_else(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = folder / "tmp"
    temporary.mkdir()
    (folder / "vendor.sh").write_text(DETACH + "cp $1 seen; sleep 300")
    (temporary / f"{PREFIX}of-nobody").mkdir()  # without a lock: not ours to judge
    environment = {**ENVIRONMENT, "TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)}
    with started([sys.executable, "-c", HANGING, str(folder)], env=environment) as run:
        wait_until(lambda: (folder / "seen").exists())
        monkeypatch.setattr(tempfile, "tempdir", str(temporary))
        sweep_leftovers()
        assert list(temporary.rglob("input.csv")), "its process lives"
        run.kill()
        run.wait(PATIENCE)
    assert list(temporary.rglob("input.csv"))
    assert all(map(lives, pids(folder)))
    sweep_leftovers()
    assert [path.name for path in temporary.iterdir()] == [f"{PREFIX}of-nobody"]
    wait_until(lambda: not any(map(lives, pids(folder))))


def test_a_temporary_folder_that_takes_nothing_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "no" / "such"))
    monkeypatch.setattr("oracles.temporary_files._roots", {})
    with pytest.raises(NotWrittenError, match="the temporary folder takes no file: No such file or directory"):
        asked(oracles.open("cmd:sh -c 'cat $0' {input}"))


def test_a_process_has_one_folder_and_a_swept_one_is_made_anew() -> None:
    root = root_folder()
    assert root == root_folder()
    sweep_leftovers()
    assert root.is_dir(), "a process does not sweep its own"


AUDIT = """
[data]
path = "people.csv"
sensitive = "ill"
quasi = { age = "number" }
[claim]
epsilon = 0.1
[oracle]
address = "cmd:sh vendor.sh {input}"
options = { timeout = 500 }
"""


@linux
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)])
def test_a_signal_keeps_what_was_measured_and_leaves_no_table_and_no_process(
    number: signal.Signals, code: int, folder: Path
) -> None:
    rows = [f"{20 + index},{'flu' if index % 3 else 'ulcer'}" for index in range(20)]
    (folder / "people.csv").write_text("\n".join(["age,ill", *rows]) + "\n")
    (folder / "audit.toml").write_text(AUDIT)
    hang = f"{DETACH} ls -l $1 > seen; sleep 300; fi; cat $1"
    (folder / "vendor.sh").write_text(f"echo >> asked; if [ $(wc -l < asked) -gt 15 ]; then {hang}")
    temporary = folder / "tmp"
    temporary.mkdir()
    environment = {**ENVIRONMENT, "TMPDIR": str(temporary)}
    words = [sys.executable, "-m", "harness.cli", "run", "audit.toml", "--out", "out"]
    with started(words, cwd=folder, env=environment, stderr=subprocess.PIPE) as run:
        wait_until(lambda: (folder / "seen").exists() and bool((folder / "seen").read_text()))
        run.send_signal(number)
        errors = run.communicate(timeout=PATIENCE)[1]
    assert run.returncode == code
    assert "kept in out. To continue: harness run audit.toml --out out" in errors
    assert list(temporary.iterdir()) == []
    wait_until(lambda: not any(map(lives, pids(folder))))
    assert (folder / "seen").read_text().startswith("-rw-------")


def test_a_log_is_removed_unless_it_tells_an_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(folder))

    def log_after(error: BaseException, *, names_it: bool) -> Path | None:
        logs: list[Path] = []

        def fail() -> None:
            with oracle_log(None) as log:
                logs.append(log)
                log.write_text("raw rows")
                if names_it and isinstance(error, HarnessError):
                    error.log = log
                raise error

        with pytest.raises(type(error)):
            fail()
        assert not logs[0].exists()
        return getattr(error, "log", None)

    assert log_after(KeyboardInterrupt(), names_it=False) is None
    assert log_after(OracleError("it failed"), names_it=False) is None
    kept = log_after(OracleError("it failed"), names_it=True)
    assert kept is not None
    assert kept.read_text() == "raw rows"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
