"""An answer says which question it answers (protocol 1.2): replies that were mixed up are noticed, older peers work."""

import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import requests
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from harness.vocabulary.errors import ReleaseError
from harness.vocabulary.oracle import Ask
from oracles.clients.grpc import GrpcOracle
from oracles.clients.http import HttpOracle
from oracles.clients.local import Local
from oracles.clients.persistent_command import PersistentCommand
from oracles.serve import grpc as grpc_kit
from oracles.serve import http as http_kit
from oracles.wire import answers, json_form, messages
from oracles.wire._pb import oracle_pb2 as pb
from tests.oracles.asking import digests
from tests.oracles.filters import dataset, decades, noisy
from tests.oracles.servers import Request, serving

DATA = dataset()
OTHER = "0" * 64


def test_an_answer_to_another_question_is_refused() -> None:
    part = next(answers.parts([DATA.table], OTHER))
    assert len(list(answers.assembled([part], 1, question=OTHER))) == 1
    with pytest.raises(ReleaseError, match="answer to another question"):
        list(answers.assembled([part], 1, question="1" * 64))
    body = json_form.loaded(b"".join(json_form.json_pieces([DATA.table], OTHER)))
    assert len(json_form.read_releases(body, 1, OTHER)) == 1
    for question in (OTHER, 7, None, ["x"]):
        with pytest.raises(ReleaseError, match="answer to another question"):
            json_form.read_releases({**body, "question": question}, 1, "1" * 64)


@pytest.mark.parametrize("encoding", ["protobuf", "json"])
def test_answers_that_a_proxy_swaps_between_two_workers_are_noticed(encoding: Any) -> None:
    server = http_kit.serve(Local(noisy))
    met = threading.Barrier(2)
    replies: dict[int, tuple[int, dict[str, str], bytes]] = {}

    def forwarded(request: Request) -> tuple[int, dict[str, str], bytes]:
        names = {name: text for name, text in request.headers.items() if name in ("content-type", "accept")}
        reply = requests.request(
            request.method, server.address + request.path, data=request.body, headers=names, timeout=60
        )
        found = reply.status_code, {"Content-Type": reply.headers["Content-Type"]}, reply.content
        if request.path != "/v1/answers":
            return found
        place = met.wait(60.0)
        replies[place] = found
        met.wait(60.0)
        return replies[1 - place]

    try:
        with serving(forwarded) as proxy:
            workers = [HttpOracle(proxy.address, encoding=encoding) for _ in range(2)]
            outcomes: list[Any] = []

            def work(number: int) -> None:
                try:
                    outcomes.append(list(workers[number].answer(Ask(DATA, seed=number))))
                except ReleaseError as error:
                    outcomes.append(str(error))

            threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert all("the answer to another question" in outcome for outcome in outcomes)
    finally:
        server.stop(1.0)


def silent(parts: Callable[..., Any]) -> Callable[..., Any]:
    """The pieces of an answer as a server of version 1.1 sends them."""
    return lambda releases, question="": parts(releases)


def test_a_server_of_version_1_1_which_names_no_question_is_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "parts", silent(answers.parts))
    monkeypatch.setattr(json_form, "json_pieces", lambda found, question: iter(
        [json_form.dumped(json_form.json_releases(found))]))  # fmt: skip
    described = messages.Description
    monkeypatch.setattr("oracles.serve.handler.Description", lambda *words: replace(described(*words), protocol=(1, 1)))
    expected = digests(Local(decades), Ask(DATA, drop=(3, 17)))
    over_http, over_grpc = http_kit.serve(Local(decades)), grpc_kit.serve(Local(decades))
    try:
        for oracle in (
            HttpOracle(over_http.address, encoding="json"),
            HttpOracle(over_http.address, encoding="protobuf"),
            GrpcOracle(over_grpc.address),
        ):
            assert oracle._sender.description.protocol == (1, 1)
            assert digests(oracle, Ask(DATA, drop=(3, 17))) == expected
            oracle.close()
    finally:
        over_http.stop(1.0)
        over_grpc.stop(1.0)


def of_version_1_1() -> Any:
    """The Part of version 1.1: the messages of today without what 1.2 added."""
    file = descriptor_pb2.FileDescriptorProto()
    pb.DESCRIPTOR.CopyToProto(file)
    part = next(message for message in file.message_type if message.name == "Part")
    kept = [field for field in part.field if field.name != "question"]
    assert len(kept) == len(part.field) - 1
    del part.field[:]
    part.field.extend(kept)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("oracle.v1.Part"))


def test_a_client_of_version_1_1_reads_what_is_sent_today() -> None:
    sent = next(answers.parts([DATA.table], OTHER)).SerializeToString()
    old = of_version_1_1().FromString(sent)
    assert old.table.SerializeToString() == pb.Part.FromString(sent).table.SerializeToString()
    body = json_form.loaded(b"".join(json_form.json_pieces([DATA.table], OTHER)))
    assert set(body) == {"question", "releases"}  # of which it knows the second, and must ignore the first
    (release,) = json_form.read_releases({"releases": body["releases"]}, 1)
    assert release.digest == DATA.table.digest


def test_every_transport_names_the_question(monkeypatch: pytest.MonkeyPatch) -> None:
    named: list[tuple[str, str]] = []
    monkeypatch.setattr(answers, "check_echo", lambda said, question: named.append((said, question)))
    monkeypatch.setattr(json_form, "check_echo", lambda said, question: named.append((said, question)))
    over_http, over_grpc = http_kit.serve(Local(decades)), grpc_kit.serve(Local(decades))
    here = Path(__file__).parent
    filters = [sys.executable, str(here / "filters.py"), "decades"]
    try:
        for oracle in (
            HttpOracle(over_http.address, encoding="json"),
            HttpOracle(over_http.address, encoding="protobuf"),
            GrpcOracle(over_grpc.address),
            PersistentCommand(filters, env={"PYTHONPATH": str(here.parents[1])}),
        ):
            digests(oracle, Ask(DATA, drop=(3,)))
            oracle.close()
    finally:
        over_http.stop(1.0)
        over_grpc.stop(1.0)
    assert len(named) == 4
    assert all(said == question and len(said) == 64 for said, question in named)
