"""The JSON form of the protocol (PROTOCOL.md §4): what messages says, as plain objects and lists."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from itertools import pairwise
from typing import Any, NoReturn, get_args

import numpy as np
import numpy.typing as npt

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError, ReleaseError
from harness.vocabulary.oracle import Card, Release
from harness.vocabulary.release import Predictions
from harness.vocabulary.schema import MISSING, Column, Schema
from harness.vocabulary.table import Cells, Table
from harness.vocabulary.values import Kind, Raw, Reading, Span
from oracles.untrusted import checked_columns, pause, quoted, readable_notes
from oracles.wire import messages
from oracles.wire.answers import check_echo
from oracles.wire.declarations import Closed, column_of, paths_of, span_of, whole
from oracles.wire.json_values import integers_of, list_of, number_of, object_of, texts_of, truth_of, whole_of, wrong
from oracles.wire.messages import MESSAGE_BYTES, Code, Description, Refused, check_major, checked_card, checked_dataset
from oracles.wire.questions import Question, rows_left_out
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
    return object_of(value, "the message")


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a JSON number")


# ---- Describe


def json_description(description: Description) -> dict[str, Any]:
    card = description.card
    optional = {key: getattr(card, key) for key in ("randomized", "max_draws", "noise_epsilon", "noise_delta")}
    return {
        "protocol": {"major": description.protocol[0], "minor": description.protocol[1]},
        "card": {
            "name": card.name,
            "version": card.version,
            "releases": card.releases,
            "seedable": card.seedable,
            "keeps_data": card.keeps_data,
            **{key: value for key, value in optional.items() if value is not None},
        },
        "request_bytes": description.request_bytes,
    }


def read_description(message: Mapping[str, Any]) -> Description:
    """What the other side says of itself; unknown keys are ignored."""
    protocol = object_of(message.get("protocol", {}), "protocol")
    major, minor = (whole_of(protocol.get(key, 0), f"protocol.{key}") for key in ("major", "minor"))
    check_major(major, "the oracle")
    card = object_of(message.get("card"), "card")
    name, releases = card.get("name"), card.get("releases")
    if not isinstance(name, str) or not name or releases not in ("microdata", "predictions"):
        raise ReleaseError('its card must say a name, and releases as "microdata" or "predictions"')
    epsilon, delta = card.get("noise_epsilon"), card.get("noise_delta")
    draws = card.get("max_draws")
    read = Card(
        name=name,
        version=str(card.get("version", "")),
        releases=releases,
        randomized=None if card.get("randomized") is None else truth_of(card["randomized"], "randomized"),
        seedable=truth_of(card.get("seedable", False), "seedable"),
        keeps_data=truth_of(card.get("keeps_data", False), "keeps_data"),
        in_process=False,
        max_draws=None if draws is None else whole_of(draws, "max_draws"),
        noise_epsilon=None if epsilon is None else number_of(epsilon, "noise_epsilon"),
        noise_delta=None if delta is None else number_of(delta, "noise_delta"),
    )
    size = whole_of(message.get("request_bytes", 0), "request_bytes") or MESSAGE_BYTES
    return Description(checked_card(read), size, (major, minor))


# ---- datasets


def json_dataset(data: Dataset) -> dict[str, Any]:
    quasi, sensitive = data.schema.quasi, data.schema.sensitive
    declared = [_declaration(*pair) for pair in zip((*quasi, *sensitive), data.readings, strict=True)]
    schema: dict[str, Any] = {"quasi": declared[: len(quasi)], "sensitive": declared[len(quasi) :]}
    if data.schema.weight:
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
    declaration = {"name": column.name, "kind": column.kind, "domain": [_raw(raw) for raw in reading.domain]}
    return declaration | {key: value for key, value in optional.items() if value}


def _raw(raw: Raw) -> Any:
    if raw == MISSING:
        return None
    if isinstance(raw, Span):
        return {"from": date.fromordinal(raw.first).isoformat(), "to": date.fromordinal(raw.last).isoformat()}
    return raw


def read_dataset(message: Mapping[str, Any]) -> Dataset:
    """A dataset, or an InputError that says what is wrong with it."""
    try:
        schema = object_of(message.get("schema"), "schema")
        groups = [list_of(schema.get(key), f"schema.{key}") for key in ("quasi", "sensitive")]
        declared = [object_of(item, "a declared column") for group in groups for item in group]
        columns = [_column(item) for item in declared]
        domains = [_domain(item) for item in declared]
        weight = schema.get("weight")
        if weight is not None and not isinstance(weight, str):
            raise wrong("schema.weight", "a text", weight)
        table = read_table(object_of(message.get("table"), "table"))
    except ReleaseError as error:
        raise InputError(f"the dataset cannot be read: {error}") from None
    quasi = len(groups[0])
    return checked_dataset(Schema(columns[:quasi], columns[quasi:], weight), table, domains)


def _column(declaration: Mapping[str, Any]) -> Column:
    name, closed, notation = (declaration.get(key) for key in ("name", "closed", "notation"))
    kind: Any = declaration.get("kind")
    if not isinstance(name, str) or kind not in get_args(Kind) or closed not in (None, *get_args(Closed)):
        raise ReleaseError(f"a declared column needs a name, and a kind out of {', '.join(get_args(Kind))}")
    if notation is not None and not isinstance(notation, str):
        raise ReleaseError(f"column {quoted(name)}: notation must be a text")
    hierarchy = list_of(declaration.get("hierarchy", []), "hierarchy")
    paths = [texts_of(path, "a path of the hierarchy") for path in hierarchy]
    order = tuple(texts_of(declaration.get("order", []), "order"))
    points = truth_of(declaration.get("points", False), "points")
    return column_of(name, kind, paths=paths, order=order, notation=notation, closed=closed, points=points)


def _domain(declaration: Mapping[str, Any]) -> list[Raw]:
    name = str(declaration.get("name"))
    return [_read_raw(name, value) for value in list_of(declaration.get("domain"), f"the domain of {quoted(name)}")]


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


def read_table(message: Mapping[str, Any]) -> Table:
    """A table, or a ReleaseError that says what is wrong with it."""
    rows = whole_of(message.get("rows"), "rows")
    columns = [object_of(column, "a column") for column in list_of(message.get("columns"), "columns")]
    names = checked_columns([column.get("name") for column in columns])
    cells = tuple(_cells(name, column, rows) for name, column in zip(names, columns, strict=True))
    try:
        return Table(names, cells)
    except InputError as error:
        raise ReleaseError(str(error)) from None


def _cells(name: str, column: Mapping[str, Any], rows: int) -> Cells:
    entries = list_of(column.get("palette"), f"the palette of {quoted(name)}")
    kind = column.get("type") or _type_of(entries)
    if not isinstance(kind, str) or kind not in DTYPES:
        raise ReleaseError(f"column {quoted(name)} has type {kind!r:.80}; expected {', '.join(DTYPES)}")
    codes = integers_of(column.get("codes"), f"the codes of {quoted(name)}")
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
    message: dict[str, Any] = {"draws": question.draws, "seed": str(question.seed)}  # not every reader has 63 bits
    if isinstance(question.data, Dataset):
        message["dataset"] = json_dataset(question.data)
    elif len(question.drop) > 1:
        message["without"] = {"digest": question.data, "rows": list(question.drop)}
    else:
        message["digest"] = question.data
    if len(question.drop) == 1:
        message["drop"] = question.drop[0]
    if question.about is not None:
        message["about"] = list(question.about)
    return message


def read_question(message: Mapping[str, Any]) -> Question:
    """A question, or an InputError that says what is wrong with it."""
    try:
        about = None if message.get("about") is None else tuple(list_of(message["about"], "about"))
        if about is not None and not all(isinstance(cell, str | int | float | None) for cell in about):
            raise ReleaseError("about must hold texts, numbers, truths or null")
        drop = None if message.get("drop") is None else whole_of(message["drop"], "drop")
        data, without = _asked_data(message)
        draws = whole_of(message.get("draws", 1), "draws")
        return Question(data, rows_left_out(drop, without), about, draws, _seed(message.get("seed", 0)))
    except ReleaseError as error:
        raise InputError(f"the question cannot be read: {error}") from None


def _asked_data(message: Mapping[str, Any]) -> tuple[Dataset | str, list[int] | None]:
    """The dataset or its digest, and the rows that `without` leaves out of it; None if there is no `without`."""
    if sum(key in message for key in ("dataset", "digest", "without")) != 1:
        raise ReleaseError("expected either a dataset, a digest, or a digest without rows")
    if "dataset" in message:
        return read_dataset(object_of(message["dataset"], "dataset")), None
    if "digest" in message:
        return _digest(message["digest"]), None
    without = object_of(message["without"], "without")
    rows = list_of(without.get("rows"), "without.rows")
    return _digest(without.get("digest")), [whole_of(row, "a row of without") for row in rows]


def _digest(value: Any) -> str:
    if not isinstance(value, str):
        raise wrong("digest", "a text", value)
    return value


def _seed(value: Any) -> int:
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= 19:
        return int(value)
    return whole_of(value, "seed")


# ---- releases and problems


def json_releases(releases: Iterable[Release]) -> dict[str, Any]:
    return {"releases": [_json_release(release) for release in releases]}


def _json_release(release: Release) -> dict[str, Any]:
    if isinstance(release, Predictions):
        return {"predictions": release.rows.tolist()}
    notes = {"notes": list(readable_notes(release.notes))} if release.notes else {}
    return {"table": json_table(release), **notes}


def json_pieces(releases: Iterable[Release], question: str) -> Generator[bytes, None, None]:
    """The body of an answer, release by release; a problem that comes too late for a status of its own ends it."""
    separator = f'{{"question":"{question}","releases":['.encode()
    is_begun = False
    try:
        for release in releases:
            yield separator + dumped(_json_release(release))
            separator, is_begun = b",", True
    except (Refused, ReleaseError) as error:
        refused = error if isinstance(error, Refused) else Refused(str(error), code="FAILED")
        if not is_begun:
            raise refused from None
        yield b'],"problem":' + dumped(json_problem(refused)) + b"}"
    else:
        yield (b"" if is_begun else separator) + b"]}"


def read_releases(message: Mapping[str, Any], most: int, question: str = "") -> list[Release]:
    """The releases of one answer, or a ReleaseError; the problem that ended it, if it has one."""
    if question and "question" in message:
        check_echo(str(message["question"]), question)
    if "problem" in message:
        raise read_problem(object_of(message["problem"], "problem"))
    releases = [object_of(release, "a release") for release in list_of(message.get("releases"), "releases")]
    if len(releases) > most:
        raise ReleaseError(f"it sent more than the {most} releases that were asked for")
    return [_read_release(release) for release in releases]


def _read_release(message: Mapping[str, Any]) -> Release:
    if ("table" in message) == ("predictions" in message):
        raise ReleaseError("a release must be either a table or predictions")
    if "table" in message:
        table = read_table(object_of(message["table"], "table"))
        notes = texts_of(message.get("notes") or [], "notes")
        return replace(table, notes=readable_notes(notes)) if notes else table
    rows = [list_of(row, "a row of predictions") for row in list_of(message["predictions"], "predictions")]
    if any(len(one) != len(other) for one, other in pairwise(rows)):
        raise ReleaseError("the rows of predictions have different lengths")
    if not all(type(value) in (int, float) for row in rows for value in row):
        raise ReleaseError("the predictions are not all numbers")
    try:
        return Predictions(np.array(rows, dtype=np.float64).reshape(len(rows), -1 if rows else 0))
    except OverflowError:
        raise ReleaseError("the predictions hold a number beyond 64 bits") from None


def json_problem(problem: Refused) -> dict[str, Any]:
    entry: dict[str, Any] = {"code": problem.code, "message": str(problem)[:2000]}
    return entry if problem.retry_after is None else entry | {"retry_after": problem.retry_after}


def read_problem(message: Mapping[str, Any]) -> Refused:
    """The problem that the other side names, as an error; a code of a newer minor version is not retried."""
    code: Any = message.get("code")
    known: Code = code if code in get_args(Code) else "FAILED"
    return messages.read_problem(str(message.get("message", "")), known, pause(message.get("retry_after")))
