"""The JSON form of the protocol (PROTOCOL.md §4): the same values as wire, as plain objects and lists."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from itertools import pairwise
from typing import Any, NoReturn, get_args

import numpy as np
import numpy.typing as npt

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import HarnessError, InputError, ReleaseError
from harness.vocabulary.oracle import Card, Release
from harness.vocabulary.release import Predictions
from harness.vocabulary.schema import MISSING, Column, Schema
from harness.vocabulary.table import Cells, Table
from harness.vocabulary.values import Kind, Raw, Reading, Span
from oracles.untrusted import checked_columns, pause, quoted
from oracles.wire.declarations import Closed, column_of, paths_of, span_of, whole
from oracles.wire.messages import (
    MESSAGE_BYTES,
    Code,
    Description,
    Question,
    Refused,
    check_major,
    checked_card,
    checked_dataset,
    reason,
)
from oracles.wire.tables import checked_cells

TYPES = {"i": "int", "u": "int", "f": "float", "b": "bool", "O": "text", "U": "text"}
DTYPES: dict[str, Any] = {"int": np.int64, "float": np.float64, "bool": np.bool_, "text": object}
MEMBERS: dict[str, type | tuple[type, ...]] = {"int": int, "float": (int, float), "bool": bool, "text": str}
ENDLESS = {float("inf"): "inf", float("-inf"): "-inf"}


def dumped(value: Mapping[str, Any]) -> bytes:
    """The bytes of a JSON object in UTF-8."""
    try:
        return json.dumps(value, allow_nan=False, separators=(",", ":"), ensure_ascii=False).encode()
    except ValueError as error:  # NaN, or half a character
        raise ReleaseError(f"this cannot be written as JSON: {error}") from None


def loaded(body: bytes) -> dict[str, Any]:
    """A JSON object, or a ReleaseError; NaN and Infinity are no JSON."""
    try:
        value = json.loads(body, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ReleaseError(f"what arrived is not JSON: {str(error)[:200]}; it begins with {body[:40]!r}") from None
    return _object(value, "the message")


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a JSON number")


# ---- Describe


def json_description(said: Description) -> dict[str, Any]:
    card = said.card
    optional = {key: getattr(card, key) for key in ("randomized", "max_draws", "noise_epsilon")}
    return {
        "protocol": {"major": said.protocol[0], "minor": said.protocol[1]},
        "card": {
            "name": card.name,
            "version": card.version,
            "releases": card.releases,
            "seedable": card.seedable,
            "keeps_data": card.keeps_data,
            **{key: value for key, value in optional.items() if value is not None},
        },
        "request_bytes": said.request_bytes,
    }


def read_description(said: Mapping[str, Any]) -> Description:
    """What the other side says of itself; keys nobody knows are left alone."""
    protocol = _object(said.get("protocol", {}), "protocol")
    major, minor = (_whole(protocol.get(key, 0), f"protocol.{key}") for key in ("major", "minor"))
    check_major(major, "the oracle")
    card = _object(said.get("card"), "card")
    name, releases = card.get("name"), card.get("releases")
    if not isinstance(name, str) or not name or releases not in ("microdata", "predictions"):
        raise ReleaseError('its card must say a name, and releases as "microdata" or "predictions"')
    epsilon = card.get("noise_epsilon")
    draws = card.get("max_draws")
    read = Card(
        name=name,
        version=str(card.get("version", "")),
        releases=releases,
        randomized=None if card.get("randomized") is None else _truth(card["randomized"], "randomized"),
        seedable=_truth(card.get("seedable", False), "seedable"),
        keeps_data=_truth(card.get("keeps_data", False), "keeps_data"),
        in_process=False,
        max_draws=None if draws is None else _whole(draws, "max_draws"),
        noise_epsilon=None if epsilon is None else _number(epsilon, "noise_epsilon"),
    )
    size = _whole(said.get("request_bytes", 0), "request_bytes") or MESSAGE_BYTES
    return Description(checked_card(read), size, (major, minor))


# ---- datasets


def json_dataset(data: Dataset) -> dict[str, Any]:
    quasi, sensitive = data.schema.quasi, data.schema.sensitive
    declared = [_declaration(*pair) for pair in zip((*quasi, *sensitive), data.readings, strict=True)]
    schema: dict[str, Any] = {"quasi": declared[: len(quasi)], "sensitive": declared[len(quasi) :]}
    if data.schema.weight is not None:
        schema["weight"] = data.schema.weight
    return {"schema": schema, "table": json_table(data.table)}


def _declaration(column: Column, reading: Reading) -> dict[str, Any]:
    optional = {
        "order": list(column.order),
        "hierarchy": [list(path) for path in paths_of(column)],
        "notation": reading.notation,
        "closed": column.closed,
        "points": column.points,
    }
    said = {"name": column.name, "kind": column.kind, "domain": [_raw(raw) for raw in reading.domain]}
    return said | {key: value for key, value in optional.items() if value}


def _raw(raw: Raw) -> Any:
    if raw == MISSING:
        return None
    if isinstance(raw, Span):
        return {"from": date.fromordinal(raw.first).isoformat(), "to": date.fromordinal(raw.last).isoformat()}
    return raw


def read_dataset(said: Mapping[str, Any]) -> Dataset:
    """A dataset, or an InputError that says what is wrong with it."""
    try:
        schema = _object(said.get("schema"), "schema")
        groups = [_list(schema.get(key), f"schema.{key}") for key in ("quasi", "sensitive")]
        declared = [_object(item, "a declared column") for group in groups for item in group]
        columns = [_column(item) for item in declared]
        domains = [_domain(item) for item in declared]
        weight = schema.get("weight")
        if weight is not None and not isinstance(weight, str):
            raise _wrong("schema.weight", "a text", weight)
        table = read_table(_object(said.get("table"), "table"))
    except ReleaseError as error:
        raise InputError(f"the dataset cannot be read: {error}") from None
    quasi = len(groups[0])
    return checked_dataset(Schema(columns[:quasi], columns[quasi:], weight), table, domains)


def _column(said: Mapping[str, Any]) -> Column:
    name, closed, notation = (said.get(key) for key in ("name", "closed", "notation"))
    kind: Any = said.get("kind")
    if not isinstance(name, str) or kind not in get_args(Kind) or closed not in (None, *get_args(Closed)):
        raise ReleaseError(f"a declared column needs a name, and a kind out of {', '.join(get_args(Kind))}")
    if notation is not None and not isinstance(notation, str):
        raise ReleaseError(f"column {quoted(name)}: notation must be a text")
    paths = [_texts(path, "a path of the hierarchy") for path in _list(said.get("hierarchy", []), "hierarchy")]
    order = tuple(_texts(said.get("order", []), "order"))
    points = _truth(said.get("points", False), "points")
    return column_of(name, kind, paths=paths, order=order, notation=notation, closed=closed, points=points)


def _domain(said: Mapping[str, Any]) -> list[Raw]:
    name = str(said.get("name"))
    return [_read_raw(name, value) for value in _list(said.get("domain"), f"the domain of {quoted(name)}")]


def _read_raw(name: str, value: Any) -> Raw:
    match value:
        case None:
            return MISSING
        case str():
            return value
        case bool():
            raise ReleaseError(f"the domain of {quoted(name)} holds {value}; expected texts, numbers or periods")
        case int():
            return value
        case float():
            return whole(name, value)
        case {"from": str(first), "to": str(last)}:
            try:
                return span_of(name, date.fromisoformat(first).toordinal(), date.fromisoformat(last).toordinal())
            except ValueError as error:
                raise ReleaseError(f"the domain of {quoted(name)}: {error}") from None
    raise ReleaseError(f"the domain of {quoted(name)} holds {value!r:.80}; expected a text, number, period or null")


# ---- tables


def json_table(table: Table) -> dict[str, Any]:
    columns = [_json_column(name, cells) for name, cells in zip(table.names, table.columns, strict=True)]
    return {"rows": table.rows, "columns": columns}


def _json_column(name: str, cells: Cells) -> dict[str, Any]:
    kind = TYPES[cells.palette.dtype.kind]
    palette = cells.palette.tolist()
    if kind == "float":
        palette = [ENDLESS.get(value, value) for value in palette]
    return {"name": name, "type": kind, "palette": palette, "codes": cells.codes.tolist()}


def read_table(said: Mapping[str, Any]) -> Table:
    """A table, or a ReleaseError that says what is wrong with it."""
    rows = _whole(said.get("rows"), "rows")
    columns = [_object(column, "a column") for column in _list(said.get("columns"), "columns")]
    names = checked_columns([column.get("name") for column in columns])
    cells = tuple(_cells(name, column, rows) for name, column in zip(names, columns, strict=True))
    try:
        return Table(names, cells)
    except InputError as error:
        raise ReleaseError(str(error)) from None


def _cells(name: str, said: Mapping[str, Any], rows: int) -> Cells:
    entries = _list(said.get("palette"), f"the palette of {quoted(name)}")
    kind = said.get("type") or _type_of(entries)
    if not isinstance(kind, str) or kind not in DTYPES:
        raise ReleaseError(f"column {quoted(name)} has type {kind!r:.80}; expected {', '.join(DTYPES)}")
    codes = _integers(said.get("codes"), f"the codes of {quoted(name)}")
    if len(codes) != rows:
        raise ReleaseError(f"column {quoted(name)} has {len(codes)} codes; the table has {rows} rows")
    return checked_cells(name, _palette(name, kind, entries), codes)


def _type_of(entries: Sequence[Any]) -> str:
    """The narrowest type that holds all entries; nothing at all is text."""
    kinds = {type(entry) for entry in entries}
    if kinds == {bool}:
        return "bool"
    if kinds == {int}:
        return "int"
    return "float" if kinds and kinds <= {int, float} else "text"


def _palette(name: str, kind: str, entries: list[Any]) -> npt.NDArray[Any]:
    if kind == "float":
        words = {word: value for value, word in ENDLESS.items()}
        entries = [words.get(entry, entry) if isinstance(entry, str) else entry for entry in entries]
    truths = kind in ("int", "float")  # Python counts true and false among the whole numbers; JSON does not
    bad = next((e for e in entries if not isinstance(e, MEMBERS[kind]) or (truths and isinstance(e, bool))), None)
    if bad is not None or None in entries:
        raise ReleaseError(f"column {quoted(name)} is of type {kind}, but its palette holds {bad!r:.80}")
    try:
        if kind == "text":
            "\n".join(entries).encode()
        return np.array(entries, dtype=DTYPES[kind]) if entries else np.empty(0, DTYPES[kind])
    except UnicodeEncodeError:
        raise ReleaseError(f"column {quoted(name)} holds a text with half a character") from None
    except OverflowError:
        raise ReleaseError(f"column {quoted(name)} holds a number beyond 64 bits") from None


# ---- questions


def json_question(question: Question) -> dict[str, Any]:
    data = {"digest": question.data} if isinstance(question.data, str) else {"dataset": json_dataset(question.data)}
    optional = {"drop": question.drop, "about": None if question.about is None else list(question.about)}
    said = {**data, "draws": question.draws, "seed": str(question.seed)}  # not every JSON number has 63 bits
    return said | {key: value for key, value in optional.items() if value is not None}


def read_question(said: Mapping[str, Any]) -> Question:
    """A question, or an InputError that says what is wrong with it."""
    try:
        about = None if said.get("about") is None else tuple(_list(said["about"], "about"))
        if about is not None and not all(isinstance(cell, str | int | float | None) for cell in about):
            raise ReleaseError("about must hold texts, numbers, truths or null")
        return Question(
            _asked_data(said),
            None if said.get("drop") is None else _whole(said["drop"], "drop"),
            about,
            _whole(said.get("draws", 1), "draws"),
            _seed(said.get("seed", 0)),
        )
    except ReleaseError as error:
        raise InputError(f"the question cannot be read: {error}") from None


def _asked_data(said: Mapping[str, Any]) -> Dataset | str:
    if ("digest" in said) == ("dataset" in said):
        raise ReleaseError("expected either a dataset or a digest")
    if "dataset" in said:
        return read_dataset(_object(said["dataset"], "dataset"))
    if not isinstance(said["digest"], str):
        raise ReleaseError("digest must be a text")
    return said["digest"]


def _seed(value: Any) -> int:
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= 19:
        return int(value)
    return _whole(value, "seed")


# ---- releases and problems


def json_releases(releases: Iterable[Release]) -> dict[str, Any]:
    return {"releases": [_json_release(release) for release in releases]}


def _json_release(release: Release) -> dict[str, Any]:
    if isinstance(release, Predictions):
        return {"predictions": release.rows.tolist()}
    return {"table": json_table(release)}


def read_releases(said: Mapping[str, Any], most: int) -> list[Release]:
    """The releases of one answer, or a ReleaseError."""
    releases = [_object(release, "a release") for release in _list(said.get("releases"), "releases")]
    if len(releases) > most:
        raise ReleaseError(f"it sent more than the {most} releases that were asked for")
    return [_read_release(release) for release in releases]


def _read_release(said: Mapping[str, Any]) -> Release:
    if ("table" in said) == ("predictions" in said):
        raise ReleaseError("a release must be either a table or predictions")
    if "table" in said:
        return read_table(_object(said["table"], "table"))
    rows = [_list(row, "a row of predictions") for row in _list(said["predictions"], "predictions")]
    if any(len(one) != len(other) for one, other in pairwise(rows)):
        raise ReleaseError("the rows of predictions have different lengths")
    if not all(type(value) in (int, float) for row in rows for value in row):
        raise ReleaseError("the predictions are not all numbers")
    try:
        return Predictions(np.array(rows, dtype=np.float64).reshape(len(rows), -1 if rows else 0))
    except OverflowError:
        raise ReleaseError("the predictions hold a number beyond 64 bits") from None


def json_problem(problem: Refused) -> dict[str, Any]:
    said: dict[str, Any] = {"code": problem.code, "message": str(problem)[:2000]}
    return said if problem.retry_after is None else said | {"retry_after": problem.retry_after}


def read_problem(said: Mapping[str, Any]) -> Refused:
    """What the other side said, as an error; a code of a newer minor version is not retried."""
    code: Any = said.get("code")
    return Refused(
        reason(str(said.get("message", ""))),
        code=code if code in get_args(Code) else "FAILED",
        retry_after=pause(said.get("retry_after")),
    )


# ---- what JSON may hold


def _wrong(where: str, expected: str, value: Any) -> HarnessError:
    return ReleaseError(f"{where} must be {expected}, not {value!r:.80}")


def _object(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _wrong(where, "an object", value)
    return value


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise _wrong(where, "a list", value)
    return value


def _texts(value: Any, where: str) -> list[str]:
    items = _list(value, where)
    if not all(isinstance(item, str) for item in items):
        raise _wrong(where, "a list of texts", value)
    return items


def _truth(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise _wrong(where, "true or false", value)
    return value


def _number(value: Any, where: str) -> float:
    if type(value) not in (int, float) or not abs(value) <= sys.float_info.max:
        raise _wrong(where, "a number of 64 bits", value)
    return float(value)


def _whole(value: Any, where: str) -> int:
    if type(value) is float and value.is_integer():
        value = int(value)
    if type(value) is not int or not 0 <= value < 2**63:
        raise _wrong(where, "a whole number of at least 0, of 64 bits", value)
    return value


def _integers(value: Any, where: str) -> npt.NDArray[np.int32]:
    items = _list(value, where)
    if not all(type(item) is int for item in items):
        raise _wrong(where, "a list of whole numbers", value)
    try:
        return np.array(items, dtype=np.int32)
    except OverflowError:
        raise _wrong(where, "a list of whole numbers from -1 up", value) from None
