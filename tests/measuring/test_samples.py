"""Samples are checked predictions, and W₁ between their coordinates is computed exactly however many there are."""

import pickle
from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance

from harness.measuring import samples
from harness.measuring.samples import Floats, Samples, pair_lengths, same_draws, same_values, wasserstein
from harness.vocabulary.errors import InputError

SEEDS = st.integers(0, 2**32 - 1)


def predictions(seed: int, draws: int, values: int = 3) -> Floats:
    return np.random.default_rng(seed).dirichlet(np.full(values, 0.5), draws)


def per_value(x: Floats, y: Floats) -> Floats:
    return wasserstein(Samples(x).coordinates, Samples(y).coordinates)


@given(SEEDS, SEEDS, st.integers(1, 30), st.integers(1, 30))
def test_each_value_moves_by_the_earth_movers_distance_of_its_draws(one: int, other: int, many: int, more: int) -> None:
    x, y = predictions(one, many), predictions(other, more)
    expected = [wasserstein_distance(x[:, j], y[:, j]) for j in range(3)]
    assert per_value(x, y) == pytest.approx(expected, abs=1e-12)


@given(SEEDS, SEEDS, st.integers(1, 30), st.integers(1, 30), st.randoms())
def test_neither_the_order_of_draws_nor_of_sides_matters(
    one: int, other: int, many: int, more: int, random: Random
) -> None:
    x, y = predictions(one, many), predictions(other, more)
    order = random.sample(range(many), many)
    assert per_value(x[order], y) == pytest.approx(per_value(y, x), abs=1e-12)


@given(SEEDS, st.integers(1, 30), st.integers(2, 4))
def test_repeating_every_draw_of_one_side_changes_nothing(seed: int, draws: int, times: int) -> None:
    x, y = predictions(seed, draws), predictions(seed + 1, draws)
    assert per_value(np.repeat(x, times, axis=0), y) == pytest.approx(per_value(x, y), abs=1e-12)


@given(SEEDS, st.integers(1, 30))
def test_no_pairing_of_draws_is_nearer_than_the_order_statistics(seed: int, draws: int) -> None:
    x, y = predictions(seed, draws), predictions(seed + 1, draws)
    lengths = pair_lengths(Samples(x).coordinates, Samples(y).coordinates, 2.0)
    assert per_value(x, y).sum() <= lengths.mean() + 1e-12


LAWS: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "two points": lambda rng, size: rng.integers(0, 2, size).astype(float),
    "fifty points": lambda rng, size: rng.integers(0, 50, size) / 50,
    "one point": lambda rng, size: np.full(size, 0.25),
    "even": lambda rng, size: rng.random(size),
    "near the ends": lambda rng, size: rng.beta(0.05, 0.05, size),
    "heavy at zero": lambda rng, size: np.maximum(0, rng.laplace(size=size)) / 40,
    "on two scales": lambda rng, size: rng.random(size) * np.where(rng.random(size) < 0.5, 1e-9, 1.0),
}


@pytest.mark.parametrize("one", LAWS)
@pytest.mark.parametrize("other", LAWS)
def test_many_draws_are_compared_exactly_although_few_of_them_are_sorted(one: str, other: str) -> None:
    rng = np.random.default_rng(7)
    x, y = (np.clip(LAWS[law](rng, samples.MANY), 0, 1) for law in (one, other))
    x, y = np.stack([x, 1 - x], axis=1), np.stack([y, 1 - y], axis=1)
    expected = np.abs(np.sort(x, axis=0) - np.sort(y, axis=0)).mean(axis=0)
    assert per_value(x, y) == pytest.approx(expected, abs=1e-13)


def test_a_value_whose_pairs_all_moved_one_way_moved_by_the_difference_of_means() -> None:
    x = predictions(1, samples.MANY)
    y = x + np.outer(x[:, 0] / 2, [-1, 1, 0])
    expected = np.abs(np.sort(x, axis=0) - np.sort(y, axis=0)).mean(axis=0)
    assert per_value(x, y) == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize(
    "draws",
    [
        np.empty((0, 2)),
        np.array([0.5, 0.5]),
        np.array([[0.5, 0.6]]),
        np.array([[1.5, -0.5]]),
        np.array([[np.nan, 1.0]]),
    ],
    ids=["no draws", "no table", "sum not one", "negative", "not a number"],
)
def test_samples_that_are_no_predictions_are_refused(draws: Floats) -> None:
    with pytest.raises(InputError):
        Samples(draws)


def test_sides_with_different_sensitive_values_cannot_be_compared() -> None:
    with pytest.raises(InputError, match="one side predicts 2 sensitive values and the other 3"):
        same_values(np.array([[0.5, 0.5]]), np.array([[0.2, 0.3, 0.5]]))


def test_pairs_need_a_partner() -> None:
    with pytest.raises(InputError, match="as many draws on both sides"):
        same_draws(predictions(1, 3), predictions(2, 4))


def test_what_the_tolerance_let_pass_is_gone_from_normalised_draws() -> None:
    normalised = Samples(np.array([[0.3334, 0.3334, 0.3334], [1.0005, -0.0005, 0.0]])).normalised
    assert normalised.min() >= 0
    assert normalised.sum(axis=1) == pytest.approx([1, 1], abs=1e-15)


def test_a_transform_is_applied_once_as_long_as_no_other_one_is_asked_for() -> None:
    calls = []

    def first(confidences: Floats) -> Floats:
        calls.append("first")
        return confidences[:1]

    def second(confidences: Floats) -> Floats:
        calls.append("second")
        return confidences[1:]

    draws = Samples(predictions(1, 5))
    assert draws.under(first) is draws.under(first)
    assert draws.under(second).columns.shape == (2, 5)
    assert draws.under(first).columns.shape == (1, 5)
    assert calls == ["first", "second", "first"]


def test_samples_travel_between_processes() -> None:
    draws = Samples(predictions(1, 5))
    _ = draws.ordered
    assert np.array_equal(pickle.loads(pickle.dumps(draws)).ordered, draws.ordered)  # noqa: S301
