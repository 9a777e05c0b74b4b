"""On mechanisms whose distance is known, each bound errs no more often than it says, and is not idle."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from scipy.stats import binom

from harness.measuring import bounds
from harness.measuring.samples import Coordinates, Floats, Samples, wasserstein
from tests.measuring.mechanisms import (
    MECHANISMS,
    REFERENCE_ERROR,
    Mechanism,
    allowed,
    cells,
    corners,
    coupled_or_not,
    every_mechanism,
    faint_cells,
    name_of,
    nothing,
    opposite,
    randomized_response,
    shifted,
    two_points,
    two_values,
)


def interval(x: Floats, y: Floats, alpha: float, coupled: bool) -> tuple[float, float]:
    left, right = Samples(x).coordinates, Samples(y).coordinates
    return bounds.interval(left, right, float(wasserstein(left, right).sum()), alpha, coupled=coupled)


def intervals(
    mechanism: Mechanism, coupled: bool, draws: int, alpha: float, runs: int, seed: int = 1
) -> Iterator[tuple[float, float]]:
    rng = np.random.default_rng([seed, draws, coupled])
    for _ in range(runs):
        yield interval(*mechanism(rng, draws, coupled), alpha, coupled)


@every_mechanism
@coupled_or_not
@pytest.mark.parametrize(("draws", "alpha", "runs"), [(50, 0.05, 40), (50, 0.5, 20), (700, 0.05, 8)])
def test_bounds_miss_no_more_often_than_they_say(
    mechanism: Mechanism, coupled: bool, draws: int, alpha: float, runs: int
) -> None:
    """More runs, of more laws, are in tests/calibration."""
    lower, upper = np.array(list(intervals(mechanism, coupled, draws, alpha, runs))).T
    d = MECHANISMS[mechanism]
    assert np.count_nonzero(lower > d + REFERENCE_ERROR) <= allowed(runs, alpha / 2)
    assert np.count_nonzero(upper < d - REFERENCE_ERROR) <= allowed(runs, alpha / 2)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [nothing, randomized_response, two_points], ids=name_of)
@coupled_or_not
def test_the_bounds_of_hundreds_of_records_hold_together(mechanism: Mechanism, coupled: bool) -> None:
    audits, records = 3, 300
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
def test_intervals_are_narrow(mechanism: Mechanism, coupled: bool, draws: int, width: float) -> None:
    ((lower, upper),) = intervals(mechanism, coupled, draws, 0.05, runs=1)
    assert lower - REFERENCE_ERROR <= MECHANISMS[mechanism] <= upper + REFERENCE_ERROR
    assert upper - lower <= width


@pytest.mark.parametrize("law", ["constant", "rare", "coin", "square"])
@pytest.mark.parametrize("draws", [30, 400])
def test_a_mean_is_seldom_below_its_bound(law: str, draws: int) -> None:
    rng = np.random.default_rng(4)
    laws: dict[str, tuple[Callable[[], Floats], float]] = {
        "constant": (lambda: np.full(draws, 0.3), 0.3),
        "rare": (lambda: (rng.random(draws) >= 0.03).astype(float), 0.97),
        "coin": (lambda: rng.integers(0, 2, draws).astype(float), 0.5),
        "square": (lambda: rng.random(draws) ** 2, 1 / 3),
    }
    draw, mean = laws[law]
    found = np.array([bounds.mean_at_least(draw(), 0.1, span=1.0) for _ in range(400)])
    assert np.count_nonzero(found > mean) <= allowed(400, 0.1)
    assert found.mean() > mean - 2.5 / np.sqrt(draws)


@coupled_or_not
@pytest.mark.parametrize("draws", [40, 300, 2_500])
def test_limits_grow_with_the_span(coupled: bool, draws: int) -> None:
    x, y = (Samples(side).coordinates for side in cells(np.random.default_rng(5), draws, coupled))
    wide_x, wide_y = Coordinates(8 * x.columns), Coordinates(8 * y.columns)
    estimate = float(wasserstein(x, y).sum())
    plain = bounds.interval(x, y, estimate, 0.05, coupled=coupled)
    wide = bounds.interval(wide_x, wide_y, 8 * estimate, 0.05, coupled=coupled, span=16.0)
    assert wide == pytest.approx((8 * plain[0], 8 * plain[1]))


def test_the_limits_of_many_means_hold_at_once() -> None:
    rng = np.random.default_rng(6)
    means, runs, missed = np.array([0.0, 0.1, 0.5, 1.0]), 200, 0
    for _ in range(runs):
        lows, highs = bounds.mean_limits((rng.random((4, 60)) < means[:, None]).astype(float), 0.2)
        missed += bool((lows > means).any() or (highs < means).any())
        assert highs[0] < 0.2
        assert lows[3] > 0.8
    assert missed <= allowed(runs, 0.2)


def test_a_linear_potential_gains_no_less_than_it_says() -> None:
    rng = np.random.default_rng(7)
    potential = bounds.LinearPotential(np.array([0.5, -1.0]), np.array([-0.25, 1.0]))
    assert potential.oscillation == 1.25
    gains = potential.gains(*rng.dirichlet([0.1, 0.1], (2, 1_000)).transpose(0, 2, 1))
    assert -1.25 <= gains.min() < -1.2


def test_equal_draws_leave_only_what_so_few_could_have_overlooked() -> None:
    same = Samples(two_values(np.full(1_000, 0.3))).coordinates
    assert bounds.lower(same, same, 0.025) == 0.0
    assert bounds.upper(same, same, 0.0, 0.025, coupled=True) == pytest.approx(2 * np.log(40) / 1_000, rel=0.25)


@coupled_or_not
@pytest.mark.parametrize("draws", [1, 2, 3, 5, 9])
def test_hardly_any_draws_still_give_an_interval(coupled: bool, draws: int) -> None:
    for lower, upper in intervals(corners, coupled, draws, 0.05, runs=5):
        assert 0.0 <= lower <= upper <= 2.0
        assert draws > 1 or (lower, upper) == (0.0, 2.0)


def test_sides_need_not_have_equally_many_draws() -> None:
    rng = np.random.default_rng(2)
    x, y = shifted(rng, 4_000, False)[0], shifted(rng, 900, False)[1]
    lower, upper = interval(x, y, 0.05, coupled=False)
    assert 0.1 < lower < 0.2 < upper < 0.3


@pytest.mark.parametrize(("count", "draws"), [(0, 20), (3, 20), (20, 20), (1, 5_000)])
def test_binomial_limits_are_where_the_count_becomes_unlikely(count: int, draws: int) -> None:
    upper, lower = bounds.binomial_upper(count, draws, 0.05), bounds.binomial_lower(count, draws, 0.05)
    assert upper == 1.0 if count == draws else binom.cdf(count, draws, upper) == pytest.approx(0.05)
    assert lower == 0.0 if count == 0 else binom.sf(count - 1, draws, lower) == pytest.approx(0.05)


def gaining(values: int) -> Callable[[np.random.Generator, int], tuple[Floats, Floats]]:
    """Without the record the first of 50 values gain a tenth, which all lose together."""

    def law(rng: np.random.Generator, draws: int) -> tuple[Floats, Floats]:
        x, y = rng.dirichlet(np.ones(50), (2, draws))
        y *= 0.9
        y[:, :values] += 0.1 / values
        return x, y

    return law


FALLING = np.arange(50, 0, -1) / 1275


def corners_of_fifty(rng: np.random.Generator, draws: int) -> tuple[Floats, Floats]:
    """One value for sure, and less often one of the first without the record."""
    x, y = (rng.choice(50, draws, p=law) for law in (FALLING, 0.7 * FALLING + 0.3 * FALLING[::-1]))
    return np.eye(50)[x], np.eye(50)[y]


# The mean gain of the best ±1 for each value, which is d or just below it, and its deviation, of 200,000 draws.
@pytest.mark.parametrize(
    ("law", "gain", "deviation"),
    [
        (gaining(1), 0.196, 0.0527),
        (gaining(5), 0.180, 0.1128),
        (gaining(25), 0.100, 0.1887),
        (corners_of_fifty, 0.294, 1.312),
    ],
)
@pytest.mark.parametrize("draws", [1_000, 5_000])
def test_few_draws_find_what_moves_in_many_dimensions(
    law: Callable[[np.random.Generator, int], tuple[Floats, Floats]], gain: float, deviation: float, draws: int
) -> None:
    rng = np.random.default_rng(8)
    found = []
    for _ in range(8):
        x, y = (Samples(side).coordinates for side in law(rng, draws))
        found.append(bounds.lower(x, y, 0.025))
    assert np.mean(found) > gain - 4 * 1.96 * deviation / np.sqrt(draws)


def test_independent_draws_of_little_noise_are_bounded_by_their_pairs() -> None:
    rng = np.random.default_rng(9)
    x, y = (Samples(two_values(0.3 + 0.002 * rng.random(2_000))).coordinates for _ in range(2))
    estimate = float(wasserstein(x, y).sum())
    pairs = bounds.upper(x, y, estimate, 0.05, coupled=False)
    assert pairs < bounds.upper_of_sides((x.columns, y.columns), estimate, 0.05, 2.0) / 1.3
    x, y = (Samples(side).coordinates for side in nothing(rng, 2_000, False))
    estimate = float(wasserstein(x, y).sum())
    noisy = bounds.upper(x, y, estimate, 0.05, coupled=False) - estimate
    assert noisy <= 1.05 * (bounds.upper_of_sides((x.columns, y.columns), estimate, 0.05, 2.0) - estimate)
