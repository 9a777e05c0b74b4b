"""What a prior is, Bayes' rule, and the priors that are ready for use. Knows rows and secrets, never a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import pandas as pd

from harness.measuring.features import Floats
from harness.measuring.specification import specification
from harness.vocabulary.dataset import Dataset, Secret
from harness.vocabulary.errors import InputError, did_you_mean

Secrets = Sequence[Secret]


@runtime_checkable
class Prior(Protocol):
    """What an adversary believes about each record."""

    @property
    def name(self) -> str: ...

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the source that `for_data` reads."""

    @property
    def per_record(self) -> bool:
        """Whether records with equal quasi-identifiers may have different weights."""

    def for_data(self, data: Dataset, secrets: Secrets, frame: pd.DataFrame | None = None) -> Prior:
        """The same prior, checked and aligned with the rows of D; `frame` is the source with all its columns."""

    def weights(self, row: int, secret: Secret) -> Floats | None:
        """The believed probability of each value for a row of D; None: the model's answer stays.  # [n]"""

    def spec(self) -> dict[str, Any]:
        """Every parameter as plain data."""


def posterior(probabilities: Floats, frequencies: Floats, believed: Floats) -> Floats:
    """A model's answer under other beliefs than the class frequencies it was trained with.  # [n]

    Values that the release does not show stay at 0. If nothing is left, the release contradicts the belief in
    everything it says, and the belief itself is the answer.
    """
    shown = frequencies > 0
    ratio = np.divide(probabilities, frequencies, out=np.zeros_like(probabilities), where=shown)
    updated = ratio * believed
    total = updated.sum()
    return updated / total if total > 0 else believed


@dataclass(frozen=True)
class FittedPrior:
    """The class frequencies of the release: the model's answer stays as it is."""

    name: ClassVar[str] = "fitted"
    columns: ClassVar[tuple[str, ...]] = ()
    per_record: ClassVar[bool] = False

    def for_data(self, data: Dataset, secrets: Secrets, frame: pd.DataFrame | None = None) -> Prior:
        return self

    def weights(self, row: int, secret: Secret) -> Floats | None:
        return None

    def spec(self) -> dict[str, Any]:
        return {}


@dataclass(frozen=True)
class UniformPrior:
    """Every value is equally likely."""

    name: ClassVar[str] = "uniform"
    columns: ClassVar[tuple[str, ...]] = ()
    per_record: ClassVar[bool] = False

    def for_data(self, data: Dataset, secrets: Secrets, frame: pd.DataFrame | None = None) -> Prior:
        return self

    def weights(self, row: int, secret: Secret) -> Floats | None:
        return np.full(secret.values, 1 / secret.values)

    def spec(self) -> dict[str, Any]:
        return {}


@dataclass(frozen=True, eq=False)
class BoundPrior:
    """Beliefs about one secret, row by row of D, as a few distributions and which of them each row has."""

    name: str
    distributions: Floats  # [distributions, n]
    codes: npt.NDArray[np.int64]  # [rows of D], -1 where nothing is known
    per_record: bool
    declaration: Any  # plain data
    columns: ClassVar[tuple[str, ...]] = ()

    def for_data(self, data: Dataset, secrets: Secrets, frame: pd.DataFrame | None = None) -> Prior:
        return self

    def weights(self, row: int, secret: Secret) -> Floats | None:
        code = self.codes[row]
        return None if code < 0 else self.distributions[code]

    def spec(self) -> dict[str, Any]:
        return {
            "declaration": self.declaration,
            "distributions": specification(self.distributions),
            "codes": specification(self.codes),
        }


@dataclass(frozen=True)
class PriorPerSecret:
    """A prior of its own for each secret that has an entry; for the others the class frequencies."""

    entries: Mapping[str, Prior]

    @property
    def name(self) -> str:
        return "; ".join(f"{secret}: {prior.name}" for secret, prior in self.entries.items())

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(column for prior in self.entries.values() for column in prior.columns))

    @property
    def per_record(self) -> bool:
        return any(prior.per_record for prior in self.entries.values())

    def for_data(self, data: Dataset, secrets: Secrets, frame: pd.DataFrame | None = None) -> Prior:
        by_name = {secret.name: secret for secret in secrets}
        unknown = next((name for name in self.entries if name not in by_name), None)
        if unknown is not None:
            raise InputError(f"prior: no secret is called {unknown!r}; {did_you_mean(unknown, by_name)}")
        return PriorPerSecret(
            {name: prior.for_data(data, [by_name[name]], frame) for name, prior in self.entries.items()}
        )

    def weights(self, row: int, secret: Secret) -> Floats | None:
        return self.entries[secret.name].weights(row, secret) if secret.name in self.entries else None

    def spec(self) -> dict[str, Any]:
        return {name: specification(prior) for name, prior in self.entries.items()}
