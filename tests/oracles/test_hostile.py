"""Servers that are broken or mean harm: each ask ends in time, as a success or as one clear error."""

import gzip
import socket
import time
from collections.abc import Callable

import pytest

from harness.vocabulary.errors import OracleError
from harness.vocabulary.oracle import Ask
from oracles.clients import tls_faults
from oracles.middleware import Retrying
from tests.clock import Clock
from tests.oracles.servers import Request, listening, read_request, serving
from tests.oracles.table_vendors import CSV, DATA, Reply, always, asked, good, plain, refused


def in_turn(*replies: Reply) -> Callable[[Request], Reply]:
    """A server that gives these replies one after the other, then good ones."""
    waiting = list(replies)
    return lambda request: waiting.pop(0) if waiting else good(request)


def test_a_refused_connection_is_told_and_may_be_tried_again() -> None:
    with socket.socket() as silent:  # bound, so that nobody else has this port, but not listening
        silent.bind(("127.0.0.1", 0))
        refused(plain(f"http://127.0.0.1:{silent.getsockname()[1]}"), "Connection refused", retryable=True)


def test_a_name_that_does_not_exist_is_told() -> None:
    refused(plain("http://no-such-host.invalid"), "no-such-host.invalid", retryable=True)


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_a_server_that_recovers_is_asked_again(status: int) -> None:
    with serving(in_turn((status, {}, b"oops"), (status, {}, b"oops"))) as server:
        assert len(asked(Retrying(plain(server.address), first=0.01))) == 1
    assert len(server.requests) == 3


def test_a_server_that_says_when_to_come_back_is_not_asked_before(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr("oracles.middleware.time", clock)
    with serving(in_turn((429, {"Retry-After": "70"}, b"slow down"))) as server:
        assert len(asked(Retrying(plain(server.address), first=0.01))) == 1
    assert clock.sleeps == [70.0]


def test_a_date_to_come_back_at_is_understood_too() -> None:
    with serving(always(503, {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, b"")) as server:
        with pytest.raises(OracleError) as caught:
            list(plain(server.address).answer(Ask(DATA)))
        assert caught.value.retry_after == 0.0


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 413, 422, 501])
def test_a_server_that_will_not_recover_is_not_asked_again(status: int) -> None:
    with serving(always(status, {}, b"no")) as server:
        refused(Retrying(plain(server.address), first=0.01), f"status {status}: 'no'", retryable=False)
    assert len(server.requests) == 1


def dropping(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/csv\r\nContent-Length: 9999\r\n\r\nage,sex\n1,")


def dropping_chunks(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/csv\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nage,sex\n\r\n"
    )


def silent(connection: socket.socket) -> None:
    read_request(connection)
    connection.recv(1)  # returns when the client gives up


def trickle(connection: socket.socket, piece: bytes) -> None:
    """One piece after the other, for a minute; then the connection ends, and so does a client without a deadline."""
    for _ in range(600):
        connection.sendall(piece)
        time.sleep(0.1)


def deaf(connection: socket.socket) -> None:
    time.sleep(60)


def trickling_body(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/csv\r\nContent-Length: 100000\r\n\r\n")
    trickle(connection, b"a")


def trickling_endless_body(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/csv\r\nConnection: close\r\n\r\nage\n")
    trickle(connection, b"1\n")


def trickling_head(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
    trickle(connection, b"a")


def nonsense(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(b"220 mail.example ESMTP\r\n")


def hanging_up(connection: socket.socket) -> None:
    read_request(connection)


@pytest.mark.parametrize("behave", [dropping, dropping_chunks, nonsense, hanging_up])
def test_a_connection_that_breaks_off_is_told(
    behave: Callable[[socket.socket], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tls_faults, "SECONDS", 0.3)  # whether it speaks TLS, which it does not say
    with listening(behave) as address:
        refused(plain(address), "dropped in the middle", retryable=True)


@pytest.mark.parametrize("behave", [silent, deaf, trickling_body, trickling_endless_body, trickling_head])
def test_a_connection_without_an_end_is_left_at_the_deadline(behave: Callable[[socket.socket], None]) -> None:
    with listening(behave) as address:
        refused(plain(address, timeout=0.5), "had not answered completely after 0.5 s", retryable=True)


def test_a_redirect_to_another_host_is_refused_and_nothing_is_sent_there() -> None:
    with serving(good) as elsewhere:
        there = elsewhere.address.replace("127.0.0.1", "localhost")
        for status in (301, 302, 303, 307, 308):
            with serving(always(status, {"Location": f"{there}/x"}, b"")) as server:
                refused(plain(server.address), "redirects to another host, 'http://localhost", retryable=False)
        assert elsewhere.requests == []


@pytest.mark.parametrize(
    "location", ["http://[", "http://127.0.0.1:99999/", "//other.example/", "https:evil", "ftp://127.0.0.1/"]
)
def test_a_redirect_that_leads_nowhere_good_is_refused(location: str) -> None:
    with serving(always(307, {"Location": location}, b"")) as server:
        refused(plain(server.address), "redirects to another host", retryable=False)


def endless_redirect(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(b"HTTP/1.1 302 Found\r\nLocation: http://other.example/\r\n\r\n")
    while True:
        connection.sendall(bytes(1_000_000))


def test_the_body_of_a_redirect_is_not_read() -> None:
    with listening(endless_redirect) as address:
        refused(plain(address), "redirects to another host", retryable=False)


def test_a_redirect_on_the_same_host_keeps_the_question() -> None:
    def moved(request: Request) -> Reply:
        return good(request) if request.path == "/new" else (307, {"Location": "/new"}, b"")

    with serving(moved) as server:
        assert len(asked(plain(server.address))) == 1
        assert server.requests[1].method == "POST"


def test_a_redirect_that_would_lose_the_question_is_refused() -> None:
    with serving(always(302, {"Location": "/login"}, b"")) as server:
        refused(plain(server.address), "would lose the question", retryable=False)


def test_redirects_in_a_circle_end() -> None:
    with serving(always(307, {"Location": "/"}, b"")) as server:
        refused(plain(server.address), "redirects more than 5 times", retryable=False)


def test_a_web_page_is_quoted_briefly_and_escaped() -> None:
    page = b"<!DOCTYPE html><html>\x1b[31m\r\n" + b"<p>Our site is under maintenance</p>" * 1000
    with serving(always(200, {"Content-Type": "text/html"}, page)) as server:
        error = refused(plain(server.address), "content type 'text/html'", retryable=False)
    assert "\\x1b[31m" in str(error)
    with serving(always(502, {"Content-Type": "text/html"}, page)) as server:
        refused(plain(server.address), "status 502: a web page beginning", retryable=True)


def test_gzip_is_understood_and_broken_gzip_is_told() -> None:
    def packed(request: Request) -> Reply:
        status, headers, body = good(request)
        return status, {**headers, "Content-Encoding": "gzip"}, gzip.compress(body)

    with serving(packed) as server:
        assert len(asked(plain(server.address))) == 1
    cut = gzip.compress(b"age\n1")[:-9]
    for body, complaint, again in ((b"plain", "cannot be decompressed", False), (cut, "ends in the middle", True)):
        with serving(always(200, {**CSV, "Content-Encoding": "gzip"}, body)) as server:
            refused(plain(server.address), complaint, retryable=again)
    with serving(always(200, {**CSV, "Content-Encoding": "gzip, gzip"}, b"")) as server:
        refused(plain(server.address), "only gzip was accepted", retryable=False)


def test_a_reply_of_several_gzip_members_is_read_to_its_end() -> None:
    def packed(request: Request) -> Reply:
        status, headers, body = good(request)
        members = b"".join(gzip.compress(body[start : start + 50]) for start in range(0, len(body), 50))
        return status, {**headers, "Content-Encoding": "gzip"}, members

    with serving(packed) as server, serving(good) as other:
        (table,), (expected,) = asked(plain(server.address)), asked(plain(other.address))
    assert table.digest == expected.digest


@pytest.mark.parametrize(
    ("behind", "complaint"),
    [
        (b"garbage", "cannot be decompressed"),
        (bytes(1 << 20), "cannot be decompressed"),
        (gzip.compress(b"") * 50_000, "such a reply is refused"),
        (b"\0\0\0\xff\xff" * 200_000, "cannot be decompressed"),
    ],
)
def test_bytes_of_gzip_that_hold_nothing_are_refused(behind: bytes, complaint: str) -> None:
    body = gzip.compress(b"age\n1") + behind
    with serving(always(200, {**CSV, "Content-Encoding": "gzip"}, body)) as server:
        refused(plain(server.address), complaint, retryable=False)
