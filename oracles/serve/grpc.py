"""The handler behind gRPC, with the health service and reflection where those packages are installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import grpc

from harness.vocabulary.errors import InputError
from harness.vocabulary.oracle import Oracle
from oracles.clients.grpc import PROBLEM
from oracles.serve.binding import host_and_port, require_token
from oracles.serve.handler import Handler, Limits
from oracles.wire import messages
from oracles.wire._pb import oracle_pb2 as pb
from oracles.wire.messages import Code, Refused

NAME: Final = "oracle.v1.Oracle"
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
    _server: grpc.Server
    _health: Callable[[], None]

    def stop(self, grace: float = 30.0) -> None:
        self._health()
        self.handler.drain(grace)
        self._server.stop(grace=1.0).wait()


def serve(
    oracle: Oracle,
    address: str = "127.0.0.1:0",
    *,
    token: str | None = None,
    tls: Tls | None = None,
    limits: Limits | None = None,
) -> Server:
    """Offer an oracle on HOST:PORT; returns at once with the server under way."""
    host, port = host_and_port(address)
    require_token(host, token)
    handler = Handler(oracle, limits=limits, token=token)
    server = _server(handler)
    shown = f"[{host}]" if ":" in host else host
    where = f"{shown}:{port}"
    try:
        bound = server.add_insecure_port(where) if tls is None else server.add_secure_port(where, _credentials(tls))
    except RuntimeError as error:
        words = str(error).partition("; set GRPC_VERBOSITY")[0]  # advice of the library that is no help here
        raise InputError(f"cannot listen on {where}: {words}; is the port in use?") from None
    stopping = _with_health(server)
    _with_reflection(server)
    server.start()
    return Server(f"{'grpc' if tls is None else 'grpcs'}://{shown}:{bound}", handler, server, stopping)


def _server(handler: Handler) -> grpc.Server:
    limits = handler.limits
    threads = 2 * limits.concurrency + 4  # beside those at work some wait for their turn, and some only describe
    server = grpc.server(
        ThreadPoolExecutor(threads, thread_name_prefix="oracle"),
        maximum_concurrent_rpcs=8 * threads,
        options=[
            ("grpc.max_receive_message_length", limits.message_bytes),
            ("grpc.max_send_message_length", -1),
            ("grpc.so_reuseport", 0),
            ("grpc.keepalive_time_ms", 60_000),
            ("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000),
        ],
    )
    server.add_generic_rpc_handlers((_methods(handler),))
    return server


def _credentials(tls: Tls) -> grpc.ServerCredentials:
    pair = [(tls.key, tls.certificate)]
    return grpc.ssl_server_credentials(pair, tls.clients, require_client_auth=tls.clients is not None)


def _methods(handler: Handler) -> grpc.GenericRpcHandler[Any, Any]:
    def describe(request: pb.DescribeRequest, context: Any) -> pb.DescribeReply:
        with _refusing(handler, context):
            return messages.pack_description(handler.describe(request.protocol.major))
        raise AssertionError("a refusal ends the call")

    def put(requests: Iterator[pb.PutRequest], context: Any) -> pb.PutReply:
        with _refusing(handler, context):
            first = next(requests, pb.PutRequest())
            return pb.PutReply(digest=handler.put(first.digest, _pieces(first, requests), size=first.size))
        raise AssertionError("a refusal ends the call")

    def answer(request: pb.AnswerRequest, context: Any) -> Iterator[pb.Part]:
        with _refusing(handler, context):
            yield from messages.parts(handler.answer(handler.question(request)))

    serialize: Callable[[Any], bytes] = lambda message: message.SerializeToString()  # noqa: E731
    return grpc.method_handlers_generic_handler(
        NAME,
        {
            "Describe": grpc.unary_unary_rpc_method_handler(describe, pb.DescribeRequest.FromString, serialize),
            "Put": grpc.stream_unary_rpc_method_handler(put, pb.PutRequest.FromString, serialize),
            "Answer": grpc.unary_stream_rpc_method_handler(answer, pb.AnswerRequest.FromString, serialize),
        },
    )


def _pieces(first: pb.PutRequest, requests: Iterator[pb.PutRequest]) -> Iterator[bytes]:
    yield first.part
    for request in requests:
        yield request.part


class _refusing:
    """Admits the caller; a refusal ends the call with its status, and the whole Problem in a trailer."""

    def __init__(self, handler: Handler, context: Any) -> None:
        self.handler, self.context = handler, context

    def __enter__(self) -> None:
        authorization = dict(self.context.invocation_metadata()).get("authorization")
        try:
            self.handler.admit(authorization)
        except Refused as refused:
            self._abort(refused)

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if isinstance(error, Refused):
            self._abort(error)

    def _abort(self, refused: Refused) -> None:
        problem = messages.pack_problem(refused)
        self.context.set_trailing_metadata(((PROBLEM, problem.SerializeToString()),))
        self.context.abort(STATUS[refused.code], problem.message)


def _with_health(server: grpc.Server) -> Callable[[], None]:
    """The standard health service, if its package is there; what to call when the server begins to stop."""
    try:
        from grpc_health.v1 import health, health_pb2, health_pb2_grpc
    except ImportError:
        return lambda: None
    servicer = health.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    for name in ("", NAME):
        servicer.set(name, health_pb2.HealthCheckResponse.SERVING)
    stopping: Callable[[], None] = servicer.enter_graceful_shutdown
    return stopping


def _with_reflection(server: grpc.Server) -> None:
    with suppress(ImportError):
        from grpc_reflection.v1alpha import reflection

        reflection.enable_server_reflection((NAME, reflection.SERVICE_NAME), server)
