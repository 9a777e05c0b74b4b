"""Draws that repeat each other are told from draws that are equal by chance."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.measuring.independence import copies_by_chance

FLAGGED = 1e-4


@pytest.mark.parametrize("draws", [40, 100, 1_000])
@pytest.mark.parametrize("values", [3, 30, 10**9])
def test_each_draw_sent_ten_times_is_noticed(draws: int, values: int) -> None:
    sent = np.repeat(np.random.default_rng(draws).integers(0, values, draws // 10), 10)
    assert copies_by_chance(sent.tolist()) <= FLAGGED or len(set(sent.tolist())) < 3


@pytest.mark.parametrize("draws", [40, 60, 1_000])
@pytest.mark.parametrize("cycle", [2, 7, 20])
def test_a_cycle_of_draws_is_noticed(draws: int, cycle: int) -> None:
    different = np.random.default_rng(cycle).permutation(cycle)
    assert copies_by_chance(np.resize(different, draws).tolist()) <= FLAGGED


def test_one_draw_in_three_sent_twice_is_noticed() -> None:
    rng = np.random.default_rng(1)
    draws = np.repeat(rng.random(100), 1 + (rng.random(100) < 0.5))
    assert copies_by_chance(draws.tolist()) <= FLAGGED


def test_honest_draws_are_not_flagged() -> None:
    rng = np.random.default_rng(2)
    for values in (1, 2, 3, 10, 100):
        for draws in (2, 40, 300):
            found = [copies_by_chance(rng.integers(0, values, draws).tolist()) for _ in range(60)]
            assert min(found) > FLAGGED
            assert np.count_nonzero(np.array(found) <= 0.05) <= 9  # 60 at 0.05, once in a thousand times


@given(st.lists(st.sampled_from("abc"), max_size=60))
def test_the_answer_is_a_probability_and_does_not_depend_on_names(draws: list[str]) -> None:
    found = copies_by_chance(draws)
    assert 0.0 <= found <= 1.0
    assert found == copies_by_chance([{"a": (1, 2), "b": None, "c": "x"}[draw] for draw in draws])


def test_draws_that_are_all_equal_or_all_different_say_nothing() -> None:
    assert copies_by_chance([]) == copies_by_chance(["a"]) == copies_by_chance(["a"] * 50) == 1.0
    assert copies_by_chance(range(50)) == 1.0
