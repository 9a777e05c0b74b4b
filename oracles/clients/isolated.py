"""A `python:` anonymizer in a process of its own: it may print, hang or crash, and the harness goes on.

    open       the child imports the module, makes the oracle and says its card
    answer     the child is sent a dataset once and then questions about it; it replies with releases

What the anonymizer prints, and its tracebacks, go to a log file. Messages are pickled, as those of workers are: such
code runs with the rights of whoever audits, in whichever process, and is isolated against accidents, not malice.
An anonymizer that is not trusted is asked over HTTP, gRPC or as a command, whose replies are checked bytes.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Pipe
from pathlib import Path
from typing import IO, Any

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import (
    NO_ANSWER_IN_TIME,
    PROCESS_ENDED,
    FailedError,
    HarnessError,
    InputError,
    OracleError,
    why_not_written,
)
from harness.vocabulary.oracle import Ask, Card, Release
from harness.vocabulary.private_files import make_private_folder, open_private
from oracles.asker import require_asker
from oracles.process_marks import ProcessMarks, marked
from oracles.temporary_files import root_folder

BOOT = (  # the child's first words; not by PYTHONPATH, which the programs that an anonymizer starts would inherit
    "import json, sys; number, sys.path[:] = int(sys.argv[1]), json.loads(sys.argv[2]); sys.argv[1:] = []; "
    "from oracles.clients.isolated_child import main; main(number)"
)
TICK = 0.05  # seconds between looks whether the process still lives: one that it forked may hold the pipe open
GRACE = 0.5  # seconds for a process that is told to end
STARTING = 300.0  # seconds until the module is imported: it may have much to load
DATASETS = 4  # that a child keeps
IMPORT, ANONYMIZE = "importing its module", "anonymizing"  # what a process is doing, in errors
LOG_BYTES = 64 << 20  # a longer log is begun anew


@dataclass(frozen=True)
class ChildSettings:
    """How the process of a `python:` anonymizer is started."""

    log: Path | None = None  # where all that it prints goes; None: to standard error
    env: Mapping[str, str] = field(default_factory=dict)  # environment variables to add


@dataclass(frozen=True)
class Opening:
    """What a child makes its oracle of: the first message that it gets."""

    target: str  # package.module:name
    arguments: Mapping[str, Any] = field(default_factory=dict)
    taken: tuple[str, ...] = ()  # names of options that were given and are not the anonymizer's own


class Isolated:
    """The callable or oracle class `package.module:name`, asked in a process of its own.

    One process answers one question at a time; a further one is started when all are busy.
    """

    def __init__(
        self,
        opening: Opening,
        *,
        timeout: float = 300.0,  # seconds that one call may take; its process is then ended
        settings: ChildSettings | None = None,
        card: Card | None = None,  # of the same anonymizer, where another process has asked for it already
        root: str | None = None,  # name of the temporary folder of that process
    ) -> None:
        self.opening, self.timeout, self.settings = opening, timeout, settings or ChildSettings()
        self._idle: list[_Child] = []
        self._all: set[_Child] = set()
        self._lock = threading.Lock()
        self._log = _Log(self.settings.log)
        self._marks = ProcessMarks(root or root_folder().name)
        self.card: Card = card or self._ask_card()

    def __reduce__(self) -> tuple[Any, ...]:
        log = self.settings.log
        settings = replace(self.settings, log=None if log is None else log.absolute())
        return _again, (self.opening, self.timeout, settings, self.card, self._marks.root)

    def _ask_card(self) -> Card:
        try:
            card: Card = self.inspect_inside(_card_of)
        except BaseException:
            self.close()
            raise
        return card

    def inspect_inside(self, function: Callable[[Any], Any]) -> Any:
        """What a function of a module says about the oracle, called in the process that holds it."""
        child = self._take()
        try:
            (result,) = child.replies(("inspect", function), STARTING)
        except BaseException as error:
            raise self._ended(child, error) from None
        self._give_back(child)
        return result

    def answer(self, ask: Ask) -> Iterator[Release]:
        child = self._take()
        try:
            yield from child.answer(ask, self.timeout)
        except BaseException as error:
            raise self._ended(child, error) from None
        self._give_back(child)

    def close(self) -> None:
        """Ends all processes, also under the threads that still wait for one."""
        with self._lock:
            children, self._all, self._idle = self._all, set(), []
        for child in children:
            child.pipe.close() if child.is_idle else child.kill()
        for child in children:
            child.end()
        if children:
            self._marks.end_all()
        self._log.close()

    def _take(self) -> _Child:
        with self._lock:
            while self._idle:
                child = self._idle.pop()
                if child.process.poll() is None:
                    return child
                self._all.discard(child)
            mark = self._marks.begin()
            environment = marked({**os.environ, **self.settings.env}, mark)
            child = _Child(self.opening, self._log.opened(), environment, mark)
            self._all.add(child)
            return child

    def _give_back(self, child: _Child) -> None:
        self._log.shorten()
        with self._lock:
            if child in self._all:  # else it was closed meanwhile
                self._idle.append(child)

    def _ended(self, child: _Child, error: BaseException) -> BaseException:
        """The error to raise; a child that has told its error goes on, any other is ended."""
        if child.is_idle:
            self._give_back(child)
        else:
            child.kill()
            child.end()
            self._marks.finish(child.mark, failed=True)
            with self._lock:
                self._all.discard(child)
        if isinstance(error, HarnessError):
            error.log = self._log.path_if_any()
        return error


def _again(opening: Opening, timeout: float, settings: ChildSettings, card: Card, root: str) -> Isolated:
    """The same in a worker; on another machine, which does not have the folder of the log, it prints as others do."""
    if settings.log is not None and not settings.log.parent.is_dir():
        settings = replace(settings, log=None)
    return Isolated(opening, timeout=timeout, settings=settings, card=card, root=root)


def _card_of(oracle: Any) -> Card:
    card: Card = oracle.card
    return card


class _Child:
    """One process and the pipe to it. Used by one thread at a time."""

    def __init__(self, opening: Opening, log: IO[bytes] | None, env: Mapping[str, str], mark: str) -> None:
        self.mark = mark
        self.pipe, theirs = Pipe()
        words = [str(theirs.fileno()), json.dumps([path or os.getcwd() for path in sys.path])]
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-c", BOOT, *words],
                stdin=subprocess.DEVNULL, stdout=log or sys.__stderr__, stderr=log, env=env,
                pass_fds=[theirs.fileno()], process_group=0,
            )  # fmt: skip
        except OSError as error:
            self.pipe.close()
            raise OracleError(f"a process for the anonymizer cannot be started: {error.strerror or error}") from None
        finally:
            theirs.close()
        self.is_idle = True
        self._opening: Opening | None = opening  # until it is sent
        self._datasets: list[Dataset] = []

    def answer(self, ask: Ask, timeout: float) -> Iterator[Release]:
        place = next((place for place, data in enumerate(self._datasets) if data is ask.data), None)
        if place is None:
            del self._datasets[: max(0, len(self._datasets) + 1 - DATASETS)]
            self._datasets.append(ask.data)
        question = (ask.drop, ask.about, ask.draws, ask.seed)
        return self.replies(("answer", ask.data if place is None else place, question), timeout)

    def replies(self, request: tuple[Any, ...], timeout: float) -> Iterator[Any]:
        """What the child sends, to the end of its reply; an error that it tells is raised."""
        self.is_idle = False
        if self._opening is not None:
            self._send(self._opening)
            yield from self._until_done(STARTING, IMPORT)  # sends nothing but its end
            self._opening = None
        self._send(request)
        yield from self._until_done(timeout, ANONYMIZE)
        self.is_idle = True

    def _send(self, message: Any) -> None:
        with suppress(OSError):  # it has ended, which reading will tell
            self.pipe.send(message)

    def _until_done(self, timeout: float, task: str) -> Iterator[Any]:
        while True:
            kind, value = self._receive(timeout, task)
            if kind == "done":
                return
            if kind == "error":
                self.is_idle = self._opening is None  # without an oracle it is of no use
                raise value
            yield value

    def _receive(self, timeout: float, task: str) -> tuple[str, Any]:
        deadline = time.monotonic() + timeout
        try:
            while not self.pipe.poll(min(TICK, timeout)):
                if self.process.poll() is not None and not self.pipe.poll(0):
                    raise EOFError
                if time.monotonic() > deadline:
                    raise _late(timeout, task)
                require_asker()
            reply: tuple[str, Any] = self.pipe.recv()
        except (EOFError, OSError):
            raise self._crash(task) from None
        return reply

    def _crash(self, task: str) -> FailedError:
        """How the process ended by itself; another attempt may find what this one lacked, such as memory."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(2 * GRACE)
        ending = _ending(self.process.returncode)
        words = f"the process of the anonymizer {ending} while {task}"
        return FailedError(words, retryable=True, reason=PROCESS_ENDED)

    def kill(self) -> None:
        """Ends the whole group of the process; whoever waits for it will see that."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def end(self) -> None:
        """Returns once the process has ended: by itself if it does so soon, as an idle one should."""
        self.pipe.close()
        try:
            self.process.wait(2 * GRACE)
        except subprocess.TimeoutExpired:
            self.kill()
            self.process.wait()


def _late(timeout: float, task: str) -> FailedError:
    advice = "; raise the option timeout if it needs longer" if task == ANONYMIZE else ""
    words = f"the anonymizer was still {task} after {timeout:g} s, and its process was ended{advice}"
    return FailedError(words, reason=NO_ANSWER_IN_TIME)


def _ending(status: int | None) -> str:
    if status is None:
        return "closed its pipe to the harness"
    if status == -signal.SIGKILL:
        return "was killed (signal SIGKILL; is memory short?)"
    if status < 0:
        return f"was ended by signal {_signal_name(-status)}"
    return f"ended with exit code {status}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return str(number)


class _Log:
    """The file with what the children print, readable by its owner alone: begun with the first child."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._file: IO[bytes] | None = None
        self._size_before = 0
        self._made: list[Path] = []  # folders that did not exist before

    def opened(self) -> IO[bytes] | None:
        if self.path is None or self._file is not None:
            return self._file
        try:
            self._made = [folder for folder in (self.path.parent, *self.path.parent.parents) if not folder.exists()]
            make_private_folder(self.path.parent)
            number = open_private(self.path, os.O_WRONLY | os.O_APPEND)
        except OSError as error:
            raise InputError(why_not_written(self.path, error)) from None
        self._file = os.fdopen(number, "ab", buffering=0)
        self._size_before = self._size()
        return self._file

    def _size(self) -> int:
        return 0 if self._file is None else os.fstat(self._file.fileno()).st_size

    def path_if_any(self) -> Path | None:
        """Its path, if something was printed since it was opened here."""
        return self.path if self._size() > self._size_before else None

    def shorten(self) -> None:
        """An anonymizer that prints much does not fill the disk."""
        if self._file is not None and self._size() > LOG_BYTES:
            os.ftruncate(self._file.fileno(), 0)
            self._size_before = 0
            self._file.write(f"(what was printed before was dropped: more than {LOG_BYTES >> 20} MiB)\n".encode())

    def close(self) -> None:
        """An empty log is removed, with the folders that were made for it if nothing else is in them."""
        if self._file is None or self.path is None:
            return
        is_empty = self._size() == 0
        self._file.close()
        self._file = None
        if is_empty:
            with suppress(OSError):
                self.path.unlink()
                for folder in self._made:
                    folder.rmdir()
