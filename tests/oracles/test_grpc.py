"""gRPC, with real servers on loopback: the kit's own, and broken ones written by hand."""

import logging
import shutil
import signal
import subprocess
import sys
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

from harness.vocabulary.errors import InputError, OracleError
from harness.vocabulary.oracle import Ask, Card, Oracle
from harness.vocabulary.release import Predictions
from harness.vocabulary.table import Cells, Table
from oracles.clients.grpc import GrpcOracle
from oracles.clients.local import Local
from oracles.serve.grpc import Server, Tls, serve
from oracles.serve.limits import Limits
from oracles.serve.room import size_in_memory
from oracles.wire import messages
from oracles.wire.messages import Refused
from tests.clock import Clock
from tests.oracles.asking import digests, leave_after_one_release
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
    room = 3 * size_in_memory(other) // 2  # for one of them
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
    with asking(Wide(), options={"max_rows": 10**7}) as there:
        assert digests(there, Ask(data)) == digests(Wide(), Ask(data))


def test_an_oracle_can_be_sent_to_another_process() -> None:
    with asking(Local(decades)) as there:
        copy = travelled(there)
        assert digests(copy, Ask(dataset())) == digests(there, Ask(dataset()))
        copy.close()


def test_what_the_asker_does_between_releases_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr("oracles.clients.grpc.time", clock)
    with asking(Local(noisy), options={"timeout": 120.0}) as there:
        count = 0
        for _ in there.answer(Ask(dataset(), draws=5)):
            clock.now += 1000.0
            count += 1
    assert count == 5


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


def test_a_wrong_token_is_told_with_the_address_and_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VENDOR_TOKEN", "wrong")
    with served(Local(decades), token="right") as server:
        for token in (None, "VENDOR_TOKEN"):
            with pytest.raises(Refused, match=f"{server.address} refused: .*option token_env"):
                GrpcOracle(server.address, token_env=token)


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
            with pytest.raises(OracleError, match=r"grpcs://.*of an unknown authority") as caught:
                GrpcOracle(server.address, ca=ca)
            assert not caught.value.retryable
            assert str(caught.value).isprintable()


def test_a_server_without_tls_is_not_taken_for_one_that_is_busy() -> None:
    with served(Local(decades)) as server, pytest.raises(OracleError, match="the server does not speak TLS") as caught:
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
        ("grpcs://localhost:1", {"ca": "no/such.pem"}, "there is no file 'no/such.pem'"),
    ],
)
def test_an_address_or_option_that_cannot_be_meant_is_refused(
    address: str, options: dict[str, Any], match: str
) -> None:
    with pytest.raises(InputError, match=match):
        GrpcOracle(address, **options)


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
