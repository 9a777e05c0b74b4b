import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.measuring.divergence import DISTANCES, Samples, named
from harness.measuring.estimate import Estimate, Estimator, draws_needed, noise_floor, permutation_test
from harness.vocabulary.errors import InputError
from tests.measuring.test_bounds import (
    MECHANISMS,
    allowed,
    cells,
    coupled_or_not,
    faint_cells,
    nothing,
    shifted,
    two_values,
)

ESTIMATOR = Estimator(named("emd"))


def compare(x, y, coupled, alpha=0.05, **options):
    return ESTIMATOR.compare(x, y, alpha=alpha, coupled=coupled, exact=False, **options)


def test_without_chance_one_draw_is_exact():
    found = ESTIMATOR.compare(np.array([[2 / 3, 1 / 3]]), np.array([[0.5, 0.5]]), alpha=0.05, coupled=False, exact=True)
    third = pytest.approx(1 / 3)
    assert (found.distance, found.lower, found.upper, found.floor, found.p_value) == (third, third, third, 0.0, None)
    assert found.per_value == pytest.approx((1 / 6, 1 / 6))


@coupled_or_not
def test_one_draw_of_chance_says_nothing(coupled):
    found = compare(np.array([[1.0, 0.0]]), np.array([[0.5, 0.5]]), coupled)
    assert (found.lower, found.upper, found.floor) == (0.0, 2.0, None)


@coupled_or_not
@pytest.mark.parametrize("known", DISTANCES.values(), ids=str)
def test_every_distance_scales_the_whole_estimate(known, coupled):
    x, y = shifted(np.random.default_rng(1), 300, coupled)
    plain = compare(x, y, coupled)
    scaled = Estimator(known).compare(x, y, alpha=0.05, coupled=coupled, exact=False)
    for field in ("distance", "floor", "lower", "upper"):
        assert getattr(scaled, field) == pytest.approx(known.scale * getattr(plain, field))
    assert scaled.per_value == pytest.approx([known.scale * value for value in plain.per_value])


@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.booleans(), st.sampled_from([0.5, 0.05, 1e-6]))
def test_an_interval_is_ordered_and_within_reach(seed, draws, coupled, alpha):
    rng = np.random.default_rng(seed)
    x, y = rng.dirichlet(np.full(3, 0.3), draws), rng.dirichlet(np.full(3, 3.0), draws)
    found = compare(x, y, coupled, alpha)
    assert 0.0 <= found.lower <= found.upper <= 2.0
    assert found == compare(Samples(x), Samples(y), coupled, alpha)


def test_a_sterner_level_widens_the_interval():
    x, y = cells(np.random.default_rng(3), 2_000, coupled=True)
    mild, stern = compare(x, y, True, 0.05), compare(x, y, True, 1e-5)
    assert stern.lower < mild.lower < mild.upper < stern.upper


def test_coupled_draws_must_pair_up():
    with pytest.raises(InputError, match="coupled draws come in pairs; got 3 present and 2 absent"):
        compare(two_values(np.full(3, 0.5)), two_values(np.full(2, 0.5)), coupled=True)


def test_five_hundred_coupled_draws_find_a_faint_influence():
    rng = np.random.default_rng(5)
    errors = [compare(*faint_cells(rng, 500, True), True).distance - MECHANISMS[faint_cells] for _ in range(60)]
    assert np.mean(np.abs(errors) < 0.002) >= 0.95


@coupled_or_not
@pytest.mark.parametrize("draws", [100, 1_001, 6_000])
def test_without_influence_the_distance_is_its_floor(coupled, draws):
    rng = np.random.default_rng([6, draws])
    found = [compare(*nothing(rng, draws, coupled), coupled) for _ in range(12)]
    assert np.mean([f.distance for f in found]) == pytest.approx(np.mean([f.floor for f in found]), rel=0.12)


def test_the_floor_is_noise_and_not_influence():
    x, y = shifted(np.random.default_rng(7), 2_000, coupled=False)
    floor = noise_floor(Samples(x), Samples(y))
    assert 0.003 < floor < 0.03


@coupled_or_not
def test_influence_is_told_from_none(coupled):
    rng = np.random.default_rng(8)
    tester = Estimator(named("emd"), permutations=99)
    found = tester.compare(*shifted(rng, 100, coupled), alpha=0.05, coupled=coupled, exact=False, rng=rng)
    assert found.p_value == 0.01


@coupled_or_not
def test_no_influence_is_rejected_no_more_often_than_the_level(coupled):
    rng = np.random.default_rng(9)
    runs, rejected = 200, 0
    for _ in range(runs):
        x, y = (Samples(side) for side in nothing(rng, 12, coupled))
        rejected += permutation_test(x, y, coupled=coupled, permutations=19, rng=rng) <= 0.1
    assert rejected <= allowed(runs, 0.1)
    assert rejected > 0


def test_equal_predictions_show_no_influence_at_all():
    same = Samples(two_values(np.full(10, 0.5)))
    assert permutation_test(same, same, coupled=True, permutations=9, rng=np.random.default_rng(1)) == 1.0


def test_a_permutation_test_must_be_given_its_randomness():
    x, y = shifted(np.random.default_rng(1), 10, coupled=False)
    with pytest.raises(InputError, match="needs a random generator"):
        Estimator(named("emd"), permutations=9).compare(x, y, alpha=0.05, coupled=False, exact=False)


DOUBTFUL = Estimate(
    distance=0.1, per_value=(0.05, 0.05), floor=0.01, lower=0.06, upper=0.15, draws=1_000,
    coupled=True, exact=False, p_value=None, alpha=0.05,
)  # fmt: skip


def test_what_is_settled_needs_no_more_draws():
    assert draws_needed(DOUBTFUL, 0.2, 0.05) == draws_needed(DOUBTFUL, 0.05, 0.05) == 1_000


def test_the_nearer_the_distance_to_the_claim_the_more_draws_it_takes():
    above = [draws_needed(DOUBTFUL, epsilon, 0.05) for epsilon in (0.149, 0.13, 0.11, 0.101)]
    below = [draws_needed(DOUBTFUL, epsilon, 0.05) for epsilon in (0.061, 0.08, 0.09, 0.099)]
    assert above == sorted(above)
    assert below == sorted(below)
    assert 1_000 < above[0] < above[-1]


def test_a_sterner_level_takes_more_draws():
    assert draws_needed(DOUBTFUL, 0.12, 0.001) > draws_needed(DOUBTFUL, 0.12, 0.05)


def test_no_number_of_draws_settles_a_distance_that_is_the_claim():
    assert draws_needed(replace(DOUBTFUL, floor=0.0), 0.1, 0.05) is None
    exact = replace(DOUBTFUL, distance=0.1, lower=0.1, upper=0.1, exact=True)
    assert draws_needed(exact, 0.1, 0.05) == 1_000


@pytest.mark.parametrize(("coupled", "epsilon"), [(True, 0.06), (True, 0.05), (False, 0.08), (False, 0.04)])
def test_twice_the_draws_it_asks_for_do_settle_the_record(coupled, epsilon):
    rng = np.random.default_rng(11)
    settled = 0
    for _ in range(8):
        first = compare(*cells(rng, 400, coupled), coupled)
        assert first.lower < epsilon <= first.upper
        enough = draws_needed(first, epsilon, 0.05)
        assert enough < 100_000
        then = compare(*cells(rng, 2 * enough, coupled), coupled)
        settled += then.upper < epsilon or then.lower >= epsilon
    assert settled >= 6


def seconds(work):
    taken = []
    for _ in range(9):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return min(taken)


@pytest.mark.slow
@coupled_or_not
@pytest.mark.parametrize("mechanism", [cells, faint_cells])
def test_a_whole_comparison_takes_little_longer_than_sorting_all_draws(mechanism, coupled):
    x, y = mechanism(np.random.default_rng(12), 25_000, coupled)
    sorting = seconds(lambda: [np.sort(np.ascontiguousarray(side.T), axis=1) for side in (x, y)])
    assert seconds(lambda: compare(x, y, coupled)) < (1.5 if coupled else 2.5) * sorting
