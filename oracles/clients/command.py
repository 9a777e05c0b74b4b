"""A command as an oracle, started once per release: CSV in, CSV out, no shell. Knows processes, not protocols."""

from __future__ import annotations

import os
import selectors
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from harness.vocabulary.errors import (
    NO_ANSWER_IN_TIME,
    PROGRAM_FAILED,
    AwayError,
    InputError,
    OracleError,
    ReleaseError,
)
from harness.vocabulary.oracle import Ask, Card
from harness.vocabulary.table import Table
from oracles.addresses import program_name, without_secrets
from oracles.asker import require_asker
from oracles.clients.credentials import checked_texts
from oracles.process_marks import ProcessMarks, marked
from oracles.temporary_files import root_folder, temporary_folder, write_input
from oracles.untrusted import checked_most_rows, last_words, most_rows
from oracles.wire.csv_text import checked_delimiter, from_csv, to_csv

TICK = 0.05  # seconds between looks at what no file descriptor tells: an exit, the size of {output}
LAST_WORDS = 4_000  # bytes of standard error that are kept
PIECE = 1 << 16
CSV_BYTES = 16 << 20  # of a release: read, it may take thirty times as much
PLACES = ("{input}", "{output}", "{seed}")
LIMITED = (  # sets its own limit, then becomes the command: safe with threads, where preexec_fn is not
    "import os, resource, sys; size = int(sys.argv[1]); "
    "resource.setrlimit(resource.RLIMIT_AS, (size, size)); os.execvp(sys.argv[2], sys.argv[2:])"
)


class Command:
    """Runs a command for every release: the table as CSV on its standard input, its release on its output.

    `{input}` and `{output}` in the command stand for files in a private folder and replace the stream of that
    side; `{seed}` stands for the seed of the draw.
    """

    def __init__(
        self,
        command: str | Sequence[str],  # the program and its words, as one text or a list; no shell reads them
        *,
        delimiter: str | None = None,  # between the cells of a release (None: found out)
        columns: Sequence[str] = (),  # names of the columns of a release that has no header
        timeout: float = 60.0,  # seconds that one run may take
        max_reply_bytes: int = CSV_BYTES,  # largest release that is accepted, in bytes
        max_rows: int | None = None,  # rows of a release that are read (None: 10 per row sent, at least 100,000)
        memory: int | None = None,  # bytes of address space that the command gets (None: no limit)
        env: Mapping[str, str] | None = None,  # environment variables to add
        cwd: str | None = None,  # folder to run in (that of the audit.toml, or the current one)
        randomized: bool | None = None,  # equal questions may get other answers (None: tried out, or true with {seed})
        name: str | None = None,  # how reports call it (the program, and the script that it runs)
    ) -> None:
        self._recipe = (command, {
            "delimiter": delimiter, "columns": columns, "timeout": timeout, "max_reply_bytes": max_reply_bytes,
            "max_rows": max_rows, "memory": memory, "env": env, "cwd": cwd, "randomized": randomized, "name": name,
        })  # fmt: skip
        self.argv, self.cwd = argv_of(command, cwd), cwd
        self.delimiter, self.columns = checked_delimiter(delimiter), tuple(columns)
        self.timeout, self.max_reply_bytes = timeout, max_reply_bytes
        self.max_rows = checked_most_rows(max_rows)
        self._argv = limited(self.argv, memory)
        self.env = checked_texts(env or {}, "env")
        seedable = any("{seed}" in word for word in self.argv)
        if randomized is None and seedable:  # else two equal questions, having equal seeds, would prove nothing
            randomized = True
        self.card = Card(
            name or f"cmd:{program_name(self.argv)}", randomized=randomized, seedable=seedable, in_process=False
        )
        self._running: set[Running] = set()
        self._lock = threading.Lock()
        self._closed = False
        self._marks = ProcessMarks(root_folder().name)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, self._recipe

    def spec(self) -> dict[str, Any]:
        """What tells this oracle from another; what may be secret in it is a `Secret`."""
        command, options = self._recipe
        return without_secrets("cmd:", {"command": command, **options})

    def answer(self, ask: Ask) -> Iterator[Table]:
        text = to_csv(ask.table)
        for seed in ask.seeds():
            yield self._release(text, ask.table, seed)

    def close(self) -> None:
        """Ends every command that other threads still wait for, and what they left behind; none starts any more."""
        with self._lock:
            self._closed = True
            for running in self._running:
                running.kill()
        self._marks.end_all()

    def _release(self, text: bytes, table: Table, seed: int) -> Table:
        until = time.monotonic() + self.timeout
        with temporary_folder() as folder:
            files = {"{input}": str(Path(folder, "input.csv")), "{output}": str(Path(folder, "output.csv"))}
            argv = [_filled(word, {**files, "{seed}": str(seed)}) for word in self._argv]
            output = Path(files["{output}"]) if self._mentions("{output}") else None
            if self._mentions("{input}"):
                write_input(Path(files["{input}"]), text)
            printed = self._run(argv, b"" if self._mentions("{input}") else text, output)
            reply = printed if output is None else self._written(output)
        if not reply.strip():
            where = "on standard output" if output is None else "to {output}"
            raise ReleaseError(f"the command wrote nothing {where}; expected a CSV table with a header")
        most = most_rows(table.rows, self.max_rows)
        return from_csv(reply, table.names, delimiter=self.delimiter, columns=self.columns, most=most, until=until)

    def _mentions(self, place: str) -> bool:
        return any(place in word for word in self.argv)

    def _run(self, argv: Sequence[str], given: bytes, output: Path | None) -> bytes:
        """What the command printed, once it has ended well within its limits."""
        with self._lock:  # started and known at once: `close` may come when the command runs and Popen has not returned
            running = Running(argv, given, {**os.environ, **self.env}, self.cwd, self._marks)
            self._running.add(running)
        try:
            if self._closed:
                raise OracleError(f"{self.card.name} was closed")
            return running.printed(self.timeout, self.max_reply_bytes, output)
        finally:
            with self._lock:
                self._running.discard(running)
            running.release()

    def _written(self, output: Path) -> bytes:
        if not output.is_file():
            raise ReleaseError("the command ended well but did not write its file {output}")
        if output.stat().st_size > self.max_reply_bytes:
            raise _too_long(self.max_reply_bytes)
        return output.read_bytes()


def argv_of(command: str | Sequence[str], cwd: str | None = None) -> list[str]:
    """The words of a command, the first of them a program that exists."""
    try:
        words = shlex.split(command) if isinstance(command, str) else [str(word) for word in command]
    except ValueError as error:
        raise InputError(f"cmd: the command cannot be split into words: {error}") from None
    if not words:
        raise InputError('cmd: names no command; expected one as in "cmd:python anonymize.py" or command = ["…"]')
    # A program named with a path is looked for where the command will run, others on the PATH.
    if shutil.which(str(Path(cwd or "", words[0])) if "/" in words[0] else words[0]) is None:
        raise InputError(f"cmd:{words[0]}: no such program; give its path, or the name of a program on the PATH")
    return words


def limited(argv: Sequence[str], memory: int | None) -> list[str]:
    """The same command with its address space bounded to so many bytes."""
    if memory is None:
        return list(argv)
    return [sys.executable, "-I", "-S", "-c", LIMITED, str(memory), *argv]


def _again(command: str | Sequence[str], options: dict[str, Any]) -> Command:
    return Command(command, **options)


def _filled(word: str, values: Mapping[str, str]) -> str:
    for place in PLACES:
        word = word.replace(place, values[place])
    return word


def _too_long(most: int) -> ReleaseError:
    return ReleaseError(f"the command wrote more than {most} bytes; raise the option max_reply_bytes if that is right")


class Running:
    """One process in a session of its own, whose every member ends with it, and whoever left that session."""

    def __init__(
        self, argv: Sequence[str], given: bytes, env: Mapping[str, str], cwd: str | None, marks: ProcessMarks
    ) -> None:
        pipe = subprocess.PIPE
        self._marks, self._mark, self._succeeded = marks, marks.begin(), False
        env = marked(env, self._mark)
        try:
            self.process = subprocess.Popen(
                argv, stdin=pipe, stdout=pipe, stderr=pipe, env=env, cwd=cwd, start_new_session=True, bufsize=0
            )
        except (OSError, ValueError) as error:
            marks.finish(self._mark)
            if isinstance(error, ValueError):  # such as = in the name of a variable
                raise InputError(f"the command cannot be started: {error}; see the option env") from None
            raise AwayError(f"the command cannot be started: {error.strerror or error}") from None
        self._given = memoryview(given)
        self._printed = bytearray()
        self._words = bytearray()
        self._lock = threading.Lock()

    def printed(self, timeout: float, most: int, output: Path | None) -> bytes:
        """Its whole standard output; an OracleError if it is late, too long, or ends with another status than 0."""
        deadline = time.monotonic() + timeout
        with selectors.DefaultSelector() as selector:
            self._register(selector)
            while not self._over():
                require_asker()
                if time.monotonic() > deadline:
                    words = f"the command did not end within {timeout:g} s{last_words(self._words)}"
                    raise OracleError(words, reason=NO_ANSWER_IN_TIME)
                for key, _ in selector.select(TICK if selector.get_map() else TICK / 50):
                    key.data(selector, key.fileobj)
                if len(self._printed) > most or _size(output) > most:
                    raise _too_long(most)
            self.end()  # children that it left behind let go of the pipes now
            self._drain(selector, most)
        self._require_success()
        self._succeeded = True
        return bytes(self._printed)

    def _register(self, selector: selectors.BaseSelector) -> None:
        process, reads = self.process, selectors.EVENT_READ
        for stream, event, handler in (
            (process.stdin, selectors.EVENT_WRITE, self._feed),
            (process.stdout, reads, self._take),
            (process.stderr, reads, self._listen),
        ):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)
            selector.register(stream, event, handler)

    def _over(self) -> bool:
        """Whether the process itself has ended; it is not reaped yet, so its group cannot be another's."""
        return os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None

    def _feed(self, selector: selectors.BaseSelector, stream: IO[bytes]) -> None:
        try:
            self._given = self._given[os.write(stream.fileno(), self._given[:PIECE]) :]
        except BlockingIOError:
            return
        except OSError:  # it does not want to read on
            self._given = self._given[:0]
        if not self._given:
            _leave(selector, stream)

    def _take(self, selector: selectors.BaseSelector, stream: IO[bytes]) -> None:
        piece = os.read(stream.fileno(), PIECE)
        self._printed += piece
        if not piece:
            _leave(selector, stream)

    def _listen(self, selector: selectors.BaseSelector, stream: IO[bytes]) -> None:
        piece = os.read(stream.fileno(), PIECE)
        self._words += piece
        del self._words[:-LAST_WORDS]
        if not piece:
            _leave(selector, stream)

    def _drain(self, selector: selectors.BaseSelector, most: int) -> None:
        """What is still in the pipes."""
        while len(self._printed) <= most and (ready := selector.select(0)):
            for key, _ in ready:
                key.data(selector, key.fileobj)
        if len(self._printed) > most:
            raise _too_long(most)

    def _require_success(self) -> None:
        status = self.process.returncode
        if status == 0:
            return
        if status < 0:
            ending = f"signal {-status} ({signal.strsignal(-status)})"
            raise OracleError(f"the command was ended by {ending}{last_words(self._words)}", reason=PROGRAM_FAILED)
        raise OracleError(f"the command ended with status {status}{last_words(self._words)}", reason=PROGRAM_FAILED)

    def kill(self) -> None:
        """Ends the whole group; whoever waits for the process will see it."""
        with self._lock:
            if self.process.returncode is None:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self.process.pid, signal.SIGKILL)

    def end(self) -> None:
        """Ends the whole group and reaps the process; more than once does no harm."""
        self.kill()
        with self._lock:
            self.process.wait()

    def release(self) -> None:
        """Ends it, closes its pipes, and ends what it left behind."""
        self.end()
        self._marks.finish(self._mark, failed=not self._succeeded)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


def _leave(selector: selectors.BaseSelector, stream: IO[bytes]) -> None:
    selector.unregister(stream)
    stream.close()


def _size(output: Path | None) -> int:
    try:
        return output.stat().st_size if output is not None else 0
    except OSError:
        return 0
