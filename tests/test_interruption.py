"""Signals that stop the command: what is measured is kept, and the exit code says which signal it was."""

import signal
import sys
import threading
from pathlib import Path

import pytest

from harness.cli.interruption import Interrupted, interruptible
from tests.command_line import ENVIRONMENT, allow_answers, asked, write_pausing_audit
from tests.waiting import PATIENCE, started, wait_until

STOPPING = [(signal.SIGHUP, 129), (signal.SIGINT, 130), (signal.SIGTERM, 143)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_pausing_audit(tmp_path, records=50)
    allow_answers(tmp_path, 30)
    return tmp_path


@pytest.mark.parametrize(("number", "code"), STOPPING)
def test_a_run_in_the_background_that_is_told_to_stop_says_by_what(
    folder: Path, number: signal.Signals, code: int
) -> None:
    """A shell has INT ignored by what it starts in the background; test_cli interrupts a run that does not."""
    words = ["-m", "harness.cli", "run", "audit.toml", "--out", "out"]
    command = ["sh", "-c", 'trap "" INT; exec "$0" "$@" 2>errors', sys.executable, *words]
    with started(command, cwd=folder, env=ENVIRONMENT) as run:
        wait_until(lambda: len(asked(folder)) > 30)  # this question is not answered
        run.send_signal(number)
        assert run.wait(PATIENCE) == code
    errors = (folder / "errors").read_text()
    assert "kept in out. To continue: harness run audit.toml --out out" in errors
    assert f"interrupted by {number.name}" in errors


@pytest.mark.parametrize(("number", "code"), STOPPING)
def test_inside_a_signal_is_an_exception_and_afterwards_what_it_was(number: signal.Signals, code: int) -> None:
    before = [signal.getsignal(each) for each, _ in STOPPING]
    with pytest.raises(Interrupted, match=number.name) as caught, interruptible():
        signal.raise_signal(number)
    assert caught.value.exit_code == code
    assert [signal.getsignal(each) for each, _ in STOPPING] == before


def test_a_command_that_outlives_its_terminal_stays_so() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        with interruptible():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_thread_that_is_not_the_main_one_changes_no_signals() -> None:
    before, failures = signal.getsignal(signal.SIGTERM), list[BaseException]()

    def enter() -> None:
        try:
            with interruptible():
                assert signal.getsignal(signal.SIGTERM) is before
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert failures == []
