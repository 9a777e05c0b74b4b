"""Encoder, model and prior together: releases as they are read, targets by their raw values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.naive_bayes import BernoulliNB
from sklearn.neighbors import KNeighborsClassifier

from harness.measuring.adversary import Adversary, adversary_from, panel_named, with_unique_names
from harness.measuring.features import Features, Floats, Target
from harness.measuring.models import Bernoulli, PredictionError
from harness.vocabulary.dataset import Dataset, Secret
from harness.vocabulary.errors import InputError
from harness.vocabulary.release import Reader, TrainingRows
from harness.vocabulary.schema import Schema
from harness.vocabulary.table import Table

CELLS = {"age": ["*", "[10, 20]", "[15, 40]", "< 30", ">= 30"], "sex": ["M", "F", "{M,F}"], "job": ["a", "b", "c"]}
PEOPLE = Dataset.from_frame(
    pd.DataFrame({"age": [10, 20, 30, 40, 50], "sex": list("MFMFM"), "job": list("abcab")}),
    Schema({"age": "number", "sex": "category"}, "job"),
)
(JOB,) = PEOPLE.secrets(joint=False)


@st.composite
def frames(draw: st.DrawFn) -> pd.DataFrame:
    """Random releases, some of which lack a sensitive value, cover nobody, or hold no row; with and without weights."""
    rows = draw(st.integers(0, 12))
    columns = {
        name: draw(st.lists(st.sampled_from(cells), min_size=rows, max_size=rows)) for name, cells in CELLS.items()
    }
    frame = pd.DataFrame(columns, columns=list(CELLS), dtype=object)
    if draw(st.booleans()):
        frame["count"] = draw(st.lists(st.integers(-1, 4), min_size=rows, max_size=rows))
    return frame


def read(frame: pd.DataFrame, data: Dataset = PEOPLE) -> TrainingRows:
    return Reader(data).read(Table.from_frame(frame)).for_secret(data.secrets(joint=False)[0])


def rows_of(*rows: list[str]) -> TrainingRows:
    return read(pd.DataFrame(list(rows), columns=list(CELLS)))


def predict(adversary: Adversary, rows: TrainingRows, index: int, secret: Secret = JOB, seed: int = 0) -> Floats:
    raws = PEOPLE.record(index).raws
    return adversary.train(rows, raws, seed).predict(raws, index, secret).probabilities


def by_scikit_learn(rows: TrainingRows, raws: Target, **parameters: Any) -> Floats:
    bits = [
        column.lexicon.covering(raw)[column.ids][column.codes] for column, raw in zip(rows.quasi, raws, strict=True)
    ]
    model = BernoulliNB(**parameters).fit(np.array(bits).T, rows.labels, sample_weight=rows.weights)
    aligned = np.zeros(rows.values)
    aligned[model.classes_] = model.predict_proba(np.ones((1, len(raws))))[0]
    return aligned


@given(frames(), st.integers(0, 4))
@settings(max_examples=100)
def test_the_default_is_bernoulli_naive_bayes_on_the_bits_that_cover_the_target(
    frame: pd.DataFrame, index: int
) -> None:
    rows = read(frame)
    predicted = predict(adversary_from({}), rows, index)
    if len(rows.labels) == 0:
        np.testing.assert_allclose(predicted, 1 / 3)
    else:
        np.testing.assert_allclose(predicted, by_scikit_learn(rows, PEOPLE.record(index).raws), rtol=0, atol=1e-12)


@given(frames(), st.integers(0, 4))
def test_a_uniform_prior_is_scikit_learns_without_a_fitted_one(frame: pd.DataFrame, index: int) -> None:
    rows = read(frame)
    predicted = predict(adversary_from({"prior": "uniform"}), rows, index)
    if len(rows.labels):
        expected = by_scikit_learn(rows, PEOPLE.record(index).raws, fit_prior=False)
        np.testing.assert_allclose(predicted, expected, rtol=0, atol=1e-12)


def test_a_fully_generalised_release_shows_nothing_but_the_class_frequencies() -> None:
    """SPEC (Prior): N_s · ((N_s + 1)/(N_s + 2))^columns when fitted, without N_s under a uniform prior."""
    rows = rows_of(*[["*", "*", job] for job in "aaaabbc"])
    counts = np.array([4, 2, 1])
    smoothing = ((counts + 1) / (counts + 2)) ** 2
    for prior, weights in (("fitted", counts * smoothing), ("uniform", smoothing)):
        predicted = predict(adversary_from({"prior": prior}), rows, 0)
        np.testing.assert_allclose(predicted, weights / weights.sum(), atol=1e-12)


def test_conditional_counts_the_rows_that_cover_the_target() -> None:
    adversary = adversary_from({"model": "conditional"})
    rows = rows_of(["[10, 20]", "M", "a"], ["[10, 20]", "{M,F}", "b"], ["[15, 40]", "F", "c"])
    assert predict(adversary, rows, 0).tolist() == [0.5, 0.5, 0]
    nobody = adversary.train(rows, PEOPLE.record(4).raws, 0).predict(PEOPLE.record(4).raws, 4, JOB)
    assert nobody.probabilities.tolist() == pytest.approx([1 / 3] * 3)
    assert not nobody.covered


def test_a_target_independent_adversary_is_trained_once_for_every_target() -> None:
    rows = read(pd.DataFrame([["[10, 20]", "M", "a"], [">= 30", "F", "b"], ["*", "M", "c"]] * 3, columns=list(CELLS)))
    for adversary in panel_named("standard"):
        if adversary.depends_on_target:
            continue
        for_all = adversary.train(rows, None, seed=1)
        for index in range(5):
            once = for_all.predict(PEOPLE.record(index).raws, index, JOB).probabilities
            assert np.array_equal(once, predict(adversary, rows, index, seed=1)), adversary.name


def test_the_standard_panel_predicts_with_every_family() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame([[rng.choice(cells) for cells in CELLS.values()] for _ in range(40)], columns=list(CELLS))
    panel = panel_named("standard")
    assert [adversary.name for adversary in panel] == [
        "bernoulli on tf-tf",
        "categorical on quantiles-hot",
        "gaussian on scaling-hot",
        "tree on bounds-hot",
        "logistic on bounds-hot",
        "neighbours on bounds-hot",
        "forest on bounds-hot",
        "mlp on scaling-hot",
        "conditional on tf-tf",
    ]
    for adversary in panel:
        predicted = predict(adversary.for_data(PEOPLE, [JOB]), read(frame), 1)
        assert predicted.sum() == pytest.approx(1)
    assert [adversary.name.split()[0] for adversary in panel if adversary.randomized] == ["forest", "mlp"]


def test_a_prior_about_single_rows_reads_the_source() -> None:
    source = PEOPLE.table.to_frame().assign(last_year=list("bbbbb"))
    declared = adversary_from({"prior": {"column": "last_year", "confidence": 1}})
    adversary = declared.for_data(PEOPLE, [JOB], source)
    rows = rows_of(["*", "M", "a"], ["*", "F", "b"], ["*", "M", "b"])
    assert predict(adversary, rows, 0).tolist() == [0, 1, 0]
    assert declared.name == "bernoulli on tf-tf, prior last_year with confidence 1"


def test_an_error_of_a_prior_names_the_adversary() -> None:
    with pytest.raises(InputError, match="adversary 'spy': prior of 'job': 'd' is not one of its values"):
        adversary_from({"name": "spy", "prior": {"a": 0.5, "d": 0.5}}).for_data(PEOPLE, [JOB])


class Broken:
    """A user's model whose answer is no distribution."""

    name = "broken"
    randomized = False

    def fit(self, features: Features, rows: TrainingRows, seed: int) -> Broken:
        return self

    def predict(self, target: Floats) -> Floats:
        return np.array([np.nan, 0.5, 0.5])

    def covers(self, target: Floats) -> bool:
        return True

    def spec(self) -> dict[str, Any]:
        return {}


@pytest.mark.parametrize("model", [Broken(), {"name": "bernoulli", "alpha": 0}])
def test_any_model_without_a_usable_answer_raises_a_prediction_error(model: Any) -> None:
    rows = rows_of(["< 30", "F", "a"], [">= 30", "M", "b"])
    with pytest.raises(PredictionError, match="no probabilities"):
        predict(adversary_from({"model": model}), rows, 0)


class OwnEncoder:
    """A user's encoder, which only looks at the second column."""

    name = "second"
    depends_on_target = False

    def prepare(self, data: Dataset) -> Dataset:
        return data

    def for_data(self, data: Dataset) -> OwnEncoder:
        return self

    def encode(self, rows: TrainingRows, target: Target | None) -> Features:
        column = adversary_from({"encoder": "bounds-hot"}).encoder.encode(rows, target).columns[1]
        return _SecondOnly((column,))

    def spec(self) -> dict[str, Any]:
        return {}


class _SecondOnly(Features):
    def target(self, raws: Target) -> Floats:
        return self.columns[0].target(raws[1])


def test_an_encoder_may_leave_columns_out() -> None:
    adversary = adversary_from({"encoder": f"{__name__}:OwnEncoder", "name": "own"})
    rows = rows_of(["*", "M", "a"], ["< 30", "M", "a"], ["*", "F", "b"])  # as many cells in the first column
    weights = np.array([2 * (3 / 4) ** 2, 1 * (1 / 3) ** 2])  # N_s · Π over the features M, F of P(feature | s)
    np.testing.assert_allclose(predict(adversary, rows, 0), [*(weights / weights.sum()), 0], atol=1e-12)


def test_parts_are_names_tables_or_objects() -> None:
    adversary = adversary_from(
        {"encoder": {"name": "quantiles-hot", "bins": 3}, "model": KNeighborsClassifier(1), "prior": "uniform"}
    )
    assert adversary.name == "KNeighborsClassifier(n_neighbors=1) on quantiles-hot, prior uniform"
    assert not adversary.depends_on_target
    assert adversary_from(adversary) is adversary
    assert adversary_from({"encoder": adversary.encoder, "model": Bernoulli()}).encoder is adversary.encoder


def test_every_parameter_is_part_of_the_specification() -> None:
    specs = [
        adversary_from(declaration).spec()
        for declaration in (
            {},
            {"name": "other"},
            {"model": {"name": "bernoulli", "alpha": 0.5}, "name": "bernoulli on tf-tf"},
            {"encoder": "bounds-hot", "name": "bernoulli on tf-tf"},
            {"prior": "uniform", "name": "bernoulli on tf-tf"},
        )
    ]
    assert all(specs[i] != specs[j] for i in range(5) for j in range(i))
    assert adversary_from({}).spec() == specs[0]


def test_an_adversary_whose_name_is_taken_is_numbered() -> None:
    plain = adversary_from({"name": "a"})
    names = [replace(plain, name=name) for name in ("a", "a", "a (2)", "a", "b")]
    assert [adversary.name for adversary in with_unique_names(names)] == ["a", "a (3)", "a (2)", "a (4)", "b"]


@given(st.lists(st.sampled_from(["a", "a (2)", "a (2) (2)", "b"])))
def test_names_are_unique_and_the_first_keeps_its_own(names: list[str]) -> None:
    given_names = [replace(adversary_from({}), name=name) for name in names]
    unique = [adversary.name for adversary in with_unique_names(given_names)]
    assert len(set(unique)) == len(names)
    assert set(names) <= set(unique)


@pytest.mark.parametrize(
    ("declaration", "message"),
    [
        ("bernoulli", "an adversary is a table of encoder, model, prior, name"),
        ({"modle": "tree"}, "unknown key 'modle'; did you mean 'model'"),
        ({"name": 7}, "its name must be a text"),
        ({"encoder": "tf-ft"}, "did you mean 'tf-tf'"),
        ({"encoder": object()}, "has no name; expected an encoder with"),
        ({"encoder": OwnEncoder}, "is a class; expected an encoder"),
        ({"model": "bernouli"}, "did you mean 'bernoulli'"),
    ],
)
def test_an_adversary_that_makes_no_sense_is_refused_with_a_hint(declaration: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        adversary_from(declaration)


def test_an_unknown_panel_is_refused_with_a_hint() -> None:
    with pytest.raises(InputError, match="panel 'standart' is not known; did you mean 'standard'"):
        panel_named("standart")
