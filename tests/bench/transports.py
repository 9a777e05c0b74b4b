"""What a question costs on its way to a server and back: CPU of the client, and of the server beside f.

`harness serve` runs in a process of its own, with an anonymizer that writes down how much CPU it has used. The server's
share is what its processes have used (from /proc, so on Linux only) less that.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

import pandas as pd

import oracles
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.oracle import Ask, Oracle
from tests.bench.measuring import Section
from tests.bench.overhead import MeteredAnonymizer, decades
from tests.waiting import wait_until

ROOT = Path(__file__).parent.parent.parent
METER = "BENCH_METER"
ADDRESS = f"python:{__name__}:metered_decades"
TICKS = os.sysconf("SC_CLK_TCK")
QUESTIONS: dict[str, Callable[[Dataset, int], Ask]] = {
    "blindly": lambda data, row: Ask(data.without((row,))),
    "by index": lambda data, row: Ask(data, drop=(row,)),
}

_metered = MeteredAnonymizer(decades)


@cache
def _meter_file() -> int:
    """Opened once: to open it for every question would count as the server's."""
    return os.open(os.environ[METER], os.O_WRONLY | os.O_CREAT)


def metered_decades(data: pd.DataFrame) -> pd.DataFrame:
    """`decades`, which leaves its own seconds of CPU in a file."""
    release = _metered(data)
    os.pwrite(_meter_file(), f"{_metered.seconds:.12f}".encode(), 0)
    return release


def transports(data: Dataset, sample: int) -> Section:
    rows = []
    for name in ("http", "grpc", "stdio"):
        with tempfile.TemporaryDirectory() as folder, _opened(name, Path(folder)) as (oracle, server):
            for how, question in QUESTIONS.items():
                costs = _costs(partial(_ask, oracle, data, question), server, Path(folder), sample)
                rows.append({"transport": name, "asked": how, **costs})
    notes = [
        "blindly: D without the person is sent as a table like any other; by index: D is sent once",
        "client: from the question to a table; server: all its processes, without f itself",
    ]
    columns = len(data.schema.names)
    return Section(f"A question of {data.size} x {columns} and its answer: milliseconds of CPU", rows, notes)


@contextmanager
def _opened(name: str, folder: Path) -> Iterator[tuple[Oracle, int]]:
    """A client of a server of this kind, and the number of the server's process."""
    command = [sys.executable, "-m", "harness.cli", "serve", ADDRESS]
    environment = {**os.environ, METER: str(folder / "meter"), "PYTHONPATH": str(ROOT)}
    if name == "stdio":
        program = " ".join([*command, "--stdio"])
        with closing(oracles.open(f"cmd:{program}", frames=True, env=environment, cwd=str(ROOT))) as oracle:
            oracle.card  # noqa: B018  # starts the program
            yield oracle, _newest_child(os.getpid())
        return
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen([*command, f"--{name}", "127.0.0.1:0"], cwd=ROOT, env=environment, stderr=log)
    try:
        with closing(oracles.open(_address(folder / "log"))) as oracle:
            yield oracle, process.pid
    finally:
        process.terminate()
        process.wait()


def _address(log: Path) -> str:
    """Where the server says that it is."""
    wait_until(lambda: " is served at " in log.read_text())
    return log.read_text().partition(" is served at ")[2].split()[0].rstrip(";,")


def _ask(oracle: Oracle, data: Dataset, question: Callable[[Dataset, int], Ask], row: int) -> None:
    list(oracle.answer(question(data, row)))


def _costs(ask: Callable[[int], object], server: int, folder: Path, sample: int) -> dict[str, Any]:
    for row in range(3):
        ask(row)
    meter = folder / "meter"
    client, others, own = time.process_time(), _cpu_of_tree(server), float(meter.read_text())
    for row in range(3, 3 + sample):
        ask(row)
    client, others = time.process_time() - client, _cpu_of_tree(server) - others
    own = float(meter.read_text()) - own
    return {
        "client": client * 1000 / sample,
        "server": (others - own) * 1000 / sample,
        "f itself": own * 1000 / sample,
    }


def _children(process: int) -> list[int]:
    lists = Path(f"/proc/{process}/task").glob("*/children")
    return [int(child) for one in lists for child in one.read_text().split()]


def _newest_child(process: int) -> int:
    return max(_children(process))


def _cpu_of_tree(process: int) -> float:
    """Seconds of CPU that a process and those it has started have used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / TICKS + sum(map(_cpu_of_tree, _children(process)))
