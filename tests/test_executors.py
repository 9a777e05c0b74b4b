"""Each law of an executor, on all of them."""

import os
import threading
import time

import pytest

from harness.errors import HarnessError, InputError, OracleError
from harness.executors import WINDOW, Processes, Serial, Threads

EXECUTORS = [Serial(), Threads(2), Processes(2)]
each = pytest.mark.parametrize("executor", EXECUTORS, ids=lambda executor: type(executor).__name__)


def square(number: int) -> int:
    return number * number


def failing(number: int) -> int:
    if number == 3:
        raise OracleError("three is down", retryable=True)
    return number


def dying(number: int) -> int:
    if number == 3:
        os._exit(9)
    return number


@each
def test_every_item_gives_its_result_once(executor):
    assert sorted(executor.map(square, range(40))) == [number * number for number in range(40)]


@each
def test_nothing_in_nothing_out(executor):
    assert list(executor.map(square, [])) == []


@each
def test_an_error_of_the_function_arrives_whole(executor):
    with pytest.raises(OracleError, match="three is down") as caught:
        list(executor.map(failing, range(10)))
    assert caught.value.retryable


@each
def test_items_are_taken_as_they_are_needed(executor):
    taken = []

    def items():
        for number in range(10_000):
            taken.append(number)
            yield number

    results = executor.map(square, items())
    next(results)
    assert len(taken) <= 2 * WINDOW + 2
    results.close() if hasattr(results, "close") else None


def test_threads_wait_together():
    barrier = threading.Barrier(2, timeout=20)
    assert len(list(Threads(2).map(lambda _: barrier.wait(), range(4)))) == 4


def test_stopping_early_does_not_wait_for_the_rest():
    start = time.monotonic()
    results = Threads(2).map(lambda number: time.sleep(0.2) or number, range(1000))
    next(results)
    results.close()
    assert time.monotonic() - start < 10


def test_work_that_cannot_travel_is_refused_with_the_remedy():
    with pytest.raises(InputError, match="workers = 1"):
        list(Processes(2).map(lambda number: number, range(3)))


def test_a_worker_that_dies_is_a_clear_error():
    with pytest.raises(HarnessError, match="a worker process died; what was measured is kept"):
        list(Processes(2).map(dying, range(10)))
