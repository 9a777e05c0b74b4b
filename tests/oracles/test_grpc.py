"""gRPC, with real servers on loopback: the kit's own, and broken ones written by hand."""

import logging
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pandas as pd
import pytest

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError, OracleError, ReleaseError
from harness.vocabulary.oracle import Ask, Card, Oracle
from harness.vocabulary.release import Predictions
from harness.vocabulary.table import Cells, Table
from oracles.clients.grpc import GrpcOracle
from oracles.clients.local import Local
from oracles.serve.grpc import Server, Tls, serve
from oracles.serve.handler import Limits
from oracles.wire import messages
from oracles.wire._pb import oracle_pb2 as pb
from oracles.wire.messages import Description, Refused
from tests.clock import Clock
from tests.oracles.asking import digests, leave_after_one_release, tables
from tests.oracles.asking import failure as failure_of
from tests.oracles.filters import dataset, decades, noisy, travelled
from tests.oracles.gate import Gate
from tests.waiting import first_line, started

ROOT = Path(__file__).parents[2]


@contextmanager
def served(oracle: Oracle, **options: Any) -> Iterator[Server]:
    server = serve(oracle, **options)
    try:
        yield server
    finally:
        server.stop(0.2)


@contextmanager
def asking(oracle: Oracle, *, options: dict[str, Any] | None = None, **serving: Any) -> Iterator[GrpcOracle]:
    with served(oracle, **serving) as server:
        client = GrpcOracle(server.address, **(options or {}))
        try:
            yield client
        finally:
            client.close()


# ---- the same answers as at home


@pytest.mark.parametrize("function", [decades, noisy])
def test_an_oracle_far_away_answers_as_it_does_here(function: Callable[..., pd.DataFrame]) -> None:
    data = dataset()
    here = Local(function)
    with asking(Local(function)) as there:
        for ask in (Ask(data, seed=3), Ask(data, drop=(5,), draws=3, seed=3), Ask(data.without((5,)), draws=3, seed=3)):
            assert digests(there, ask) == digests(here, ask)
        assert (there.card.name, there.card.seedable) == (here.card.name, here.card.seedable)
        assert there.card.keeps_data
        assert not there.card.in_process


class Guessing:
    card = Card("guessing", releases="predictions", randomized=True, seedable=True)

    def answer(self, ask: Ask) -> Iterator[Predictions]:
        assert ask.about == (53, "male", 60.5)
        yield Predictions(ask.rng().dirichlet(np.ones(len(ask.data.sensitive_domain)), ask.draws))

    def close(self) -> None:
        pass


def test_predictions_come_back_bit_for_bit() -> None:
    data = dataset()
    ask = Ask(data, drop=(2,), about=(53, "male", 60.5), draws=30_000, seed=9)
    with asking(Guessing()) as there:
        (here,), (received,) = Guessing().answer(ask), there.answer(ask)
        assert isinstance(received, Predictions)
        assert received.rows.tobytes() == here.rows.tobytes()


def test_many_asks_by_index_send_the_data_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "oracles.serve")
    data = dataset()
    with asking(Local(decades)) as there, ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda index: digests(there, Ask(data, drop=(index % 24,))), range(200)))
        sent, received = there.traffic
        body = len(messages.pack_dataset(data).SerializeToString())
        assert body < sent < body + 200 * 100
        assert received > 200 * 100
    assert len({tuple(each) for each in found}) > 1
    assert sum("put ok" in line for line in caplog.messages) == 1
    assert sum("answer ok" in line for line in caplog.messages) == 200


def test_data_that_the_server_forgot_is_put_again() -> None:
    data, other = dataset(), dataset(25)
    room = len(messages.pack_dataset(other).SerializeToString()) + 2000  # for one of them
    with asking(Local(decades), limits=Limits(kept_bytes=room)) as there:
        for asked in (data, other, data, data):
            assert digests(there, Ask(asked, drop=(1,))) == digests(Local(decades), Ask(asked, drop=(1,)))


def test_data_too_large_for_one_message_is_put() -> None:
    data = dataset(3000)
    with asking(Local(decades), limits=Limits(request_bytes=2000)) as there:
        assert digests(there, Ask(data)) == digests(Local(decades), Ask(data))


class Wide:
    """A release of three megabytes."""

    card = Card("wide")
    ids = Cells(np.arange(300_000), np.arange(300_000, dtype=np.int32))

    def answer(self, ask: Ask) -> Iterator[Table]:
        table = ask.data.table.taking(self.ids.codes % 24)
        yield Table((*table.names, "id"), (*table.columns, self.ids))

    def close(self) -> None:
        pass


def test_a_large_release_arrives_whole() -> None:
    data = dataset()
    with asking(Wide()) as there:
        assert digests(there, Ask(data)) == digests(Wide(), Ask(data))


def test_an_oracle_can_be_sent_to_another_process() -> None:
    with asking(Local(decades)) as there:
        copy = travelled(there)
        assert digests(copy, Ask(dataset())) == digests(there, Ask(dataset()))
        copy.close()


# ---- who may ask


def test_a_token_is_asked_for_and_must_be_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RIGHT", "secret")
    monkeypatch.setenv("WRONG", "guess")
    with served(Local(decades), token="secret") as server:
        assert GrpcOracle(server.address, token_env="RIGHT").card.name
        for token in (None, "WRONG"):
            with pytest.raises(Refused, match="needs its token") as caught:
                GrpcOracle(server.address, token_env=token)
            assert not caught.value.retryable
        with pytest.raises(InputError, match="NOBODY holds no token"):
            GrpcOracle(server.address, token_env="NOBODY")
    with pytest.raises(InputError, match="use grpcs://"):
        GrpcOracle("grpc://192.0.2.1:1", token_env="RIGHT")


def test_only_loopback_is_served_without_a_token() -> None:
    with pytest.raises(InputError, match="needs a token"):
        serve(Local(decades), "0.0.0.0:0")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("certificates")
    for name in ("server", "client", "stranger"):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes",
             "-keyout", f"{name}.key", "-out", f"{name}.pem", "-days", "2",
             "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1"],
            cwd=folder, check=True, capture_output=True,
        )  # fmt: skip
    return folder


def tls(certificates: Path, *, clients: bool = False) -> Tls:
    pem = {name: (certificates / name).read_bytes() for name in ("server.pem", "server.key", "client.pem")}
    return Tls(pem["server.pem"], pem["server.key"], pem["client.pem"] if clients else None)


def test_a_certificate_is_checked(certificates: Path) -> None:
    with served(Local(decades), tls=tls(certificates)) as server:
        assert server.address.startswith("grpcs://")
        assert GrpcOracle(server.address, ca=str(certificates / "server.pem")).card.name
        for ca in (None, str(certificates / "stranger.pem")):
            with pytest.raises(OracleError, match=r"grpcs://.*its certificate or ours was refused") as caught:
                GrpcOracle(server.address, ca=ca)
            assert not caught.value.retryable
            assert str(caught.value).isprintable()


def test_a_server_without_tls_is_not_taken_for_one_that_is_busy() -> None:
    with served(Local(decades)) as server, pytest.raises(OracleError, match="it does not speak TLS") as caught:
        GrpcOracle(server.address.replace("grpc://", "grpcs://"))
    assert not caught.value.retryable


def test_both_sides_may_have_to_show_a_certificate(certificates: Path) -> None:
    def files(name: str) -> dict[str, Any]:
        return {"cert": str(certificates / f"{name}.pem"), "key": str(certificates / f"{name}.key")}

    with served(Local(decades), tls=tls(certificates, clients=True)) as server:
        ca = str(certificates / "server.pem")
        assert GrpcOracle(server.address, ca=ca, **files("client")).card.name
        for options in ({}, files("stranger")):
            with pytest.raises(OracleError):
                GrpcOracle(server.address, ca=ca, timeout=30, **options)


@pytest.mark.parametrize(
    ("address", "options", "match"),
    [
        ("grpc://localhost", {}, "grpc://host:port"),
        ("grpc://localhost:x", {}, "grpc://host:port"),
        ("grpc://localhost:1/path", {}, "grpc://host:port"),
        ("grpc://localhost:1", {"ca": "x"}, "for grpcs://"),
        ("grpcs://localhost:1", {"cert": "x"}, "belong together"),
        ("grpcs://localhost:1", {"ca": "no/such.pem"}, "no/such.pem: cannot be read"),
    ],
)
def test_an_address_or_option_that_cannot_be_meant_is_refused(
    address: str, options: dict[str, Any], match: str
) -> None:
    with pytest.raises(InputError, match=match):
        GrpcOracle(address, **options)


# ---- broken servers


Answering = Callable[[bytes, grpc.ServicerContext], Iterator[Any]]


@contextmanager
def broken(
    answer: Answering = lambda request, context: iter(()), description: Description | None = None, **options: Any
) -> Iterator[str]:
    """A server by hand: describes itself well, keeps all data under the digest "x", and answers with this function."""
    described = messages.pack_description(description or Description(Card("broken", keeps_data=True)))
    plain: dict[str, Any] = {
        "request_deserializer": None,
        "response_serializer": lambda message: message.SerializeToString(),
    }
    kept = pb.PutReply(digest="x")
    methods = {
        "Describe": grpc.unary_unary_rpc_method_handler(lambda request, context: described, **plain),
        "Put": grpc.stream_unary_rpc_method_handler(lambda requests, context: kept, **plain),
        "Answer": grpc.unary_stream_rpc_method_handler(answer, **plain),
    }
    server = grpc.server(ThreadPoolExecutor(4), **options)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("oracle.v1.Oracle", methods),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"grpc://127.0.0.1:{port}"
    finally:
        server.stop(0)


def failure(address: str, ask: Ask | None = None, *, deadline: float = 300.0) -> OracleError:
    """The error that an ask ends with; the deadline is only that of the answer, the card has its own."""
    client = GrpcOracle(address)
    client.timeout = deadline
    try:
        return failure_of(client, ask)
    finally:
        client.close()


def test_nobody_there_is_told_and_may_be_tried_again() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        with pytest.raises(OracleError, match="UNAVAILABLE") as caught:
            GrpcOracle(f"grpc://127.0.0.1:{free.getsockname()[1]}")
    assert caught.value.retryable


def test_a_server_that_hangs_is_left_at_the_deadline() -> None:
    over = threading.Event()

    def hang(request: bytes, context: grpc.ServicerContext) -> Iterator[pb.Part]:
        over.wait(300)
        yield pb.Part()

    with broken(hang) as address:
        error = failure(address, deadline=0.5)
        over.set()
    assert "did not answer within 0.5 s" in str(error)
    assert error.retryable


def test_a_server_that_trickles_is_left_at_the_deadline() -> None:
    over = threading.Event()

    def trickle(request: bytes, context: grpc.ServicerContext) -> Iterator[pb.Part]:
        for _ in range(600):
            over.wait(0.1)
            yield pb.Part(more=True, table=pb.Table())

    with broken(trickle) as address:
        error = failure(address, deadline=0.7)
        over.set()
    assert "did not answer within 0.7 s" in str(error)


def test_what_the_asker_does_between_releases_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr("oracles.clients.grpc.time", clock)
    with asking(Local(noisy), options={"timeout": 120.0}) as there:
        count = 0
        for _ in there.answer(Ask(dataset(), draws=5)):
            clock.now += 1000.0
            count += 1
    assert count == 5


def test_an_answer_that_breaks_off_may_be_asked_again() -> None:
    def half(request: bytes, context: grpc.ServicerContext) -> Iterator[pb.Part]:
        yield pb.Part(more=True, table=pb.Table())

    with broken(half) as address:
        error = failure(address)
    assert "broke off in the middle of draw 0" in str(error)
    assert error.retryable


@pytest.mark.parametrize(
    ("code", "retryable"), [("UNAVAILABLE", True), ("ABORTED", True), ("UNKNOWN", False), ("PERMISSION_DENIED", False)]
)
def test_a_status_without_a_problem_is_told_by_its_name(code: str, retryable: bool) -> None:
    def fail(request: bytes, context: grpc.ServicerContext) -> Iterator[pb.Part]:
        yield from ()
        context.abort(grpc.StatusCode[code], "so it is")

    with broken(fail) as address:
        error = failure(address)
    assert f"{code}: 'so it is'" in str(error)
    assert error.retryable is retryable


def test_bytes_that_are_no_message_are_told() -> None:
    def garbage(request: bytes, context: grpc.ServicerContext) -> Iterator[Any]:
        class Garbage:
            def SerializeToString(self) -> bytes:
                return b"\xff" * 30

        yield Garbage()

    with broken(garbage) as address:
        error = failure(address)
    assert isinstance(error, ReleaseError)
    assert not error.retryable
    assert f"{address} sent a message that cannot be read" in str(error)


def test_what_a_server_says_does_not_reach_the_terminal_raw() -> None:
    problem = pb.Problem(code=pb.Problem.CODE_BUSY, message="\x1b[2J\n" * 400, retry_after=float("nan"))

    def details(request: bytes, context: grpc.ServicerContext) -> Iterator[pb.Part]:
        yield from ()
        context.abort(grpc.StatusCode.UNKNOWN, "50%\x1b[2J")

    def trailer(request: bytes, context: grpc.ServicerContext) -> Iterator[pb.Part]:
        yield from ()
        context.set_trailing_metadata((("oracle-problem-bin", problem.SerializeToString()),))
        context.abort(grpc.StatusCode.UNAVAILABLE, "")

    for behave in (details, trailer):
        with broken(behave) as address:
            error = failure(address)
        assert "\\x1b[2J" in str(error)
        assert str(error).isprintable()
        assert len(str(error)) < 2500
        assert error.retry_after is None


def test_a_wrong_token_is_told_with_the_address_and_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VENDOR_TOKEN", "wrong")
    with served(Local(decades), token="right") as server:
        for token in (None, "VENDOR_TOKEN"):
            with pytest.raises(Refused, match=f"{server.address} refused: .*option token_env"):
                GrpcOracle(server.address, token_env=token)


def test_a_card_that_never_comes_is_not_waited_for_as_long_as_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "DESCRIBE_SECONDS", 0.3)
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        pytest.raises(OracleError, match=r"did not answer within 0\.3 s"),
    ):
        GrpcOracle(f"grpc://127.0.0.1:{listener.getsockname()[1]}")


def test_a_server_that_keeps_other_data_than_it_was_given_is_not_asked() -> None:
    with broken() as address:
        error = failure(address, Ask(dataset(), drop=(1,)))
    assert isinstance(error, ReleaseError)
    assert "keeps the data under 'x'" in str(error)


def test_a_server_of_another_major_version_is_refused() -> None:
    with (
        broken(description=Description(Card("future"), protocol=(2, 0))) as address,
        pytest.raises(Refused, match="speaks version 2"),
    ):
        GrpcOracle(address)


def test_a_server_that_is_none_of_ours_is_told_so() -> None:
    server = grpc.server(ThreadPoolExecutor(1))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with pytest.raises(Refused, match=r"does not speak oracle\.v1"):
        GrpcOracle(f"grpc://127.0.0.1:{port}")
    server.stop(0)


def test_a_server_that_keeps_nothing_gets_the_data_without_the_row() -> None:
    asked: list[Dataset] = []

    def keep(request: bytes, context: grpc.ServicerContext) -> Iterator[pb.Part]:
        question = messages.unpack_question(pb.AnswerRequest.FromString(request))
        assert isinstance(question.data, Dataset)
        assert question.drop == ()
        asked.append(question.data)
        yield from messages.parts([question.data.table])

    with broken(keep, description=Description(Card("simple"))) as address:
        client = GrpcOracle(address)
        (table,) = tables(client, Ask(dataset(), drop=(4,)))
        client.close()
    assert table.digest == dataset().table.without((4,)).digest
    assert asked[0].sensitive_domain == dataset().sensitive_domain


ENDLESS = """
import sys
from pathlib import Path
from harness.vocabulary.oracle import Ask
from harness.vocabulary.errors import OracleError
from oracles.clients.grpc import GrpcOracle
from tests.oracles.filters import dataset
try:
    list(GrpcOracle(sys.argv[1]).answer(Ask(dataset())))
except OracleError as error:
    # VmHWM and not ru_maxrss: the latter begins with the size of the process that started this one
    peak = Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]
    print(type(error).__name__, int(peak) // 1024, error)
"""


def two_gigabytes(request: bytes, context: grpc.ServicerContext) -> Iterator[pb.Part]:
    column = pb.Column(name="a", texts={}, codes=b"\xff" * 900_000)
    piece = pb.Part(more=True, table=pb.Table(rows=900_000, columns=[column]))
    for _ in range(2300):
        yield piece


def one_large_message(request: bytes, context: grpc.ServicerContext) -> Iterator[pb.Part]:
    yield pb.Part(table=pb.Table(rows=10**8, columns=[pb.Column(name="a", texts={}, codes=bytes(10**8))]))


@pytest.mark.parametrize(
    ("answer", "options", "said"),
    [
        (two_gigabytes, {}, "more than 134217728 bytes"),
        (one_large_message, {}, "larger than max"),
        (one_large_message, {"compression": grpc.Compression.Gzip}, "'gzip' is disabled"),
    ],
)
def test_a_reply_of_any_size_leaves_memory_alone(answer: Answering, options: dict[str, Any], said: str) -> None:
    with broken(answer, options=[("grpc.max_send_message_length", -1)], **options) as address:
        done = subprocess.run(
            [sys.executable, "-c", ENDLESS, address], cwd=ROOT, capture_output=True, text=True, timeout=300
        )
    kind, megabytes, error = done.stdout.split(maxsplit=2)
    assert kind in ("ReleaseError", "Refused", "OracleError")
    assert said in error
    assert int(megabytes) < 500


# ---- the end


def test_sigterm_lets_the_question_under_way_be_answered(tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    script = f"""
{gate.source}
import oracles.serve.grpc as kit
from oracles.clients.local import Local
from oracles.serve.binding import until_stopped
server = kit.serve(Local(held))
print(server.address, flush=True)
until_stopped(server, 120.0)
"""
    with started([sys.executable, "-c", script], cwd=ROOT) as process, ThreadPoolExecutor(1) as pool:
        client = GrpcOracle(first_line(process))
        answer = pool.submit(digests, client, Ask(dataset()))
        gate.wait_for_question()
        process.send_signal(signal.SIGTERM)
        gate.open()
        assert answer.result() == [dataset().digest]
        assert process.wait(120) == 0
        client.close()


def test_health_and_reflection_are_there_when_their_packages_are() -> None:
    health_pb2 = pytest.importorskip("grpc_health.v1.health_pb2")
    stubs = pytest.importorskip("grpc_health.v1.health_pb2_grpc")
    with served(Local(decades)) as server, grpc.insecure_channel(server.address.removeprefix("grpc://")) as channel:
        reply = stubs.HealthStub(channel).Check(health_pb2.HealthCheckRequest(service="oracle.v1.Oracle"), timeout=60)
        assert reply.status == health_pb2.HealthCheckResponse.SERVING


class Echo:
    card = Card("echo")

    def answer(self, ask: Ask) -> Iterator[Table]:
        yield ask.table

    def close(self) -> None:
        pass


def test_ten_thousand_rows_there_and_back_cost_less_than_twenty_milliseconds_of_computing() -> None:
    ask = Ask(dataset(10_000))
    with asking(Echo()) as there:
        times = []
        for _ in range(10):
            began = time.process_time()  # of both sides, and of nothing else that the machine does
            list(there.answer(ask))
            times.append(time.process_time() - began)
    assert min(times) < 0.02  # 1.3 ms where this was written


def test_an_asker_who_leaves_early_gives_the_turn_back() -> None:
    with asking(Local(noisy), limits=Limits(patience=60.0)) as there:
        for _ in range(3):
            leave_after_one_release(there, Ask(dataset(), draws=500))
        assert len(digests(there, Ask(dataset()))) == 1
