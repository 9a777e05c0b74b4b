"""The adversary A = encoder + model + prior: what somebody infers about a target from one release.

    train    encode the rows of a release and fit the model to them; a target-relative encoder needs the target here
    predict  encode the target, ask the model, and replace the class frequencies in its answer by the prior

If the encoder does not depend on the target, a release is trained on once and asked about every target. Knows
training rows and raw values; no oracle, no plan and no draws.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from harness.measuring.encoding import PROPORTIONAL, encoder_named
from harness.measuring.features import Encoder, Features, Floats, Target
from harness.measuring.models import Fitted, Model, frequencies, model_named, require_distribution
from harness.measuring.prior import FittedPrior, Prior, posterior, prior_named
from harness.measuring.specification import specification
from harness.vocabulary.dataset import Dataset, Secret
from harness.vocabulary.errors import InputError, did_you_mean
from harness.vocabulary.loading import is_importable_name, load_object
from harness.vocabulary.origin import is_ours
from harness.vocabulary.release import TrainingRows

ENCODER, MODEL, PRIOR = "tf-tf", "bernoulli", "fitted"  # the papers' own adversary (v1 §4, v2 §4.3)
PLAIN_READER = "fill-parent"  # how a plain table looks to whom a proportional one shows shares
KEYS = ("encoder", "model", "prior", "name")
ENCODER_PARTS = ("name", "depends_on_target", "prepare", "for_data", "encode", "spec")

# Every family of classifiers with an encoding that suits it; scikit-learn's on scaled numbers and sets of categories.
PANELS: dict[str, tuple[tuple[str, str], ...]] = {
    "standard": (
        ("bernoulli", "tf-tf"),
        ("categorical", "quantiles-hot"),
        ("gaussian", "scaling-hot"),
        ("tree", "bounds-hot"),
        ("logistic", "bounds-hot"),
        ("neighbours", "bounds-hot"),
        ("forest", "bounds-hot"),
        ("mlp", "scaling-hot"),
        ("conditional", "tf-tf"),
    ),
}


@dataclass(frozen=True, eq=False)
class Inferred:
    """What an adversary believes about one target after seeing one release."""

    probabilities: Floats  # [n], a point of the simplex
    covered: bool  # False: the release held no evidence about the target, and the model gave the class frequencies


@dataclass(frozen=True, eq=False)
class Adversary:
    """One way to infer a secret; its name is unique within an audit."""

    name: str
    encoder: Encoder
    model: Model
    prior: Prior = field(default_factory=FittedPrior)

    @property
    def depends_on_target(self) -> bool:
        """Whether a model must be trained for each target."""
        return self.encoder.depends_on_target

    @property
    def randomized(self) -> bool:
        """Whether training draws random numbers."""
        return self.model.randomized

    @property
    def is_built_in(self) -> bool:
        """Whether all its parts are of this package, so that what goes wrong in them is a defect of ours."""
        parts = (self.encoder, self.model, self.prior)
        return all(is_ours(part) for part in parts)

    def for_data(self, data: Dataset, secrets: Sequence[Secret], frame: pd.DataFrame | None = None) -> Adversary:
        """The same adversary with an encoder and a prior that know the data, which is D itself.

        `frame` is the source with all its columns; only a prior that reads a column needs it (`prior.columns`).
        """
        try:
            encoder = self.encoder.for_data(self.encoder.prepare(data))
            return replace(self, encoder=encoder, prior=self.prior.for_data(data, secrets, frame))
        except InputError as error:
            raise error.within(f"adversary {self.name!r}") from None

    def train(self, rows: TrainingRows, target: Target | None, seed: int) -> Trained:
        """The adversary after one release; `target` is used only where the encoder depends on it."""
        features = self.encoder.encode(rows, target if self.depends_on_target else None)
        return Trained(self, features, self.model.fit(features, rows, seed), frequencies(rows))

    def spec(self) -> dict[str, Any]:
        parts = {"encoder": self.encoder, "model": self.model, "prior": self.prior}
        return {"name": self.name, **{name: specification(part) for name, part in parts.items()}}


@dataclass(frozen=True, eq=False)
class Trained:
    """An adversary who has seen one release."""

    adversary: Adversary
    features: Features
    fitted: Fitted
    frequencies: Floats  # [n], of the values in the release

    def predict(self, raws: Target, row: int, secret: Secret) -> Inferred:
        """What it infers about the record at this row of D, given the raw values of its quasi-identifiers."""
        target = self.features.target(raws)
        probabilities = self.fitted.predict(target)
        require_distribution(probabilities, len(self.frequencies), self.adversary.model.name)
        believed = self.adversary.prior.weights(row, secret)
        if believed is not None:
            probabilities = posterior(probabilities, self.frequencies, believed)
        return Inferred(probabilities, self.fitted.covers(target))


def adversary_from(declaration: Adversary | Mapping[str, Any], base: Path = Path()) -> Adversary:
    """An adversary as it is, or from a table of encoder, model, prior and name, each of which may be left out.

    Each part is a name, a table of name and parameters, an object, or `package.module:name` of a user's own.
    """
    if isinstance(declaration, Adversary):
        return declaration
    if not isinstance(declaration, Mapping):
        raise InputError(f"an adversary is a table of {', '.join(KEYS)}, not {declaration!r}")
    unknown = next((key for key in declaration if key not in KEYS), None)
    if unknown is not None:
        raise InputError(f"adversary: unknown key {unknown!r}; {did_you_mean(str(unknown), KEYS)}")
    encoder = _encoder(declaration.get("encoder", ENCODER))
    model = model_named(declaration.get("model", MODEL))
    prior = prior_named(declaration.get("prior", PRIOR), base)
    name = declaration.get("name", _usual_name(encoder, model, prior))
    if not isinstance(name, str) or not name:
        raise InputError(f"adversary: its name must be a text, not {name!r}")
    return Adversary(name, encoder, model, prior)


def _encoder(declaration: Any) -> Encoder:
    options = dict(declaration) if isinstance(declaration, Mapping) else {"name": declaration}
    name = options.pop("name", None)
    if isinstance(name, str) and is_importable_name(name):
        declaration = load_object(name, options)
    if isinstance(declaration, str | Mapping):
        return encoder_named(declaration)
    missing = [part for part in ENCODER_PARTS if not hasattr(declaration, part)]
    if missing or isinstance(declaration, type):
        lacks = "is a class" if not missing else f"has no {missing[0]}"
        raise InputError(f"{declaration!r:.80} {lacks}; expected an encoder with {', '.join(ENCODER_PARTS)}")
    encoder: Encoder = declaration
    return encoder


def _usual_name(encoder: Encoder, model: Model, prior: Prior) -> str:
    beliefs = "" if isinstance(prior, FittedPrior) else f", prior {prior.name}"
    return f"{model.name} on {encoder.name}{beliefs}"


def panel_named(name: str) -> tuple[Adversary, ...]:
    """The adversaries of a panel."""
    if name not in PANELS:
        raise InputError(f"panel {name!r} is not known; {did_you_mean(str(name), PANELS)}")
    return tuple(adversary_from({"encoder": encoder, "model": model}) for model, encoder in PANELS[name])


def with_plain_readers(adversaries: Iterable[Adversary]) -> tuple[Adversary, ...]:
    """The same, and for each that reads the shares of a proportional table one that reads its plain cells alone.

    So every report shows how much more the shares disclose than the plain table does.
    """
    given = tuple(adversaries)
    plain = encoder_named(PLAIN_READER)
    added = [
        replace(one, encoder=plain, name=_usual_name(plain, one.model, one.prior))
        for one in given
        if one.encoder.name == PROPORTIONAL
    ]
    known = {_usual_name(one.encoder, one.model, one.prior) for one in given}
    return (*given, *(one for one in added if one.name not in known))


def with_unique_names(adversaries: Iterable[Adversary]) -> tuple[Adversary, ...]:
    """The same adversaries; one whose name an earlier one has is numbered: `tree on bounds-hot (2)`."""
    given = tuple(adversaries)
    taken = {adversary.name for adversary in given}
    seen: set[str] = set()
    named = []
    for adversary in given:
        name, number = adversary.name, 1
        if name in seen:
            while name in taken:
                number += 1
                name = f"{adversary.name} ({number})"
            adversary = replace(adversary, name=name)
        seen.add(name)
        taken.add(name)
        named.append(adversary)
    return tuple(named)
