"""gRPC servers that are broken or mean harm: one clear error each, in time and in little memory."""

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import OracleError, ReleaseError
from harness.vocabulary.oracle import Ask, Card
from oracles.clients import tls_faults
from oracles.clients.grpc import GrpcOracle
from oracles.wire import answers, messages, questions
from oracles.wire._pb import oracle_pb2 as pb
from oracles.wire.messages import Description, Refused
from tests.oracles.asking import failure as failure_of
from tests.oracles.asking import tables
from tests.oracles.broken_grpc import Answering, broken
from tests.oracles.filters import dataset

ROOT = Path(__file__).parents[2]


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


def test_a_card_that_never_comes_is_not_waited_for_as_long_as_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "DESCRIBE_SECONDS", 0.3)
    monkeypatch.setattr(tls_faults, "SECONDS", 0.3)
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
        question = questions.unpack_question(pb.AnswerRequest.FromString(request))
        assert isinstance(question.data, Dataset)
        assert question.drop == ()
        asked.append(question.data)
        yield from answers.parts([question.data.table])

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
