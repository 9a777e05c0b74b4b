"""Every divergence against its formula, against linear programming and against the others."""

import math
import pickle
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from harness.measuring.divergence import NAMES, Divergence, FromFormula, distance, divergence_named, reach
from harness.measuring.samples import Floats, Samples
from harness.vocabulary.errors import InputError
from harness.vocabulary.hierarchy import Hierarchy

JOBS = Hierarchy.from_nested({"ANY": {"Professional": ["Engineer", "Lawyer"], "Artist": ["Dancer", "Writer"]}})
NODES = ("Engineer", "Lawyer", "Professional", "Dancer", "Writer", "Artist", "ANY")  # v1, Figure 2

Pair = tuple[Floats, Floats]


def predictions_over(values: int) -> st.SearchStrategy[Floats]:
    """Points of the simplex, with zeros, ties and corners among them."""
    weights = st.lists(st.integers(0, 9), min_size=values, max_size=values).filter(any)
    return weights.map(lambda chosen: np.array(chosen) / sum(chosen))


def pairs_over(values: int) -> st.SearchStrategy[Pair]:
    return st.tuples(predictions_over(values), predictions_over(values))


pairs = st.integers(2, 6).flatmap(pairs_over)
triples = st.integers(2, 5).flatmap(lambda values: st.tuples(*[predictions_over(values)] * 3))


def programme(p: Floats, q: Floats, ground: Floats) -> float:
    """The earth mover's distance as v1 §3.3 writes it, with all flows."""
    n = len(p)
    rows, columns = np.kron(np.eye(n), np.ones(n)), np.kron(np.ones(n), np.eye(n))
    solved = linprog(ground.ravel(), A_eq=np.vstack([rows, columns]), b_eq=np.concatenate([p, q]))
    return float(solved.fun)


def kl(p: Floats, q: Floats) -> float:
    if any(a > 0 == b for a, b in zip(p, q, strict=True)):
        return math.inf
    return math.fsum(a * math.log(a / b) for a, b in zip(p, q, strict=True) if a > 0)


FORMULAS: dict[str, Callable[[Floats, Floats], float]] = {
    "sum": lambda p, q: math.fsum(abs(p - q)),
    "half": lambda p, q: math.fsum(abs(p - q)) / 2,
    "total-variation": lambda p, q: math.fsum(np.maximum(p - q, 0)),
    "quarter": lambda p, q: math.fsum(abs(p - q)) / 4,
    "kl": kl,
    "max-divergence": lambda p, q: max(
        math.inf if b == 0 else math.log(a / b) for a, b in zip(p, q, strict=True) if a > 0
    ),
    "hellinger": lambda p, q: math.sqrt(max(0.0, 1 - math.fsum(np.sqrt(p * q)))),
    "jensen-shannon": lambda p, q: (kl(p, (p + q) / 2) + kl(q, (p + q) / 2)) / 2,
    "total-variation-of-laws": lambda p, q: sum(a != b for a, b in zip(p, q, strict=True)),
}
SYMMETRIC = ["sum", "half", "quarter", "hellinger", "jensen-shannon", "total-variation-of-laws"]
METRIC = ["sum", "half", "quarter", "hellinger", "total-variation-of-laws"]
LARGEST = {
    "sum": 2.0, "half": 1.0, "total-variation": 1.0, "quarter": 0.5, "kl": math.inf, "max-divergence": math.inf,
    "hellinger": 1.0, "jensen-shannon": math.log(2), "total-variation-of-laws": 2.0,
}  # fmt: skip


def all_divergences(values: int = 3) -> list[Divergence]:
    """Each of them over the values a, b, …"""
    places = np.arange(values) ** 2.0
    grounds: list[object] = ["ordered", np.abs(np.subtract.outer(places, places))]
    declared = [*FORMULAS, *({"name": "emd", "ground": ground} for ground in grounds)]
    return [divergence_named(each).for_values(tuple("abcdef"[:values])) for each in declared]


every_divergence = pytest.mark.parametrize("divergence", all_divergences(), ids=lambda d: f"{d.name}{type(d).__name__}")


@pytest.mark.parametrize("name", FORMULAS)
@given(pairs)
def test_every_divergence_follows_its_formula(name: str, pair: Pair) -> None:
    # The root of Hellinger's sum turns rounding of 1e-16 into 1e-8 next to 0, in the naive formula.
    tolerance = 2e-8 if name == "hellinger" else 1e-12
    assert distance(name, *pair) == pytest.approx(FORMULAS[name](*pair), abs=tolerance)


@pytest.mark.parametrize("name", FORMULAS)
@given(pairs)
def test_zero_means_equal(name: str, pair: Pair) -> None:
    p, q = pair
    assert distance(name, p, p) == 0.0
    assert (distance(name, p, q) < 1e-12) == bool(np.allclose(p, q, rtol=0, atol=1e-14))


@pytest.mark.parametrize("name", SYMMETRIC)
@given(pairs)
def test_most_divergences_are_symmetric(name: str, pair: Pair) -> None:
    p, q = pair
    assert distance(name, p, q) == pytest.approx(distance(name, q, p), abs=1e-15)


@pytest.mark.parametrize("name", ["kl", "max-divergence"])
def test_what_looks_from_presence_to_absence_is_not_symmetric(name: str) -> None:
    assert distance(name, [1.0, 0.0], [0.5, 0.5]) == pytest.approx(math.log(2))
    assert distance(name, [0.5, 0.5], [1.0, 0.0]) == math.inf


@pytest.mark.parametrize("name", METRIC)
@given(triples)
def test_distances_keep_the_triangle_inequality(name: str, triple: tuple[Floats, Floats, Floats]) -> None:
    p, q, r = triple
    assert distance(name, p, r) <= distance(name, p, q) + distance(name, q, r) + 1e-12


@given(pairs)
def test_the_divergences_bound_each_other(pair: Pair) -> None:
    d = {name: distance(name, *pair) for name in FORMULAS}
    rounding = 1e-12
    assert d["kl"] >= 2 * d["half"] ** 2 - rounding  # Pinsker
    assert d["kl"] >= 8 * d["quarter"] ** 2 - rounding  # Pinsker as v1, footnote 9 prints it for the quarter
    assert d["kl"] <= d["max-divergence"] + rounding
    assert d["hellinger"] ** 2 <= d["half"] + rounding
    assert d["half"] <= math.sqrt(2) * d["hellinger"] + rounding
    assert d["jensen-shannon"] <= math.log(2) * d["half"] + rounding
    assert d["half"] <= d["total-variation-of-laws"] / 2 + rounding


@pytest.mark.parametrize("name", FORMULAS)
def test_certain_opposite_predictions_are_the_largest_distance_apart(name: str) -> None:
    divergence = divergence_named(name).for_values(("a", "b"))
    assert divergence.largest == LARGEST[name]
    assert divergence.between(np.array([1.0, 0.0]), np.array([0.0, 1.0])) == pytest.approx(LARGEST[name])


@pytest.mark.parametrize("name", FORMULAS)
def test_curves_reach_to_the_largest_distance_or_to_twenty_nats(name: str) -> None:
    assert reach(divergence_named(name).for_values(("a", "b"))) == min(LARGEST[name], 20.0)


def test_the_first_versions_example_is_a_quarter_of_the_sum() -> None:
    present, absent = [0.49, 0.01, 0.5], [0.01, 0.49, 0.5]  # v1 §3.4.1, printed as 0.24
    assert distance("quarter", present, absent) == pytest.approx(0.24)
    assert distance("half", present, absent) == distance("total-variation", present, absent) == pytest.approx(0.48)
    assert distance("sum", present, absent) == pytest.approx(0.96)


def test_the_second_versions_total_variation_counts_the_confidences_that_changed() -> None:
    assert distance("total-variation-of-laws", [2 / 3, 1 / 3], [1 / 2, 1 / 2]) == 2.0  # v2 §3.2, record 4
    assert distance("sum", [2 / 3, 1 / 3], [1 / 2, 1 / 2]) == pytest.approx(1 / 3)


def test_rounding_changes_no_confidence() -> None:
    assert distance("total-variation-of-laws", [0.1 + 0.2, 0.7], [0.3, 0.7]) == 0.0
    laws = divergence_named("total-variation-of-laws").for_values(("a", "b"))
    x, y = Samples(np.array([[0.1 + 0.2, 0.7], [0.5, 0.5]])), Samples(np.array([[0.3, 0.7], [0.5, 0.5]]))
    assert laws.per_value(x, y).tolist() == laws.paired(x, y).tolist() == [0.0, 0.0]


def test_the_laws_of_a_coin_differ_by_the_difference_of_its_chances() -> None:
    laws = divergence_named("total-variation-of-laws").for_values(("a", "b"))
    x, y = (Samples(np.array([[1.0, 0.0]] * heads + [[0.0, 1.0]] * (10 - heads))) for heads in (7, 4))
    assert laws.per_value(x, y) == pytest.approx([0.3, 0.3])


# Ground distances


def certain(label: str, labels: tuple[str, ...] = NODES) -> Floats:
    return np.array([float(each == label) for each in labels])


def test_the_ground_distances_of_figure_2_are_those_printed() -> None:
    figure = (JOBS, NODES)
    assert distance("emd", certain("Engineer"), certain("Artist"), figure) == 3.0  # v1 §3.3
    assert distance("emd", certain("Dancer"), certain("Writer"), figure) == 2.0  # v1 §3.3
    assert divergence_named({"name": "emd", "ground": JOBS}).for_values(NODES).largest == 4.0


def test_without_labels_predictions_are_over_the_leaves_of_the_hierarchy() -> None:
    assert distance("emd", [1, 0, 0, 0], [0, 1, 0, 0], JOBS) == 2.0
    assert distance("emd", [1, 0, 0, 0], [0, 0, 0, 1], JOBS) == 4.0


@given(pairs)
def test_at_unit_ground_distance_the_earth_movers_distance_is_the_half(pair: Pair) -> None:
    unit = 1.0 - np.eye(len(pair[0]))
    assert distance("emd", *pair, unit) == pytest.approx(distance("half", *pair), abs=1e-9)


@given(pairs)
def test_along_an_order_it_is_the_linear_programme_with_unit_steps(pair: Pair) -> None:
    places = np.arange(len(pair[0]))
    steps = np.abs(np.subtract.outer(places, places)).astype(float)
    assert distance("emd", *pair, "ordered") == pytest.approx(programme(*pair, steps), abs=1e-9)


@given(pairs, st.integers(0, 2**32 - 1))
def test_along_numbers_it_is_the_linear_programme_with_their_differences(pair: Pair, seed: int) -> None:
    numbers = np.random.default_rng(seed).integers(-5, 6, len(pair[0])) / 4
    labels = [f"{number}{' ' * place}" for place, number in enumerate(numbers)]  # equal numbers, different values
    gaps = np.abs(np.subtract.outer(numbers, numbers))
    if gaps.max() > 0:
        found = distance("emd", *pair, {"positions": dict(zip(labels, numbers.tolist(), strict=True))})
        assert found == pytest.approx(programme(*pair, gaps), abs=1e-9)


@st.composite
def hierarchies(draw: st.DrawFn) -> tuple[Hierarchy, tuple[str, ...]]:
    """A random tree with chains and inner nodes, and some of its nodes as values."""
    parents = draw(st.lists(st.integers(0, 100), min_size=2, max_size=9))
    above = {node: choice % node for node, choice in enumerate(parents, start=1)}
    leaves = [node for node in above if node not in above.values()]
    tree = Hierarchy.from_paths((f"leaf {leaf}", [f"n{node}" for node in _way_up(leaf, above)]) for leaf in leaves)
    names = st.sampled_from([f"n{node}" for node in range(len(parents) + 1)])
    return tree, tuple(draw(st.lists(names, min_size=2, max_size=5, unique=True)))


def _way_up(node: int, above: dict[int, int]) -> list[int]:
    return [node] if node == 0 else [node, *_way_up(above[node], above)]


@given(hierarchies(), st.data())
def test_along_a_hierarchy_it_is_the_linear_programme_with_path_lengths(
    chosen: tuple[Hierarchy, tuple[str, ...]], data: st.DataObject
) -> None:
    tree, labels = chosen
    p, q = data.draw(pairs_over(len(labels)))
    paths = [set(tree.path(label)) for label in labels]
    lengths = np.array(
        [[float(len(one ^ other)) for other in paths] for one in paths]
    )  # edges: nodes that only one has
    assert distance("emd", p, q, chosen) == pytest.approx(programme(p, q, lengths), abs=1e-9)
    assert divergence_named({"name": "emd", "ground": tree}).for_values(labels).largest == lengths.max()


@given(pairs, st.integers(0, 2**32 - 1))
def test_any_matrix_gives_its_linear_programme(pair: Pair, seed: int) -> None:
    matrix = np.random.default_rng(seed).random((len(pair[0]),) * 2) * 3  # most keep no triangle inequality
    matrix = np.triu(matrix, 1) + np.triu(matrix, 1).T
    assert distance("emd", *pair, matrix) == pytest.approx(programme(*pair, matrix), abs=1e-9)


@given(pairs, st.integers(0, 2**32 - 1))
def test_distances_in_the_plane_give_their_linear_programme(pair: Pair, seed: int) -> None:
    points = np.random.default_rng(seed).random((len(pair[0]), 2))
    matrix = np.linalg.norm(points[:, None] - points[None], axis=2)
    assert distance("emd", *pair, matrix) == pytest.approx(programme(*pair, matrix), abs=1e-9)


def test_the_smallest_moves_of_confidence_are_seen() -> None:
    matrix = np.array([[0.0, 2.0], [2.0, 0.0]])
    assert distance("emd", [0.5, 0.5], [0.5 + 1e-13, 0.5 - 1e-13], matrix) == pytest.approx(2e-13, rel=1e-2)


# Draws


@every_divergence
@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_a_pair_of_draws_is_as_far_apart_as_its_two_predictions(divergence: Divergence, seed: int, draws: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.dirichlet([1, 1, 0.2], draws), rng.dirichlet([0.2, 1, 1], draws)
    expected = [divergence.between(p, q) for p, q in zip(x, y, strict=True)]
    assert divergence.paired(Samples(x), Samples(y)) == pytest.approx(expected, abs=1e-12)


def test_more_pairs_than_one_linear_programme_takes_are_all_solved() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.dirichlet(np.ones(4), 130), rng.dirichlet(np.ones(4), 130)
    x[5], y[7], x[120:] = y[5], x[7], x[0]
    points = rng.random((4, 2))
    matrix = np.linalg.norm(points[:, None] - points[None], axis=2)
    found = divergence_named({"name": "emd", "ground": matrix}).for_values(tuple("abcd")).paired(Samples(x), Samples(y))
    assert found == pytest.approx([programme(p, q, matrix) for p, q in zip(x, y, strict=True)], abs=1e-9)


def test_the_family_of_sums_compares_laws_and_the_others_compare_means() -> None:
    x, y = Samples(np.array([[0.5, 0.5], [0.5, 0.5]])), Samples(np.array([[0.2, 0.8], [0.8, 0.2]]))
    for divergence in all_divergences(2):
        means_only = divergence.per_value(x, y).sum() < 1e-12
        assert means_only == (divergence.name in ("kl", "max-divergence", "hellinger", "jensen-shannon") or (
            divergence.name == "emd" and type(divergence).__name__ == "EarthMover"
        ))  # fmt: skip


def test_the_earth_movers_distance_along_an_order_sums_the_laws_of_what_lies_below_each_step() -> None:
    rng = np.random.default_rng(4)
    x, y = rng.dirichlet(np.ones(3), 50), rng.dirichlet(np.ones(3), 50)
    ordered = divergence_named({"name": "emd", "ground": "ordered"}).for_values(tuple("abc"))
    below = [np.sort(np.cumsum(side, axis=1)[:, :2], axis=0) for side in (x, y)]
    expected = np.abs(below[0] - below[1]).mean(axis=0)
    assert sorted(ordered.per_value(Samples(x), Samples(y))) == pytest.approx(sorted(expected))


@every_divergence
def test_divergences_travel_to_workers(divergence: Divergence) -> None:
    again = pickle.loads(pickle.dumps(divergence))  # noqa: S301
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
    assert again.between(p, q) == divergence.between(p, q)
    assert again.spec() == divergence.spec()


# Names


@pytest.mark.parametrize("wrong", ["total_variation", "hellinge", "jensen shannon"])
def test_a_misspelt_distance_is_told_the_nearest_name(wrong: str) -> None:
    with pytest.raises(InputError, match=rf"no distance is called '{wrong}'; did you mean '[a-z-]+'\?"):
        divergence_named(wrong)


def test_every_name_is_known_and_says_what_it_measures() -> None:
    for name in set(NAMES) - {"emd"}:
        divergence = divergence_named(name).for_values(("a", "b"))
        assert divergence.name == {"total-variation": "half"}.get(name, name)
        assert len(divergence.describes) > 40
    assert "total-variation-of-laws" in divergence_named("half").for_values(("a", "b")).describes
    assert "probability of each sensitive value" in divergence_named("sum").for_values(("a", "b")).describes


@pytest.mark.parametrize(
    ("p", "q", "problem"),
    [
        ([0.5, 0.6], [0.5, 0.5], "p: every row of samples is a probability distribution"),
        ([0.5, 0.5], [1.5, -0.5], "q: every row of samples is a probability distribution"),
        ([0.5, 0.5], [0.2, 0.3, 0.5], "one side predicts 2 sensitive values and the other 3"),
        ([[0.5, 0.5]], [0.5, 0.5], "p: expected a list of probabilities"),
        (["half", "half"], [0.5, 0.5], "p: expected a list of probabilities"),
    ],
)
def test_a_distance_is_only_between_points_of_one_simplex(p: list[float], q: list[float], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        distance("sum", p, q)


def squares(p: Floats, q: Floats) -> float:
    return float(np.square(p - q).sum())


def test_a_users_own_divergence_enters_as_the_others_do() -> None:
    own = FromFormula("squares", "sum of the squared changes of confidence", squares, largest=2.0)
    assert divergence_named(own).for_values(("a", "b")) is own
    assert distance(own, [1, 0], [0, 1]) == 2.0
    assert divergence_named(own).spec() == {
        "name": "squares", "formula": f"{__name__}:squares", "largest": 2.0, "jointly_convex": False
    }  # fmt: skip


def test_a_users_own_divergence_may_depend_on_the_values() -> None:
    class Counted:
        name = "counted"

        def for_values(self, labels: tuple[str, ...]) -> Divergence:
            return FromFormula(self.name, "a test", squares, largest=float(len(labels)))

        def spec(self) -> dict[str, object]:
            return {"name": self.name}

    assert divergence_named(Counted()).for_values(("a", "b", "c")).largest == 3.0


def test_what_is_no_divergence_is_told_what_it_lacks() -> None:
    with pytest.raises(InputError, match="is no divergence: it lacks describes, largest, proves, between"):
        divergence_named(type("Half", (), {"name": "half"})())


def test_two_predictions_are_taken_to_the_simplex_once_for_all_distances() -> None:
    """Halves of one pair that misses the sum 1: total variation is half the sum, and the sum over two values W1."""
    p, q = [0.5004, 0.5], [0.2, 0.8]
    exact = [share / 1.0004 for share in p]
    for name in ("sum", "half", "kl", "hellinger", "jensen-shannon", "total-variation-of-laws"):
        assert distance(name, p, q) == pytest.approx(distance(name, exact, q), abs=1e-15)
    assert distance("emd", p, q, ground="ordered") == pytest.approx(distance("half", p, q), abs=1e-12)
    assert distance("emd", p, q, ground=[[0, 1], [1, 0]]) == pytest.approx(distance("half", p, q), abs=1e-9)


def test_a_negative_probability_is_refused() -> None:
    assert distance("sum", [1.0, -1e-12], [1.0, 0.0]) == pytest.approx(0, abs=1e-11)
    with pytest.raises(InputError, match=r"p: expected probabilities of at least 0; the smallest is -0.0005"):
        distance("sum", [1.0005, -0.0005], [1.0, 0.0])


def test_a_matrix_of_lists_may_come_with_the_names_of_the_values() -> None:
    matrix = [[0, 1, 4], [1, 0, 2], [4, 2, 0]]
    p, q = [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]
    expected = distance("emd", p, q, ground=(np.array(matrix), ["a", "b", "c"]))
    assert distance("emd", p, q, ground=(matrix, ["a", "b", "c"])) == expected
    assert distance("emd", p, q, ground=(tuple(map(tuple, matrix)), ("a", "b", "c"))) == expected
    rows = ((0, 1), (1, 0))  # two rows of a matrix, and no names
    assert distance("emd", [1, 0], [0, 1], ground=rows) == pytest.approx(1)
