"""A command started once and asked many times: frames of the protocol on its standard input and output."""

from __future__ import annotations

import math
import os
import queue
import selectors
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import NO_ANSWER_IN_TIME, PROGRAM_FAILED, OracleError, ReleaseError
from harness.vocabulary.oracle import Ask, Release
from oracles.addresses import program_name, without_secrets
from oracles.asker import require_asker
from oracles.clients.command import LAST_WORDS, TICK, Running, argv_of, limited
from oracles.clients.credentials import checked_texts
from oracles.clients.upload import Sender
from oracles.process_marks import ProcessMarks
from oracles.temporary_files import root_folder
from oracles.untrusted import last_words
from oracles.wire import answers, messages, questions
from oracles.wire._pb import oracle_pb2 as pb
from oracles.wire.messages import Description
from oracles.wire.questions import Question

PIECE = 1 << 16
STARTING = 60.0  # seconds until a process has introduced itself: it may have much to load


class PersistentCommand:
    """A command that answers frames; started without a shell, and started again after it ended."""

    def __init__(
        self,
        command: str | Sequence[str],  # the program and its words, as one text or a list; no shell reads them
        *,
        processes: int = 1,  # how many of them answer at once
        timeout: float = 300.0,  # seconds to wait for one answer; at most 60 for the first, its card
        max_reply_bytes: int = messages.MOST_BYTES,  # largest release that is accepted, in bytes
        max_rows: int | None = None,  # rows of a release that are read (None: 10 per row sent, at least 100,000)
        memory: int | None = None,  # bytes of address space that each process gets (None: no limit)
        env: Mapping[str, str] | None = None,  # environment variables to add
        cwd: str | None = None,  # folder to run in (that of the audit.toml, or the current one)
    ) -> None:
        self._recipe = (command, {
            "processes": processes, "timeout": timeout, "max_reply_bytes": max_reply_bytes, "max_rows": max_rows,
            "memory": memory, "env": env, "cwd": cwd,
        })  # fmt: skip
        argv = argv_of(command, cwd)
        self.timeout = timeout
        self._closed = False
        self._marks = ProcessMarks(root_folder().name)
        environment = {**os.environ, **checked_texts(env or {}, "env")}
        make = limited(argv, memory), environment, cwd, timeout, max_reply_bytes, self._marks
        self._all = [PersistentProcess(program_name(argv), *make) for _ in range(processes)]
        self._free: queue.LifoQueue[PersistentProcess] = queue.LifoQueue()
        for process in reversed(self._all):  # the first is asked first, the others are started when needed
            self._free.put(process)
        try:
            self.description: Description = self._all[0].describe()
        except BaseException:
            self.close()
            raise
        self.card = self.description.card
        for process in self._all:
            process.sender = Sender(process, self.description, max_rows)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, self._recipe

    def spec(self) -> dict[str, Any]:
        """What tells this oracle from another; what may be secret in it is a `Secret`."""
        command, options = self._recipe
        return without_secrets("cmd:", {"command": command, **options})

    @property
    def traffic(self) -> tuple[int, int]:
        """Bytes of frames sent and received so far."""
        return sum(process.sent for process in self._all), sum(process.received for process in self._all)

    def answer(self, ask: Ask) -> Iterator[Release]:
        if self._closed:
            raise OracleError(f"{self.card.name} was closed")
        try:
            process = self._free.get(timeout=self.timeout)
        except queue.Empty:
            text = f"{self.card.name} is still busy with other questions after {self.timeout:g} s; allow more processes"
            raise OracleError(text, retryable=True) from None
        try:
            yield from process.answer(ask)
        finally:
            self._free.put(process)

    def close(self) -> None:
        """Ends all processes, also under the threads that still wait for one."""
        self._closed = True
        for process in self._all:
            process.close()
        while not self._free.empty():
            self._free.get_nowait().end()
        self._marks.end_all()


def _again(command: str | Sequence[str], options: dict[str, Any]) -> PersistentCommand:
    return PersistentCommand(command, **options)


class PersistentProcess:
    """The conversation with one process. Used by one thread at a time."""

    sender: Sender

    def __init__(
        self,
        name: str,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: str | None,
        timeout: float,
        max_reply_bytes: int,
        marks: ProcessMarks,
    ) -> None:
        self.name, self.argv, self.env, self.cwd, self.marks = name, argv, env, cwd, marks
        self.timeout, self.max_reply_bytes = timeout, max_reply_bytes
        self._pipes: Pipes | None = None
        self._lock = threading.Lock()  # a process is started and known at once: `close` may come in between
        self._closed = False
        self._midway = False  # a request was sent, and not all of its reply was read
        self.sent = self.received = 0  # bytes

    def describe(self) -> Description:
        with self._conversation(STARTING):
            self._send(pb.Request(describe=messages.describe_request()))
            return messages.unpack_description(self._expect("described").described)

    def answer(self, ask: Ask) -> Iterator[Release]:
        if self._pipes is None or self._pipes.over():
            self.end()
            self.sender.forget_all()
        with self._conversation():
            yield from self.sender.answer(ask)

    def pack(self, data: Dataset) -> bytes:
        return messages.pack_dataset(data).SerializeToString()

    def put(self, digest: str, body: bytes) -> str:
        for request in messages.put_requests(digest, body):
            self._send(pb.Request(put=request))
        return self._expect("kept").kept.digest

    def ask(self, question: Question) -> Iterator[Release]:
        description = self.sender.description
        request = questions.sized(questions.pack_question(question), description.request_bytes)
        body = self._send(pb.Request(answer=request))
        most = 1 if description.card.releases == "predictions" else question.draws
        releases = answers.assembled(self._parts(), most, self.max_reply_bytes, messages.digest_of(body))
        for count, release in enumerate(releases, start=1):
            if count == most:
                next(releases, None)  # an asker who leaves with the last release leaves nothing unread
            yield release

    def _parts(self) -> Iterator[pb.Part]:
        arrived = 0
        while (reply := self._expect("part", "done")).WhichOneof("kind") == "part":
            arrived += not reply.part.more
            yield reply.part
        answers.check_done(reply.done, arrived)
        if self._running().unread:
            raise ReleaseError("it said that it was done, and sent something more")

    def _send(self, request: pb.Request) -> bytes:
        """Sends a frame; what is in it."""
        self._midway = True
        data = messages.frame(request)
        self._running().write(data)
        self.sent += len(data)
        return data[messages.FRAME_HEAD :]

    def _expect(self, *kinds: str) -> pb.Reply:
        """The next reply, of one of these kinds; a problem is raised."""
        pipes = self._running()
        reply = messages.read_frame(pipes.read, pb.Reply)
        if reply is None:
            words = f"it ended {pipes.ending()} in the middle of a question"
            raise OracleError(words, retryable=True, reason=PROGRAM_FAILED)
        self.received += 4 + reply.ByteSize()
        kind = reply.WhichOneof("kind")
        self._midway = kind == "part"
        if kind == "problem":
            raise messages.unpack_problem(reply.problem)
        if kind not in kinds:
            raise ReleaseError(f"it replied {kind or 'something unknown'} where {' or '.join(kinds)} was expected")
        return reply

    def _running(self) -> Pipes:
        with self._lock:
            if self._pipes is None:
                if self._closed:
                    raise OracleError(f"{self.name} was closed")
                self._pipes = Pipes(Running(self.argv, b"", self.env, self.cwd, self.marks))
            return self._pipes

    @contextmanager
    def _conversation(self, most: float = math.inf) -> Iterator[None]:
        """One question and its answer: afterwards the process is ready for the next, or ended."""
        self._running().left = min(self.timeout, most)
        try:
            yield
        except messages.Refused:  # it came in a frame of its own: the conversation can go on
            raise
        except OracleError as error:
            where = f"{self.name}{self._running().last_words()}"
            self.end()
            raise error.within(where) from None
        finally:
            if self._midway:  # nobody will read the rest
                self.end()

    def close(self) -> None:
        """Ends the process while another thread may be waiting for it; none starts any more."""
        with self._lock:
            self._closed = True
            if self._pipes is not None:
                self._pipes.running.kill()

    def end(self) -> None:
        """Ends the process and all that it started; it begins anew when it is next needed."""
        pipes, self._pipes, self._midway = self._pipes, None, False
        if pipes is not None:
            pipes.close()


class Pipes:
    """The three streams of a process; never waits longer than the `left` seconds."""

    def __init__(self, running: Running) -> None:
        self.running = running
        self.left = 0.0
        self._buffer = bytearray()
        self._words = bytearray()
        self._selector = selectors.DefaultSelector()
        process = running.process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._stdin, self._stdout, self._stderr = (
            stream.fileno() for stream in (process.stdin, process.stdout, process.stderr)
        )
        for number in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(number, False)
        self._selector.register(self._stdout, selectors.EVENT_READ)
        self._selector.register(self._stderr, selectors.EVENT_READ)
        self._ended = self._gone = False

    @property
    def unread(self) -> bool:
        """Whether something has arrived that nobody asked for."""
        return bool(self._buffer)

    def over(self) -> bool:
        """Whether the process has ended; not reaped yet, so that what it left behind can be ended with it."""
        process = self.running.process
        if process.returncode is not None:
            return True
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None

    def write(self, data: bytes) -> None:
        rest = memoryview(data)
        self._selector.register(self._stdin, selectors.EVENT_WRITE)
        try:
            while rest:
                if self._stdin in self._wait():
                    rest = rest[os.write(self._stdin, rest[: 1 << 20]) :]
                elif self._gone:
                    raise BrokenPipeError
        except (BrokenPipeError, ConnectionResetError):
            words = f"it ended {self.ending()} instead of reading a question"
            raise OracleError(words, retryable=True, reason=PROGRAM_FAILED) from None
        finally:
            self._selector.unregister(self._stdin)

    def read(self, size: int) -> bytes:
        """So many bytes of standard output, fewer where it ends."""
        while len(self._buffer) < size and not self._ended:
            if self._stdout in self._wait():
                piece = os.read(self._stdout, max(PIECE, min(size, 1 << 20)))
                self._ended = not piece
                self._buffer += piece
            else:
                self._ended = self._gone
        taken = bytes(self._buffer[:size])
        del self._buffer[:size]
        return taken

    def _wait(self) -> set[int]:
        """The streams that are ready, perhaps none once the process is gone; standard error is read as well.

        A process may leave a child behind that holds its streams open, so their end does not tell of its own.
        """
        while True:
            self._gone = self.over()
            began = time.monotonic()
            patience = 0.0 if self._gone else max(0.0, min(TICK, self.left))
            ready = {int(key.fd) for key, _ in self._selector.select(patience)}
            self.left -= time.monotonic() - began
            if self._stderr in ready:
                self._listen()
            if ready or self._gone:
                return ready
            require_asker()
            if self.left <= 0:
                raise OracleError("it did not answer in time", retryable=True, reason=NO_ANSWER_IN_TIME)

    def _listen(self) -> bool:
        """Reads from standard error; whether there was something. At its end it is no longer waited for."""
        try:
            piece = os.read(self._stderr, PIECE)
        except BlockingIOError:
            return False
        self._words += piece
        del self._words[:-LAST_WORDS]
        if not piece and self._stderr in self._selector.get_map():
            self._selector.unregister(self._stderr)
        return bool(piece)

    def ending(self) -> str:
        """How the process ended, once its output has; one that only closed its output is given a second."""
        patience = time.monotonic() + 1.0
        while not self.over():
            if time.monotonic() > patience:
                return "its output"
            time.sleep(0.005)
        self.running.end()
        status = self.running.process.returncode
        return f"by signal {-status}" if status < 0 else f"with status {status}"

    def last_words(self) -> str:
        """The end of its standard error, as errors quote it."""
        for _ in range(64):  # a pipe's worth; a process may go on for ever
            if not self._listen():
                break
        return last_words(self._words)

    def close(self) -> None:
        self._selector.close()
        self.running.release()
