"""The handler behind standard input and output: frames in, frames out, one question after the other."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from typing import BinaryIO

from google.protobuf.message import Message

from harness.vocabulary.errors import HarnessError
from harness.vocabulary.oracle import Oracle
from oracles.serve.handler import Handler
from oracles.serve.limits import Limits
from oracles.wire import answers, messages
from oracles.wire._pb import oracle_pb2 as pb
from oracles.wire.messages import Refused


def claimed_stdout() -> BinaryIO:
    """Standard output, for frames alone: what anybody else prints goes to standard error from now on."""
    sys.stdout.flush()
    sink = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return sink


def serve(oracle: Oracle, *, sink: BinaryIO | None = None, limits: Limits | None = None, debug: bool = False) -> None:
    """Answer until standard input ends, or SIGTERM comes and the question under way is answered.

    Claim standard output before the vendor's module is imported if its import may print, and hand it over.
    """
    with sink or claimed_stdout() as frames:
        Conversation(Handler(oracle, limits=limits, debug=debug), sys.stdin.buffer, frames).run()


class Conversation:
    """Reads requests and writes replies; a request that cannot be read ends it."""

    def __init__(self, handler: Handler, source: BinaryIO, sink: BinaryIO) -> None:
        self.handler, self._source, self._sink = handler, source, sink
        self._waiting = self._stopping = False
        self._frame = b""  # what was read last

    def run(self) -> None:
        signal.signal(signal.SIGTERM, lambda *_: self._stop())
        while not self._stopping and (request := self._next()) is not None:
            try:
                self._reply(request)
            except Refused as refused:
                self._send(pb.Reply(problem=messages.pack_problem(refused)))

    def _stop(self) -> None:
        self._stopping = True
        if self._waiting:
            raise SystemExit(0)

    def _next(self) -> pb.Request | None:
        """The next request, and in `_frame` the bytes that carried it."""
        self._waiting = True  # from here on SIGTERM ends the process at once
        try:
            if self._stopping:  # it came a moment before
                raise SystemExit(0)
            return messages.read_frame(self._read, pb.Request, self.handler.limits.message_bytes)
        except HarnessError as error:
            self._send(pb.Reply(problem=messages.pack_problem(Refused(str(error), code="INVALID"))))
            return None
        finally:
            self._waiting = False

    def _read(self, size: int) -> bytes:
        self._frame = self._source.read(size)
        return self._frame

    def _reply(self, request: pb.Request) -> None:
        verb = request.WhichOneof("verb")
        if verb == "describe":
            description = self.handler.describe(request.describe.protocol.major)
            self._send(pb.Reply(described=messages.pack_description(description)))
        elif verb == "put":
            pieces = self._pieces(request.put)
            try:
                digest = self.handler.put(request.put.digest, pieces, size=request.put.size)
            finally:
                for _ in pieces:  # a refused dataset is read to its end all the same
                    pass
            self._send(pb.Reply(kept=pb.PutReply(digest=digest)))
        elif verb == "answer":
            self._answer(request.answer)
        else:
            raise Refused("the request has no verb that this server knows", code="UNSUPPORTED")

    def _pieces(self, put: pb.PutRequest) -> Iterator[bytes]:
        yield put.part
        while not put.last:
            request = self._next()
            if request is None or request.WhichOneof("verb") != "put":
                raise Refused("a dataset broke off before its last piece", code="INVALID")
            put = request.put
            yield put.part

    def _answer(self, request: pb.AnswerRequest) -> None:
        question = messages.digest_of(self._frame)
        releases = 0
        for part in answers.parts(self.handler.answer_to(request.SerializeToString()), question):
            self._send(pb.Reply(part=part))
            releases += not part.more
        self._send(pb.Reply(done=pb.Done(releases=releases)))

    def _send(self, message: Message) -> None:
        rest = memoryview(messages.frame(message))
        while rest:
            rest = rest[self._sink.write(rest) :]
