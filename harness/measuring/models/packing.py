"""Equal rows of a release as one row with a weight. Knows features and training rows, no classifier.

A release that generalises has few distinct rows: groups of five of 10,000 Adult records have some thousand, of which
each is a cell per column and a value of the secret. A model whose training sums over rows sees the same sums when each
distinct row stands once with its number, and is trained many times faster. Which models those are says `classifier`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.measuring.features import Features, Floats
from harness.vocabulary.release import TrainingRows
from harness.vocabulary.table import Codes

Keys = npt.NDArray[np.int64]
LARGEST_KEY = 2**62


@dataclass(frozen=True, eq=False)
class PackedRows:
    """Each distinct row of features and value once, in an order that does not depend on that of the release."""

    matrix: Floats  # [distinct, features]
    labels: Codes  # [distinct], positions among the sorted values
    weights: Floats  # [distinct], how many rows, or the sum of their weights


def pack_rows(features: Features, rows: TrainingRows) -> PackedRows:
    """The rows of a release, equal ones once."""
    matrix, numbers = _distinct_rows(features)
    labels = rows.sorted_labels
    pairs = numbers * rows.values + labels
    keys, first = np.unique(pairs, return_index=True)
    weights = np.bincount(np.searchsorted(keys, pairs), rows.weights, len(keys)).astype(np.float64)
    return PackedRows(matrix[keys // rows.values], labels[first], weights)


def _distinct_rows(features: Features) -> tuple[Floats, Keys]:
    """The distinct rows of features, sorted, and the number of each row among them.  # [distinct, features], [rows]"""
    columns = [np.unique(column.cells, axis=0, return_inverse=True) for column in features.columns]
    codes = [inverse.reshape(-1)[column.codes] for (_, inverse), column in zip(columns, features.columns, strict=True)]
    joint = _joined(zip(codes, (len(cells) for cells, _ in columns), strict=True))
    _, first, numbers = np.unique(joint, return_index=True, return_inverse=True)
    blocks = [cells[code[first]] for (cells, _), code in zip(columns, codes, strict=True)]
    return np.concatenate(blocks, axis=1), numbers.reshape(-1)


def _joined(columns: Iterable[tuple[Keys, int]]) -> Keys:
    """One number per row that tells its codes in all columns, and sorts as they do."""
    joint, size = np.zeros(1, dtype=np.int64), 1
    for codes, cells in columns:
        if size > LARGEST_KEY // max(cells, 1):
            distinct, numbers = np.unique(joint, return_inverse=True)
            joint, size = numbers.reshape(-1), len(distinct)
        joint, size = joint * cells + codes, size * cells
    return joint
