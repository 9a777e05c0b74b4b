"""Small encoded releases, by hand and at random, for the tests of models."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from harness.measuring.features import ColumnFeatures, Features, Floats
from harness.measuring.models import Fitted, Model
from harness.vocabulary.release import TrainingRows

VALUES = 4  # of the secret

LEVELS = st.sampled_from([-0.5, 0.0, 0.25, 0.5, 1.0])
COUNTS = st.integers(0, 3).map(float)
SHARES = st.integers(0, 64).map(lambda number: number / 64)


def column(cells: Any, codes: Any) -> ColumnFeatures:
    features = np.asarray(cells, dtype=np.float64)
    return ColumnFeatures(features, np.asarray(codes, dtype=np.int32), lambda raw: features[0])


def training(labels: Any, weights: Any = None, values: int = VALUES) -> TrainingRows:
    given_weights = None if weights is None else np.asarray(weights, dtype=np.float64)
    return TrainingRows((), np.asarray(labels, dtype=np.int32), values, given_weights)


def one_column(features: Any, labels: Any, weights: Any = None) -> tuple[Features, TrainingRows]:
    """A release whose rows all have cells of their own."""
    return Features((column(features, range(len(labels))),)), training(labels, weights)


@st.composite
def releases(draw: st.DrawFn, numbers: st.SearchStrategy[float]) -> tuple[Features, TrainingRows, Floats]:
    """A release and a target, both random: some lack a value, have one value only, unused cells, or no row at all."""
    rows = draw(st.integers(0, 14))
    columns = []
    for _ in range(draw(st.integers(1, 3))):
        cells, dims = draw(st.integers(1, 5)), draw(st.integers(1, 3))
        features = draw(st.lists(numbers, min_size=cells * dims, max_size=cells * dims))
        codes = draw(st.lists(st.integers(0, cells - 1), min_size=rows, max_size=rows))
        columns.append(column(np.reshape(features, (cells, dims)), codes))
    labels = draw(st.lists(st.integers(0, VALUES - 1), min_size=rows, max_size=rows))
    weights = draw(st.none() | st.lists(st.floats(0.25, 4), min_size=rows, max_size=rows))
    wide = sum(one.cells.shape[1] for one in columns)
    target = np.array(draw(st.lists(numbers, min_size=wide, max_size=wide)))
    return Features(tuple(columns)), training(labels, weights), target


def fitted(model: Model, release: tuple[Features, TrainingRows], seed: int = 0) -> Fitted:
    return model.fit(*release, seed)


def close(ours: Floats, theirs: Floats, tolerance: float = 1e-12) -> None:
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance)
