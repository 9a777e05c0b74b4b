"""On mechanisms whose distance is known, the limits of each divergence seldom miss it, and come near enough to it."""

from functools import cache

import numpy as np
import pytest

from harness.measuring.divergence import Divergence, FromFormula, SumOfDistances, divergence_named, upper_of
from harness.measuring.estimate import compare
from harness.measuring.samples import Floats, Samples
from harness.vocabulary.hierarchy import Hierarchy
from tests.measuring.mechanisms import (
    FALLING,
    MECHANISMS,
    Mechanism,
    allowed,
    cells,
    corners,
    coupled_or_not,
    crossing,
    faint_cells,
    nothing,
    opposite,
    randomized_response,
    rare,
    shifted,
    two_points,
)

TREE = Hierarchy.from_nested({"all": {"A": list("abcd"), "B": list("efg"), "C": list("hij")}})
LABELS = (*"abcdefghij", "A", "B", "C", "all")  # inner nodes are values too (v1, Figure 2)
PLACES = np.random.default_rng(1).random((14, 2))
MATRIX = np.linalg.norm(PLACES[:, None] - PLACES[None], axis=2)

DECLARED: dict[str, object] = {
    "kl": "kl",
    "max-divergence": "max-divergence",
    "hellinger": "hellinger",
    "jensen-shannon": "jensen-shannon",
    "emd-ordered": {"name": "emd", "ground": "ordered"},
    "emd-tree": {"name": "emd", "ground": TREE},
    "emd-matrix": {"name": "emd", "ground": {"matrix": MATRIX, "values": LABELS}},
}
ERROR = 2e-4  # of expectations that are not known in closed form


def divergence_of(name: str, values: int) -> Divergence:
    return divergence_named(DECLARED[name]).for_values(LABELS[:values])


@cache
def expected(mechanism: Mechanism) -> tuple[Floats, Floats]:
    """The expected predictions of both sides."""
    truth = np.exp(1) / (1 + np.exp(1))
    first = {
        shifted: (0.25, 0.35), crossing: (0.5, 0.5), two_points: (0.32, 0.4), rare: (0.0, 0.002),
        randomized_response: (truth, 1 - truth), opposite: (0.5, 0.5),
    }  # fmt: skip
    if mechanism in first:
        one, other = first[mechanism]
        return np.array([one, 1 - one]), np.array([other, 1 - other])
    if mechanism is corners:
        return FALLING, FALLING[::-1]
    if mechanism is nothing:
        return np.full(14, 1 / 14), np.full(14, 1 / 14)
    sides = [mechanism(np.random.default_rng(seed), 100_000, True) for seed in range(4)]
    x, y = (np.mean([side[which].mean(axis=0) for side in sides], axis=0) for which in (0, 1))
    return x, y


def true_distance(divergence: Divergence, mechanism: Mechanism) -> float:
    """The divergence of the expected predictions; along a line or tree, of the laws.

    In `corners` the mass below an edge is 0 or 1, and in `cells` it moves one way in all coupled pairs, so that W₁ of
    its laws is the difference of its means. With two values there is one edge between them, and two sums of W₁.
    """
    p, q = expected(mechanism)
    if isinstance(divergence, SumOfDistances) and len(p) == 2:
        return divergence.largest * MECHANISMS[mechanism] / 2
    return divergence.between(p, q)


def limits(
    name: str, mechanism: Mechanism, coupled: bool, draws: int, alpha: float, runs: int
) -> tuple[float, Floats, Floats]:
    """The true distance, and the lower and upper limits of all runs."""
    rng = np.random.default_rng([len(name), draws, coupled])
    divergence = divergence_of(name, len(expected(mechanism)[0]))
    samples = (mechanism(rng, draws, coupled) for _ in range(runs))
    found = [compare(divergence, *sides, alpha=alpha, coupled=coupled, exact=False) for sides in samples]
    lower, upper = np.array([(each.lower, each.upper) for each in found]).T
    return true_distance(divergence, mechanism), lower, upper


def assert_misses_are_rare(name: str, mechanism: Mechanism, coupled: bool, draws: int, alpha: float, runs: int) -> None:
    d, lower, upper = limits(name, mechanism, coupled, draws, alpha, runs)
    error = ERROR if mechanism in (cells, faint_cells) else 1e-9
    assert np.count_nonzero(lower > d + error) <= allowed(runs, alpha / 2)
    assert np.count_nonzero(upper < d - error) <= allowed(runs, alpha / 2)


every_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.__name__)
every_name = pytest.mark.parametrize("name", [name for name in DECLARED if name != "emd-matrix"])


@every_name
@every_mechanism
@coupled_or_not
@pytest.mark.parametrize(("draws", "alpha", "runs"), [(40, 0.5, 12), (300, 0.05, 4)])
def test_limits_miss_no_more_often_than_they_say(
    name: str, mechanism: Mechanism, coupled: bool, draws: int, alpha: float, runs: int
) -> None:
    assert_misses_are_rare(name, mechanism, coupled, draws, alpha, runs)


@pytest.mark.slow
@every_name
@every_mechanism
@coupled_or_not
@pytest.mark.parametrize(("draws", "alpha", "runs"), [(50, 0.5, 80), (300, 0.05, 40), (3_000, 0.05, 6)])
def test_limits_miss_no_more_often_than_they_say_in_many_runs(
    name: str, mechanism: Mechanism, coupled: bool, draws: int, alpha: float, runs: int
) -> None:
    assert_misses_are_rare(name, mechanism, coupled, draws, alpha, runs)


@pytest.mark.slow
@every_mechanism
@coupled_or_not
@pytest.mark.parametrize(("draws", "alpha", "runs"), [(50, 0.5, 30), (300, 0.05, 8)])
def test_limits_by_linear_programmes_miss_no_more_often_than_they_say(
    mechanism: Mechanism, coupled: bool, draws: int, alpha: float, runs: int
) -> None:
    assert_misses_are_rare("emd-matrix", mechanism, coupled, draws, alpha, runs)


@pytest.mark.parametrize(
    ("name", "mechanism", "coupled", "draws", "lowest", "highest"),
    [
        ("emd-ordered", shifted, True, 2_000, 0.95, 1.05),  # shares of the true distance
        ("emd-tree", corners, True, 2_000, 0.80, 1.35),
        ("emd-tree", corners, False, 2_000, 0.80, 1.25),
        ("emd-matrix", corners, True, 500, 0.50, 2.20),
        ("emd-matrix", corners, False, 2_000, 0.60, 1.50),
        ("emd-matrix", shifted, True, 500, 0.80, 1.20),
        ("hellinger", shifted, True, 2_000, 0.90, 1.30),
        ("hellinger", corners, False, 5_000, 0.90, 1.40),
        ("jensen-shannon", shifted, True, 2_000, 0.80, 1.60),
        ("jensen-shannon", corners, False, 5_000, 0.85, 1.80),
        ("kl", shifted, True, 5_000, 0.90, 1.40),
        ("kl", randomized_response, False, 5_000, 0.85, 1.30),
        ("max-divergence", randomized_response, False, 5_000, 0.85, 1.20),
    ],
)
def test_limits_are_near_enough_to_be_of_use(
    name: str, mechanism: Mechanism, coupled: bool, draws: int, lowest: float, highest: float
) -> None:
    d, (lower,), (upper,) = limits(name, mechanism, coupled, draws, 0.05, runs=1)
    assert lowest * d <= lower <= d <= upper <= highest * d


@pytest.mark.parametrize("name", ["hellinger", "jensen-shannon", "emd-ordered", "emd-tree", "emd-matrix"])
def test_coupled_pairs_prove_a_faint_influence_to_be_faint(name: str) -> None:
    _, _, (coupled,) = limits(name, faint_cells, True, 300, 0.05, runs=1)
    _, _, (independent,) = limits(name, faint_cells, False, 300, 0.05, runs=1)
    assert coupled < 0.6 * independent


@pytest.mark.parametrize("name", ["kl", "max-divergence"])
def test_an_upper_limit_is_infinite_while_a_value_may_be_impossible_without_the_record(name: str) -> None:
    _, (lower,), (upper,) = limits(name, corners, False, 50, 0.05, runs=1)
    assert 0.0 <= lower < upper == np.inf
    _, _, (with_more_draws,) = limits(name, corners, False, 5_000, 0.05, runs=1)
    assert with_more_draws < np.inf


@pytest.mark.parametrize("declared", [*DECLARED.values(), "sum", "total-variation-of-laws"], ids=str)
@coupled_or_not
def test_the_upper_end_of_an_interval_is_the_upper_limit_at_half_its_level(declared: object, coupled: bool) -> None:
    x, y = (Samples(side) for side in cells(np.random.default_rng(4), 60, coupled))
    divergence = divergence_named(declared).for_values(LABELS)
    plug_in = float(divergence.per_value(x, y).sum())
    _, high = divergence.interval(x, y, plug_in, 0.1, coupled=coupled, lower_from=0.0)
    assert divergence.upper(x, y, plug_in, 0.05, coupled=coupled) == high
    assert upper_of(divergence, x, y, plug_in, 0.05, coupled=coupled) == high


def halved(p: Floats, q: Floats) -> float:
    return float(np.abs(p - q).sum()) / 2


@coupled_or_not
def test_a_users_own_convex_divergence_proves_upper_limits_and_any_other_nothing(coupled: bool) -> None:
    x, y = shifted(np.random.default_rng(2), 500, coupled)
    convex = FromFormula("own", "half the sum of changes", halved, largest=1.0, jointly_convex=True)
    plain = FromFormula("own", "half the sum of changes", halved)
    assert (convex.proves, plain.proves) == ("upper", "nothing")
    proven, nothing_proven = (compare(each, x, y, alpha=0.05, coupled=coupled, exact=False) for each in (convex, plain))
    assert (proven.lower, nothing_proven.lower, nothing_proven.upper) == (0.0, 0.0, np.inf)
    assert 0.1 <= proven.upper < (0.15 if coupled else 0.35)


def test_of_continuous_laws_the_total_variation_shows_nothing_and_proves_nothing() -> None:
    laws = divergence_named("total-variation-of-laws").for_values(LABELS)
    found = compare(laws, *nothing(np.random.default_rng(3), 200, False), alpha=0.05, coupled=False, exact=False)
    assert (found.distance, found.floor, found.lower, found.upper) == pytest.approx((14.0, 14.0, 0.0, 14.0))
