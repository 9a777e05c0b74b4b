"""Closed forms against scikit-learn, and what a model says when there is little to learn from."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import BernoulliNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from harness.measuring.adversary import Bernoulli, Classifier, Conditional, Inference, model_named
from harness.measuring.encoding import encoder_named, tf
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError
from harness.vocabulary.release import Microdata, Reader
from harness.vocabulary.schema import Schema
from harness.vocabulary.table import Table

CELLS = {"age": ["*", "[10, 20]", "[15, 40]", "< 30", ">= 30"], "sex": ["M", "F", "{M,F}"], "job": ["a", "b", "c"]}


def people() -> Dataset:
    frame = pd.DataFrame({"age": [10, 20, 30, 40, 50], "sex": list("MFMFM"), "job": list("abcab")})
    return Dataset.from_frame(frame, Schema({"age": "number", "sex": "category"}, "job"))


@st.composite
def releases(draw):
    """Random releases, some of which lack a sensitive value, cover nobody, or hold no row; with and without weights."""
    rows = draw(st.integers(0, 12))
    columns = {
        name: draw(st.lists(st.sampled_from(cells), min_size=rows, max_size=rows)) for name, cells in CELLS.items()
    }
    frame = pd.DataFrame(columns, columns=list(CELLS), dtype=object)
    if draw(st.booleans()):
        frame["count"] = draw(st.lists(st.integers(-1, 4), min_size=rows, max_size=rows))
    return frame


def read(frame: pd.DataFrame) -> tuple[Reader, Microdata]:
    reader = Reader(people())
    return reader, reader.read(Table.from_frame(frame))


def by_sklearn(reader, release, target) -> np.ndarray:
    aligned = np.zeros(release.values)
    model = BernoulliNB().fit(tf(reader, release, target).matrix(), release.sensitive, sample_weight=release.weights)
    aligned[model.classes_] = model.predict_proba(np.ones((1, 2)))[0]
    return aligned


@given(releases(), st.integers(0, 4))
@settings(max_examples=300)
def test_the_closed_form_is_scikit_learns_bernoulli_to_twelve_digits(frame, index):
    reader, release = read(frame)
    target = reader.data.record(index)
    ours = Bernoulli().predict(tf(reader, release, target), seed=0)
    if len(release.sensitive) == 0:
        np.testing.assert_allclose(ours, 1 / 3)
    else:
        np.testing.assert_allclose(ours, by_sklearn(reader, release, target), rtol=0, atol=1e-12)


@given(releases(), st.integers(0, 4))
def test_a_classifier_by_name_predicts_as_it_does_by_hand(frame, index):
    reader, release = read(frame)
    target = reader.data.record(index)
    by_name = model_named("sklearn:sklearn.naive_bayes.BernoulliNB").predict(tf(reader, release, target), seed=0)
    np.testing.assert_allclose(by_name, Bernoulli().predict(tf(reader, release, target), seed=0), atol=1e-12)


@given(releases(), st.integers(0, 4), st.sampled_from([Bernoulli(), Conditional()]))
def test_every_prediction_is_a_point_of_the_simplex(frame, index, model):
    reader, release = read(frame)
    predicted = model.predict(tf(reader, release, reader.data.record(index)), seed=0)
    assert predicted.min() >= 0
    assert predicted.sum() == pytest.approx(1)


def test_the_papers_tf_example_encodes_as_printed():
    frame = pd.DataFrame({"age": [16, 17], "sex": ["Male", "Female"], "country": ["France", "Italy"], "s": ["x", "y"]})
    frame.loc[2] = [20, "Male", "Germany", "x"]
    quasi = {"age": "number", "sex": "category", "country": "category"}
    reader = Reader(Dataset.from_frame(frame, Schema(quasi, "s")))
    rows = [["[15,25]", "Female", "{France, Germany}", "x"], ["[17,20]", "Male", "{Italy, Germany}", "y"]]
    release = reader.read(Table.from_frame(pd.DataFrame(rows, columns=frame.columns)))
    encoded = tf(reader, release, reader.data.record(0))
    assert encoded.matrix().astype(int).tolist() == [[1, 0, 1], [0, 1, 0]]


def test_conditional_counts_only_rows_that_cover_the_target():
    rows = [["[10, 20]", "M", "a"], ["[10, 20]", "{M,F}", "b"], ["[15, 40]", "F", "c"]]
    reader, release = read(pd.DataFrame(rows, columns=list(CELLS)))
    predicted = Conditional().predict(tf(reader, release, reader.data.record(0)), seed=0)
    assert predicted.tolist() == [0.5, 0.5, 0]


def test_conditional_falls_back_on_the_whole_release_when_no_row_covers_the_target():
    reader, release = read(pd.DataFrame([["[10, 20]", "F", "a"], ["[10, 20]", "F", "b"]], columns=list(CELLS)))
    predicted = Conditional().predict(tf(reader, release, reader.data.record(4)), seed=0)
    assert predicted.tolist() == [0.5, 0.5, 0]


def test_weights_count_as_so_many_rows():
    once = pd.DataFrame([["*", "M", "a"], ["*", "F", "b"], ["*", "M", "b"]], columns=list(CELLS))
    weighted = once.assign(count=[2, 1, 3])
    repeated = once.loc[[0, 0, 1, 2, 2, 2]]
    for model in (Bernoulli(), Conditional(), Classifier.of(BernoulliNB())):
        predictions = []
        for frame in (weighted, repeated):
            reader, release = read(frame)
            predictions.append(model.predict(tf(reader, release, reader.data.record(0)), seed=0))
        np.testing.assert_allclose(*predictions, atol=1e-12)


def test_a_random_classifier_is_drawn_by_its_seed_alone():
    rng = np.random.default_rng(0)
    rows = [[rng.choice(cells) for cells in CELLS.values()] for _ in range(60)]
    reader, release = read(pd.DataFrame(rows, columns=list(CELLS)))
    inference = Inference.named(model=RandomForestClassifier(n_estimators=3, max_features=1))
    assert inference.randomized
    target = reader.data.record(1)
    first, again, other = (inference.samples([release], target, reader, seeds) for seeds in ([1, 2], [1, 2], [3, 4]))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_the_randomness_of_a_part_is_seeded_too():
    pipeline = make_pipeline(FunctionTransformer(), RandomForestClassifier(3, max_features=1))
    assert Classifier.of(pipeline).seeds == ["randomforestclassifier__random_state"]
    rng = np.random.default_rng(0)
    reader, release = read(
        pd.DataFrame([[rng.choice(cells) for cells in CELLS.values()] for _ in range(60)], columns=list(CELLS))
    )
    encoded = tf(reader, release, reader.data.record(1))
    assert np.array_equal(*(Classifier.of(pipeline).predict(encoded, seed=5) for _ in range(2)))


def test_a_model_without_probabilities_is_refused_with_the_reason():
    with pytest.raises(InputError, match="LinearSVC cannot give probabilities"):
        model_named("sklearn:sklearn.svm.LinearSVC")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("bernouli", "did you mean 'bernoulli'"),
        ("sklearn:sklearn.tree.DecisionTree", "cannot be loaded"),
        ("sklearn:nowhere.Model", "cannot be loaded"),
        ("sklearn:", "cannot be loaded"),
    ],
)
def test_an_unknown_model_is_refused_with_a_hint(name, hint):
    with pytest.raises(InputError, match=hint):
        model_named(name)


def test_an_unknown_encoder_is_refused_with_a_hint():
    with pytest.raises(InputError, match="encoder 'tff' is not known; did you mean 'tf'"):
        encoder_named("tff")
