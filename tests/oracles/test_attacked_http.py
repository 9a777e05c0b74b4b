"""The kit behind HTTP under attack: slow senders, odd lengths, askers who leave. Others are served all the same."""

import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pandas as pd
import pytest

import oracles
from oracles.clients.local import Local
from oracles.serve import http as kit
from oracles.serve import http_connection
from oracles.serve.limits import Limits
from oracles.wire import json_form, messages
from oracles.wire.questions import Question
from tests.oracles.gate import Gate
from tests.oracles.http_kit import BODY, DATA, DIGEST, JSON, Somewhere, ask, running
from tests.oracles.test_http_server import Elsewhere
from tests.waiting import PATIENCE, first_line, is_running, started, wait_for_end, wait_until

TOKEN = {**JSON, "Authorization": "Bearer sesame"}
INLINE = json_form.dumped(json_form.json_question(Question(DATA)))
SLOW_HEAD = b"POST /v1/answers HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sesame\r\nA: "
SLOW_BODY = SLOW_HEAD + b"b\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"


def connected(server: Somewhere) -> socket.socket:
    parts = urlsplit(server.address)
    return socket.create_connection((parts.hostname or "", parts.port or 0), timeout=PATIENCE)


def head_of(body: bytes) -> bytes:
    """The head of a question, up to its empty line."""
    lines = ("POST /v1/answers HTTP/1.1", "Host: x", "Content-Type: application/json", f"Content-Length: {len(body)}")
    return "".join(f"{line}\r\n" for line in lines).encode()


def all_of(connection: socket.socket) -> bytes:
    """What the server sends until it closes the connection."""
    return b"".join(iter(lambda: connection.recv(1 << 16), b""))


@contextmanager
def attacked(server: Somewhere, sent: bytes, count: int) -> Iterator[list[socket.socket]]:
    """So many connections that each sent this and then go on saying nothing."""
    with ExitStack() as stack:
        attackers = [stack.enter_context(connected(server)) for _ in range(count)]
        for attacker in attackers:
            attacker.sendall(sent)
        yield attackers


# ---- slow senders


@pytest.mark.parametrize("sent", [b"", b"G", SLOW_HEAD, SLOW_BODY], ids=["nothing", "a letter", "a head", "a body"])
def test_two_hundred_who_send_slowly_do_not_silence_the_server(sent: bytes) -> None:
    with running(token="sesame") as server, attacked(server, sent, 200):
        assert ask(server, "POST", "/v1/answers", INLINE, TOKEN)[0] == 200
        assert ask(server, "PUT", f"/v1/data/{DIGEST}", BODY, TOKEN)[0] == 200
        assert ask(server, "GET", "/healthz")[0] == 200


def test_a_connection_too_many_takes_the_place_of_the_one_that_waited_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kit, "CONNECTIONS", 20)
    with running(token="sesame") as server, attacked(server, SLOW_HEAD, 19), connected(server) as honest:
        for _ in range(40):
            with attacked(server, SLOW_HEAD, 5):
                honest.sendall(b"GET /v1/card HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sesame\r\n\r\n")
                assert honest.recv(1 << 16).startswith(b"HTTP/1.1 200")
                assert ask(server, "GET", "/v1/card", headers=TOKEN)[0] == 200


@pytest.mark.parametrize(
    ("sent", "limit", "status"),
    [(b"", "IDLE", b""), (SLOW_HEAD, "HEAD_SECONDS", b""), (SLOW_BODY, "BODY_SECONDS", b"HTTP/1.1 408")],
)
def test_a_request_has_a_deadline_as_a_whole(
    sent: bytes, limit: str, status: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_connection, limit, 0.3)
    with running(token="sesame") as server, connected(server) as connection:
        trickling = threading.Event()

        def trickle() -> None:
            while sent and not trickling.wait(0.02):
                try:
                    connection.sendall(b"x")
                except OSError:
                    return

        thread = threading.Thread(target=trickle)
        connection.sendall(sent)
        thread.start()
        try:
            reply = all_of(connection)
        except ConnectionResetError:
            reply = b""
        finally:
            trickling.set()
            thread.join()
        assert reply.startswith(status)


# ---- lengths and Expect


def raw(server: Somewhere, *lines: str, body: bytes = b"") -> bytes:
    head = "\r\n".join(["POST /v1/answers HTTP/1.1", "Host: x", "Content-Type: application/json", *lines, "", ""])
    with connected(server) as connection:
        connection.sendall(head.encode() + body)
        return connection.recv(1 << 16)


@pytest.mark.parametrize(
    "lines",
    [
        ("Content-Length: 2", "Content-Length: 2"),
        ("Content-Length: 2", "content-length: 3"),
        ("Content-Length: 2, 3",),
        ("Content-Length: 2", "Transfer-Encoding: chunked"),
        ("Transfer-Encoding: chunked", "Content-Length: 2"),
        ("Content-Length: +2",),
        ("Content-Length: " + "9" * 30,),
    ],
)
def test_a_length_that_can_be_read_in_two_ways_is_refused(lines: tuple[str, ...]) -> None:
    with running() as server:
        assert raw(server, *lines, body=b"{}").startswith(b"HTTP/1.1 400")


def test_an_unknown_transfer_encoding_is_not_done_here() -> None:
    with running() as server:
        assert raw(server, "Transfer-Encoding: gzip, chunked").startswith(b"HTTP/1.1 501")


def test_a_body_that_is_announced_too_large_is_refused_before_a_byte_of_it_is_sent() -> None:
    with running(limits=Limits(request_bytes=1000)) as server:
        for lines in (("Content-Length: 1001",), ("Content-Length: 1001", "Expect: 100-continue")):
            assert raw(server, *lines).startswith(b"HTTP/1.1 413")


def test_a_client_that_waits_to_be_asked_for_its_body_is_asked() -> None:
    with running() as server, connected(server) as connection:
        connection.sendall(head_of(INLINE) + b"Expect: 100-continue\r\n\r\n")
        assert connection.recv(1 << 16) == b"HTTP/1.1 100 \r\n\r\n"
        connection.sendall(INLINE)
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200")


def test_a_client_without_the_token_is_not_asked_for_its_body() -> None:
    with running(token="sesame") as server:
        assert raw(server, "Content-Length: 10", "Expect: 100-continue").startswith(b"HTTP/1.1 401")


# ---- askers who leave


class Counted:
    """An anonymizer that says how many calls have begun, and waits until the test lets it."""

    def __init__(self) -> None:
        self.begun, self.open = 0, threading.Event()

    def __call__(self, frame: pd.DataFrame, seed: int) -> pd.DataFrame:
        self.begun += 1
        assert self.open.wait(PATIENCE)
        return frame


def asked_and_left(server: Somewhere, body: bytes, until: Callable[[], object]) -> None:
    with connected(server) as connection:
        connection.sendall(head_of(body) + b"\r\n" + body)
        wait_until(until)


def test_the_draws_that_nobody_waits_for_are_not_made() -> None:
    function = Counted()
    with running(function, limits=Limits(patience=PATIENCE)) as server:
        many = json_form.dumped(json_form.json_question(Question(DATA, draws=1_000_000)))
        asked_and_left(server, many, lambda: function.begun)
        function.open.set()
        assert ask(server, "POST", "/v1/answers", INLINE)[0] == 200
        assert function.begun < 1000


def test_a_question_that_waited_for_its_turn_in_vain_is_not_asked() -> None:
    function = Counted()
    with running(function, limits=Limits(patience=PATIENCE)) as server, ThreadPoolExecutor(2) as pool:
        first = pool.submit(ask, server, "POST", "/v1/answers", INLINE)
        wait_until(lambda: function.begun)
        asked_and_left(server, INLINE, lambda: True)
        last = pool.submit(ask, server, "POST", "/v1/answers", INLINE)
        function.open.set()
        assert first.result()[0] == last.result()[0] == 200
        assert function.begun == 2


def test_a_process_that_works_for_nobody_is_ended_and_its_turn_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(tmp_path)
    source = gate.source.replace('note.write("yes")', "note.write(str(os.getpid()))")
    (tmp_path / "held_function.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    server = kit.serve(oracles.open("python:held_function:held"), limits=Limits(patience=PATIENCE))
    try:
        asked_and_left(server, INLINE, lambda: (tmp_path / "begun").exists() and (tmp_path / "begun").read_text())
        wait_for_end(int((tmp_path / "begun").read_text()))
        gate.open()
        assert ask(server, "POST", "/v1/answers", INLINE)[0] == 200
    finally:
        server.stop(1.0)
        server.handler.oracle.close()


def test_a_question_may_not_take_for_ever() -> None:
    function = Counted()
    with running(function, limits=Limits(question_seconds=0.2)) as server:
        status, _, body = ask(server, "POST", "/v1/answers", INLINE)
        function.open.set()
    assert (status, json.loads(body)["message"]) == (500, "the question took more than 0.2 s")


def test_a_server_ends_although_its_anonymizer_never_answers(tmp_path: Path) -> None:
    script = f"""
{Gate(tmp_path).source}
from oracles.clients.local import Local
from oracles.serve.binding import until_stopped
from oracles.serve.http import serve
server = serve(Local(held))
print(server.address, flush=True)
until_stopped(server, 0.1)
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with started([sys.executable, "-c", script], env=environment) as process, ThreadPoolExecutor(1) as pool:
        server = Elsewhere(first_line(process))
        asking = pool.submit(_quietly, lambda: ask(server, "POST", "/v1/answers", INLINE))
        Gate(tmp_path).wait_for_question()
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
        asking.result()
    assert not is_running(process.pid)


def _quietly(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except OSError as error:
        return error


# ---- long answers in JSON


def test_a_long_answer_in_json_comes_in_chunks_and_names_its_question() -> None:
    with running(lambda frame, seed: frame) as server:
        body = json_form.dumped(json_form.json_question(Question(DATA, draws=400)))
        status, headers, reply = ask(server, "POST", "/v1/answers", body)
    assert (status, headers["transfer-encoding"]) == (200, "chunked")
    message = json.loads(reply)
    assert message["question"] == messages.digest_of(body)
    assert len(message["releases"]) == 400


def test_an_answer_in_json_that_fails_midway_ends_with_the_problem() -> None:
    def third_fails(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
        if seed == 2:
            raise ValueError("not this one")
        return frame

    server = kit.serve(Local(third_fails))
    try:
        body = json_form.dumped(json_form.json_question(Question(DATA, draws=5)))
        status, _, reply = ask(server, "POST", "/v1/answers", body)
    finally:
        server.stop(1.0)
    message = json.loads(reply)
    assert (status, len(message["releases"]), message["problem"]["code"]) == (200, 2, "FAILED")
    assert "not this one" not in message["problem"]["message"]
