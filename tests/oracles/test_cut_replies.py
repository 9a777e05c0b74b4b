"""A connection that ends in the middle of a reply, at every byte of it: the question is asked again, and nothing that
was lost is taken for an empty success or for a release."""

import http.client
import io
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest

import harness
from harness.vocabulary.errors import REPLY_LOST, OracleError, ReleaseError
from harness.vocabulary.oracle import Ask, Oracle, Release
from oracles.clients.http import Encoding, HttpOracle
from oracles.clients.local import Local
from oracles.clients.table_api import TableApi
from oracles.middleware import Retrying, open_with_retries
from oracles.wire import messages
from oracles.wire._pb import oracle_pb2 as pb
from tests.oracles.asking import digests, failure, tables
from tests.oracles.filters import QUASI, dataset, decades, people
from tests.oracles.http_kit import running
from tests.oracles.servers import listening, serving
from tests.oracles.table_vendors import CSV, always, good

FRAMINGS = ["length", "chunks", "until closed"]
VERBS = {"card": "GET /v1/card", "put": "PUT /v1/data", "answers": "POST /v1/answers"}
EXPECTED = digests(Local(decades), Ask(dataset(), drop=(5,), draws=2))


@dataclass
class Cutting:
    """A proxy that ends its connection after `at` bytes of the next reply to a request that begins so."""

    server: str  # the address of a good server
    framing: str  # what tells where a body ends
    verb: str = ""
    at: int | None = None
    empty: str = ""  # the method to which it replies with a success and nothing else
    whole: dict[str, tuple[int, int]] = field(
        default_factory=dict
    )  # bytes of head and body that went through, by method

    def behave(self, connection: socket.socket) -> None:
        with connection.makefile("rb") as incoming:
            while request := self._request(incoming):
                head, body = self._reply(*request)
                if self.at is not None and request[0].startswith(self.verb):
                    place, self.at = self.at, None
                    connection.sendall((head + body)[:place])
                    return
                self.whole[request[0].partition(" ")[0]] = len(head), len(body)
                connection.sendall(head + body)
                if self.framing == "until closed":
                    return

    def _request(self, incoming: Any) -> tuple[str, dict[str, str], bytes] | None:
        first = incoming.readline().decode("latin-1")
        if " HTTP/" not in first:  # the end, or a client that looks whether this is a server with TLS
            return None
        headers = {}
        while (line := incoming.readline().decode().strip()) != "":
            name, _, value = line.partition(": ")
            headers[name.lower()] = value
        return first, headers, incoming.read(int(headers.get("content-length", 0)))

    def _reply(self, first: str, headers: dict[str, str], body: bytes) -> tuple[bytes, bytes]:
        """The good server's own reply, as this framing sends it: its head and its body."""
        method, path, _ = first.split()
        connection = http.client.HTTPConnection(urlsplit(self.server).netloc)
        del headers["accept-encoding"]
        connection.request(method, path, body, headers)
        reply = connection.getresponse()
        content = reply.read()
        connection.close()
        content = b"" if method == self.empty else content
        half = len(content) // 2
        chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (content[:half], content[half:]))
        ends = {"length": f"Content-Length: {len(content)}", "chunks": "Transfer-Encoding: chunked"}
        end = ends.get(self.framing, "Connection: close")
        head = f"HTTP/1.1 {reply.status} OK\r\nContent-Type: {reply.getheader('Content-Type')}\r\n{end}\r\n\r\n"
        return head.encode(), chunks + b"0\r\n\r\n" if self.framing == "chunks" else content


@contextmanager
def cutting(server: str, framing: str) -> Iterator[tuple[Cutting, str]]:
    """Such a proxy before a good server, and its address."""
    proxy = Cutting(server, framing)
    with listening(proxy.behave) as address:
        yield proxy, address


def places(proxy: Cutting, method: str) -> list[int]:
    """Where to cut such a reply: at every byte of its head and of the end of its body, and at some between."""
    head, body = proxy.whole[method]
    return [
        *range(head + 5),
        *range(head + 5, head + body - 8, 31),
        *range(max(head + 5, head + body - 8), head + body),
    ]


def patient(oracle: Oracle) -> Retrying:
    return Retrying(oracle, attempts=2, first=0.0001)


@pytest.mark.parametrize("encoding", ["protobuf", "json"])
@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize("verb", ["put", "answers"])
def test_a_reply_that_is_cut_at_any_byte_is_asked_for_again(verb: str, framing: str, encoding: Encoding) -> None:
    with running() as server, cutting(server.address, framing) as (proxy, address):
        oracle = patient(HttpOracle(address, encoding=encoding))
        assert digests(oracle, Ask(dataset(), drop=(5,), draws=2)) == EXPECTED
        for place in places(proxy, VERBS[verb].partition(" ")[0]):
            proxy.verb, proxy.at = VERBS[verb], place
            assert digests(oracle, Ask(dataset(), drop=(5,), draws=2)) == EXPECTED, place
            assert proxy.at is None
        oracle.close()


@pytest.mark.parametrize("encoding", ["protobuf", "json"])
@pytest.mark.parametrize("framing", FRAMINGS)
def test_a_card_that_is_cut_at_any_byte_is_asked_for_again(framing: str, encoding: Encoding) -> None:
    with running() as server, cutting(server.address, framing) as (proxy, address):
        first = HttpOracle(address, encoding=encoding)
        for place in places(proxy, "GET"):
            proxy.verb, proxy.at = VERBS["card"], place
            again = open_with_retries(lambda: HttpOracle(address, encoding=encoding), attempts=2, first=0.0001)
            assert again.card == first.card, place
            assert proxy.at is None
            again.close()
        first.close()


@pytest.mark.parametrize("framing", ["length", "chunks"])
def test_a_table_that_is_cut_at_any_byte_is_asked_for_again(framing: str) -> None:
    with serving(good) as server, cutting(server.address, framing) as (proxy, address):
        oracle = patient(TableApi(address, plain={}))
        before = digests(oracle, Ask(dataset()))
        for place in places(proxy, "POST"):
            proxy.verb, proxy.at = "POST", place
            assert digests(oracle, Ask(dataset())) == before, place
            assert proxy.at is None
        oracle.close()


def test_an_audit_over_a_connection_that_cuts_replies_is_that_of_one_that_does_not() -> None:
    declared: dict[str, Any] = {"quasi": QUASI, "sensitive": "illness", "epsilon": 1.0}
    with running() as server, cutting(server.address, "length") as (proxy, address):
        undisturbed = harness.audit(server.address, people(), **declared)
        oracle = Always(HttpOracle(address), proxy)
        report = harness.audit(patient(oracle), people(), **declared)
    assert oracle.cuts > 24
    assert report.plain["findings"] == undisturbed.plain["findings"]
    assert report.verdict.outcome == undisturbed.verdict.outcome


def open_and_ask(address: str, encoding: Encoding, proxy: Cutting, empty: str) -> None:
    """Opens the oracle and asks it something; to one method the reply is empty."""
    proxy.empty = "GET" if empty == "GET" else ""
    oracle = HttpOracle(address, encoding=encoding)
    proxy.empty = empty
    try:
        tables(oracle, Ask(dataset(), drop=(5,)))
    finally:
        oracle.close()


@pytest.mark.parametrize("encoding", ["protobuf", "json"])
@pytest.mark.parametrize("verb", ["GET", "PUT", "POST"])
def test_an_empty_success_is_a_lost_reply(verb: str, encoding: Encoding) -> None:
    with running() as server, cutting(server.address, "length") as (proxy, address):
        with pytest.raises(OracleError, match="and nothing else|broke off before it was done") as caught:
            open_and_ask(address, encoding, proxy, verb)
        assert caught.value.retryable
        assert caught.value.reason == REPLY_LOST


def test_a_table_whose_end_nothing_marks_is_lost_where_it_cannot_be_read() -> None:
    header = b"age,sex,weight kg,illness\n"
    for body in (b"", b"age,se", header[:-5], header + b"30,fem"):
        with listening(saying(b"HTTP/1.0 200 OK\r\nContent-Type: text/csv\r\n\r\n" + body)) as address:
            error = failure(TableApi(address, plain={}))
        assert error.retryable, body
        assert error.reason == REPLY_LOST


def test_a_table_that_cannot_be_read_and_came_whole_is_malformed() -> None:
    with serving(always(200, CSV, b"age,sex\n1,2,3\n")) as server:
        error = failure(TableApi(server.address, plain={}))
    assert isinstance(error, ReleaseError)
    assert not error.retryable


@pytest.mark.parametrize(
    "start", ["", "HTT", "HTTP/1.1 2", "HTTP/1.1 200", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 404 No\r\n"]
)
def test_a_server_that_always_loses_its_replies_is_not_accused_of_malformed_ones(start: str) -> None:
    with listening(saying(start.encode())) as address:
        error = failure(patient(TableApi(address, plain={})))
    assert error.reason == REPLY_LOST
    assert "asked 2 times" in str(error)


# ---- frames


def test_a_frame_that_is_cut_at_any_byte_may_be_asked_for_again() -> None:
    whole = messages.frame(pb.Version(major=1, minor=300))
    for place in range(1, len(whole)):
        with pytest.raises(OracleError) as caught:
            messages.read_frame(io.BytesIO(whole[:place]).read, pb.Version)
        assert caught.value.retryable, place
        assert caught.value.reason == REPLY_LOST


def saying(content: bytes) -> Callable[[socket.socket], None]:
    """Reads one request, sends these bytes and hangs up."""

    def behave(connection: socket.socket) -> None:
        request = b""
        while b"\r\n\r\n" not in request:
            request += connection.recv(1 << 16)
            if not request.startswith(b"P"):  # a client that looks whether this is a server with TLS
                return
        head, _, body = request.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0] or 0)
        while len(body) < length:
            body += connection.recv(1 << 16)
        connection.sendall(content)

    return behave


class Always:
    """An oracle whose replies to every second question are cut, at another place each."""

    def __init__(self, inner: HttpOracle, proxy: Cutting) -> None:
        self.inner, self.proxy, self.card = inner, proxy, inner.card
        self.asked = self.cuts = 0

    def answer(self, ask: Ask) -> Iterator[Release]:
        self.asked += 1
        if self.asked % 2:
            self.proxy.verb, self.proxy.at = "P", self.cuts * 7 % 200  # PUT and POST
            self.cuts += 1
        yield from self.inner.answer(ask)

    def close(self) -> None:
        self.inner.close()
