"""Shards and merges that are killed again and again end in the report of one machine, byte for byte."""

import contextlib
import multiprocessing
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from harness.api import run_audit, run_shard
from harness.auditing.config import load
from harness.auditing.merge import merge
from harness.auditing.plan import Plan
from harness.auditing.verify import prove
from harness.cli.evidence import check_folder
from oracles import as_oracle
from tests.auditing.test_shards import audit_file
from tests.waiting import wait_until

OF = 3
Anonymizer = Callable[..., pd.DataFrame]


def slow(frame: pd.DataFrame) -> pd.DataFrame:
    time.sleep(0.003)  # so that something is left to be killed
    return frame.assign(age=[f"[{age // 10 * 10}, {age // 10 * 10 + 10}]" for age in frame["age"]])


def noisy(frame: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    width = int(rng.integers(5, 15))
    time.sleep(0.001)
    return frame.assign(age=[f"[{age // width * width}, {age // width * width + width}]" for age in frame["age"]])


def size_of(folder: Path) -> int:
    """Bytes of the journals in a folder, and how many files it has: it changes as soon as something happens."""
    names = os.listdir(folder) if folder.exists() else []
    size = len(names)
    for name in names:
        if name.startswith("journal"):
            with contextlib.suppress(FileNotFoundError):  # it was just given its name
                size += (folder / name).stat().st_size
    return size


def is_killed(work: Callable[[], None], out: Path, grow: int) -> bool:
    """Whether a process that does this work was killed, after its folder had grown by so many bytes."""
    before = size_of(out)
    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    wait_until(lambda: not process.is_alive() or size_of(out) > before + grow)
    process.kill()
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL)
    return process.exitcode != 0


def shard(plan: Plan, f: Anonymizer, number: int, out: Path) -> None:
    run_shard(plan, as_oracle(f), 1, number, OF, out=out)


def whole(plan: Plan, f: Anonymizer, out: Path) -> None:
    run_audit(plan, as_oracle(f), out=out)


@pytest.mark.parametrize(
    ("seed", "f"),
    [
        (1, slow),
        pytest.param(2, slow, marks=pytest.mark.slow),
        pytest.param(3, slow, marks=pytest.mark.slow),
        (4, noisy),
        pytest.param(5, noisy, marks=pytest.mark.slow),
    ],
)
def test_shards_and_merges_that_are_killed_end_in_the_same_report(seed: int, f: Anonymizer, tmp_path: Path) -> None:
    plan, rng, kills = load(audit_file(tmp_path, run="draws = 4")).plan, random.Random(seed), 0
    whole(plan, f, tmp_path / "whole")
    folders = {number: tmp_path / f"s{number}" for number in range(1, OF + 1)}
    left, merged = set(folders), tmp_path / "merged"

    def put_together() -> None:
        merge(list(folders.values()), merged)
        whole(plan, f, merged)

    while left:
        number = rng.choice(sorted(left))
        if is_killed(lambda: shard(plan, f, number, folders[number]), folders[number], rng.choice([0, 1, 300, 900])):  # noqa: B023
            kills += 1
        else:
            left.remove(number)
    while is_killed(put_together, merged, rng.choice([0, 1, 100, 900, 3000])):
        kills += 1
        if kills >= 30:
            put_together()
            break
    assert kills >= 5
    assert (merged / "report.json").read_bytes() == (tmp_path / "whole" / "report.json").read_bytes()
    check_folder(merged)
    proven = prove(merged / "journal.jsonl")
    assert (proven.from_draws, proven.without_draws) == (24 if f is noisy else 0, 0)
