"""Several rows left out of data that a server of version 1.0 keeps: the right release or a refusal, never all rows."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from harness.vocabulary.oracle import Ask, Oracle
from oracles.clients.grpc import GrpcOracle
from oracles.clients.http import HttpOracle
from oracles.clients.local import Local
from oracles.clients.persistent_command import PersistentCommand
from oracles.serve import grpc as grpc_kit
from oracles.serve import http as http_kit
from oracles.serve.limits import Limits
from oracles.wire.messages import Refused, digest_of
from oracles.wire.questions import Question
from tests.oracles.filters import dataset, decades
from tests.oracles.old_server import OldHandler

HERE = Path(__file__).parent
DATA = dataset()


@contextmanager
def http(encoding: Any, **limits: int) -> Iterator[HttpOracle]:
    server = http_kit.serve(Local(decades), limits=Limits(**limits))
    oracle = HttpOracle(server.address, encoding=encoding)
    try:
        yield oracle
    finally:
        oracle.close()
        server.stop(1.0)


@contextmanager
def grpc(**limits: int) -> Iterator[GrpcOracle]:
    server = grpc_kit.serve(Local(decades), limits=Limits(**limits))
    oracle = GrpcOracle(server.address)
    try:
        yield oracle
    finally:
        oracle.close()
        server.stop(1.0)


@contextmanager
def persistent() -> Iterator[PersistentCommand]:
    command = [sys.executable, str(HERE / "old_server.py"), "decades"]
    oracle = PersistentCommand(command, env={"PYTHONPATH": str(HERE.parents[1])})
    try:
        yield oracle
    finally:
        oracle.close()


@pytest.fixture(autouse=True)
def of_version_1_0(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_kit, "Handler", OldHandler)
    monkeypatch.setattr(grpc_kit, "Handler", OldHandler)


OPENED: dict[str, Callable[[], Any]] = {
    "http protobuf": lambda: http("protobuf"),
    "http json": lambda: http("json"),
    "grpc": grpc,
    "persistent": persistent,
}


def digests(oracle: Oracle, ask: Ask) -> list[str]:
    return [release.digest for release in oracle.answer(ask)]


@pytest.mark.parametrize("name", OPENED)
def test_an_old_server_is_sent_the_remaining_rows(name: str) -> None:
    with OPENED[name]() as oracle:
        for drop in ((3,), (3, 17, 5), (17, 5), tuple(range(12))):
            ask = Ask(DATA, drop)
            assert sorted(digests(oracle, ask)) == sorted(digests(Local(decades), ask))


@pytest.mark.parametrize("name", ["http protobuf", "http json", "grpc"])
def test_an_old_server_refuses_a_question_it_cannot_understand(name: str) -> None:
    """As it would be sent by a client that did not look at the version."""
    with OPENED[name]() as oracle:
        body = oracle.pack(DATA)
        digest = digest_of(body)
        assert oracle.put(digest, body) == digest
        assert len(list(oracle.ask(Question(digest, (3,))))) == 1
        with pytest.raises(Refused) as caught:
            list(oracle.ask(Question(digest, (3, 17))))
        assert caught.value.code == "INVALID"


@pytest.mark.parametrize("opened", [lambda: http("json", request_bytes=900), lambda: grpc(request_bytes=300)])
def test_remaining_rows_that_are_too_large_for_a_question_are_put(opened: Callable[[], Any]) -> None:
    with opened() as oracle:
        ask = Ask(DATA, (3, 17, 5))
        assert digests(oracle, ask) == digests(Local(decades), ask)
