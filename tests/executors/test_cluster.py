"""An audit on a Dask cluster: the events of one process, also when a worker is killed in the middle."""

import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from harness.auditing.events import to_entry
from harness.auditing.plan import Claim, Plan
from harness.auditing.procedure import Audit
from harness.executors import Cluster, Mapper, Serial
from harness.synthetic_census import people
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError
from harness.vocabulary.schema import Schema
from oracles.reference import Mondrian
from tests.data import PEOPLE
from tests.waiting import first_line, started, wait_until

distributed = pytest.importorskip("distributed")
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def local() -> Iterator[Any]:
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as local:
        yield local


@pytest.fixture(scope="module")
def plan() -> Plan:
    return Plan(Dataset.from_frame(people(80), Schema(PEOPLE, "occupation")), Claim(0.5))


def journal_lines(plan: Plan, executor: Mapper, during: Callable[[int], None] = lambda count: None) -> list[str]:
    """What the journal of an audit would hold; people are examined in any order."""
    lines = []
    for event in Audit(plan, Mondrian(k=5), executor).events():
        lines.append(json.dumps(to_entry(event), sort_keys=True))
        during(len(lines))
    return sorted(lines)


@pytest.fixture(scope="module")
def serial(plan: Plan) -> list[str]:
    return journal_lines(plan, Serial())


def test_a_cluster_measures_what_one_process_measures(plan: Plan, local: Any, serial: list[str]) -> None:
    assert journal_lines(plan, Cluster(local.scheduler_address)) == serial


def test_a_worker_killed_in_the_middle_changes_nothing(plan: Plan, local: Any, serial: list[str]) -> None:
    def kill_one(count: int) -> None:
        if count == 20:
            nanny = next(iter(local.workers.values()))
            os.kill(nanny.process.pid, signal.SIGKILL)

    assert journal_lines(plan, Cluster(local.scheduler_address), kill_one) == serial


def test_a_cluster_of_this_machine_is_started_when_it_is_asked_for(plan: Plan, serial: list[str]) -> None:
    assert journal_lines(plan, Cluster("local:2")) == serial


def test_a_function_of_no_module_travels_by_value(local: Any) -> None:
    assert sorted(Cluster(local.scheduler_address).map(lambda number: number + 1, range(5))) == [1, 2, 3, 4, 5]


def test_where_no_scheduler_answers_the_address_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.executors.cluster.TIMEOUT", 1.0)
    with socket.socket() as silent:  # bound, so that nobody else has this port, but not listening
        silent.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(InputError, match=f"no Dask scheduler answers at {address}"):
            list(Cluster(address).map(abs, [1]))


LOST = """
    import os, signal, sys, time
    from harness.executors import Cluster
    from harness.vocabulary.errors import WorkerError

    def slow(number):
        time.sleep(0.2)
        return number

    results = Cluster(sys.argv[1]).map(slow, range(100_000))
    next(results)
    os.kill(int(sys.argv[2]), signal.SIGKILL)
    try:
        for _ in results:
            pass
    except WorkerError as error:
        print(error, flush=True)
    os._exit(0)  # its client would wait for the scheduler
"""


@pytest.mark.slow
def test_a_scheduler_that_is_killed_is_one_sentence_and_no_traceback(tmp_path: Path) -> None:
    place, program = tmp_path / "scheduler.json", tmp_path / "lost.py"
    program.write_text(textwrap.dedent(LOST))

    def dask(name: str, *words: str) -> list[str]:
        command = [sys.executable, "-m", f"distributed.cli.dask_{name}", "--scheduler-file", str(place)]
        return [*command, "--no-dashboard", *words]

    with started(dask("scheduler", "--host", "127.0.0.1", "--port", "0"), stderr=subprocess.DEVNULL) as scheduler:
        wait_until(place.exists)
        with started(dask("worker", "--nthreads", "1", "--no-nanny"), stderr=subprocess.DEVNULL):
            address = json.loads(place.read_text())["address"]
            run = subprocess.run(
                [sys.executable, str(program), address, str(scheduler.pid)],
                cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True,
            )  # fmt: skip
    assert f"the cluster at {address} is no longer reachable" in run.stdout
    assert "Traceback" not in run.stderr


def test_without_dask_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"pip install 'anonymizer-harness\[cluster\]'"):
        list(Cluster("local:2").map(abs, [1]))


PROGRAM = """
    import os, signal, sys, threading, time
    from harness.executors import Cluster

    def slow(number):
        if number > 3:
            open(os.path.join({folder!r}, str(os.getpid())), "w").close()
            time.sleep(600)
        return number

    def say_when_all_wait():
        # Python drops a Ctrl-C that falls into a __del__, of which Dask has many while it hands out work.
        while len(os.listdir({folder!r})) < 2 or main_thread_is() != "wait":
            time.sleep(0.01)
        print("going", flush=True)

    def main_thread_is():
        return sys._current_frames()[threading.main_thread().ident].f_code.co_name

    if __name__ == "__main__":
        # A shell starts what runs in the background with SIGINT ignored, and tests may run there.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        results = Cluster("local:2").map(slow, range(1000))
        next(results)
        {then}
"""
INTERRUPTED = """
        try:
            threading.Thread(target=say_when_all_wait, daemon=True).start()
            list(results)
        except KeyboardInterrupt:
            print("stopped", flush=True)
"""
FORGETFUL = """print("going", flush=True)"""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Starts the program, and gives it back when it says that it is going."""
    started: list[subprocess.Popen[str]] = []

    def begin(then: str) -> subprocess.Popen[str]:
        file, busy = tmp_path / "program.py", tmp_path / "busy"
        busy.mkdir()
        file.write_text(textwrap.dedent(PROGRAM.format(folder=str(busy), then=then)))
        process = subprocess.Popen(
            [sys.executable, str(file)],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        assert first_line(process) == "going"
        return process

    yield begin
    for process in started:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.mark.slow
def test_ctrl_c_ends_a_local_cluster_in_silence(start: Callable[[str], subprocess.Popen[str]]) -> None:
    program = start(INTERRUPTED)
    os.killpg(program.pid, signal.SIGINT)
    assert program.communicate(timeout=120) == ("stopped\n", "")


@pytest.mark.slow
def test_a_program_that_forgets_its_cluster_ends_all_the_same(start: Callable[[str], subprocess.Popen[str]]) -> None:
    assert start(FORGETFUL).communicate(timeout=120) == ("", "")
