"""Priors that must be bound to the data: labels, shapes and sums are checked, rows are aligned with those of D."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from harness.measuring.features import Floats
from harness.measuring.prior.interface import BoundPrior, Prior, Secrets
from harness.vocabulary.dataset import Dataset, Secret
from harness.vocabulary.errors import InputError, did_you_mean
from harness.vocabulary.table import Cells

SUM_TOLERANCE = 1e-6  # how far a distribution may sum away from 1
SHOWN = 3  # entries of a distribution that its name lists


class _Declared(ABC):
    """A prior that must be bound to the data before it can be used."""

    @property
    @abstractmethod
    def name(self) -> str:
        """How it is printed."""

    @property
    def per_record(self) -> bool:
        raise self._unbound()

    def weights(self, row: int, secret: Secret) -> Floats | None:
        raise self._unbound()

    def spec(self) -> dict[str, Any]:
        raise self._unbound()

    def _unbound(self) -> InputError:
        return InputError(f"prior {self.name} does not know the data yet; call for_data first")


@dataclass(frozen=True)
class DistributionPrior(_Declared):
    """One distribution for everybody, by labels."""

    probabilities: Mapping[str, float]
    columns: ClassVar[tuple[str, ...]] = ()

    @property
    def name(self) -> str:
        shown = [f"{label} {share:g}" for label, share in self.probabilities.items()]
        return ", ".join([*shown[:SHOWN], *(["…"] if len(shown) > SHOWN else [])])

    def for_data(self, data: Dataset, secrets: Secrets, frame: pd.DataFrame | None = None) -> Prior:
        secret = _only(secrets, self.name)
        where = f"prior of {secret.name!r}"
        _require_labels(secret, list(self.probabilities), where)
        distribution = np.array([[self.probabilities[label] for label in secret.labels]], dtype=np.float64)
        _require_distributions(distribution, where)
        return BoundPrior(self.name, distribution, np.zeros(data.size, dtype=np.int64), False, dict(self.probabilities))


@dataclass(frozen=True, eq=False)
class TablePrior(_Declared):
    """One distribution per row of D or of its source; a frame's columns, or a file's, are the labels."""

    table: Any  # DataFrame or array [rows, n]
    file: str | None = None  # its name, where it was read from one
    columns: ClassVar[tuple[str, ...]] = ()

    @property
    def name(self) -> str:
        return "table" if self.file is None else f"file {self.file}"

    def for_data(self, data: Dataset, secrets: Secrets, frame: pd.DataFrame | None = None) -> Prior:
        secret = _only(secrets, self.name)
        where = f"prior of {secret.name!r} ({self.name})"
        table = _of_records(data, _by_labels(self.table, secret, where), where)
        unknown = np.isnan(table).all(axis=1)
        _require_distributions(table, where, unless=unknown)
        codes = np.where(unknown, -1, np.arange(len(table)))
        return BoundPrior(self.name, table, codes, True, "one distribution per row")


@dataclass(frozen=True, eq=False)
class ColumnPrior(_Declared):
    """A believed value per row, held with some confidence."""

    column: Any  # the name of a column of the source, or the believed values themselves
    confidence: float

    def __post_init__(self) -> None:
        if not isinstance(self.confidence, Real) or isinstance(self.confidence, bool) or not 0 <= self.confidence <= 1:
            raise InputError(f"prior: confidence must be a probability from 0 to 1, not {self.confidence!r}")

    @property
    def name(self) -> str:
        column = self.column if isinstance(self.column, str) else getattr(self.column, "name", None) or "values"
        return f"{column} with confidence {self.confidence:g}"

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,) if isinstance(self.column, str) else ()

    def for_data(self, data: Dataset, secrets: Secrets, frame: pd.DataFrame | None = None) -> Prior:
        secret = _only(secrets, self.name)
        where = f"prior of {secret.name!r} ({self.name})"
        source = self._cells(data, frame, where)
        believed = Cells(source.palette, _of_records(data, source.codes, where))
        positions = _positions(believed, secret, data, where)
        codes = believed.codes.astype(np.int64)
        return BoundPrior(self.name, self._distributions(positions, secret.values), codes, True, self.name)

    def _cells(self, data: Dataset, frame: pd.DataFrame | None, where: str) -> Cells:
        """The believed values as they stand in the source, or in D where the source is not at hand."""
        if not isinstance(self.column, str):
            return _with_gaps(Cells.of(self.column))
        if frame is not None and self.column in frame.columns:
            return _with_gaps(Cells.of(frame[self.column]))
        if frame is None and self.column in data.table.names:
            return data.table.column(self.column)
        names = data.table.names if frame is None else [str(name) for name in frame.columns]
        source = "the table of the audit" if frame is None else "the data"
        raise InputError(f"{where}: {source} has no column {self.column!r}; {did_you_mean(self.column, names)}")

    def _distributions(self, believed: npt.NDArray[np.int64], values: int) -> Floats:
        """For each believed value (a position) the distribution that it stands for.  # [believed, n]"""
        if values == 1:
            return np.ones((len(believed), 1))
        table = np.full((len(believed), values), (1 - self.confidence) / (values - 1))
        table[np.arange(len(believed)), believed] = self.confidence
        return table


def _only(secrets: Secrets, name: str) -> Secret:
    """The secret that a prior is about, which must be the only one."""
    if len(secrets) == 1:
        return secrets[0]
    names = [secret.name for secret in secrets]
    raise InputError(
        f"prior {name} is about one secret, and there are {len(names)}; give one for each: {{{names[0]!r}: …}}"
    )


def _require_labels(secret: Secret, labels: Sequence[str], where: str) -> None:
    unknown = next((label for label in labels if label not in secret.labels), None)
    if unknown is not None:
        raise InputError(f"{where}: {unknown!r} is not one of its values; {did_you_mean(unknown, secret.labels)}")
    missing = [label for label in secret.labels if label not in labels]
    if missing:
        raise InputError(f"{where}: nothing is said about {', '.join(map(repr, missing))}; give 0 to what cannot be")
    if len(labels) > len(secret.labels):
        raise InputError(f"{where}: a value is named twice; every value must be named once")


def _by_labels(table: Any, secret: Secret, where: str) -> Floats:
    """The columns of a table in the order of the values.  # [rows, n]"""
    if isinstance(table, pd.DataFrame):
        named = table.set_axis([str(name) for name in table.columns], axis=1)
        _require_labels(secret, list(named.columns), where)
        table = named.loc[:, list(secret.labels)]
    try:
        numbers = np.asarray(table, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise InputError(f"{where}: expected numbers: {error}") from None
    if numbers.ndim != 2 or numbers.shape[1] != secret.values:
        raise InputError(
            f"{where}: the shape is {numbers.shape}; expected one column for each of {secret.values} values"
        )
    return numbers


def _of_records(data: Dataset, rows: npt.NDArray[Any], where: str) -> npt.NDArray[Any]:
    """What stands beside each row of D, from a list about D or about its source."""
    whole = data.size + data.dropped + data.removed
    if data.rows is not None and len(rows) == whole:
        return rows[data.rows]
    if len(rows) == data.size:
        return rows
    raise InputError(f"{where}: {len(rows)} rows; expected one for each of the {whole} rows of the data")


def _require_distributions(table: Floats, where: str, unless: npt.NDArray[np.bool_] | None = None) -> None:
    good = (table >= 0).all(axis=1) & (np.abs(table.sum(axis=1) - 1) <= SUM_TOLERANCE)  # NaN is not good
    if unless is not None:
        good |= unless
    if not good.all():
        row = int(np.argmin(good))
        place = f", row {row}" if len(table) > 1 else ""
        raise InputError(
            f"{where}{place}: expected probabilities (each at least 0, sum 1), whose sum is {table[row].sum():g} "
            f"and whose smallest is {table[row].min():g}"
        )


def _with_gaps(cells: Cells) -> Cells:
    """Empty text, as CSV files have it, is no value either."""
    empty = np.array([cell == "" for cell in cells.palette.tolist()] + [True])  # the last is for code -1, a gap
    return Cells(cells.palette, np.where(empty[cells.codes], -1, cells.codes).astype(np.int32))


def _positions(believed: Cells, secret: Secret, data: Dataset, where: str) -> npt.NDArray[np.int64]:
    """The position of each distinct believed value among the values of the secret; unused ones are 0.  # [cells]"""
    place = {label: position for position, label in enumerate(secret.labels)}
    positions = np.zeros(len(believed.palette), dtype=np.int64)
    for code in np.unique(believed.codes[believed.codes >= 0]):
        label = _label(believed.palette[code], place)
        if label not in place:
            row = data.row(int(np.argmax(believed.codes == code)))
            raise InputError(f"{where}, row {row}: {label!r} is not one of its values; {did_you_mean(label, place)}")
        positions[code] = place[label]
    return positions


def _label(cell: Any, known: Container[str]) -> str:
    """A believed value as labels write it; a column with gaps holds whole numbers as floats."""
    text = str(cell)
    return str(int(cell)) if text not in known and isinstance(cell, float) and cell.is_integer() else text
