"""A command as an oracle, started once per release: CSV in, CSV out, no shell. Knows processes, not protocols."""

from __future__ import annotations

import os
import re
import selectors
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
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
from oracles.untrusted import last_words
from oracles.wire.csv_text import checked_delimiter, from_csv, to_csv

TICK = 0.05  # seconds between looks at what no file descriptor tells: an exit, the size of {output}
LAST_WORDS = 4_000  # bytes of standard error that are kept
PIECE = 1 << 16
CSV_BYTES = 16 << 20  # of a release: read, it may take thirty times as much
SCRIPT = re.compile(r"\w[\w.-]*\.(py|r|R|jl|js|mjs|ts|sh|pl|rb|php|jar|lua|m|exe)")  # a file that programs run
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
        memory: int | None = None,  # bytes of address space that the command gets (None: no limit)
        env: Mapping[str, str] | None = None,  # environment variables to add
        cwd: str | None = None,  # folder to run in (that of the audit.toml, or the current one)
        randomized: bool | None = None,  # equal questions may get other answers (None: tried out, or true with {seed})
        name: str | None = None,  # how reports call it (the program, and the script that it runs)
    ) -> None:
        self._recipe = (command, {
            "delimiter": delimiter, "columns": columns, "timeout": timeout, "max_reply_bytes": max_reply_bytes,
            "memory": memory, "env": env, "cwd": cwd, "randomized": randomized, "name": name,
        })  # fmt: skip
        self.argv, self.cwd = argv_of(command, cwd), cwd
        self.delimiter, self.columns = checked_delimiter(delimiter), tuple(columns)
        self.timeout, self.max_reply_bytes = timeout, max_reply_bytes
        self._argv = limited(self.argv, memory)
        self.env = {name: str(value) for name, value in (env or {}).items()}
        seedable = any("{seed}" in word for word in self.argv)
        if randomized is None and seedable:  # else two equal questions, having equal seeds, would prove nothing
            randomized = True
        self.card = Card(
            name or f"cmd:{program_name(self.argv)}", randomized=randomized, seedable=seedable, in_process=False
        )
        self._running: set[Running] = set()
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, self._recipe

    def answer(self, ask: Ask) -> Iterator[Table]:
        text = to_csv(ask.table)
        for seed in ask.seeds():
            yield self._release(text, ask.table.names, seed)

    def close(self) -> None:
        """Ends every command that other threads still wait for."""
        with self._lock:
            for running in self._running:
                running.kill()

    def _release(self, text: bytes, names: Sequence[str], seed: int) -> Table:
        with tempfile.TemporaryDirectory(prefix="harness-") as folder:
            files = {"{input}": str(Path(folder, "input.csv")), "{output}": str(Path(folder, "output.csv"))}
            argv = [_filled(word, {**files, "{seed}": str(seed)}) for word in self._argv]
            output = Path(files["{output}"]) if self._mentions("{output}") else None
            if self._mentions("{input}"):
                Path(files["{input}"]).write_bytes(text)
            printed = self._run(argv, b"" if self._mentions("{input}") else text, output)
            reply = printed if output is None else self._written(output)
        if not reply.strip():
            where = "on standard output" if output is None else "to {output}"
            raise ReleaseError(f"the command wrote nothing {where}; expected a CSV table with a header")
        return from_csv(reply, names, delimiter=self.delimiter, columns=self.columns)

    def _mentions(self, place: str) -> bool:
        return any(place in word for word in self.argv)

    def _run(self, argv: Sequence[str], given: bytes, output: Path | None) -> bytes:
        """What the command printed, once it has ended well within its limits."""
        running = Running(argv, given, {**os.environ, **self.env}, self.cwd)
        with self._lock:
            self._running.add(running)
        try:
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
        raise InputError(f"cmd:{command} cannot be split into words: {error}") from None
    if not words:
        raise InputError('cmd: names no command; expected one as in "cmd:python anonymize.py" or command = ["…"]')
    # A program named with a path is looked for where the command will run, others on the PATH.
    if shutil.which(str(Path(cwd or "", words[0])) if "/" in words[0] else words[0]) is None:
        raise InputError(f"cmd:{words[0]}: no such program; give its path, or the name of a program on the PATH")
    return words


def program_name(argv: Sequence[str]) -> str:
    """How outputs call a command: its program, and the script or module that it runs.

    No other word is shown: options and their values may be secret.
    """
    words, program = list(argv[1:]), Path(argv[0]).name
    if program.startswith("python") and "-m" in words[:-1]:
        return f"{program} -m {words[words.index('-m') + 1]}"
    script = next((name for name in (Path(word).name for word in words) if SCRIPT.fullmatch(name)), None)
    return program if script is None else f"{program} {script}"


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
    """One process in a session of its own, whose every member ends with it."""

    def __init__(self, argv: Sequence[str], given: bytes, env: Mapping[str, str], cwd: str | None = None) -> None:
        pipe = subprocess.PIPE
        try:
            self.process = subprocess.Popen(
                argv, stdin=pipe, stdout=pipe, stderr=pipe, env=env, cwd=cwd, start_new_session=True, bufsize=0
            )
        except OSError as error:
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
        """Ends it and closes its pipes."""
        self.end()
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
