"""What the other side sends, made safe to show and to use: texts, names, seconds. Knows no transport.

Untrusted text reaches a terminal, a report or a log only through `quoted` or `readable_notes`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.vocabulary.errors import InputError, ReleaseError

SHOWN = 120  # characters of an untrusted text that an error quotes
SAID = 500  # of a message that was meant to be read
LONGEST_NAME = 200
MOST_NOTES = 10  # about one release
LONGEST_COLUMN_NAME = 1000
MOST_COLUMNS = 5000  # to find a name that stands twice takes their square
ROWS_PER_ROW, FEW_ROWS = 10, 100_000  # released rows that are read for each row that was sent, and in any case
LONGEST_PAUSE = 3600.0  # seconds to come back after that are believed
TOKEN_HINT = "give the token's environment variable as the option token_env"


def quoted(text: str | bytes, most: int = SHOWN) -> str:
    """Untrusted text in one line, short and with everything but plain characters escaped."""
    if isinstance(text, bytes):
        text = text[: 4 * most].decode("utf-8", "replace")
    return repr(text[:most]) + ("…" if len(text) > most else "")


def last_words(standard_error: bytes | bytearray) -> str:
    """The end of a standard error, as errors quote it."""
    lines = standard_error.decode("utf-8", "replace").splitlines()[-3:]
    return f" (the end of its standard error: {quoted(' / '.join(lines)[-300:], 300)})" if lines else ""


def pause(seconds: Any) -> float | None:
    """How many seconds the other side asks us to wait, bounded; None if that is no number of seconds."""
    if type(seconds) not in (int, float) or not seconds >= 0:  # NaN is neither
        return None
    return float(min(seconds, LONGEST_PAUSE))


def readable_notes(notes: Sequence[str]) -> tuple[str, ...]:
    """What an anonymizer says about a release: the first few notes, in one short line each, control characters
    escaped.
    """
    return tuple(_escaped(note[:SAID]) + ("…" if len(note) > SAID else "") for note in notes[:MOST_NOTES])


def _escaped(text: str) -> str:
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def most_rows(sent: int, declared: int | None) -> int:
    """How many rows a release of a table with so many rows may have; `declared` is what the auditor says it may."""
    return max(FEW_ROWS, ROWS_PER_ROW * sent) if declared is None else declared


def checked_most_rows(declared: Any) -> int | None:
    """The option max_rows, if it is one."""
    if declared is not None and (type(declared) is not int or declared < 1):
        raise InputError(f"max_rows must be a whole number of at least 1, not {declared!r:.80}")
    return declared if isinstance(declared, int) else None


def require_few_rows(rows: int, most: int) -> None:
    """To read a release of millions of rows takes minutes, however few were sent."""
    if rows > most:
        raise ReleaseError(f"the release has more than {most} rows; raise the option max_rows if that is right")


def checked_name(text: str, what: str) -> str:
    """A name that can stand in a report: one short line."""
    if len(text) > LONGEST_NAME or not text.isprintable():
        raise ReleaseError(f"{what} must be printable text of at most {LONGEST_NAME} characters, not {quoted(text)}")
    return text


def checked_columns(names: Sequence[Any]) -> tuple[str, ...]:
    """The names of a table's columns, or a ReleaseError: not too many, each a text, not too long, valid Unicode."""
    if len(names) > MOST_COLUMNS:
        raise ReleaseError(f"it sent a table of {len(names)} columns; at most {MOST_COLUMNS} are read")
    for name in names:
        if not isinstance(name, str) or len(name) > LONGEST_COLUMN_NAME or _halved(name):
            most = f"text of at most {LONGEST_COLUMN_NAME} characters"
            raise ReleaseError(f"the name of a column must be {most}, not {quoted(str(name))}")
    return tuple(names)


def _halved(text: str) -> bool:
    """Whether a text holds half of a surrogate pair, which JSON can escape but UTF-8 cannot encode."""
    return any("\ud800" <= sign <= "\udfff" for sign in text)
