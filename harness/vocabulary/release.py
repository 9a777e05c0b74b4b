"""What f released, read against the schema: microdata as palette + codes, or predictions. Not who made it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from harness.vocabulary.dataset import Dataset, Secret
from harness.vocabulary.errors import InputError, ReleaseError, did_you_mean, nearest
from harness.vocabulary.lexicon import CellIds, Lexicon, cell_ids, not_own, without_gaps
from harness.vocabulary.schema import Schema
from harness.vocabulary.table import Cells, Codes, Table
from harness.vocabulary.values import Exact, Suppressed, Value, suppression_sign

Floats = npt.NDArray[np.float64]
MOST_CELLS, CELLS_A_ROW = 100_000, 4  # remembered of a column: so many, or so many for each row of the data
WEIGHT_NAMES = ("count", "weight", "weights", "frequency", "freq")
VENDOR_SAYS, ADDS_COLUMN = "the oracle says: ", "the release adds column "  # notes with texts that the vendor chose
SHARES_ARE_SHOWN = (
    "the release says how the original values of its classes are shared out (proportional); an adversary reads that "
    'with encoder = "proportional" only'
)
NOT_OWN = -2  # in the place of a position: a sensitive value that the data has not
NOT_ON_THE_SIMPLEX = 1e-6  # how far a row of predictions may sum away from 1


def without_vendor_text(note: str) -> str:
    """A note about releases without what the vendor wrote freely; others as they are."""
    if note.startswith(VENDOR_SAYS):
        return "the oracle says something about its releases; --reveal shows it"
    if note.startswith(ADDS_COLUMN):
        return "the release adds a column, which the data did not have; --reveal shows its name"
    return note


@dataclass(frozen=True, eq=False)
class Predictions:
    """Many draws of what a release predicts at one quasi-identifier tuple; coordinates as in D's sensitive domain."""

    rows: Floats  # [draws, n]

    @property
    def digest(self) -> str:
        return hashlib.sha256(np.ascontiguousarray(self.rows, dtype="<f8").tobytes()).hexdigest()


@dataclass(frozen=True, eq=False)
class Microdata:
    """One draw of f: rows of generalised quasi-identifiers with their sensitive values."""

    quasi: tuple[CellIds, ...]
    sensitive: tuple[Codes, ...]  # per sensitive column [rows]: positions in its domain, -1 where suppressed
    weights: Floats | None = None  # [rows]
    notes: tuple[str, ...] = ()
    _by_secret: dict[tuple[int, ...], TrainingRows] = field(default_factory=dict, init=False, repr=False)

    def for_secret(self, secret: Secret) -> TrainingRows:
        """The rows that show this secret; one whose value is suppressed is left out for this secret only.

        They are made once, so that what is counted in them is counted once for all targets.
        """
        if secret.columns not in self._by_secret:
            self._by_secret[secret.columns] = self._rows_for(secret)
        return self._by_secret[secret.columns]

    def _rows_for(self, secret: Secret) -> TrainingRows:
        labels = secret.codes(self.sensitive)
        if labels.min(initial=0) >= 0:
            return TrainingRows(self.quasi, labels, secret.values, self.weights, secret.ranks)
        known = labels >= 0
        quasi = tuple(CellIds(column.lexicon, column.ids, column.codes[known]) for column in self.quasi)
        weights = None if self.weights is None else self.weights[known]
        return TrainingRows(quasi, labels[known], secret.values, weights, secret.ranks)


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """What an adversary trains on: released rows, each with its value of one secret."""

    quasi: tuple[CellIds, ...]
    labels: Codes  # [rows], positions among the values of the secret
    values: int  # n, how many values there are
    weights: Floats | None = None  # [rows]
    ranks: tuple[int, ...] = ()  # of each value when the values are sorted; empty: they are

    @property
    def sorted_labels(self) -> Codes:
        """Each row's position among the sorted values: the order in which scikit-learn sees classes.  # [rows]"""
        return np.array(self.ranks, dtype=np.int32)[self.labels] if self.ranks else self.labels

    @property
    def in_sorted_order(self) -> npt.NDArray[np.int64]:
        """The values from the first to the last when sorted.  # [n]"""
        return np.argsort(self.ranks) if self.ranks else np.arange(self.values)

    @cached_property
    def class_weights(self) -> Floats:
        """Weight of each value of the secret.  # [n]"""
        return np.bincount(self.labels, self.weights, self.values).astype(np.float64)

    @cached_property
    def cell_weights(self) -> tuple[Floats, ...]:
        """Per quasi-identifier the weight of each (cell, value of the secret); all a naive Bayes needs of a release.

        Computed once per release and shared by all targets.  # each [cells, n]
        """
        return tuple(self._joint(column) for column in self.quasi)

    def _joint(self, column: CellIds) -> Floats:
        return count_jointly(column.codes, len(column.ids), self)


def count_jointly(codes: Codes, cells: int, rows: TrainingRows) -> Floats:
    """The weight of each (cell, value of the secret), where `codes` are the cells of the rows.  # [cells, n]"""
    pairs = cells * rows.values
    narrow = np.int32 if pairs <= np.iinfo(np.int32).max else np.int64  # half the memory to go through
    key = np.multiply(codes, rows.values, dtype=narrow)
    key += rows.labels
    return np.bincount(key, rows.weights, pairs).astype(np.float64).reshape(cells, rows.values)


class Reader:
    """Reads the releases of one dataset; remembers cells, so that one that comes again is not parsed again.

    A random f may release new cells in every draw. When a column has shown more than `most_cells`, it begins anew;
    releases that were read before keep the numbers of their cells. Numbers of two releases are comparable only where
    nothing is forgotten.
    """

    def __init__(self, data: Dataset, most_cells: float | None = None) -> None:
        self.data = data
        self.most_cells = max(MOST_CELLS, CELLS_A_ROW * data.size) if most_cells is None else most_cells
        suppressed = frozenset(data.schema.suppressed or ())
        readings = [replace(reading, suppressed=suppressed) for reading in data.readings]
        declared = zip((*data.schema.quasi, *data.schema.sensitive), readings, strict=True)
        self._quasi = len(data.schema.quasi)
        self.lexicons = tuple(
            Lexicon(column.name, reading, column.hierarchy, is_secret=place >= self._quasi)
            for place, (column, reading) in enumerate(declared)
        )

    def read(self, table: Table) -> Microdata:
        """A release as microdata, or a ReleaseError that says which column, row and cell cannot be used."""
        require_columns(self.data.schema, table)
        lexicons = self._bounded_lexicons()
        weights, notes = weights_of(self.data.schema, table)
        notes += [f"{VENDOR_SAYS}{note}" for note in table.notes]
        kept = slice(None) if weights is None or (weights > 0).all() else weights > 0
        sensitive = []
        for lexicon in lexicons[self._quasi :]:
            codes = self._sensitive_column(lexicon, table)[kept]
            sensitive.append(codes)
            if codes.min(initial=0) < 0:
                notes.append(f"rows whose {lexicon.name!r} is suppressed are left out where it is inferred")
            if codes.max(initial=-1) < 0:
                notes.append(f"a release holds no row that shows {lexicon.name!r}: nothing can be inferred from it")
        quasi = tuple(self._quasi_column(lexicon, table, kept) for lexicon in lexicons[: self._quasi])
        if any(column.lexicon.has_shares for column in quasi):
            notes.append(SHARES_ARE_SHOWN)
        return Microdata(quasi, tuple(sensitive), None if weights is None else weights[kept], tuple(notes))

    def _bounded_lexicons(self) -> tuple[Lexicon, ...]:
        lexicons = self.lexicons
        if any(len(lexicon) > self.most_cells for lexicon in lexicons):
            lexicons = tuple(each.without_cells() if len(each) > self.most_cells else each for each in lexicons)
            self.lexicons = lexicons
        return lexicons

    def _sensitive_column(self, lexicon: Lexicon, table: Table) -> Codes:
        """Each row's position in the domain of a sensitive column; -1 where the cell is suppressed."""
        column = without_gaps(table.column(lexicon.name))
        ids = lexicon.ids(column)
        if not len(ids):
            return column.codes
        positions: Codes = lexicon.each("position", lambda value: _position(lexicon, value)).take(ids)
        if positions.min() == NOT_OWN:
            raise not_own(lexicon.name, int(positions.argmin()), column)
        return positions.take(column.codes)

    def _quasi_column(self, lexicon: Lexicon, table: Table, kept: Any) -> CellIds:
        return cell_ids(lexicon, table.column(lexicon.name), kept)


def weights_of(schema: Schema, table: Table) -> tuple[Floats | None, list[str]]:
    """The count column, if there is one, and what to say of the columns that nobody declared."""
    declared = schema.weight
    if declared and declared not in table.names:
        raise ReleaseError(f"the release has no weight column {declared!r}; {did_you_mean(declared, table.names)}")
    extra = [name for name in table.names if name not in schema.names]
    name = declared
    if name is None:
        name = next((name for name in extra if name.lower() in WEIGHT_NAMES), None)
    notes = [f"{ADDS_COLUMN}{other!r}, which the data did not have" for other in extra if other != name]
    if not name:  # "" declares that no column is a weight
        return None, notes
    weights = _numbers(name, table.column(name), is_declared=declared is not None)
    if (weights <= 0).any():
        notes.append(f"rows whose {name!r} is zero or negative are left out")
    return weights, [f"column {name!r} is read as the weight of its row", *notes]


def require_clear_signs(data: Dataset) -> None:
    """Refuse data with a value such as `*` unless it is declared how releases show a suppressed cell."""
    if data.schema.suppressed is not None:
        return
    for name, reading in zip(data.schema.names, data.readings, strict=True):
        sign = suppression_sign(reading)
        if sign is not None:
            other = "*" if sign != "*" else "?"
            raise InputError(
                f"column {name!r}: {sign!r} is a value of the data and also a sign of a suppressed cell, so that a "
                f"released {sign!r} may mean either; say how the releases write a suppressed cell, such as "
                f'suppressed = "{other}" '
                f"(then {sign!r} is the value). If {sign!r} stands for a gap in the data, "
                "list it under missing_values"
            )


def require_columns(schema: Schema, table: Table) -> None:
    """Raises a ReleaseError unless a release has every declared column under its own name."""
    for name in schema.names:
        if name not in table.names:
            role = "quasi-identifier" if name in [column.name for column in schema.quasi] else "sensitive"
            raise ReleaseError(
                f"the release has no column {name!r} ({role}); it has {_listing(table.names)}. "
                f"{nearest(name, table.names)}Every declared column must come back under its own name"
            )


def _position(lexicon: Lexicon, value: Value) -> np.int32:
    """Where a released sensitive cell stands in its domain; -1 when it is suppressed."""
    if isinstance(value, Suppressed):
        return np.int32(-1)
    return np.int32(lexicon.place.get(value.raw, NOT_OWN) if isinstance(value, Exact) else NOT_OWN)


def _numbers(name: str, cells: Cells, *, is_declared: bool) -> Floats:
    numbers = pd.to_numeric(pd.Series(cells.palette), errors="coerce").to_numpy(np.float64)
    numbers = np.append(numbers, np.nan)[cells.codes]
    if not np.isfinite(numbers).all():
        row = int(np.argmin(np.isfinite(numbers)))
        remedy = (
            "fix the anonymizer, or declare another column as weight"
            if is_declared
            else f"an undeclared column called {name!r} is read as the number of people that its row stands for. If it "
            'is something else, declare weight = "" (no column is a weight), or rename it'
        )
        raise ReleaseError(f"column {name!r}, row {row} of the release: a weight must be a finite number; {remedy}")
    return numbers


def _listing(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name[:40]) for name in names[:12])
    return shown + (f" and {len(names) - 12} more" if len(names) > 12 else "") if names else "no columns"


def checked_predictions(rows: object, draws: int, values: int) -> Predictions:
    """An oracle's predictions, or a ReleaseError: finite, non-negative, rows sum to 1, shape as asked."""
    try:
        # One order in memory, so that sums are the same to the last bit whoever sent them: value after value.
        array = np.asfortranarray(rows, dtype=np.float64)
    except (TypeError, ValueError):
        raise ReleaseError(
            "the predictions are not an array of numbers; expected one row of probabilities per draw"
        ) from None
    if array.shape != (draws, values):
        raise ReleaseError(
            f"the predictions have shape {array.shape}; expected ({draws}, {values}): "
            "one row per draw, one column per sensitive value"
        )
    off = np.abs(array.sum(axis=1) - 1)
    if not (array.min() >= 0 and off.max() <= NOT_ON_THE_SIMPLEX):  # written so that NaN is refused
        draw = int(np.argmax((array < 0).any(axis=1) | ~(off <= NOT_ON_THE_SIMPLEX)))
        raise ReleaseError(
            f"the predictions of draw {draw} are not probabilities (each finite and at least 0, sum 1): "
            f"their sum is {array[draw].sum():g}"
        )
    return Predictions(array)


def as_table(answer: object) -> Table:
    """What a function that anonymizes tables may hand over; predictions are for oracles whose card says so."""
    released = as_release(answer)
    if isinstance(released, Predictions):
        what = type(answer).__name__
        raise ReleaseError(f"the anonymizer returned a {what}; expected a DataFrame with the columns of the data")
    return released


def as_release(answer: object) -> Table | Predictions:
    """What an oracle may hand over: a Table or Predictions, or plainly a DataFrame or an array of probabilities."""
    if isinstance(answer, Table | Predictions):
        return answer
    if isinstance(answer, pd.DataFrame):
        try:
            return Table.from_frame(answer)
        except InputError as error:
            raise ReleaseError(f"the release cannot be used: {error}") from None
    if isinstance(answer, np.ndarray):
        return Predictions(answer)
    what = "nothing (None)" if answer is None else f"a {type(answer).__name__}"
    raise ReleaseError(f"the anonymizer returned {what}; expected a DataFrame with the columns of the data")
