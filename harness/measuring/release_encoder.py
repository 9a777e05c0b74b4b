"""Encodings as a scikit-learn transformer, for use in a Pipeline. Loads scikit-learn, so import it only when needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from harness.measuring.encode_release import BoundEncoder
from harness.measuring.features import Encoder, Features, Floats, Target, feature_names
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError
from harness.vocabulary.lexicon import CellIds
from harness.vocabulary.release import TrainingRows
from harness.vocabulary.schema import Schema


class ReleaseEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Turns released DataFrames into features.

    `fit` remembers the release: the cells of a later frame are encoded with the categories of the one that was fitted.
    `target`, a raw value per quasi-identifier, is needed by the encodings that depend on it, such as tf-tf.
    """

    def __init__(
        self,
        encoding: str | Mapping[str, Any] | Encoder = "tf-tf",
        schema: Schema | None = None,
        data: pd.DataFrame | Dataset | None = None,
        target: Mapping[str, Any] | None = None,
    ) -> None:
        self.encoding = encoding
        self.schema = schema
        self.data = data
        self.target = target

    def fit(self, release: pd.DataFrame, y: object = None) -> Self:
        """Reads D and the release; `y` is ignored."""
        if self.data is None:
            raise InputError("ReleaseEncoder needs the data that was anonymized: ReleaseEncoder(…, data=…)")
        bound = BoundEncoder.of(self.encoding, self.data, self.schema)
        self.target_ = self._raws(bound) if bound.encoder.depends_on_target else None
        self.bound_ = bound
        self.rows_ = bound.rows(release)
        self.feature_names_in_ = np.array([str(name) for name in release.columns], dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)
        return self

    def _raws(self, bound: BoundEncoder) -> Target:
        if self.target is None:
            raise InputError(
                f"encoding {bound.encoder.name!r} depends on the target; give its raw values: "
                "ReleaseEncoder(…, target={…})"
            )
        return bound.raws(self.target)

    def transform(self, release: pd.DataFrame) -> Floats:
        """One row of features per released row.  # [rows, features]"""
        check_is_fitted(self)
        columns = self.bound_.rows(release).quasi
        # The cells of this release follow those of the fitted one. No fitted row holds them: no new categories.
        joined = tuple(
            CellIds(fitted.lexicon, np.concatenate([fitted.ids, column.ids]), fitted.codes)
            for fitted, column in zip(self.rows_.quasi, columns, strict=True)
        )
        features = self._encode(replace(self.rows_, quasi=joined))
        blocks = [
            encoded.cells[column.codes + len(fitted.ids)]
            for encoded, column, fitted in zip(features.columns, columns, self.rows_.quasi, strict=True)
        ]
        return np.concatenate(blocks, axis=1)

    def transform_target(self, target: Mapping[str, Any]) -> Floats:
        """The features of a target's raw values.  # [features]"""
        check_is_fitted(self)
        return self._encode(self.rows_).target(self.bound_.raws(target))

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[Any]:
        """Each feature by its column and what it says, such as `age: middle`; names of inputs are not needed."""
        check_is_fitted(self)
        names = feature_names(self.bound_.encoder, self.rows_, self._encode(self.rows_))
        return np.array(names, dtype=object)

    def _encode(self, rows: TrainingRows) -> Features:
        return self.bound_.encoder.encode(rows, self.target_)
