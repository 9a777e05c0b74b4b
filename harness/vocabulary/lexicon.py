"""The cells of one column over a whole audit: each distinct cell is read once, and numbered. Knows one column."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from harness.vocabulary.errors import ReleaseError
from harness.vocabulary.hierarchy import Hierarchy
from harness.vocabulary.table import Cells, Codes
from harness.vocabulary.values import Interval, OneOf, Other, Raw, Reading, Unreadable, Value, parse, resolve_other
from harness.vocabulary.values.shares import Shares, split_shares

MOST_PALETTES = 512  # whose numbers a lexicon remembers


@dataclass(frozen=True, eq=False)
class CellIds:
    """One released quasi-identifier: which cells of the lexicon it uses, and which of those each row holds."""

    lexicon: Lexicon
    ids: npt.NDArray[np.int64]  # [cells]
    codes: Codes  # [rows]


class Lexicon:
    """Every distinct cell that one column has shown so far, each read once and numbered."""

    def __init__(
        self, name: str, reading: Reading, hierarchy: Hierarchy | None = None, *, is_secret: bool = False
    ) -> None:
        self.name, self.is_secret = name, is_secret
        self.reading = reading
        self.hierarchy = hierarchy
        self.place = {raw: position for position, raw in enumerate(reading.domain)}
        self._lock = threading.Lock()
        self._ids: dict[object, int] = {}  # by cell as printed
        self._by_value: dict[tuple[Value, tuple[float, float] | None, Shares | None], int] = {}
        self._values: list[Value] = []
        self._shares: list[Shares | None] = []
        self._has_shares = False
        self._worked_out: dict[Hashable, npt.NDArray[Any]] = {}
        self._of_palettes: dict[int, tuple[npt.NDArray[Any], npt.NDArray[np.int64]]] = {}  # by identity of the palette

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the lock and what memory addresses name, which cannot travel."""
        return {name: value for name, value in vars(self).items() if name not in ("_lock", "_of_palettes")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock(), _of_palettes={})

    def __len__(self) -> int:
        """How many cells are remembered, however they are printed."""
        return len(self._ids)

    def without_cells(self) -> Lexicon:
        """One of the same column that has read nothing yet; what was read before stays valid with this one."""
        fresh = Lexicon(self.name, self.reading, self.hierarchy, is_secret=self.is_secret)
        fresh._has_shares = self._has_shares
        return fresh

    def ids(self, cells: Cells) -> npt.NDArray[np.int64]:
        """The lexicon's number of each cell of the palette; cells never seen are read now.

        A palette that nobody can change, which releases may share, is looked up once.
        """
        palette = cells.palette
        known = self._of_palettes.get(id(palette))
        if known is not None and known[0] is palette:
            return known[1]
        numbers = self._look_up(cells)
        if not palette.flags.writeable:
            if len(self._of_palettes) >= MOST_PALETTES:
                self._of_palettes.clear()
            self._of_palettes[id(palette)] = palette, numbers
        return numbers

    def _look_up(self, cells: Cells) -> npt.NDArray[np.int64]:
        palette = cells.palette.tolist()
        try:
            return np.fromiter(map(self._ids.__getitem__, palette), np.int64, len(palette))
        except KeyError:
            with self._lock:
                return np.array(self._learn(palette, cells), dtype=np.int64)

    def _learn(self, palette: list[object], cells: Cells) -> list[int]:
        unknown = [(position, cell) for position, cell in enumerate(palette) if cell not in self._ids]
        new = [(cell, *self._read(cell, position, cells)) for position, cell in unknown]
        lasting = [one for one in new if not isinstance(one[1], Other)]
        self._ids.update((cell, self._number(value, shares)) for cell, value, shares in lasting)
        if len(lasting) == len(new):
            return [self._ids[cell] for cell in palette]
        # What "OTHER" covers depends on the cells beside it, so it is never remembered.
        others = {cell: shares for cell, value, shares in new if isinstance(value, Other)}
        values = [Other() if cell in others else self._values[self._ids[cell]] for cell in palette]
        resolved = zip(palette, resolve_other(values, self.reading), strict=True)
        return [self._number(value, others[cell]) if cell in others else self._ids[cell] for cell, value in resolved]

    def _read(self, cell: object, position: int, cells: Cells) -> tuple[Value, Shares | None]:
        try:
            split = split_shares(cell, self.reading) if self._may_hold_shares(cell) else None
            return (parse(cell, self.reading), None) if split is None else (parse(split[0], self.reading), split[1])
        except Unreadable as error:
            if self.is_secret:  # a hierarchy, which the error would advise, says nothing about a secret
                raise not_own(self.name, position, cells) from None
            row = int(np.argmax(cells.codes == position))
            raise error.within(f"column {self.name!r}, row {row} of the release") from None

    def _may_hold_shares(self, cell: object) -> TypeGuard[str]:
        return type(cell) is str and not self.is_secret and cell not in self.reading.known

    def _number(self, value: Value, shares: Shares | None) -> int:
        printed = value.printed if isinstance(value, Interval | OneOf) else None  # equal sets may print other ends
        number = self._by_value.setdefault((value, printed, shares), len(self._values))
        if number == len(self._values):
            self._values.append(value)
            self._shares.append(shares)
            self._has_shares |= shares is not None
        return number

    def value(self, number: int) -> Value:
        return self._values[number]

    @property
    def has_shares(self) -> bool:
        """Whether a cell seen so far says how the original values of its class are shared out."""
        return self._has_shares

    def shares(self, number: int) -> Shares | None:
        """How the original values of the class are shared out, where the cell says it."""
        return self._shares[number]

    def each(self, key: Hashable, work_out: Callable[[Value], Any]) -> npt.NDArray[Any]:
        """What `work_out` gives for every cell known so far, once per cell; `key` names the question.  # [cells, …]"""
        return self.each_number(key, lambda number: work_out(self._values[number]))

    def each_number(self, key: Hashable, work_out: Callable[[int], Any]) -> npt.NDArray[Any]:
        """The same, where `work_out` is given the number of a cell.  # [cells, …]"""
        known = self._worked_out.get(key)
        seen = 0 if known is None else len(known)
        if known is None or seen < len(self._values):
            fresh = np.array([work_out(number) for number in range(seen, len(self._values))])
            known = fresh if known is None or seen == 0 else np.concatenate([known, fresh])
            self._worked_out[key] = known
        return known

    def covering(self, raw: Raw) -> npt.NDArray[np.bool_]:
        """Which of the cells known so far cover a raw value.  # [cells of the lexicon]"""
        return self.each(("covers", raw), lambda value: value.covers(raw)).astype(bool, copy=False)


def cell_ids(lexicon: Lexicon, cells: Cells, kept: Any = slice(None)) -> CellIds:
    """A released quasi-identifier, read; only the rows that are `kept`."""
    column = without_gaps(cells)
    return CellIds(lexicon, lexicon.ids(column), column.codes[kept])


def without_gaps(cells: Cells) -> Cells:
    """Missing cells as one more entry of the palette, so that the lexicon decides what they mean."""
    if cells.codes.min(initial=0) >= 0:
        return cells
    palette = np.append(cells.palette.astype(object), [None])
    return Cells(palette, np.where(cells.codes < 0, len(palette) - 1, cells.codes).astype(np.int32))


def not_own(name: str, entry: int, column: Cells) -> ReleaseError:
    """The error of a released sensitive value that the data has not."""
    row = int(np.argmax(column.codes == entry))
    return ReleaseError(
        f"column {name!r}, row {row} of the release: the sensitive value {str(column.palette[entry])[:80]!r} "
        "is not one of the data's own; the test needs sensitive values as they are, or suppressed"
    )
