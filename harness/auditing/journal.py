"""What has been measured, on disk as it happens: append, resume, verify. Knows lines, not oracles or audits.

JSON lines, one writer. Each line is {"entry": …, "chain": sha256(previous chain + entry)}; the first entry says
whose journal it is. A torn last line is what a power cut leaves, and is cut; any other fault is refused.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from harness.auditing.what_differs import what_differs
from harness.vocabulary.errors import JournalError, NotWrittenError, why_not_written
from harness.vocabulary.private_files import make_private_folder, open_private

Entry = dict[str, Any]
START = "0" * 64
OPEN, CLOSE = b'{"entry":', b',"chain":""}'
MOST_DIFFERENCES = 3  # between a plan and that of a foreign journal that an error names
SYNC_SECONDS = 0.5  # what a power cut may cost; a killed process loses nothing


def is_taken(path: Path) -> bool:
    """Whether a process is writing the journal."""
    try:
        with open(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # there is none that can be read: Journal says what is wrong, if anything is
        return False
    return False


class Journal:
    """An append-only file that belongs to one plan and one process at a time."""

    def __init__(self, path: Path, owner: Entry) -> None:
        """Open or begin the journal of `owner`; `entries` is what it held before."""
        self.path = path
        try:
            make_private_folder(path.parent)
            self._file: BinaryIO = open(open_private(path, os.O_RDWR), "r+b")  # noqa: SIM115
        except OSError as error:
            raise JournalError(why_not_written(path, error)) from None
        self._synced = time.monotonic()
        try:
            self._take()
            content = self._file.read()
            self.entries, links, whole = _intact(path, content)
            self._chain = links[-1] if links else START
            if not self.entries and not _may_be_ours(content):
                raise JournalError(f"{path}: this file is no journal; choose another --out, or move the file away")
            self._file.truncate(whole)
            self._file.seek(whole)
            self._own(owner)
        except BaseException:
            self._close()
            raise

    def _take(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise JournalError(
                f"{self.path}: another process is writing this journal; wait for it or choose another --out"
            ) from None

    def _own(self, owner: Entry) -> None:
        owner = json.loads(json.dumps(owner))
        if not self.entries:
            self.append(owner)
            self.sync()
        elif self.entries[0] != owner and len(self.entries) == 1:  # nothing was measured: it begins anew
            self._file.truncate(0)
            self._file.seek(0)
            self._chain = START
            self.append(owner)
            self.sync()
        elif self.entries[0] != owner:
            raise JournalError(
                f"{self.path}: this journal belongs to another audit ({_what_differs(self.entries[0], owner)}); "
                "choose another --out, or remove the folder to begin anew"
            )
        self.entries = self.entries[1:]

    def append(self, entry: Entry) -> None:
        """One entry is on its way to the disk when this returns, and on it within SYNC_SECONDS of the next."""
        body = _canonical(entry)
        self._chain = _link(self._chain, body)
        try:
            self._file.write(_line(body, self._chain) + b"\n")
            self._file.flush()
        except OSError as error:
            raise not_written(self.path, error) from None
        if time.monotonic() - self._synced > SYNC_SECONDS:
            self.sync()

    def sync(self) -> None:
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise not_written(self.path, error) from None
        self._synced = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.sync()
        except JournalError:
            if error is None:  # else what ended the audit is told
                raise
        finally:
            self._close()

    def _close(self) -> None:
        with suppress(OSError):  # what could not be written before cannot be written now
            self._file.close()


def not_written(path: Path, error: OSError) -> NotWrittenError:
    """The disk refused a file of an audit; what was written before is complete."""
    return NotWrittenError(
        f"{path}: cannot be written: {error.strerror or error}; what was measured before is kept: make room, or let "
        "the folder be written to, and run the same audit again"
    )


def incomplete_bytes(path: Path) -> int:
    """How many bytes follow the last complete line of a journal; they are ignored."""
    try:
        return len(path.read_bytes().rpartition(b"\n")[2])
    except OSError as error:
        raise JournalError(f"{path}: cannot be read: {error.strerror}") from None


def entries(path: Path) -> Iterator[Entry]:
    """Everything a journal holds, its owner first, after the whole chain was checked."""
    for _, entry in linked_entries(path):
        yield entry


def linked_entries(path: Path) -> Iterator[tuple[str, Entry]]:
    """The same with the link of each line; that of the last line is the head of the journal."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise JournalError(f"{path}: cannot be read: {error.strerror}") from None
    intact, links, _ = _intact(path, content)
    if not intact:
        raise JournalError(f"{path}: holds no entries")
    yield from zip(links, intact, strict=True)


def _intact(path: Path, content: bytes) -> tuple[list[Entry], list[str], int]:
    """The entries, the links of the chain, and how many bytes are whole lines."""
    intact: list[Entry] = []
    links: list[str] = []
    whole = 0
    for number, (body, link, end) in enumerate(good_lines(content), start=1):
        intact.append(_entry(path, number, body))
        links.append(link)
        whole = end
    if len(intact) < content.count(b"\n"):
        raise _broken(path, len(intact) + 1)
    return intact, links, whole


def good_lines(content: bytes) -> Iterator[tuple[bytes, str, int]]:
    """The entries before the first line that is not as it was written: content, link, and how many bytes end with it.

    What follows the last newline is torn.
    """
    chain, end = START, 0
    for line in content.split(b"\n")[:-1]:
        body, link = line[len(OPEN) : -len(CLOSE) - len(START)], line[-len(START) - 2 : -2].decode("ascii", "replace")
        chain = _link(chain, body)
        if chain != link or line != _line(body, link):  # the very bytes: 0.30 is not 0.3
            return
        end += len(line) + 1
        yield body, chain, end


def _entry(path: Path, number: int, body: bytes) -> Entry:
    try:
        entry = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise JournalError(f"{path}, line {number}: cannot be read as JSON: {error}") from None
    if not isinstance(entry, dict):
        raise JournalError(f"{path}, line {number}: holds {type(entry).__name__} instead of an entry")
    return entry


def _may_be_ours(content: bytes) -> bool:
    """Whether a file without a whole line may be a journal whose first line is torn."""
    begins = OPEN + b"{"
    return content[: len(begins)] == begins[: len(content)]


def _what_differs(before: Entry, now: Entry) -> str:
    """The first things that differ between two owners."""
    found = list(what_differs(before, now))
    more = len(found) - MOST_DIFFERENCES
    return "; ".join(found[:MOST_DIFFERENCES]) + (f"; and {more} more" if more > 0 else "")


def _broken(path: Path, number: int) -> JournalError:
    return JournalError(
        f"{path}, line {number}: not what was written (the hash chain breaks here); the journal cannot be trusted. "
        "Restore it from a copy; or keep what stands before that line with harness salvage, and go on from there"
    )


def _canonical(entry: Entry) -> bytes:
    return json.dumps(entry, sort_keys=True, separators=(",", ":")).encode()


def _line(body: bytes, chain: str) -> bytes:
    return OPEN + body + CLOSE[:-2] + chain.encode() + CLOSE[-2:]


def _link(chain: str, body: bytes) -> str:
    return hashlib.sha256(chain.encode() + body).hexdigest()
