"""Files that people give: opened also where they are compressed, and what is wrong where they are not UTF-8 text."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, BinaryIO

from harness.vocabulary.errors import InputError

COMPRESSED: dict[str, Callable[[Path], Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
ZIP = ".zip"
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
# What the standard library raises for a file that is damaged, encrypted, or not compressed in this way.
NOT_DECOMPRESSED = (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, gzip.BadGzipFile, RuntimeError)


def kind_of_file(path: Path) -> str:
    """The end of the name that says what a file holds, such as `.csv` of `people.csv.gz`."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    while suffixes and suffixes[-1] in (*COMPRESSED, ZIP):
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def open_bytes(path: Path) -> BinaryIO:
    """The content of a file, decompressed if its name says that it is compressed; a ZIP file must hold one file."""
    suffix = path.suffix.lower()
    if "\0" in str(path):
        raise InputError(f"{str(path)!r:.80} is no name of a file: it holds a null character")
    if suffix == ZIP:
        return _only_member(path)
    opened: BinaryIO = COMPRESSED[suffix](path) if suffix in COMPRESSED else path.open("rb")
    return opened


def open_text(path: Path) -> io.TextIOWrapper:
    """The same as text in UTF-8, with or without a byte order mark."""
    return io.TextIOWrapper(open_bytes(path), encoding="utf-8-sig", newline="")


def _only_member(path: Path) -> BinaryIO:
    archive = zipfile.ZipFile(path)
    members = [one for one in archive.namelist() if not one.endswith("/") and not one.startswith("__MACOSX/")]
    if len(members) != 1:
        raise InputError(f"{path}: the ZIP file holds {len(members)} files; expected one")
    return io.BytesIO(archive.read(members[0]))


def not_utf_8(lines: Iterable[bytes]) -> str:
    """Where a text, given line by line, is not UTF-8, and what to do about it."""
    for number, line in enumerate(lines, start=1):
        if number == 1 and line.startswith(UTF_16):
            return "this is UTF-16 text; save it as UTF-8"
        try:
            line.decode("utf-8")
        except UnicodeDecodeError as error:
            byte, place = line[error.start], error.start + 1
            return f"line {number}: byte {place} of the line (0x{byte:02x}) is not UTF-8; save the file as UTF-8"
    return "not UTF-8 text; save it as UTF-8"
