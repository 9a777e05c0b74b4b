"""The errors that this project raises on purpose; the kind says who can correct it.

HarnessError
├── InputError       the auditor's files, columns, options or plan      exit code 2
│   └── JournalError a journal that is torn, foreign, tampered or busy  exit code 2
│       └── NotWrittenError  the disk takes no more                     exit code 74
├── WorkerError      worker processes, or their cluster, were lost      exit code 3
└── OracleError      the oracle failed, or said something unusable      exit code 3
    ├── AwayError    the oracle cannot be reached now, or asks to be asked later; says nothing about the question
    ├── FailedError  the anonymizer itself failed on a question: its code raised something, or its process ended
    │   └── RaisedError
    ├── OtherOracleError  not the oracle that the audit began with
    └── ReleaseError a reply arrived, but cannot be read as a release

A broken claim is a Verdict, never an exception.
"""

import copy
import difflib
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

MOST_NAMES = 40  # known names that a message lists
# Why a question got no answer, in words that no vendor chose: a report may show them.
QUESTION_FAILED = "the question failed"
NO_ANSWER_IN_TIME = "f did not answer in time"
PROCESS_ENDED = "the process of f ended"
PROGRAM_FAILED = "the program of f failed"
ANONYMIZER_FAILED = "f failed behind its server"
REFUSED = "the server of f refused the question"
TABLE_REFUSED = "f refused the table"
REPLY_LOST = "the reply of f was lost on the way"
MALFORMED_RELEASE = "f gave a malformed release"
NOT_REACHED = "the oracle was not reached"
LONGEST_KIND = 60  # letters of the class of an exception


class HarnessError(Exception):
    """A problem that can be described in one paragraph: where, what, what was expected, how to correct it."""

    exit_code = 2
    log: Path | None = None  # file with what the anonymizer printed and raised, where there is one

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        self.raised_in = _raising_module()  # its stable code follows from that: harness/vocabulary/error_codes.py

    def within(self, where: str) -> Self:
        """The same error with its place named first: `where: message`."""
        placed = copy.copy(self)
        placed.args = (f"{where}: {self}",)
        return placed

    def followed_by(self, hint: str) -> Self:
        """The same error with advice behind it: `message; hint`."""
        advised = copy.copy(self)
        advised.args = (f"{self}; {hint}",)
        return advised


class InputError(HarnessError):
    """Something the auditor gave us is wrong."""


class JournalError(InputError):
    """The journal on disk cannot be trusted or cannot be written."""


class NotWrittenError(JournalError):
    """The disk refused a file of an audit; what was written before is complete."""

    exit_code = 74  # EX_IOERR of sysexits.h


class WorkerError(HarnessError):
    """Those who do the work are gone: processes of this machine, or the cluster."""

    exit_code = 3


class OracleError(HarnessError):
    """The oracle failed; `retryable` says whether the same question may be asked again, `retry_after` how soon.

    `reason` is what happened in words of ours, which a report may show; the message may quote the vendor, or the data.
    """

    exit_code = 3
    reason = QUESTION_FAILED

    def __init__(
        self, message: str, *, retryable: bool = False, retry_after: float | None = None, reason: str | None = None
    ) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.retry_after = retry_after  # seconds, where the oracle named them
        if reason is not None:
            self.reason = reason


class AwayError(OracleError):
    """The oracle cannot be reached, or says that it is busy: the same question is asked again while that lasts."""

    reason = NOT_REACHED

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message, retryable=True, retry_after=retry_after)


class FailedError(OracleError):
    """The anonymizer itself failed on a question; the way to it worked, so that asking again there is of little use."""

    reason = ANONYMIZER_FAILED


class RaisedError(FailedError):
    """The anonymizer raised an exception, of the class `kind`; the message may quote what it was given."""

    def __init__(self, error: BaseException, where: str = "") -> None:
        self.kind = type(error).__name__
        reason = raised(self.kind)
        super().__init__(f"the anonymizer raised {name_and_message(error)}{where}", reason=reason)

    def __reduce__(self) -> tuple[Any, ...]:  # an exception is usually made again of its message
        return _as_it_was, (type(self), self.args, self.__dict__)


def _as_it_was(kind: type[RaisedError], args: tuple[Any, ...], attributes: dict[str, Any]) -> RaisedError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(attributes)
    return error


def raised(kind: str) -> str:
    """The reason of an exception of this class; a class is named by the vendor, so only a short plain name is shown."""
    is_plain = kind.isascii() and kind.replace(".", "").isidentifier() and len(kind) <= LONGEST_KIND
    return f"f raised {kind}" if is_plain else "f raised an exception"


class OtherOracleError(OracleError):
    """The oracle is not the one that an audit began with, so that the audit cannot go on."""


class ReleaseError(OracleError):
    """The oracle's reply cannot be read as a release of the data it was given."""

    reason = MALFORMED_RELEASE


def _raising_module() -> str:
    """The module that makes an error: the nearest caller outside this file."""
    frame = sys._getframe(1)
    while frame.f_globals["__name__"] == __name__ and frame.f_back is not None:
        frame = frame.f_back
    return str(frame.f_globals.get("__name__", ""))


def why_not_written(path: Path, error: OSError) -> str:
    """Why a file in the folder of an audit cannot be made, and what to do."""
    folder = path.parent
    if folder.exists() and not folder.is_dir():
        return f"{folder}: not a folder; choose another --out"
    return f"{path}: cannot be written: {error.strerror or error}; choose another --out"


def message_of(error: BaseException) -> str:
    """What somebody's exception says, in one line and never long."""
    try:
        return " ".join(str(error).split())[:300]
    except Exception:
        return "(its message cannot be printed)"


def name_and_message(error: BaseException) -> str:
    """The class of somebody's exception and what it says, as `ValueError: …`."""
    return ": ".join(filter(None, (type(error).__name__, message_of(error))))


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The tail of a sentence about an unknown name: the nearest known one, then all of them."""
    names = sorted(known)
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f"{nearest(word, names)}known: {', '.join(names[:MOST_NAMES])}{more}"


def nearest(word: str, known: Iterable[str], likeness: float = 0.6) -> str:
    """A question that offers the nearest known name, or nothing; capital letters make no difference."""
    names = {name.casefold(): name for name in known}
    near = difflib.get_close_matches(word.casefold(), list(names), n=1, cutoff=likeness)
    return f"did you mean {names[near[0]]!r}? " if near else ""
