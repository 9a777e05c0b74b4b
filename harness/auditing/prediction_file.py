"""The draws of predictions of an audit, in one file beside its journal. Knows records of bytes; no oracle and no audit.

A record is a head and the packed draws (`prediction_draws`, zlib). The head is the digest of the draws, the number of
bytes that follow it, and a CRC-32 of both. Records are only added, each before the line of the journal that names it,
so that a line has its draws even if the process is killed behind it. What a killed process leaves of a last record is
cut; a head that is wrong anywhere else is refused. No more is kept than fits into a limit, and nothing is kept twice.
"""

from __future__ import annotations

import os
import struct
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Self

from harness.auditing.journal import SYNC_SECONDS, not_written
from harness.auditing.prediction_draws import DIGEST, PackedDraws
from harness.vocabulary.errors import JournalError
from harness.vocabulary.private_files import open_private

FILE = "predictions.bin"
HEAD = struct.Struct(f"<{DIGEST}sQ")
CHECK = struct.Struct("<I")
HEAD_SIZE = HEAD.size + CHECK.size
BLOCK = 1 << 20


@dataclass(frozen=True)
class Place:
    """Where the packed draws of a record stand in the file."""

    start: int
    size: int

    @property
    def end(self) -> int:
        return self.start + self.size


class PredictionFile:
    """Where an audit keeps draws. The file is opened when the first ones are kept: exact audits have none."""

    def __init__(self, folder: Path, most: int) -> None:
        """`most` is how many bytes the file may have."""
        self.path, self.most = folder / FILE, most
        self._file: BinaryIO | None = None
        self._known: set[bytes] = set()
        self._size = self.path.stat().st_size if self.path.exists() else 0
        self._synced = time.monotonic()

    @property
    def has_room(self) -> bool:
        """Whether any further record may fit."""
        return self._size + HEAD_SIZE < self.most

    def append(self, draws: PackedDraws) -> None:
        """Keep draws, if there is room; they are on their way to the disk when this returns."""
        if not self.has_room:
            return
        try:
            file = self._opened()
            record = _head(draws) + draws.packed
            if draws.digest in self._known or self._size + len(record) > self.most:
                return
            file.write(record)
            file.flush()
            self._known.add(draws.digest)
            self._size += len(record)
            if time.monotonic() - self._synced > SYNC_SECONDS:
                self._sync(file)
        except OSError as error:
            raise not_written(self.path, error) from None

    def _opened(self) -> BinaryIO:
        """The file, without what a killed process left of a last record."""
        if self._file is None:
            self._file = open(open_private(self.path, os.O_RDWR), "r+b")  # noqa: SIM115
            self._size = 0
            for digest, place in records_in(self._file, self.path):
                self._known.add(digest)
                self._size = place.end
            self._file.truncate(self._size)
            self._file.seek(self._size)
        return self._file

    def _sync(self, file: BinaryIO) -> None:
        os.fsync(file.fileno())
        self._synced = time.monotonic()

    def close(self) -> None:
        """All that was kept is on the disk."""
        if self._file is None:
            return
        try:
            self._sync(self._file)
        except OSError as error:
            raise not_written(self.path, error) from None
        finally:
            with suppress(OSError):  # what could not be written before cannot be written now
                self._file.close()
            self._file = None


def record_bytes(content: int) -> int:
    """What a record of so many bytes of content takes at most: zlib stores what it cannot compress, in blocks."""
    return HEAD_SIZE + content + content // 1000 + 64


class KeptPredictions:
    """The draws in the file of a folder, by their digest."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self.exists = os.path.lexists(self.path)
        self._file = _open_to_read(self.path) if self.exists else None
        self.places = dict(records_in(self._file, self.path)) if self._file is not None else {}

    def get(self, digest: bytes) -> PackedDraws | None:
        """The packed draws of a digest, as they stand there; None if they were not kept."""
        place = self.places.get(digest)
        if place is None or self._file is None:
            return None
        self._file.seek(place.start)
        return PackedDraws(digest, self._file.read(place.size))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()


def whole_records(folder: Path) -> Iterator[bytes]:
    """What is whole of the file of a folder, to be read block by block; a JournalError at once if it is damaged."""
    path = folder / FILE
    with _open_to_read(path) as file:
        end = max((place.end for _, place in records_in(file, path)), default=0)
    return _first_bytes(path, end)


def _first_bytes(path: Path, end: int) -> Iterator[bytes]:
    with _open_to_read(path) as file:
        while block := file.read(min(BLOCK, end - file.tell())):
            yield block


def records_in(file: BinaryIO, path: Path) -> Iterator[tuple[bytes, Place]]:
    """The digests of a file and where their draws stand, up to its end or to a record that was not written whole."""
    size, start = os.fstat(file.fileno()).st_size, 0
    while start + HEAD_SIZE <= size:
        file.seek(start)
        head = file.read(HEAD_SIZE)
        if CHECK.pack(zlib.crc32(head[: HEAD.size])) != head[HEAD.size :]:
            if _is_empty_from(file, start):  # a power cut may leave zeros
                return
            raise JournalError(f"{path}: damaged at byte {start}; {WHAT_TO_DO}")
        digest, length = HEAD.unpack_from(head)
        place = Place(start + HEAD_SIZE, length)
        if place.end > size:
            return
        yield digest, place
        start = place.end


WHAT_TO_DO = (
    "restore the file from a copy; or remove it, and the numbers that rest on its draws are proven only as far as the "
    "journal goes"
)


def _is_empty_from(file: BinaryIO, start: int) -> bool:
    file.seek(start)
    return not any(any(block) for block in iter(lambda: file.read(BLOCK), b""))


def _head(draws: PackedDraws) -> bytes:
    head = HEAD.pack(draws.digest, len(draws.packed))
    return head + CHECK.pack(zlib.crc32(head))


def _open_to_read(path: Path) -> BinaryIO:
    try:
        return open(path, "rb")
    except OSError as error:
        raise JournalError(f"{path}: cannot be read: {error.strerror}") from None
