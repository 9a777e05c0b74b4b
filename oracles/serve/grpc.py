"""The handler behind gRPC, with the health service and reflection where those packages are installed.

An event loop waits for all streams, so that an idle one holds no thread. Whether a caller has the token is decided
before anything of a stream is read; each message must come within MESSAGE_SECONDS, and there must be room for it before
it is taken (intake.py). Questions get their turns and threads from turns.py, as over HTTP.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any, Final

import grpc
import grpc.aio

from harness.vocabulary.errors import HarnessError, InputError
from harness.vocabulary.oracle import Oracle
from oracles.clients.grpc import PROBLEM
from oracles.serve.binding import host_and_port, require_token
from oracles.serve.event_loop import EventLoop
from oracles.serve.handler import Handler
from oracles.serve.intake import Arriving, Intake
from oracles.serve.limits import Limits
from oracles.serve.turns import Turns
from oracles.wire import answers, messages
from oracles.wire._pb import oracle_pb2 as pb
from oracles.wire.messages import Code, Refused

NAME: Final = "oracle.v1.Oracle"
HEALTH: Final = "/grpc.health.v1.Health/"
OPEN: Final = HEALTH + "Check"  # to callers without the token
MESSAGE_SECONDS: Final = 15.0  # until the next message of a stream
STREAM_SECONDS: Final = 300.0  # of reflection and of watching the health
SEND_SECONDS: Final = 60.0  # for the client to take a message
CALLS: Final = 2000  # under way at once, most of them waiting
STATUS: Final[dict[Code, grpc.StatusCode]] = {
    "INVALID": grpc.StatusCode.INVALID_ARGUMENT,
    "UNSUPPORTED": grpc.StatusCode.UNIMPLEMENTED,
    "UNAUTHENTICATED": grpc.StatusCode.UNAUTHENTICATED,
    "UNKNOWN_DATA": grpc.StatusCode.NOT_FOUND,
    "TOO_LARGE": grpc.StatusCode.RESOURCE_EXHAUSTED,
    "BUSY": grpc.StatusCode.UNAVAILABLE,
    "UNAVAILABLE": grpc.StatusCode.UNAVAILABLE,
    "FAILED": grpc.StatusCode.FAILED_PRECONDITION,
}
Requests = AsyncIterator[bytes]


@dataclass(frozen=True)
class Tls:
    """PEM: the server's certificate and key; with `clients`, only callers whose certificate that one signed."""

    certificate: bytes
    key: bytes
    clients: bytes | None = None


@dataclass(frozen=True, eq=False)
class Server:
    """A running gRPC server."""

    address: str  # grpc://host:port or grpcs://host:port
    handler: Handler
    _loop: EventLoop
    _service: Service

    def stop(self, grace: float = 30.0) -> None:
        """Take no more questions, give those under way `grace` seconds, end."""
        if not self._loop.is_running:
            return
        self._loop.run(self._service.announce_end())
        self.handler.drain(grace)
        self._loop.run(self._service.close())
        self._loop.stop()


def serve(
    oracle: Oracle,
    address: str = "127.0.0.1:0",
    *,
    token: str | None = None,
    tls: Tls | None = None,
    limits: Limits | None = None,
    debug: bool = False,
) -> Server:
    """Offer an oracle on HOST:PORT; returns at once with the server under way."""
    host, port = host_and_port(address)
    require_token(host, token)
    limits = limits or Limits()
    handler = Handler(oracle, limits=limits.of_messages(messages.MESSAGE_BYTES), token=token, debug=debug)
    shown = f"[{host}]" if ":" in host else host
    where = f"{shown}:{port}"
    loop = EventLoop("oracle-grpc")
    try:
        service, bound = loop.run(_opened(handler, where, tls))
    except RuntimeError as error:
        loop.stop()
        words = str(error).partition("; set GRPC_VERBOSITY")[0]  # advice of the library that is no help here
        raise InputError(f"cannot listen on {where}: {words}; is the port in use?") from None
    return Server(f"{'grpc' if tls is None else 'grpcs'}://{shown}:{bound}", handler, loop, service)


async def _opened(handler: Handler, where: str, tls: Tls | None) -> tuple[Service, int]:
    service = Service(handler)
    return service, await service.open(where, tls)


class Service:
    """The calls of a server; made and used in the thread of its event loop."""

    def __init__(self, handler: Handler) -> None:
        limits = handler.limits
        self._handler = handler
        self._turns = Turns(limits)
        self._intake = Intake(limits.received_bytes, limits.patience)
        self._health: Any = None
        self._server = grpc.aio.server(
            interceptors=[_Admission(handler)],
            maximum_concurrent_rpcs=CALLS,
            options=[
                ("grpc.max_receive_message_length", limits.message_bytes),
                ("grpc.max_send_message_length", -1),
                ("grpc.max_concurrent_streams", 200),
                ("grpc.max_metadata_size", 1 << 14),
                ("grpc.http2.bdp_probe", 0),  # would let each stream send megabytes before anybody reads it
                ("grpc.server_handshake_timeout_ms", 15_000),
                ("grpc.so_reuseport", 0),
                ("grpc.keepalive_time_ms", 60_000),
                ("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000),
            ],
        )
        methods = {"Describe": self._describe, "Put": self._put, "Answer": self._answer}
        self._server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(NAME, {name: _raw(perform) for name, perform in methods.items()}),)
        )

    async def open(self, where: str, tls: Tls | None) -> int:
        """Listens; the port that it got."""
        server = self._server
        bound = server.add_insecure_port(where) if tls is None else server.add_secure_port(where, _credentials(tls))
        with suppress(ImportError):
            from grpc_health.v1 import health, health_pb2, health_pb2_grpc

            self._health = health.aio.HealthServicer()  # type: ignore[attr-defined]  # not in its stubs
            health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
            for name in ("", NAME):
                await self._health.set(name, health_pb2.HealthCheckResponse.SERVING)
        with suppress(ImportError):
            from grpc_reflection.v1alpha import reflection

            reflection.enable_server_reflection((NAME, reflection.SERVICE_NAME), server)
        await server.start()
        return int(bound)

    async def announce_end(self) -> None:
        """Says that it is about to stop to those who ask for its health."""
        if self._health is not None:
            await self._health.enter_graceful_shutdown()

    async def close(self) -> None:
        await self._server.stop(1.0)
        self._turns.close()

    # ---- verbs

    async def _describe(self, requests: Requests, context: Any) -> None:
        request = pb.DescribeRequest()
        async with _refusing(context):
            message, arriving = await self._message(requests)
            arriving.forget()
            with _malformed():
                request = messages.parsed(pb.DescribeRequest, message)
            reply = messages.pack_description(self._handler.describe(request.protocol.major))
            await context.write(reply.SerializeToString())

    async def _put(self, requests: Requests, context: Any) -> None:
        async with _refusing(context):
            first, arriving = await self._message(requests)
            try:
                put = _parsed_put(first)
                digest = put.digest
                if not self._handler.keeps(digest):
                    limit = self._handler.limits.dataset_bytes
                    if put.size > limit:
                        raise Refused(f"the dataset has more than {limit} bytes", code="TOO_LARGE")
                    pieces = await self._pieces(put, requests, arriving, limit)
                    arriving.whole()
                    await self._turns.read(lambda: self._handler.put(digest, pieces))
            finally:
                arriving.forget()
            await context.write(pb.PutReply(digest=digest).SerializeToString())

    async def _pieces(self, put: pb.PutRequest, requests: Requests, arriving: Arriving, limit: int) -> list[bytes]:
        pieces, size = [put.part], len(put.part)
        while not put.last:
            message = await self._next(requests, arriving)
            if message is None:
                break
            put = _parsed_put(message)
            size += len(put.part)
            if size > limit:
                raise Refused(f"the dataset has more than {limit} bytes", code="TOO_LARGE")
            pieces.append(put.part)
        return pieces

    async def _answer(self, requests: Requests, context: Any) -> None:
        async with _refusing(context):
            body, arriving = await self._message(requests)
            arriving.whole()
            seconds = self._handler.limits.question_seconds
            self._handler.require_open()
            try:
                async with asyncio.timeout(seconds):
                    await self._send(_parts(self._handler, body), context)
            except TimeoutError:
                raise Refused(f"the question took more than {seconds:g} s", code="FAILED") from None
            finally:
                arriving.forget()

    async def _send(self, pieces: Generator[bytes, None, None], context: Any) -> None:
        async with aclosing(self._turns.batches(pieces)) as batches:
            async for batch, _ in batches:
                for piece in batch:
                    await asyncio.wait_for(context.write(piece), SEND_SECONDS)

    # ---- messages

    async def _message(self, requests: Requests) -> tuple[bytes, Arriving]:
        """The first message of a call, and its place in the intake."""
        arriving = Arriving(self._intake, _cancel_of_this_task())
        try:
            message = await self._next(requests, arriving)
        except BaseException:
            arriving.forget()
            raise
        return message or b"", arriving

    async def _next(self, requests: Requests, arriving: Arriving) -> bytes | None:
        """The next message, None at the end; there is room for the largest before it is taken."""
        room = self._handler.limits.message_bytes
        await arriving.grow(room)
        try:
            async with asyncio.timeout(MESSAGE_SECONDS):
                message = await anext(requests, None)
        except TimeoutError:
            raise _Idle(f"no message came in {MESSAGE_SECONDS:g} s", code="UNAVAILABLE") from None
        arriving.shrink(room - len(message or b""))
        return message


def _cancel_of_this_task() -> Callable[[], object]:
    task = asyncio.current_task()
    assert task is not None
    return task.cancel


def _parts(handler: Handler, body: bytes) -> Generator[bytes, None, None]:
    """The messages of an answer."""
    for part in answers.parts(handler.answer_to(body), messages.digest_of(body)):
        yield part.SerializeToString()


def _parsed_put(message: bytes) -> pb.PutRequest:
    with _malformed():
        return messages.parsed(pb.PutRequest, message)


class _malformed:
    """Bytes that are no message are the caller's mistake."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if isinstance(error, HarnessError) and not isinstance(error, Refused):
            raise Refused(str(error), code="INVALID") from None


class _Idle(Refused):
    """Nothing came from the client for too long."""


class _refusing:
    """A refusal ends the call with its status, and the whole Problem in a trailer."""

    def __init__(self, context: Any) -> None:
        self._context = context

    async def __aenter__(self) -> None:
        pass

    async def __aexit__(self, kind: object, error: object, trace: object) -> None:
        if isinstance(error, HarnessError):
            await _abort(self._context, error if isinstance(error, Refused) else Refused(str(error), code="FAILED"))


async def _abort(context: Any, refused: Refused) -> None:
    problem = messages.pack_problem(refused)
    status = grpc.StatusCode.DEADLINE_EXCEEDED if isinstance(refused, _Idle) else STATUS[refused.code]
    await context.abort(status, problem.message, ((PROBLEM, problem.SerializeToString()),))


def _raw(perform: Callable[[Requests, Any], Awaitable[None]]) -> grpc.RpcMethodHandler[Any, Any]:
    """A method that reads and writes the bytes of its messages itself, when it wants to."""
    return grpc.stream_stream_rpc_method_handler(perform)


class _Admission(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]  # generic in its stubs alone
    """Decides about a call before anything of it is read, and bounds the calls of services that are not ours."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler

    async def intercept_service(self, continuation: Any, details: grpc.HandlerCallDetails) -> Any:
        given = dict(details.invocation_metadata or ()).get("authorization")
        if details.method != OPEN:
            try:
                self._handler.admit(given if isinstance(given, str) else None)
            except Refused as refused:
                return _refusal(refused)
        method = await continuation(details)
        is_ours = details.method.startswith(f"/{NAME}/")
        return method if method is None or is_ours else _bounded(method)


def _refusal(refused: Refused) -> grpc.RpcMethodHandler[Any, Any]:
    async def refuse(requests: Requests, context: Any) -> None:
        await _abort(context, refused)

    return _raw(refuse)


def _bounded(method: Any) -> grpc.RpcMethodHandler[Any, Any]:
    """The same method of another service, whose first message and whose end do not take for ever."""

    async def perform(requests: Requests, context: Any) -> None:
        try:
            async with asyncio.timeout(STREAM_SECONDS):
                if method.stream_stream is not None:
                    async for reply in method.stream_stream(_read(requests, method), context):
                        await context.write(method.response_serializer(reply))
                    return
                request = await anext(_read(requests, method))
                if method.unary_unary is not None:
                    await context.write(method.response_serializer(await method.unary_unary(request, context)))
                else:
                    await method.unary_stream(request, _Serializing(context, method.response_serializer))
        except (TimeoutError, StopAsyncIteration):
            await context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, "nothing came for too long")

    return _raw(perform)


async def _read(requests: Requests, method: Any) -> AsyncIterator[Any]:
    while True:
        async with asyncio.timeout(MESSAGE_SECONDS):
            message = await anext(requests, None)
        if message is None:
            return
        yield method.request_deserializer(message)


class _Serializing:
    """The context of a call whose method writes messages and not bytes."""

    def __init__(self, context: Any, serialize: Callable[[Any], bytes]) -> None:
        self._context, self._serialize = context, serialize

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    async def write(self, message: Any) -> None:
        await self._context.write(self._serialize(message))


def _credentials(tls: Tls) -> grpc.ServerCredentials:
    pair = [(tls.key, tls.certificate)]
    return grpc.ssl_server_credentials(pair, tls.clients, require_client_auth=tls.clients is not None)
