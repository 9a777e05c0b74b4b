"""Every example of an encoding that the papers print, corrected where the text is wrong (marked "erratum").

v1 = "Differential Inference Testing" (2018), appendix A.1; PR = "Proportional representation …" (2021), §II.C, §III.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from harness.measuring.encode_release import encode
from harness.measuring.encoding import ENCODINGS, encoder_named
from harness.measuring.encoding import names as names_module
from harness.measuring.encoding.names import CATEGORIES, Categories, paper_name
from harness.vocabulary.schema import Column, Schema

AGES = pd.DataFrame({"age": [15, 30, 90], "ill": ["yes", "no", "no"]})  # "let 15 and 90 be the min and the max"
AGE = Schema({"age": "number"}, "ill")


def encoded_age(encoding: str | dict[str, Any], cell: object) -> list[float]:
    X, _ = encode(pd.DataFrame({"age": [cell]}), {"age": 30}, data=AGES, schema=AGE, encoding=encoding)
    return [round(number, 3) for number in X[0].tolist()]


def encoded_target(encoding: str | dict[str, Any], age: float) -> list[float]:
    _, x = encode(pd.DataFrame({"age": ["*"]}), {"age": age}, data=AGES, schema=AGE, encoding=encoding)
    return [round(number, 3) for number in x.tolist()]


def bits(text: str) -> list[float]:
    return [float(bit) for bit in text]


@pytest.mark.parametrize("encoding", ["scaling-hot", "bounds-hot", "binary-hot", "quantiles-hot"])
@pytest.mark.parametrize("cell", [30, "[35, 55]", "[0, 200]", "*"])
def test_a_declared_domain_is_as_good_as_one_that_occurs(encoding: str, cell: object) -> None:
    some, declared = AGES.assign(age=[20, 30, 70]), Schema({"age": {"kind": "number", "min": 15, "max": 90}}, "ill")
    release = pd.DataFrame({"age": [cell]})
    X, x = encode(release, {"age": 30}, data=some, schema=declared, encoding=encoding)
    assert [round(number, 3) for number in X[0].tolist()] == encoded_age(encoding, cell)
    assert [round(number, 3) for number in x.tolist()] == encoded_target(encoding, 30)


@pytest.mark.parametrize(
    ("encoding", "cell", "features"),
    [
        ("scaling-hot", 30, [0.2]),
        ("scaling-hot", "[35, 55]", [0.4]),
        ("scaling-hot", "*", [0.5]),
        ("bounds-hot", 30, [0.2, 0.2]),
        ("bounds-hot", "[35, 55]", [0.267, 0.533]),  # erratum: printed 0.534
        ("bounds-hot", "*", [0, 1]),
        ("binary-hot", 30, bits("0001111")),  # erratum: 30 - 15 = 15, printed 0001101 = 13
        ("binary-hot", "[35, 55]", bits("0011110")),  # erratum: 45 - 15 = 30, printed "28", 0011100
        ("binary-hot", "*", bits("0100101")),  # floor(75 / 2) = 37
        ("quantiles-hot", "[35, 55]", bits("01100")),
        ("quantiles-hot", 30, bits("01000")),  # the bins are left-closed: [30,44] is the second
        ("quantiles-hot", 90, bits("00001")),
        ("quantiles-hot", "*", bits("11111")),
        ("tf-hot", "[15, 25]", [0]),
        ("tf-hot", "[15, 30]", [1]),
        ("tf-hot", "*", [1]),
    ],
)
def test_continuous_cells_are_encoded_as_in_v1_appendix_a1(encoding: str, cell: object, features: list[float]) -> None:
    assert encoded_age(encoding, cell) == features


@pytest.mark.parametrize(
    ("encoding", "features"),
    [
        ("scaling-hot", [0.2]),
        ("bounds-hot", [0.2, 0.2]),
        ("binary-hot", bits("0001111")),
        ("quantiles-hot", bits("01000")),
        ("tf-hot", [1]),
    ],
)
def test_a_continuous_target_is_encoded_from_its_raw_value(encoding: str, features: list[float]) -> None:
    assert encoded_target(encoding, 30) == features


@pytest.mark.parametrize(
    ("encoding", "below", "above"),
    [
        ("scaling-hot", [0], [1]),
        ("bounds-hot", [0, 0], [1, 1]),
        ("binary-hot", bits("0000000"), bits("1001011")),
        ("quantiles-hot", bits("10000"), bits("00001")),
    ],
)
def test_a_target_outside_the_domain_is_clipped(encoding: str, below: list[float], above: list[float]) -> None:
    assert (encoded_target(encoding, 3), encoded_target(encoding, 99)) == (below, above)


@pytest.mark.parametrize(
    ("encoding", "features"),
    [("tf-hot", [0]), ("quantiles-hot", bits("10000")), ("scaling-hot", [0.1]), ("bounds-hot", [0, 0.2])],
)
def test_an_open_end_is_outside_for_tf_and_quantiles_but_an_end_for_mid_and_bounds(
    encoding: str, features: list[float]
) -> None:
    assert encoded_age(encoding, "[15, 30)") == features


def test_the_symmetric_scale_of_v1_reaches_from_minus_one_to_one() -> None:
    scaling, bounds = ({"name": f"{name}-hot", "scale": "symmetric"} for name in ("scaling", "bounds"))
    assert encoded_age(scaling, "[35, 55]") == [-0.2]
    assert encoded_age(scaling, "*") == [0]
    assert encoded_age(bounds, "[35, 55]") == [-0.467, 0.067]
    assert encoded_age(bounds, "*") == [-1, 1]
    assert encoded_target(scaling, 30) == [-0.6]


GENDERS = pd.DataFrame({"gender": ["Male", "Female"], "ill": ["yes", "no"]})
GENDER = Schema([Column("gender", "ordered", order=("Male", "Female"))], "ill")  # in the order of v1's examples
ALL_THREE = pd.DataFrame({"gender": ["{Male, Female}", "Female", "Male"]})


@pytest.mark.parametrize(
    ("encoding", "both", "female", "male"),
    [("tf-hot", "11", "01", "10"), ("tf-binary", "11", "10", "01"), ("tf-hot-cells", "001", "010", "100")],
)
def test_categories_are_encoded_as_in_v1_appendix_a1(encoding: str, both: str, female: str, male: str) -> None:
    X, x = encode(ALL_THREE, {"gender": "Male"}, data=GENDERS, schema=GENDER, encoding=encoding)
    assert X.tolist() == [bits(both), bits(female), bits(male)]
    assert x.tolist() == bits(male)


@pytest.mark.parametrize("encoding", ["tf-binary", "tf-hot-cells"])
def test_a_category_of_the_release_is_what_a_cell_covers(encoding: str) -> None:
    """'*' is a category of its own beside Male, the same as the set of all; the text of a cell does not count."""
    release = pd.DataFrame({"gender": ["*", "{Female, Male}", "['Male']", "Male"]})
    X, x = encode(release, {"gender": "Male"}, data=GENDERS, schema=GENDER, encoding=encoding)
    everything, one = {"tf-binary": ("10", "01"), "tf-hot-cells": ("01", "10")}[encoding]
    assert X.tolist() == [bits(everything), bits(everything), bits(one), bits(one)]
    assert x.tolist() == bits(one)


@pytest.mark.parametrize(("encoding", "zeros"), [("tf-hot", 2), ("tf-binary", 2), ("tf-hot-cells", 3)])
def test_an_unknown_raw_value_is_all_zeros(encoding: str, zeros: int) -> None:
    _, x = encode(ALL_THREE, {"gender": "Unknown"}, data=GENDERS, schema=GENDER, encoding=encoding)
    assert x.tolist() == [0] * zeros


def test_an_unknown_raw_value_is_covered_by_the_star_only() -> None:
    release = pd.DataFrame({"gender": ["*", "{Male, Female}", "Male"]})
    X, x = encode(release, {"gender": "Unknown"}, data=GENDERS, schema=GENDER, encoding="tf-tf")
    assert (X.tolist(), x.tolist()) == ([[1], [0], [0]], [1])


@pytest.mark.parametrize("encoding", ["tf-binary", "tf-hot-cells"])
def test_a_target_that_no_cell_shows_exactly_is_all_zeros(encoding: str) -> None:
    release = pd.DataFrame({"gender": ["Female", "*"]})
    X, x = encode(release, {"gender": "Male"}, data=GENDERS, schema=GENDER, encoding=encoding)
    assert not x.any()
    assert X.any(axis=1).all()


TRIPLES = {"age": "number", "gender": "category", "country": "category"}


def test_the_tf_tf_example_of_v1_section_3_1() -> None:
    data = pd.DataFrame(
        {
            "age": [15, 16, 25],
            "gender": ["Male", "Female", "Male"],
            "country": ["France", "Germany", "Italy"],
            "ill": ["yes", "no", "no"],
        }
    )
    release = pd.DataFrame(
        {
            "age": ["[15, 25]", "[17, 20]"],
            "gender": ["Female", "Male"],
            "country": ["{France, Germany}", "{Italy, Germany}"],
        }
    )
    target = {"age": 16, "gender": "Male", "country": "France"}
    X, x = encode(release, target, data=data, schema=Schema(TRIPLES, "ill"), encoding="tf-tf")
    assert X.tolist() == [[1, 0, 1], [0, 1, 0]]
    assert x.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("encoding", "adult", "internet"),
    [("bounds-tf", 7, 7), ("scaling-tf", 5, 6), ("quantiles-before-tf", 5, 6), ("tf-tf", 5, 6)],
)
def test_the_number_of_features_in_v1_appendix_a2(encoding: str, adult: int, internet: int) -> None:
    """Adult has 2 continuous and 3 categorical columns, Internet 1 and 5."""
    for numbers, categories, features in ((2, 3, adult), (1, 5, internet)):
        quasi = {f"n{j}": "number" for j in range(numbers)} | {f"c{j}": "category" for j in range(categories)}
        data = pd.DataFrame({name: [1, 2] if name[0] == "n" else ["a", "b"] for name in quasi} | {"ill": ["yes", "no"]})
        hidden = pd.DataFrame({key: ["*", "*"] for key in quasi})
        X, x = encode(hidden, dict(data.iloc[0]), data=data, schema=Schema(quasi, "ill"), encoding=encoding)
        assert X.shape == (2, features) == (2, len(x))


# v1 appendix A: six encodings of numbers and four of categories, in its order; and the three of PR §II.C.
OF_NUMBERS = ("scaling", "bounds", "binary", "quantiles-before", "quantiles", "tf")
OF_CATEGORIES = ("hot", "binary", "hot-cells", "tf")
PAPERS = (
    *(f"{numbers}-{categories}" for numbers in OF_NUMBERS for categories in OF_CATEGORIES),
    "one-class",
    "fill-parent",
    "fill-child",
)


def test_the_manual_calls_the_24_pairs_as_v1_does_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {
        f"{numbers}-{categories}": f"e{i}{j}"
        for i, numbers in enumerate(OF_NUMBERS, 1)
        for j, categories in enumerate(OF_CATEGORIES, 1)
    }
    assert {name: paper_name(name) for name in PAPERS} == {**dict.fromkeys(PAPERS), **names}
    monkeypatch.setattr(names_module, "CATEGORIES", {"mine": Categories(CATEGORIES["hot"].encoding), **CATEGORIES})
    monkeypatch.setattr(names_module, "PAIRS", {**names_module.PAIRS, "tf-mine": ("tf", "mine")})
    assert paper_name("tf-mine") is None
    assert paper_name("tf-tf") == "e64"


def test_nine_of_the_24_pairs_depend_on_the_target_and_no_hierarchy_encoding_does() -> None:
    relative = {name for name in PAPERS if encoder_named(name).depends_on_target}
    pairs = [(i, "tf") for i in OF_NUMBERS[:-1]] + [("tf", j) for j in OF_CATEGORIES]
    assert len(PAPERS) == 27
    assert set(PAPERS) <= set(ENCODINGS)
    assert relative == {f"{i}-{j}" for i, j in pairs}
    assert len(relative) == 9


# PR Figure 1 is a picture; its leaves are known from the text and Table III but for R_04, called wolf here.
MAMMALS = {
    "mammals": {"felidae": ["cat", "lion", "tiger"], "canine": ["dog", "wolf"], "cetaceans": ["dolphin", "whale"]}
}
NODES = ["00", "01", "02", "03", "04", "05", "06", "10", "11", "12", "20"]
TABLE_I = pd.DataFrame(
    {
        "Gender": ["M", "F", "F", "M", "M", "F"],
        "Race": ["cat", "lion", "dog", "dolphin", "whale", "whale"],
        "secret": ["a", "b", "a", "b", "a", "b"],
    }
)
TABLE_I_SCHEMA = Schema({"Gender": "category", "Race": {"kind": "category", "hierarchy": MAMMALS}}, "secret")


def race_features(encoding: str, race: str) -> set[str]:
    """The columns R_… of Table II that are 1."""
    release = pd.DataFrame({"Gender": ["*"], "Race": [race]})
    X, _ = encode(release, {"Gender": "M", "Race": "cat"}, data=TABLE_I, schema=TABLE_I_SCHEMA, encoding=encoding)
    assert X[0, :3].tolist() == ([1, 1, 1] if encoding == "fill-child" else [0, 0, 1])  # Gender: F, M, *
    return {node for node, feature in zip(NODES, X[0, 3:], strict=True) if feature == 1}


@pytest.mark.parametrize(
    ("race", "one_class", "fill_parent", "fill_child"),
    [
        ("cat", "00", "00 10 20", "00"),
        ("dog", "03", "03 11 20", "03"),  # erratum: Table IIb prints R_12 and not R_11, R_20
        ("felidae", "10", "10 20", "00 01 02 10"),
        ("canine", "11", "11 20", "03 04 11"),  # erratum: Table IIc prints R_05, which Table III puts under R_12
        ("mammals", "20", "20", " ".join(NODES)),
    ],
)
def test_the_hierarchy_encodings_of_pr_table_ii(race: str, one_class: str, fill_parent: str, fill_child: str) -> None:
    assert race_features("one-class", race) == set(one_class.split())
    assert race_features("fill-parent", race) == set(fill_parent.split())
    assert race_features("fill-child", race) == set(fill_child.split())


@pytest.mark.parametrize(
    ("race", "node"), [("*", "20"), ("{cat, lion}", "10"), ("{cat, dog}", "20"), ("{dog}", "03"), ("{dog, wolf}", "11")]
)
def test_a_set_stands_at_the_lowest_common_ancestor_of_its_values(race: str, node: str) -> None:
    assert race_features("one-class", race) == {node}


def test_the_target_of_a_hierarchy_encoding_is_its_leaf() -> None:
    release = pd.DataFrame({"Gender": ["*"], "Race": ["*"]})
    target = {"Gender": "F", "Race": "whale"}
    for encoding, nodes in (("one-class", {"06"}), ("fill-parent", {"06", "12", "20"}), ("fill-child", {"06"})):
        _, x = encode(release, target, data=TABLE_I, schema=TABLE_I_SCHEMA, encoding=encoding)
        assert {node for node, feature in zip(NODES, x[3:], strict=True) if feature == 1} == nodes
        assert x[:3].tolist() == ([1, 0, 1] if encoding == "fill-parent" else [1, 0, 0])


def test_an_unknown_value_has_no_node() -> None:
    release = pd.DataFrame({"Gender": ["*"], "Race": ["*"]})
    for encoding in ("one-class", "fill-parent", "fill-child"):
        _, x = encode(release, {"Gender": "X", "Race": "eel"}, data=TABLE_I, schema=TABLE_I_SCHEMA, encoding=encoding)
        assert np.array_equal(x, np.zeros(14))  # G_00 … G_10, R_00 … R_20 of Table III
