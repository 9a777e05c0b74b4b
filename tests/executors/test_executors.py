"""Each law of an executor, on all of them; then what only some can promise. More of Dask in test_dask."""

import functools
import math
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from harness.executors import Cluster, Processes, Serial, Threads
from harness.executors.in_process import WINDOW
from harness.executors.mapper import Answer, Pace
from harness.executors.processes import MOST, ONE_EACH
from harness.vocabulary.errors import HarnessError, InputError, OracleError

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def cluster():
    """One small Dask cluster for all laws, as an existing one would be found: by its address."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as local:
        yield Cluster(local.scheduler_address)


@pytest.fixture(params=[Serial(), Threads(2), Processes(2), Cluster], ids=["serial", "threads", "processes", "dask"])
def executor(request):
    return request.getfixturevalue("cluster") if request.param is Cluster else request.param


def square(number):
    return number * number


def irrational(number):
    return [math.sin(number) / 3, math.exp(-number), float("nan"), -0.0]


def failing_at_three(number):
    if number == 3:
        raise OracleError("three is down", retryable=True)
    return number


def sleeping(number):
    time.sleep(0.05)
    return number


def dying_once(folder: Path, parent: int, number: int):
    """At every tenth item its process is killed, the first time it is asked."""
    mark = folder / str(number)
    if number % 10 == 5 and not mark.exists() and os.getpid() != parent:
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_every_item_gives_its_result_once(executor):
    assert sorted(executor.map(square, range(300))) == [number * number for number in range(300)]


def test_nothing_in_nothing_out(executor):
    assert list(executor.map(square, [])) == []


def test_fewer_items_than_workers_are_enough(executor):
    assert list(executor.map(square, [7])) == [49]


def test_results_are_the_same_to_the_last_bit(executor):
    found = sorted(map(repr, executor.map(irrational, range(50))))
    assert found == sorted(repr(irrational(number)) for number in range(50))


def test_an_error_of_the_function_arrives_whole(executor):
    with pytest.raises(OracleError, match="three is down") as caught:
        list(executor.map(failing_at_three, range(10)))
    assert caught.value.retryable


def test_items_are_taken_as_they_are_needed(executor):
    taken = []
    results = executor.map(sleeping, (taken.append(number) or number for number in range(10_000)))
    next(results)
    assert len(taken) < 50
    results.close()


def test_an_error_of_the_items_is_the_error_of_the_map(executor):
    with pytest.raises(ZeroDivisionError):
        list(executor.map(square, (1 // (5 - number) for number in range(10))))


def test_whoever_leaves_early_does_not_wait_for_the_rest(executor):
    results = executor.map(sleeping, range(100_000))
    next(results)
    start = time.monotonic()
    results.close()
    assert time.monotonic() - start < 5


def test_workers_that_are_killed_cost_no_result(executor, tmp_path):
    perform = functools.partial(dying_once, tmp_path, os.getpid())
    assert sorted(executor.map(perform, range(20))) == list(range(20))


def test_threads_wait_together():
    barrier = threading.Barrier(2, timeout=20)
    assert len(list(Threads(2).map(lambda _: barrier.wait(), range(4)))) == 4


def test_threads_take_few_items_ahead():
    taken = []
    results = Threads(2).map(lambda number: number, (taken.append(number) or number for number in range(10_000)))
    next(results)
    assert len(taken) <= 2 * WINDOW + 1


def test_a_call_that_hangs_is_not_waited_for():
    hanging = threading.Event()
    results = Threads(2).map(lambda number: number or hanging.wait(60), range(10))
    start = time.monotonic()
    assert next(results)
    results.close()
    assert time.monotonic() - start < 5
    hanging.set()


def test_work_that_cannot_travel_is_refused_with_the_remedy():
    with pytest.raises(InputError, match="define the anonymizer as a function of a module, or use workers = 1"):
        list(Processes(2).map(lambda number: number, range(3)))


class Unwelcome:
    """Can be sent, but not received."""

    def __reduce__(self):
        return int, ("not a number",)


def test_work_that_cannot_arrive_is_refused_with_the_remedy():
    with pytest.raises(InputError, match=r"cannot receive the work \(ValueError.*use workers = 1"):
        list(Processes(2).map(Unwelcome(), range(3)))


class Counted:
    """Knows how often it was unpacked in this process."""

    arrivals = 0

    def __setstate__(self, state):
        Counted.arrivals += 1

    def __getstate__(self):
        return {"some": "state"}

    def __call__(self, number):
        return os.getpid(), Counted.arrivals


def test_the_function_travels_once_to_each_worker():
    seen = set(Processes(2).map(Counted(), range(200)))
    assert {arrivals for _, arrivals in seen} == {1}


def threads_of(_):
    return {name: os.environ.get(name) for name in ONE_EACH}


def test_workers_compute_with_one_thread_each_and_the_parent_is_left_as_it_was(monkeypatch):
    for name in ONE_EACH:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MKL_NUM_THREADS", "3")  # somebody knows better
    (found,) = Processes(1).map(threads_of, [0])
    assert found == {**dict.fromkeys(ONE_EACH, "1"), "MKL_NUM_THREADS": "3"}
    assert [name for name in ONE_EACH if name in os.environ] == ["MKL_NUM_THREADS"]


def dying_at_three(number):
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_an_item_that_kills_every_worker_is_named_and_costs_no_other_result():
    found = []
    with pytest.raises(HarnessError, match=r"died over item 3, and so did 2 others .*what was measured is kept"):
        found.extend(Processes(2).map(dying_at_three, range(100)))
    assert 3 not in found
    assert {0, 1, 2} <= set(found)
    assert len(set(found)) == len(found)


def leaving(number):
    sys.exit(f"leaving at {number}")


def test_an_anonymizer_that_exits_is_heard():
    with pytest.raises(SystemExit, match="leaving at 0"):
        list(Processes(1).map(leaving, [0]))


class Mute(Exception):
    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


def raising(kind):
    raise {"mute": Mute("this", "that"), "plain": ZeroDivisionError("by nothing")}[kind]


def test_an_error_that_cannot_travel_leaves_its_words():
    with pytest.raises(HarnessError, match="Mute: this and that"):
        list(Processes(1).map(raising, ["mute"]))


def test_an_unexpected_error_says_where_in_the_worker_it_happened():
    with pytest.raises(ZeroDivisionError, match="by nothing") as caught:
        list(Processes(1).map(raising, ["plain"]))
    assert "in raising" in "".join(caught.value.__notes__)


def test_quick_items_travel_many_at_a_time_and_slow_ones_alone():
    pace = Pace(MOST)
    assert pace.items_in(0.2) == 1
    pace.saw(Answer(None, None, 0.01))
    assert pace.items_in(0.2) == 20
    for _ in range(50):
        pace.saw(Answer(None, None, 1e-9))
    assert pace.items_in(0.2) == MOST
    for _ in range(50):
        pace.saw(Answer(None, None, 60.0))
    assert pace.items_in(0.2) == 1


@pytest.mark.parametrize("address", ["", "scheduler", "scheduler:8786", "local:", "local:0", "local:-1", "local:two"])
def test_a_cluster_without_an_address_is_refused_at_birth(address):
    with pytest.raises(InputError, match="is no address; expected that of a Dask scheduler"):
        Cluster(address)


# A whole program, its workers and their end: whether it is told to stop, dies, or forgets them.

PROGRAM = """
    import os, sys, time
    from harness.executors import Cluster, Processes

    def slow(number):
        with open(os.path.join({folder!r}, str(os.getpid())), "w"):
            pass
        end = time.monotonic() + 30 * (number > 3)
        while time.monotonic() < end:  # computes: holds the interpreter, hears no signal while in C
            sum(range(10_000))
        return number

    if __name__ == "__main__":
        results = {executor}.map(slow, range(1000))
        for _ in range(3):
            next(results)
        print("going", flush=True)
        {then}
"""


def program(folder, executor="Processes(2)", then="next(results); next(results)"):
    file = folder / "program.py"
    pids = folder / "pids"
    pids.mkdir()
    file.write_text(textwrap.dedent(PROGRAM).format(folder=str(pids), executor=executor, then=then))
    started = subprocess.Popen(
        [sys.executable, str(file)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert started.stdout.readline() == "going\n"
    return started, pids


def alive(pids):
    return [entry.name for entry in pids.iterdir() if _running(int(entry.name))]


def _running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def soon(condition, seconds=5.0):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def test_ctrl_c_ends_all_within_two_seconds_without_a_word_from_the_workers(tmp_path):
    started, pids = program(tmp_path)
    start = time.monotonic()
    os.killpg(started.pid, signal.SIGINT)  # as a terminal does: to everybody in the foreground
    _, said = started.communicate(timeout=20)
    assert time.monotonic() - start < 4  # two seconds, on a machine that does other things as well
    assert said.count("Traceback") == 1  # the program's own
    assert said.rstrip().endswith("KeyboardInterrupt")
    assert not alive(pids)


def test_workers_end_when_their_parent_is_killed(tmp_path):
    started, pids = program(tmp_path)
    started.kill()
    started.communicate(timeout=20)
    assert soon(lambda: not alive(pids))


def test_a_program_that_forgets_its_results_ends_all_the_same(tmp_path):
    started, pids = program(tmp_path, then="sys.exit(7)")
    _, said = started.communicate(timeout=20)
    assert (started.returncode, said) == (7, "")
    assert not alive(pids)


def test_an_error_in_the_program_ends_the_workers(tmp_path):
    started, pids = program(tmp_path, then="raise ValueError('mine')")
    _, said = started.communicate(timeout=20)
    assert said.rstrip().endswith("ValueError: mine")
    assert not alive(pids)


def test_a_script_without_a_guard_is_told_what_to_do(tmp_path):
    file = tmp_path / "unguarded.py"
    file.write_text("from harness.executors import Processes\nprint(list(Processes(1).map(abs, range(3))))\n")
    told = subprocess.run(
        [sys.executable, str(file)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert told.returncode == 1
    assert 'must do its work under if __name__ == "__main__", or use workers = 1' in told.stderr
