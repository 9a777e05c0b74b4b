"""Equal rows of a release as one row with a weight: the same model as from every row, and sooner."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from sklearn.tree import DecisionTreeClassifier

from harness.measuring.features import Features, Floats
from harness.measuring.models import Classifier
from harness.measuring.models.packing import pack_rows
from harness.vocabulary.release import TrainingRows
from tests.measuring.encoded_releases import COUNTS, LEVELS, VALUES, close, column, releases, training

Release = tuple[Features, TrainingRows]


def in_order(release: Release, order: Any) -> Release:
    features, rows = release
    columns = tuple(replace(one, codes=one.codes[order]) for one in features.columns)
    weights = None if rows.weights is None else rows.weights[order]
    return Features(columns), TrainingRows((), rows.labels[order], rows.values, weights)


def repeated_rows(seed: int = 1, rows: int = 300) -> Release:
    """Rows of few distinct cells, whose values lean on them."""
    rng = np.random.default_rng(seed)
    columns = tuple(column(rng.integers(0, 2, (4, 3)), rng.integers(0, 4, rows)) for _ in range(2))
    labels = (columns[0].codes + rng.integers(0, 3, rows)) % VALUES
    return Features(columns), training(labels)


@given(releases(LEVELS))
def test_every_row_is_counted_once(case: tuple[Features, TrainingRows, Floats]) -> None:
    features, rows, _ = case
    packed = pack_rows(features, rows)
    weights = np.ones(len(rows.labels)) if rows.weights is None else rows.weights
    expected: Counter[tuple[Any, ...]] = Counter()
    for row, label, weight in zip(features.matrix().tolist(), rows.labels.tolist(), weights.tolist(), strict=True):
        expected[(*row, label)] += weight
    found = [(*row, label) for row, label in zip(packed.matrix.tolist(), packed.labels.tolist(), strict=True)]
    assert len(set(found)) == len(found)
    assert dict(zip(found, packed.weights.tolist(), strict=True)) == pytest.approx(dict(expected))


@given(releases(LEVELS), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(case: tuple[Features, TrainingRows, Floats], random: Any) -> None:
    features, rows, _ = case
    unweighted = replace(rows, weights=None)  # sums of other weights differ in the last bit
    order = list(range(len(rows.labels)))
    random.shuffle(order)
    one, other = pack_rows(features, unweighted), pack_rows(*in_order((features, unweighted), order))
    for name in ("matrix", "labels", "weights"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_more_columns_than_one_number_can_tell_apart_are_packed_too() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 50, (2, 20))[rng.integers(0, 2, 200)]  # two distinct rows of 20 columns, 50^20 > 2^64
    columns = tuple(column(np.arange(50.0)[:, None], codes[:, place]) for place in range(20))
    packed = pack_rows(Features(columns), training(np.zeros(200)))
    assert {tuple(row) for row in packed.matrix} == {tuple(map(float, row)) for row in codes}
    assert packed.weights.sum() == 200


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(tol=1e-9, max_iter=5_000),
        LogisticRegression(solver="newton-cg", C=0.3, tol=1e-9, max_iter=5_000),
        LogisticRegression(class_weight={0: 3.0, 1: 1.0, 2: 1.0, 3: 0.5}, tol=1e-9, max_iter=5_000),
        DecisionTreeClassifier(random_state=0),
        DecisionTreeClassifier(criterion="entropy", max_depth=2, random_state=0),
        BernoulliNB(),
        MultinomialNB(alpha=0.1),
        ComplementNB(),
        # These count rows, or draw them, and are trained on every row.
        LogisticRegression(class_weight="balanced", tol=1e-9, max_iter=5_000),
        DecisionTreeClassifier(min_samples_leaf=40, random_state=0),
        DecisionTreeClassifier(class_weight="balanced", max_depth=1, random_state=0),
    ],
    ids=repr,
)
def test_a_classifier_answers_as_if_trained_on_every_row(estimator: Any) -> None:
    features, rows = repeated_rows()
    model = Classifier.of(estimator).fit(features, rows, 0)
    naive = estimator.fit(features.matrix(), rows.labels)
    for target in features.matrix()[:10]:
        close(model.predict(target), naive.predict_proba(target[None])[0], 1e-6)


@given(releases(COUNTS))
def test_weights_of_a_release_count_as_they_are(case: tuple[Features, TrainingRows, Floats]) -> None:
    features, rows, target = case
    if rows.weights is None or len(np.unique(rows.labels)) < 2:
        return
    naive = MultinomialNB().fit(features.matrix(), rows.labels, rows.weights)
    answer = Classifier.of(MultinomialNB()).fit(features, rows, 0).predict(target)
    close(answer[naive.classes_], naive.predict_proba(target[None])[0], 1e-9)
