"""Data files as frames: CSV with any of the usual delimiters, Parquet and Excel. Knows columns, not their meaning."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from harness.vocabulary.errors import InputError, did_you_mean, message_of
from harness.vocabulary.files import NOT_DECOMPRESSED, kind_of_file, not_utf_8, open_bytes, open_text
from harness.vocabulary.persons import LABELS, RowName, RowNames
from harness.vocabulary.schema import Schema

PARQUET, EXCEL = (".parquet", ".pq"), (".xlsx", ".xlsm")
NOT_READ = (".json", ".jsonl", ".xls", ".xlsb", ".ods", ".feather", ".sav", ".dta", ".sas7bdat", ".rds", ".pkl", ".xml")


@dataclass(frozen=True, eq=False)
class Source:
    """Where rows come from: how they are named, and the name of each; None: counted on from the first."""

    kind: RowNames = LABELS
    names: npt.NDArray[np.object_] | None = None

    @classmethod
    def of_index(cls, index: pd.Index[Any]) -> Source:
        """The rows of a DataFrame by the labels of its index; by their numbers where labels stand twice."""
        counted = isinstance(index, pd.RangeIndex) and index.start == 0 and index.step == 1
        if counted:
            return cls()
        names = [int(one) if isinstance(one, int | np.integer) else str(one) for one in index.tolist()]
        unique = len(set(names)) == len(names)
        return cls(LABELS, np.array(names, dtype=object)) if unique else cls(RowNames("row"))

    def name(self, row: int) -> RowName:
        """The name of a row, which is given by its number from 0."""
        return self.kind.first + row if self.names is None else self.names[row]

    def in_words(self, row: int) -> str:
        """Where a row stands: `line 6`."""
        return self.kind.in_words([self.name(row)])


def read_columns(path: str | Path, columns: Sequence[str]) -> pd.DataFrame:
    """Columns of a data file beside those of the schema, for every row of it; the cells of a CSV file are text."""
    path = Path(path)
    return typed_frame(path, columns) if is_typed(path) else csv_frame(path, columns, ("",))[0]


def read_table(path: str | Path) -> pd.DataFrame:
    """Every column of a data file that has a name; the cells of a CSV file are text."""
    path = Path(path)
    if is_typed(path):
        return typed_frame(path)
    return csv_frame(path, [name for name in _header(path) if name.strip()], ())[0]


def _header(path: Path) -> list[str]:
    """The names in the first line of a CSV file; the delimiter is the one that finds most of them."""
    _require_csv(path)
    with _readable(path), open_text(path) as file:
        line = file.readline()
    return max(_names(path, line).values(), key=len)


def is_typed(path: Path) -> bool:
    """Whether the cells of a file have types of their own, as those of Parquet and Excel have."""
    return kind_of_file(path) in (*PARQUET, *EXCEL)


def released_frame(path: Path, columns: Sequence[str]) -> pd.DataFrame:
    """A released table with all its columns, the named ones among them; the cells of a CSV file as they are printed."""
    if not is_typed(path):
        return _whole_csv_frame(path, columns)[0]
    frame = typed_frame(path)
    require_columns(columns, [str(name) for name in frame.columns], f"{path}: the table")
    return frame


def typed_frame(path: Path, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Some columns, or all, of a Parquet file, or of the first sheet of an Excel file."""
    is_excel = kind_of_file(path) in EXCEL
    form, extra, package = ("Excel", "excel", "openpyxl") if is_excel else ("Parquet", "parquet", "pyarrow")
    try:
        frame = _excel(path) if is_excel else _parquet(path)
    except ImportError:
        raise InputError(
            f"{path}: reading {form} needs {package}; install the extra: pip install '.[{extra}]'"
        ) from None
    except (OSError, ValueError, KeyError, *NOT_DECOMPRESSED) as error:
        words = (isinstance(error, OSError) and error.strerror) or message_of(error)
        raise InputError(f"{path}: cannot be read as {form}: {words}") from None
    names = [str(name) for name in frame.columns]
    require_columns(names if columns is None else columns, names, f"{path}: the table")
    return frame.set_axis(names, axis=1)[names if columns is None else list(columns)]


def _parquet(path: Path) -> pd.DataFrame:
    if path.suffix.lower() == kind_of_file(path):
        return pd.read_parquet(path)
    with open_bytes(path) as file:  # Parquet compresses by itself, and may have been compressed once more
        return pd.read_parquet(io.BytesIO(file.read()))


def _excel(path: Path) -> pd.DataFrame:
    with open_bytes(path) as file:
        content = io.BytesIO(file.read())
    frame = pd.read_excel(content, engine="openpyxl", dtype=object, keep_default_na=False, na_values=[""])
    for name in frame.columns:  # days become such; numbers beside gaps stay whole numbers
        if pd.api.types.infer_dtype(frame[name], skipna=True) in ("datetime", "date"):
            frame[name] = pd.to_datetime(frame[name])
    return frame


def csv_frame(
    path: Path, columns: Sequence[str], missing_values: Sequence[str]
) -> tuple[pd.DataFrame, Source]:  # fmt: skip
    """Some columns of a CSV file as text, gaps as None, and its lines; the delimiter is the one that finds them."""
    frame, mark = _whole_csv_frame(path, columns)
    frame = frame[list(columns)].astype(object)
    return frame.mask(frame.isin(list(missing_values)), None), _lines(path, mark, len(frame))


def _whole_csv_frame(path: Path, columns: Sequence[str]) -> tuple[pd.DataFrame, str]:
    """All columns of a CSV file as text, the named ones among them, and its delimiter."""
    _require_csv(path)
    with _readable(path):
        with open_text(path) as file:
            names = _names(path, file.readline())
        mark = max(names, key=lambda mark: len(set(columns) & set(names[mark])))
        require_columns(columns, names[mark], f"{path}: the header")
        try:
            with open_bytes(path) as content:
                frame = pd.read_csv(content, sep=mark, dtype=str, keep_default_na=False, encoding="utf-8-sig")
        except pd.errors.ParserError as error:
            _require_even_rows(path, mark, len(names[mark]))
            raise InputError(f"{path}: not a CSV table: {error}") from None
        if not isinstance(frame.index, pd.RangeIndex) or (frame.iloc[:, -1] == "").any():  # pandas fills short rows
            _require_even_rows(path, mark, len(names[mark]))
    return frame.set_axis(names[mark], axis=1), mark  # pandas names a column without a name


def _require_csv(path: Path) -> None:
    if kind_of_file(path) in NOT_READ:
        raise InputError(f"{path}: {kind_of_file(path)} files are not read; save the table as CSV, Parquet or .xlsx")


def _names(path: Path, header: str) -> dict[str, list[str]]:
    """The names that the first line of a CSV file holds, by the delimiter that parts them."""
    if not header.strip():
        raise InputError(f"{path}: the file is empty; expected a header line with the column names")
    if "\0" in header:
        raise InputError(f"{path}: this is UTF-16 text, or no text at all; save it as CSV in UTF-8")
    return {mark: next(csv.reader([header.rstrip("\r\n")], delimiter=mark)) for mark in ",;\t|"}


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """What the libraries raise for a file that cannot be read as CSV text, in our words."""
    try:
        yield
    except UnicodeDecodeError:
        with open_bytes(path) as content:
            raise InputError(f"{path}: {not_utf_8(content)}") from None
    except csv.Error as error:
        raise InputError(f"{path}: not a CSV table: {error}") from None
    except NOT_DECOMPRESSED as error:
        raise InputError(f"{path}: cannot be decompressed: {message_of(error)}") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None


def _lines(path: Path, mark: str, rows: int) -> Source:
    """The line on which each row begins: the header is line 1, and a quoted cell may hold line breaks."""
    lines = RowNames("line", path.name, 2)
    with open_text(path) as file:
        if sum(1 for _ in file) == rows + 1:
            return Source(lines)
    with open_text(path) as file:
        begins, next_line, reader = [], 1, csv.reader(file, delimiter=mark)
        try:
            for row in reader:
                if any(cell.strip() for cell in row) or len(row) > 1:  # empty lines are no rows
                    begins.append(next_line)
                next_line = reader.line_num + 1
        except csv.Error:  # the table itself was read: only its lines cannot be counted
            begins = []
    if len(begins) != rows + 1:
        return Source(RowNames("row", path.name))
    return Source(lines, np.array(begins[1:], dtype=object))


def _require_even_rows(path: Path, mark: str, width: int) -> None:
    """Refuse a file that has a row with more or fewer cells than its header; a row is named by its first line."""
    with open_text(path) as file:
        reader, begins = csv.reader(file, delimiter=mark, strict=True), 1
        try:
            for row in reader:
                if row and len(row) != width:
                    cells = f"{len(row)} {'cell' if len(row) == 1 else 'cells'}, but the header has {width}"
                    raise InputError(f"{path}, line {begins}: {cells}; {_remedy(row, width, mark)}")
                begins = reader.line_num + 1
        except csv.Error as error:
            raise InputError(f"{path}, line {begins}: not a row of a CSV table: {error}") from None


def _remedy(row: Sequence[str], width: int, mark: str) -> str:
    if len(row) < width:
        return "add the missing ones, empty if the values are missing"
    return f"put a cell that holds {mark!r} into quotation marks, or give every column a name"


def needed_columns(schema: Schema) -> list[str]:
    """Every column of the source that is read, the person's among them."""
    return list(dict.fromkeys((*schema.names, *([] if schema.person is None else [schema.person]))))


def with_numbers(frame: pd.DataFrame, schema: Schema, path: Path, source: Source) -> pd.DataFrame:
    """Text columns declared as numbers become numbers, as pandas itself would have read them.

    So do sensitive ones of which every value is a number as it would be printed again: 7, not 007.
    """
    for column in schema.sensitive:
        distinct = frame[column.name].dropna().unique()
        if column.kind != "number" and all(text.lstrip("-").isdigit() and str(int(text)) == text for text in distinct):
            frame[column.name] = pd.to_numeric(frame[column.name])
    for column in (*schema.quasi, *schema.sensitive):
        if column.kind != "number":
            continue
        texts = frame[column.name]
        numbers = pd.to_numeric(texts, errors="coerce")
        bad = numbers.isna() & texts.notna() | ~np.isfinite(numbers.fillna(0))
        if bad.any():
            row = int(np.argmax(bad.to_numpy()))
            raise InputError(
                f"{path}: column {column.name!r}, {source.in_words(row)}: expected a number, found "
                f"{texts[row]!r:.80}; correct it, list it under missing_values, or declare the column a category"
            )
        frame[column.name] = numbers
    return frame


def require_columns(needed: Sequence[str], names: Sequence[str], where: str) -> None:
    for name in needed:
        if name not in names:
            spaced = next((one for one in names if one.strip() == name), None)
            other = f"{did_you_mean(name, names)}{_look_alike(name, names)}"
            hint = f"remove the spaces from {spaced!r}" if spaced is not None else other
            raise InputError(f"{where} has no column {name!r}; {hint}")
        if list(names).count(name) > 1:
            raise InputError(f"{where} has more than one column {name!r}; rename all but one")


def _look_alike(name: str, names: Sequence[str]) -> str:
    """Which letter of a name only looks like the one that was written, as a Cyrillic а looks like a Latin a."""
    for other in (one for one in names if len(one) == len(name)):
        differing = [theirs for ours, theirs in zip(name, other, strict=True) if ours != theirs]
        if len(differing) <= 2 and all(not letter.isascii() for letter in differing):
            letter = differing[0]
            return f". In {other!r}, {letter!r} is {unicodedata.name(letter, 'another sign')} (U+{ord(letter):04X})"
    return ""
