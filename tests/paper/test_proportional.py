"""Viton et al. (ISCC 2021): Example 1, Algorithm 1, Tables II and III."""

import numpy as np
import pandas as pd
import pytest

import harness
from harness.vocabulary.schema import Schema
from oracles.reference import Greedy, Identity, Mondrian, NoisyTable, proportional

RACES = {"mammals": {
    "felidae": ["cat", "lion", "tiger"], "canine": ["dog", "wolf"], "cetaceans": ["dolphin", "whale"]
}}  # fmt: skip
QUASI = {"gender": {"hierarchy": {"*": ["M", "F"]}}, "race": {"hierarchy": RACES}}
SCHEMA = Schema(QUASI, "income")
T = pd.DataFrame({
    "gender": list("MFFMMF"),
    "race": ["cat", "lion", "dog", "dolphin", "whale", "whale"],
    "income": list("abcabc"),
})  # fmt: skip
T_ANO = T.assign(gender="*", race=["mammals"] * 3 + ["cetaceans"] * 3)
CAT = {"gender": "M", "race": "cat"}
# Table III prints thirds cut off (0.66) and calls the third column G_11; it is the root G_10.
THIRD = 1 / 3
FIRST = [THIRD, 2 / 3, 1, THIRD, THIRD, 0, THIRD, 0, 0, 0, 2 / 3, THIRD, 0, 1]
SECOND = [2 / 3, THIRD, 1, 0, 0, 0, 0, 0, THIRD, 2 / 3, 0, 0, 1, 1]


def encoded(release: pd.DataFrame, encoding: str) -> np.ndarray:
    return harness.encode(release, CAT, data=T, schema=SCHEMA, encoding=encoding)[0]


def test_table_iii_comes_out_exactly_from_t_and_t_ano() -> None:
    assert encoded(proportional(T, T_ANO, SCHEMA), "proportional").tolist() == [FIRST] * 3 + [SECOND] * 3


def test_the_target_of_a_proportional_table_is_its_leaf_with_all_ancestors() -> None:
    """§IV-D: for k = 1, proportional and fillParent are the same."""
    release = proportional(T, T_ANO, SCHEMA)
    _, target = harness.encode(release, CAT, data=T, schema=SCHEMA, encoding="proportional")
    _, parents = harness.encode(T_ANO, CAT, data=T, schema=SCHEMA, encoding="fill-parent")
    assert target.tolist() == parents.tolist()
    single = proportional(T, T, SCHEMA)
    assert encoded(single, "proportional").tolist() == encoded(T, "fill-parent").tolist()


def test_in_one_level_of_a_hierarchy_the_shares_sum_to_1() -> None:
    """§III-B: "the sum of values in a single hierarchical level is equal to 1"."""
    shares = encoded(proportional(T, T_ANO, SCHEMA), "proportional")
    for level in (slice(0, 2), slice(2, 3), slice(3, 10), slice(10, 13), slice(13, 14)):
        assert shares[:, level].sum(axis=1) == pytest.approx(np.ones(6))


@pytest.mark.parametrize(
    ("encoding", "cell", "on"),
    [
        ("one-class", "dog", [3]),  # Table IIa: R_03
        ("fill-parent", "dog", [3, 8, 10]),  # Table IIb prints R_12 and no R_20: must be R_03, R_11, R_20
        ("fill-parent", "felidae", [7, 10]),
        ("fill-child", "canine", [3, 4, 8]),  # Table IIc prints R_05 too, which is the dolphin
        ("fill-child", "mammals", list(range(11))),
    ],
)
def test_table_ii(encoding: str, cell: str, on: list[int]) -> None:
    row = encoded(T_ANO.assign(race=cell), encoding)[0, 3:]
    assert np.flatnonzero(row).tolist() == on


def test_the_greedy_algorithm_from_the_first_row_gives_the_optimum() -> None:
    """{1,4,5} [M, mammals] and {2,3,6} [F, mammals] at cost 6; the text's own T_ano costs 9.5."""
    release = Greedy(k=3).anonymize(T, SCHEMA)
    assert release["gender"].tolist() == list("MFFMMF")
    assert set(release["race"]) == {"mammals"}
    assert harness.metrics(release, QUASI, "income", T)["lost_leaves"] == 6
    assert harness.metrics(T_ANO, QUASI, "income", T)["lost_leaves"] == pytest.approx(9.5, abs=1e-12)


@pytest.mark.parametrize("oracle", [Identity(proportional=True), NoisyTable(float("inf"), proportional=True)])
def test_rows_that_are_released_as_they_are_have_shares_of_one_value(oracle: Identity | NoisyTable) -> None:
    release = oracle.anonymize(T, SCHEMA)
    assert set(encoded(release, "proportional").ravel()) == {0, 1}
    assert release["race"].tolist()[0].startswith('cat {"cat": ')
    plain = release.assign(**{name: release[name].str.partition(" ")[0] for name in QUASI})
    assert encoded(release, "proportional").tolist() == encoded(plain, "fill-parent").tolist()


@pytest.mark.parametrize("oracle", [Greedy(k=3, proportional=True), Mondrian(k=3, proportional=True)])
def test_every_oracle_prints_the_shares_of_its_own_classes(oracle: Greedy | Mondrian) -> None:
    release = oracle.anonymize(T, SCHEMA)
    assert release.loc[0, "gender"] == 'M {"M": 3/3}'
    assert release.loc[0, "race"] == 'mammals {"cat": 1/3, "dolphin": 1/3, "whale": 1/3}'
