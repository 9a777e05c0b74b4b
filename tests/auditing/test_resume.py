"""A power cut, again and again: the audit goes on where it stopped, asks nothing twice, and reports the same."""

import os
import random
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.auditing.journal import lines_of, measures_somebody
from tests.command_line import (
    allow_answers,
    asked,
    end,
    processes_of_session,
    run_harness,
    start_harness,
    write_pausing_audit,
)
from tests.waiting import PATIENCE, wait_until

KILLS = 8
CONFIRMED = 8  # questions about persons that are asked again before the verdict, whatever was interrupted
RECORDS = 150  # more than the questions before all kills together


@pytest.fixture
def folder(tmp_path: Path, workers: int) -> Path:
    """Where the audit is that so many workers run."""
    write_pausing_audit(tmp_path, RECORDS, workers)
    return tmp_path


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[str]]]:
    """The runs that a test starts: whatever is left of them is ended after it."""
    runs: list[subprocess.Popen[str]] = []
    yield runs
    for run in runs:
        end(run)


def start(folder: Path, started: list[subprocess.Popen[str]]) -> subprocess.Popen[str]:
    started.append(start_harness("run", "audit.toml", "--out", "cut", cwd=folder))
    return started[-1]


def finish(folder: Path, out: str) -> None:
    allow_answers(folder)
    run = run_harness("run", "audit.toml", "--out", out, cwd=folder)
    assert run.returncode == 1, run.stderr


def kill_after(count: int, run: subprocess.Popen[str], folder: Path) -> None:
    """Kills a run when it has asked so many questions; a few later it gets no answers, so it cannot finish before."""
    before = len(asked(folder))
    allow_answers(folder, before + count + 5)
    wait_until(lambda: len(asked(folder)) >= before + count)
    end(run)
    # The workers must see for themselves that nobody listens any more.
    wait_until(lambda: not processes_of_session(run.pid))


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_many_kills_change_nothing(folder: Path, started: list[subprocess.Popen[str]], workers: int) -> None:
    finish(folder, "whole")
    whole_table = Counter(asked(folder)).most_common(1)[0][0]  # f(D) is asked for at every start
    (folder / "asked.log").unlink()
    moments = random.Random(workers)
    for count in (4, 30, *(moments.randint(1, 5) for _ in range(KILLS - 2))):  # the first while the oracle is probed
        kill_after(count, start(folder, started), folder)
    examined = sum(map(measures_somebody, lines_of(folder / "cut" / "journal.jsonl")))
    before = len(asked(folder))
    finish(folder, "cut")
    assert (folder / "cut" / "report.json").read_bytes() == (folder / "whole" / "report.json").read_bytes()
    without_a_person = [table for table in asked(folder)[before:] if table != whole_table]
    assert len(without_a_person) == RECORDS - examined + CONFIRMED, "what is in the journal is not asked again"


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupt_ends_within_seconds_and_leaves_no_process(
    folder: Path, started: list[subprocess.Popen[str]], workers: int
) -> None:
    allow_answers(folder, 30)
    run = start(folder, started)
    wait_until(lambda: len(asked(folder)) > 30)  # this question is never answered
    os.killpg(run.pid, signal.SIGINT)  # as a terminal does: to the whole group
    assert run.wait(timeout=PATIENCE) == 130
    wait_until(lambda: not processes_of_session(run.pid))
