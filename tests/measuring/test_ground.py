"""Ground distances as people declare them: every form, its plain data, and the errors of a bad one."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.measuring.divergence import Divergence, distance, divergence_named
from harness.vocabulary.errors import InputError
from harness.vocabulary.hierarchy import Hierarchy

LEVELS = ("low", "middle", "high")
NESTED = {"ANY": {"Professional": ["Engineer", "Lawyer"], "Artist": ["Dancer", "Writer"]}}
JOBS = ("Engineer", "Lawyer", "Dancer", "Writer")


def emd(ground: Any, labels: tuple[str, ...], base: Path = Path()) -> Divergence:
    return divergence_named({"name": "emd", "ground": ground}, base).for_values(labels)


def apart(divergence: Divergence, labels: tuple[str, ...], one: str, other: str) -> float:
    corners = np.eye(len(labels))
    return divergence.between(corners[labels.index(one)], corners[labels.index(other)])


def test_ordered_takes_the_values_as_they_stand() -> None:
    assert apart(emd("ordered", LEVELS), LEVELS, "low", "high") == 2.0


def test_an_order_may_be_another_one_and_name_more_values() -> None:
    labels = ("high", "low")
    assert apart(emd({"order": LEVELS}, labels), labels, "low", "high") == 2.0


def test_numeric_values_are_as_far_apart_as_their_numbers() -> None:
    labels = ("40", "-2.5", "1e1")
    ground = emd("numeric", labels)
    assert apart(ground, labels, "40", "1e1") == pytest.approx(30)
    assert apart(ground, labels, "40", "-2.5") == ground.largest == pytest.approx(42.5)


def test_positions_are_given_for_values_that_are_no_numbers() -> None:
    assert apart(emd({"positions": {"low": 0, "middle": 1.5, "high": 9}}, LEVELS), LEVELS, "middle", "high") == 7.5


def test_a_hierarchy_comes_from_a_file_beside_the_plan_or_nested_or_ready(tmp_path: Path) -> None:
    hierarchy = Hierarchy.from_nested(NESTED)
    lines = [";".join(hierarchy.path(job)) for job in JOBS]
    (tmp_path / "jobs.csv").write_text("\n".join(lines), encoding="utf-8")
    grounds = [{"hierarchy": "jobs.csv"}, {"hierarchy": NESTED}, {"hierarchy": hierarchy}, hierarchy]
    for ground in grounds:
        divergence = emd(ground, JOBS, tmp_path)
        assert apart(divergence, JOBS, "Engineer", "Lawyer") == 2.0
        assert apart(divergence, JOBS, "Engineer", "Writer") == 4.0


def test_a_matrix_follows_its_own_values() -> None:
    matrix = [[0, 1, 5], [1, 0, 4], [5, 4, 0]]
    divergence = emd({"matrix": matrix, "values": LEVELS}, ("high", "low"))
    assert apart(divergence, ("high", "low"), "low", "high") == pytest.approx(5)
    assert divergence.largest == 5.0
    assert apart(emd(np.array(matrix), LEVELS), LEVELS, "middle", "high") == pytest.approx(4)


@pytest.mark.parametrize(
    "ground",
    [
        "ordered",
        {"order": ["high", "middle", "low"]},
        {"positions": {"low": 0.0, "middle": 1.0, "high": 9.0}},
        {"hierarchy": {"all": [{"some": ["low", "middle"]}, "high"]}},
        {"matrix": [[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]},
        {"matrix": [[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]], "values": ["high", "middle", "low"]},
    ],
    ids=str,
)
def test_a_declaration_is_plain_data_and_can_be_made_again_from_it(ground: Any) -> None:
    declared = divergence_named({"name": "emd", "ground": ground})
    assert declared.spec() == {"name": "emd", "ground": ground}
    again = divergence_named(declared.spec())
    travelled = pickle.loads(pickle.dumps(declared))  # noqa: S301
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.4, 0.5])
    for other in (again, travelled):
        assert other.for_values(LEVELS).between(p, q) == declared.for_values(LEVELS).between(p, q)
        assert other.for_values(LEVELS).spec() == declared.for_values(LEVELS).spec()


def test_a_divergence_over_values_spells_out_its_ground() -> None:
    assert emd("ordered", LEVELS).spec() == {"name": "emd", "scale": 1.0, "ground": {"order": list(LEVELS)}}
    assert emd("numeric", ("1", "3")).spec()["ground"] == {"positions": {"1": 1.0, "3": 3.0}}


def test_without_a_ground_the_message_names_the_two_that_were_meant() -> None:
    with pytest.raises(InputError) as refusal:
        divergence_named("emd")
    assert 'at unit ground distance it is called "half"' in str(refusal.value)
    assert 'the sum over values is called "sum"' in str(refusal.value)


@pytest.mark.parametrize(
    ("declared", "problem"),
    [
        ({"name": "emd", "ground": "orderd"}, "ground 'orderd' is not known; .* did you mean 'ordered'"),
        ({"name": "emd", "ground": {"orders": []}}, "ground 'orders': .* did you mean 'order'"),
        ({"name": "emd", "ground": {}}, "expected a table with one key"),
        ({"name": "emd", "ground": {"order": ["a"], "values": ["a"]}}, "expected a table with one key"),
        ({"name": "emd", "ground": {"order": "abc"}}, "order must be a list of values"),
        ({"name": "emd", "ground": {"order": ["a", "a"]}}, "order must be a list of values, none of them twice"),
        ({"name": "emd", "ground": {"positions": [1, 2]}}, "positions must be a table of value = number"),
        ({"name": "emd", "ground": {"positions": {"a": "far"}}}, "'far' is not a finite number"),
        ({"name": "emd", "ground": {"hierarchy": 3}}, "hierarchy must be a file name or a nested table"),
        ({"name": "emd", "ground": {"hierarchy": "nowhere.csv"}}, "nowhere.csv: the hierarchy cannot be read"),
        ({"name": "emd", "ground": [[0, 1]]}, r"must be square, .* got shape \(1, 2\)"),
        ({"name": "emd", "ground": [[0, 1], [1]]}, "a matrix of numbers was expected"),
        ({"name": "emd", "ground": [[0, np.inf], [np.inf, 0]]}, "every distance must be finite"),
        ({"name": "emd", "ground": [[0, -1], [-1, 0]]}, "every distance must be at least 0"),
        ({"name": "emd", "ground": [[1, 1], [1, 0]]}, "every distance must be 0 from a value to itself"),
        ({"name": "emd", "ground": [[0, 1], [2, 0]]}, r"the same in both directions \(a symmetric matrix\)"),
        ({"name": "emd", "ground": {"matrix": [[0, 1], [1, 0]], "values": ["a"]}}, "a list of 2 values, one per row"),
        ({"name": "emd", "grund": "ordered"}, "distance: unknown key 'grund'; did you mean 'ground'"),
        ({"name": "half", "ground": "ordered"}, "distance 'half' takes no ground distance"),
        ({"ground": "ordered"}, "no distance is called None"),
    ],
)
def test_a_bad_declaration_is_refused_with_the_reason(declared: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        divergence_named(declared)


@pytest.mark.parametrize(
    ("ground", "labels", "problem"),
    [
        ({"order": ["low", "high"]}, LEVELS, "the order does not name the value 'middle'"),
        ({"positions": {"low": 1, "hihg": 2}}, ("low", "high"), "does not name the value 'high'; did you mean 'hihg'"),
        ("numeric", LEVELS, "'low' is not a finite number; declare an order"),
        (Hierarchy.from_nested(NESTED), ("Engineer", "Dancr"), "ground: the hierarchy has no 'Dancr'; did you mean"),
        ([[0, 1], [1, 0]], LEVELS, "a matrix of 2 rows cannot be the distances of 3 values; .*`values`"),
        (
            {"matrix": [[0, 1], [1, 0]], "values": ["low", "high"]},
            LEVELS,
            "the matrix does not name the value 'middle'",
        ),
        ("ordered", ("only",), "needs at least two values"),
        ("ordered", ("same", "same"), "none of them twice"),
        ("numeric", ("1", "1.0"), "the ground distance between all values is 0"),
        ([[0, 0], [0, 0]], ("a", "b"), "the ground distance between all values is 0"),
    ],
)
def test_a_ground_that_does_not_fit_the_values_is_refused(ground: Any, labels: tuple[str, ...], problem: str) -> None:
    with pytest.raises(InputError, match=f'^distance "emd": .*{problem}'):
        emd(ground, labels)


def test_predictions_over_other_values_than_the_ground_are_refused() -> None:
    with pytest.raises(InputError, match="the ground distance is over 4 values, but p and q are over 2"):
        distance("emd", [0.5, 0.5], [0.5, 0.5], Hierarchy.from_nested(NESTED))
