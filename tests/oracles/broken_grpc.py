"""A gRPC server by hand, for tests: it describes itself well and answers as a test says."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import grpc

from harness.vocabulary.oracle import Card
from oracles.wire import messages
from oracles.wire._pb import oracle_pb2 as pb
from oracles.wire.messages import Description

Answering = Callable[[bytes, grpc.ServicerContext], Iterator[Any]]


@contextmanager
def broken(
    answer: Answering = lambda request, context: iter(()), description: Description | None = None, **options: Any
) -> Iterator[str]:
    """A server by hand: describes itself well, keeps all data under the digest "x", and answers with this function."""
    described = messages.pack_description(description or Description(Card("broken", keeps_data=True)))
    plain: dict[str, Any] = {
        "request_deserializer": None,
        "response_serializer": lambda message: message.SerializeToString(),
    }
    kept = pb.PutReply(digest="x")
    methods = {
        "Describe": grpc.unary_unary_rpc_method_handler(lambda request, context: described, **plain),
        "Put": grpc.stream_unary_rpc_method_handler(lambda requests, context: kept, **plain),
        "Answer": grpc.unary_stream_rpc_method_handler(answer, **plain),
    }
    server = grpc.server(ThreadPoolExecutor(4), **options)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("oracle.v1.Oracle", methods),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"grpc://127.0.0.1:{port}"
    finally:
        server.stop(0)
