"""Palette + codes, the shape in which rows travel: knows columns of cells, not what they mean."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from harness.vocabulary.errors import InputError, ReleaseError

Codes = npt.NDArray[np.int32]
WIDTHS = ((2**7, "<i1"), (2**15, "<i2"), (2**31, "<i4"))  # palettes up to this size: how wide a code travels


@dataclass(frozen=True, eq=False)
class Cells:
    """One column: its distinct cells (int64, float64, bool or text) and a code per row; -1 is a missing cell."""

    palette: npt.NDArray[Any]
    codes: Codes

    @classmethod
    def of(cls, values: Any) -> Cells:
        """The cells of any sequence, in the order of first appearance; what is no number or truth is text."""
        series = values if isinstance(values, pd.Series) else pd.Series(values)
        if isinstance(series.dtype, pd.CategoricalDtype):
            series = series.astype(series.cat.categories.dtype)
        dtype = {"i": np.int64, "u": np.int64, "f": np.float64, "b": np.bool_}.get(series.dtype.kind, object)
        if series.dtype.kind == "u" and series.max() > np.iinfo(np.int64).max:
            dtype = object  # as text rather than wrapped to a negative number
        ready = dtype is not object or isinstance(series.dtype, pd.StringDtype)
        cells: Any = (series if ready else _texts(series)).array  # quicker to number than a Series
        codes, uniques = pd.factorize(cells)
        return cls(np.asarray(uniques, dtype=dtype), codes.astype(np.int32))

    def __reduce__(self) -> tuple[Any, ...]:
        """Codes travel to other processes as narrow as they can be: most columns have fewer than 128 cells."""
        return _arrived, (self.palette, self.narrow_codes())

    def narrow_codes(self) -> npt.NDArray[Any]:
        """The codes in as few bytes each as the palette allows; a code that it lacks would become another one."""
        if len(self.codes) and not (self.codes.min() >= -1 and self.codes.max() < len(self.palette)):
            raise ReleaseError(f"a code of a column is outside its palette of {len(self.palette)} cells")
        return self.codes.astype(self.code_type)

    @property
    def code_type(self) -> np.dtype[Any]:
        return np.dtype(next(dtype for most, dtype in WIDTHS if len(self.palette) <= most))

    def values(self) -> npt.NDArray[Any]:
        """The column spelled out, as pandas would have read it: missing numbers are NaN, missing text None."""
        if not (self.codes < 0).any():
            return self.palette[self.codes]
        if self.palette.dtype == object:
            return np.append(self.palette, [None])[self.codes]
        return np.append(self.palette.astype(np.float64), np.nan)[self.codes]

    def array(self) -> Any:
        """The same with the dtype that pandas gives such a column; text gets it once per distinct cell, not per row."""
        if self.palette.dtype != object or len(self.palette) == 0 or (self.codes < 0).any():
            return self.values()
        return pd.Series(self.palette).array.take(self.codes)

    def without(self, rows: Sequence[int]) -> Cells:
        return Cells(self.palette, np.delete(self.codes, rows))

    def taking(self, rows: npt.NDArray[Any] | slice) -> Cells:
        """The cells of these rows (indices or a mask), in this order."""
        return Cells(self.palette, self.codes[rows])

    def alphabetic(self) -> Cells:
        """The same column with only the cells in use, sorted by how they print."""
        cells = self.canonical()
        order = np.array(sorted(range(len(cells.palette)), key=lambda code: repr(cells.palette[code])), dtype=np.int32)
        rank = np.append(np.argsort(order), [-1]).astype(np.int32)  # a missing cell's -1 picks the last entry
        return Cells(cells.palette[order], rank[cells.codes])

    def canonical(self) -> Cells:
        """The same column with only the cells in use, in the order of first appearance."""
        rows = len(self.codes)
        first = np.full(len(self.palette) + 1, rows)  # the last entry is the missing cell's, whose code is -1
        first[self.codes[::-1]] = np.arange(rows)[::-1]  # the last assignment wins: the first appearance
        order = np.argsort(first[:-1], kind="stable")[: np.count_nonzero(first[:-1] < rows)]
        rank = np.full(len(self.palette) + 1, -1, dtype=np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        return Cells(self.palette[order], rank[self.codes])


def _arrived(palette: npt.NDArray[Any], codes: npt.NDArray[Any]) -> Cells:
    return Cells(palette, codes.astype(np.int32))


def _texts(series: pd.Series[Any]) -> pd.Series[Any]:
    """Anything else as text, as its maker would print it; dates without a time of day as plain dates."""
    if series.dtype.kind == "M":
        midnight = (series.dropna() == series.dropna().dt.normalize()).all()
        return pd.Series(series.dt.strftime("%Y-%m-%d" if midnight else "%Y-%m-%dT%H:%M:%S"), dtype=object)
    if pd.api.types.infer_dtype(series, skipna=True) == "string":
        return series.astype(object)
    return series.map(_text).astype(object)


def _text(cell: object) -> object:
    if cell is None or cell is pd.NA or cell is pd.NaT or (isinstance(cell, float) and cell != cell):
        return None
    return cell if isinstance(cell, str) else str(cell)


@dataclass(frozen=True, eq=False)
class Table:
    """Named columns of equal length: what an anonymizer is given, and what it gives back."""

    names: tuple[str, ...]
    columns: tuple[Cells, ...]
    notes: tuple[str, ...] = ()  # what the anonymizer says about this release; no part of its digest

    def __post_init__(self) -> None:
        twice = sorted({name for name in self.names if self.names.count(name) > 1})
        if twice:
            raise InputError(f"column {twice[0]!r} occurs more than once in the table; rename one of them")

    @classmethod
    def from_frame(cls, frame: pd.DataFrame) -> Table:
        return cls(tuple(map(str, frame.columns)), tuple(Cells.of(column) for _, column in frame.items()))

    def to_frame(self) -> pd.DataFrame:
        """A fresh DataFrame that its receiver may change or empty as it likes."""
        arrays = {name: cells.array() for name, cells in zip(self.names, self.columns, strict=True)}
        return pd.DataFrame(arrays, copy=False)  # they were made for it

    @property
    def rows(self) -> int:
        return len(self.columns[0].codes) if self.columns else 0

    def column(self, name: str) -> Cells:
        return self.columns[self.names.index(name)]

    def selecting(self, names: Sequence[str]) -> Table:
        return Table(tuple(names), tuple(self.column(name) for name in names))

    def taking(self, rows: npt.NDArray[Any]) -> Table:
        return Table(self.names, tuple(cells.taking(rows) for cells in self.columns))

    def without(self, rows: Sequence[int]) -> Table:
        """D⁻ⁱ: the table less the rows of one person, the others in their order."""
        return Table(self.names, tuple(cells.without(rows) for cells in self.columns))

    @cached_property
    def digest(self) -> str:
        """SHA-256 of what the rows say, whatever order the palettes happen to have."""
        return _hashed([(name, cells.canonical()) for name, cells in zip(self.names, self.columns, strict=True)])

    @cached_property
    def row_order_invariant_digest(self) -> str:
        """The same for tables that differ only in the order of their rows or columns."""
        columns, order = self._alphabetic()
        return _hashed([(name, cells.taking(order)) for name, cells in columns])

    def with_used_cells(self) -> Table:
        """The same rows, with palettes that hold no cell that no row has."""
        return replace(self, columns=tuple(cells.canonical() for cells in self.columns))

    def in_canonical_order(self) -> Table:
        """The same rows in an order that depends on nothing but the rows."""
        return self.taking(self._alphabetic()[1])

    def _alphabetic(self) -> tuple[list[tuple[str, Cells]], npt.NDArray[np.intp]]:
        """The columns by name, with their palettes in order, and the order of the rows by them."""
        columns = [(name, cells.alphabetic()) for name, cells in zip(self.names, self.columns, strict=True)]
        columns.sort(key=lambda column: column[0])
        order = np.lexsort([cells.codes for _, cells in columns]) if columns else np.zeros(0, dtype=np.intp)
        return columns, order


def _hashed(columns: Sequence[tuple[str, Cells]]) -> str:
    state = hashlib.sha256()
    for name, cells in columns:
        for word in (name, cells.palette.dtype.kind, *map(repr, cells.palette.tolist())):
            encoded = word.encode()
            state.update(len(encoded).to_bytes(8, "little") + encoded)
        state.update(cells.codes.astype("<i4").tobytes())
    return state.hexdigest()
