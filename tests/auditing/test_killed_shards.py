"""Shards and merges that are killed again and again end in the report of one machine, byte for byte."""

import contextlib
import functools
import itertools
import multiprocessing
import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from harness.api import run_audit, run_shard
from harness.auditing.config import load
from harness.auditing.journal import Journal
from harness.auditing.merge import merge
from harness.auditing.plan import Plan
from harness.auditing.prediction_file import PredictionFile
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


def is_killed_at(work: Callable[[], None], step: int) -> bool:
    """Whether a process was killed at this step: before or after a line of a journal, draws, or a file's new name."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_stopping_at, args=(work, step, theirs))
    process.start()
    theirs.close()
    with contextlib.suppress(EOFError):  # it came to its end
        ours.recv()
        process.kill()
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL)
    return process.exitcode != 0


def _stopping_at(work: Callable[[], None], step: int, parent: Connection) -> None:
    steps = itertools.count()

    def pass_step() -> None:
        if next(steps) == step:
            parent.send("ready to be killed")
            signal.pause()

    def with_steps(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def inner(*arguments: Any, **options: Any) -> Any:
            pass_step()
            result = function(*arguments, **options)
            pass_step()
            return result

        return inner

    for owner, name in ((Journal, "append_written"), (PredictionFile, "append"), (os, "replace")):
        setattr(owner, name, with_steps(getattr(owner, name)))
    work()


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
    require_draws_of(f, merged)


def require_draws_of(f: Anonymizer, folder: Path) -> None:
    """All draws of a random f are there, and a deterministic one has none."""
    proven = prove(folder / "journal.jsonl")
    assert (proven.from_draws, proven.without_draws) == (24 if f is noisy else 0, 0)


@pytest.mark.slow
@pytest.mark.parametrize("f", [slow, noisy])
def test_thirty_kills_between_any_two_writes_of_shards_and_merges_change_no_byte(f: Anonymizer, tmp_path: Path) -> None:
    """Fifteen kills of shards and fifteen of merges at the least, each where the process says that it has stopped."""
    plan, rng = load(audit_file(tmp_path, run="draws = 4")).plan, random.Random(4)
    whole(plan, f, tmp_path / "whole")
    expected = (tmp_path / "whole" / "report.json").read_bytes()
    folders = {number: tmp_path / f"s{number}" for number in range(1, OF + 1)}
    left, merged, killed_shards, killed_merges = set(folders), tmp_path / "merged", 0, 0

    def put_together() -> None:
        merge(list(folders.values()), merged)
        whole(plan, f, merged)

    while left:
        number = rng.choice(sorted(left))
        if is_killed_at(lambda: shard(plan, f, number, folders[number]), rng.randrange(12)):  # noqa: B023
            killed_shards += 1
        else:
            left.remove(number)
    journals = {folder: (folder / "journal.jsonl").read_bytes() for folder in folders.values()}
    while killed_merges < 15:
        if is_killed_at(put_together, rng.randrange(90)):
            killed_merges += 1
        else:
            assert (merged / "report.json").read_bytes() == expected
            shutil.rmtree(merged)
    put_together()
    assert (merged / "report.json").read_bytes() == expected
    assert {folder: (folder / "journal.jsonl").read_bytes() for folder in journals} == journals
    check_folder(merged)
    assert killed_shards >= 15
    assert killed_shards + killed_merges >= 30
    require_draws_of(f, merged)
