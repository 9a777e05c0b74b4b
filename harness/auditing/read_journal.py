"""Errors of whoever reads a journal whose chain of hashes is intact: they name the file, the line and what to do.

Such a journal may still hold what this version never writes: another version wrote it, or somebody edited it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType

from harness.auditing.journal import Entry
from harness.vocabulary.errors import InputError, JournalError, NotWrittenError

# What reading such an entry raises.
IMPOSSIBLE = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    InputError,
    LookupError,
    MemoryError,
    RuntimeError,
    TypeError,
    ValueError,
)
REMEDY = "if another version wrote it, use that version (run.json names it); else measure again with another --out"


class Reading:
    """A context in which errors of reading a journal become a JournalError with its path and line."""

    def __init__(self, path: Path, line: int | None = None) -> None:
        self.path, self.line = path, line

    def numbered(self, lines: Iterable[Entry], first: int) -> Iterator[Entry]:
        """The lines, while their numbers are remembered; `first` is that of the first."""
        for self.line, entry in enumerate(lines, start=first):
            yield entry

    @property
    def place(self) -> str:
        return f"{self.path}" if self.line is None else f"{self.path}, line {self.line}"

    def __enter__(self) -> Reading:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, NotWrittenError):
            return
        if isinstance(error, JournalError):
            if str(self.path) not in str(error):
                raise error.within(self.place) from None
        elif isinstance(error, IMPOSSIBLE):
            raise unreadable(self.place, error) from error


def unreadable(place: str, error: Exception) -> JournalError:
    """Somebody who read what stands there raised this error."""
    why = " ".join(f"{type(error).__name__}: {error}".split())
    return JournalError(f"{place}: holds what no audit writes ({why:.200}); the journal cannot be trusted: {REMEDY}")
