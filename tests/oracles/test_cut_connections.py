"""Replies over gRPC and over pipes that are cut at any byte: asked for again, never a malformed release."""

import socket
import sys
import threading
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from harness.vocabulary.oracle import Ask
from oracles.clients.grpc import GrpcOracle
from oracles.clients.local import Local
from oracles.clients.persistent_command import PersistentCommand
from oracles.middleware import Retrying
from oracles.serve import grpc as kit
from tests.oracles.asking import digests
from tests.oracles.filters import dataset, decades
from tests.oracles.servers import listening

ROOT = Path(__file__).parents[2]
EXPECTED = digests(Local(decades), Ask(dataset(), drop=(5,), draws=2))


class Cut:
    """Ends the connection after `left` more bytes from the server, once; None: lets everything through."""

    def __init__(self, server: str) -> None:
        self.server, self.passed = server, 0
        self.left: int | None = None
        self._lock = threading.Lock()

    def behave(self, client: socket.socket) -> None:
        host, _, port = urlsplit(self.server).netloc.partition(":")
        with socket.create_connection((host, int(port))) as server:
            threading.Thread(target=_copy, args=(client, server), daemon=True).start()
            while piece := server.recv(1 << 16):
                whole = self._let_through(piece)
                client.sendall(whole)
                if len(whole) < len(piece):
                    break
            for end in (client, server):
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def _let_through(self, piece: bytes) -> bytes:
        """As much of these bytes as may pass."""
        with self._lock:
            if self.left is not None and self.left < len(piece):
                piece, self.left = piece[: self.left], None
            elif self.left is not None:
                self.left -= len(piece)
            self.passed += len(piece)
            return piece


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(1 << 16):
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)


@pytest.mark.parametrize("step", [61, pytest.param(7, marks=pytest.mark.slow)])
def test_an_answer_over_grpc_that_is_cut_anywhere_is_asked_for_again(step: int) -> None:
    server = kit.serve(Local(decades))
    cut = Cut(server.address)
    try:
        with listening(cut.behave) as address, closing(GrpcOracle(address.replace("http", "grpc"))) as inner:
            oracle = Retrying(inner, attempts=4, first=0.0001)
            assert digests(oracle, Ask(dataset(), drop=(5,), draws=2)) == EXPECTED
            before = cut.passed
            assert digests(oracle, Ask(dataset(), drop=(5,), draws=2)) == EXPECTED
            for place in range(0, cut.passed - before, step):
                cut.left = place
                assert digests(oracle, Ask(dataset(), drop=(5,), draws=2)) == EXPECTED, place
            assert oracle.retries > 5
    finally:
        server.stop(1.0)


CUTTING = """
import os, sys
sys.path.insert(0, {root!r})
from pathlib import Path
from oracles.clients.local import Local
from oracles.serve import stdio
from tests.oracles.filters import decades
from oracles.wire import messages
mark, place, whole = Path(sys.argv[1]), int(sys.argv[2]), messages.frame
def cut(message):
    data = whole(message)
    if message.WhichOneof("kind") == "part" and not mark.exists():
        mark.touch()
        os.write(1, data[:place])
        os._exit(0)
    return data
messages.frame = cut
stdio.serve(Local(decades))
"""


@pytest.mark.parametrize("place", [0, 1, 3, 4, 100])
def test_a_frame_that_a_program_does_not_finish_is_asked_for_again(place: int, tmp_path: Path) -> None:
    command = [sys.executable, "-c", CUTTING.format(root=str(ROOT)), str(tmp_path / "mark"), str(place)]
    with closing(PersistentCommand(command)) as inner:
        oracle = Retrying(inner, attempts=2, first=0.0001)
        assert digests(oracle, Ask(dataset(), drop=(5,), draws=2)) == EXPECTED
    assert oracle.retries == 1
