"""The handler behind HTTP (PROTOCOL.md §3): protobuf and JSON, an OpenAPI document, a health check.

An event loop waits for all connections (http_connection.py); a request goes to a thread when it is complete, and its
caller has the token (turns.py). The card, the document and the health check are answered by the loop itself, so that
they are there however busy the anonymizer is.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import ssl
import time
import traceback
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import aclosing
from typing import Any, Final

import h11

from harness.vocabulary.errors import InputError, ReleaseError
from harness.vocabulary.oracle import Oracle, Release
from oracles.serve.binding import host_and_port, require_token
from oracles.serve.event_loop import EventLoop
from oracles.serve.handler import Form, Handler, OtherData
from oracles.serve.http_connection import Connection, Gone, Places, Wire
from oracles.serve.intake import Intake
from oracles.serve.limits import Limits
from oracles.serve.openapi import document
from oracles.serve.turns import Turns
from oracles.wire import answers, json_form, messages
from oracles.wire._pb import oracle_pb2 as pb
from oracles.wire.messages import Code, Refused

PROTOBUF, JSON = "application/x-protobuf", "application/json"
FORMS: Final[dict[str, Form]] = {PROTOBUF: "protobuf", JSON: "json"}
STATUS: Final[dict[Code, int]] = {
    "INVALID": 400,
    "UNSUPPORTED": 501,
    "UNAUTHENTICATED": 401,
    "UNKNOWN_DATA": 404,
    "TOO_LARGE": 413,
    "BUSY": 429,
    "UNAVAILABLE": 503,
    "FAILED": 500,
}
METHODS: Final = {
    "/v1/card": ("GET", "HEAD"),
    "/v1/openapi.json": ("GET", "HEAD"),
    "/healthz": ("GET", "HEAD"),
    "/v1/answers": ("POST",),
    "/v1/data/": ("PUT",),
}
OPEN: Final = ("/healthz", "/v1/openapi.json")  # to callers without the token
CONNECTIONS: Final = 1000
BACKLOG: Final = 256


class Server:
    """A running HTTP server."""

    def __init__(self, handler: Handler, loop: EventLoop, listening: Listening, address: str) -> None:
        self.handler, self.address = handler, address
        self._loop, self._listening = loop, listening

    def stop(self, grace: float = 30.0) -> None:
        """Take no more questions, give those under way `grace` seconds, end."""
        if not self._loop.is_running:
            return
        end = time.monotonic() + grace
        self.handler.drain(grace)
        self._loop.run(self._listening.close(max(1.0, end - time.monotonic())))
        self._loop.stop()


def serve(
    oracle: Oracle,
    address: str = "127.0.0.1:0",
    *,
    token: str | None = None,
    tls: ssl.SSLContext | None = None,
    limits: Limits | None = None,
    debug: bool = False,
) -> Server:
    """Offer an oracle on HOST:PORT; returns at once with the server under way."""
    host, port = host_and_port(address)
    require_token(host, token)
    handler = Handler(oracle, limits=limits, token=token, debug=debug)
    loop = EventLoop("oracle-http")
    listening = loop.run(_listening(handler, tls))
    try:
        bound = loop.run(listening.open(host, port))
    except OSError as error:
        loop.stop()
        number = error.errno or 0  # below 0: the name of a host that nobody knows
        words = os.strerror(number) if number > 0 else error.strerror  # asyncio writes a sentence of its own
        raise InputError(f"cannot listen on {address}: {words}") from None
    shown = f"[{host}]" if ":" in host else host
    return Server(handler, loop, listening, f"{'http' if tls is None else 'https'}://{shown}:{bound}")


async def _listening(handler: Handler, tls: ssl.SSLContext | None) -> Listening:
    return Listening(handler, tls)


class Listening:
    """The connections of a server; made and used in the thread of its event loop."""

    def __init__(self, handler: Handler, tls: ssl.SSLContext | None) -> None:
        limits = handler.limits
        self._handler, self._tls = handler, tls
        self._places = Places(min(CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2))
        self._turns = Turns(limits)
        self._intake = Intake(limits.received_bytes, limits.patience)
        self._server: asyncio.Server | None = None

    async def open(self, host: str, port: int) -> int:
        """Listens; the port that it got."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: Wire(self._places, self._tls, self._converse), host, port, backlog=BACKLOG
        )
        return int(self._server.sockets[0].getsockname()[1])

    async def close(self, seconds: float) -> None:
        """Takes no more connections, gives replies that are being sent so many seconds, and ends all."""
        if self._server is not None:
            self._server.close()
        end = time.monotonic() + seconds
        while any(wire.state == "work" for wire in self._places.all) and time.monotonic() < end:
            await asyncio.sleep(0.01)
        for wire in list(self._places.all):
            wire.abort()
        self._turns.close()

    async def _converse(self, wire: Wire) -> None:
        connection = Connection(wire, self._intake)
        while True:
            exchange = _Exchange(self._handler, self._turns, connection)
            if not await exchange.perform():
                return


class _Exchange:
    """One request and the reply to it."""

    def __init__(self, handler: Handler, turns: Turns, connection: Connection) -> None:
        self._handler, self._turns, self._connection = handler, turns, connection
        self._headers: dict[str, str] = {}
        self._method = ""

    async def perform(self) -> bool:
        """Answers the next request; whether another may follow."""
        connection = self._connection
        try:
            request = await connection.next_request()
            if request is None:
                return False
            self._headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in request.headers}
            self._method = request.method.decode("latin-1")
            await self._performed(request)
        except h11.RemoteProtocolError as error:
            connection.is_closing = True
            code: Code = "UNSUPPORTED" if error.error_status_hint == 501 else "INVALID"
            await self._refuse(Refused(f"this cannot be read as HTTP/1.1: {error}", code=code))
        except TimeoutError:
            connection.is_closing = True
            await self._refuse(_Late("the request came too slowly", code="INVALID"))
        except Refused as refused:
            await self._refuse(refused)
        except (Gone, OSError):
            raise
        except Exception:  # a defect of this server: its owner must see it, and the client get an answer
            traceback.print_exc()
            await self._refuse(Refused("the server failed on this request", code="FAILED"))
        return await connection.finish()

    async def _performed(self, request: h11.Request) -> None:
        if request.http_version not in (b"1.0", b"1.1"):
            self._connection.is_closing = True
            raise Refused("only HTTP/1.1 is spoken here", code="UNSUPPORTED")
        path = request.target.decode("latin-1")
        perform = self._admitted(path)
        await perform(request)

    def _admitted(self, path: str) -> Callable[[h11.Request], Coroutine[Any, Any, None]]:
        """What performs a request; refused if the path is unknown or the caller has not the token."""
        known = "/v1/data/" if path.startswith("/v1/data/") else path.partition("?")[0]
        if known not in METHODS:
            raise _UnknownPath(f"there is no {path[:100]!r} here", code="UNSUPPORTED")
        if self._method not in METHODS[known]:
            raise _WrongMethod(METHODS[known])
        if known not in OPEN:
            self._handler.admit(self._headers.get("authorization"))
            self._connection.wire.is_admitted = True
        performs: dict[str, Callable[[h11.Request], Coroutine[Any, Any, None]]] = {
            "/v1/card": self._card,
            "/v1/openapi.json": self._openapi,
            "/healthz": self._health,
            "/v1/answers": self._answer,
            "/v1/data/": self._put,
        }
        return performs[known]

    # ---- verbs

    async def _card(self, request: h11.Request) -> None:
        description = self._handler.describe()
        if self._accepted() == JSON:
            await self._send(200, JSON, json_form.dumped(json_form.json_description(description)))
        else:
            await self._send(200, PROTOBUF, messages.pack_description(description).SerializeToString())

    async def _openapi(self, request: h11.Request) -> None:
        await self._send(200, JSON, json.dumps(document(self._handler.needs_token)).encode())

    async def _health(self, request: h11.Request) -> None:
        await self._send(200, "text/plain", b"ok\n")

    async def _put(self, request: h11.Request) -> None:
        form = FORMS[self._given()]
        digest = request.target.decode("latin-1").removeprefix("/v1/data/").partition("?")[0]
        if not self._handler.keeps(digest):
            body, arriving = await self._connection.body(request, self._handler.limits.dataset_bytes)
            try:
                await self._while_asked(self._turns.read(lambda: self._handler.put(digest, [body], form=form)))
            finally:
                arriving.forget()
        if self._accepted() == JSON:
            await self._send(200, JSON, json_form.dumped({"digest": digest}))
        else:
            await self._send(200, PROTOBUF, pb.PutReply(digest=digest).SerializeToString())

    async def _answer(self, request: h11.Request) -> None:
        form, accepted = FORMS[self._given()], self._accepted()
        body, arriving = await self._connection.body(request, self._handler.limits.request_bytes)
        self._handler.require_open()
        make = json_form.json_pieces if accepted == JSON else _frames
        pieces = make(self._handler.answer_to(body, form), messages.digest_of(body))
        seconds = self._handler.limits.question_seconds
        try:
            async with asyncio.timeout(seconds):
                await self._while_asked(self._stream(pieces, accepted))
        except TimeoutError:
            if not self._connection.can_reply:
                raise Gone from None
            raise Refused(f"the question took more than {seconds:g} s", code="FAILED") from None
        finally:
            arriving.forget()

    async def _while_asked(self, work: Coroutine[Any, Any, None] | Coroutine[Any, Any, str]) -> None:
        """Does the work, unless the client hangs up before it is done."""
        wire, myself = self._connection.wire, asyncio.current_task()
        task = asyncio.ensure_future(work)
        wire.on_end = task.cancel
        if wire.is_over:
            task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            if myself is not None and myself.cancelling():  # not the work alone
                raise
            raise Gone from None
        finally:
            wire.on_end = None

    async def _stream(self, pieces: Generator[bytes, None, None], kind: str) -> None:
        """Sends an answer as it is made; one that is complete at once has a length."""
        connection = self._connection
        async with aclosing(self._turns.batches(pieces)) as batches:
            async for batch, is_last in batches:
                data = b"".join(batch)
                if connection.can_reply and is_last:
                    await self._send(200, kind, data)
                    return
                head = b""
                if connection.can_reply:
                    head = connection.head(200, [("Content-Type", kind), ("Transfer-Encoding", "chunked")])
                end = connection.end if is_last else bytes
                await connection.wire.send(head + connection.piece(data) + end())

    # ---- HTTP

    def _given(self) -> str:
        kind = self._headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in FORMS:
            raise _UnknownContentType(
                f"the content type {kind[:80]!r} is not spoken here; use {JSON} or {PROTOBUF}", code="UNSUPPORTED"
            )
        return kind

    def _accepted(self) -> str:
        """The form of the reply: protobuf if the client names it, else the form of the request, else JSON."""
        accept = self._headers.get("accept", "").lower()
        for kind in FORMS:
            if kind in accept:
                return kind
        return PROTOBUF if PROTOBUF in self._headers.get("content-type", "").lower() else JSON

    async def _refuse(self, refused: Refused) -> None:
        if not self._connection.can_reply:  # the reply has begun: all that is left is to break it off
            self._connection.wire.abort()
            raise Gone
        headers = [] if refused.retry_after is None else [("Retry-After", str(max(1, round(refused.retry_after))))]
        if refused.code == "UNAUTHENTICATED":
            headers.append(("WWW-Authenticate", "Bearer"))
        if isinstance(refused, _WrongMethod):
            headers.append(("Allow", ", ".join(refused.allowed)))
        status = refused.status if isinstance(refused, _OwnStatus) else STATUS[refused.code]
        if isinstance(refused, OtherData):
            status = 409
        if refused.code == "TOO_LARGE":
            self._connection.is_closing = True  # what is left of it is too much to read
        if self._accepted() == JSON:
            await self._send(status, JSON, json_form.dumped(json_form.json_problem(refused)), headers)
        else:
            await self._send(status, PROTOBUF, messages.pack_problem(refused).SerializeToString(), headers)

    async def _send(self, status: int, kind: str, body: bytes, headers: list[tuple[str, str]] | None = None) -> None:
        await self._connection.reply(status, [("Content-Type", kind), *(headers or [])], body)


def _frames(releases: Iterator[Release], question: str) -> Generator[bytes, None, None]:
    """An answer as frames; a failure before the first becomes an error status, a later one a frame."""
    sent = is_begun = 0
    try:
        for part in answers.parts(releases, question):
            is_begun = 1
            sent += not part.more
            yield messages.frame(pb.Reply(part=part))
    except (Refused, ReleaseError) as error:
        refused = error if isinstance(error, Refused) else Refused(str(error), code="FAILED")
        if not is_begun:
            raise refused from None
        yield messages.frame(pb.Reply(problem=messages.pack_problem(refused)))
    else:
        yield messages.frame(pb.Reply(done=pb.Done(releases=sent)))


class _OwnStatus(Refused):
    """Refused with an HTTP status of its own."""

    status = 501


class _Late(_OwnStatus):
    """The request did not arrive in time."""

    status = 408


class _UnknownContentType(_OwnStatus):
    """The request is neither JSON nor protobuf."""

    status = 415


class _UnknownPath(_OwnStatus):
    """There is no such path."""

    status = 404


class _WrongMethod(_OwnStatus):
    """The path is there, for other methods."""

    status = 405

    def __init__(self, allowed: tuple[str, ...]) -> None:
        super().__init__(f"only {' and '.join(allowed)} can be asked for here", code="UNSUPPORTED")
        self.allowed = allowed
