"""The adversary of the papers' worked example (v2 §3.2): counts the rows that look like the target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.measuring.features import Features, Floats
from harness.measuring.models.interface import Fitted, frequencies
from harness.vocabulary.release import TrainingRows


@dataclass(frozen=True)
class Conditional:
    """Relative frequency of each value among the released rows whose features all equal the target's.

    On tf-tf features these are the rows that cover her. Where there is none, the frequencies of the whole release:
    all it still says about her.
    """

    @property
    def name(self) -> str:
        return "conditional"

    @property
    def randomized(self) -> bool:
        return False

    def fit(self, features: Features, rows: TrainingRows, seed: int) -> Fitted:
        return _FittedConditional(features, rows)

    def spec(self) -> dict[str, Any]:
        return {}


@dataclass(frozen=True, eq=False)
class _FittedConditional:
    features: Features
    rows: TrainingRows

    def predict(self, target: Floats) -> Floats:
        counts = self._counts(target)
        total = counts.sum()
        return counts / total if total > 0 else frequencies(self.rows)

    def covers(self, target: Floats) -> bool:
        return bool(self._counts(target).any())

    def _counts(self, target: Floats) -> Floats:
        """The weight of each value among the rows that equal the target.  # [n]"""
        alike = self._alike(target)
        weights = None if self.rows.weights is None else self.rows.weights[alike]
        return np.bincount(self.rows.labels[alike], weights, self.rows.values).astype(np.float64)

    def _alike(self, target: Floats) -> npt.NDArray[np.intp]:
        """The rows whose features all equal the target's; each column looks only at the rows left by the others."""
        left: npt.NDArray[np.intp] | None = None
        begin = 0
        for column in self.features.columns:
            end = begin + column.cells.shape[1]
            equal = (column.cells == target[begin:end]).all(axis=1)  # [cells]
            begin = end
            left = np.flatnonzero(equal[column.codes]) if left is None else left[equal[column.codes[left]]]
        return np.arange(len(self.rows.labels)) if left is None else left
