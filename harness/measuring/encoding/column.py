"""The encoding of one column: the interface, what most encodings share, and tf. Knows cells of one column only."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from harness.measuring.features import ColumnFeatures
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError
from harness.vocabulary.lexicon import CellIds
from harness.vocabulary.values import Exact, Raw, Value

COVERED = np.ones(1)  # the features of every target under tf
COVERED.flags.writeable = False


class ColumnEncoding(Protocol):
    """How the cells of one column become features."""

    relative: ClassVar[bool]  # whether the features depend on the target

    def for_data(self, data: Dataset) -> ColumnEncoding:
        """The encoding with what it needs to know of D's rows; itself, also where a user's own has no such method."""
        return self

    def encode(self, column: CellIds, target: Raw | None) -> ColumnFeatures:
        """The features of every cell; `target` is given where they depend on it."""

    def labels(self, column: CellIds) -> tuple[str, ...]:
        """What each feature says, for people.  # [dims]"""

    def parameters(self) -> dict[str, Any]:
        """Every parameter as plain data."""


def bound(encoding: ColumnEncoding, data: Dataset) -> ColumnEncoding:
    """The encoding after D is known."""
    return encoding.for_data(data) if hasattr(encoding, "for_data") else encoding


def encode_each(
    column: CellIds, key: Hashable, dims: int, work_out: Callable[[Value], npt.NDArray[Any]]
) -> ColumnFeatures:
    """Features that depend on nothing but the cell itself: worked out once per cell of an audit, under `key`.

    The target is the cell that says exactly its raw value.
    """
    known = column.lexicon.each(key, work_out)
    cells = known[column.ids].reshape(len(column.ids), dims).astype(np.float64)
    return ColumnFeatures(cells, column.codes, lambda raw: work_out(Exact(raw)).astype(np.float64))


def bit_labels(width: int) -> tuple[str, ...]:
    return tuple(f"bit {bit}" for bit in reversed(range(width)))


@dataclass(frozen=True)
class TrueFalse(ColumnEncoding):
    """TF (i = 6, j = 4): 1 where the cell covers the target's value, else 0; the target itself is 1."""

    relative: ClassVar[bool] = True

    def encode(self, column: CellIds, target: Raw | None) -> ColumnFeatures:
        if target is None:
            raise InputError(f"column {column.lexicon.name!r}: tf compares cells with a target, and none was given")
        covers = column.lexicon.covering(target)[column.ids]
        return ColumnFeatures(covers.astype(np.float64)[:, None], column.codes, lambda raw: COVERED)

    def labels(self, column: CellIds) -> tuple[str, ...]:
        return ("covers the target",)

    def parameters(self) -> dict[str, Any]:
        return {}
