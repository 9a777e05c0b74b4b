"""Naive Bayes in closed form, on the distinct cells of a release and not on its rows.

Each model equals scikit-learn's to the last digits. With N_s the weight of the rows of value s,

    log P(s | x) = log N_s + Σⱼ log P(xⱼ | s) + const,

summed over the features j. A column's features stand once per distinct cell (`cells`, [cells, dims]), and
`joint_weights` says how much each (cell, value) weighs ([cells, n]), so every sum over rows is a product of two small
matrices. A value that no released row carries gets probability 0, as with scikit-learn.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.measuring.features import ColumnFeatures, Features, Floats
from harness.measuring.models.interface import (
    ROUNDED_OFF,
    Constant,
    Fitted,
    answer_without_features,
    frequencies,
    joint_weights,
    name_with,
    require_at_least_zero,
)
from harness.vocabulary.errors import InputError
from harness.vocabulary.release import TrainingRows

Booleans = npt.NDArray[np.bool_]
SMALL = 2_000  # rows, up to which Gaussian naive Bayes is scikit-learn's own


@dataclass(frozen=True, eq=False)
class _Classes:
    """The values that the released rows carry."""

    totals: Floats  # [seen], the weight of each
    seen: Booleans  # [n], which of all values they are

    @classmethod
    def of(cls, rows: TrainingRows) -> _Classes:
        seen = rows.class_weights > 0
        return cls(rows.class_weights[seen], seen)

    def posterior(self, log_likelihood: Floats) -> Floats:
        """Bayes' rule with the class frequencies as prior; log_likelihood: [seen].  # [n]"""
        log = np.log(self.totals) + log_likelihood
        likelihood = np.exp(log - log.max())
        probabilities = np.zeros(len(self.seen))
        probabilities[self.seen] = likelihood / likelihood.sum()
        return probabilities


def _changed(model: Any) -> dict[str, Any]:
    """The parameters that differ from their defaults."""
    return {one.name: getattr(model, one.name) for one in fields(model) if getattr(model, one.name) != one.default}


@dataclass(frozen=True)
class Bernoulli:
    """Bernoulli naive Bayes (scikit-learn's BernoulliNB): a feature is on when it exceeds `binarize`.

    P(xⱼ on | s) = (Nⱼₛ + α) / (N_s + 2α), Nⱼₛ the weight of rows of value s where feature j is on.
    """

    alpha: float = 1.0  # rows added to each count, so that no probability is 0 (Laplace smoothing)
    binarize: float = 0.0  # a feature above this is on

    def __post_init__(self) -> None:
        require_at_least_zero("bernoulli", "alpha", self.alpha)
        if not np.isfinite(self.binarize):
            raise InputError(f"model bernoulli: binarize must be a finite number, not {self.binarize!r}")

    @property
    def name(self) -> str:
        return name_with("bernoulli", **_changed(self))

    @property
    def randomized(self) -> bool:
        return False

    def fit(self, features: Features, rows: TrainingRows, seed: int) -> Fitted:
        plain = answer_without_features(features, rows)
        if plain is not None:
            return plain
        classes = _Classes.of(rows)
        columns = zip(features.columns, joint_weights(features, rows), strict=True)
        on = np.concatenate([(column.cells > self.binarize).T @ joint for column, joint in columns])
        return _FittedBernoulli(self, classes, on[:, classes.seen])

    def spec(self) -> dict[str, Any]:
        return {"alpha": self.alpha, "binarize": self.binarize}


@dataclass(frozen=True, eq=False)
class _FittedBernoulli:
    model: Bernoulli
    classes: _Classes
    on: Floats  # [features, seen], the weight of rows where the feature is on

    def predict(self, target: Floats) -> Floats:
        totals, alpha = self.classes.totals, self.model.alpha
        off = np.maximum(totals - self.on, 0)  # weights that are no whole numbers leave a rounding error below 0
        alike = np.where((target > self.model.binarize)[:, None], self.on, off)
        with np.errstate(divide="ignore", invalid="ignore"):  # without smoothing a count of 0 is log 0
            log_likelihood = np.log(alike + alpha).sum(axis=0) - len(target) * np.log(totals + 2 * alpha)
            return self.classes.posterior(log_likelihood)

    def covers(self, target: Floats) -> bool:
        return True


@dataclass(frozen=True)
class Categorical:
    """Categorical naive Bayes (scikit-learn's CategoricalNB with min_categories=2): features are whole numbers.

    P(xⱼ = v | s) = (Nⱼᵥₛ + α) / (N_s + α Kⱼ), Kⱼ one more than the largest category that the release shows in
    feature j, and at least 2. A category that only the target has counts 0 rows.
    """

    alpha: float = 1.0  # rows added to each count, so that no probability is 0 (Laplace smoothing)

    def __post_init__(self) -> None:
        require_at_least_zero("categorical", "alpha", self.alpha)

    @property
    def name(self) -> str:
        return name_with("categorical", **_changed(self))

    @property
    def randomized(self) -> bool:
        return False

    def fit(self, features: Features, rows: TrainingRows, seed: int) -> Fitted:
        plain = answer_without_features(features, rows)
        if plain is not None:
            return plain
        classes = _Classes.of(rows)
        joints = joint_weights(features, rows)
        categories = [_categories(column, joint) for column, joint in zip(features.columns, joints, strict=True)]
        cells = tuple(column.cells for column in features.columns)
        return _FittedCategorical(
            self.alpha, classes, cells, tuple(joint[:, classes.seen] for joint in joints), np.concatenate(categories)
        )

    def spec(self) -> dict[str, Any]:
        return {"alpha": self.alpha}


def _categories(column: ColumnFeatures, joint: Floats) -> Floats:
    """How many categories each feature of a column has.  # [dims]"""
    _require_whole(column.cells)
    shown = column.cells[joint.any(axis=1)]  # the palette may hold cells that no row has
    largest: Floats = np.maximum(shown.max(axis=0) + 1, 2)
    return largest


def _require_whole(features: Floats) -> None:
    whole = (features >= 0) & (features == np.floor(features)) & (features < np.inf)
    if not whole.all():
        raise InputError(
            f"model categorical: a feature is {features[~whole][0]:g}; expected categories, numbered 0, 1, 2, …; "
            "choose an encoder whose features are 0 or 1, such as quantiles-hot, or the model gaussian"
        )


@dataclass(frozen=True, eq=False)
class _FittedCategorical:
    alpha: float
    classes: _Classes
    cells: tuple[Floats, ...]  # per column [cells, dims]
    joints: tuple[Floats, ...]  # per column [cells, seen]
    categories: Floats  # [features]

    def predict(self, target: Floats) -> Floats:
        _require_whole(target)
        parts = []
        begin = 0
        for cells, joint in zip(self.cells, self.joints, strict=True):
            end = begin + cells.shape[1]
            parts.append((cells == target[begin:end]).T @ joint)  # the weight of rows of the target's category
            begin = end
        alike = np.concatenate(parts) + self.alpha  # [features, seen]
        of = self.classes.totals + self.alpha * self.categories[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):  # without smoothing a count of 0 is log 0
            return self.classes.posterior((np.log(alike) - np.log(of)).sum(axis=0))

    def covers(self, target: Floats) -> bool:
        return True


@dataclass(frozen=True)
class Gaussian:
    """Gaussian naive Bayes (scikit-learn's GaussianNB): each feature is normal within the rows of a value.

    Every variance is raised by `var_smoothing` times the largest variance of any feature over all rows. If that is
    0 all rows are alike and say nothing about a target: the answer is the class frequencies (scikit-learn: NaN).

    A feature that is constant within a value has no other variance than that, so distances of 10⁹ are added up and
    their rounding decides between values: up to SMALL rows scikit-learn itself is asked, so that its rounding is
    shared; larger releases are worked out on their cells.
    """

    var_smoothing: float = 1e-9  # share of the largest variance that is added to every variance

    def __post_init__(self) -> None:
        require_at_least_zero("gaussian", "var_smoothing", self.var_smoothing)

    @property
    def name(self) -> str:
        return name_with("gaussian", **_changed(self))

    @property
    def randomized(self) -> bool:
        return False

    def fit(self, features: Features, rows: TrainingRows, seed: int) -> Fitted:
        plain = answer_without_features(features, rows)
        if plain is not None:
            return plain
        joints = joint_weights(features, rows)
        columns = list(zip(features.columns, joints, strict=True))
        largest = max(_largest_variance(column, _row_counts(column, joint, rows)) for column, joint in columns)
        if largest == 0:
            return Constant(frequencies(rows), covered=False)
        if len(rows.labels) <= SMALL:
            return _fit_scikit_learn(features, rows, self.var_smoothing)
        classes = _Classes.of(rows)
        moments = [_moments(column.cells, joint[:, classes.seen], classes.totals) for column, joint in columns]
        means = np.concatenate([mean for mean, _ in moments], axis=1)
        variances = np.concatenate([variance for _, variance in moments], axis=1) + self.var_smoothing * largest
        return _FittedGaussian.of(classes, means, variances)

    def spec(self) -> dict[str, Any]:
        return {"var_smoothing": self.var_smoothing}


def _fit_scikit_learn(features: Features, rows: TrainingRows, var_smoothing: float) -> Fitted:
    from sklearn.naive_bayes import GaussianNB

    model = GaussianNB(var_smoothing=var_smoothing)
    model.fit(features.matrix(), rows.sorted_labels, sample_weight=rows.weights)
    return _FittedScikitLearn(model, rows.in_sorted_order)


@dataclass(frozen=True, eq=False)
class _FittedScikitLearn:
    model: Any
    order: npt.NDArray[np.int64]  # [n], the values as sorted

    def predict(self, target: Floats) -> Floats:
        probabilities = np.zeros(len(self.order))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            probabilities[self.order[self.model.classes_]] = self.model.predict_proba(target[None])[0]
        # It normalises logarithms of 10⁹ and more, so that probabilities may miss their sum by what these round off.
        total = probabilities.sum()
        return probabilities if abs(total - 1) <= ROUNDED_OFF else probabilities / total

    def covers(self, target: Floats) -> bool:
        return True


def _row_counts(column: ColumnFeatures, joint: Floats, rows: TrainingRows) -> Floats:
    """How many rows hold each cell, whatever their weight.  # [cells]"""
    if rows.weights is None:
        counted: Floats = joint.sum(axis=1)
        return counted
    return np.bincount(column.codes, minlength=len(column.cells)).astype(np.float64)


def _largest_variance(column: ColumnFeatures, counts: Floats) -> float:
    """Over the features of a column; rows are not weighted, as in scikit-learn.

    Measured from a cell that occurs, so that features that are all alike have variance 0 and not a rounding error.
    """
    shifted = column.cells - column.cells[np.argmax(counts)]
    total = counts.sum()
    squares = (shifted - counts @ shifted / total) ** 2
    return float((counts @ squares).max(initial=0) / total)


def _moments(cells: Floats, joint: Floats, totals: Floats) -> tuple[Floats, Floats]:
    """Mean and variance of each feature within each value, in two passes: E[x²] − μ² would cancel.  # [seen, dims]"""
    means = joint.T @ cells / totals[:, None]
    squares = (cells[:, None, :] - means) ** 2  # [cells, seen, dims]
    return means, np.einsum("cs,csd->sd", joint, squares) / totals[:, None]


@dataclass(frozen=True, eq=False)
class _FittedGaussian:
    classes: _Classes
    means: Floats  # [seen, features]
    variances: Floats  # [seen, features]
    log_scale: Floats  # [seen], Σⱼ log 2πσ²

    @classmethod
    def of(cls, classes: _Classes, means: Floats, variances: Floats) -> _FittedGaussian:
        with np.errstate(divide="ignore"):  # without smoothing a variance may be 0
            return cls(classes, means, variances, np.log(2 * np.pi * variances).sum(axis=1))

    def predict(self, target: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            distances = ((target - self.means) ** 2 / self.variances).sum(axis=1)
            return self.classes.posterior(-0.5 * (self.log_scale + distances))

    def covers(self, target: Floats) -> bool:
        return True
