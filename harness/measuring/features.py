"""Rows of a release as numbers, and the interface of every encoder. Knows training rows, never a classifier.

An encoder turns the cells of a release into features, column by column, and a target's raw values into features of
the same columns. Features live on the distinct cells of a column (`cells`, `codes`) and not on its rows: closed-form
models work there directly, `matrix` spells them out for the others.

How an audit uses an encoder:
    asked = encoder.prepare(data)            what f is asked about, and whose records are the targets
    encoder = encoder.for_data(asked)        once, before the first release is read
    encoder.encode(rows, target)             per release, or per release and target

A user's encoder need not inherit from `Encoder`; what it lacks of `prepare_target` and `labels` is that of `Encoder`
(`prepared_target`, `feature_names`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError
from harness.vocabulary.lexicon import CellIds
from harness.vocabulary.release import TrainingRows
from harness.vocabulary.table import Codes
from harness.vocabulary.values import Raw

Floats = npt.NDArray[np.float64]
Target = tuple[Raw, ...]  # the raw values of a record's quasi-identifiers, in the order of the schema


@dataclass(frozen=True, eq=False)
class ColumnFeatures:
    """One quasi-identifier, encoded."""

    cells: Floats  # [cells, dims], the features of each distinct cell
    codes: Codes  # [rows], the cell that each row holds
    target: Callable[[Raw], Floats]  # the features [dims] of a raw value


@dataclass(frozen=True, eq=False)
class Features:
    """A release, encoded."""

    columns: tuple[ColumnFeatures, ...]

    def matrix(self) -> Floats:
        """One row of features per released row.  # [rows, features]"""
        return np.concatenate([column.cells[column.codes] for column in self.columns], axis=1)

    def target(self, raws: Target) -> Floats:
        """The features of a target.  # [features]"""
        return np.concatenate([column.target(raw) for column, raw in zip(self.columns, raws, strict=True)])


class Encoder(Protocol):
    """How an adversary looks at a release."""

    @property
    def name(self) -> str: ...

    @property
    def depends_on_target(self) -> bool:
        """Whether the features of a release differ from target to target, so that a model must be trained for each."""

    def prepare(self, data: Dataset) -> Dataset:
        """The data that f is asked about: D itself, unless the encoding begins before f."""

    def prepare_target(self, target: Target, data: Dataset) -> Target:
        """A target's raw values in the terms of the prepared data; `data` is D itself.

        Needed for targets that D need not have (`harness.encode`), and only where `prepare` changes the data.
        """
        if self.prepare(data) is data:
            return target
        raise InputError(
            f"encoder {self.name!r} changes the data before f sees it, but cannot say what a target then is; give it a "
            "prepare_target(target, data) that returns the target's raw values as prepare(data) would show them"
        )

    def for_data(self, data: Dataset) -> Encoder:
        """The encoder with what it needs to know of D's rows; itself, where the columns' domains say enough."""

    def encode(self, rows: TrainingRows, target: Target | None) -> Features:
        """The rows as features; `target` is given when they depend on it, and None otherwise.

        A cell that no row holds gets features too, but must not change those of the others.
        """

    def labels(self, column: CellIds, features: ColumnFeatures) -> tuple[str, ...]:
        """What each feature of a column says, for people; numbers where the encoder does not say it.  # [dims]"""
        return tuple(map(str, range(features.cells.shape[1])))

    def spec(self) -> dict[str, Any]:
        """Every parameter as plain data."""


def prepared_target(encoder: Encoder, target: Target, data: Dataset) -> Target:
    """A target's raw values in the terms of the data that the encoder prepared."""
    own = getattr(encoder, "prepare_target", None)
    return own(target, data) if own is not None else Encoder.prepare_target(encoder, target, data)


def feature_names(encoder: Encoder, rows: TrainingRows, features: Features) -> tuple[str, ...]:
    """A name for every feature of these rows, such as `age: middle`."""
    own = getattr(encoder, "labels", None) or partial(Encoder.labels, encoder)
    columns = zip(rows.quasi, features.columns, strict=True)
    return tuple(f"{column.lexicon.name}: {label}" for column, encoded in columns for label in own(column, encoded))
