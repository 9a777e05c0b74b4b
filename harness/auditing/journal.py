"""What has been measured, on disk as it happens: append, resume, verify. Knows lines, not oracles or audits.

JSON lines, one writer. Each line is [entry, link]: link is base64 of sha256(link before, in hexadecimal, + entry), and
the entry is spelled as `compact_entries` does; the first one says whose journal it is. A torn last line is what a power
cut leaves, and is cut; any other fault is refused. Lines of earlier versions, {"entry": …, "chain": link}, are read as
well. A journal is read line by line and never held as a whole.
"""

from __future__ import annotations

import base64
import fcntl
import hashlib
import json
import os
import struct
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, NamedTuple, Self

from harness.auditing.compact_entries import EXAMINED, SHORT, compacted, expanded
from harness.auditing.what_differs import what_differs
from harness.vocabulary.errors import JournalError, NotWrittenError, why_not_written
from harness.vocabulary.private_files import make_private_folder, open_private

Entry = dict[str, Any]
START = "0" * 64
LINK = 43  # characters of a link in base64
OPEN, CLOSE = b'{"entry":', b',"chain":""}'  # of a line of earlier versions
ABOUT_A_PERSON = (f'{{"{SHORT}":'.encode(), f'{{"{EXAMINED}":'.encode())  # how entries of examined persons begin
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


class Line(NamedTuple):
    """A line whose link fits to those before it."""

    body: bytes  # the entry
    link: str  # in hexadecimal
    end: int  # bytes of the journal up to its end


class Journal:
    """An append-only file that belongs to one plan and one process at a time."""

    def __init__(self, path: Path, owner: Entry) -> None:
        """Open or begin the journal of `owner`; its whole chain is checked first."""
        self.path = path
        self.count = 0  # entries that it held before, without its owner
        try:
            make_private_folder(path.parent)
            self._file: BinaryIO = open(open_private(path, os.O_RDWR), "r+b")  # noqa: SIM115
        except OSError as error:
            raise JournalError(why_not_written(path, error)) from None
        self._synced = time.monotonic()
        self._chain, self._begin, self._end = START, 0, 0
        try:
            self._take()
            self._own(json.loads(json.dumps(owner)))
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
        """Check the chain, cut a torn last line, and refuse the journal of another owner."""
        first: Entry | None = None
        for number, line in enumerate(_checked(self.path, self._file)):
            if first is None:
                first, self._begin = _entry(self.path, 1, line.body), line.end
            self.count, self._chain, self._end = number, line.link, line.end
        if first is None and not _may_be_ours(self._file):
            raise JournalError(f"{self.path}: this file is no journal; choose another --out, or move the file away")
        if first is not None and first != owner and self.count:
            raise JournalError(
                f"{self.path}: this journal belongs to another audit ({_what_differs(first, owner)}); "
                "choose another --out, or remove the folder to begin anew"
            )
        if first != owner:  # there is none, or nothing was measured: it begins anew
            self._chain, self._begin, self._end = START, 0, 0
        self._file.truncate(self._end)
        self._file.seek(self._end)
        if first != owner:
            self.append(owner)
            self.sync()
            self._begin = self._end

    def earlier(self) -> Iterator[Entry]:
        """The entries that it held when it was opened, one by one."""
        with open(self.path, "rb") as file:
            file.seek(self._begin)
            for number in range(self.count):
                yield _entry(self.path, number + 2, _parts(file.readline().rstrip(b"\n"))[0])

    def append(self, entry: Entry) -> None:
        """One entry is on its way to the disk when this returns, and on it within SYNC_SECONDS of the next."""
        self.append_written(_canonical(compacted(entry)))

    def append_written(self, body: bytes) -> None:
        """The same of an entry as another journal has it."""
        self._chain = _link(self._chain, body)
        line = _line(body, self._chain) + b"\n"
        try:
            self._file.write(line)
            self._file.flush()
        except OSError as error:
            raise not_written(self.path, error) from None
        self._end += len(line)
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
    if isinstance(error, IsADirectoryError):
        return NotWrittenError(
            f"{path}: a directory stands where this file belongs; move it away, and run the same audit again"
        )
    return NotWrittenError(
        f"{path}: cannot be written: {error.strerror or error}; what was measured before is kept: make room, or let "
        "the folder be written to, and run the same audit again"
    )


def incomplete_bytes(path: Path) -> int:
    """How many bytes follow the last complete line of a journal; they are ignored."""
    with _opened(path) as file:
        size = file.seek(0, os.SEEK_END)
        return size - _end_of_lines(file, size)


def _end_of_lines(file: BinaryIO, size: int) -> int:
    """Where the last complete line ends: read from the end, block by block."""
    block = 1 << 16
    for start in range(max(size - block, 0), -block, -block):
        file.seek(max(start, 0))
        place = file.read(block).rfind(b"\n")
        if place >= 0:
            return max(start, 0) + place + 1
    return 0


def entries(path: Path) -> Iterator[Entry]:
    """Everything a journal holds, its owner first; whoever reads to the end has seen the whole chain checked."""
    for _, entry in linked_entries(path):
        yield entry


def linked_entries(path: Path) -> Iterator[tuple[str, Entry]]:
    """The same with the link of each line; that of the last line is the head of the journal."""
    for number, line in enumerate(lines_of(path), start=1):
        yield line.link, _entry(path, number, line.body)


def entries_beside_persons(path: Path) -> Iterator[tuple[str, Entry]]:
    """The linked entries that are not measurements of a person: few, however many persons were examined."""
    for number, line in enumerate(lines_of(path), start=1):
        if not measures_somebody(line):
            yield line.link, _entry(path, number, line.body)


def numbered_beside_persons(path: Path) -> Iterator[tuple[int, Entry]]:
    """The same entries with the numbers of their lines."""
    for number, line in enumerate(lines_of(path), start=1):
        if not measures_somebody(line):
            yield number, _entry(path, number, line.body)


def beside_persons_and_head(path: Path) -> tuple[list[tuple[str, Entry]], str]:
    """The linked ones as a list, and the head of the journal, in one reading."""
    beside, head = [], ""
    for number, line in enumerate(lines_of(path), start=1):
        head = line.link
        if not measures_somebody(line):
            beside.append((line.link, _entry(path, number, line.body)))
    return beside, head


def measures_somebody(line: Line) -> bool:
    """Whether a line holds measurements of a person."""
    return line.body.startswith(ABOUT_A_PERSON)


def person_of(line: Line) -> int:
    """Whom the measurements of a line are about."""
    if line.body.startswith(ABOUT_A_PERSON[0]):
        return int(line.body[len(ABOUT_A_PERSON[0]) + 1 :].partition(b",")[0])
    return int(json.loads(line.body)[EXAMINED]["person"])


def measures(line: Line, person: int) -> bool:
    """Whether a line holds measurements of this person."""
    return measures_somebody(line) and person_of(line) == person


def head_of(path: Path) -> str:
    """The link of the last line: whoever keeps it can tell this journal from every other one."""
    head = ""
    for line in lines_of(path):
        head = line.link
    return head


def lines_of(path: Path) -> Iterator[Line]:
    """The lines of a journal as they are read and checked; there is at least one."""
    empty = True
    with _opened(path) as file:
        for line in _checked(path, file):
            empty = False
            yield line
    if empty:
        raise JournalError(f"{path}: holds no entries")


def _opened(path: Path) -> BinaryIO:
    try:
        return open(path, "rb")
    except OSError as error:
        raise JournalError(f"{path}: cannot be read: {error.strerror}") from None


def _checked(path: Path, file: BinaryIO) -> Iterator[Line]:
    """The lines of a journal; an error at the first that is not as it was written, a torn last one apart."""
    number, end = 0, 0
    for line in good_lines(file):
        number, end = number + 1, line.end
        yield line
    file.seek(end)
    while block := file.read(1 << 20):
        if b"\n" in block:
            raise _broken(path, number + 1)


def good_lines(file: BinaryIO) -> Iterator[Line]:
    """The lines before the first one that is not as it was written. What follows the last newline is torn."""
    chain, end = START, 0
    file.seek(0)
    for line in file:
        if not line.endswith(b"\n"):
            return
        body, link = _parts(line[:-1])
        chain = _link(chain, body)
        if chain != link:
            return
        end += len(line)
        yield Line(body, chain, end)


def _parts(line: bytes) -> tuple[bytes, str | None]:
    """The entry of a line, and its link if the line is written as one is: the very bytes, 0.30 is not 0.3."""
    if line.startswith(OPEN):
        body, link = line[len(OPEN) : -len(CLOSE) - len(START)], line[-len(START) - 2 : -2].decode("ascii", "replace")
        return body, link if line == OPEN + body + CLOSE[:-2] + link.encode("ascii", "replace") + CLOSE[-2:] else None
    body = line[1 : -LINK - 4]
    try:
        link = base64.b64decode(line[-LINK - 2 : -2] + b"=", validate=True).hex()
    except ValueError:
        return body, None
    return body, link if len(link) == len(START) and line == _line(body, link) else None


def _entry(path: Path, number: int, body: bytes) -> Entry:
    try:
        entry = json.loads(body)
        if isinstance(entry, dict):
            return expanded(entry)
    except (ValueError, RecursionError) as error:
        raise JournalError(f"{path}, line {number}: cannot be read as JSON: {error}") from None
    except (TypeError, LookupError, struct.error) as error:
        raise JournalError(f"{path}, line {number}: holds what no audit writes: {error}") from None
    raise JournalError(f"{path}, line {number}: holds {type(entry).__name__} instead of an entry")


def _may_be_ours(file: BinaryIO) -> bool:
    """Whether a file without a whole line may be a journal whose first line is torn."""
    file.seek(0)
    begins = b"[{"
    content = file.read(len(begins))
    return content == begins[: len(content)]


def _what_differs(before: Entry, now: Entry) -> str:
    """The first things that differ between two owners."""
    found = list(what_differs(before, now))
    more = len(found) - MOST_DIFFERENCES
    return "; ".join(found[:MOST_DIFFERENCES]) + (f"; and {more} more" if more > 0 else "")


def _broken(path: Path, number: int) -> JournalError:
    if number == 1:  # nothing stands before it that could be kept
        return JournalError(
            f"{path}, line 1: not what was written (the hash chain breaks here), and nothing behind it can be trusted. "
            "Restore it from a copy; or measure again, with another --out"
        )
    return JournalError(
        f"{path}, line {number}: not what was written (the hash chain breaks here); the journal cannot be trusted. "
        "Restore it from a copy; or keep what stands before that line with harness salvage, and go on from there"
    )


def _canonical(entry: Entry) -> bytes:
    return json.dumps(entry, sort_keys=True, separators=(",", ":")).encode()


def _line(body: bytes, chain: str) -> bytes:
    return b"[" + body + b',"' + base64.b64encode(bytes.fromhex(chain))[:LINK] + b'"]'


def _link(chain: str, body: bytes) -> str:
    return hashlib.sha256(chain.encode() + body).hexdigest()
