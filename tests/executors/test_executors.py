"""Each law of an executor, on all of them; then what only some can promise. More of Dask in test_cluster."""

import functools
import math
import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.executors import SCHEMES, Cluster, Mapper, Processes, Serial, Threads, choose_executor, workers_at_once
from harness.executors.in_process import WINDOW
from harness.executors.mapper import Answer, Pace
from harness.executors.processes import MOST
from harness.measuring.one_thread import VARIABLES
from harness.vocabulary.errors import HarnessError, InputError, OracleError


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
    with pytest.raises(
        OracleError, match=r"ended \(.*\) when it examined item 3, and so did 2 others; what was measured is"
    ):
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
    assert pace.items_for(0.2) == 1
    pace.add(Answer(None, None, 0.01))
    assert pace.items_for(0.2) == 20
    for _ in range(50):
        pace.add(Answer(None, None, 1e-9))
    assert pace.items_for(0.2) == MOST
    for _ in range(50):
        pace.add(Answer(None, None, 60.0))
    assert pace.items_for(0.2) == 1


@pytest.mark.parametrize("address", ["", "scheduler", "scheduler:8786", "local:", "local:0", "local:-1", "local:two"])
def test_a_cluster_without_an_address_is_refused_at_birth(address: str) -> None:
    with pytest.raises(InputError, match="is no address; expected that of a Dask scheduler"):
        Cluster(address)


@pytest.mark.parametrize(
    ("workers", "in_process", "expected"),
    [(1, True, Serial()), (1, False, Serial()), (3, True, Processes(3)), (3, False, Threads(3))],
)
def test_oracles_that_compute_here_get_processes_and_those_that_are_waited_for_threads(
    workers: int, in_process: bool, expected: Mapper
) -> None:
    assert choose_executor(workers, in_process=in_process) == expected


def test_a_cluster_that_is_named_does_the_work() -> None:
    for address in ("local:4", "tcp://scheduler:8786"):
        assert choose_executor(address, in_process=True) == Cluster(address)
    with pytest.raises(InputError, match="no executor has such an address; did you mean 'local'"):
        choose_executor("locall:4", in_process=True)


def test_a_new_executor_is_one_entry_in_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SCHEMES, "batch", lambda address: Serial())
    assert choose_executor("batch:queue", in_process=True) == Serial()
    assert [workers_at_once(each) for each in (Serial(), Threads(3), Cluster("local:4"))] == [1, 3, 4]


@pytest.mark.parametrize("workers", [0, -1, True, 2.0, "2", None])
def test_a_number_of_workers_that_is_none_is_refused(workers: Any) -> None:
    with pytest.raises(InputError, match="workers must be a whole number of at least 1"):
        choose_executor(workers, in_process=True)
