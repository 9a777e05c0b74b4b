"""Replies that are not HTTP, sent byte for byte: one clear error each, in bounded time, never a traceback."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from harness.vocabulary.errors import HarnessError, InputError, OracleError
from tests.oracles.table_vendors import asked

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/csv\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
REPLIES = {
    "negative chunk": CHUNKED + b"-5\r\nhello\r\n0\r\n\r\n",
    "negative chunk with much behind it": CHUNKED + b"-1\r\n" + b"x" * 100_000,
    "chunk of no number": CHUNKED + b"zz\r\nhello",
    "chunk that ends early": CHUNKED + b"ff\r\nhello",
    "huge chunk": CHUNKED + b"ffffffffffffffffffffffff\r\nhello",
    "chunk of a word": CHUNKED + b"0x10\r\nhello",
    "endless extension of a chunk": CHUNKED + b"5;" + b"a" * 100_000,
    "negative length": OK + b"Content-Length: -1\r\n\r\nhello",
    "length of no number": OK + b"Content-Length: many\r\n\r\nhello",
    "two lengths": OK + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nhello",
    "huge length": OK + b"Content-Length: 99999999999999999999999\r\n\r\nhello",
    "no status": b"hello\r\n\r\n",
    "status of no number": b"HTTP/1.1 abc OK\r\n\r\n",
    "negative status": b"HTTP/1.1 -200 OK\r\n\r\n",
    "status of five digits": b"HTTP/1.1 20000 OK\r\n\r\n",
    "another protocol": b"SSH-2.0-OpenSSH_9\r\n",
    "version from the future": b"HTTP/9.9 200 OK\r\n\r\n",
    "nothing": b"",
    "null bytes": b"\0" * 1000,
    "long line": b"HTTP/1.1 200 " + b"x" * 100_000,
    "many headers": OK + b"X: 1\r\n" * 500 + b"\r\n",
    "header without a colon": OK + b"nonsense\r\n\r\nhello",
    "header of bytes": OK + b"X-\xff\xfe: \xff\r\n\r\nhello",
    "type of bytes": b"HTTP/1.1 200 OK\r\nContent-Type: \xff\xfe\r\n\r\nhello",
    "encoding of bytes": OK + b"Content-Encoding: \xff\r\n\r\nhello",
    "broken gzip": OK + b"Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello",
    "unknown transfer": OK + b"Transfer-Encoding: rot13\r\n\r\nhello",
    "unreadable pause": b"HTTP/1.1 400 No\r\nRetry-After: \xff\r\nContent-Length: 0\r\n\r\n",
    "redirect to a bad port": b"HTTP/1.1 307 Go\r\nLocation: https://127.0.0.1:99999/\r\nContent-Length: 0\r\n\r\n",
    "redirect to a port of no number": b"HTTP/1.1 307 Go\r\nLocation: https://127.0.0.1:x\r\nContent-Length: 0\r\n\r\n",
    "redirect to a bad host": b"HTTP/1.1 307 Go\r\nLocation: http://[::1/\r\nContent-Length: 0\r\n\r\n",
    "redirect to a null": b"HTTP/1.1 307 Go\r\nLocation: /\x00\r\nContent-Length: 0\r\n\r\n",
    "redirect to a space": b"HTTP/1.1 307 Go\r\nLocation: / a b\r\nContent-Length: 0\r\n\r\n",
    "redirect nowhere": b"HTTP/1.1 307 Go\r\nContent-Length: 0\r\n\r\n",
    "redirect to bytes": b"HTTP/1.1 307 Go\r\nLocation: /\xff\xfe\r\nContent-Length: 0\r\n\r\n",
    "job at a null": b"HTTP/1.1 202 Wait\r\nLocation: /\x00\r\nContent-Length: 0\r\n\r\n",
    "job at a bad port": b"HTTP/1.1 202 Wait\r\nLocation: https://127.0.0.1:99999/\r\nContent-Length: 0\r\n\r\n",
    "switch": b"HTTP/1.1 101 Switching Protocols\r\n\r\nhello",
    "no content": b"HTTP/1.1 204 No Content\r\n\r\n",
}


@contextmanager
def replying(content: bytes) -> Iterator[str]:
    """A server that reads a little of each request, sends these bytes and hangs up; its address."""
    listening = socket.create_server(("127.0.0.1", 0))
    connections: list[socket.socket] = []

    def serve() -> None:
        while True:
            try:
                connected, _ = listening.accept()
            except OSError:
                return
            connections.append(connected)
            with connected, suppress(OSError):
                connected.recv(1 << 16)
                connected.sendall(content)
                connected.shutdown(socket.SHUT_WR)
                while connected.recv(1 << 16):
                    pass

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        for connected in connections:  # clients keep theirs open
            with suppress(OSError):
                connected.shutdown(socket.SHUT_RDWR)
        thread.join()


def fails_clearly(content: bytes, **options: object) -> HarnessError:
    with replying(content) as address:
        with pytest.raises(OracleError) as caught:
            asked(oracles.open(address, attempts=1, patience=0.1, timeout=10, **options))
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 900
    return caught.value


@pytest.mark.parametrize("plain", [True, False], ids=["tables", "protocol"])
@pytest.mark.parametrize("case", REPLIES)
def test_a_malformed_reply_is_the_oracles_fault_in_one_sentence(case: str, plain: bool) -> None:
    fails_clearly(REPLIES[case], **{"plain": {"interval": 0.01, "deadline": 0.1}} if plain else {})


def test_a_negative_chunk_is_not_read_to_the_end_of_the_connection() -> None:
    assert "the length of a chunk is negative" in str(fails_clearly(REPLIES["negative chunk"], plain={}))


@pytest.mark.parametrize("location", ["https://127.0.0.1:99999/", "https://127.0.0.1:x/"])
def test_a_redirect_to_a_bad_port_is_no_mistake_of_the_auditor(location: str) -> None:
    reply = f"HTTP/1.1 307 Go\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n".encode()
    assert "redirects to" in str(fails_clearly(reply, plain={}))


@pytest.mark.parametrize("address", ["http://a..b:1", "http://.:1", f"http://{'a' * 70}.example:1", "http://*:1"])
def test_an_address_that_no_library_takes_is_a_mistake_of_the_auditor(address: str) -> None:
    with pytest.raises((InputError, OracleError)) as caught:
        asked(oracles.open(address, plain={}, attempts=1, patience=0.1))
    assert str(caught.value).isprintable()


PIECES = [OK, CHUNKED, b"\r\n", b"\r\n\r\n", b"HTTP/1.1 ", b"200 ", b"Content-Length: ", b"-1", b"5\r\nhello\r\n",
          b"0\r\n\r\n", b"Location: ", b"HTTP/1.1 307 Go\r\n", b"HTTP/1.1 100 Continue\r\n\r\n", b"age,sex\n", b"\xff",
          b"\0", b"Content-Encoding: gzip\r\n", b"Transfer-Encoding: chunked\r\n", b"Retry-After: 9\r\n"]  # fmt: skip


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(PIECES), st.binary(max_size=12)), max_size=8).map(b"".join))
def test_no_mixture_of_pieces_of_replies_gets_further_than_an_error(content: bytes) -> None:
    with replying(content) as address, suppress(OracleError):
        asked(oracles.open(address, attempts=1, patience=0.1, timeout=10, plain={}))
