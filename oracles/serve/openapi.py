"""The OpenAPI 3.1 document of the HTTP form: for people and tools that meet the protocol there first."""

from __future__ import annotations

from typing import Any

from oracles.wire.messages import MAJOR, MINOR

CODES = {
    400: "INVALID: the request is wrong",
    401: "UNAUTHENTICATED: no token, or a wrong one",
    404: "UNKNOWN_DATA: nothing is kept under this digest; put it again (UNSUPPORTED: there is no such path)",
    405: "UNSUPPORTED: the path is there for other methods, which Allow lists",
    408: "INVALID: the request came too slowly",
    409: "INVALID: the body of a Put has another digest than its path",
    413: "TOO_LARGE: more than this server allows",
    415: "UNSUPPORTED: neither JSON nor protobuf",
    429: "BUSY: too many questions at once; repeat after Retry-After",
    500: "FAILED: the anonymizer failed on this question",
    501: "UNSUPPORTED: not done here",
    503: "UNAVAILABLE: starting or stopping; repeat after Retry-After",
}
DESCRIPTION = (
    "The JSON form of the oracle protocol; the protobuf form is in oracle/v1/oracle.proto. Beyond what the schemas "
    "say, the parts of a dataset must fit together, or it is INVALID (400): the table has the columns of the schema in "
    "their order, each with `rows` codes; a code is -1 or a position in its palette; every cell is a value of its "
    "column's domain, and -1 stands only where the domain has null; names are distinct, and all paths of a hierarchy "
    "end in one root; a domain holds what its kind says: numbers, periods (of dates), else texts; a row to leave out "
    "is one that the data has; where the card says predictions, `about` has one cell for each quasi-identifier; "
    "`draws` is at most the card's `max_draws`."
)
TEXT: dict[str, Any] = {"type": "string"}
NAME: dict[str, Any] = {"type": "string", "minLength": 1}
WHOLE: dict[str, Any] = {"type": "integer", "minimum": 0, "maximum": 2**63 - 1}
TRUTH: dict[str, Any] = {"type": "boolean"}


def document(needs_token: bool = False) -> dict[str, Any]:
    """The document of a server, which may need a token."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Oracle: an anonymizer that can be audited",
            "version": f"{MAJOR}.{MINOR}",
            "description": DESCRIPTION,
        },
        "security": [{"token": []}] if needs_token else [],
        "paths": _paths(),
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": _schemas(),
        },
    }


def _paths() -> dict[str, Any]:
    digest = {"name": "digest", "in": "path", "required": True, "schema": {"$ref": "#/components/schemas/Digest"}}
    return {
        "/v1/card": {"get": _operation("describe", "What the anonymizer says of itself", "Description")},
        "/v1/data/{digest}": {
            "parameters": [digest],
            "put": _operation("put", "Keep a dataset under the SHA-256 of this body", "Kept", body="Dataset"),
        },
        "/v1/answers": {"post": _operation("answer", "Anonymize, once per draw", "Releases", body="Question")},
        "/v1/openapi.json": {"get": _open("openapi", "This document", "application/json")},
        "/healthz": {"get": _open("health", "Whether the server is there", "text/plain")},
    }


def _operation(name: str, summary: str, reply: str, *, body: str | None = None) -> dict[str, Any]:
    good = {"200": {"description": summary, "content": _content(reply)}}
    problems = {str(status): {"description": text, "content": _content("Problem")} for status, text in CODES.items()}
    operation: dict[str, Any] = {"operationId": name, "summary": summary, "responses": good | problems}
    if body is not None:
        operation["requestBody"] = {"required": True, "content": _content(body)}
    return operation


def _open(name: str, summary: str, kind: str) -> dict[str, Any]:
    reply = {"200": {"description": summary, "content": {kind: {}}}}
    return {"operationId": name, "summary": summary, "security": [], "responses": reply}


def _content(name: str) -> dict[str, Any]:
    return {
        "application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}},
        "application/x-protobuf": {"schema": {"type": "string", "format": "binary"}},
    }


def _schemas() -> dict[str, Any]:
    kinds = ["number", "category", "ordered", "date"]
    codes = [text.partition(":")[0] for text in CODES.values()]
    period = _object({"from": {"type": "string", "format": "date"}, "to": {"type": "string", "format": "date"}})
    value = {"type": ["number", "string", "null"]}
    declared = _list(_ref("Declaration")) | {"minItems": 1}
    cell = {"type": ["integer", "number", "boolean", "string", "null"]}
    return {
        "Digest": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
        "Version": _object({"major": WHOLE, "minor": WHOLE}),
        "Card": _object(
            {"name": {"type": "string", "minLength": 1}, "releases": {"enum": ["microdata", "predictions"]}},
            version=TEXT, randomized=TRUTH, seedable=TRUTH, keeps_data=TRUTH,
            max_draws={"type": "integer", "minimum": 1}, noise_epsilon={"type": "number", "exclusiveMinimum": 0},
            noise_delta={"type": "number", "minimum": 0, "exclusiveMaximum": 1},
        ),
        "Description": _object({"protocol": _ref("Version"), "card": _ref("Card")}, request_bytes=WHOLE),
        "Declaration": _object(
            {"name": NAME, "kind": {"enum": kinds}, "domain": _list({"anyOf": [value, period]})},
            order=_list(TEXT) | {"uniqueItems": True}, hierarchy=_list(_list(NAME) | {"minItems": 2}), notation=TEXT,
            points=TRUTH, closed={"enum": ["both", "left", "right", "neither"]},
        ) | {"if": {"properties": {"kind": {"const": "ordered"}}},
             "then": {"anyOf": [_filled("order"), _filled("hierarchy")]}},
        "Schema": _object({"quasi": declared, "sensitive": declared}, weight=TEXT),
        "Column": _object(
            {"name": TEXT, "palette": _list({"type": ["integer", "number", "boolean", "string"]}),
             "codes": _list({"type": "integer", "minimum": -1, "maximum": 2**31 - 1})},
            type={"enum": ["int", "float", "bool", "text"]},
        ),
        "Table": _object({"rows": WHOLE, "columns": _list(_ref("Column"))}),
        "Dataset": _object({"schema": _ref("Schema"), "table": _ref("Table")}),
        "Without": _object({"digest": _ref("Digest"), "rows": _list(WHOLE) | {"minItems": 1, "uniqueItems": True}}),
        "Question": _object(
            {}, dataset=_ref("Dataset"), digest=_ref("Digest"), without=_ref("Without"),
            drop={"type": ["integer", "null"], "minimum": 0},
            about={"type": ["array", "null"], "items": cell}, draws={"type": "integer", "minimum": 1, "default": 1},
            seed={"oneOf": [WHOLE, {"type": "string", "pattern": "^[0-9]{1,18}$"}], "default": 0},
        ) | {"oneOf": [
            {"required": ["dataset"]}, {"required": ["digest"]},
            {"required": ["without"], "properties": {"drop": {"type": "null"}}},
        ]},
        "Release": _object({}, table=_ref("Table"), notes=_list(TEXT), predictions=_list(_list({"type": "number"})))
        | {"oneOf": [{"required": ["table"]}, {"required": ["predictions"]}]},
        "Releases": _object(
            {"releases": _list(_ref("Release"))}, question=_ref("Digest"), problem=_ref("Problem"),
        ),
        "Kept": _object({"digest": _ref("Digest")}),
        "Problem": _object({"code": {"enum": sorted(set(codes))}, "message": TEXT}, retry_after={"type": "number"}),
    }  # fmt: skip


def _object(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {**required, **optional}}
    return {**schema, "required": list(required)} if required else schema


def _filled(key: str) -> dict[str, Any]:
    """An object that has this list, and something in it."""
    return {"required": [key], "properties": {key: {"minItems": 1}}}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}
