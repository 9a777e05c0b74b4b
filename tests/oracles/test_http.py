"""The client of the protocol over HTTP, against the kit's server and against servers that get it wrong."""

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import oracles
from harness.vocabulary.answers import checked_answers
from harness.vocabulary.errors import InputError, OracleError, ReleaseError
from harness.vocabulary.oracle import Ask, Card
from harness.vocabulary.release import Reader
from harness.vocabulary.table import Table
from oracles.clients.http import HttpOracle
from oracles.clients.local import Local
from oracles.middleware import Counting
from oracles.serve import http as kit
from oracles.serve.limits import Limits
from oracles.wire import answers, json_form, messages
from oracles.wire._pb import oracle_pb2 as pb
from oracles.wire.messages import Description
from tests.oracles.asking import digests, tables
from tests.oracles.filters import dataset, noisy, travelled
from tests.oracles.servers import Request, serving

DATA = dataset()
PROTOBUF, JSON = {"Content-Type": "application/x-protobuf"}, {"Content-Type": "application/json"}
FORMS = pytest.mark.parametrize("encoding", ["protobuf", "json"])


Reply = tuple[int, dict[str, str], bytes]
Encoding = Literal["protobuf", "json"]
Kind = Literal["microdata", "predictions"]


@pytest.fixture
def server() -> Iterator[kit.Server]:
    running = kit.serve(Local(noisy))
    yield running
    running.stop(1.0)


@FORMS
def test_one_upload_serves_a_thousand_questions_by_index(server: kit.Server, encoding: Encoding) -> None:
    oracle = HttpOracle(server.address, encoding=encoding)
    list(oracle.answer(Ask(DATA, drop=(0,))))
    size = len(oracle.pack(DATA))
    before = oracle.traffic[0]
    for row in range(200):
        list(oracle.answer(Ask(DATA, drop=(row % DATA.size,), seed=row)))
    assert before >= size
    assert (oracle.traffic[0] - before) / 200 < min(200, size / 2)


@FORMS
def test_data_that_the_server_forgot_is_put_again(encoding: Encoding) -> None:
    running = kit.serve(Local(noisy), limits=Limits(kept_seconds=-1.0))
    try:
        with pytest.raises(OracleError, match="nothing is kept under this digest"):
            list(HttpOracle(running.address, encoding=encoding).answer(Ask(DATA, drop=(0,))))
    finally:
        running.stop(1.0)
    first, second = kit.serve(Local(noisy)), kit.serve(Local(noisy))
    oracle = HttpOracle(first.address, encoding=encoding)
    list(oracle.answer(Ask(DATA, drop=(0,))))
    first.handler._cache._kept.clear()
    assert digests(oracle, Ask(DATA, drop=(1,))) == digests(Local(noisy), Ask(DATA, drop=(1,)))
    first.stop(1.0)
    second.stop(1.0)


def test_a_server_that_speaks_only_json_is_spoken_to_in_json() -> None:
    card = json_form.json_description(Description(Card("plain json")))
    with serving(lambda request: (200, JSON, json.dumps(card).encode())) as server:
        assert HttpOracle(server.address).encoding == "json"
        with pytest.raises(ReleaseError, match="expected application/x-protobuf"):
            HttpOracle(server.address, encoding="protobuf")


def test_protobuf_is_preferred_where_both_are_spoken(server: kit.Server) -> None:
    assert HttpOracle(server.address).encoding == "protobuf"
    assert HttpOracle(server.address, encoding="json").encoding == "json"


@FORMS
def test_a_long_question_arrives_whole(server: kit.Server, encoding: Encoding) -> None:
    ask = Ask(DATA, draws=300, seed=2**63 - 100)
    assert digests(HttpOracle(server.address, encoding=encoding), ask) == digests(Local(noisy), ask)


def test_a_release_larger_than_allowed_is_refused(server: kit.Server) -> None:
    for encoding in ("protobuf", "json"):
        with pytest.raises(ReleaseError, match=r"bytes"):
            list(HttpOracle(server.address, encoding=encoding, max_reply_bytes=100).answer(Ask(DATA)))


def test_an_oracle_travels_by_recipe(server: kit.Server) -> None:
    oracle = travelled(HttpOracle(server.address, encoding="json", timeout=70.0))
    assert isinstance(oracle, HttpOracle)
    assert (oracle.encoding, oracle.card.name) == ("json", Local(noisy).card.name)


def test_asking_after_another_major_version_is_refused() -> None:
    said = messages.pack_description(Description(Card("new"), protocol=(2, 0)))
    with (
        serving(lambda request: (200, PROTOBUF, said.SerializeToString())) as server,
        pytest.raises(OracleError, match="version 2 of the oracle protocol, this side version 1"),
    ):
        HttpOracle(server.address)


@pytest.mark.parametrize(
    ("reply", "complaint"),
    [
        ((200, {"Content-Type": "text/html"}, b"<html>welcome"), "content type 'text/html'.*begins '<html>welcome'"),
        ((200, {}, b"?"), "replied with no content type"),
        ((404, {"Content-Type": "text/plain"}, b"not here"), "status 404: 'not here'"),
        ((200, JSON, b"[]"), "must be an object"),
        ((200, JSON, b'{"card": {"name": ""}}'), "card must say a name"),
        ((200, PROTOBUF, b"\xff\xff"), "no DescribeReply message"),
        ((200, PROTOBUF, pb.DescribeReply(request_bytes=1).SerializeToString()), "neither its name nor what it"),
        (
            (401, JSON, b'{"code": "UNAUTHENTICATED", "message": "token please"}'),
            "refused: 'token please'; give the token",
        ),
    ],
)
def test_a_card_that_cannot_be_read_is_explained(reply: Reply, complaint: str) -> None:
    with serving(lambda request: reply) as server, pytest.raises(OracleError, match=complaint) as caught:
        HttpOracle(server.address)
    assert not caught.value.retryable


# ---- servers that describe themselves well and answer badly


def table_frames(*parts: pb.Part, done: int = 1) -> bytes:
    frames = [messages.frame(pb.Reply(part=part)) for part in parts]
    return b"".join([*frames, messages.frame(pb.Reply(done=pb.Done(releases=done)))])


def part_of(table: Table, **changes: Any) -> pb.Part:
    (part,) = answers.parts([table])
    for column in part.table.columns:
        for name, value in changes.items():
            setattr(column, name, value)
    return part


def predictions(rows: Sequence[Sequence[float]], values: int = 4) -> pb.Part:
    packed = np.asarray(rows, dtype="<f8").tobytes()
    return pb.Part(predictions=pb.Predictions(values=values, rows=packed))


GOOD = part_of(DATA.table)
PROTOBUF_ANSWERS = [
    ("microdata", table_frames(GOOD)[:-30], "broke off|stream ended", True),
    ("microdata", table_frames(GOOD)[:40], "stream ended after", True),
    ("microdata", messages.frame(pb.Reply(part=GOOD)), "broke off before it was done", True),
    ("microdata", b"\x00\x00\x00\x05\xff\xff\xff\xff\xff", "no Reply message", False),
    ("microdata", b"\x7f\xff\xff\xff", "announces 2147483647 bytes", False),
    ("microdata", b"age,sex\n1,2\n", "a frame announces", False),
    ("microdata", table_frames(part_of(DATA.table, codes=b"\x7f" * 24)), "code|palette", False),
    ("microdata", table_frames(part_of(DATA.table, codes=b"\x00" * 23)), "codes|rows", False),
    ("microdata", table_frames(part_of(DATA.table, name="x")), "more than once", False),
    ("microdata", table_frames(GOOD, done=7), "says that it sent 7 releases", False),
    ("microdata", table_frames(GOOD, GOOD, done=2), "more than the 1 releases", False),
    ("microdata", messages.frame(pb.Reply(kept=pb.PutReply())), "replied kept where part or done", False),
    ("microdata", table_frames(predictions([[1, 0, 0, 0]])), "but it sent predictions", False),
    ("microdata", table_frames(done=0), "sent 0 releases; expected 1", False),
    (
        "microdata",
        messages.frame(pb.Reply(problem=pb.Problem(code=pb.Problem.CODE_FAILED, message="too few rows"))),
        "too few rows",
        False,
    ),
    (
        "microdata",
        messages.frame(pb.Reply(problem=pb.Problem(code=pb.Problem.CODE_UNAVAILABLE, message="stopping"))),
        "stopping",
        True,
    ),
    ("predictions", table_frames(predictions([[np.nan, 0, 0, 1]])), "not probabilities", False),
    ("predictions", table_frames(predictions([[0.5, 0.4, 0, 0]])), "their sum is 0.9", False),
    ("predictions", table_frames(predictions([[1, 0, 0, 0]] * 2)), r"shape \(2, 4\); expected \(1, 4\)", False),
    ("predictions", table_frames(predictions([[1, 0, 0]], values=3)), r"shape \(1, 3\); expected \(1, 4\)", False),
]
JSON_TABLE = json_form.json_table(DATA.table)


def json_table(**changes: Any) -> bytes:
    columns = [{**column, **changes} for column in JSON_TABLE["columns"]]
    return json.dumps({"releases": [{"table": {**JSON_TABLE, "columns": columns}}]}).encode()


JSON_ANSWERS = [
    ("microdata", json_table()[:-9], "not JSON", False),
    ("microdata", b"{}", "releases must be a list", False),
    ("microdata", json_table(codes=[99] * 24), "code|palette", False),
    ("microdata", json_table(codes=[0]), "has 1 codes; the table has 24 rows", False),
    ("microdata", json_table(codes=[2**40] * 24), "whole numbers", False),
    ("microdata", json_table(name="x"), "more than once", False),
    ("microdata", b'{"releases": []}', "sent 0 releases; expected 1", False),
    ("predictions", b'{"releases": [{"predictions": [[NaN, 0, 0, 1]]}]}', "not a JSON number|not JSON", False),
    ("predictions", b'{"releases": [{"predictions": [[0.5, 0.4, 0, 0]]}]}', "their sum is 0.9", False),
    ("predictions", b'{"releases": [{"predictions": [[1], [1, 0]]}]}', "different lengths", False),
]


def answering(kind: Kind, headers: dict[str, str], body: bytes) -> Callable[[Request], Reply]:
    description = Description(Card("the vendor", releases=kind))

    def reply(request: Request) -> Reply:
        if request.path != "/v1/card":
            return 200, headers, body
        if headers is JSON:
            return 200, JSON, json_form.dumped(json_form.json_description(description))
        return 200, PROTOBUF, messages.pack_description(description).SerializeToString()

    return reply


@pytest.mark.parametrize(
    ("headers", "kind", "body", "complaint", "retryable"),
    [(PROTOBUF, *case) for case in PROTOBUF_ANSWERS] + [(JSON, *case) for case in JSON_ANSWERS],
)
def test_an_answer_that_makes_no_sense_is_one_clear_error(
    headers: dict[str, str], kind: Kind, body: bytes, complaint: str, retryable: bool
) -> None:
    about = DATA.record(0).quasi if kind == "predictions" else None
    with serving(answering(kind, headers, body)) as server, pytest.raises(OracleError, match=complaint) as caught:
        list(checked_answers(HttpOracle(server.address), Ask(DATA, about=about)))
    assert caught.value.retryable is retryable


def test_a_release_with_unknown_columns_is_told_by_the_reader() -> None:
    frame = DATA.table.to_frame().rename(columns={"age": "alter"})
    (part,) = answers.parts([Table.from_frame(frame)])
    with serving(answering("microdata", PROTOBUF, table_frames(part))) as server:
        (table,) = tables(HttpOracle(server.address), Ask(DATA))
    with pytest.raises(ReleaseError, match="no column 'age'"):
        Reader(DATA).read(table)


def test_a_server_that_keeps_data_under_another_digest_is_not_believed() -> None:
    said = Description(Card("the vendor", keeps_data=True))

    def reply(request: Request) -> Reply:
        if request.method == "PUT":
            return 200, PROTOBUF, pb.PutReply(digest="0" * 64).SerializeToString()
        return 200, PROTOBUF, messages.pack_description(said).SerializeToString()

    with serving(reply) as server, pytest.raises(ReleaseError, match="keeps the data under '0000"):
        list(HttpOracle(server.address).answer(Ask(DATA, drop=(0,))))


@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [
        (400, "INVALID", False),
        (429, "BUSY", True),
        (503, "UNAVAILABLE", True),
        (500, "FAILED", False),
        (500, "A NEWER ONE", False),
    ],
)
def test_a_problem_decides_over_its_status_what_may_be_repeated(status: int, code: str, retryable: bool) -> None:
    good = answering("microdata", JSON, b"")

    def reply(request: Request) -> Reply:
        if request.path == "/v1/card":
            return good(request)
        return status, {**JSON, "Retry-After": "2"}, json.dumps({"code": code, "message": "sorry"}).encode()

    with serving(reply) as server, pytest.raises(OracleError, match="(refused|failed): 'sorry'") as caught:
        list(HttpOracle(server.address).answer(Ask(DATA)))
    assert (caught.value.retryable, caught.value.retry_after) == (retryable, 2.0)


def test_a_question_too_large_goes_as_data_that_is_put(server: kit.Server) -> None:
    small = kit.serve(Local(noisy), limits=Limits(request_bytes=500))
    oracle = HttpOracle(small.address)
    assert digests(oracle, Ask(DATA, seed=3)) == digests(Local(noisy), Ask(DATA, seed=3))
    small.stop(1.0)


# ---- the one way in


def test_an_address_opens_with_what_stands_around_it(server: kit.Server, tmp_path: Path) -> None:
    file = str(tmp_path / "r")
    oracle = oracles.open(server.address, attempts=2, per_second=1000, concurrency=2, record=file, encoding="json")
    expected = digests(oracle, Ask(DATA, seed=1))
    assert isinstance(oracle, Counting)
    assert oracle.counts.asks == 1
    assert (oracle.counts.received or 0) > 500
    server.stop(1.0)
    again = oracles.open(server.address, replay=file)
    assert digests(again, Ask(DATA, seed=1)) == expected


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"tokenenv": "X"}, "unknown option 'tokenenv'; did you mean 'token_env'"),
        ({"encoding": "xml"}, "encoding 'xml' is not known"),
        ({"token_env": "NO_SUCH_VARIABLE"}, "NO_SUCH_VARIABLE holds no token"),
        ({"attempts": 0}, "attempts must be"),
        ({"ca": "no/such/file"}, "option ca: there is no file"),
        ({"key": "x"}, "key belongs to a certificate"),
    ],
)
def test_options_that_do_not_fit_are_refused_at_birth(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        oracles.open("http://127.0.0.1:1", **options)


@pytest.mark.parametrize("address", ["http://", "http://u:p@host", "http://host?x=1", "http://[", "http://host:99999"])
def test_addresses_that_cannot_be_are_refused(address: str) -> None:
    with pytest.raises(InputError):
        oracles.open(address)


def test_a_token_does_not_travel_readable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN_HERE", "x")
    with pytest.raises(InputError, match="readable for everybody"):
        oracles.open("http://vendor.example", token_env="TOKEN_HERE")


def test_a_server_that_is_only_starting_is_waited_for() -> None:
    calls: list[Request] = []

    def reply(request: Request) -> Reply:
        calls.append(request)
        if len(calls) < 3:
            return 503, {}, b"starting"
        return answering("microdata", JSON, b"")(request)

    with serving(reply) as server:
        assert oracles.open(server.address).card.name == "the vendor"
    assert len(calls) == 3


def test_many_threads_wait_for_one_upload(server: kit.Server, monkeypatch: pytest.MonkeyPatch) -> None:
    puts: list[str] = []
    oracle = HttpOracle(server.address)
    original = oracle.put

    def counted(digest: str, body: bytes) -> str:
        puts.append(digest)
        return original(digest, body)

    monkeypatch.setattr(oracle, "put", counted)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda row: digests(oracle, Ask(DATA, drop=(row,))), range(8)))
    assert len(puts) == 1


def test_a_strangers_scheme_comes_through_an_entry_point_with_the_options_of_all(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Entry:
        name = "carrier-pigeon"

        def load(self) -> Callable[[str, dict[str, Any]], Local]:
            return lambda rest, options: Local(noisy, {"seed": len(rest) + options["loft"]})

    monkeypatch.setattr(oracles, "entry_points", lambda group: [Entry()] if group == "harness.oracles" else [])
    oracle = oracles.open("carrier-pigeon:roof", loft=2, attempts=2, record=str(tmp_path / "answers"))
    given = digests(oracle, Ask(DATA))
    assert oracle.counts.asks == 1  # type: ignore[attr-defined]
    replayed = oracles.open("carrier-pigeon:roof", replay=str(tmp_path / "answers"))
    assert digests(replayed, Ask(DATA)) == given
    beside = oracles.options_beside(tmp_path, "carrier-pigeon:roof", {"loft": 2, "record": "answers"})
    assert beside == {"loft": 2, "record": str(tmp_path / "answers")}
    with pytest.raises(InputError, match="did you mean 'carrier-pigeon'"):
        oracles.open("carrier-pidgeon:roof")


def test_each_transport_says_which_of_its_options_are_files(tmp_path: Path) -> None:
    options = {"ca": "ca.pem", "record": "answers", "headers": {"a": "b"}, "cwd": "here"}
    files = {"ca": str(tmp_path / "ca.pem"), "record": str(tmp_path / "answers")}
    assert oracles.options_beside(tmp_path, "https://vendor.example", options) == {**options, **files}
    assert oracles.options_beside(tmp_path, "python:a:b", options) == {**options, "record": files["record"]}
    assert oracles.options_beside(tmp_path, "reference:mondrian", options) == options
    assert oracles.options_beside(tmp_path, "cmd:program", {}) == {"cwd": str(tmp_path.resolve())}
    assert oracles.options_beside(tmp_path, "cmd:program", options)["ca"] == "ca.pem"
