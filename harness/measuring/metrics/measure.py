"""`harness.metrics`: from what a user gives to the metrics of a release.

Columns may be declared (a mapping, as everywhere) or only named (a list). What is only named is read as far as that
is possible: numbers where the original has numbers, else categories; a cell that then cannot be read leaves the
metrics of its column unmeasured, while a declared column with such a cell is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from harness.measuring.features import Encoder
from harness.measuring.metrics.release_metrics import MeasuredRelease, measurable_lexicons
from harness.measuring.metrics.secrets import Plain
from harness.measuring.metrics.utility import ENCODER, utility_of
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError, ReleaseError
from harness.vocabulary.release import as_release, require_columns
from harness.vocabulary.schema import Column, Schema
from harness.vocabulary.table import Table


def metrics(
    df: pd.DataFrame,
    quasi: Mapping[str, Any] | Sequence[str] | Sequence[Column],
    sensitive: str | Mapping[str, Any] | Sequence[str | Column | Mapping[str, Any]],
    original: pd.DataFrame | None = None,
    *,
    weight: str | None = None,
    suppressed: str | Sequence[str] | None = None,
    utility: Any = None,
    encoder: str | Mapping[str, Any] | Encoder = ENCODER,
    seed: int = 0,
) -> dict[str, Any]:
    """Metrics of a released table: k, ℓ, t, discrimination rates, information loss, untrue cells.

    Classes are rows with the same quasi-identifiers as printed. `original` is the data that was anonymized. With
    `utility`, a model ("mlp", "logistic", any scikit-learn classifier), also how well the release predicts its
    sensitive column, cross-validated on features of `encoder`. What is not measured is None, and `notes` says why.
    """
    if not isinstance(df, pd.DataFrame):
        raise InputError(f"the release must be a DataFrame, not a {type(df).__name__}")
    if original is not None and not isinstance(original, pd.DataFrame):
        raise InputError(f"the original must be a DataFrame, not a {type(original).__name__}")
    only_named = not isinstance(quasi, Mapping) and all(isinstance(name, str) for name in quasi)
    columns = _named(quasi, original) if only_named else quasi
    schema = Schema(columns, sensitive, weight, suppressed=suppressed)  # type: ignore[arg-type]
    data = None if original is None else Dataset.from_frame(original, schema, missing="keep")
    measured = read_release(df, schema, data, only_named=only_named)
    return measure(measured, utility, encoder, seed)


def measure(
    measured: MeasuredRelease, utility: Any = None, encoder: str | Mapping[str, Any] | Encoder = ENCODER, seed: int = 0
) -> Plain:
    """All metrics of a release that was read."""
    found = measured.metrics()
    try:
        return {**found, "utility": None if utility is None else utility_of(measured, utility, encoder, seed)}
    except ReleaseError as error:  # such as an encoder that needs more than this release says
        raise InputError(str(error)) from None


def read_release(
    df: pd.DataFrame, schema: Schema, data: Dataset | None, *, only_named: bool = False
) -> MeasuredRelease:
    """A released table, read; where its columns are only named, as far as that is possible."""
    try:
        table = as_release(df)
        assert isinstance(table, Table)
        require_columns(schema, table)
        lexicons = measurable_lexicons(table, schema, data) if only_named else None
        return MeasuredRelease.of(table, schema, data, lexicons)
    except ReleaseError as error:  # the user gave this release, and no oracle
        raise InputError(str(error)) from None


def _named(quasi: Any, original: pd.DataFrame | None) -> list[Column]:
    if isinstance(quasi, str):
        raise InputError(f"quasi must be a list of columns, or map each to its kind, not {quasi!r}")
    numbers = () if original is None else tuple(original.select_dtypes("number").columns)
    return [Column(name, "number" if name in numbers else "category") for name in quasi]
