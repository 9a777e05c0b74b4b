"""Vendors who have nothing but "send a table, get a table": every way they want to be asked."""

import io
import json
from email import message_from_bytes
from email.message import Message
from typing import Any

import pandas as pd
import pytest

from harness.vocabulary.errors import InputError, OracleError, ReleaseError
from harness.vocabulary.oracle import Ask
from oracles.clients.table_api import TableApi
from tests.oracles.asking import tables
from tests.oracles.filters import dataset, decades, noisy, travelled
from tests.oracles.servers import Request, Server, serving

DATA = dataset()
CSV = {"Content-Type": "text/csv"}
JSON = {"Content-Type": "application/json"}


Reply = tuple[int, dict[str, str], bytes]


def csv_vendor(request: Request) -> Reply:
    """Decades, or noise where a seed arrives in the query."""
    frame = pd.read_csv(io.BytesIO(request.body))
    released = noisy(frame, int(request.query["seed"][0])) if "seed" in request.query else decades(frame)
    return 200, CSV, released.to_csv(index=False).encode()


def released(server: Server, plain: dict[str, Any], **options: Any) -> pd.DataFrame:
    oracle = TableApi(server.address, plain=plain, **options)
    (table,) = tables(oracle, Ask(DATA, seed=11))
    return table.to_frame()


def texts(frame: pd.DataFrame) -> dict[Any, list[Any]]:
    return frame.astype(str).to_dict("list")


EXPECTED = texts(decades(DATA.table.to_frame()))


def test_a_csv_is_posted_and_a_csv_comes_back() -> None:
    with serving(csv_vendor) as server:
        assert texts(released(server, {"path": "/anonymize"})) == EXPECTED
    (request,) = server.requests
    assert (request.method, request.path, request.headers["content-type"]) == ("POST", "/anonymize", "text/csv")


def test_connections_are_used_again() -> None:
    with serving(csv_vendor) as server:
        oracle = TableApi(server.address, plain={})
        assert len(list(oracle.answer(Ask(DATA, draws=5)))) == 5
        assert server.connections == 1
        sent, received = oracle.traffic
        assert sent == sum(len(request.body) for request in server.requests)
        assert received > 1000


@pytest.mark.parametrize("seed", ["query:seed", "header:X-Seed", "field:seed"])
def test_the_seed_goes_where_the_vendor_wants_it(seed: str) -> None:
    seen: list[str] = []

    def vendor(request: Request) -> Reply:
        form = fields_of(request) if "multipart" in request.headers["content-type"] else {}
        seen.append(request.query.get("seed", [None])[0] or request.headers.get("x-seed") or form["seed"])
        return 200, CSV, b"age,illness\n1,flu\n"

    with serving(vendor) as server:
        oracle = TableApi(server.address, plain={"seed": seed, "field": "table" if "field" in seed else None})
        list(oracle.answer(Ask(DATA, draws=3, seed=2**62)))
    assert seen == [str(2**62 + draw) for draw in range(3)]
    assert oracle.card.seedable
    assert oracle.card.randomized


def fields_of(request: Request) -> dict[str, str]:
    """The fields of a form, as they were posted."""
    head = b"Content-Type: " + request.headers["content-type"].encode() + b"\r\n\r\n"
    fields = {}
    for part in message_from_bytes(head + request.body).get_payload():
        assert isinstance(part, Message)
        body = part.get_payload(decode=True)
        assert isinstance(body, bytes)
        fields[str(part.get_param("name", header="content-disposition"))] = body.decode()
    return fields


def test_a_form_carries_the_table_as_a_file_beside_other_fields() -> None:
    def vendor(request: Request) -> Reply:
        form = fields_of(request)
        assert form["k"] == "5"
        return 200, CSV, decades(pd.read_csv(io.StringIO(form["upload"]))).to_csv(index=False).encode()

    with serving(vendor) as server:
        assert texts(released(server, {"field": "upload", "fields": {"k": 5}})) == EXPECTED


def test_names_are_translated_there_and_back() -> None:
    def vendor(request: Request) -> Reply:
        assert request.body.startswith(b"Alter,sex,weight kg,")
        frame = pd.read_csv(io.BytesIO(request.body)).rename(columns={"Alter": "age"})
        named = decades(frame).rename(columns={"age": "Alter"})
        return 200, CSV, named.to_csv(index=False, sep=";").encode("utf-8-sig")

    with serving(vendor) as server:
        assert texts(released(server, {"names": {"age": "Alter"}})) == EXPECTED


@pytest.mark.parametrize("wrapped", [False, True])
def test_json_records_are_posted_and_come_back(wrapped: bool) -> None:
    def vendor(request: Request) -> Reply:
        said = json.loads(request.body)
        assert not wrapped or said["k"] == "5"
        records = decades(pd.DataFrame(said["rows"] if wrapped else said)).to_dict("records")
        return 200, JSON, json.dumps({"result": {"rows": records}} if wrapped else records).encode()

    keys = {"request_key": "rows", "reply_key": "result.rows", "fields": {"k": "5"}} if wrapped else {}
    with serving(vendor) as server:
        assert texts(released(server, {"format": "json-records", **keys})) == EXPECTED


def test_a_job_is_asked_for_until_it_is_done() -> None:
    results: list[Reply] = []
    looks: list[Request] = []

    def vendor(request: Request) -> Reply:
        if request.method == "POST":
            results.append(csv_vendor(request))
            return 202, {"Location": "/jobs/1"}, b""
        looks.append(request)
        return results[0] if len(looks) == 3 else (202, {}, b"")

    with serving(vendor) as server:
        assert texts(released(server, {"interval": 0.02})) == EXPECTED
    assert [request.path for request in server.requests[1:]] == ["/jobs/1"] * 3


def test_a_job_may_end_in_a_redirect_to_its_result() -> None:
    def vendor(request: Request) -> Reply:
        if request.method == "POST":
            return 202, {"Location": "/jobs/1"}, b""
        return (303, {"Location": "/results/1"}, b"") if request.path == "/jobs/1" else (200, CSV, b"age\n1\n")

    with serving(vendor) as server:
        assert released(server, {"interval": 0.01})["age"].tolist() == ["1"]


def test_a_job_that_is_never_done_ends_at_its_deadline() -> None:
    with (
        serving(lambda request: (202, {"Location": "/jobs/1"}, b"")) as server,
        pytest.raises(OracleError, match="was not done after 0.2 s") as caught,
    ):
        released(server, {"interval": 0.05, "deadline": 0.2})
    assert caught.value.retryable


@pytest.mark.parametrize("location", [None, "http://other.example/jobs/1"])
def test_a_job_elsewhere_is_not_followed(location: str | None) -> None:
    headers = {"Location": location} if location else {}
    with serving(lambda request: (202, headers, b"")) as server, pytest.raises(OracleError, match="no Location on"):
        released(server, {})


@pytest.mark.parametrize(
    ("reply", "complaint"),
    [
        ((200, {"Content-Type": "text/html"}, b"<html>\x1b[2J<h1>"), r"content type 'text/html'.*begins '<html>\\x1b"),
        ((200, CSV, b""), "the reply is empty"),
        ((200, CSV, b"Alter,Geschlecht\n1,m\n"), "expected a header line with 'age'"),
        ((200, CSV, b'age,sex\n1,"m\n'), "not CSV"),
        ((404, {}, b"no such page"), "status 404: 'no such page'"),
        ((401, {}, b""), "status 401; give the token"),
    ],
)
def test_a_reply_that_is_no_release_is_explained(reply: Reply, complaint: str) -> None:
    with serving(lambda request: reply) as server, pytest.raises(OracleError, match=complaint) as caught:
        released(server, {})
    assert not caught.value.retryable


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        (b"{}", "not a JSON list of records"),
        (b"[1]", "not a JSON list of records"),
        (b"[]", "empty list"),
        (b'[{"age": 1}, {"sex": 2}]', "record 1 of the reply has not the fields"),
        (b'[{"age": "\\ud800"}]', "no text or number"),
        (b"[" * 100_000, "not JSON"),
        (b"nope", "not JSON"),
    ],
)
def test_json_that_is_no_release_is_explained(body: bytes, complaint: str) -> None:
    with serving(lambda request: (200, JSON, body)) as server, pytest.raises(ReleaseError, match=complaint):
        released(server, {"format": "json-records"})


@pytest.mark.parametrize(
    ("plain", "complaint"),
    [
        ({"pth": "/"}, "unknown key 'pth'; did you mean 'path'"),
        ({"format": "xml"}, "format 'xml' is not known"),
        ({"method": "GET"}, "method must be"),
        ({"seed": "cookie:seed"}, "seed must be"),
        ({"seed": "field:seed"}, "say where that goes with field"),
        ({"seed": "field:seed", "format": "json-records"}, "say where that goes with request_key"),
    ],
)
def test_a_mapping_that_makes_no_sense_is_refused_at_birth(plain: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        TableApi("http://127.0.0.1:1", plain=plain)


def test_a_plain_oracle_travels_by_recipe() -> None:
    with serving(csv_vendor) as server:
        oracle = travelled(TableApi(server.address, plain={"path": "/a"}, name="vendor", randomized=False))
        assert len(list(oracle.answer(Ask(DATA)))) == 1
        assert (oracle.card.name, oracle.card.randomized, oracle.card.keeps_data) == ("vendor", False, False)
