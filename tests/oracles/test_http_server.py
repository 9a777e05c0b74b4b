"""The kit behind HTTP, spoken to with nothing but sockets, http.client and JSON: what it says, bounds and logs."""

import gzip
import hashlib
import http.client
import json
import logging
import os
import signal
import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pandas as pd
import pytest

from harness.vocabulary.errors import InputError
from oracles.clients.local import Local
from oracles.serve.http import serve
from oracles.serve.limits import Limits
from oracles.wire import json_form, messages, questions
from oracles.wire._pb import oracle_pb2 as pb
from oracles.wire.questions import Question
from tests.oracles.filters import decades, noisy
from tests.oracles.gate import Gate
from tests.oracles.http_kit import BODY, DATA, DIGEST, JSON, PROTOBUF, Somewhere, ask, question, running
from tests.waiting import first_line, started, wait_until


def test_three_verbs_in_json() -> None:
    with running(noisy) as server:
        status, headers, body = ask(server, "GET", "/v1/card", headers={})
        assert (status, headers["content-type"]) == (200, "application/json")
        card = json.loads(body)["card"]
        assert (card["releases"], card["seedable"], card["keeps_data"]) == ("microdata", True, True)
        status, _, body = ask(server, "PUT", f"/v1/data/{DIGEST}", BODY)
        assert (status, json.loads(body)) == (200, {"digest": DIGEST})
        status, _, body = ask(server, "POST", "/v1/answers", question(draws=2, seed="9", drop=3))
        assert status == 200
        releases = json.loads(body)["releases"]
        assert [release["table"]["rows"] for release in releases] == [23, 23]


def test_three_verbs_in_protobuf() -> None:
    with running() as server:
        body = ask(server, "GET", "/v1/card", headers=PROTOBUF)[2]
        assert pb.DescribeReply.FromString(body).card.name.endswith("decades")
        packed = messages.pack_dataset(DATA).SerializeToString()
        digest = hashlib.sha256(packed).hexdigest()
        assert pb.PutReply.FromString(ask(server, "PUT", f"/v1/data/{digest}", packed, PROTOBUF)[2]).digest == digest
        asked = questions.pack_question(Question(digest, draws=2)).SerializeToString()
        status, headers, body = ask(server, "POST", "/v1/answers", asked, PROTOBUF)
        assert (status, headers["content-type"]) == (200, "application/x-protobuf")
        kinds = []
        while body:
            size = int.from_bytes(body[:4], "big")
            kinds.append(pb.Reply.FromString(body[4 : 4 + size]).WhichOneof("kind"))
            body = body[4 + size :]
        assert kinds == ["part", "part", "done"]


def test_a_question_in_one_form_may_be_answered_in_the_other() -> None:
    with running() as server:
        inline = json_form.dumped(json_form.json_question(Question(DATA)))
        _, headers, _ = ask(server, "POST", "/v1/answers", inline, {**JSON, "Accept": "application/x-protobuf"})
        assert headers["content-type"] == "application/x-protobuf"


def test_chunks_are_taken() -> None:
    with running() as server:
        pieces = iter([BODY[:100], BODY[100:]])
        assert ask(server, "PUT", f"/v1/data/{DIGEST}", pieces)[0] == 200


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status", "code"),
    [
        ("GET", "/v1/cards", None, JSON, 404, "UNSUPPORTED"),
        ("GET", "/v2/card", None, JSON, 404, "UNSUPPORTED"),
        ("DELETE", "/v1/card", None, JSON, 405, "UNSUPPORTED"),
        ("POST", "/v1/card", b"{}", JSON, 405, "UNSUPPORTED"),
        ("BREW", "/v1/card", None, JSON, 405, "UNSUPPORTED"),
        ("POST", "/v1/answers", b"age,sex", {"Content-Type": "text/csv"}, 415, "UNSUPPORTED"),
        ("POST", "/v1/answers", b"{", JSON, 400, "INVALID"),
        ("POST", "/v1/answers", question(), JSON, 404, "UNKNOWN_DATA"),
        ("POST", "/v1/answers", question(draws=0), JSON, 400, "INVALID"),
        ("POST", "/v1/answers", b"\xff", {**PROTOBUF, "Accept": "application/json"}, 400, "INVALID"),
        ("PUT", "/v1/data/" + "0" * 64, BODY, JSON, 409, "INVALID"),
        ("PUT", f"/v1/data/{DIGEST}", b"x" * 20_000, JSON, 413, "TOO_LARGE"),
    ],
)
def test_what_is_wrong_has_its_status_and_its_problem(
    method: str, path: str, body: bytes | None, headers: dict[str, str], status: int, code: str
) -> None:
    with running(limits=Limits(dataset_bytes=10_000)) as server:
        sent, reply_headers, reply = ask(server, method, path, body, headers)
        assert (sent, json.loads(reply)["code"], reply_headers["content-type"]) == (status, code, "application/json")


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET /v1/card HTTP/7.0\r\n\r\n", 501),
        (b"BREW /v1/card HTTP/1.1\r\n\r\n", 400),  # HTTP/1.1 without a Host
        (b"GET /v1/card HTTP/1.1\r\nA: " + b"x" * 70_000 + b"\r\n\r\n", 400),
    ],
)
def test_a_request_that_is_hardly_one_is_answered_with_a_problem_too(sent: bytes, status: int) -> None:
    with running() as server, connected(server) as connection:
        connection.sendall(sent)
        reply = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    head, _, body = reply.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status)
    assert json.loads(body)["code"] in ("INVALID", "UNSUPPORTED")


def connected(server: Somewhere) -> socket.socket:
    parts = urlsplit(server.address)
    return socket.create_connection((parts.hostname or "", parts.port or 0), timeout=120)


def example(beginning: str) -> bytes:
    """The first example of the protocol's text that begins so."""
    text = (Path(__file__).parents[2] / "proto" / "PROTOCOL.md").read_text()
    blocks = [block.partition("```")[0].strip() for block in text.split("```json")[1:]]
    return next(block for block in blocks if block.startswith(beginning)).encode()


def test_the_dataset_of_the_protocols_text_can_be_put_and_asked_about() -> None:
    body = example('{"schema"')
    digest = hashlib.sha256(body).hexdigest()
    with running(lambda frame: frame) as server:
        status, _, said = ask(server, "PUT", f"/v1/data/{digest}", body)
        assert (status, json.loads(said)) == (200, {"digest": digest})
        status, _, said = ask(server, "POST", "/v1/answers", json.dumps({"digest": digest, "drop": 3}).encode())
        assert status == 200
        table = json.loads(said)["releases"][0]["table"]
        assert table["rows"] == 3
        status, _, _ = ask(server, "POST", "/v1/answers", json.dumps({"digest": digest, "about": [1]}).encode())
        assert status == 200  # microdata are about nobody in particular
        for wrong in ({"drop": 4}, {"draws": 0}, {"draws": 10**9}):
            status, _, said = ask(server, "POST", "/v1/answers", json.dumps({"digest": digest, **wrong}).encode())
            assert (status, json.loads(said)["code"]) == (400, "INVALID")


def test_a_missing_cell_needs_a_place_in_the_domain() -> None:
    body = example('{"schema"').replace(b", null]", b"]")
    with running() as server:
        status, _, said = ask(server, "PUT", f"/v1/data/{hashlib.sha256(body).hexdigest()}", body)
    assert (status, json.loads(said)["code"]) == (400, "INVALID")


def test_a_problem_of_a_protobuf_client_is_a_message() -> None:
    with running() as server:
        asked = questions.pack_question(Question("0" * 64)).SerializeToString()
        status, _, body = ask(server, "POST", "/v1/answers", asked, PROTOBUF)
        assert (status, pb.Problem.FromString(body).code) == (404, pb.Problem.CODE_UNKNOWN_DATA)


def test_a_failure_in_the_middle_of_a_stream_is_its_last_frame() -> None:
    def second_fails(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
        if seed == 1:
            raise ValueError("not this one")
        return frame

    with running(second_fails) as server:
        asked = questions.pack_question(Question(DATA, draws=3)).SerializeToString()
        status, _, body = ask(server, "POST", "/v1/answers", asked, PROTOBUF)
    assert status == 200
    first = int.from_bytes(body[:4], "big")
    last = pb.Reply.FromString(body[first + 8 :])
    assert "the anonymizer raised ValueError" in last.problem.message


def test_one_connection_serves_many_requests_also_after_refusals() -> None:
    with running(token="sesame") as server:
        connection = http.client.HTTPConnection(urlsplit(server.address).netloc, timeout=120)
        connection.connect()
        socket_then = connection.sock
        for token, status in (("wrong", 401), ("sesame", 200), ("", 401), ("sesame", 200)):
            connection.request("PUT", f"/v1/data/{DIGEST}", BODY, {**JSON, "Authorization": f"Bearer {token}"})
            reply = connection.getresponse()
            reply.read()
            assert reply.status == status
        assert connection.sock is socket_then
        connection.close()


def test_a_token_is_needed_unless_only_this_machine_can_ask() -> None:
    with pytest.raises(InputError, match="needs a token"):
        serve(Local(decades), "0.0.0.0:0")
    with running(token="sesame") as server:
        status, headers, _ = ask(server, "GET", "/v1/card")
        assert (status, headers["www-authenticate"]) == (401, "Bearer")
        assert ask(server, "GET", "/v1/card", headers={"Authorization": "Bearer sesame"})[0] == 200
        assert ask(server, "GET", "/healthz")[::2] == (200, b"ok\n")


def test_a_body_that_is_announced_too_large_is_refused_although_it_is_still_sent() -> None:
    with running(limits=Limits(request_bytes=1000)) as server:
        status, _, body = ask(server, "POST", "/v1/answers", b"x" * 5_000_000)
        assert (status, json.loads(body)["code"]) == (413, "TOO_LARGE")


@pytest.mark.parametrize("length", ["-1", "1e3", "9" * 30, "٣"])
def test_a_length_that_is_no_number_is_refused(length: str) -> None:
    with running() as server:
        head = f"POST /v1/answers HTTP/1.1\r\nContent-Length: {length}\r\nContent-Type: application/json\r\n\r\n"
        assert b" 400 " in raw(server, head.encode())


@pytest.mark.parametrize("chunk", [b"zz\r\n", b"-5\r\n", b"fffffffff\r\n", b"\r\n"])
def test_chunks_that_cannot_be_read_are_refused(chunk: bytes) -> None:
    with running() as server:
        head = b"POST /v1/answers HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\n"
        assert b" 400 " in raw(server, head + chunk)


def raw(server: Somewhere, sent: bytes) -> bytes:
    """What the server replies to these bytes before it closes the connection."""
    with connected(server) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        received = b""
        while piece := connection.recv(65536):
            received += piece
    return received


INLINE = json_form.dumped(json_form.json_question(Question(DATA)))


class Held:
    """An anonymizer in this process that says when it was asked, and answers when the test lets it."""

    def __init__(self) -> None:
        self.begun, self.open = threading.Event(), threading.Event()

    def __call__(self, frame: pd.DataFrame) -> pd.DataFrame:
        self.begun.set()
        assert self.open.wait(120)
        return frame


def status_of(server: Somewhere) -> int:
    return ask(server, "POST", "/v1/answers", INLINE)[0]


def test_too_many_questions_at_once_are_told_to_come_back() -> None:
    held = Held()
    with running(held, limits=Limits(concurrency=1, patience=0.05)) as server, ThreadPoolExecutor(1) as pool:
        first = pool.submit(status_of, server)
        assert held.begun.wait(120)
        status, headers, body = ask(server, "POST", "/v1/answers", INLINE)
        held.open.set()
        assert (status, headers["retry-after"], json.loads(body)["code"]) == (429, "1", "BUSY")
        assert first.result() == 200


def test_stopping_finishes_what_is_under_way_and_refuses_the_rest() -> None:
    held = Held()
    server = serve(Local(held))
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(status_of, server)
        assert held.begun.wait(120)
        stopping = pool.submit(server.stop, 120.0)
        wait_until(lambda: status_of(server) == 503)
        held.open.set()
        assert first.result() == 200
        stopping.result()
    with pytest.raises(OSError, match="refused"):
        ask(server, "GET", "/v1/card")


@dataclass(frozen=True)
class Elsewhere:
    """A server in another process."""

    address: str


def test_sigterm_drains(tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    script = f"""
{gate.source}
from oracles.clients.local import Local
from oracles.serve.binding import until_stopped
from oracles.serve.http import serve
server = serve(Local(held))
print(server.address, flush=True)
until_stopped(server, 120.0)
print("ended")
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with started([sys.executable, "-c", script], env=environment) as process, ThreadPoolExecutor(1) as pool:
        server = Elsewhere(first_line(process))
        first = pool.submit(status_of, server)
        gate.wait_for_question()
        process.send_signal(signal.SIGTERM)
        wait_until(lambda: status_of(server) == 503)
        gate.open()
        assert first.result() == 200
        assert process.communicate(timeout=120)[0] == "ended\n"
        assert process.returncode == 0


def test_the_log_holds_no_record(caplog: pytest.LogCaptureFixture) -> None:
    def fails(frame: pd.DataFrame) -> pd.DataFrame:
        raise ValueError(f"bad age {frame['age'].iloc[0]} of a person with {frame['illness'].iloc[0]}")

    with caplog.at_level(logging.DEBUG), running(fails) as server:
        ask(server, "PUT", f"/v1/data/{DIGEST}", BODY)
        ask(server, "POST", "/v1/answers", question())
        ask(server, "POST", "/v1/answers", b'{"digest": "Br\xc3\xbcche"}')
    assert "answer" in caplog.text
    for cell in ("Brüche", "ague", "bad age", "female"):
        assert cell not in caplog.text


def test_a_client_that_leaves_does_no_harm() -> None:
    with running() as server:
        for sent in (b"", b"GET", b"POST /v1/answers HTTP/1.1\r\nContent-Length: 100\r\n\r\nabc", gzip.compress(b"x")):
            with connected(server) as connection:
                connection.sendall(sent)
        assert ask(server, "GET", "/healthz")[0] == 200
