"""Equivalence classes: the rows of a release that show the same cells as printed. Knows columns, not meanings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.vocabulary.table import Cells
from harness.vocabulary.values.atoms import cell_text

Floats = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Classes:
    """Which class each row is in, and how many people each class holds."""

    ids: Longs  # [rows]
    sizes: Floats  # [classes], people: rows, or the sum of their weights
    weights: Floats | None = None  # [rows]

    @classmethod
    def of(cls, columns: Sequence[Cells], weights: Floats | None = None) -> Classes:
        """The classes of these columns; missing cells are equal to each other."""
        rows = len(columns[0].codes)
        ids = np.zeros(rows, dtype=np.int64)
        for cells in columns:
            codes = printed_codes(cells)
            ids = np.unique(ids * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)[1].reshape(-1)
        return cls(ids, np.bincount(ids, weights).astype(np.float64), weights)

    @property
    def people(self) -> float:
        return float(self.sizes.sum())

    def counts(self, codes: npt.NDArray[np.signedinteger], values: int) -> Floats:
        """How many people of each class have each value; rows whose code is -1 show none.  # [classes, values]"""
        shown = codes >= 0
        key = self.ids[shown] * values + codes[shown]
        weights = None if self.weights is None else self.weights[shown]
        return np.bincount(key, weights, len(self.sizes) * values).astype(np.float64).reshape(-1, values)

    def total(self, numbers: npt.NDArray[Any]) -> float:
        """The sum of a number per row, or of flags, over all people.  # numbers [rows]"""
        return float(numbers.sum() if self.weights is None else (numbers * self.weights).sum())


def printed_codes(cells: Cells) -> Longs:
    """A number per row, equal for cells of equal text; 0 for a missing cell.  # [rows]"""
    numbers: dict[str, int] = {"": 0}
    codes = [numbers.setdefault(cell_text(cell), len(numbers)) for cell in cells.palette.tolist()]
    return np.array([*codes, 0], dtype=np.int64)[cells.codes]  # a missing cell's -1 picks the last entry
