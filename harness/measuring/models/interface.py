"""What a model is: trained on an encoded release, it answers with a point of the n-simplex. Knows no encoder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from harness.measuring.features import ColumnFeatures, Features, Floats
from harness.vocabulary.errors import InputError
from harness.vocabulary.release import TrainingRows, count_jointly

ROUNDED_OFF = 1e-4  # how far predictions may sum away from 1: scikit-learn normalises logarithms of 10⁹ and more


class PredictionError(InputError):
    """A model answered with something that is no probability distribution; only this prediction is lost.

    Its text goes to report.json and therefore quotes no exception of a user's part, which may name raw values: the
    exception is its `__cause__`.
    """


@runtime_checkable
class Model(Protocol):
    """An inference algorithm."""

    @property
    def name(self) -> str:
        """How it is printed."""

    @property
    def randomized(self) -> bool:
        """Whether it draws random numbers when it is trained."""

    def fit(self, features: Features, rows: TrainingRows, seed: int) -> Fitted:
        """The model trained on one release; `seed` is all its randomness."""

    def spec(self) -> dict[str, Any]:
        """Every parameter as plain data."""


class Fitted(Protocol):
    """A model that was trained on one release.

    It is asked about one target at a time: where BLAS is involved a batch differs from single predictions in the
    last bits, and results must not depend on how targets were grouped.
    """

    def predict(self, target: Floats) -> Floats:
        """The probability of each value, given the features of a target ([features]).  # [n]"""

    def covers(self, target: Floats) -> bool:
        """False when the release holds no evidence about such a target, and `predict` gives the class frequencies."""


@dataclass(frozen=True, eq=False)
class Constant:
    """The answer where features tell nothing: no rows, one value only, or rows that are all alike."""

    probabilities: Floats  # [n]
    covered: bool

    def predict(self, target: Floats) -> Floats:
        return self.probabilities

    def covers(self, target: Floats) -> bool:
        return self.covered


def frequencies(rows: TrainingRows) -> Floats:
    """The share of each value among the released rows; without rows every value is equally likely.  # [n]"""
    total = rows.class_weights.sum()
    return rows.class_weights / total if total > 0 else np.full(rows.values, 1 / rows.values)


def answer_without_features(features: Features, rows: TrainingRows) -> Constant | None:
    """The answer where there is nothing to tell apart: no rows, rows of one value, or no features; else None."""
    seen = int(np.count_nonzero(rows.class_weights))
    dims = sum(column.cells.shape[1] for column in features.columns)
    return Constant(frequencies(rows), covered=seen > 0) if seen < 2 or dims == 0 else None


def joint_weights(features: Features, rows: TrainingRows) -> tuple[Floats, ...]:
    """Per column of features the weight of each (cell, value): all that a naive Bayes needs.  # each [cells, n]

    An encoder that keeps the cells of the release shares the counts that the release has already.
    """
    return tuple(_joint(position, column, rows) for position, column in enumerate(features.columns))


def _joint(position: int, column: ColumnFeatures, rows: TrainingRows) -> Floats:
    cells = len(column.cells)
    if position < len(rows.quasi):
        released = rows.quasi[position]
        if released.codes is column.codes and len(released.ids) == cells:
            return rows.cell_weights[position]
    return count_jointly(column.codes, cells, rows)


def require_distribution(probabilities: Floats, values: int, model: str) -> None:
    """Raises a PredictionError unless these are `values` probabilities that sum to 1."""
    if probabilities.shape != (values,):
        raise PredictionError(
            f"model {model} answered with shape {probabilities.shape}; expected {values} probabilities, one per value"
        )
    total = probabilities.sum()
    if not (probabilities.min() >= 0 and abs(total - 1) <= ROUNDED_OFF):  # written so that NaN is refused
        raise PredictionError(
            f"model {model} answered with numbers that are no probabilities (each finite and at least 0, sum 1): "
            f"their sum is {total:g}, the smallest is {probabilities.min():g}"
        )


def name_with(name: str, **changed: object) -> str:
    """A model's name with the parameters that are not the usual ones: `bernoulli(alpha=0.5)`."""
    shown = ", ".join(f"{parameter}={value}" for parameter, value in changed.items())
    return f"{name}({shown})" if shown else name


def require_at_least_zero(model: str, parameter: str, value: object) -> None:
    """Raises an InputError unless a parameter is a finite number of at least 0."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 <= float(value) < float("inf"):  # type: ignore[arg-type]
        raise InputError(f"model {model}: {parameter} must be a number of at least 0, not {value!r}")
