"""The handler behind HTTP (PROTOCOL.md §3): protobuf and JSON, an OpenAPI document, a health check."""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from email.message import Message
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from harness.vocabulary.errors import InputError, ReleaseError
from harness.vocabulary.oracle import Oracle
from oracles.serve.binding import host_and_port, require_token
from oracles.serve.handler import Handler, Limits
from oracles.serve.openapi import document
from oracles.wire import json_form, messages
from oracles.wire._pb import oracle_pb2 as pb
from oracles.wire.messages import Code, Refused

PROTOBUF, JSON = "application/x-protobuf", "application/json"
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
PIECE = 1 << 16
IDLE: Final = 60.0  # seconds that a connection may be silent
LINGER: Final = 5.0  # seconds that the rest of a refused request is read for
CONNECTIONS: Final = 128
CHUNKED: Final = -1


class Server:
    """A running HTTP server."""

    def __init__(self, handler: Handler, http: _Threading, address: str) -> None:
        self.handler, self.address, self._http = handler, address, http
        self._thread = threading.Thread(target=http.serve_forever, args=(0.05,), name="oracle-http", daemon=True)
        self._thread.start()

    def stop(self, grace: float = 30.0) -> None:
        """Take no more questions, give those under way `grace` seconds, end."""
        end = time.monotonic() + grace
        self.handler.drain(grace)
        self._http.shutdown()
        self._http.wait_for_replies(max(1.0, end - time.monotonic()))
        self._http.server_close()
        self._http.close_connections()
        self._thread.join(1.0)


def serve(
    oracle: Oracle,
    address: str = "127.0.0.1:0",
    *,
    token: str | None = None,
    tls: ssl.SSLContext | None = None,
    limits: Limits | None = None,
) -> Server:
    """Offer an oracle on HOST:PORT; returns at once with the server under way."""
    host, port = host_and_port(address)
    require_token(host, token)
    handler = Handler(oracle, limits=limits, token=token)
    try:
        http = _Threading((host, port), handler, tls)
    except OSError as error:
        raise InputError(f"cannot listen on {address}: {error.strerror}") from None
    shown = f"[{host}]" if ":" in host else host
    return Server(handler, http, f"{'http' if tls is None else 'https'}://{shown}:{http.server_address[1]}")


class _Threading(ThreadingHTTPServer):
    """One thread per connection, and only so many connections."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, address: tuple[str, int], handler: Handler, tls: ssl.SSLContext | None) -> None:
        self.handler = handler
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self._places = threading.BoundedSemaphore(CONNECTIONS)
        self._lock = threading.Lock()
        self._open: set[Any] = set()
        self._changed = threading.Condition()
        self._replying = 0
        super().__init__(address, _Exchange)
        if tls is not None:  # hands are shaken in the connection's own thread, at its first read
            self.socket = tls.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Whether there is room for a connection; one too many is closed at once, and its client may try again."""
        return self._places.acquire(blocking=False)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._open.add(request)
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._lock:
                self._open.discard(request)
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Errors of a connection, such as a client that closed it, are not reported."""

    @contextmanager
    def replying(self) -> Iterator[None]:
        """Counts a request as under way, from its head to the last byte of the reply."""
        with self._changed:
            self._replying += 1
        try:
            yield
        finally:
            with self._changed:
                self._replying -= 1
                self._changed.notify_all()

    def wait_for_replies(self, seconds: float) -> None:
        """Waits until every reply under way is sent, at most so many seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self._replying == 0, seconds)

    def close_connections(self) -> None:
        with self._lock:
            for connection in self._open:
                with suppress(OSError):
                    socket.socket.shutdown(connection, socket.SHUT_RDWR)


class _Exchange(BaseHTTPRequestHandler):
    """One request after the other on a connection; the handler does everything but speak HTTP."""

    protocol_version = "HTTP/1.1"
    server_version = "oracle/1"
    sys_version = ""
    timeout = IDLE
    wbufsize = PIECE
    disable_nagle_algorithm = True
    server: _Threading

    def do_GET(self) -> None:
        self._performed({"/v1/card": self._card, "/v1/openapi.json": self._openapi, "/healthz": self._health})

    def do_PUT(self) -> None:
        self._performed({self.path: self._put} if self.path.startswith("/v1/data/") else {})

    def do_POST(self) -> None:
        self._performed({"/v1/answers": self._answer})

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What http.server itself refuses, a method or a head it cannot read, is a problem like any other."""
        self.close_connection = True
        self.request_version = self.protocol_version  # else it takes a first line it cannot read for HTTP/0.9
        if not hasattr(self, "headers"):  # not even a head was read
            self.headers = Message()
        unsupported = code >= HTTPStatus.INTERNAL_SERVER_ERROR
        self._refuse(Refused(message or HTTPStatus(code).phrase, code="UNSUPPORTED" if unsupported else "INVALID"))

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the handler has its own log, which holds no data."""

    def _performed(self, routes: dict[str, Any]) -> None:
        with self.server.replying():
            self._left = 0
            try:
                self._left = self._announced()
                self._admitted(routes)()
            except Refused as refused:
                self._discard()  # or a client that is still sending would never read why
                self._refuse(refused)
            self._discard()
            self.wfile.flush()

    def _admitted(self, routes: dict[str, Any]) -> Callable[[], None]:
        """What performs this request; refused if the path is unknown or the caller has not the token."""
        perform: Callable[[], None] | None = routes.get(self.path)
        if perform is None:
            raise _UnknownPath(f"there is no {self.command} {self.path[:100]!r} here")
        if self.path not in ("/healthz", "/v1/openapi.json"):
            self.server.handler.admit(self.headers.get("Authorization"))
        return perform

    def _limit(self) -> int:
        limits = self.server.handler.limits
        return limits.dataset_bytes if self.command == "PUT" else limits.request_bytes

    # ---- verbs

    def _card(self) -> None:
        description = self.server.handler.describe()
        if self._accepted() == JSON:
            self._send(200, JSON, json_form.dumped(json_form.json_description(description)))
        else:
            self._send(200, PROTOBUF, messages.pack_description(description).SerializeToString())

    def _put(self) -> None:
        form = "json" if self._given() == JSON else "protobuf"
        digest = self.server.handler.put(self.path.removeprefix("/v1/data/"), self._body(), form=form)
        if self._accepted() == JSON:
            self._send(200, JSON, json_form.dumped({"digest": digest}))
        else:
            self._send(200, PROTOBUF, pb.PutReply(digest=digest).SerializeToString())

    def _answer(self) -> None:
        handler, given = self.server.handler, self._given()
        body = b"".join(self._body())
        question = handler.json_question(body) if given == JSON else handler.question(_message(body))
        releases = handler.answer(question)
        if self._accepted() == JSON:
            self._send(200, JSON, json_form.dumped(json_form.json_releases(releases)))
        else:
            self._stream(messages.parts(releases))

    def _stream(self, parts: Iterator[pb.Part]) -> None:
        """Sends frames as they are made; a failure before the first becomes an error status, a later one a frame."""
        waiting = next(parts, None)
        self._head(200, PROTOBUF, {"Transfer-Encoding": "chunked"})
        sent = 0
        try:
            while waiting is not None:
                self._chunk(messages.frame(pb.Reply(part=waiting)))
                sent += not waiting.more
                waiting = next(parts, None)
            last = pb.Reply(done=pb.Done(releases=sent))
        except Refused as refused:
            last = pb.Reply(problem=messages.pack_problem(refused))
        self._chunk(messages.frame(last))
        self.wfile.write(b"0\r\n\r\n")

    def _openapi(self) -> None:
        self._send(200, JSON, json.dumps(document()).encode())

    def _health(self) -> None:
        self._send(200, "text/plain", b"ok\n")

    # ---- HTTP

    def _given(self) -> str:
        kind = str(self.headers.get("Content-Type", "")).partition(";")[0].strip().lower()
        if kind not in (PROTOBUF, JSON):
            raise _UnknownContentType(f"the content type {kind[:80]!r} is not spoken here; use {JSON} or {PROTOBUF}")
        return kind

    def _accepted(self) -> str:
        """The form of the reply: protobuf if the client names it, else the form of the request, else JSON."""
        accept = str(self.headers.get("Accept", "")).lower()
        for kind in (PROTOBUF, JSON):
            if kind in accept:
                return kind
        return PROTOBUF if PROTOBUF in str(self.headers.get("Content-Type", "")).lower() else JSON

    def _announced(self) -> int:
        """The length of the body, CHUNKED if it comes in chunks."""
        if "chunked" in str(self.headers.get("Transfer-Encoding", "")).lower():
            return CHUNKED
        text = str(self.headers.get("Content-Length") or "0")
        if not text.isascii() or not text.isdecimal() or len(text) > 18:
            self.close_connection = True
            raise Refused("the Content-Length is no number", code="INVALID")
        return int(text)

    def _body(self) -> Iterator[bytes]:
        """The body in pieces, together not more than the handler allows."""
        limit, seen = self._limit(), 0
        if self._left > limit:
            raise _too_large(limit)
        for piece in self._chunks() if self._left == CHUNKED else self._counted():
            seen += len(piece)
            if seen > limit:
                raise _too_large(limit)
            yield piece

    def _counted(self) -> Iterator[bytes]:
        while self._left > 0:
            piece = self.rfile.read(min(self._left, PIECE))
            if not piece:
                self.close_connection = True
                raise Refused("the request broke off", code="INVALID")
            self._left -= len(piece)
            yield piece

    def _discard(self) -> None:
        """Reads what is left of the body, as long as that takes no more than a few seconds."""
        end = time.monotonic() + LINGER
        while self._left > 0 and time.monotonic() < end and self.rfile.readable():
            piece = self.rfile.read(min(self._left, PIECE))
            self._left = self._left - len(piece) if piece else CHUNKED
        if self._left:
            self.close_connection = True

    def _chunks(self) -> Iterator[bytes]:
        while True:
            head = self.rfile.readline(100).partition(b";")[0].strip()
            if not head or len(head) > 8 or not all(digit in b"0123456789abcdefABCDEF" for digit in head):
                raise Refused("the request's chunks cannot be read", code="INVALID")
            size = int(head, 16)
            if size == 0:
                break
            while size > 0:
                piece = self.rfile.read(min(size, PIECE))
                if not piece:
                    raise Refused("the request broke off", code="INVALID")
                size -= len(piece)
                yield piece
            self.rfile.readline(10)
        while self.rfile.readline(1000).strip():  # trailers mean nothing here
            pass
        self._left = 0

    def _refuse(self, refused: Refused) -> None:
        headers = {} if refused.retry_after is None else {"Retry-After": str(max(1, round(refused.retry_after)))}
        if refused.code == "UNAUTHENTICATED":
            headers["WWW-Authenticate"] = "Bearer"
        status = refused.status if isinstance(refused, _Unsupported) else STATUS[refused.code]
        if self._accepted() == JSON:
            self._send(status, JSON, json_form.dumped(json_form.json_problem(refused)), headers)
        else:
            self._send(status, PROTOBUF, messages.pack_problem(refused).SerializeToString(), headers)

    def _send(self, status: int, kind: str, body: bytes, headers: dict[str, str] | None = None) -> None:
        self._head(status, kind, {"Content-Length": str(len(body)), **(headers or {})})
        if self.command != "HEAD":
            self.wfile.write(body)

    def _head(self, status: int, kind: str, headers: dict[str, str]) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        for name, value in headers.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")


class _Unsupported(Refused):
    """Refused as UNSUPPORTED, with an HTTP status of its own."""

    status = 501

    def __init__(self, message: str) -> None:
        super().__init__(message, code="UNSUPPORTED")


class _UnknownContentType(_Unsupported):
    """The request is neither JSON nor protobuf."""

    status = 415


class _UnknownPath(_Unsupported):
    """There is no such path."""

    status = 404


def _too_large(limit: int) -> Refused:
    return Refused(f"the request has more than {limit} bytes", code="TOO_LARGE")


def _message(body: bytes) -> pb.AnswerRequest:
    try:
        return messages.parsed(pb.AnswerRequest, body)
    except ReleaseError as error:
        raise Refused(str(error), code="INVALID") from None
