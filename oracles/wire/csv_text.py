"""CSV as anonymizers print it: a Table as bytes, and untrusted bytes as a Table. Knows no transport."""

from __future__ import annotations

import csv
import io
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np

from harness.vocabulary.errors import NO_ANSWER_IN_TIME, InputError, OracleError, ReleaseError
from harness.vocabulary.table import Cells, Codes, Table
from harness.vocabulary.values.atoms import cell_text
from oracles.untrusted import checked_columns, quoted, require_few_rows

MARKS = ",;\t|"
CELLS_AT_ONCE = 100_000  # so that a large reply is never held as Python strings all together
START = 100_000  # bytes at the beginning in which the delimiter, and a header that comes late, are looked for
LONGEST_LINE = 1_000_000
MOST_ROWS = 5_000_000  # unless the caller allows fewer


def checked_delimiter(mark: str | None) -> str | None:
    if mark is not None and (not isinstance(mark, str) or len(mark) != 1 or mark in '"\r\n'):
        raise InputError(f"delimiter must be one character, not {mark!r}")
    return mark


def to_csv(table: Table, delimiter: str = ",") -> bytes:
    """The table with a header line, in UTF-8; numbers are printed exactly, a missing cell is empty.

    Whole numbers have no `.0`, as harness.vocabulary.values prints them: a filter that echoes a cell echoes its value.
    """
    columns = [_printed(cells, delimiter) for cells in table.columns]
    header = delimiter.join(_field(name, delimiter) for name in table.names)
    lines = map(delimiter.join, zip(*columns, strict=True))
    return "\n".join([header, *lines, ""]).encode()


def _printed(cells: Cells, delimiter: str) -> list[str]:
    fields = [_field(cell_text(cell), delimiter) for cell in cells.palette.tolist()]
    spelled: list[str] = np.array([*fields, ""], dtype=object)[cells.codes].tolist()
    return spelled


def _field(text: str, delimiter: str) -> str:
    if any(mark in text for mark in (delimiter, '"', "\n", "\r")):
        return '"' + text.replace('"', '""') + '"'
    return text


def from_csv(
    reply: bytes,
    expected: Sequence[str],
    *,
    delimiter: str | None = None,
    columns: Sequence[str] = (),
    most: int = MOST_ROWS,
    until: float = math.inf,
) -> Table:
    """A reply as a table of cells exactly as printed, or a ReleaseError that says why it is none.

    The delimiter is the one that finds the expected names in the header, unless it is given; `columns` are the
    names of a reply without a header. At most `most` rows are read, and none after `until` on the monotonic clock.
    """
    start = reply[:START].decode("utf-8-sig", "replace")
    if not reply.strip():
        raise ReleaseError(f"the reply is empty; expected a CSV table with the columns {_listing(expected)}")
    mark = delimiter or _delimiter(start.partition("\n")[0], columns or expected, by_count=bool(columns))
    text = io.TextIOWrapper(io.BytesIO(reply), encoding="utf-8-sig", newline="")
    rows = csv.reader(_lines(text), delimiter=mark, strict=True)
    try:
        names = checked_columns(list(columns) or next(rows))
        if not columns:
            _require_header(start, names, expected)
        return _table(names, _checked(rows, names, most), until)
    except csv.Error as error:
        raise ReleaseError(f"line {rows.line_num} of the reply is not CSV: {error}") from None
    except UnicodeDecodeError as error:
        near = quoted(error.object[max(0, error.start - 20) : error.start + 20])
        raise ReleaseError(f"the reply is not UTF-8 text (near {near}); expected CSV in UTF-8") from None


def _lines(text: Iterable[str]) -> Iterator[str]:
    """The lines, none too long: a line of nothing but delimiters would become millions of cells."""
    for line in text:
        if len(line) > LONGEST_LINE:
            raise ReleaseError(f"the reply has a line of more than {LONGEST_LINE} characters; expected one per row")
        yield line


def _delimiter(line: str, names: Sequence[str], *, by_count: bool) -> str:
    """The mark under which the line has most of the names, or, without a header, as many fields as names."""
    split = {mark: _split(line, mark) for mark in MARKS}
    if by_count:
        return max(MARKS, key=lambda mark: len(split[mark]) == len(names))
    return max(MARKS, key=lambda mark: len(set(names) & set(split[mark])))


def _split(line: str, mark: str) -> list[str]:
    try:
        return next(csv.reader([line.rstrip("\r\n")], delimiter=mark), [])
    except csv.Error:
        return []


def _require_header(start: str, names: Sequence[str], expected: Sequence[str]) -> None:
    """The first line names at least one expected column, each name once."""
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ReleaseError(f"the reply's header names the column {quoted(twice)} twice")
    if set(names) & set(expected):
        return
    lines = [line.strip() for line in start.split("\n")]
    shown = quoted(next(line for line in lines if line))
    if lines[0].lower().startswith(("<!doctype", "<html", "<?xml")):
        raise ReleaseError(f"the reply is a web page, not CSV; it begins {shown}")
    wanted = f"expected a header line with {_listing(expected)}"
    late = next((n for n, line in enumerate(lines, 1) if any(set(expected) <= {*_split(line, m)} for m in MARKS)), 0)
    if late:
        raise ReleaseError(
            f"the reply begins with {shown} and its CSV header is on line {late}; "
            "print the CSV and nothing else, messages belong on standard error"
        )
    raise ReleaseError(
        f"the reply is not the CSV of a release: {wanted}, found {shown}; "
        "if it has no header, give its column names as the option columns"
    )


def _checked(rows: Iterator[list[str]], names: Sequence[str], most: int) -> Iterator[list[str]]:
    for number, row in enumerate(rows):
        require_few_rows(number + 1, most)
        if len(row) == len(names):
            yield row
        elif row:  # blank lines are nothing
            raise ReleaseError(
                f"row {number} of the reply has {len(row)} cells, its header has {len(names)}; "
                f"it begins {quoted(','.join(row))}"
            )


def _table(names: Sequence[str], rows: Iterator[list[str]], until: float) -> Table:
    """Palettes and codes, filled a block of rows at a time."""
    at_once = max(1, CELLS_AT_ONCE // max(1, len(names)))
    places: list[dict[str, int]] = [{} for _ in names]
    blocks: list[list[Codes]] = [[] for _ in names]
    while block := list(islice(rows, at_once)):
        if time.monotonic() > until:
            raise OracleError("the reply came, but could not be read in time", reason=NO_ANSWER_IN_TIME)
        for place, codes, column in zip(places, blocks, zip(*block, strict=True), strict=True):
            codes.append(np.array([place.setdefault(cell, len(place)) for cell in column], dtype=np.int32))
    return Table(tuple(names), tuple(_cells(place, codes) for place, codes in zip(places, blocks, strict=True)))


def _cells(place: dict[str, int], blocks: list[Codes]) -> Cells:
    codes = np.concatenate(blocks) if blocks else np.zeros(0, dtype=np.int32)
    palette = np.empty(len(place), dtype=object)
    palette[:] = list(place)
    empty = place.get("")
    if empty is None:
        return Cells(palette, codes)
    codes = np.where(codes == empty, -1, np.where(codes > empty, codes - 1, codes)).astype(np.int32)
    return Cells(np.delete(palette, empty), codes)


def _listing(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:12])
    return shown + (f" and {len(names) - 12} more" if len(names) > 12 else "")
