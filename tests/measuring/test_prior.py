"""Bayes' rule on a model's answer, and every way to write down what an adversary believes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.measuring.features import Floats
from harness.measuring.prior import FittedPrior, Prior, posterior, prior_named
from harness.measuring.specification import specification, unidentified
from harness.vocabulary.dataset import Dataset, Secret
from harness.vocabulary.errors import InputError
from harness.vocabulary.schema import Schema

FRAME = pd.DataFrame(
    {
        "age": [30, 40, None, 50],
        "disease": ["Flu", "Cancer", "Flu", "Flu"],
        "grade": [1, 2, 2, 1],
        "last_year": ["Cancer", "Flu", "nonsense in a row that is dropped", None],
        "last_grade": [2.0, None, 1.0, 1.0],
    }
)
SCHEMA = Schema({"age": "number"}, "disease")
DATA = Dataset.from_frame(FRAME, SCHEMA, missing="drop")  # rows 0, 1, 3 of the source
(DISEASE,) = DATA.secrets(joint=False)
TWO = Dataset.from_frame(FRAME, Schema({"age": "number"}, ("disease", "grade")), missing="drop")
DISTRIBUTION = {"Flu": 0.7, "Cancer": 0.3}
TABLE = pd.DataFrame({"Cancer": [0.1, 0.2, 0.3, 0.4], "Flu": [0.9, 0.8, 0.7, 0.6]})  # one row per row of the source


def believed(declaration: Any, frame: pd.DataFrame | None = FRAME, base: Path = Path()) -> list[Any]:
    """What a prior says about each row of D."""
    prior = prior_named(declaration, base).for_data(DATA, [DISEASE], frame)
    return [None if weights is None else weights.tolist() for weights in _weights(prior, DATA, DISEASE)]


def _weights(prior: Prior, data: Dataset, secret: Secret) -> list[Floats | None]:
    return [prior.weights(row, secret) for row in range(data.size)]


def simplex(size: int) -> st.SearchStrategy[Floats]:
    counts = st.lists(st.integers(0, 9), min_size=size, max_size=size).filter(any)
    return counts.map(lambda numbers: np.array(numbers) / sum(numbers))


@given(simplex(3), simplex(3))
def test_a_prior_equal_to_the_class_frequencies_changes_nothing(answer: Floats, frequencies: Floats) -> None:
    answer = np.where(frequencies > 0, answer, 0)  # no model gives anything to a value that it never saw
    if answer.any():
        answer /= answer.sum()
        np.testing.assert_allclose(posterior(answer, frequencies, frequencies), answer, atol=1e-12)


@given(simplex(3), simplex(3), simplex(3))
def test_a_posterior_is_a_distribution_that_follows_bayes_rule(answer: Floats, rates: Floats, prior: Floats) -> None:
    updated = posterior(answer, rates, prior)
    assert updated.sum() == pytest.approx(1)
    expected = [p / f * w if f else 0 for p, f, w in zip(answer, rates, prior, strict=True)]
    wanted = np.array(expected) / sum(expected) if sum(expected) else prior
    np.testing.assert_allclose(updated, wanted, atol=1e-12)


def test_an_answer_that_contradicts_the_belief_leaves_the_belief() -> None:
    assert posterior(np.array([1.0, 0]), np.array([0.5, 0.5]), np.array([0, 1.0])).tolist() == [0, 1]
    assert posterior(np.array([0.5, 0.5]), np.zeros(2), np.array([0.2, 0.8])).tolist() == [0.2, 0.8]  # no rows


def test_coordinates_follow_the_labels_of_the_secret() -> None:
    assert DISEASE.labels == ("Flu", "Cancer")
    assert believed("fitted") == [None] * 3
    assert believed("uniform") == [[0.5, 0.5]] * 3
    assert believed({"Cancer": 0.3, "Flu": 0.7}) == [[0.7, 0.3]] * 3


def test_a_table_may_have_a_row_per_row_of_the_source_or_of_the_data() -> None:
    expected = [[0.9, 0.1], [0.8, 0.2], [0.6, 0.4]]
    assert believed(TABLE) == expected
    assert believed(TABLE.loc[[0, 1, 3]]) == expected
    assert believed(TABLE[["Flu", "Cancer"]].to_numpy()) == expected


def test_a_row_without_numbers_leaves_the_models_answer() -> None:
    assert believed(TABLE.where(TABLE["Flu"] != 0.8)) == [[0.9, 0.1], None, [0.6, 0.4]]


def test_a_file_is_read_relative_to_its_base(tmp_path: Path) -> None:
    (tmp_path / "prior.csv").write_text("Flu,Cancer\n0.9,0.1\n,\n0.7,0.3\n0.6,0.4\n", encoding="utf-8")
    assert believed({"file": "prior.csv"}, base=tmp_path) == [[0.9, 0.1], None, [0.6, 0.4]]


def test_a_believed_value_gets_its_confidence_and_the_others_share_the_rest() -> None:
    column = {"column": "last_year", "confidence": 0.8}
    wanted = pytest.approx([0.2, 0.8]), pytest.approx([0.8, 0.2]), None
    assert tuple(believed(column)) == wanted
    assert tuple(believed({"column": FRAME["last_year"], "confidence": 0.8})) == wanted
    assert tuple(believed({"column": ["Cancer", "Flu", ""], "confidence": 0.8})) == wanted
    three = Dataset.from_frame(pd.DataFrame({"age": [1, 2, 3], "s": list("abc")}), Schema({"age": "number"}, "s"))
    prior = prior_named({"column": ["b", "b", "a"], "confidence": 0.5}).for_data(three, three.secrets(False))
    weights = prior.weights(0, three.secrets(False)[0])
    assert weights is not None
    assert weights.tolist() == [0.25, 0.5, 0.25]


def test_a_column_of_the_schema_is_found_without_the_source() -> None:
    assert believed({"column": "disease", "confidence": 1}, frame=None) == [[1, 0], [0, 1], [1, 0]]
    assert prior_named({"column": "last_year", "confidence": 1}).columns == ("last_year",)


def test_whole_numbers_are_recognised_in_a_column_with_gaps() -> None:
    grade = TWO.secrets(joint=False)[1]
    prior = prior_named({"grade": {"column": "last_grade", "confidence": 1}})
    bound = prior.for_data(TWO, TWO.secrets(joint=False), FRAME)
    assert [None if one is None else one.tolist() for one in _weights(bound, TWO, grade)] == [[0, 1], None, [1, 0]]


def test_each_secret_has_its_own_prior_and_others_are_fitted() -> None:
    disease, grade = TWO.secrets(joint=False)
    prior = prior_named({"disease": DISTRIBUTION}).for_data(TWO, (disease, grade))
    weights = prior.weights(0, disease)
    assert weights is not None
    assert weights.tolist() == [0.7, 0.3]
    assert prior.weights(0, grade) is None


@pytest.mark.parametrize(
    ("declaration", "per_record"),
    [
        ("fitted", False),
        ("uniform", False),
        (DISTRIBUTION, False),
        (TABLE, True),
        ({"column": "last_year", "confidence": 0.8}, True),
        ({"disease": DISTRIBUTION}, False),
        ({"disease": TABLE}, True),
    ],
)
def test_a_prior_says_whether_equal_records_may_differ(declaration: Any, per_record: bool) -> None:
    assert prior_named(declaration).for_data(DATA, [DISEASE], FRAME).per_record is per_record


def test_a_prior_is_identified_by_what_it_says_about_the_data() -> None:
    declarations = ["fitted", "uniform", DISTRIBUTION, TABLE, TABLE[::-1], {"disease": "uniform"}]
    declarations += [{"column": "last_year", "confidence": share} for share in (0.7, 0.8)]
    specs = [specification(prior_named(one).for_data(DATA, [DISEASE], FRAME)) for one in declarations]
    assert unidentified(specs) == []
    assert len({str(spec) for spec in specs}) == len(specs)
    again = prior_named(TABLE.copy()).for_data(DATA, [DISEASE])
    assert specification(again) == specs[3]


def test_a_bound_prior_stays_as_it_is() -> None:
    bound = prior_named(DISTRIBUTION).for_data(DATA, [DISEASE])
    assert bound.for_data(DATA, [DISEASE]) is bound


def test_a_prior_that_needs_the_data_says_so() -> None:
    prior = prior_named(DISTRIBUTION)
    for use in (lambda: prior.weights(0, DISEASE), prior.spec):
        with pytest.raises(InputError, match=r"prior Flu 0.7, Cancer 0.3 .* call for_data first"):
            use()


class Own(FittedPrior):
    """A user's prior."""


def test_a_users_own_prior_is_loaded_or_taken_as_it_is() -> None:
    assert isinstance(prior_named(f"{__name__}:Own"), Own)
    assert believed(f"{__name__}:DISTRIBUTION") == [[0.7, 0.3]] * 3
    own = Own()
    assert prior_named(own) is own


@pytest.mark.parametrize(
    ("declaration", "message"),
    [
        ("unifrom", "prior 'unifrom' is not known; did you mean 'uniform'"),
        (7, "not a int"),
        ({}, "a prior without any entry"),
        ({"Flu": 0.7, "Canser": 0.3}, "'Canser' is not one of its values; did you mean 'Cancer'"),
        ({"Flu": 1}, "nothing is said about 'Cancer'; give 0"),
        ({"Flu": 0.7, "Cancer": 0.4}, "sum is 1.1"),
        ({"Flu": 1.5, "Cancer": -0.5}, "smallest is -0.5"),
        ({"Flu": float("nan"), "Cancer": 1}, "expected probabilities"),
        ({"disaese": "uniform"}, "no secret is called 'disaese'; did you mean 'disease'"),
        ({"disease": "unifrom"}, "prior of 'disease': prior 'unifrom' is not known"),
        ({"column": "last_yaer", "confidence": 0.5}, "has no column 'last_yaer'; did you mean 'last_year'"),
        ({"column": "last_year", "confidence": 1.5}, "confidence must be a probability"),
        ({"column": "last_year"}, "'confidence' is missing"),
        ({"column": "last_year", "confidence": 0.5, "rest": 1}, "unknown key 'rest'"),
        ({"column": ["Flu", "Flu"], "confidence": 0.5}, "2 rows; expected one for each of the 4 rows"),
        ({"column": ["Flu", "Fluu", "Flu"], "confidence": 0.5}, "row 1: 'Fluu' is not one of its values; did you mean"),
        ({"file": "nowhere.csv"}, "nowhere.csv: cannot be read"),
        (TABLE.assign(Flu=0.5), "row 0: expected probabilities"),
        (TABLE.assign(Other=0), "'Other' is not one of its values"),
        (TABLE.astype(object).assign(Flu="much"), "expected numbers"),
        (TABLE[:2], "2 rows; expected one for each of the 4 rows"),
        (np.full((4, 3), 1 / 3), "expected one column for each of 2 values"),
    ],
)
def test_a_prior_that_makes_no_sense_is_refused_with_the_reason(declaration: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        believed(declaration)


def test_beliefs_about_one_secret_do_not_fit_two() -> None:
    with pytest.raises(InputError, match="about one secret, and there are 2; give one for each: {'disease'"):
        prior_named(DISTRIBUTION).for_data(TWO, TWO.secrets(joint=False))
