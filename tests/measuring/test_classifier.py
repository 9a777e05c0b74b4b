"""Classifiers of scikit-learn's kind as models, and models by name."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from harness.measuring.features import Features, Floats
from harness.measuring.models import Bernoulli, Classifier, Fitted, PredictionError, model_named
from harness.measuring.specification import specification
from harness.vocabulary.errors import InputError
from harness.vocabulary.release import TrainingRows
from tests.measuring.encoded_releases import LEVELS, VALUES, close, fitted, one_column, releases


class Own(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A user's estimator that answers with whatever it was given."""

    def __init__(self, answer: Any = (0.5, 0.5), failing: str = "") -> None:
        self.answer = answer
        self.failing = failing

    def fit(self, X: Floats, y: npt.NDArray[Any]) -> Own:
        self.classes_ = np.unique(y)
        if self.failing == "fit":
            raise ZeroDivisionError("nothing to divide")
        return self

    def predict_proba(self, X: Floats) -> Any:
        warnings.warn("look out", UserWarning, stacklevel=2)
        if self.failing == "predict_proba":
            raise KeyError("gone")
        return np.array([self.answer])


class Parallel(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """An estimator whose answer depends on how many threads it may use."""

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs

    def fit(self, X: Floats, y: npt.NDArray[Any]) -> Parallel:
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X: Floats) -> Floats:
        return np.array([[1.0, 0.0] if self.n_jobs in (None, 1) else [0.0, 1.0]])


def many_rows(seed: int = 0, rows: int = 80) -> tuple[Features, TrainingRows]:
    rng = np.random.default_rng(seed)
    return one_column(rng.integers(0, 3, (rows, 4)).astype(float), rng.integers(0, VALUES, rows))


TARGET = np.array([0.0, 1.0, 2.0, 1.0])


@given(releases(LEVELS))
def test_a_classifier_by_name_predicts_as_the_closed_form(case: tuple[Features, TrainingRows, Floats]) -> None:
    features, rows, target = case
    by_name = model_named("sklearn:sklearn.naive_bayes.BernoulliNB").fit(features, rows, 0).predict(target)
    close(by_name, Bernoulli().fit(features, rows, 0).predict(target))


def test_a_random_classifier_is_drawn_by_its_seed_alone() -> None:
    model = Classifier.of(RandomForestClassifier(n_estimators=3, max_features=1))
    assert model.randomized
    first, again, other = (fitted(model, many_rows(), seed).predict(TARGET) for seed in (1, 1, 2**32 + 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_the_randomness_of_a_part_is_seeded_too() -> None:
    model = Classifier.of(make_pipeline(FunctionTransformer(), RandomForestClassifier(3, max_features=1)))
    assert model.seeds == ("randomforestclassifier__random_state",)
    first, again = (fitted(model, many_rows(), 5).predict(TARGET) for _ in range(2))
    assert np.array_equal(first, again)


@pytest.mark.parametrize(
    ("estimator", "randomized"),
    [
        (LogisticRegression(), False),
        (LogisticRegression(solver="newton-cholesky"), False),
        (LogisticRegression(solver="saga"), True),
        (KNeighborsClassifier(), False),
        (DecisionTreeClassifier(), True),
        (DecisionTreeClassifier(random_state=0), False),
        (CalibratedClassifierCV(LinearSVC()), True),
        (CalibratedClassifierCV(LinearSVC(dual=False)), False),
        (CalibratedClassifierCV(SVC()), False),
        (make_pipeline(FunctionTransformer(), LogisticRegression()), False),
    ],
)
def test_a_classifier_is_random_only_if_it_uses_its_random_state(estimator: Any, randomized: bool) -> None:
    model = Classifier.of(estimator)
    assert model.randomized is randomized
    if not randomized:
        first, other = (fitted(model, many_rows(), seed).predict(TARGET) for seed in (1, 2))
        assert np.array_equal(first, other)


def test_a_classifier_is_trained_on_a_copy() -> None:
    estimator = RandomForestClassifier(n_estimators=2)
    fitted(Classifier.of(estimator), many_rows()).predict(TARGET)
    assert not hasattr(estimator, "classes_")
    assert estimator.random_state is None


def test_an_estimator_works_with_one_thread() -> None:
    predicted = fitted(Classifier.of(Parallel(n_jobs=-1)), one_column([[0], [1]], [0, 1])).predict(np.ones(1))
    assert predicted.tolist() == [1, 0, 0, 0]


def test_the_number_of_jobs_changes_no_result_and_no_identity() -> None:
    one, two = (Classifier.of(RandomForestClassifier(20, n_jobs=jobs)) for jobs in (None, 2))
    by_one, by_two = (fitted(model, many_rows(), 3).predict(TARGET) for model in (one, two))
    assert np.array_equal(by_one, by_two)
    assert specification(one) == specification(two)


def test_weights_reach_the_last_step_of_a_pipeline() -> None:
    weighted = one_column([[0], [1], [1]], [0, 0, 1], [1, 1, 5])
    piped = make_pipeline(FunctionTransformer(), BernoulliNB())
    close(
        fitted(Classifier.of(piped), weighted).predict(np.ones(1)),
        fitted(Classifier.of(BernoulliNB()), weighted).predict(np.ones(1)),
    )


@pytest.mark.parametrize("estimator", [KNeighborsClassifier(1), make_pipeline(KNeighborsClassifier(1)), Own()])
def test_a_classifier_that_takes_no_weights_refuses_a_weighted_release(estimator: Any) -> None:
    model = Classifier.of(estimator)
    plain = one_column([[0], [1]], [0, 1])
    assert fitted(model, plain).predict(np.ones(1)).sum() == 1
    with pytest.raises(InputError, match="takes no sample_weight; choose another model"):
        fitted(model, one_column([[0], [1]], [0, 1], [1, 2]))


def test_what_a_users_estimator_raises_names_the_model() -> None:
    release = one_column([[0], [1]], [0, 1])
    with pytest.raises(InputError, match=r"model Own\(failing='fit'\) cannot be trained.* ZeroDivisionError"):
        fitted(Classifier.of(Own(failing="fit")), release)
    trained = fitted(Classifier.of(Own(failing="predict_proba")), release)
    with pytest.raises(InputError, match=r"model Own\(failing='predict_proba'\) cannot predict: KeyError"):
        trained.predict(np.ones(1))


@pytest.mark.parametrize("answer", [(np.nan, 1), (np.inf, 0), (1.5, -0.5), (0.5, 0.4), (0, 0)])
def test_an_answer_that_is_no_distribution_is_an_error_of_its_own(answer: tuple[float, float]) -> None:
    trained = fitted(Classifier.of(Own(answer)), one_column([[0], [1]], [0, 1]))
    with pytest.raises(PredictionError, match="numbers that are no probabilities"):
        trained.predict(np.ones(1))


def test_warnings_of_an_estimator_are_silenced() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        predicted = fitted(Classifier.of(Own()), one_column([[0], [1]], [0, 3])).predict(np.ones(1))
    assert predicted.tolist() == [0.5, 0, 0, 0.5]


@pytest.mark.parametrize(
    ("estimator", "lacks"),
    [(LinearSVC(), "LinearSVC has no predict_proba"), (object(), "has no fit"), (Own, "Own is a class; make one")],
)
def test_what_is_no_classifier_is_refused_with_the_reason(estimator: Any, lacks: str) -> None:
    with pytest.raises(InputError, match=lacks):
        model_named(estimator)


@pytest.mark.parametrize(
    "name",
    ["bernoulli", "categorical", "gaussian", "conditional", "tree", "logistic", "neighbours", "forest", "mlp"],
)
def test_every_named_model_predicts(name: str) -> None:
    model = model_named(name)
    assert model.name == name
    assert model.randomized is (name in ("forest", "mlp"))
    assert fitted(model, many_rows()).predict(TARGET).sum() == pytest.approx(1)


def test_the_mlp_is_that_of_proportional_representation() -> None:
    """§IV-C: 2 hidden layers of 5 and 2, ReLU, Adam at 1e-3, batches of 200, 500 epochs, 10 without progress."""
    estimator = model_named("mlp").estimator  # type: ignore[attr-defined]
    text = {"hidden_layer_sizes": (5, 2), "activation": "relu", "solver": "adam", "learning_rate_init": 1e-3}
    text |= {"max_iter": 500, "n_iter_no_change": 10, "batch_size": "auto"}  # auto: 200, or all of fewer rows
    assert text.items() <= estimator.get_params().items()


class OwnModel:
    """A user's model, not of scikit-learn's kind."""

    randomized = False

    def __init__(self, name: str = "own") -> None:
        self.name = name

    def fit(self, features: Features, rows: TrainingRows, seed: int) -> Fitted:
        return Bernoulli().fit(features, rows, seed)

    def spec(self) -> dict[str, Any]:
        return {"name": self.name}


def test_parameters_are_part_of_a_models_name() -> None:
    assert model_named({"name": "bernoulli", "alpha": 0.5}) == Bernoulli(0.5)
    assert Bernoulli(0.5).name == "bernoulli(alpha=0.5)"
    assert model_named({"name": "tree", "max_depth": 3}).name == "tree(max_depth=3)"
    dotted = model_named({"name": "sklearn:sklearn.tree.DecisionTreeClassifier", "max_depth": 3})
    assert dotted.name == "DecisionTreeClassifier(max_depth=3)"


def test_a_users_own_model_or_classifier_is_loaded_by_its_name() -> None:
    here = __name__
    assert model_named(f"{here}:OwnModel").name == "own"
    classifier = model_named({"name": f"{here}:Own", "answer": [0.25, 0.75]})
    assert fitted(classifier, one_column([[0], [1]], [0, 1])).predict(np.ones(1)).tolist() == [0.25, 0.75, 0, 0]
    own = OwnModel("mine")
    assert model_named(own) is own


@pytest.mark.parametrize(
    ("declaration", "hint"),
    [
        ("bernouli", "model 'bernouli' is not known; did you mean 'bernoulli'"),
        ("sklearn:sklearn.tree.DecisionTreeClassifer", "there is no .* did you mean 'DecisionTreeClassifier'"),
        ("sklearn:nowhere.Model", "cannot be loaded"),
        ("sklearn:", "cannot be loaded"),
        ("sklearn:sklearn.base.clone", "expected the dotted name of a class"),
        ({"alpha": 1}, "has no name"),
        ({"name": "bernoulli", "alfa": 1}, "unknown parameter 'alfa'; did you mean 'alpha'"),
        ({"name": "tree", "max_dept": 1}, "unknown parameter 'max_dept'; did you mean 'max_depth'"),
        ({"name": "conditional", "alpha": 1}, "unknown parameter 'alpha'"),
    ],
)
def test_an_unknown_model_is_refused_with_a_hint(declaration: Any, hint: str) -> None:
    with pytest.raises(InputError, match=hint):
        model_named(declaration)


def test_models_and_adversaries_are_imported_without_scikit_learn() -> None:
    code = "import sys, harness.measuring.adversary; print('sklearn' in sys.modules)"
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert finished.stdout.strip() == "False"
