"""A power cut, again and again: the audit goes on where it stopped, asks nothing twice, and tells the same."""

import collections
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KILLS = 20

VENDOR = """
import hashlib, os, time

def f(df):
    with open("asked.log", "a") as log:
        log.write(hashlib.sha256(df.to_csv().encode()).hexdigest() + "\\n")
    time.sleep(0.02)
    return df.assign(age=df["age"] // 10 * 0 + df["age"])
"""
AUDIT = """
[data]
path = "people.csv"
sensitive = "ill"
[data.quasi]
age = "number"
[oracle]
address = "python:vendor:f"
[claim]
epsilon = 0.1
[run]
workers = {workers}
"""


@pytest.fixture
def folder(tmp_path):
    rows = ["age,ill", *(f"{20 + index},{'flu' if index % 3 else 'ulcer'}" for index in range(150))]
    (tmp_path / "people.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "vendor.py").write_text(VENDOR)
    return tmp_path


def start(folder, out) -> subprocess.Popen:
    command = [sys.executable, "-m", "harness.cli", "run", "audit.toml", "--out", out]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, cwd=folder, env=environment, stdout=quiet, stderr=quiet, start_new_session=True)


def asked(folder) -> collections.Counter:
    log = folder / "asked.log"
    return collections.Counter(log.read_text().split()) if log.exists() else collections.Counter()


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_twenty_kills_change_nothing(folder: Path, workers) -> None:
    (folder / "audit.toml").write_text(AUDIT.format(workers=workers))
    assert start(folder, "whole").wait(timeout=120) == 1
    once = asked(folder)
    (folder / "asked.log").unlink()
    moments = random.Random(workers)
    kills = 0
    for _ in range(KILLS):
        running = start(folder, "cut")
        try:
            running.wait(timeout=moments.uniform(0.5, 3.0))
            break
        except subprocess.TimeoutExpired:
            running.kill()  # the workers must see for themselves that nobody listens any more
            running.wait()
            kills += 1
        time.sleep(0.7)
    else:
        assert start(folder, "cut").wait(timeout=120) == 1
    assert kills > 0
    assert (folder / "cut" / "report.json").read_bytes() == (folder / "whole" / "report.json").read_bytes()
    again = asked(folder) - once
    in_flight = 64 * workers  # what a worker has ahead of it, see harness.executors
    whole_table = max(once, key=lambda table: once[table])  # f(D) itself may be asked for at every start
    assert sum(count for table, count in again.items() if table != whole_table) <= kills * in_flight


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupt_ends_within_seconds_and_leaves_no_process(folder: Path, workers) -> None:
    (folder / "audit.toml").write_text(AUDIT.format(workers=workers))
    running = start(folder, "cut")
    for _ in range(400):
        if len(asked(folder)) > 10:
            break
        time.sleep(0.05)
    began = time.monotonic()
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does: to the whole group
    assert running.wait(timeout=20) == 130
    assert time.monotonic() - began < 10
    time.sleep(0.5)
    before = sum(asked(folder).values())
    time.sleep(0.5)
    assert sum(asked(folder).values()) == before, "somebody still asks"
