"""Each law of an executor, on all of them; then what only some can promise. More of Dask in test_cluster."""

import functools
import math
import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from harness.executors import Cluster, Mapper, Processes, Serial, Threads
from harness.executors.in_process import WINDOW
from harness.executors.mapper import Answer, Pace
from harness.executors.processes import MOST
from harness.measuring.one_thread import VARIABLES
from harness.vocabulary.errors import HarnessError, InputError, OracleError
from tests.waiting import first_line, is_running, wait_until

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """One small Dask cluster for all laws, as an existing one would be found: by its address."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as local:
        yield Cluster(local.scheduler_address)


@pytest.fixture(params=[Serial(), Threads(2), Processes(2), Cluster], ids=["serial", "threads", "processes", "dask"])
def executor(request: pytest.FixtureRequest) -> Mapper:
    chosen: Mapper = request.getfixturevalue("cluster") if request.param is Cluster else request.param
    return chosen


class Taken:
    """Items that remember how many of them were taken."""

    def __init__(self, most: int) -> None:
        self.most, self.count = most, 0

    def __iter__(self) -> Iterator[int]:
        for number in range(self.most):
            self.count += 1
            yield number


def square(number: int) -> int:
    return number * number


def irrational(number: int) -> list[float]:
    return [math.sin(number) / 3, math.exp(-number), float("nan"), -0.0]


def failing_at_three(number: int) -> int:
    if number == 3:
        raise OracleError("three is down", retryable=True)
    return number


def dying_once(folder: Path, parent: int, number: int) -> int:
    """At every tenth item its process is killed, the first time it is asked."""
    mark = folder / str(number)
    if number % 10 == 5 and not mark.exists() and os.getpid() != parent:
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_every_item_gives_its_result_once(executor: Mapper) -> None:
    assert sorted(executor.map(square, range(300))) == [number * number for number in range(300)]


def test_nothing_in_nothing_out(executor: Mapper) -> None:
    assert list(executor.map(square, [])) == []


def test_fewer_items_than_workers_are_enough(executor: Mapper) -> None:
    assert list(executor.map(square, [7])) == [49]


def test_results_are_the_same_to_the_last_bit(executor: Mapper) -> None:
    results = sorted(map(repr, executor.map(irrational, range(50))))
    assert results == sorted(repr(irrational(number)) for number in range(50))


def test_an_error_of_the_function_arrives_whole(executor: Mapper) -> None:
    with pytest.raises(OracleError, match="three is down") as caught:
        list(executor.map(failing_at_three, range(10)))
    assert caught.value.retryable


def test_items_are_taken_as_they_are_needed(executor: Mapper) -> None:
    items = Taken(10_000)
    results = executor.map(square, items)
    next(results)
    assert items.count < 50
    close(results)


def test_whoever_leaves_early_does_not_wait_for_the_rest(executor: Mapper) -> None:
    items = Taken(100_000)
    results = executor.map(square, items)
    next(results)
    close(results)
    assert items.count < 50


def close(results: Iterator[object]) -> None:
    """Says that nobody wants the other results, as leaving a loop does."""
    results.close()  # type: ignore[attr-defined]  # executors give generators


def test_an_error_of_the_items_is_the_error_of_the_map(executor: Mapper) -> None:
    with pytest.raises(ZeroDivisionError):
        list(executor.map(square, (1 // (5 - number) for number in range(10))))


def test_workers_that_are_killed_cost_no_result(executor: Mapper, tmp_path: Path) -> None:
    perform = functools.partial(dying_once, tmp_path, os.getpid())
    assert sorted(executor.map(perform, range(20))) == list(range(20))


def test_threads_wait_together() -> None:
    barrier = threading.Barrier(2, timeout=120)
    assert len(list(Threads(2).map(lambda _: barrier.wait(), range(4)))) == 4


def test_threads_take_few_items_ahead() -> None:
    items = Taken(10_000)
    next(Threads(2).map(square, items))
    assert items.count <= 2 * WINDOW + 1


def test_a_call_that_hangs_is_not_waited_for() -> None:
    released, ended = threading.Event(), threading.Event()

    def hanging_at_zero(number: int) -> int:
        if number == 0:
            released.wait(300)
            ended.set()
        return number

    results = Threads(2).map(hanging_at_zero, range(10))
    assert next(results) > 0
    close(results)
    assert not ended.is_set()
    released.set()


def test_work_that_cannot_travel_is_refused_with_the_remedy() -> None:
    with pytest.raises(InputError, match="define the anonymizer as a function of a module, or use workers = 1"):
        list(Processes(2).map(lambda number: number, range(3)))


class Unwelcome:
    """Can be sent, but not received."""

    def __reduce__(self) -> tuple[type[int], tuple[str]]:
        return int, ("not a number",)

    def __call__(self, number: int) -> int:
        return number


def test_work_that_cannot_arrive_is_refused_with_the_remedy() -> None:
    with pytest.raises(InputError, match=r"cannot receive the work \(ValueError.*use workers = 1"):
        list(Processes(2).map(Unwelcome(), range(3)))


class Counted:
    """Knows how often it was unpacked in this process."""

    arrivals = 0

    def __setstate__(self, state: dict[str, str]) -> None:
        Counted.arrivals += 1

    def __getstate__(self) -> dict[str, str]:
        return {"some": "state"}

    def __call__(self, number: int) -> tuple[int, int]:
        return os.getpid(), Counted.arrivals


def test_the_function_travels_once_to_each_worker() -> None:
    seen = set(Processes(2).map(Counted(), range(200)))
    assert {arrivals for _, arrivals in seen} == {1}


def threads_of(_: int) -> dict[str, str | None]:
    return {name: os.environ.get(name) for name in VARIABLES}


def test_workers_compute_with_one_thread_each_and_the_parent_is_left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    (threads,) = Processes(1).map(threads_of, [0])
    assert threads == dict.fromkeys(VARIABLES, "1")
    assert not any(name in os.environ for name in VARIABLES)


def test_whoever_sets_the_number_of_threads_decides_for_the_workers_too(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MKL_NUM_THREADS", "3")
    (threads,) = Processes(1).map(threads_of, [0])
    assert threads == {**dict.fromkeys(VARIABLES), "MKL_NUM_THREADS": "3"}


def dying_at_three(number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_an_item_that_kills_every_worker_is_named_and_costs_no_other_result() -> None:
    results: list[int] = []
    with pytest.raises(HarnessError, match=r"died over item 3, and so did 2 others .*what was measured is kept"):
        results.extend(Processes(2).map(dying_at_three, range(100)))
    assert 3 not in results
    assert {0, 1, 2} <= set(results)
    assert len(set(results)) == len(results)


def leaving(number: int) -> None:
    sys.exit(f"leaving at {number}")


def test_an_anonymizer_that_exits_is_heard() -> None:
    with pytest.raises(SystemExit, match="leaving at 0"):
        list(Processes(1).map(leaving, [0]))


class Mute(Exception):
    def __init__(self, one: str, two: str) -> None:
        super().__init__(f"{one} and {two}")


def raising(kind: str) -> None:
    raise {"mute": Mute("this", "that"), "plain": ZeroDivisionError("by nothing")}[kind]


def test_an_error_that_cannot_travel_leaves_its_words() -> None:
    with pytest.raises(HarnessError, match="Mute: this and that"):
        list(Processes(1).map(raising, ["mute"]))


def test_an_unexpected_error_says_where_in_the_worker_it_happened() -> None:
    with pytest.raises(ZeroDivisionError, match="by nothing") as caught:
        list(Processes(1).map(raising, ["plain"]))
    assert "in raising" in "".join(caught.value.__notes__)


def test_quick_items_travel_many_at_a_time_and_slow_ones_alone() -> None:
    pace = Pace(MOST)
    assert pace.items_in(0.2) == 1
    pace.add(Answer(None, None, 0.01))
    assert pace.items_in(0.2) == 20
    for _ in range(50):
        pace.add(Answer(None, None, 1e-9))
    assert pace.items_in(0.2) == MOST
    for _ in range(50):
        pace.add(Answer(None, None, 60.0))
    assert pace.items_in(0.2) == 1


@pytest.mark.parametrize("address", ["", "scheduler", "scheduler:8786", "local:", "local:0", "local:-1", "local:two"])
def test_a_cluster_without_an_address_is_refused_at_birth(address: str) -> None:
    with pytest.raises(InputError, match="is no address; expected that of a Dask scheduler"):
        Cluster(address)


# A whole program, its workers and their end: whether it is interrupted, dies, or forgets them.

PROGRAM = """
    import os, signal, sys, time
    from harness.executors import Cluster, Processes

    def slow(number):
        with open(os.path.join({folder!r}, str(os.getpid())), "w"):
            pass
        end = time.monotonic() + 600 * (number > 3)
        while time.monotonic() < end:  # computes: holds the interpreter, hears no signal while in C
            sum(range(10_000))
        return number

    if __name__ == "__main__":
        # A shell starts what runs in the background with SIGINT ignored, and tests may run there.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        results = {executor}.map(slow, range(1000))
        for _ in range(3):
            next(results)
        print("going", flush=True)
        {then}
"""


class Program:
    """A script under way in a session of its own, and the pids of the workers that it started."""

    def __init__(self, folder: Path, then: str) -> None:
        file, self._pids = folder / "program.py", folder / "pids"
        self._pids.mkdir()
        source = textwrap.dedent(PROGRAM).format(folder=str(self._pids), executor="Processes(2)", then=then)
        file.write_text(source)
        self.process = subprocess.Popen(
            [sys.executable, str(file)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def errors(self) -> str:
        """What it wrote to standard error until it ended; it ends long before its work is done."""
        return self.process.communicate(timeout=120)[1]

    def running_workers(self) -> list[int]:
        return [pid for pid in (int(entry.name) for entry in self._pids.iterdir()) if is_running(pid)]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Program]]:
    """Starts the program, and gives it back when its first results have come."""
    started: list[Program] = []

    def begin(then: str = "next(results); next(results)") -> Program:
        program = Program(tmp_path, then)
        started.append(program)
        assert first_line(program.process) == "going"
        return program

    yield begin
    for program in started:
        for pid in [program.process.pid, *program.running_workers()]:
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        program.process.communicate()


def test_ctrl_c_ends_all_without_a_word_from_the_workers(start: Callable[..., Program]) -> None:
    program = start()
    os.killpg(program.process.pid, signal.SIGINT)  # as a terminal does: to everybody in the foreground
    errors = program.errors()
    assert errors.count("Traceback") == 1  # the program's own
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert not program.running_workers()


def test_workers_end_when_their_parent_is_killed(start: Callable[..., Program]) -> None:
    program = start()
    program.process.kill()
    program.errors()
    wait_until(lambda: not program.running_workers())


def test_a_program_that_forgets_its_results_ends_all_the_same(start: Callable[..., Program]) -> None:
    program = start(then="sys.exit(7)")
    assert (program.errors(), program.process.returncode) == ("", 7)
    assert not program.running_workers()


def test_an_error_in_the_program_ends_the_workers(start: Callable[..., Program]) -> None:
    program = start(then="raise ValueError('mine')")
    assert program.errors().rstrip().endswith("ValueError: mine")
    assert not program.running_workers()


def test_a_script_without_a_guard_is_told_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "unguarded.py"
    file.write_text("from harness.executors import Processes\nprint(list(Processes(1).map(abs, range(3))))\n")
    ended = subprocess.run(
        [sys.executable, str(file)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 1
    assert 'must do its work under if __name__ == "__main__", or use workers = 1' in ended.stderr
