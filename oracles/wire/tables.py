"""Tables and predictions as packed bytes: palettes, codes and pieces of them. Knows neither schemas nor questions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.vocabulary.errors import InputError, ReleaseError
from harness.vocabulary.release import Predictions
from harness.vocabulary.table import Cells, Codes, Table
from oracles.untrusted import checked_columns, quoted
from oracles.wire._pb import oracle_pb2 as pb

FIELDS = {"i": "ints", "u": "ints", "f": "floats", "b": "bools", "O": "texts", "U": "texts"}
DTYPES: dict[str, Any] = {"ints": np.int64, "floats": np.float64, "bools": np.bool_, "texts": object}
SIGNED = {1: "<i1", 2: "<i2", 4: "<i4"}
OVERHEAD = 64  # bytes that a text of the palette costs in memory, besides its characters


def pack_table(table: Table) -> pb.Table:
    """A whole table as one message."""
    columns = zip(table.names, table.columns, strict=True)
    return pb.Table(rows=table.rows, columns=[_column(name, cells, cells.palette) for name, cells in columns])


def table_parts(table: Table, limit: int) -> Iterator[pb.Table]:
    """The table in messages of at most `limit` bytes: in one if it fits, else the palettes and then the rows."""
    whole = pack_table(table)
    if whole.ByteSize() <= limit:
        yield whole
        return
    for number, cells in enumerate(table.columns):
        for entries in _slices(cells.palette, limit // 2):
            yield _piece(table, slice(0, 0), number, entries)
    step = max(1, limit // 2 // sum(cells.code_type.itemsize for cells in table.columns))
    for start in range(0, table.rows, step):
        yield _piece(table, slice(start, start + step))


def _piece(table: Table, rows: slice, number: int | None = None, entries: slice = slice(0)) -> pb.Table:
    """These rows of all columns, and these entries of the palette of one."""
    columns = [
        _column(name, Cells(cells.palette, cells.codes[rows]), cells.palette[entries if place == number else slice(0)])
        for place, (name, cells) in enumerate(zip(table.names, table.columns, strict=True))
    ]
    return pb.Table(rows=len(range(*rows.indices(table.rows))), columns=columns)


def _slices(palette: npt.NDArray[Any], limit: int) -> Iterator[slice]:
    """Stretches of a palette that take at most `limit` bytes."""
    start = size = 0
    for place, cell in enumerate(palette.tolist()):
        each = 8 + (4 * len(cell) if isinstance(cell, str) else 8)
        if each > limit:
            raise ReleaseError(f"a cell has {len(cell)} characters; at most {limit // 4 - 2} can be sent")
        if size + each > limit:
            yield slice(start, place)
            start, size = place, 0
        size += each
    if len(palette):
        yield slice(start, len(palette))


def _column(name: str, cells: Cells, entries: npt.NDArray[Any]) -> pb.Column:
    """One column: these entries of its palette, and its codes as narrow as the whole palette allows."""
    field = FIELDS.get(cells.palette.dtype.kind)
    if field is None:
        raise ReleaseError(f"column {quoted(name)} holds cells of type {cells.palette.dtype}; expected numbers or text")
    packed = cells.narrow_codes().tobytes()
    try:
        column = pb.Column(name=name, codes=packed)
        values = getattr(column, field)
        values.SetInParent()  # an empty palette has a type too
        values.values.extend(entries.tolist())
    except (TypeError, ValueError) as error:  # a cell that is no text, or text with half a character
        raise ReleaseError(f"column {quoted(name)} cannot be sent: {error}") from None
    return column


def unpack_table(message: pb.Table) -> Table:
    """The table of one message, checked in every length and code."""
    growing = Growing(2**62)
    growing.add(message)
    return growing.finished()


class Growing:
    """A table that arrives in pieces; refuses to grow beyond its limit."""

    def __init__(self, limit: int) -> None:
        self.left = limit
        self.limit = limit
        self.names: tuple[str, ...] | None = None
        self.palettes: list[list[npt.NDArray[Any]]] = []
        self.codes: list[list[Codes]] = []

    def add(self, piece: pb.Table) -> None:
        names = tuple(column.name for column in piece.columns)
        if self.names is None:
            self.names = checked_columns(names)
            self.palettes = [[] for _ in names]
            self.codes = [[] for _ in names]
        elif names != self.names:
            raise ReleaseError(f"a later piece has the columns {_short(names)}, the first had {_short(self.names)}")
        if piece.rows and not names:
            raise ReleaseError(f"it sent {piece.rows} rows of no columns")
        self._spend(4 * piece.rows * len(names) + 4 * OVERHEAD * (1 + len(names)))  # an empty piece costs too
        for number, column in enumerate(piece.columns):
            self.palettes[number].append(self._palette(column))
            self.codes[number].append(_codes(column, piece.rows))

    def _palette(self, column: pb.Column) -> npt.NDArray[Any]:
        which = column.WhichOneof("palette")
        if which is None:
            raise ReleaseError(f"column {quoted(column.name)} has no palette")
        entries = getattr(column, which).values
        self._spend(len(column.codes) // 4 + (OVERHEAD if which == "texts" else 8) * len(entries))
        palette = np.array(list(entries), dtype=DTYPES[which]) if len(entries) else np.empty(0, DTYPES[which])
        if which == "floats" and np.isnan(palette).any():
            raise ReleaseError(f"column {quoted(column.name)} has NaN in its palette; a missing cell has the code -1")
        return palette

    def _spend(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise ReleaseError(f"it sent a release of more than {self.limit} bytes; allow more with max_reply_bytes")

    def finished(self) -> Table:
        names = self.names or ()
        columns = zip(names, self.palettes, self.codes, strict=True)
        cells = tuple(_joined(name, palettes, codes) for name, palettes, codes in columns)
        try:
            return Table(names, cells)
        except InputError as error:
            raise ReleaseError(str(error)) from None


def _codes(column: pb.Column, rows: int) -> Codes:
    width, rest = divmod(len(column.codes), rows) if rows else (1, len(column.codes))
    if rest or width not in SIGNED:
        length = f"{len(column.codes)} bytes of codes for {rows} rows"
        raise ReleaseError(f"column {quoted(column.name)} has {length}; expected 1, 2 or 4 per row")
    return np.frombuffer(column.codes, SIGNED[width]).astype(np.int32)


def _joined(name: str, palettes: list[npt.NDArray[Any]], pieces: list[Codes]) -> Cells:
    kinds = {palette.dtype for palette in palettes}
    if len(kinds) > 1:
        raise ReleaseError(f"column {quoted(name)} has palettes of different types: {sorted(map(str, kinds))}")
    palette = palettes[0] if len(palettes) == 1 else np.concatenate(palettes)
    codes = pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
    return checked_cells(name, palette, codes)


def checked_cells(name: str, palette: npt.NDArray[Any], codes: Codes) -> Cells:
    """Cells whose codes are all -1 or a position in the palette, in which each cell stands once."""
    if len(codes) and not (codes.min() >= -1 and codes.max() < len(palette)):
        row = int(np.argmax((codes < -1) | (codes >= len(palette))))
        raise ReleaseError(
            f"column {quoted(name)}, row {row}: code {codes[row]} is outside its palette of {len(palette)} cells"
        )
    return _each_cell_once(Cells(palette, codes))


def _each_cell_once(cells: Cells) -> Cells:
    """The same column with a palette in which no cell stands twice: equal releases must look equal."""
    first: dict[Any, int] = {}
    places = [first.setdefault(cell, len(first)) for cell in cells.palette.tolist()]
    if len(first) == len(places):
        return cells
    palette = np.array(list(first), dtype=cells.palette.dtype)
    return Cells(palette, np.append(places, -1).astype(np.int32)[cells.codes])


def prediction_parts(predictions: Predictions, limit: int) -> Iterator[pb.Predictions]:
    """The predictions in messages of at most about `limit` bytes, cut between their rows."""
    rows = predictions.rows
    if rows.ndim != 2:
        raise ReleaseError(f"the predictions have shape {rows.shape}; expected one row per draw")
    values = rows.shape[1]
    step = max(1, limit // max(1, 8 * values))
    for start in range(0, max(1, len(rows)), step):
        yield pb.Predictions(values=values, rows=rows[start : start + step].astype("<f8").tobytes())


class Rows:
    """Predictions that arrive in pieces; refuse to grow beyond their limit."""

    def __init__(self, limit: int) -> None:
        self.left = limit
        self.limit = limit
        self.values: int | None = None
        self.pieces: list[bytes] = []

    def add(self, piece: pb.Predictions) -> None:
        if self.values is None:
            self.values = piece.values
        row = 8 * piece.values
        if piece.values != self.values or len(piece.rows) % row if row else piece.rows:
            raise ReleaseError(f"it sent {len(piece.rows)} bytes of predictions of {piece.values} values each")
        self.left -= len(piece.rows) + OVERHEAD
        if self.left < 0:
            raise ReleaseError(f"it sent predictions of more than {self.limit} bytes; allow more with max_reply_bytes")
        self.pieces.append(piece.rows)

    def finished(self) -> Predictions:
        values = self.values or 0
        flat = np.frombuffer(b"".join(self.pieces), "<f8").astype(np.float64)
        return Predictions(flat.reshape(-1, values) if values else flat.reshape(0, 0))


def grown(growing: Growing | Rows | None, part: pb.Part, limit: int) -> Growing | Rows:
    """The release under way with one more piece, which must be of its kind."""
    if part.HasField("table"):
        growing = growing or Growing(limit)
        if isinstance(growing, Growing):
            growing.add(part.table)
            return growing
    elif part.HasField("predictions"):
        growing = growing or Rows(limit)
        if isinstance(growing, Rows):
            growing.add(part.predictions)
            return growing
    else:
        raise ReleaseError(f"a piece of draw {part.draw} is neither a table nor predictions")
    raise ReleaseError(f"the pieces of draw {part.draw} are tables as well as predictions")


def _short(names: tuple[str, ...]) -> str:
    return str([name[:40] for name in names[:8]])
