"""From draws to a number: what an estimate says, its floor, the test of no influence, and how many draws it takes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.measuring.divergence import Divergence, divergence_named
from harness.measuring.estimate import Estimate, compare, draws_needed, noise_floor, permutation_test
from harness.measuring.samples import Floats, Samples
from harness.vocabulary.errors import InputError
from tests.measuring.mechanisms import (
    MECHANISMS,
    Mechanism,
    allowed,
    cells,
    coupled_or_not,
    faint_cells,
    nothing,
    shifted,
    two_points,
    two_values,
)

LABELS = tuple("abcdefghijklmn")
SUM = divergence_named("sum").for_values(LABELS)
DECLARED = [
    "sum", "half", "quarter", "kl", "max-divergence", "hellinger", "jensen-shannon", "total-variation-of-laws",
    {"name": "emd", "ground": "ordered"}, {"name": "emd", "ground": np.abs(np.subtract.outer([0, 1, 3], [0, 1, 3]))},
]  # fmt: skip
every_divergence = pytest.mark.parametrize(
    "divergence", [divergence_named(declared).for_values(LABELS[:3]) for declared in DECLARED], ids=lambda d: d.name
)


def estimate(x: Floats | Samples, y: Floats | Samples, coupled: bool, alpha: float = 0.05) -> Estimate:
    return compare(SUM, x, y, alpha=alpha, coupled=coupled, exact=False)


def three_values(rng: np.random.Generator, draws: int) -> tuple[Floats, Floats]:
    return rng.dirichlet([4, 2, 1], draws), rng.dirichlet([2, 2, 3], draws)


def test_without_chance_one_draw_is_exact() -> None:
    found = compare(SUM, np.array([[2 / 3, 1 / 3]]), np.array([[0.5, 0.5]]), alpha=0.05, coupled=False, exact=True)
    assert (found.distance, found.lower, found.upper) == pytest.approx((1 / 3, 1 / 3, 1 / 3))
    assert (found.floor, found.alpha) == (0.0, 0.0)
    assert found.per_value == pytest.approx((1 / 6, 1 / 6))


@every_divergence
@given(st.integers(0, 2**32 - 1))
def test_an_exact_distance_is_that_of_the_two_predictions(divergence: Divergence, seed: int) -> None:
    x, y = three_values(np.random.default_rng(seed), 1)
    found = compare(divergence, x, y, alpha=0.05, coupled=False, exact=True)
    assert found.distance == found.lower == found.upper == divergence.between(x[0], y[0])
    assert sum(found.per_value) == pytest.approx(found.distance)


def test_draws_that_differ_are_not_exact() -> None:
    x, y = shifted(np.random.default_rng(1), 5, coupled=True)
    with pytest.raises(InputError, match="the draws of one side differ from each other"):
        compare(SUM, x, y, alpha=0.05, coupled=True, exact=True)


def test_an_infinite_exact_distance_is_an_estimate_as_any_other() -> None:
    kl = divergence_named("kl").for_values(("a", "b"))
    found = compare(kl, np.array([[0.5, 0.5]]), np.array([[1.0, 0.0]]), alpha=0.05, coupled=True, exact=True)
    assert found.distance == found.lower == found.upper == np.inf
    assert found.per_value[1] == np.inf
    assert draws_needed(found, 0.5, 0.05) == 1


@coupled_or_not
def test_one_draw_of_chance_says_nothing(coupled: bool) -> None:
    found = estimate(np.array([[1.0, 0.0]]), np.array([[0.5, 0.5]]), coupled)
    assert (found.lower, found.upper, found.floor) == (0.0, 2.0, None)


@every_divergence
@coupled_or_not
def test_one_draw_of_chance_says_nothing_under_any_divergence(divergence: Divergence, coupled: bool) -> None:
    found = compare(
        divergence, np.array([[1.0, 0, 0]]), np.array([[0.2, 0.3, 0.5]]), alpha=0.05, coupled=coupled, exact=False
    )
    assert (found.lower, found.upper, found.floor) == (0.0, divergence.largest, None)


@coupled_or_not
@pytest.mark.parametrize(("name", "scale"), [("sum", 1), ("half", 0.5), ("total-variation", 0.5), ("quarter", 0.25)])
def test_a_multiple_of_the_sum_scales_the_whole_estimate(name: str, scale: float, coupled: bool) -> None:
    x, y = shifted(np.random.default_rng(1), 300, coupled)
    plain = estimate(x, y, coupled)
    multiple = divergence_named(name).for_values(LABELS)
    scaled = compare(multiple, x, y, alpha=0.05, coupled=coupled, exact=False)
    for field in ("distance", "floor", "lower", "upper"):
        assert getattr(scaled, field) == scale * getattr(plain, field)
    assert scaled.per_value == tuple(scale * value for value in plain.per_value)


@every_divergence
@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.booleans(), st.sampled_from([0.5, 0.05, 1e-6]))
def test_every_interval_is_ordered_and_within_reach(
    divergence: Divergence, seed: int, draws: int, coupled: bool, alpha: float
) -> None:
    found = compare(
        divergence, *three_values(np.random.default_rng(seed), draws), alpha=alpha, coupled=coupled, exact=False
    )
    assert 0.0 <= found.lower <= found.upper <= divergence.largest
    assert sum(found.per_value) == pytest.approx(found.distance)
    assert min(found.per_value) >= 0.0


@every_divergence
def test_a_distance_too_small_to_matter_is_given_no_lower_limit(divergence: Divergence) -> None:
    x, y = three_values(np.random.default_rng(2), 3_000)
    found, spared = (
        compare(divergence, x, y, alpha=0.05, coupled=False, exact=False, lower_from=least) for least in (0.0, 100.0)
    )
    assert (spared.lower, spared.upper, spared.distance) == (0.0, found.upper, found.distance)
    assert (found.lower > 0) == (divergence.proves == "both")


@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.booleans(), st.sampled_from([0.5, 0.05, 1e-6]))
def test_an_interval_is_ordered_and_within_reach(seed: int, draws: int, coupled: bool, alpha: float) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.dirichlet(np.full(3, 0.3), draws), rng.dirichlet(np.full(3, 3.0), draws)
    found = estimate(x, y, coupled, alpha)
    assert 0.0 <= found.lower <= found.upper <= 2.0
    assert found == estimate(Samples(x), Samples(y), coupled, alpha)


def test_a_sterner_level_widens_the_interval() -> None:
    x, y = cells(np.random.default_rng(3), 2_000, coupled=True)
    mild, stern = estimate(x, y, True, 0.05), estimate(x, y, True, 1e-5)
    assert stern.lower < mild.lower < mild.upper < stern.upper


def test_coupled_draws_must_pair_up() -> None:
    with pytest.raises(InputError, match="coupled draws come in pairs; got 3 present and 2 absent"):
        estimate(two_values(np.full(3, 0.5)), two_values(np.full(2, 0.5)), coupled=True)


def test_five_hundred_coupled_draws_find_a_faint_influence() -> None:
    rng = np.random.default_rng(5)
    errors = [estimate(*faint_cells(rng, 500, True), True).distance - MECHANISMS[faint_cells] for _ in range(60)]
    assert np.mean(np.abs(errors) < 0.002) >= 0.95


@coupled_or_not
@pytest.mark.parametrize("draws", [100, 1_001, 6_000])
def test_without_influence_the_distance_is_its_floor(coupled: bool, draws: int) -> None:
    rng = np.random.default_rng([6, draws])
    found = [estimate(*nothing(rng, draws, coupled), coupled) for _ in range(12)]
    assert np.mean([f.distance for f in found]) == pytest.approx(np.mean([f.floor for f in found]), rel=0.12)


def test_the_floor_is_noise_and_not_influence() -> None:
    x, y = shifted(np.random.default_rng(7), 2_000, coupled=False)
    floor = noise_floor(SUM, Samples(x), Samples(y))
    assert floor is not None
    assert 0.003 < floor < 0.03


@pytest.mark.parametrize(
    "name", ["kl", "hellinger", "jensen-shannon", "max-divergence", "total-variation-of-laws", "emd"]
)
@coupled_or_not
def test_without_influence_every_divergence_of_means_is_about_its_floor(name: str, coupled: bool) -> None:
    rng = np.random.default_rng(13)
    places = np.arange(14.0)
    ground = {"ground": np.abs(np.subtract.outer(places, places))} if name == "emd" else {}
    divergence = divergence_named({"name": name, **ground}).for_values(LABELS)
    runs = [nothing(rng, 200, coupled) for _ in range(20)]
    found = [compare(divergence, x, y, alpha=0.05, coupled=coupled, exact=False) for x, y in runs]
    floors = [each.floor for each in found if each.floor is not None]
    assert len(floors) == len(found)
    assert np.mean([each.distance for each in found]) == pytest.approx(np.mean(floors), rel=0.2)


def test_a_floor_that_may_be_infinite_cannot_be_told() -> None:
    x = np.array([[0.5, 0.5]] + [[1.0, 0.0]] * 3)
    y = np.array([[1.0, 0.0]] * 4)
    assert noise_floor(divergence_named("kl").for_values(("a", "b")), Samples(x), Samples(y)) is None


@coupled_or_not
def test_influence_is_told_from_none(coupled: bool) -> None:
    rng = np.random.default_rng(8)
    x, y = (Samples(side) for side in shifted(rng, 100, coupled))
    assert permutation_test(x, y, coupled=coupled, permutations=99, rng=rng) == 0.01


@coupled_or_not
def test_no_influence_is_rejected_no_more_often_than_the_level(coupled: bool) -> None:
    rng = np.random.default_rng(9)
    runs, rejected = 200, 0
    for _ in range(runs):
        x, y = (Samples(side) for side in nothing(rng, 12, coupled))
        rejected += permutation_test(x, y, coupled=coupled, permutations=19, rng=rng) <= 0.1
    assert rejected <= allowed(runs, 0.1)
    assert rejected > 0


def test_equal_predictions_show_no_influence_at_all() -> None:
    same = Samples(two_values(np.full(10, 0.5)))
    assert permutation_test(same, same, coupled=True, permutations=9, rng=np.random.default_rng(1)) == 1.0


DOUBTFUL = Estimate(
    distance=0.1, per_value=(0.05, 0.05), floor=0.01, lower=0.06, upper=0.15, draws=1_000,
    coupled=True, exact=False, alpha=0.05,
)  # fmt: skip


def needed(estimate: Estimate, epsilon: float, alpha: float = 0.05) -> int:
    """`draws_needed` where some number of draws is enough."""
    draws = draws_needed(estimate, epsilon, alpha)
    assert draws is not None
    return draws


def test_what_is_settled_needs_no_more_draws() -> None:
    assert draws_needed(DOUBTFUL, 0.2, 0.05) == draws_needed(DOUBTFUL, 0.05, 0.05) == 1_000


def test_the_nearer_the_distance_to_the_claim_the_more_draws_it_takes() -> None:
    above = [needed(DOUBTFUL, epsilon) for epsilon in (0.149, 0.13, 0.11, 0.101)]
    below = [needed(DOUBTFUL, epsilon) for epsilon in (0.061, 0.08, 0.09, 0.099)]
    assert above == sorted(above)
    assert below == sorted(below)
    assert 1_000 < above[0] < above[-1]


def test_a_sterner_level_takes_more_draws() -> None:
    assert needed(DOUBTFUL, 0.12, 0.001) > needed(DOUBTFUL, 0.12, 0.05)


def test_no_number_of_draws_settles_a_distance_that_is_the_claim() -> None:
    assert draws_needed(replace(DOUBTFUL, floor=0.0), 0.1, 0.05) is None
    exact = replace(DOUBTFUL, distance=0.1, lower=0.1, upper=0.1, exact=True)
    assert draws_needed(exact, 0.1, 0.05) == 1_000


@pytest.mark.parametrize(
    ("mechanism", "coupled", "epsilon"),
    [(cells, True, 0.06), (cells, True, 0.05), (two_points, False, 0.25), (shifted, False, 0.17), (cells, False, 0.03)],
)
def test_the_draws_it_asks_for_settle_the_record(mechanism: Mechanism, coupled: bool, epsilon: float) -> None:
    rng = np.random.default_rng(11)
    settled, asked = 0, list[int]()
    while len(asked) < 12:
        first = estimate(*mechanism(rng, 300, coupled), coupled)
        if not first.lower < epsilon <= first.upper:
            continue
        enough = needed(first, epsilon)
        asked.append(enough)
        then = estimate(*mechanism(rng, min(enough, 60_000), coupled), coupled)
        settled += then.upper < epsilon or then.lower >= epsilon
    assert settled >= 10
    assert np.median(asked) < 40_000


def test_no_number_of_draws_settles_what_a_divergence_cannot_prove() -> None:
    assert draws_needed(replace(DOUBTFUL, proves="nothing"), 0.12, 0.05) is None
    assert draws_needed(replace(DOUBTFUL, proves="upper"), 0.08, 0.05) is None
    assert draws_needed(replace(DOUBTFUL, proves="upper"), 0.12, 0.05) == draws_needed(DOUBTFUL, 0.12, 0.05)


@pytest.mark.parametrize("distance", [0.1, np.inf])
def test_no_number_of_draws_is_promised_for_an_infinite_limit(distance: float) -> None:
    assert draws_needed(replace(DOUBTFUL, distance=distance, upper=np.inf), 0.12, 0.05) is None


@pytest.mark.parametrize("name", ["sum", "half", "quarter"])
def test_no_distance_lies_beyond_the_largest(name: str) -> None:
    """Two certain predictions of a model whose probabilities miss the sum 1 by rounding."""
    divergence = divergence_named(name).for_values(("a", "b"))
    present, absent = np.array([[1 + 2e-7, 0.0]]), np.array([[0.0, 1 + 1e-7]])
    exact = compare(divergence, present, absent, alpha=0.0, coupled=True, exact=True)
    assert exact.distance == exact.lower == exact.upper == divergence.largest
    drawn = compare(divergence, present.repeat(9, 0), absent.repeat(9, 0), alpha=0.05, coupled=True, exact=False)
    assert drawn.distance == divergence.largest >= drawn.upper
