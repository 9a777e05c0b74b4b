"""What is left of a damaged journal, in a new folder from which the same audit goes on. Asks nobody.

The lines before the first one that is not as it was written prove themselves by their chain of hashes. They are copied
byte for byte, with the draws of f(D) and of predictions and the key of its digests, and an event behind them says what
was lost: the report will say it, too. The damaged folder stays as it is.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from harness.auditing.events import Salvaged, to_entry
from harness.auditing.folder import JOURNAL
from harness.auditing.journal import Journal, good_lines, not_written
from harness.auditing.keyed_digests import KEY
from harness.auditing.prediction_file import FILE as PREDICTIONS
from harness.vocabulary.errors import InputError, JournalError
from harness.vocabulary.private_files import make_private_folder, write_private_blocks

BLOCK = 1 << 20  # bytes that are copied at once


def salvage(folder: Path, into: Path) -> tuple[int, Salvaged]:
    """Keep in a new folder what is intact; how many lines that are, and what was lost."""
    path = folder / JOURNAL
    with _opened(path) as file:
        first, kept, end = b"", 0, 0
        for line in good_lines(file):
            first, kept, end = first or line.body, kept + 1, line.end
        lines, size, digest = _counted(file)
    if not kept:
        raise JournalError(
            f"{path}: its first line is damaged, and nothing behind it can be trusted; "
            "restore it from a copy, or measure again with another --out"
        )
    if kept == lines:
        raise InputError(f"{path}: nothing is damaged; run the audit itself to continue it")
    if os.path.lexists(into):
        raise InputError(f"{into} exists already; choose another folder with --out")
    lost = Salvaged(lines - kept, size - end, digest)
    try:
        make_private_folder(into)
        with _opened(path) as file:
            write_private_blocks(into / JOURNAL, _blocks(file, end))
        for beside in (*sorted(folder.glob("present-*.npz")), *folder.glob(KEY), *folder.glob(PREDICTIONS)):
            with _opened(beside) as file:
                write_private_blocks(into / beside.name, _blocks(file))
    except OSError as error:
        raise not_written(into, error) from None
    with Journal(into / JOURNAL, json.loads(first)) as journal:
        journal.append(to_entry(lost))
    return kept, lost


def _opened(path: Path) -> BinaryIO:
    try:
        return open(path, "rb")
    except OSError as error:
        raise JournalError(f"{path}: cannot be read: {error.strerror}") from None


def _blocks(file: BinaryIO, size: int | None = None) -> Iterator[bytes]:
    """The first `size` bytes of a file, or all of them, block by block."""
    file.seek(0)
    left = file.seek(0, os.SEEK_END) if size is None else size
    file.seek(0)
    while block := file.read(min(BLOCK, left)):
        left -= len(block)
        yield block


def _counted(file: BinaryIO) -> tuple[int, int, str]:
    """How many lines and bytes a file has, and its SHA-256."""
    lines, size, digest = 0, 0, hashlib.sha256()
    for block in _blocks(file):
        lines, size = lines + block.count(b"\n"), size + len(block)
        digest.update(block)
    return lines, size, digest.hexdigest()
