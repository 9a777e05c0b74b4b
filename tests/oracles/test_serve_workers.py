"""`harness serve` for many questions at once: threads for functions that wait, and clients that wait for their turn."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import oracles
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import FailedError
from harness.vocabulary.oracle import Ask
from harness.vocabulary.schema import Schema
from oracles.clients.local import Local
from oracles.serve import grpc as grpc_kit
from oracles.serve import http as http_kit
from oracles.serve.limits import Limits
from tests.command_line import ENVIRONMENT, run_harness
from tests.oracles.failing import QUASI, people
from tests.oracles.waiting_function import waiting
from tests.waiting import wait_until

DATA = Dataset.from_frame(people(), Schema(QUASI, "ill"))


@contextmanager
def served(*words: str, transport: str = "--http") -> Iterator[str]:
    """The address of `harness serve` with these words, as a process of its own."""
    with started(*words, transport=transport) as (address, _):
        yield address


@contextmanager
def started(*words: str, transport: str = "--http") -> Iterator[tuple[str, int]]:
    """Address and process of `harness serve` with these words."""
    command = [sys.executable, "-m", "harness.cli", "serve", *words, transport, "127.0.0.1:0"]
    with subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            line = next(line for line in process.stderr if "is served at" in line)
            yield line.partition("is served at ")[2].partition(";")[0].partition(",")[0], process.pid
        finally:
            process.terminate()


def asks_per_second(oracle: Any, threads: int, asks: int) -> float:
    start = time.monotonic()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda seed: list(oracle.answer(Ask(DATA, seed=seed))), range(asks)))
    return asks / (time.monotonic() - start)


@pytest.mark.parametrize("kit", [http_kit, grpc_kit], ids=["http", "grpc"])
def test_so_many_questions_are_under_way_at_once(kit: Any) -> None:
    """Every call waits until all 16 are there: with fewer at once this would never end."""
    together = threading.Barrier(16)

    def meeting(data: Any) -> Any:
        together.wait(60.0)
        return data

    server = kit.serve(Local(meeting), limits=Limits(concurrency=16))
    try:
        oracle = oracles.open(server.address)
        with ThreadPoolExecutor(16) as pool:
            assert len(list(pool.map(lambda seed: list(oracle.answer(Ask(DATA, seed=seed))), range(16)))) == 16
        oracle.close()
    finally:
        server.stop(1.0)


@pytest.mark.parametrize("kit", [http_kit, grpc_kit], ids=["http", "grpc"])
def test_clients_wait_for_their_turn_instead_of_failing(kit: Any) -> None:
    server = kit.serve(Local(waiting, {"seconds": 0.1}), limits=Limits(concurrency=1, patience=0.05))
    try:
        oracle = oracles.open(server.address, attempts=1)
        assert asks_per_second(oracle, 8, 16) < 11
        oracle.close()
    finally:
        server.stop(1.0)


@pytest.mark.slow
def test_the_command_answers_as_many_questions_at_once_as_it_has_threads() -> None:
    with served("python:tests.oracles.waiting_function:meeting", "--threads", "32") as address:
        oracle = oracles.open(address)
        with ThreadPoolExecutor(32) as pool:
            assert len(list(pool.map(lambda seed: list(oracle.answer(Ask(DATA, seed=seed))), range(64)))) == 64
        oracle.close()


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["--http", "--grpc"])
def test_a_question_costs_so_little_that_32_threads_do_the_work_of_20(transport: str) -> None:
    """Of a function that waits 50 ms, 32 threads answer 20 times as many questions as one where neither side computes
    for more than 2.5 ms on each. That is measured, and not the time, which others on this machine take part in.
    """
    asks = 160
    words = ("python:tests.oracles.waiting_function:waiting", "--threads", "32")
    with started(*words, transport=transport) as (address, process):
        oracle = oracles.open(address)

        def is_cheap() -> bool:
            server, client = _computed_seconds(process), time.process_time()
            asks_per_second(oracle, 32, asks)
            here, there = time.process_time() - client, _computed_seconds(process) - server
            return max(here, there) < 0.0025 * asks

        wait_until(is_cheap)  # the same work takes longer where others use the same caches
        oracle.close()


def _computed_seconds(process: int) -> float:
    """Seconds that a process has computed for."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")  # utime, stime: proc(5)


@pytest.mark.slow
def test_workers_are_processes_and_one_that_crashes_costs_its_question_only(tmp_path: Path) -> None:
    with served("python:tests.oracles.crashing:exiting_without_the_third", "--workers", "2") as address:
        oracle = oracles.open(address)
        data = Dataset.from_frame(people(), Schema(QUASI, "ill"))
        with pytest.raises(FailedError, match="failed: .*process of the anonymizer"):
            list(oracle.answer(Ask(data, drop=(2,))))
        assert len(list(oracle.answer(Ask(data, drop=(3,))))) == 1
        oracle.close()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--workers", "0"), "--workers must be at least 1, not 0"),
        (("--threads", "-3"), "--threads must be at least 1, not -3"),
    ],
)
def test_a_number_of_workers_that_is_none_is_refused(words: tuple[str, ...], message: str, tmp_path: Path) -> None:
    run = run_harness("serve", "reference:identity", "--http", "127.0.0.1:0", *words, cwd=tmp_path)
    assert run.returncode == 2
    assert message in run.stderr


def test_over_standard_input_and_output_there_is_one_worker(tmp_path: Path) -> None:
    run = run_harness("serve", "reference:identity", "--stdio", "--workers", "2", cwd=tmp_path)
    assert run.returncode == 2
    assert "one question is answered at a time" in run.stderr
