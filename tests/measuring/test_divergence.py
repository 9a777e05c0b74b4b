import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance

from harness.measuring import divergence as distance
from harness.measuring.divergence import DISTANCES, Samples, named, paired, per_value
from harness.vocabulary.errors import InputError

SEEDS = st.integers(0, 2**32 - 1)


def predictions(seed, draws, values=3):
    return np.random.default_rng(seed).dirichlet(np.full(values, 0.5), draws)


@given(SEEDS, SEEDS, st.integers(1, 30), st.integers(1, 30))
def test_each_value_moves_by_the_earth_movers_distance_of_its_draws(one, other, many, more):
    x, y = predictions(one, many), predictions(other, more)
    expected = [wasserstein_distance(x[:, j], y[:, j]) for j in range(3)]
    assert per_value(x, y) == pytest.approx(expected, abs=1e-12)


@given(SEEDS, SEEDS, st.integers(1, 30), st.integers(1, 30), st.randoms())
def test_neither_the_order_of_draws_nor_of_sides_matters(one, other, many, more, random):
    x, y = predictions(one, many), predictions(other, more)
    order = random.sample(range(many), many)
    assert per_value(x[order], y) == pytest.approx(per_value(y, x), abs=1e-12)


@given(SEEDS, st.integers(1, 30), st.integers(2, 4))
def test_repeating_every_draw_of_one_side_changes_nothing(seed, draws, times):
    x, y = predictions(seed, draws), predictions(seed + 1, draws)
    assert per_value(np.repeat(x, times, axis=0), y) == pytest.approx(per_value(x, y), abs=1e-12)


@given(SEEDS, st.integers(1, 30))
def test_no_pairing_of_draws_is_nearer_than_the_order_statistics(seed, draws):
    x, y = predictions(seed, draws), predictions(seed + 1, draws)
    assert per_value(x, y).sum() <= paired(x, y).mean() + 1e-12


LAWS = {
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
def test_many_draws_are_compared_exactly_although_few_of_them_are_sorted(one, other):
    rng = np.random.default_rng(7)
    x, y = (np.clip(LAWS[law](rng, distance.MANY), 0, 1) for law in (one, other))
    x, y = np.stack([x, 1 - x], axis=1), np.stack([y, 1 - y], axis=1)
    expected = np.abs(np.sort(x, axis=0) - np.sort(y, axis=0)).mean(axis=0)
    assert per_value(x, y) == pytest.approx(expected, abs=1e-13)


def test_a_value_whose_pairs_all_moved_one_way_moved_by_the_difference_of_means():
    x = predictions(1, distance.MANY)
    y = x + np.outer(x[:, 0] / 2, [-1, 1, 0])
    expected = np.abs(np.sort(x, axis=0) - np.sort(y, axis=0)).mean(axis=0)
    assert per_value(x, y) == pytest.approx(expected, abs=1e-13)


def test_a_sure_prediction_moves_by_the_sum_of_its_changes():
    assert per_value(np.array([[2 / 3, 1 / 3]]), np.array([[1 / 2, 1 / 2]])).sum() == pytest.approx(1 / 3)


def test_the_distances_of_both_versions_of_the_paper_are_told_apart():
    x, y = np.array([[0.49, 0.01, 0.5]]), np.array([[0.01, 0.49, 0.5]])
    total = per_value(x, y).sum()
    moved = {name: total * known.scale for name, known in DISTANCES.items()}
    assert moved == pytest.approx({"emd": 0.96, "total-variation": 0.48, "quarter": 0.24})


@pytest.mark.parametrize("known", DISTANCES.values(), ids=str)
def test_certain_opposite_predictions_are_the_largest_distance_apart(known):
    assert known.scale * per_value(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])).sum() == known.largest


def test_a_misspelt_distance_is_told_the_nearest_name():
    with pytest.raises(InputError, match=r"no distance is called 'total_variation'; did you mean 'total-variation'\?"):
        named("total_variation")


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
def test_samples_that_are_no_predictions_are_refused(draws):
    with pytest.raises(InputError):
        Samples(draws)


def test_sides_with_different_sensitive_values_cannot_be_compared():
    with pytest.raises(InputError, match="one side predicts 2 sensitive values and the other 3"):
        per_value(np.array([[0.5, 0.5]]), np.array([[0.2, 0.3, 0.5]]))


def test_pairs_need_a_partner():
    with pytest.raises(InputError, match="as many draws on both sides"):
        paired(predictions(1, 3), predictions(2, 4))
