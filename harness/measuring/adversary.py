"""The adversary A: from an encoded release to a prediction about the target. Knows no oracle and no plan."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from harness.measuring.encoding import Encoded, Encoder, encoder_named
from harness.vocabulary.dataset import Record
from harness.vocabulary.errors import InputError, did_you_mean
from harness.vocabulary.release import Microdata, Predictions, Reader

Floats = npt.NDArray[np.float64]


class Model(Protocol):
    """An inference algorithm: what it infers about the target from one release, as a point of the n-simplex."""

    @property
    def name(self) -> str: ...

    def predict(self, encoded: Encoded, seed: int) -> Floats: ...


@dataclass(frozen=True)
class Conditional:
    """Relative frequency of each sensitive value among the released rows that cover the target (v2 §3.2).

    Where no row covers the target, the frequencies of the whole release: all it still says about her.
    """

    name: str = "conditional"

    def predict(self, encoded: Encoded, seed: int) -> Floats:
        release = encoded.release
        covers = encoded.matrix().all(axis=1)
        weights = covers if release.weights is None else covers * release.weights
        counts = np.bincount(release.sensitive, weights, release.values).astype(np.float64)
        return _normalised(counts if counts.sum() > 0 else release.class_weights)


@dataclass(frozen=True)
class Bernoulli:
    """Bernoulli naive Bayes in closed form on palette + codes; scikit-learn's BernoulliNB to the last digits.

    The target is all ones, so log P(s | target) = log P(s) + Σⱼ log (Nⱼₛ + α)/(Nₛ + 2α) + const, where Nⱼₛ is
    the weight of rows with value s whose cell in column j covers the target. A value that no released row
    carries has no model and gets 0, as with scikit-learn.
    """

    alpha: float = 1.0
    name: str = "bernoulli"

    def predict(self, encoded: Encoded, seed: int) -> Floats:
        release = encoded.release
        totals = release.class_weights
        seen = totals > 0
        if not seen.any():
            return _normalised(totals)
        log = np.log(totals[seen])
        for bits, joint in zip(encoded.bits, release.cell_weights, strict=True):
            covered = bits.astype(np.float64) @ joint
            log += np.log(covered[seen] + self.alpha) - np.log(totals[seen] + 2 * self.alpha)
        likelihood = np.zeros(release.values)
        likelihood[seen] = np.exp(log - log.max())
        return _normalised(likelihood)


@dataclass(frozen=True, eq=False)
class Classifier:
    """Any scikit-learn classifier with predict_proba, trained anew on each release.

    One that draws random numbers gets the seed of the draw, the same for present and absent.
    """

    estimator: Any
    name: str

    @classmethod
    def of(cls, estimator: Any) -> Classifier:
        kind = type(estimator)
        if not hasattr(estimator, "fit") or not hasattr(estimator, "predict_proba"):
            raise InputError(
                f"model {kind.__name__} cannot give probabilities; expected a classifier with fit and predict_proba"
            )
        return cls(estimator, f"sklearn:{kind.__module__}.{estimator!r}")  # repr: with its parameters

    @property
    def seeds(self) -> list[str]:
        """The parameters, also of parts, through which it may be given a seed and has not been."""
        given = self.estimator.get_params(deep=True)
        return [name for name, value in given.items() if name.split("__")[-1] == "random_state" and value is None]

    @property
    def randomized(self) -> bool:
        return bool(self.seeds)

    def predict(self, encoded: Encoded, seed: int) -> Floats:
        from sklearn.base import clone

        release = encoded.release
        seen = np.unique(release.sensitive)
        if len(seen) < 2:  # nothing to tell apart: the only value there is, or nothing at all
            return _normalised(release.class_weights)
        model = clone(self.estimator)
        model.set_params(**dict.fromkeys(self.seeds, seed % 2**32))
        weights = {} if release.weights is None else {"sample_weight": release.weights}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                model.fit(encoded.matrix(), release.sensitive, **weights)
            except (ValueError, TypeError) as error:
                raise InputError(f"model {self.name} cannot be trained on a release: {error}") from None
        target = np.ones((1, len(encoded.bits)), dtype=bool)
        aligned = np.zeros(release.values)
        aligned[model.classes_] = model.predict_proba(target)[0]
        return aligned


def _normalised(counts: Floats) -> Floats:
    """Counts as probabilities; without any count every value is equally likely."""
    total = counts.sum()
    return counts / total if total > 0 else np.full(len(counts), 1 / len(counts))


MODELS: dict[str, Model] = {"bernoulli": Bernoulli(), "conditional": Conditional()}


def model_named(name: str) -> Model:
    """`bernoulli`, `conditional`, or `sklearn:` and the dotted name of a classifier class."""
    if name in MODELS:
        return MODELS[name]
    if not name.startswith("sklearn:"):
        raise InputError(f"model {name!r} is not known; {did_you_mean(name, [*MODELS, 'sklearn:package.Classifier'])}")
    module, _, attribute = name.removeprefix("sklearn:").rpartition(".")
    try:
        kind = getattr(importlib.import_module(module), attribute)
        return Classifier.of(kind())
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise InputError(
            f"model {name!r} cannot be loaded: {error}; expected sklearn: and a dotted class name, "
            "such as sklearn:sklearn.tree.DecisionTreeClassifier"
        ) from None


@dataclass(frozen=True, eq=False)
class Inference:
    """A = encoder + model: what an adversary infers about a target from each draw of a release."""

    encoder: Encoder
    model: Model
    encoder_name: str = "tf"

    @classmethod
    def named(cls, encoder: str = "tf", model: str | Model | Any = "bernoulli") -> Inference:
        """From names, or with a model or scikit-learn classifier that somebody made."""
        if isinstance(model, str):
            chosen = model_named(model)
        else:
            chosen = model if hasattr(model, "predict") and not hasattr(model, "fit") else Classifier.of(model)
        return cls(encoder_named(encoder), chosen, encoder)

    @property
    def randomized(self) -> bool:
        return bool(getattr(self.model, "randomized", False))

    def samples(
        self, releases: Iterable[Microdata | Predictions], target: Record, reader: Reader, seeds: Sequence[int]
    ) -> Floats:
        """What each draw says about the target; predictions pass straight through.  # [draws, n]

        A deterministic f releases once, however often A is drawn.
        """
        rows: list[Floats] = []
        for release in releases:
            if isinstance(release, Predictions):
                rows.append(release.rows)
            else:
                encoded = self.encoder(reader, release, target)
                rows.append(self.model.predict(encoded, seeds[len(rows)])[None])
        if len(rows) == 1 < len(seeds) and not isinstance(release, Predictions):
            rows += [self.model.predict(encoded, seed)[None] for seed in seeds[1:]]
        return np.concatenate(rows)
