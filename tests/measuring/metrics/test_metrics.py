"""Metrics of a release: against the slow second implementation, and the laws they obey."""

import itertools
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import harness
from harness.vocabulary.errors import HarnessError, InputError
from harness.vocabulary.hierarchy import Hierarchy
from oracles.reference import Greedy, Identity, Mondrian
from tests.measuring.metrics import naive

tables = st.lists(
    st.tuples(st.sampled_from("ab*"), st.sampled_from(["[1, 2]", "3"]), st.integers(1, 4)), min_size=1, max_size=25
).map(lambda rows: pd.DataFrame(rows, columns=["city", "age", "s"]))
QUASI = ["city", "age"]
UNTYPED: Any = SimpleNamespace(  # for calls that a type checker would refuse
    metrics=harness.metrics, discrimination_rate=harness.discrimination_rate, Greedy=Greedy, Mondrian=Mondrian
)


def measured(frame: pd.DataFrame, **more: Any) -> dict[str, Any]:
    return harness.metrics(frame, QUASI, "s", **more)


@settings(max_examples=40, deadline=None)
@given(frame=tables, original=tables)
def test_k_l_t_and_discrimination_are_those_of_the_slow_implementation(
    frame: pd.DataFrame, original: pd.DataFrame
) -> None:
    found = measured(frame, original=original)
    groups = naive.classes(frame, QUASI)
    assert found["k"] == min(map(len, groups))
    assert found["classes"] == len(groups)
    assert found["average_class_size"] == pytest.approx(len(frame) / len(groups))
    expected = naive.diversity(frame, QUASI, "s")
    for kind, number in expected.items():
        assert found["l"][kind] == pytest.approx(number)
    for side, whole in (("release", frame["s"].tolist()), ("original", original["s"].tolist())):
        assert found["t"]["equal"][side] == pytest.approx(float(naive.equal_t(frame, QUASI, "s", whole)))
        assert found["t"]["ordered"][side] == pytest.approx(float(naive.ordered_t(frame, QUASI, "s", whole)))
    assert found["secrets"]["s"]["discrimination_rate"]["all"] == pytest.approx(
        naive.discrimination(frame, "s", QUASI), abs=1e-12
    )


@settings(max_examples=50, deadline=None)
@given(frame=tables, seed=st.integers(0, 100))
def test_the_order_of_rows_makes_no_difference(frame: pd.DataFrame, seed: int) -> None:
    shuffled = frame.sample(frac=1, random_state=seed)
    one, other = measured(frame), measured(shuffled)
    assert one["k"] == other["k"]
    assert one["l"]["entropy"] == pytest.approx(other["l"]["entropy"])
    assert one["t"]["ordered"]["release"] == pytest.approx(other["t"]["ordered"]["release"], abs=1e-12)
    assert one["discernibility"] == other["discernibility"]


@settings(max_examples=50, deadline=None)
@given(frame=tables)
def test_merging_classes_never_lowers_k_or_l_and_never_raises_t_or_the_discrimination_rate(frame: pd.DataFrame) -> None:
    fine, coarse = measured(frame), measured(frame.assign(age="[1, 3]"))
    assert coarse["k"] >= fine["k"]
    assert coarse["l"]["distinct"] >= fine["l"]["distinct"]
    assert coarse["l"]["entropy"] >= fine["l"]["entropy"] - 1e-12
    assert coarse["t"]["equal"]["release"] <= fine["t"]["equal"]["release"] + 1e-12
    assert coarse["t"]["ordered"]["release"] <= fine["t"]["ordered"]["release"] + 1e-12
    rates = [each["secrets"]["s"]["discrimination_rate"]["all"] for each in (coarse, fine)]
    assert 0 <= rates[0] <= rates[1] + 1e-12 <= 1 + 1e-12


@settings(max_examples=50, deadline=None)
@given(frame=tables)
def test_l_and_t_are_ordered_as_their_definitions_are(frame: pd.DataFrame) -> None:
    """probability <= entropy <= distinct; a step of an order is no longer than the distance of all values."""
    found = measured(frame)
    assert 1 <= found["l"]["probability"] <= found["l"]["entropy"] + 1e-12
    assert found["l"]["entropy"] <= found["l"]["distinct"] + 1e-9
    assert 0 <= found["t"]["ordered"]["release"] <= found["t"]["equal"]["release"] + 1e-12 <= 1 + 1e-12


@settings(max_examples=40, deadline=None)
@given(frame=tables)
def test_a_row_with_a_weight_counts_as_that_many_rows(frame: pd.DataFrame) -> None:
    counted = frame.groupby(["city", "age", "s"]).size().rename("count").reset_index()
    one, other = measured(frame), measured(counted)
    for key in ("k", "discernibility", "suppressed", "classes"):
        assert one[key] == other[key]
    assert one["l"]["entropy"] == pytest.approx(other["l"]["entropy"])
    assert "column 'count' is read as the weight of its row" in other["notes"]


def test_recursive_c_puts_the_most_frequent_value_first() -> None:
    """r = 4, 2, 1: (c, 2) needs c > 4/3, (c, 3) needs c > 4, and nothing gives (c, 4) where a class has 3 values."""
    frame = pd.DataFrame({"q": ["x"] * 7 + ["y"] * 4, "s": [*"aaaabbc", *"abcd"]})
    recursive = harness.metrics(frame, ["q"], "s")["l"]["recursive_c"]
    assert recursive == {"2": 4 / 3, "3": 4.0, "4": math.inf}
    assert recursive[3] == recursive["3"]
    with pytest.raises(KeyError):
        recursive[5]


def test_entropy_l_is_not_rounded_down() -> None:
    """H of (3/4, 1/4) is .5623 nats, so l = 1.755; a tool that rounds says 1."""
    frame = pd.DataFrame({"q": ["x"] * 4, "s": list("aaab")})
    assert harness.metrics(frame, ["q"], "s")["l"]["entropy"] == pytest.approx(4 / 27**0.25, abs=1e-12)


TREE = Hierarchy.from_nested({"*": {"lung": ["flu", "cold"], "skin": ["rash", {"burns": ["mild", "bad"]}]}})


def naive_hierarchical(p: list[float], q: list[float]) -> float:
    """The earth mover's distance by linear programming over all pairs of leaves (Li et al. 2007, §5.1)."""
    from scipy.optimize import linprog

    leaves = TREE.leaves("*")
    heights = {"flu": 0, "cold": 0, "rash": 0, "mild": 0, "bad": 0, "burns": 1, "lung": 1, "skin": 2, "*": 3}
    ground = [heights[TREE.lowest_common_ancestor(pair)] / 3 for pair in itertools.product(leaves, leaves)]
    size = len(leaves)
    sums = [np.kron(np.eye(size)[i], np.ones(size)) for i in range(size)]
    sums += [np.kron(np.ones(size), np.eye(size)[i]) for i in range(size)]
    return float(linprog(ground, A_eq=np.array(sums), b_eq=[*p, *q]).fun)


@settings(max_examples=25, deadline=None)
@given(rows=st.lists(st.tuples(st.sampled_from("xy"), st.sampled_from(TREE.leaves("*"))), min_size=1, max_size=12))
def test_hierarchical_t_is_the_earth_movers_distance_over_heights(rows: list[tuple[str, str]]) -> None:
    frame = pd.DataFrame(rows, columns=["q", "s"])
    t = harness.metrics(frame, ["q"], {"name": "s", "hierarchy": TREE})["t"]["hierarchical"]["release"]
    leaves = list(TREE.leaves("*"))
    whole = [float(share) for share in naive.shares(frame["s"].tolist(), leaves)]
    parts = [naive.shares(group["s"].tolist(), leaves) for _, group in frame.groupby("q")]
    assert t == pytest.approx(max(naive_hierarchical([*map(float, part)], whole) for part in parts), abs=1e-8)


def test_information_loss_of_ranges_sets_and_stars() -> None:
    """Ages 20, 25, 30, 40: [20, 30] has 3 of 4 leaves, and half of the width; {a, b} has 2 of 3 values."""
    original = pd.DataFrame({"age": [20, 25, 30, 40], "city": list("abca"), "s": list("xyxy")})
    release = original.assign(age=["[20, 30]", "25", "*", ">= 30"], city=["{a, b}", "b", "*", "a"])
    found = harness.metrics(release, {"age": "number", "city": "category"}, "s", original)
    assert found["lost_leaves"] == pytest.approx(2 / 3 + 0 + 1 + 1 / 3 + 1 / 2 + 0 + 1 + 0)
    assert found["normalized_certainty_penalty"] == pytest.approx(0.5 + 0 + 1 + 0.5 + 2 / 3 + 0 + 1 + 0)
    assert found["mean_lost_leaves"] == pytest.approx(found["lost_leaves"] / 8)
    assert (found["suppressed"], found["suppressed_cells"]) == (1, 0.25)
    assert found["outside"] == {"cells": 0.0, "rows": 0.0}
    assert found["discernibility"] == 3 + 4  # three classes of one, and a suppressed row that costs |D| = 4


def test_cells_outside_their_own_range_are_counted_where_rows_can_be_matched() -> None:
    original = pd.DataFrame({"age": [20, 25, 30, 40], "s": list("xyxz")})
    release = pd.DataFrame({"age": ["[25, 30]", "[25, 30]", "[25, 30]", "[20, 40]"], "s": list("xyxz")})
    assert harness.metrics(release, {"age": "number"}, "s", original)["outside"] == {"cells": 0.25, "rows": 0.25}


@pytest.mark.parametrize(
    ("release", "reason"),
    [
        (pd.DataFrame({"age": ["25", "20"], "s": ["y", "x"]}), "not those of the original in their order"),
        (pd.DataFrame({"age": ["20"], "s": ["x"]}), "the release has 1 rows and the original 2"),
        (pd.DataFrame({"age": ["20", "25"], "s": ["x", "y"], "count": [1, 1]}), "stand for several people"),
    ],
)
def test_where_rows_cannot_be_matched_with_the_original_it_is_said_why(release: pd.DataFrame, reason: str) -> None:
    found = harness.metrics(release, {"age": "number"}, "s", pd.DataFrame({"age": [20, 25], "s": ["x", "y"]}))
    assert found["outside"] is None
    assert any(note.startswith("untrue cells are not looked for") and reason in note for note in found["notes"])


def test_equal_sensitive_values_tell_nothing_about_the_order_of_rows() -> None:
    frame = pd.DataFrame({"age": [20, 25], "s": ["x", "x"]})
    found = harness.metrics(frame, {"age": "number"}, "s", frame)
    assert found["outside"] is None
    assert "all sensitive values are equal" in found["notes"][0]


def test_rows_that_the_release_has_not_are_suppressed_and_cost_as_much_as_the_data() -> None:
    original = pd.DataFrame({"age": [20, 25, 30, 40, 50], "s": list("xyxzz")})
    release = pd.DataFrame({"age": ["[20, 25]"] * 2, "s": list("xy")})
    found = harness.metrics(release, {"age": "number"}, "s", original)
    assert (found["suppressed"], found["discernibility"]) == (3, 4 + 3 * 5)


def test_without_the_original_the_declaration_is_the_domain() -> None:
    release = pd.DataFrame({"age": ["[0, 49]", "7"], "city": ["*", "Bern"], "job": ["x", "y"], "s": list("xy")})
    quasi = {"age": {"kind": "number", "min": 0, "max": 99}, "city": {"values": ["Bern", "Rome", "Paris"]}}
    found = harness.metrics(release, quasi, "s")
    assert found["columns"]["age"]["lost_leaves"] == pytest.approx(49 / 99)
    assert found["columns"]["city"]["lost_leaves"] == 1
    found = harness.metrics(release, {**quasi, "job": "category"}, "s")
    assert found["lost_leaves"] is None
    assert found["columns"]["age"]["lost_leaves"] == pytest.approx(49 / 99)
    assert "column 'job': lost leaves and certainty penalty are not measured" in found["notes"][0]


def test_values_that_are_not_shown_tell_nothing() -> None:
    frame = pd.DataFrame({"q": ["x", "x", "y", "y"], "s": ["a", "b", "*", None]})
    assert harness.metrics(frame, ["q"], "s")["l"]["distinct"] == 2
    assert harness.metrics(frame.replace("*", "NA"), ["q"], {"name": "s", "values": ["a", "b"]})["l"]["distinct"] == 2
    kept = harness.metrics(frame, ["q"], "s", frame)  # a star of the original is a value
    assert kept["l"]["distinct"] == 1
    assert harness.metrics(frame[2:], ["q"], "s")["l"] is None


@pytest.mark.parametrize("oracle", [Mondrian(k=3), Greedy(k=3), Mondrian(k=3, proportional=True)])
def test_our_own_releases_are_true_and_have_their_k(oracle: Any) -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {"age": rng.integers(0, 30, 60), "city": rng.choice(list("abcd"), 60), "s": rng.choice(list("xyz"), 60)}
    )
    quasi = {"age": "number", "city": "category"}
    found = harness.metrics(oracle.anonymize(frame, harness.Schema(quasi, "s")), quasi, "s", frame)
    assert found["k"] >= 3
    assert found["outside"] == {"cells": 0.0, "rows": 0.0}


def test_utility_is_that_of_a_cross_validated_classifier() -> None:
    """The city gives the secret away in the first release, and nothing at all in the second."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"city": rng.choice(list("ab"), 200), "s": "x"})
    frame["s"] = frame["city"].map({"a": "flu", "b": "cold"})
    quasi = {"city": "category"}
    told = harness.metrics(frame, quasi, "s", frame, utility="logistic")["utility"]["secrets"]["s"]
    assert told["release"]["auc"] == 1
    assert told["release"]["accuracy"] == told["original"]["accuracy"] == 1
    hidden = harness.metrics(frame.assign(city="*"), quasi, "s", frame, utility="logistic")["utility"]["secrets"]["s"]
    assert hidden["release"]["accuracy"] == pytest.approx(hidden["release"]["accuracy_of_most_frequent"], abs=0.01)
    assert hidden["original"]["auc"] == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda frame: harness.metrics(frame, ["town"], "s"), "no column 'town'"),
        (lambda frame: harness.metrics(frame, ["q"], "t"), "no column 't'"),
        (lambda frame: harness.metrics(frame[:0], ["q"], "s"), "nothing to measure"),
        (lambda frame: harness.metrics(frame, {"q": {"hierarchy": {"*": ["v"]}}}, "s"), "'x': neither a raw value"),
        (lambda frame: harness.metrics(frame, ["q"], {"name": "s", "values": ["a"]}), "'b' is not in its declared"),
        (lambda frame: harness.metrics(frame, ["q"], {"name": "s", "hierarchy": {"*": ["a"]}}), "not in its hierarchy"),
        (lambda frame: harness.metrics(frame, "q", "s"), "quasi must"),
        (lambda frame: harness.discrimination_rate(frame, "s", []), "name at least one"),
        (lambda frame: harness.discrimination_rate(frame, "s", "p"), "no column 'p'"),
        (lambda frame: harness.discrimination_rate(frame, "s", "q", "w"), "no row shows 'w'"),
        (lambda frame: harness.discrimination_rate(frame, "s", ["q", "s"], ("x", "c")), "the class is empty"),
        (lambda frame: harness.discrimination_rate(frame, "s", ["q", "s"], "x"), "one cell for each"),
        (lambda frame: harness.discrimination_rate(frame, "s", "q", partition={"a": 1}), "does not say where"),
        (lambda frame: harness.discrimination_rate(frame[:0], "s", "q"), "no rows"),
        (lambda frame: UNTYPED.discrimination_rate({"s": ["a"]}, "s", "q"), "must be a DataFrame, not a dict"),
        (lambda frame: UNTYPED.discrimination_rate(frame, "s", None), "by must name a column"),
        (lambda frame: UNTYPED.discrimination_rate(frame, ["s"], "q"), r"of must name one column, not \['s'\]"),
        (lambda frame: harness.discrimination_rate(frame[["q", "q", "s"]], "s", "q"), "'q' occurs more than once"),
        (lambda frame: harness.metrics(frame[["q", "q", "s"]], ["q"], "s"), "'q' occurs more than once"),
        (lambda frame: UNTYPED.discrimination_rate(frame, "s", "q", partition=[["a"]]), "must map every value of 's'"),
        (lambda frame: UNTYPED.metrics(frame, ["q"], "s", "data.csv"), "the original must be a DataFrame, not a str"),
        (lambda frame: UNTYPED.Greedy(k=2).anonymize(frame, {"q": "category"}), "a Schema, not a DataFrame and a dict"),
    ],
)  # fmt: skip
def test_bad_input_is_named(call: Any, message: str) -> None:
    frame = pd.DataFrame({"q": list("xxyy"), "s": list("abac")})
    with pytest.raises(HarnessError, match=message):
        call(frame)


def test_a_value_may_be_a_number_a_list_or_a_gap() -> None:
    frame = pd.DataFrame({"q": [1, 1, None, 2], "r": list("aabb"), "s": list("xyxx")}, index=[7, 7, 1, 0])
    weighted = 1 - 2 / 4 / entropy_of_two(3 / 4)
    assert harness.discrimination_rate(frame, "s", "q", 1) == pytest.approx(weighted, abs=1e-12)
    assert harness.discrimination_rate(frame, "s", ["q", "r"], [1, "a"]) == pytest.approx(weighted, abs=1e-12)
    assert harness.discrimination_rate(frame, "s", "q", float("nan")) == 1


def entropy_of_two(share: float) -> float:
    """H of two values, in bits."""
    return -share * math.log2(share) - (1 - share) * math.log2(1 - share)


@pytest.mark.parametrize("oracle", [UNTYPED.Mondrian(k=np.int64(2)), UNTYPED.Greedy(k=np.int64(2)), Identity()])
def test_a_released_frame_keeps_the_labels_of_its_rows(oracle: Any) -> None:
    frame = pd.DataFrame({"age": [20, 21, 30, 31], "s": list("xyxy")}, index=[10, 20, 20, 40])
    assert oracle.anonymize(frame, harness.Schema({"age": "number"}, "s")).index.tolist() == [10, 20, 20, 40]


def test_an_encoder_that_needs_more_than_the_release_says_is_the_users_error() -> None:
    frame = pd.DataFrame({"age": ["[20, 30]"] * 20, "s": list("ab") * 10})
    original = frame.assign(age=[20, 30] * 10)
    with pytest.raises(InputError, match="does not say how the values of its class are shared out"):
        harness.metrics(frame, {"age": "number"}, "s", original, utility="mlp", encoder="proportional")


def test_a_release_with_other_columns_is_the_users_error() -> None:
    with pytest.raises(InputError, match="the release has no column 'age'"):
        harness.metrics(pd.DataFrame({"alter": [1], "s": ["a"]}), {"age": "number"}, "s")
