"""The draws of f(D), kept beside the journal so that a resumed audit compares with the same draws."""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import numpy.typing as npt

from harness.auditing.journal import not_written
from harness.vocabulary.errors import JournalError
from harness.vocabulary.private_files import open_private
from harness.vocabulary.table import Cells, Table

NOT_USABLE = "the kept draws of f(D) cannot be used"
UNREADABLE = (
    OSError,
    EOFError,
    LookupError,
    TypeError,
    ValueError,
    zipfile.BadZipFile,
    zlib.error,
)  # what numpy raises


def stored_name(purpose: str, question: int) -> str:
    """The name of the draws of f(D) for one purpose and question."""
    return f"present-{purpose.replace(' ', '-')}-{question}"


def draws_file(folder: Path, name: str) -> Path:
    """Where the draws of a name are kept."""
    return folder / f"{name}.npz"


class DrawStore:
    """Draws by name; on disk when there is a folder, so that a resumed audit has them, else in memory."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._in_memory: dict[str, tuple[Table, ...]] = {}

    def save(self, name: str, tables: tuple[Table, ...]) -> None:
        """Keep these draws, whole or not at all."""
        self._in_memory[name] = tables
        if self._folder is not None:
            _write(draws_file(self._folder, name), tables)

    def load(self, name: str, digests: Sequence[str]) -> tuple[Table, ...]:
        """The draws as they were saved; the digests from the journal prove it."""
        if name not in self._in_memory:
            self._in_memory[name] = self._read(name, digests)
        return self._in_memory[name]

    def is_whole(self, name: str, digests: Sequence[str]) -> bool:
        """Whether the draws are here as they were saved; they are not kept in memory for that."""
        try:
            return name in self._in_memory or bool(self._read(name, digests))
        except JournalError:
            return False

    def _read(self, name: str, digests: Sequence[str]) -> tuple[Table, ...]:
        assert self._folder is not None, f"{name} was drawn in another process and is not on disk"
        return _read(draws_file(self._folder, name), digests)


def _write(path: Path, tables: Sequence[Table]) -> None:
    arrays: dict[str, npt.NDArray[np.generic]] = {}
    for draw, table in enumerate(tables):
        arrays[f"{draw}.names"] = _packed(list(table.names))
        for position, cells in enumerate(table.columns):
            plain = cells.palette.tolist()
            arrays[f"{draw}.{position}.palette"] = _packed([cells.palette.dtype.kind, plain])
            arrays[f"{draw}.{position}.codes"] = cells.codes
    partial = path.with_name(path.name + ".partial")
    try:
        with open(open_private(partial, os.O_WRONLY | os.O_TRUNC), "wb") as file:
            np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise not_written(path, error) from None


def _read(path: Path, digests: Sequence[str]) -> tuple[Table, ...]:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            tables = tuple(_table(arrays, draw) for draw in range(len(digests)))
    except UNREADABLE as error:
        raise _not_whole(path, str(error)) from None
    if [table.digest for table in tables] != list(digests):
        raise _not_whole(path, "its content is not what the journal says was released")
    return tables


def _not_whole(path: Path, why: str) -> JournalError:
    reason = "a directory stands where this file belongs" if path.is_dir() else why
    return JournalError(f"{path}: {NOT_USABLE}: {reason}")


def _table(arrays: np.lib.npyio.NpzFile, draw: int) -> Table:
    names = json.loads(arrays[f"{draw}.names"].tobytes())
    columns = []
    for position in range(len(names)):
        kind, plain = json.loads(arrays[f"{draw}.{position}.palette"].tobytes())
        dtype = {"i": np.int64, "f": np.float64, "b": np.bool_}.get(kind, object)
        columns.append(Cells(np.array(plain, dtype=dtype), arrays[f"{draw}.{position}.codes"]))
    return Table(tuple(names), tuple(columns))


def _packed(value: object) -> npt.NDArray[np.uint8]:
    return np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)
