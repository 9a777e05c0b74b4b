"""On mechanisms whose distance is known, each bound errs no more often than it says, and is not idle."""

import numpy as np
import pytest
from scipy.stats import binom

from harness.measuring import bounds
from harness.measuring.divergence import Samples, per_value

FALLING = np.arange(14, 0, -1) / 105


def two_values(first):
    return np.stack([first, 1 - first], axis=1)


def uniforms(rng, draws, coupled):
    """What both sides make their predictions of: the same chance when coupled."""
    u = rng.random(draws)
    return u, u if coupled else rng.random(draws)


def shifted(rng, draws, coupled):
    u, v = uniforms(rng, draws, coupled)
    return two_values(u / 2), two_values(v / 2 + 0.1)


def crossing(rng, draws, coupled):
    u, v = uniforms(rng, draws, coupled)
    return two_values(0.2 + 0.6 * u), two_values(0.35 + 0.3 * v)


def two_points(rng, draws, coupled):
    u, v = uniforms(rng, draws, coupled)
    return two_values(np.where(u < 0.3, 0.6, 0.2)), two_values(np.where(v < 0.5, 0.6, 0.2))


def rare(rng, draws, coupled):
    return two_values(np.zeros(draws)), two_values((rng.random(draws) < 0.002).astype(float))


def randomized_response(rng, draws, coupled):
    u, v = uniforms(rng, draws, coupled)
    truth = np.exp(1) / (1 + np.exp(1))
    return two_values((u < truth).astype(float)), two_values((v > truth).astype(float))


def opposite(rng, draws, coupled):
    u, v = uniforms(rng, draws, coupled)
    return two_values(u), two_values(1 - v)


def nothing(rng, draws, coupled):
    return rng.dirichlet(np.ones(14), draws), rng.dirichlet(np.ones(14), draws)


def corners(rng, draws, coupled):
    u, v = uniforms(rng, draws, coupled)
    x, y = (np.searchsorted(np.cumsum(law)[:-1], w) for law, w in ((FALLING, u), (FALLING[::-1], v)))
    return np.eye(14)[x], np.eye(14)[y]


def cells(rng, draws, coupled, noise_epsilon=1.0):
    """The Laplace mechanism of the paper on counts (1, 2, 0, …), which lose the 1."""
    counts = np.zeros((2, 1, 14))
    counts[:, :, 1], counts[0, :, 0] = 2, 1
    noise = rng.laplace(scale=1 / noise_epsilon, size=(1 if coupled else 2, draws, 14))
    kept = 1 + np.maximum(0, counts + noise)
    x, y = kept / kept.sum(axis=2, keepdims=True)
    return x, y


def faint_cells(rng, draws, coupled):
    return cells(rng, draws, coupled, noise_epsilon=0.1)


MECHANISMS = {
    shifted: 0.2,
    crossing: 0.15,
    two_points: 0.16,
    rare: 0.004,
    randomized_response: 2 * np.tanh(0.5),
    opposite: 0.0,  # equal laws, and the worst coupling of them
    nothing: 0.0,
    corners: np.abs(FALLING - FALLING[::-1]).sum(),
    # E‖x − y‖₁ of 1.6 million coupled pairs, ± 0.00003; all pairs move one way, which makes it d.
    cells: 0.05437,
    faint_cells: 0.01169,
}
REFERENCE_ERROR = 6e-5

every_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.__name__)
coupled_or_not = pytest.mark.parametrize("coupled", [True, False], ids=["coupled", "independent"])


def intervals(mechanism, coupled, draws, alpha, runs, seed=1):
    rng = np.random.default_rng([seed, draws, coupled])
    for _ in range(runs):
        x, y = (Samples(side) for side in mechanism(rng, draws, coupled))
        yield bounds.interval(x, y, float(per_value(x, y).sum()), alpha, coupled=coupled)


def allowed(runs, rate):
    """As many misses as a bound that errs at its nominal rate exceeds once in a thousand times."""
    return int(binom.isf(1e-3, runs, rate))


def assert_misses_are_rare(mechanism, coupled, draws, alpha, runs):
    lower, upper = np.array(list(intervals(mechanism, coupled, draws, alpha, runs))).T
    d = MECHANISMS[mechanism]
    assert np.count_nonzero(lower > d + REFERENCE_ERROR) <= allowed(runs, alpha / 2)
    assert np.count_nonzero(upper < d - REFERENCE_ERROR) <= allowed(runs, alpha / 2)


@every_mechanism
@coupled_or_not
@pytest.mark.parametrize(("draws", "alpha", "runs"), [(50, 0.05, 150), (50, 0.5, 150), (700, 0.05, 60)])
def test_bounds_miss_no_more_often_than_they_say(mechanism, coupled, draws, alpha, runs):
    assert_misses_are_rare(mechanism, coupled, draws, alpha, runs)


@pytest.mark.slow
@every_mechanism
@coupled_or_not
@pytest.mark.parametrize(
    ("draws", "alpha", "runs"),
    [(50, 0.01, 1000), (300, 0.05, 500), (2_000, 0.5, 200), (5_000, 0.01, 150), (25_000, 0.05, 40)],
)
def test_bounds_miss_no_more_often_than_they_say_in_many_runs(mechanism, coupled, draws, alpha, runs):
    assert_misses_are_rare(mechanism, coupled, draws, alpha, runs)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [nothing, randomized_response, two_points], ids=lambda m: m.__name__)
@coupled_or_not
def test_the_bounds_of_a_thousand_records_hold_together(mechanism, coupled):
    audits, records = 6, 1_000
    d = MECHANISMS[mechanism]
    missed = 0
    for audit in range(audits):
        lower, upper = np.array(list(intervals(mechanism, coupled, 60, 0.05 / records, records, seed=audit))).T
        missed += bool((lower > d).any() or (upper < d).any())
    assert missed <= allowed(audits, 0.05)


@pytest.mark.parametrize(
    ("mechanism", "coupled", "draws", "width"),
    [
        (faint_cells, True, 5_000, 0.006),
        (faint_cells, True, 25_000, 0.0015),
        (cells, True, 25_000, 0.002),
        (cells, False, 25_000, 0.016),
        (shifted, True, 2_000, 0.01),
        (opposite, True, 25_000, 0.04),  # E‖x − y‖₁ is 1: only the concentration of d̂ can say so
    ],
)
def test_intervals_are_narrow(mechanism, coupled, draws, width):
    ((lower, upper),) = intervals(mechanism, coupled, draws, 0.05, runs=1)
    assert lower - REFERENCE_ERROR <= MECHANISMS[mechanism] <= upper + REFERENCE_ERROR
    assert upper - lower <= width


@pytest.mark.parametrize("law", ["constant", "rare", "coin", "square"])
@pytest.mark.parametrize("draws", [30, 400])
def test_a_mean_is_seldom_below_its_bound(law, draws):
    rng = np.random.default_rng(4)
    draw, mean = {
        "constant": (lambda: np.full(draws, 0.3), 0.3),
        "rare": (lambda: 1.0 - (rng.random(draws) < 0.03), 0.97),
        "coin": (lambda: rng.integers(0, 2, draws).astype(float), 0.5),
        "square": (lambda: rng.random(draws) ** 2, 1 / 3),
    }[law]
    found = np.array([bounds.mean_at_least(draw(), 0.1, span=1.0) for _ in range(400)])
    assert np.count_nonzero(found > mean) <= allowed(400, 0.1)
    assert found.mean() > mean - 2.5 / np.sqrt(draws)


def test_equal_draws_leave_only_what_so_few_could_have_overlooked():
    same = Samples(two_values(np.full(1_000, 0.3)))
    assert bounds.lower(same, same, 0.025) == 0.0
    assert bounds.upper(same, same, 0.0, 0.025, coupled=True) == pytest.approx(2 * np.log(40) / 1_000, rel=0.25)


@coupled_or_not
@pytest.mark.parametrize("draws", [1, 2, 3, 5, 9])
def test_hardly_any_draws_still_give_an_interval(coupled, draws):
    for lower, upper in intervals(corners, coupled, draws, 0.05, runs=5):
        assert 0.0 <= lower <= upper <= 2.0
        assert draws > 1 or (lower, upper) == (0.0, 2.0)


def test_sides_need_not_have_equally_many_draws():
    rng = np.random.default_rng(2)
    x, y = Samples(shifted(rng, 4_000, False)[0]), Samples(shifted(rng, 900, False)[1])
    lower, upper = bounds.interval(x, y, float(per_value(x, y).sum()), 0.05, coupled=False)
    assert 0.1 < lower < 0.2 < upper < 0.3


@pytest.mark.parametrize(("count", "draws"), [(0, 20), (3, 20), (20, 20), (1, 5_000)])
def test_binomial_limits_are_where_the_count_becomes_unlikely(count, draws):
    upper, lower = bounds.binomial_upper(count, draws, 0.05), bounds.binomial_lower(count, draws, 0.05)
    assert upper == 1.0 if count == draws else binom.cdf(count, draws, upper) == pytest.approx(0.05)
    assert lower == 0.0 if count == 0 else binom.sf(count - 1, draws, lower) == pytest.approx(0.05)
