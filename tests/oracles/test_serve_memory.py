"""`harness serve --max-memory 512M` keeps to it, whatever many attackers send at once, and answers others meanwhile."""

import http.client
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import grpc
import pytest

import oracles
from harness.vocabulary.oracle import Ask
from oracles.wire import messages
from oracles.wire._pb import oracle_pb2 as pb
from tests.command_line import ENVIRONMENT, run_harness
from tests.oracles.filters import dataset
from tests.oracles.test_memory_needed import NUMBERS, TEXTS, field, rows, table_of

MEGABYTES = 512
SECONDS = 12.0  # that each attacker goes on
JSON, PROTOBUF = "application/json", "application/x-protobuf"


@contextmanager
def served(transport: str) -> Iterator[tuple[str, int]]:
    """Address and process of a server with so much memory."""
    words = ["reference:identity", transport, "127.0.0.1:0", "--max-memory", f"{MEGABYTES}M", "--threads", "4"]
    command = [sys.executable, "-m", "harness.cli", "serve", *words]
    with subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            line = next(line for line in process.stderr if "is served at" in line)
            yield line.partition("is served at ")[2].partition(",")[0], process.pid
        finally:
            process.terminate()


def most_memory(pid: int) -> int:
    """The most megabytes that a process has taken."""
    return int(Path(f"/proc/{pid}/status").read_text().split("VmHWM:")[1].split()[0]) // 1024


def repeated(unit: bytes, before: bytes, after: bytes, size: int) -> bytes:
    return before + unit * (size // len(unit)) + after


def request(address: str, method: str, path: str, body: bytes, kind: str) -> None:
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
    with suppress(OSError, http.client.HTTPException):
        connection.request(method, path, body, {"Content-Type": kind, "Accept": JSON})
        while connection.getresponse().read(1 << 20):
            pass
    connection.close()


def post(address: str, body: bytes, kind: str = JSON) -> None:
    request(address, "POST", "/v1/answers", body, kind)


def put(address: str, body: bytes, kind: str = PROTOBUF) -> None:
    request(address, "PUT", f"/v1/data/{messages.digest_of(body)}", body, kind)


def sent_and_held(address: str, *pieces: bytes, times: int = 1) -> None:
    parts = urlsplit(address)
    with suppress(OSError), socket.create_connection((parts.hostname or "", parts.port or 0), timeout=5) as connection:
        for _ in range(times):
            for piece in pieces:
                connection.sendall(piece)
        connection.recv(100)


def head(*lines: bytes) -> bytes:
    first = b"PUT /v1/data/" + os.urandom(32).hex().encode() + b" HTTP/1.1"
    return b"\r\n".join([first, b"Host: x", b"Content-Type: application/json", *lines, b"", b""])


ATTACKS: dict[str, Callable[[str], None]] = {
    "small objects": lambda at: post(at, repeated(b"{},", b'{"schema":[', b"{}]}", 20_000_000)),
    "small objects that fit": lambda at: post(at, repeated(b"{},", b'{"schema":[', b"{}]}", 1_500_000)),
    "pairs": lambda at: post(at, repeated(b'{"":1},', b'{"x":[', b"1]}", 3_000_000)),
    "numbers": lambda at: post(at, repeated(b"100000,", b'{"x":[', b"1]}", 12_000_000)),
    "an emoji": lambda at: post(at, b'{"x":"' + b"a" * 15_000_000 + "\U0001f600".encode() + b'"}'),
    "deep": lambda at: post(at, b"[" * 1_500_000),
    "put objects": lambda at: put(at, repeated(b"{},", b'{"schema":[', b"{}]}", 10_000_000), JSON),
    "columns": lambda at: put(at, table_of(*[b""] * 4000)),
    "a million columns": lambda at: put(at, field(2, b"\x12\x00" * 1_000_000)),
    "paths": lambda at: put(at, field(1, field(1, field(4, field(1, b"a")) * 250_000))),
    "texts": lambda at: put(at, table_of(field(4, TEXTS), field(4, TEXTS + os.urandom(3).hex().encode()))),
    "numbers kept": lambda at: put(at, table_of(field(2, NUMBERS * 10))),
    "rows": lambda at: put(
        at, rows(1_000_000 + os.getpid() % 1000 + int(time.time() * 1000) % 100_000).SerializeToString()
    ),
    "rows asked": lambda at: post(at, pb.AnswerRequest(dataset=rows(900_000), draws=9).SerializeToString(), PROTOBUF),
    "chunks without end": lambda at: sent_and_held(
        at,
        head(b"Transfer-Encoding: chunked") + b"10000\r\n" + bytes(65536),
        b"\r\n10000\r\n" + bytes(65536),
        times=400,
    ),
    "all but one byte": lambda at: sent_and_held(at, head(b"Content-Length: 20000000") + bytes(19_999_999)),
    "a long line": lambda at: sent_and_held(at, b"GET /" + b"a" * 20_000_000),
    "many headers": lambda at: sent_and_held(at, b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 2_000_000),
    "a slow head": lambda at: sent_and_held(at, b"GET / HTTP/1.1\r\nA: "),
}


def attack_for(seconds: float, attacks: Sequence[Callable[[], None]]) -> list[threading.Thread]:
    end = time.monotonic() + seconds

    def go_on(attack: Callable[[], None]) -> None:
        while time.monotonic() < end:
            attack()

    threads = [threading.Thread(target=go_on, args=(attack,), daemon=True) for attack in attacks]
    for thread in threads:
        thread.start()
    return threads


def answered_beside(threads: Sequence[threading.Thread], address: str) -> int:
    """How many questions of an honest client are answered while others attack."""
    data, answered = dataset(), 0
    while any(thread.is_alive() for thread in threads):
        oracle = oracles.open(address)
        answered += len(list(oracle.answer(Ask(data, drop=(1,)))))
        oracle.close()
    return answered


@pytest.mark.slow
def test_an_http_server_keeps_to_its_memory_and_answers_others() -> None:
    with served("--http") as (address, pid):
        threads = attack_for(SECONDS, [partial(attack, address) for attack in ATTACKS.values()] * 2)
        assert answered_beside(threads, address) >= 3
        assert most_memory(pid) < MEGABYTES, most_memory(pid)


@pytest.mark.slow
def test_a_grpc_server_keeps_to_its_memory_and_answers_others() -> None:
    with served("--grpc") as (address, pid):

        def call(method: str, requests: Iterator[bytes]) -> None:
            alone = [("grpc.use_local_subchannel_pool", 1)]
            there: Any = grpc.insecure_channel(address.removeprefix("grpc://"), alone)
            with there, suppress(grpc.RpcError):
                list(there.stream_stream(f"/oracle.v1.Oracle/{method}")(requests, timeout=20.0))

        def pieces() -> Iterator[bytes]:
            for _ in range(22):
                yield pb.PutRequest(digest="0" * 64, part=bytes(900_000)).SerializeToString()
            time.sleep(3.0)

        def endless_put() -> None:
            call("Put", pieces())

        def large_question() -> None:
            table = pb.Table(columns=[pb.Column()] * 1_000_000)
            call("Answer", iter([pb.AnswerRequest(dataset=pb.Dataset(table=table)).SerializeToString()]))

        threads = attack_for(SECONDS, [endless_put] * 24 + [large_question] * 6)
        assert answered_beside(threads, address) >= 3
        assert most_memory(pid) < MEGABYTES, most_memory(pid)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--max-memory", "100M"), "--max-memory 100M: 100 MiB of memory are too few: the server needs at least"),
        (("--max-memory", "lots"), "--max-memory lots: expected a whole number of bytes, or one with K, M or G"),
        (("--max-seconds", "0"), "--max-seconds must be a positive number, not 0"),
    ],
)
def test_a_bound_that_is_none_is_refused(words: tuple[str, ...], message: str, tmp_path: Path) -> None:
    run = run_harness("serve", "reference:identity", "--http", "127.0.0.1:0", *words, cwd=tmp_path)
    assert run.returncode == 2
    assert message in run.stderr
