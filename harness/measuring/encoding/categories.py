"""Encodings of category and ordered columns (v1 appendix A.1, j = 1, 2, 3). Knows a column's domain and its cells.

`hot` has one feature per raw value of D. `binary` and `hot-cells` forget the raw values: their categories are the cells
of the release itself, told apart by what they cover and not by how they are printed, and numbered from 1 by
(number of raw values covered, their positions in the domain). A cell that no row holds is no category: each feature
that is always 0 would change a naive Bayes. The target is the category that covers exactly its raw value, else 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from harness.measuring.encoding.column import ColumnEncoding, bit_labels, encode_each
from harness.measuring.features import ColumnFeatures, Floats
from harness.vocabulary.lexicon import CellIds
from harness.vocabulary.values import Exact, OneOf, Raw, Value, show

Numbers = npt.NDArray[np.int64]


def covered(value: Value, place: Mapping[Raw, int]) -> npt.NDArray[np.bool_]:
    """Which raw values of the domain a cell covers.  # [n]"""
    flags = np.zeros(len(place), dtype=bool)
    match value:
        case Exact(raw=raw):
            flags[[place[raw]] if raw in place else []] = True
        case OneOf(values=values):
            flags[[place[raw] for raw in values if raw in place]] = True
        case _:
            flags[:] = [value.covers(raw) for raw in place]
    return flags


@dataclass(frozen=True)
class Hot(ColumnEncoding):
    """j = 1: one feature per raw value, 1 where the cell covers it; an unknown target is all zeros."""

    relative: ClassVar[bool] = False

    def encode(self, column: CellIds, target: Raw | None) -> ColumnFeatures:
        place = column.lexicon.place
        return encode_each(column, "covered", len(place), lambda value: covered(value, place))

    def labels(self, column: CellIds) -> tuple[str, ...]:
        return tuple(str(raw) for raw in column.lexicon.reading.domain)

    def parameters(self) -> dict[str, Any]:
        return {}


@dataclass(frozen=True, eq=False)
class CellNumbers:
    """The categories of a release's own cells, numbered from 1."""

    count: int  # m
    cells: Numbers  # [cells], 0 for a cell that is no category of this release
    raws: Numbers  # [n + 1], by position in the domain; 0 where no category covers exactly that value, and at the end

    @classmethod
    def of(cls, column: CellIds) -> CellNumbers:
        lexicon = column.lexicon
        keys = lexicon.each("order of categories", lambda value: _sort_key(covered(value, lexicon.place)))[column.ids]
        held = np.zeros(len(keys), dtype=bool)
        held[column.codes] = True
        categories = np.unique(keys[held])
        numbers = np.searchsorted(categories, keys).astype(np.int64) + 1
        if not held.all():
            numbers[~np.isin(keys, categories)] = 0
        return cls(len(categories), numbers, cls._of_raws(column, numbers))

    @staticmethod
    def _of_raws(column: CellIds, numbers: Numbers) -> Numbers:
        place = column.lexicon.place
        only = column.lexicon.each("only value", lambda value: _only(covered(value, place)))[column.ids].astype(np.intp)
        raws = np.zeros(len(place) + 1, dtype=np.int64)
        raws[only] = numbers
        raws[-1] = 0  # where all cells went that cover another number of values than one
        return raws

    def of_raw(self, position: int | None) -> int:
        return int(self.raws[-1 if position is None else position])


def _sort_key(flags: npt.NDArray[np.bool_]) -> bytes:
    """Bytes that sort as (number of values, their positions) do: of equally many, a lower position leads."""
    return int(flags.sum()).to_bytes(4, "big") + np.packbits(~flags).tobytes()


def _only(flags: npt.NDArray[np.bool_]) -> int:
    """The position of the only value covered; -1 if there is another number of them."""
    return int(np.argmax(flags)) if flags.sum() == 1 else -1


@dataclass(frozen=True)
class BinaryCells(ColumnEncoding):
    """j = 2: the number of a cell's category in bit_length(m) bits, highest first."""

    relative: ClassVar[bool] = False

    def encode(self, column: CellIds, target: Raw | None) -> ColumnFeatures:
        numbers, place = CellNumbers.of(column), column.lexicon.place
        width = numbers.count.bit_length()

        def target_bits(raw: Raw) -> Floats:
            return _bits_of(np.array([numbers.of_raw(place.get(raw))]), width).ravel()

        return ColumnFeatures(_bits_of(numbers.cells, width), column.codes, target_bits)

    def labels(self, column: CellIds) -> tuple[str, ...]:
        return bit_labels(CellNumbers.of(column).count.bit_length())

    def parameters(self) -> dict[str, Any]:
        return {}


@dataclass(frozen=True)
class HotCells(ColumnEncoding):
    """j = 3 (HotA): one feature per category of the release."""

    relative: ClassVar[bool] = False

    def encode(self, column: CellIds, target: Raw | None) -> ColumnFeatures:
        numbers, place = CellNumbers.of(column), column.lexicon.place

        def target_hot(raw: Raw) -> Floats:
            return _one_hot(np.array([numbers.of_raw(place.get(raw))]), numbers.count).ravel()

        return ColumnFeatures(_one_hot(numbers.cells, numbers.count), column.codes, target_hot)

    def labels(self, column: CellIds) -> tuple[str, ...]:
        numbers = CellNumbers.of(column).cells.tolist()
        texts: dict[int, list[str]] = {number: [] for number in sorted(set(numbers)) if number}
        for number, cell in zip(numbers, column.ids.tolist(), strict=True):
            if number:
                texts[number].append(show(column.lexicon.value(cell)))
        return tuple(min(equal, key=lambda text: (len(text), text)) for equal in texts.values())

    def parameters(self) -> dict[str, Any]:
        return {}


def _bits_of(numbers: Numbers, width: int) -> Floats:
    """Each number in binary, highest bit first.  # [numbers, width]"""
    return (numbers[:, None] >> np.arange(width)[::-1] & 1).astype(np.float64)


def _one_hot(numbers: Numbers, count: int) -> Floats:
    """A row per number: 1 at that place, counted from 1; all zeros for 0.  # [numbers, count]"""
    rows = np.zeros((len(numbers), count))
    places = np.flatnonzero(numbers)
    rows[places, numbers[places] - 1] = 1
    return rows
