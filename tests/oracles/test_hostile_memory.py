"""Replies that are far too large: asked from a process of its own, which says how much memory it needed."""

import gzip
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.vocabulary.oracle import Card
from oracles.wire import messages
from oracles.wire._pb import oracle_pb2 as pb
from oracles.wire.messages import Description
from tests.oracles.servers import listening, read_request, serving
from tests.oracles.table_vendors import CSV, always

ROOT = Path(__file__).parents[2]
MEASURED = """
import sys
from pathlib import Path
from harness.vocabulary.errors import OracleError
from harness.vocabulary.oracle import Ask
from tests.oracles.filters import dataset
from oracles.clients.table_api import TableApi
from oracles.clients.http import HttpOracle
form = sys.argv[2]
oracle = HttpOracle(sys.argv[1]) if form == "protocol" else TableApi(sys.argv[1], plain={"format": form}, timeout=300.0)
try:
    list(oracle.answer(Ask(dataset())))
    print("no error")
except OracleError as error:
    print(error)
# VmHWM and not ru_maxrss: the latter begins with the size of the process that started this one
print(int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) // 1024)
"""


def measured(address: str, form: str = "csv") -> tuple[str, int]:
    """What the ask ended with, and its memory in MB."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, address, form], env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    text, memory = done.stdout.splitlines()
    return text, int(memory)


def two_gigabytes(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/csv\r\nContent-Length: 2147483648\r\n\r\nage\n")
    piece = b"1\n" * 500_000
    for _ in range(2148):
        connection.sendall(piece)


def test_two_gigabytes_are_not_taken() -> None:
    with listening(two_gigabytes) as address:
        text, memory = measured(address)
    assert "more than 16777216 bytes" in text
    assert memory < 500


def test_a_gzip_bomb_is_not_unpacked() -> None:
    bomb = gzip.compress(bytes(10_000_000)) * 30  # a file of gzip may have many parts
    assert len(bomb) < 400_000
    with serving(always(200, {**CSV, "Content-Encoding": "gzip"}, bomb)) as server:
        text, memory = measured(server.address)
    assert "more than 16777216 bytes (decompressed)" in text
    assert memory < 500


SWELLING: dict[str, tuple[str, Callable[[], bytes]]] = {  # made when they are sent: together they are 80 MB
    "a row of empty cells": ("csv", lambda: b"age,sex\n" + b"," * 16_000_000),
    "a header of empty names": ("csv", lambda: b"," * 16_000_000),
    "equal rows": ("csv", lambda: b"age\n" + b"1\n" * 1_000_000),
    "different rows": ("csv", lambda: b"age\n" + b"".join(b"%x\n" % number for number in range(2_300_000))),
    "empty lists": ("json-records", lambda: b"[" + b"[]," * 5_000_000 + b"[]]"),
    "numbers": ("json-records", lambda: b"[" + b"1.5," * 2_000_000 + b"1]"),
    "too many records": ("json-records", lambda: b"[" + b'{"":1},' * 900_000 + b'{"":1}]'),
    "many records": ("json-records", lambda: b"[" + b'{"":1},' * 500_000 + b'{"":1}]'),
}


@pytest.mark.parametrize(("form", "body"), SWELLING.values(), ids=SWELLING)
def test_a_reply_that_swells_when_it_is_read_stays_small(form: str, body: Callable[[], bytes]) -> None:
    kind = "text/csv" if form == "csv" else "application/json"
    with serving(always(200, {"Content-Type": kind}, body())) as server:
        _, memory = measured(server.address, form)
    assert memory < 500


def endless_answer(connection: socket.socket) -> None:
    """Describes itself well, then sends pieces of one release for ever: new cells, or ever more rows."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\n"
    card = messages.pack_description(Description(Card("endless"))).SerializeToString()
    read_request(connection)
    connection.sendall(head + f"Content-Length: {len(card)}\r\n\r\n".encode() + card)
    read_request(connection)
    connection.sendall(head + b"Connection: close\r\n\r\n")
    column = pb.Column(name="age", ints=pb.Ints(values=[1]), codes=bytes(900_000))
    piece = messages.frame(pb.Reply(part=pb.Part(table=pb.Table(rows=900_000, columns=[column]), more=True)))
    for _ in range(2400):
        connection.sendall(piece)


def test_a_release_without_end_is_not_taken() -> None:
    with listening(endless_answer) as address:
        text, memory = measured(address, "protocol")
    assert "bytes" in text
    assert memory < 500
