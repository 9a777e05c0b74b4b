"""Oracles around oracles: each does its one thing, from many threads, and travels with its inner oracle."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd
import pytest

from harness.vocabulary.errors import AwayError, InputError, OracleError, ReleaseError
from harness.vocabulary.oracle import Ask, Card, Oracle, Release
from harness.vocabulary.release import Predictions
from oracles.clients.local import Local
from oracles.middleware import LONGEST_AWAY, Counting, Paced, Retrying, open_with_retries
from tests.clock import Clock
from tests.oracles.asking import digests, leave_after_one_release
from tests.oracles.filters import dataset, noisy, travelled

DATA = dataset()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of the oracles around oracles."""
    clock = Clock()
    monkeypatch.setattr("oracles.middleware.time", clock)
    return clock


class Troubled:
    """Follows a script: an error is raised, a number is how many draws it gets through before it fails."""

    def __init__(self, *script: Exception | int | None, card: Card | None = None) -> None:
        self.script, self.inner = list(script), Local(noisy)
        self.asks: list[Ask] = []
        self.closed = False
        self.card = card or self.inner.card

    def answer(self, ask: Ask) -> Iterator[Release]:
        self.asks.append(ask)
        step = self.script.pop(0) if self.script else None
        if isinstance(step, Exception):
            raise step
        for draw, release in enumerate(self.inner.answer(ask)):
            if draw == step:
                raise OracleError("dropped in the middle", retryable=True)
            yield release

    def close(self) -> None:
        self.closed = True


def busy(after: float | None = None) -> OracleError:
    return OracleError("busy", retryable=True, retry_after=after)


def patient(inner: Oracle, attempts: int = 4, **options: Any) -> Retrying:
    return Retrying(inner, attempts, **{"first": 0.001, "rng": np.random.default_rng(1), **options})


def test_a_failure_that_may_pass_is_asked_again_until_it_has_passed() -> None:
    inner = Troubled(busy(), busy(), busy())
    assert len(list(patient(inner).answer(Ask(DATA)))) == 1
    assert len(inner.asks) == 4


def test_a_failure_that_will_not_pass_is_not_asked_again() -> None:
    inner = Troubled(OracleError("wrong token"))
    with pytest.raises(OracleError, match=r"^wrong token$"):
        list(patient(inner).answer(Ask(DATA)))
    assert len(inner.asks) == 1


def test_attempts_are_bounded_and_the_last_error_says_how_many_there_were() -> None:
    inner = Troubled(*[busy()] * 9)
    with pytest.raises(OracleError, match=r"^asked 3 times: busy") as caught:
        list(patient(inner, attempts=3).answer(Ask(DATA)))
    assert caught.value.retryable
    assert len(inner.asks) == 3


def test_releases_that_have_arrived_are_kept_and_the_rest_has_the_seeds_it_would_have_had() -> None:
    ask = Ask(DATA, draws=5, seed=2**63 - 2)
    inner = Troubled(2, 0, 1)
    assert digests(patient(inner), ask) == digests(Local(noisy), ask)
    assert [part.draws for part in inner.asks] == [5, 3, 3, 2]


def test_an_end_that_is_lost_after_the_last_release_loses_nothing() -> None:
    class Rude(Troubled):
        def answer(self, ask: Ask) -> Iterator[Release]:
            yield from super().answer(ask)
            raise busy()

    assert len(list(patient(Rude()).answer(Ask(DATA, draws=2)))) == 2


def test_nonsense_after_the_last_release_is_not_forgiven() -> None:
    class Rude(Troubled):
        def answer(self, ask: Ask) -> Iterator[Release]:
            yield from super().answer(ask)
            raise ReleaseError("more releases than asked for")

    inner = Rude()
    with pytest.raises(ReleaseError, match="more releases"):
        list(patient(inner).answer(Ask(DATA, draws=2)))
    assert len(inner.asks) == 1


def test_predictions_come_whole_or_are_asked_for_again_whole() -> None:
    class Predicting(Troubled):
        def answer(self, ask: Ask) -> Iterator[Release]:
            self.asks.append(ask)
            yield Predictions(np.ones((ask.draws, 1)))
            if len(self.asks) == 1:
                raise busy()

    inner = Predicting(card=Card("p", releases="predictions"))
    (released,) = patient(inner).answer(Ask(DATA, draws=7))
    assert isinstance(released, Predictions)
    assert released.rows.shape == (7, 1)
    assert [ask.draws for ask in inner.asks] == [7, 7]


def test_the_oracle_decides_how_long_to_wait_at_least(clock: Clock) -> None:
    list(patient(Troubled(busy(after=0.3))).answer(Ask(DATA)))
    assert clock.sleeps == [0.3]


def test_nobody_waits_longer_than_the_patience(clock: Clock) -> None:
    with pytest.raises(OracleError, match="busy"):
        list(patient(Troubled(busy(after=3600)), patience=1.0).answer(Ask(DATA)))
    assert clock.sleeps == []


def away(after: float | None = None) -> AwayError:
    return AwayError("connection refused", retry_after=after)


def test_an_oracle_that_is_away_is_waited_for_and_costs_no_attempt(clock: Clock) -> None:
    inner = Troubled(*[away()] * 20)
    assert len(list(patient(inner, attempts=1, first=1.0, patience=600.0).answer(Ask(DATA)))) == 1
    assert len(inner.asks) == 21
    assert max(clock.sleeps) <= LONGEST_AWAY


def test_after_the_patience_is_over_the_oracle_is_not_waited_for(clock: Clock) -> None:
    retrying = patient(Troubled(*[away()] * 99), patience=30.0, first=1.0)
    with pytest.raises(AwayError, match="^away for 30 s, and no more than 30 s are waited: connection refused$"):
        list(retrying.answer(Ask(DATA)))
    assert sum(clock.sleeps) == pytest.approx(30.0)


def test_the_patience_is_of_the_oracle_and_not_of_each_question(clock: Clock) -> None:
    retrying = patient(Troubled(*[away()] * 99), patience=30.0, first=1.0)
    for _ in range(2):
        with pytest.raises(AwayError, match="away for 30 s"):
            list(retrying.answer(Ask(DATA)))
    assert sum(clock.sleeps) == pytest.approx(30.0)


def test_an_answer_ends_the_outage(clock: Clock) -> None:
    retrying = patient(Troubled(*[away()] * 5, None, *[away()] * 5), patience=12.6, first=0.5)
    assert retrying.waiting == (0.0, 12.6)
    for _ in range(2):
        assert len(list(retrying.answer(Ask(DATA)))) == 1
    assert retrying.waiting == (0.0, 12.6)
    assert sum(clock.sleeps) > 12.6


def test_whoever_watches_reads_how_long_the_oracle_has_been_away(clock: Clock) -> None:
    seen: list[tuple[float, float]] = []

    class Watched(Troubled):
        def answer(self, ask: Ask) -> Iterator[Release]:
            seen.append(counting.waiting)
            yield from super().answer(ask)

    counting = Counting(patient(Watched(*[away()] * 3), patience=60.0, first=2.0))
    list(counting.answer(Ask(DATA)))
    assert [most for _, most in seen] == [60.0] * 4
    assert seen[0][0] == 0.0
    assert seen[1][0] < seen[2][0] < seen[3][0]


def test_an_oracle_that_asks_for_a_longer_pause_than_is_left_is_not_waited_for(clock: Clock) -> None:
    with pytest.raises(AwayError, match="not to be asked again for 90 s, and no more than 60 s are waited in all"):
        list(patient(Troubled(away(90.0)), patience=60.0).answer(Ask(DATA)))
    list(patient(Troubled(away(45.0)), patience=60.0).answer(Ask(DATA)))
    assert clock.sleeps == [45.0]


@pytest.mark.parametrize("after", [float("nan"), -5.0, float("-inf")])
def test_a_time_to_come_back_at_that_is_none_is_not_slept_for(after: float, clock: Clock) -> None:
    assert len(list(patient(Troubled(busy(after))).answer(Ask(DATA)))) == 1
    assert open_with_retries(scripted(busy(after), MADE), first=0.001) is MADE
    assert len(clock.sleeps) == 2
    assert max(clock.sleeps) <= 0.001


MADE = Local(noisy)


def scripted(*script: Exception | Oracle) -> Callable[[], Oracle]:
    """A maker of oracles that follows a script."""
    steps = list(script)

    def make() -> Oracle:
        step = steps.pop(0)
        if isinstance(step, Exception):
            raise step
        return step

    return make


def test_an_oracle_is_made_again_while_that_may_help(clock: Clock) -> None:
    assert open_with_retries(scripted(busy(), busy(), MADE), first=1.0) is MADE
    assert clock.sleeps == [1.0, 2.0]
    with pytest.raises(OracleError, match=r"^asked 2 times: busy"):
        open_with_retries(scripted(busy(), busy(), MADE), 2)
    with pytest.raises(OracleError, match=r"^no$"):
        open_with_retries(scripted(OracleError("no"), MADE))


@pytest.mark.parametrize("after", [100_000.0, 1e300, float("inf")])
def test_nobody_sleeps_for_an_oracle_that_wants_to_be_left_alone_for_long(after: float, clock: Clock) -> None:
    with pytest.raises(OracleError, match="not to be asked again for 3600 s, and no more than 60 s are waited.*: busy"):
        open_with_retries(scripted(busy(after), MADE))
    with pytest.raises(OracleError, match="not to be asked again for 3600 s, and no more than 120 s"):
        list(patient(Troubled(busy(after))).answer(Ask(DATA)))
    assert clock.sleeps == []


def test_no_attempt_to_make_an_oracle_begins_after_the_patience(clock: Clock) -> None:
    def slow() -> Oracle:
        clock.now += 20.0
        raise busy()

    with pytest.raises(OracleError, match="asked 2 times"):
        open_with_retries(slow, 50, first=0.001, patience=30.0)


def test_waits_double_with_jitter_and_stay_below_the_longest() -> None:
    retrying = patient(Troubled(), first=1.0, longest=5.0)
    for attempt, most in enumerate([1.0, 2.0, 4.0, 5.0, 5.0]):
        waits = [retrying._wait(attempt, None) for _ in range(50)]
        assert min(waits) >= most / 2
        assert max(waits) <= most
        assert len(set(waits)) > 40


def test_asks_begin_no_faster_than_the_pace() -> None:
    paced = Paced(Local(noisy), per_second=50)
    start = time.monotonic()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda seed: list(paced.answer(Ask(DATA, seed=seed))), range(11)))
    assert time.monotonic() - start >= 10 / 50  # however slow the machine is


def test_the_pace_is_kept_from_ask_to_ask(clock: Clock) -> None:
    paced = Paced(Local(noisy), per_second=4)
    for _ in range(3):
        list(paced.answer(Ask(DATA)))
    assert clock.sleeps == [0.0, 0.25, 0.25]


def test_no_more_asks_are_under_way_than_allowed() -> None:
    lock, under_way, most = threading.Lock(), [0], [0]
    three = threading.Barrier(3, timeout=120)  # each ask ends only together with two others

    def meeting(frame: pd.DataFrame) -> pd.DataFrame:
        with lock:
            under_way[0] += 1
            most[0] = max(most[0], under_way[0])
        three.wait()
        with lock:
            under_way[0] -= 1
        return frame

    paced = Paced(Local(meeting), concurrency=3)
    with ThreadPoolExecutor(10) as pool:
        list(pool.map(lambda _: list(paced.answer(Ask(DATA))), range(21)))
    assert most[0] == 3


def test_an_answer_that_is_not_read_to_its_end_frees_its_place() -> None:
    paced = Paced(Local(noisy), concurrency=1)
    leave_after_one_release(paced, Ask(DATA, draws=2))
    assert len(list(paced.answer(Ask(DATA)))) == 1


def test_what_is_counted_is_what_happened() -> None:
    counting = Counting(Troubled(busy(), 1))
    with pytest.raises(OracleError):
        list(counting.answer(Ask(DATA)))
    with pytest.raises(OracleError):
        list(counting.answer(Ask(DATA, draws=3)))
    list(counting.answer(Ask(DATA, draws=2)))
    counts = counting.counts
    assert (counts.asks, counts.failures, counts.releases) == (3, 2, 3)
    assert counts.seconds > 0
    assert (counts.sent, counts.received) == (None, None)


def test_questions_that_are_asked_again_are_counted_apart_from_those_that_fail() -> None:
    counting = Counting(patient(Troubled(busy(), busy(), None, OracleError("wrong token"))))
    list(counting.answer(Ask(DATA)))
    with pytest.raises(OracleError):
        list(counting.answer(Ask(DATA)))
    counts = counting.counts
    assert (counts.asks, counts.retries, counts.failures) == (2, 2, 1)
    assert "2 questions (1 failed), 2 asked again, " in str(counts)


@pytest.mark.parametrize("around", [Retrying, Paced, Counting])
def test_whatever_stands_around_an_oracle_shows_its_card_closes_it_and_travels(
    around: Callable[[Oracle], Oracle],
) -> None:
    inner = Troubled()
    outer = around(inner)
    assert outer.card == inner.card
    outer.close()
    assert inner.closed
    copy = travelled(around(Local(noisy)))
    assert digests(copy, Ask(DATA, seed=5)) == digests(Local(noisy), Ask(DATA, seed=5))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Retrying(Troubled(), 0),
        lambda: Paced(Troubled(), per_second=0),
        lambda: Paced(Troubled(), concurrency=0),
    ],
)
def test_numbers_without_a_meaning_are_refused_at_birth(wrong: Callable[[], Oracle]) -> None:
    with pytest.raises(InputError, match="must be"):
        wrong()
