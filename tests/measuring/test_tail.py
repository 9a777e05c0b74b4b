import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.measuring.divergence import divergence_named
from harness.measuring.samples import Floats, Samples
from harness.measuring.tail import (
    curve,
    delta_beyond_noise,
    placebo_delta,
    smallest_delta,
    smallest_epsilon,
    tail_count,
)
from tests.measuring.mechanisms import Mechanism, allowed, name_of, nothing, opposite, two_values

SUM = divergence_named("sum").for_values(("a", "b"))

MOVED = st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 2.0]), min_size=1, max_size=40).map(np.array)


def test_a_pair_at_epsilon_counts() -> None:
    assert tail_count(np.array([0.1, 0.1 + 0.2, 0.5]), 0.3) == (2, 3)
    assert tail_count(np.array([0.3 - 1e-16]), 0.3) == (1, 1)


@given(MOVED, st.floats(0, 1))
def test_limits_enclose_what_was_seen(moved: Floats, at: float) -> None:
    for found in (smallest_delta(moved, 2 * at, 0.1), smallest_epsilon(moved, at, 0.1, largest=2.0)):
        assert 0.0 <= found.lower <= found.value <= found.upper <= 2.0


@given(MOVED, st.floats(0.01, 0.9))
def test_delta_and_epsilon_tell_the_same_story(moved: Floats, delta: float) -> None:
    found = smallest_epsilon(moved, delta, 0.1, largest=2.0)
    if found.upper < 2.0:
        assert smallest_delta(moved, found.upper + 1e-9, 0.1).upper <= delta + 1e-9
    if found.lower > 0.0:
        assert smallest_delta(moved, found.lower, 0.1).lower > delta - 1e-9


def test_no_pair_among_many_is_no_proof_of_none() -> None:
    assert smallest_delta(np.zeros(298), 0.1, 0.1).upper > 0.01
    assert smallest_delta(np.zeros(299), 0.1, 0.1).upper < 0.01
    assert smallest_epsilon(np.zeros(298), 0.01, 0.1, largest=2.0).upper == 2.0
    assert smallest_epsilon(np.zeros(299), 0.01, 0.1, largest=2.0).upper == 0.0


@pytest.mark.parametrize("draws", [50, 1_000])
@pytest.mark.parametrize("power", [1, 4])
def test_limits_miss_no_more_often_than_they_say(draws: int, power: int) -> None:
    rng = np.random.default_rng([draws, power])
    runs, alpha, delta = 400, 0.1, 0.2
    epsilon = 2 * (1 - delta) ** power  # T(ε) = δ for 2 U^power
    missed = np.zeros(4, int)
    for _ in range(runs):
        moved = 2 * rng.random(draws) ** power
        d, e = smallest_delta(moved, epsilon, alpha), smallest_epsilon(moved, delta, alpha, largest=2.0)
        missed += [d.lower > delta, d.upper < delta, e.lower > epsilon, e.upper < epsilon]
    assert missed.max() <= allowed(runs, alpha / 2)
    assert missed.sum() > 0


def test_limits_of_a_law_with_atoms_miss_no_more_often_than_they_say() -> None:
    rng = np.random.default_rng(3)
    runs, alpha = 400, 0.1
    missed = 0
    for _ in range(runs):
        moved = np.where(rng.random(100) < 0.21, 0.5, 0.1)  # T stays above 0.2 up to 0.5, and is 0 beyond
        missed += smallest_epsilon(moved, 0.2, alpha, largest=2.0).upper < 0.5
    assert missed <= allowed(runs, alpha / 2)


def test_a_curve_falls_and_holds_everywhere_at_once() -> None:
    rng = np.random.default_rng(2)
    grid = tuple(np.linspace(0, 2, 21).tolist())
    truth = 1 - np.array(grid) / 2
    runs, missed = 300, 0
    for _ in range(runs):
        moved = 2 * rng.random(100)
        found = curve([tail_count(moved, epsilon)[0] for epsilon in grid], 100, 0.1)
        assert found.uppers.tolist() == sorted(found.uppers, reverse=True)
        assert found.lowers.tolist() == sorted(found.lowers, reverse=True)
        assert (found.lowers <= found.shares).all()
        assert (found.shares <= found.uppers).all()
        missed += bool(((found.uppers < truth) | (found.lowers > truth)).any())
    assert missed <= allowed(runs, 0.1)


def test_infinite_pairs_count_and_may_be_the_limit() -> None:
    moved = np.array([0.1] * 90 + [np.inf] * 10)
    assert tail_count(moved, 20.0) == (10, 100)
    assert smallest_epsilon(moved, 0.0, 0.1, largest=np.inf).value == np.inf
    assert smallest_epsilon(moved, 0.05, 0.1, largest=np.inf).lower == np.inf  # 10 of 100 are too many for 0.05
    assert smallest_epsilon(moved, 0.08, 0.1, largest=np.inf).lower == 0.1
    assert smallest_epsilon(moved, 0.08, 0.1, largest=np.inf).upper == np.inf
    assert smallest_epsilon(moved, 0.5, 0.1, largest=np.inf).upper == 0.1
    assert smallest_delta(moved, np.inf, 0.1).value == 0.1


def test_few_pairs_of_an_unbounded_divergence_leave_epsilon_unbounded() -> None:
    found = smallest_epsilon(np.zeros(10), 0.01, 0.1, largest=np.inf)
    assert (found.value, found.lower, found.upper) == (0.0, 0.0, np.inf)


def limits_beyond_noise(mechanism: Mechanism, coupled: bool, draws: int, epsilon: float, runs: int) -> Floats:
    rng = np.random.default_rng([draws, coupled])
    sides = (mechanism(rng, draws, coupled) for _ in range(runs))
    found = [delta_beyond_noise(SUM, Samples(x), Samples(y), epsilon, 0.1) for x, y in sides]
    return np.array(found, dtype=np.float64)


def far_apart(rng: np.random.Generator, draws: int, coupled: bool) -> tuple[Floats, Floats]:
    return two_values(0.3 + 0.01 * rng.random(draws)), two_values(0.5 + 0.01 * rng.random(draws))


def shifted_noise(rng: np.random.Generator, draws: int, coupled: bool) -> tuple[Floats, Floats]:
    """x₁ − x₂ has deviation 0.3 and is shifted by 0.2."""
    x, y = rng.normal(0, 0.3, (2, draws))
    return two_values(np.clip((1.2 + x) / 2, 0, 1)), two_values(np.clip((1 + y) / 2, 0, 1))


def as_often_apart(rng: np.random.Generator, draws: int, coupled: bool) -> tuple[Floats, Floats]:
    """Equal laws of which all but equal pairs are 2 apart, and pairs of which none is equal."""
    first = (rng.random(draws) < 0.5).astype(float)
    return two_values(first), two_values(1 - first)


@pytest.mark.parametrize("mechanism", [opposite, nothing, as_often_apart], ids=name_of)
@pytest.mark.parametrize("coupled", [True, False])
@pytest.mark.parametrize("draws", [10, 60, 400])
def test_nobody_is_blamed_for_the_noise_of_f_however_it_is_paired(
    mechanism: Mechanism, coupled: bool, draws: int
) -> None:
    found = limits_beyond_noise(mechanism, coupled, draws, 0.1, runs=60)
    assert found.min() >= 0.0
    assert np.count_nonzero(found > 0) <= allowed(60, 0.1)


def test_laws_that_are_apart_are_so_under_every_pairing() -> None:
    found = limits_beyond_noise(far_apart, False, 300, 0.1, runs=10)
    assert 0.9 < found.min() <= found.max() <= 1.0
    # sup over t of P(h ≥ t) − P(h' > t − ε), h and h' normal with deviation 0.3: shifted by 0.2 and then ε = 0.1
    # back, 2 Φ(0.1 / 0.6) − 1 = 0.132.
    found = limits_beyond_noise(shifted_noise, True, 4_000, 0.1, runs=10)
    assert found.mean() > 0.05
    assert np.count_nonzero(found > 0.1324) <= allowed(10, 0.1)


def test_a_pair_exactly_at_epsilon_is_apart_for_every_pairing() -> None:
    x, y = Samples(two_values(np.full(300, 0.3))), Samples(two_values(np.full(300, 0.35)))
    assert delta_beyond_noise(SUM, x, y, 0.1, 0.05) > 0.9  # type: ignore[operator]
    half = divergence_named("half").for_values(("a", "b"))
    assert delta_beyond_noise(half, x, y, 0.05, 0.05) > 0.9  # type: ignore[operator]
    assert delta_beyond_noise(half, x, y, 0.06, 0.05) == 0.0


def test_a_divergence_without_such_functions_gives_no_limit() -> None:
    x = Samples(two_values(np.full(30, 0.3)))
    assert delta_beyond_noise(divergence_named("kl").for_values(("a", "b")), x, x, 0.1, 0.05) is None


def test_the_placebo_is_the_tail_between_draws_of_one_side() -> None:
    rng = np.random.default_rng(4)
    side = Samples(two_values((rng.random(400) < 0.5).astype(float)))
    placebo = placebo_delta(SUM, side, 0.1, 0.05)
    assert placebo is not None
    assert placebo.lower < 0.5 < placebo.upper
    constant = placebo_delta(SUM, Samples(two_values(np.full(41, 0.3))), 0.1, 0.05)
    assert constant is not None
    assert constant.value == 0.0
    assert placebo_delta(SUM, Samples(two_values(np.full(1, 0.3))), 0.1, 0.05) is None
