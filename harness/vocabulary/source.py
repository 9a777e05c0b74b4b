"""Data files as frames: CSV with any of the usual delimiters, and Parquet. Knows columns, not what they mean."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from harness.vocabulary.errors import InputError, did_you_mean
from harness.vocabulary.schema import Schema


def read_columns(path: str | Path, columns: Sequence[str]) -> pd.DataFrame:
    """Columns of a data file beside those of the schema, for every row of it; the cells of a CSV file are text."""
    path = Path(path)
    return parquet_frame(path, columns) if is_parquet(path) else csv_frame(path, columns, ("",))


def is_parquet(path: Path) -> bool:
    return path.suffix.lower() in (".parquet", ".pq")


def parquet_frame(path: Path, columns: Sequence[str]) -> pd.DataFrame:
    try:
        frame = pd.read_parquet(path)
    except ImportError:
        raise InputError(
            f"{path}: reading Parquet needs pyarrow; install the extra: pip install '.[parquet]'"
        ) from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read as Parquet: {error}") from None
    require_columns(columns, [str(name) for name in frame.columns], f"{path}: the table")
    return frame.set_axis([str(name) for name in frame.columns], axis=1)[list(columns)]


def csv_frame(path: Path, columns: Sequence[str], missing_values: Sequence[str]) -> pd.DataFrame:
    """Some columns of a CSV file as text, gaps as None; the delimiter is the one that finds them."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            header = file.readline()
        if not header.strip():
            raise InputError(f"{path}: the file is empty; expected a header line with the column names")
        names = {mark: next(csv.reader([header.rstrip("\r\n")], delimiter=mark)) for mark in ",;\t|"}
        mark = max(names, key=lambda mark: len(set(columns) & set(names[mark])))
        require_columns(columns, names[mark], f"{path}: the header")
        frame = pd.read_csv(path, sep=mark, dtype=str, keep_default_na=False, encoding="utf-8-sig")
        if not isinstance(frame.index, pd.RangeIndex):  # pandas takes what is too much for row names
            raise InputError(f"{path}: line 2 has more fields than the header; give every column a name")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start}); save it as UTF-8") from None
    except (pd.errors.ParserError, csv.Error) as error:
        raise InputError(f"{path}: not a CSV table: {error}") from None
    frame = frame[list(columns)].astype(object)
    return frame.mask(frame.isin(list(missing_values)), None)


def needed_columns(schema: Schema) -> list[str]:
    """Every column of the source that is read, the person's among them."""
    return list(dict.fromkeys((*schema.names, *([] if schema.person is None else [schema.person]))))


def with_numbers(frame: pd.DataFrame, schema: Schema, path: Path) -> pd.DataFrame:
    """Text columns declared as numbers become numbers, as pandas itself would have read them.

    So do sensitive ones of which every value is a number as it would be printed again: 7, not 007.
    """
    for column in schema.sensitive:
        distinct = frame[column.name].dropna().unique()
        if all(text.lstrip("-").isdigit() and str(int(text)) == text for text in distinct):
            frame[column.name] = pd.to_numeric(frame[column.name])
    for column in schema.quasi:
        if column.kind != "number":
            continue
        texts = frame[column.name]
        numbers = pd.to_numeric(texts, errors="coerce")
        bad = numbers.isna() & texts.notna() | ~np.isfinite(numbers.fillna(0))
        if bad.any():
            row = int(np.argmax(bad.to_numpy()))
            raise InputError(
                f"{path}: column {column.name!r}, row {row} (line {row + 2}): expected a number, found "
                f"{texts[row]!r:.80}; correct it, list it under missing_values, or declare the column a category"
            )
        frame[column.name] = numbers
    return frame


def require_columns(needed: Sequence[str], names: Sequence[str], where: str) -> None:
    for name in needed:
        if name not in names:
            raise InputError(f"{where} has no column {name!r}; {did_you_mean(name, names)}")
        if list(names).count(name) > 1:
            raise InputError(f"{where} has more than one column {name!r}; rename all but one")
