"""The kit's HTTP server in a test, and one request to it with nothing but http.client."""

import hashlib
import http.client
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from email.message import Message
from typing import Any, Protocol
from urllib.parse import urlsplit

import pandas as pd

from oracles.clients.local import Local
from oracles.serve.http import Server, serve
from oracles.wire import json_form
from tests.oracles.filters import dataset, decades

DATA = dataset()
BODY = json_form.dumped(json_form.json_dataset(DATA))
DIGEST = hashlib.sha256(BODY).hexdigest()
JSON = {"Content-Type": "application/json", "Accept": "application/json"}
PROTOBUF = {"Content-Type": "application/x-protobuf", "Accept": "application/x-protobuf"}


class Somewhere(Protocol):
    """Whatever listens at an address."""

    @property
    def address(self) -> str: ...


@contextmanager
def running(function: Callable[..., pd.DataFrame] = decades, **options: Any) -> Iterator[Server]:
    server = serve(Local(function), **options)
    try:
        yield server
    finally:
        server.stop(1.0)


def ask(
    server: Somewhere,
    method: str,
    path: str,
    body: bytes | Iterable[bytes] | None = None,
    headers: Mapping[str, str] = JSON,
) -> tuple[int, Message, bytes]:
    """Status, headers and body of one request on a connection of its own."""
    connection = http.client.HTTPConnection(urlsplit(server.address).netloc, timeout=120)
    try:
        connection.request(method, path, body, headers)
        reply = connection.getresponse()
        return reply.status, reply.headers, reply.read()
    finally:
        connection.close()


def question(**changes: object) -> bytes:
    return json.dumps({"digest": DIGEST, **changes}).encode()
