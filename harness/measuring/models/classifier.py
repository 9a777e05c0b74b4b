"""Any scikit-learn classifier as a model, trained anew on every release. scikit-learn is imported when it is needed.

A classifier is random if it, or a part of it, has a `random_state` of None that it uses; it then gets the seed of the
draw. Several classes of scikit-learn have the parameter and do not use it with the parameters they are given: they
are listed in `DETERMINISTIC`. A class that is missing there costs draws that were not needed, never a wrong number.

`n_jobs` changes no result here: every part works with one thread, because sums of several threads come in any order.

Classes in `SUMS_OVER_ROWS` are trained on the distinct rows of a release with their numbers as weights, which is the
same sum and much quicker. Others see every row: a forest draws rows, an MLP takes them in batches, nearest neighbours
count them.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.measuring.features import Features, Floats
from harness.measuring.models.interface import Fitted, PredictionError, answer_without_features, require_distribution
from harness.measuring.models.packing import pack_rows
from harness.measuring.specification import specification
from harness.vocabulary.errors import InputError
from harness.vocabulary.release import TrainingRows
from harness.vocabulary.table import Codes

Parameters = Mapping[str, Any]


def _solver_is_exact(parameters: Parameters) -> bool:
    return parameters["solver"] in ("lbfgs", "newton-cg", "newton-cholesky")


def _has_no_own_probabilities(parameters: Parameters) -> bool:
    return parameters.get("probability") is not True  # random folds are only drawn to calibrate them


# Classes that have `random_state` and draw nothing if their parameters say so (scikit-learn's own documentation).
DETERMINISTIC: dict[str, Callable[[Parameters], bool]] = {
    "LogisticRegression": _solver_is_exact,
    "LogisticRegressionCV": _solver_is_exact,
    "RidgeClassifier": lambda parameters: parameters["solver"] not in ("sag", "saga"),
    "SVC": _has_no_own_probabilities,
    "NuSVC": _has_no_own_probabilities,
    "LinearSVC": lambda parameters: parameters["dual"] is False,
    "GaussianProcessClassifier": lambda parameters: parameters["n_restarts_optimizer"] == 0,
    "PCA": lambda parameters: parameters["svd_solver"] in ("full", "covariance_eigh"),
}


def _weighs_classes_as_told(parameters: Parameters) -> bool:
    return not isinstance(parameters["class_weight"], str)  # "balanced" counts rows, not weights


def _tree_counts_no_rows(parameters: Parameters) -> bool:
    counts = parameters["min_samples_split"], parameters["min_samples_leaf"]
    return counts == (2, 1) and _weighs_classes_as_told(parameters)


# Classes of scikit-learn whose training is a sum over rows, so that a row with weight w is w equal rows, and when.
SUMS_OVER_ROWS: dict[str, Callable[[Parameters], bool]] = {
    "LogisticRegression": lambda parameters: _solver_is_exact(parameters) and _weighs_classes_as_told(parameters),
    "DecisionTreeClassifier": _tree_counts_no_rows,
    "BernoulliNB": lambda parameters: True,
    "MultinomialNB": lambda parameters: True,
    "ComplementNB": lambda parameters: True,
}


@dataclass(frozen=True, eq=False)
class Classifier:
    """A scikit-learn classifier with predict_proba."""

    estimator: Any
    name: str

    @classmethod
    def of(cls, estimator: Any, name: str | None = None) -> Classifier:
        """A classifier that somebody made, or an InputError that says what it lacks."""
        kind = type(estimator).__name__
        if inspect.isclass(estimator):
            raise InputError(f"model {estimator.__name__} is a class; make one: {estimator.__name__}(…)")
        for needed in ("fit", "predict_proba", "get_params", "set_params"):
            if not hasattr(estimator, needed):
                raise InputError(
                    f"model {kind} has no {needed}; expected a scikit-learn classifier with fit and predict_proba"
                )
        return cls(estimator, name or " ".join(repr(estimator).split()))  # repr: with its parameters

    @property
    def seeds(self) -> tuple[str, ...]:
        """The parameters, also of parts, through which it must be given a seed."""
        parameters = self.estimator.get_params(deep=True)
        missing = [name for name, value in parameters.items() if _last(name) == "random_state" and value is None]
        return tuple(name for name in missing if not _applies(DETERMINISTIC, self._owner(name, parameters)))

    def _owner(self, parameter: str, parameters: Parameters) -> Any:
        """The part that has a parameter: `a__b__random_state` belongs to `a__b`."""
        part = parameter.rpartition("__")[0]
        return parameters[part] if part else self.estimator

    @property
    def randomized(self) -> bool:
        return bool(self.seeds)

    def fit(self, features: Features, rows: TrainingRows, seed: int) -> Fitted:
        plain = answer_without_features(features, rows)
        if plain is not None:
            return plain
        matrix, labels, weights = self._examples(features, rows)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                estimator = self._untrained(seed)
                estimator.fit(matrix, labels, **weights)
        except Exception as error:  # whatever a user's estimator does
            raise PredictionError(
                f"model {self.name} cannot be trained on a release: {type(error).__name__}"
            ) from error
        return _FittedClassifier(self.name, estimator, rows.in_sorted_order)

    def _examples(self, features: Features, rows: TrainingRows) -> tuple[Floats, Codes, dict[str, Floats]]:
        """Features, values and weights to train on: every row, or every distinct one where that is the same."""
        if _applies(SUMS_OVER_ROWS, self.estimator):
            packed = pack_rows(features, rows)
            return packed.matrix, packed.labels, {"sample_weight": packed.weights}
        return features.matrix(), rows.sorted_labels, self._weights(rows)

    def _untrained(self, seed: int) -> Any:
        """A fresh copy with its seeds, working with one thread."""
        from sklearn.base import clone

        parameters = self.estimator.get_params(deep=True)
        jobs = [name for name, value in parameters.items() if _last(name) == "n_jobs" and value is not None]
        settings = dict.fromkeys(self.seeds, seed % 2**32) | dict.fromkeys(jobs, 1)
        return clone(self.estimator).set_params(**settings)

    def _weights(self, rows: TrainingRows) -> dict[str, Floats]:
        """The weights of the rows as an argument of `fit`; nothing when the release has none."""
        if rows.weights is None:
            return {}
        steps = getattr(self.estimator, "steps", None)  # a Pipeline hands arguments on to its steps by their names
        prefix, learner = (f"{steps[-1][0]}__", steps[-1][1]) if steps else ("", self.estimator)
        accepted = inspect.signature(learner.fit).parameters.values()
        if not any(one.name == "sample_weight" or one.kind is one.VAR_KEYWORD for one in accepted):
            raise PredictionError(
                f"model {self.name} cannot be trained on a release whose rows have weights: {type(learner).__name__} "
                "takes no sample_weight; choose another model, or release every row once per count"
            )
        return {f"{prefix}sample_weight": rows.weights}

    def spec(self) -> dict[str, Any]:
        return {"estimator": specification(self.estimator)}


def _last(parameter: str) -> str:
    return parameter.rpartition("__")[2]


def _applies(rules: Mapping[str, Callable[[Parameters], bool]], estimator: Any) -> bool:
    """Whether a class of scikit-learn is listed, and its parameters are as its rule says."""
    kind = type(estimator)
    rule = rules.get(kind.__name__) if kind.__module__.startswith("sklearn.") else None
    return rule is not None and rule(estimator.get_params(deep=False))


@dataclass(frozen=True, eq=False)
class _FittedClassifier:
    name: str
    estimator: Any
    order: npt.NDArray[np.int64]  # [n], the values as sorted

    def predict(self, target: Floats) -> Floats:
        probabilities = np.zeros(len(self.order))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                answer = self.estimator.predict_proba(target[None])[0]
                probabilities[self.order[self.estimator.classes_]] = answer
        except Exception as error:  # whatever a user's estimator does
            raise PredictionError(f"model {self.name} cannot predict: {type(error).__name__}") from error
        require_distribution(probabilities, len(self.order), self.name)
        return probabilities

    def covers(self, target: Floats) -> bool:
        return True
