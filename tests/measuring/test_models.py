"""Closed forms against scikit-learn, and what any model says when there is little to learn from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB
from sklearn.tree import DecisionTreeClassifier

from harness.measuring.features import Features, Floats
from harness.measuring.models import Bernoulli, Categorical, Classifier, Conditional, Gaussian, Model, model_named
from harness.measuring.models.interface import ROUNDED_OFF
from harness.vocabulary.errors import InputError
from harness.vocabulary.release import TrainingRows
from tests.measuring.encoded_releases import (
    COUNTS,
    LEVELS,
    SHARES,
    VALUES,
    close,
    column,
    fitted,
    one_column,
    releases,
    training,
)

CLOSED_FORMS: list[Model] = [Bernoulli(), Categorical(), Gaussian(), Conditional()]


def by_scikit_learn(estimator: Any, features: Features, rows: TrainingRows, target: Floats) -> Floats:
    aligned = np.zeros(rows.values)
    estimator.fit(features.matrix(), rows.labels, sample_weight=rows.weights)
    aligned[estimator.classes_] = estimator.predict_proba(target[None])[0]
    return aligned


@given(releases(LEVELS), st.sampled_from([1.0, 0.01, 3.5]), st.sampled_from([0.0, 0.3]))
@settings(max_examples=100)
def test_bernoulli_is_scikit_learns_to_twelve_digits(
    case: tuple[Features, TrainingRows, Floats], alpha: float, binarize: float
) -> None:
    features, rows, target = case
    assume(len(rows.labels))
    ours = Bernoulli(alpha, binarize).fit(features, rows, 0).predict(target)
    close(ours, by_scikit_learn(BernoulliNB(alpha=alpha, binarize=binarize), features, rows, target))


@given(releases(COUNTS), st.sampled_from([1.0, 0.01, 3.5]))
@settings(max_examples=100)
def test_categorical_is_scikit_learns_to_twelve_digits(
    case: tuple[Features, TrainingRows, Floats], alpha: float
) -> None:
    features, rows, target = case
    assume(len(rows.labels))
    highest = np.maximum(features.matrix().max(axis=0), 1)
    seen = np.minimum(target, highest)  # scikit-learn raises on a category that the release does not reach
    ours = Categorical(alpha).fit(features, rows, 0).predict(seen)
    close(ours, by_scikit_learn(CategoricalNB(alpha=alpha, min_categories=2), features, rows, seen))


@given(releases(SHARES), st.sampled_from([0.01, 0.1, 1.0]))
@settings(max_examples=100)
def test_gaussian_is_scikit_learns_to_twelve_digits(
    case: tuple[Features, TrainingRows, Floats], var_smoothing: float
) -> None:
    features, rows, target = case
    assume(len(rows.labels))
    smallest = var_smoothing * np.var(features.matrix(), axis=0).max()
    assume(smallest > 1e-9)  # at 0 scikit-learn divides 0 by 0
    ours = Gaussian(var_smoothing).fit(features, rows, 0).predict(target)
    exponent = len(target) / smallest  # Σ (x − μ)²/σ² at most, of which the sixteenth digit is rounded
    close(
        ours, by_scikit_learn(GaussianNB(var_smoothing=var_smoothing), features, rows, target), 1e-12 + 1e-15 * exponent
    )


def test_gaussian_with_the_usual_smoothing_is_scikit_learns() -> None:
    rng = np.random.default_rng(0)
    release = one_column(rng.normal(size=(400, 6)), rng.integers(0, VALUES, 400), rng.integers(1, 5, 400))
    for target in rng.normal(size=(20, 6)):
        close(fitted(Gaussian(), release).predict(target), by_scikit_learn(GaussianNB(), *release, target))


def test_gaussian_variances_survive_a_large_offset() -> None:
    rng = np.random.default_rng(1)
    shares = rng.integers(0, 1024, (200, 2)) / 1024
    labels = rng.integers(0, 2, 200)
    near, far = one_column(shares, labels), one_column(shares + 2.0**24, labels)  # exact in floating point
    target = np.array([0.25, 0.5])
    close(fitted(Gaussian(), far).predict(target + 2.0**24), fitted(Gaussian(), near).predict(target), 1e-7)


@pytest.mark.parametrize("constant", [0.1, 0.37, 1 / 3])
def test_gaussian_gives_the_class_frequencies_where_all_rows_are_alike(constant: float) -> None:
    release = Features((column([[constant]], [0] * 7),)), training([0, 0, 0, 0, 1, 1, 2], [0.1] * 7)
    trained = fitted(Gaussian(), release)
    close(trained.predict(np.array([0.9])), np.array([4, 2, 1, 0]) / 7)
    assert not trained.covers(np.array([0.9]))


def test_categorical_counts_an_unseen_category_of_the_target_as_no_row() -> None:
    release = one_column([[0], [1], [1]], [0, 0, 1])
    predicted = fitted(Categorical(), release).predict(np.array([7.0]))
    weights = np.array([2 * (1 / 4), 1 * (1 / 3), 0, 0])  # N_s · α / (N_s + 2α)
    close(predicted, weights / weights.sum())


@pytest.mark.parametrize("feature", [0.5, -1, np.inf, np.nan])
def test_categorical_refuses_features_that_are_no_categories(feature: float) -> None:
    with pytest.raises(InputError, match="model categorical: a feature is .* expected categories"):
        fitted(Categorical(), one_column([[0], [feature]], [0, 1]))
    with pytest.raises(InputError, match="expected categories"):
        fitted(Categorical(), one_column([[0], [1]], [0, 1])).predict(np.array([feature]))


def test_a_cell_that_no_row_holds_changes_nothing() -> None:
    labels = [0, 1, 1]
    plain = Features((column([[0], [1]], [0, 1, 1]),)), training(labels)
    padded = Features((column([[9], [0], [1], [8]], [1, 2, 2]),)), training(labels)
    for model in CLOSED_FORMS:
        for target in (0.0, 1.0):
            close(fitted(model, padded).predict(np.array([target])), fitted(model, plain).predict(np.array([target])))


@given(releases(COUNTS), st.sampled_from(CLOSED_FORMS))
def test_every_prediction_is_a_point_of_the_simplex_without_unseen_values(
    case: tuple[Features, TrainingRows, Floats], model: Model
) -> None:
    features, rows, target = case
    predicted = model.fit(features, rows, 0).predict(target)
    assert predicted.min() >= 0
    # Gaussian naive Bayes shares scikit-learn's rounding, whose sums miss 1 by 10⁻⁶ where variances are 10⁻⁹.
    assert predicted.sum() == pytest.approx(1, abs=ROUNDED_OFF if isinstance(model, Gaussian) else 1e-12)
    if len(rows.labels):
        assert not predicted[rows.class_weights == 0].any()


ESTIMATORS = (DecisionTreeClassifier(random_state=0), LogisticRegression())  # the second needs two classes
EVERY_MODEL: list[Model] = [*CLOSED_FORMS, *map(Classifier.of, ESTIMATORS)]


@pytest.mark.parametrize("model", EVERY_MODEL, ids=lambda model: model.name)
def test_without_rows_every_value_is_equally_likely_and_nobody_is_covered(model: Model) -> None:
    trained = model.fit(Features((column(np.zeros((1, 2)), []),)), training([]), 0)
    close(trained.predict(np.zeros(2)), np.full(VALUES, 1 / VALUES))
    assert not trained.covers(np.zeros(2))


@pytest.mark.parametrize("model", EVERY_MODEL, ids=lambda model: model.name)
def test_the_only_value_of_a_release_is_certain(model: Model) -> None:
    trained = fitted(model, one_column([[0], [1]], [2, 2]))
    assert trained.predict(np.array([1.0])).tolist() == [0, 0, 1, 0]
    assert trained.covers(np.array([1.0]))


@pytest.mark.parametrize("model", [Bernoulli(), Categorical(), Conditional(), Classifier.of(BernoulliNB())])
def test_a_weight_counts_as_so_many_rows(model: Model) -> None:
    cells = [[0, 1], [1, 1], [1, 0]]
    weighted = Features((column(cells, [0, 1, 2]),)), training([0, 1, 1], [2, 1, 3])
    repeated = Features((column(cells, [0, 0, 1, 2, 2, 2]),)), training([0, 0, 1, 1, 1, 1])
    target = np.array([1.0, 1.0])
    close(fitted(model, weighted).predict(target), fitted(model, repeated).predict(target))


def test_conditional_counts_only_rows_whose_features_all_equal_the_targets() -> None:
    features = Features((column([[0, 1], [1, 1]], [0, 1, 1, 1]), column([[0], [1]], [1, 1, 1, 0])))
    trained = fitted(Conditional(), (features, training([0, 1, 2, 3])))
    assert trained.predict(np.array([1.0, 1.0, 1.0])).tolist() == [0, 0.5, 0.5, 0]
    assert trained.covers(np.array([1.0, 1.0, 1.0]))


def test_conditional_gives_the_class_frequencies_where_no_row_equals_the_target() -> None:
    trained = fitted(Conditional(), one_column([[0], [1]], [0, 3], [1, 3]))
    assert trained.predict(np.array([2.0])).tolist() == [0.25, 0, 0, 0.75]
    assert not trained.covers(np.array([2.0]))


def test_without_smoothing_nan_reaches_the_caller_as_it_does_with_scikit_learn() -> None:
    release = one_column([[0, 1], [1, 0]], [0, 1])
    assert np.isnan(fitted(Bernoulli(alpha=0), release).predict(np.array([1.0, 1.0]))).any()


@pytest.mark.parametrize("bad", [-1, float("inf"), float("nan"), "1", True])
def test_a_smoothing_below_zero_is_refused(bad: Any) -> None:
    for kind in ("bernoulli", "categorical"):
        with pytest.raises(InputError, match=f"model {kind}: alpha must be a number of at least 0"):
            model_named({"name": kind, "alpha": bad})
    with pytest.raises(InputError, match="var_smoothing must be a number of at least 0"):
        model_named({"name": "gaussian", "var_smoothing": bad})


@pytest.mark.parametrize("model", [*CLOSED_FORMS, *map(model_named, ("tree", "logistic", "neighbours"))])
def test_without_any_feature_every_model_answers_with_the_frequencies(model: Model) -> None:
    """`binary-hot` on numbers that lie less than 1 apart, for example, has no bit."""
    answer = model.fit(*one_column(np.zeros((4, 0)), [0, 1, 1, 1]), 0)
    assert answer.predict(np.zeros(0))[:2].tolist() == [0.25, 0.75]
    assert answer.covers(np.zeros(0))
