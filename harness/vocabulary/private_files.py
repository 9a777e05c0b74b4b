"""Files that only their owner may read: whatever an audit keeps is confidential until somebody shares it on purpose."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

OWNER_ONLY = 0o600  # of a file
OWNER_ONLY_FOLDER = 0o700


def make_private_folder(path: Path) -> None:
    """The folder, if it is not there yet; one that is there stays as open as its owner made it."""
    path.mkdir(mode=OWNER_ONLY_FOLDER, parents=True, exist_ok=True)


def open_private(path: Path, flags: int) -> int:
    """The number of an opened file that is readable by its owner alone where this call creates it."""
    return os.open(path, flags | os.O_CREAT, OWNER_ONLY)


def write_private(path: Path, content: bytes) -> None:
    """Write a file completely or not at all, so that a reader never sees half of it. Raises OSError."""
    write_private_blocks(path, [content])


def write_private_blocks(path: Path, blocks: Iterable[bytes]) -> None:
    """The same from parts that need not be in memory together."""
    partial = path.with_name(path.name + ".partial")
    try:
        with open(open_private(partial, os.O_WRONLY | os.O_TRUNC), "wb") as file:
            os.fchmod(file.fileno(), OWNER_ONLY)  # what a killed process left may be more open
            for block in blocks:
                file.write(block)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise
