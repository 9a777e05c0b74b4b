"""A released DataFrame and a target as arrays of numbers, for people who bring their own model. Knows frames and D.

`encode` is the whole of it: D is bound to its schema and prepared as the encoding asks, the release's quasi-identifiers
are read against D, the target's raw values are typed as D's are, and the encoder does the rest. The sensitive column
is not needed and may be missing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from harness.measuring.encoding import encoder_named
from harness.measuring.features import Encoder, Floats, Target, prepared_target
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError, did_you_mean
from harness.vocabulary.release import Reader, TrainingRows, require_clear_signs
from harness.vocabulary.schema import MISSING, Schema
from harness.vocabulary.table import Cells, Table
from harness.vocabulary.values import Raw, Reading, Unreadable


def encode(
    release: pd.DataFrame,
    target: Mapping[str, Any],
    *,
    data: pd.DataFrame | Dataset,
    schema: Schema | None = None,
    encoding: str | Mapping[str, Any] | Encoder = "tf-tf",
) -> tuple[Floats, Floats]:
    """X, one row of features per released row, and x, the features of the target.  # [rows, features], [features]

    `data` is D, from which all domains come; `schema` is needed if it is a DataFrame. `target` holds a raw value for
    each quasi-identifier, which may be one that D does not have. For `quantiles-before-…` the release shows bins, and
    the target its number.
    """
    bound = BoundEncoder.of(encoding, data, schema)
    raws = bound.raws(target)
    features = bound.encoder.encode(bound.rows(release), raws if bound.encoder.depends_on_target else None)
    return features.matrix(), features.target(raws)


def _encoder(encoding: Any) -> Encoder:
    """An encoder as it is; anything else is a name, a table, or refused."""
    if isinstance(encoding, str | Mapping) or not hasattr(encoding, "encode"):
        return encoder_named(encoding)
    encoder: Encoder = encoding
    return encoder


@dataclass(frozen=True, eq=False)
class BoundEncoder:
    """An encoder, and the data whose releases it reads."""

    encoder: Encoder
    data: Dataset  # D itself
    reader: Reader  # of releases of the data that the encoder prepared

    @classmethod
    def of(
        cls, encoding: str | Mapping[str, Any] | Encoder, data: pd.DataFrame | Dataset, schema: Schema | None
    ) -> BoundEncoder:
        encoder = _encoder(encoding)
        dataset = _dataset(data, schema)
        require_clear_signs(dataset)
        prepared = encoder.prepare(dataset)
        # Rows are kept whatever their weight: X has a row for each.
        schema = Schema(prepared.schema.quasi, prepared.schema.sensitive, suppressed=prepared.schema.suppressed)
        unweighted = replace(prepared, schema=schema)
        return cls(encoder.for_data(prepared), dataset, Reader(unweighted, most_cells=math.inf))

    def rows(self, release: pd.DataFrame) -> TrainingRows:
        """All rows of a release in their order; what the sensitive columns say is not looked at."""
        schema = self.reader.data.schema
        table = Table.from_frame(release)
        hidden = Cells(np.array([], dtype=object), np.full(table.rows, -1, dtype=np.int32))
        for column in schema.quasi:
            if column.name not in table.names:
                raise InputError(f"the release has no column {column.name!r}; {did_you_mean(column.name, table.names)}")
        columns = [table.column(column.name) for column in schema.quasi] + [hidden] * len(schema.sensitive)
        quasi = self.reader.read(Table(schema.names, tuple(columns))).quasi
        return TrainingRows(quasi, np.zeros(table.rows, dtype=np.int32), 1)

    def raws(self, target: Mapping[str, Any]) -> Target:
        """A target's raw values, typed as D's are and prepared as D was."""
        columns = zip(self.data.schema.quasi, self.data.readings, strict=False)
        raws = tuple(_raw(target, column.name, reading) for column, reading in columns)
        return prepared_target(self.encoder, raws, self.data)


def _dataset(data: pd.DataFrame | Dataset, schema: Schema | None) -> Dataset:
    if isinstance(data, Dataset):
        if schema not in (None, data.schema):
            raise InputError("the data is a Dataset and has its own schema; leave `schema` out")
        return data
    if schema is None:
        raise InputError("the data is a DataFrame; give its schema: schema=Schema(quasi={…}, sensitive=…)")
    return Dataset.from_frame(data, schema)


def _raw(target: Mapping[str, Any], name: str, reading: Reading) -> Raw:
    if name not in target:
        raise InputError(f"the target has no {name!r}; {did_you_mean(name, map(str, target))}")
    value = target[name]
    if value is None or value is pd.NA or value is pd.NaT or value != value or value == MISSING:
        return MISSING
    try:
        return reading.raw(value)
    except Unreadable as error:
        raise InputError(f"the target's {name!r}: {error}") from None
