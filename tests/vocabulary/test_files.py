"""Data files as people have them: compressed, in Excel, in Parquet; and what is said of damaged ones."""

import bz2
import gzip
import lzma
import zipfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError
from harness.vocabulary.files import kind_of_file
from harness.vocabulary.schema import Schema

FRAME = pd.DataFrame({"age": [20, 31, 42], "zip": ["01020", "1030", "1040"], "ill": ["flu", "ulcer", "flu"]})
SCHEMA = Schema({"age": "number", "zip": "category"}, "ill")
TEXT = FRAME.to_csv(index=False)
GZIPPED = gzip.compress(TEXT.encode(), mtime=0)


def zipped(path: Path, *names: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, TEXT)
    return path


def write_parquet(path: Path, compression: Any) -> None:
    FRAME.to_parquet(path, compression=compression)


def compress_parquet(path: Path) -> None:
    FRAME.to_parquet(path.with_suffix(""))
    path.write_bytes(gzip.compress(path.with_suffix("").read_bytes()))


WRITERS: dict[str, Callable[[Path], Any]] = {
    "people.csv": lambda path: path.write_text(TEXT, encoding="utf-8-sig"),
    "people.csv.gz": lambda path: path.write_bytes(gzip.compress(TEXT.encode())),
    "people.CSV.GZ": lambda path: path.write_bytes(gzip.compress(TEXT.encode())),
    "people.csv.bz2": lambda path: path.write_bytes(bz2.compress(TEXT.encode())),
    "people.csv.xz": lambda path: path.write_bytes(lzma.compress(TEXT.encode())),
    "people.csv.zip": lambda path: zipped(path, "people.csv", "__MACOSX/._people.csv"),
    "people.zip": lambda path: zipped(path, "data/people.csv"),
    "people.xlsx": lambda path: FRAME.to_excel(path, index=False),
    "snappy.parquet": lambda path: write_parquet(path, "snappy"),
    "zstd.parquet": lambda path: write_parquet(path, "zstd"),
    "people.parquet.gz": compress_parquet,
}


@pytest.mark.parametrize("name", WRITERS)
def test_the_same_data_are_read_from_every_form(name: str, tmp_path: Path) -> None:
    WRITERS[name](tmp_path / name)
    assert Dataset.from_file(tmp_path / name, SCHEMA).digest == Dataset.from_frame(FRAME, SCHEMA).digest


def test_dates_numbers_and_gaps_of_a_sheet_are_read_as_they_are(tmp_path: Path) -> None:
    days = pd.Series([datetime(2020, 1, 31), datetime(2021, 2, 28), None], dtype=object)
    frame = FRAME.assign(zip=[1020, 1030, 1020], born=days)
    frame.to_excel(tmp_path / "people.xlsx", index=False)
    schema = Schema({"age": "number", "zip": "category", "born": "date"}, "ill")
    data = Dataset.from_file(tmp_path / "people.xlsx", schema, missing="drop")
    assert data.dropped == 1
    assert data.table.to_frame().values.tolist() == [
        [20, "1020", "2020-01-31", "flu"],
        [31, "1030", "2021-02-28", "ulcer"],
    ]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("people.csv.gz", b"age,zip,ill\n", "cannot be decompressed: Not a gzipped file"),
        (
            "people.csv.gz",
            gzip.compress(TEXT.encode(), mtime=0)[:-9],
            "cannot be decompressed: Compressed file ended before",
        ),
        ("people.csv.xz", b"age,zip,ill\n", "cannot be decompressed: Input format not supported"),
        ("people.csv.zip", b"age,zip,ill\n", "cannot be decompressed: File is not a zip file"),
        ("people.csv.bz2", b"age,zip,ill\n", "cannot be read: Invalid data stream"),
        ("people.xlsx", b"age,zip,ill\n", "cannot be read as Excel: File is not a zip file"),
        ("people.parquet.gz", b"PAR1", "cannot be read as Parquet: Not a gzipped file"),
        ("people.xls", b"\xd0\xcf\x11\xe0", ".xls files are not read; save the table as CSV, Parquet or .xlsx"),
        ("people.json.gz", b"", ".json files are not read; save the table as CSV, Parquet or .xlsx"),
        ("people.csv", b"age, zip, ill\n", "the header has no column 'zip'; remove the spaces from ' zip'"),
    ],
)
def test_a_damaged_file_is_told_in_one_sentence(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=f"{name}: .*{message}"):
        Dataset.from_file(tmp_path / name, SCHEMA)


def test_a_zip_file_must_hold_one_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="people.csv.zip: the ZIP file holds 2 files; expected one"):
        Dataset.from_file(zipped(tmp_path / "people.csv.zip", "a.csv", "b.csv"), SCHEMA)


def test_the_name_says_what_a_file_holds() -> None:
    names = {"a.csv": ".csv", "a.csv.gz": ".csv", "a.b.PARQUET.zip": ".parquet", "a": "", "a.gz": ""}
    assert {name: kind_of_file(Path(name)) for name in names} == names
