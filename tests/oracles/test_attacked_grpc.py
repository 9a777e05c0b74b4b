"""The kit behind gRPC under attack: idle streams, callers without the token, messages that are none."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import grpc
import pandas as pd
import pytest

from harness.vocabulary.errors import OracleError
from harness.vocabulary.oracle import Ask
from oracles.clients.grpc import GrpcOracle
from oracles.clients.local import Local
from oracles.serve import grpc as kit
from oracles.serve.limits import Limits
from oracles.wire import messages
from oracles.wire._pb import oracle_pb2 as pb
from oracles.wire.messages import Refused
from tests.oracles.asking import digests
from tests.oracles.filters import dataset, decades, noisy
from tests.waiting import PATIENCE, wait_until

SERVICE = "/oracle.v1.Oracle/"
REFLECTION = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
HEALTH = "/grpc.health.v1.Health/Check"
METHODS = (SERVICE + "Put", SERVICE + "Describe", SERVICE + "Answer", REFLECTION, HEALTH)
DATA = dataset()


@contextmanager
def served(function: Any = decades, **options: Any) -> Iterator[kit.Server]:
    server = kit.serve(Local(function), **options)
    try:
        yield server
    finally:
        server.stop(0.2)


def channel_to(server: kit.Server) -> Any:
    """A channel that sends and gives bytes."""
    return grpc.insecure_channel(server.address.removeprefix("grpc://"), [("grpc.use_local_subchannel_pool", 1)])


@contextmanager
def idle_streams(server: kit.Server, method: str, count: int, token: str | None = None) -> Iterator[list[Any]]:
    """So many streams of a method that are opened and say nothing."""
    end = threading.Event()

    def nothing() -> Iterator[bytes]:
        end.wait(PATIENCE)
        yield from ()

    metadata = () if token is None else (("authorization", f"Bearer {token}"),)
    with channel_to(server) as channel:
        call = channel.stream_stream(method)
        streams = [call(nothing(), metadata=metadata) for _ in range(count)]
        try:
            yield streams
        finally:
            for stream in streams:
                stream.cancel()
            end.set()


@pytest.mark.parametrize("method", METHODS)
def test_idle_streams_do_not_block_a_server(method: str) -> None:
    with served() as server, idle_streams(server, method, 60):
        client = GrpcOracle(server.address)
        assert digests(client, Ask(DATA, drop=(1,))) == digests(Local(decades), Ask(DATA, drop=(1,)))
        client.close()


@pytest.mark.parametrize("token", [None, "sesame"])
def test_idle_streams_do_not_keep_out_those_who_have_the_token(
    token: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "sesame")
    with (
        served(token="sesame") as server,
        idle_streams(server, SERVICE + "Put", 100, token),
        idle_streams(server, REFLECTION, 100, token),
    ):
        client = GrpcOracle(server.address, token_env="TOKEN")
        assert len(digests(client, Ask(DATA, drop=(1,)))) == 1
        client.close()


@pytest.mark.parametrize("method", [*METHODS[:4], "/grpc.health.v1.Health/Watch"])
def test_a_caller_without_the_token_is_refused_before_anything_is_read(method: str) -> None:
    with served(token="sesame") as server, idle_streams(server, method, 1) as (stream,):
        with pytest.raises(grpc.RpcError) as caught:
            next(stream)
        assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED


@pytest.mark.parametrize("method", METHODS)
def test_a_stream_that_says_nothing_is_ended(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kit, "MESSAGE_SECONDS", 0.1)
    with served() as server, idle_streams(server, method, 1) as (stream,):
        with pytest.raises(grpc.RpcError) as caught:
            next(stream)
        assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED


@pytest.mark.parametrize("method", METHODS[:3])
@pytest.mark.parametrize("message", [b"\xff", b"\x0a\xff\xff\xff\xff\x0f", b"nonsense"])
def test_a_message_that_is_none_is_an_invalid_argument(method: str, message: bytes) -> None:
    with served() as server, channel_to(server) as channel:
        with pytest.raises(grpc.RpcError) as caught:
            list(channel.stream_stream(method)(iter([message]), timeout=PATIENCE))
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_data_that_is_announced_too_large_is_refused_before_it_is_sent() -> None:
    with served(limits=Limits(dataset_bytes=1000)) as server, channel_to(server) as channel:
        first = pb.PutRequest(digest="0" * 64, size=1001).SerializeToString()
        with pytest.raises(grpc.RpcError) as caught:
            list(channel.stream_stream(SERVICE + "Put")(iter([first]), timeout=PATIENCE))
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


def test_a_message_larger_than_any_is_not_taken() -> None:
    with served() as server, channel_to(server) as channel:
        huge = pb.AnswerRequest(digest="0" * (messages.MESSAGE_BYTES + 2**17)).SerializeToString()
        with pytest.raises(grpc.RpcError) as caught:
            list(channel.stream_stream(SERVICE + "Answer")(iter([huge]), timeout=PATIENCE))
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


def test_reflection_and_health_are_there_for_those_who_speak() -> None:
    health = pytest.importorskip("grpc_health.v1.health_pb2")
    reflection = pytest.importorskip("grpc_reflection.v1alpha.reflection_pb2")
    with served() as server, channel_to(server) as channel:
        question = reflection.ServerReflectionRequest(list_services="").SerializeToString()
        (reply,) = channel.stream_stream(REFLECTION)(iter([question]), timeout=PATIENCE)
        assert b"oracle.v1.Oracle" in reply
        watch = channel.unary_stream("/grpc.health.v1.Health/Watch")(b"", timeout=PATIENCE)
        for checked in (next(watch), channel.unary_unary(HEALTH)(b"", timeout=PATIENCE)):
            assert health.HealthCheckResponse.FromString(checked).status == health.HealthCheckResponse.SERVING
        watch.cancel()


def test_the_turn_of_an_asker_who_has_gone_is_free() -> None:
    begun, calls = threading.Event(), []

    def slowly(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
        calls.append(seed)
        begun.set()
        return frame

    with served(slowly, limits=Limits(patience=PATIENCE)) as server:
        client = GrpcOracle(server.address)
        answer = iter(client.answer(Ask(DATA, draws=1_000_000)))
        next(answer)
        assert begun.is_set()
        client.close()
        other = GrpcOracle(server.address)
        assert len(digests(other, Ask(DATA))) == 1
        assert len(calls) < 100_000
        other.close()


def test_a_question_may_not_take_for_ever() -> None:
    held = threading.Event()

    def never(frame: pd.DataFrame) -> pd.DataFrame:
        held.wait(PATIENCE)
        return frame

    with served(never, limits=Limits(question_seconds=0.2)) as server:
        client = GrpcOracle(server.address)
        with pytest.raises(Refused, match="took more than 0.2 s"):
            digests(client, Ask(DATA))
        held.set()
        client.close()


def test_too_many_questions_at_once_are_told_to_come_back() -> None:
    begun, held = threading.Event(), threading.Event()

    def holding(frame: pd.DataFrame) -> pd.DataFrame:
        begun.set()
        held.wait(PATIENCE)
        return frame

    with served(holding, limits=Limits(patience=0.05)) as server, ThreadPoolExecutor(1) as pool:
        client = GrpcOracle(server.address)
        first = pool.submit(digests, client, Ask(DATA))
        wait_until(begun.is_set)
        with pytest.raises(OracleError, match="too many questions") as caught:
            digests(client, Ask(DATA))
        assert caught.value.retry_after
        held.set()
        assert len(first.result()) == 1
        client.close()


def test_answers_under_way_go_on_beside_idle_streams() -> None:
    with served(noisy, limits=Limits(concurrency=4)) as server, idle_streams(server, SERVICE + "Put", 50):
        client = GrpcOracle(server.address)
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda seed: digests(client, Ask(DATA, seed=seed)), range(40)))
        assert found == [digests(Local(noisy), Ask(DATA, seed=seed)) for seed in range(40)]
        client.close()
