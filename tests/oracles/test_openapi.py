"""The OpenAPI document says what the HTTP server does, and nothing else."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from oracles.serve.http import STATUS
from oracles.serve.openapi import CODES, document
from oracles.wire import json_form
from oracles.wire.questions import Question
from tests.oracles.filters import noisy
from tests.oracles.http_kit import BODY, DATA, DIGEST, ask, question, running


def test_every_operation_of_the_document_is_there_and_nothing_else() -> None:
    with running() as server:
        served = json.loads(ask(server, "GET", "/v1/openapi.json")[2])
        assert served == json.loads(json.dumps(document()))
        for path, item in served["paths"].items():
            for method in ("get", "put", "post", "delete", "patch"):
                status, _, body = ask(server, method.upper(), path.replace("{digest}", DIGEST), b"")
                done_here = status not in (404, 405, 501) or json.loads(body)["code"] != "UNSUPPORTED"
                assert done_here is (method in item), (method, path)


def test_every_status_of_the_protocol_is_documented() -> None:
    assert {*STATUS.values(), 405, 408, 409, 415} == set(CODES)
    assert {text.partition(":")[0] for text in CODES.values()} == set(STATUS)


def test_the_references_of_the_document_lead_somewhere() -> None:
    said = document()
    references: set[str] = set()

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            references.update([value["$ref"]] if "$ref" in value else [])
            value = list(value.values())
        if isinstance(value, list):
            for item in value:
                walk(item)

    walk(said)
    assert references == {f"#/components/schemas/{name}" for name in said["components"]["schemas"]}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Dataset", lambda: json.loads(BODY)),
        ("Question", lambda: json_form.json_question(Question(DATA, drop=(1,), about=(1, "x", 2.5), seed=7))),
        ("Question", lambda: json.loads(question(draws=3))),
        ("Question", lambda: json_form.json_question(Question("0" * 64, drop=(1, 2)))),
        ("Releases", lambda: json_form.json_releases([replace(DATA.table, notes=("a note",))])),
        ("Problem", lambda: {"code": "BUSY", "message": "later", "retry_after": 1.0}),
    ],
)
def test_what_is_sent_has_the_documented_keys(name: str, value: Callable[[], object]) -> None:
    fits(value(), {"$ref": f"#/components/schemas/{name}"}, document()["components"]["schemas"])


def test_the_card_has_the_documented_keys() -> None:
    with running(noisy) as server:
        said = json.loads(ask(server, "GET", "/v1/card")[2])
    fits(said, {"$ref": "#/components/schemas/Description"}, document()["components"]["schemas"])


KINDS: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}


def fits(value: object, schema: Any, schemas: Any) -> None:
    """The part of JSON Schema that the document uses, checked strictly: no key that is not documented."""
    if "$ref" in schema:
        fits(value, schemas[schema["$ref"].rpartition("/")[2]], schemas)
        return
    if "enum" in schema:
        assert value in schema["enum"]
    if "anyOf" in schema:
        return
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    assert not kinds or (value is None and "null" in kinds) or any(isinstance(value, KINDS.get(k, ())) for k in kinds)
    if isinstance(value, dict):
        assert set(schema.get("required", [])) <= set(value) <= set(schema["properties"])
        for key, inner in value.items():
            fits(inner, schema["properties"][key], schemas)
    if isinstance(value, list):
        for inner in value:
            fits(inner, schema.get("items", {}), schemas)
