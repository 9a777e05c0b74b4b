"""No bytes from outside do more than raise a HarnessError."""

import io
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.vocabulary.errors import HarnessError, InputError, OracleError, ReleaseError
from harness.vocabulary.oracle import Card
from harness.vocabulary.table import Cells, Table
from oracles.wire import answers, json_form, messages, questions
from oracles.wire._pb import oracle_pb2 as pb
from oracles.wire.messages import Description
from oracles.wire.questions import Question
from tests.oracles.wire_samples import (
    mixed,
)


def column(**changes: Any) -> pb.Column:
    return pb.Column(**{"name": "a", "texts": pb.Texts(values=["x", "y"]), "codes": bytes([0, 1, 255]), **changes})


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pb.Table(rows=3, columns=[column(codes=bytes([0, 1, 2]))]), "'a', row 2: code 2 is outside its palette"),
        (pb.Table(rows=3, columns=[column(codes=bytes([0, 1, 254]))]), "code -2 is outside"),
        (pb.Table(rows=3, columns=[column(codes=bytes(9))]), "9 bytes of codes for 3 rows; expected 1, 2 or 4 per row"),
        (pb.Table(rows=3, columns=[column(codes=bytes(5))]), "5 bytes of codes for 3 rows"),
        (pb.Table(rows=0, columns=[column()]), "3 bytes of codes for 0 rows"),
        (pb.Table(rows=2**63, columns=[column()]), "more than 134217728 bytes"),
        (pb.Table(rows=3), "3 rows of no columns"),
        (pb.Table(rows=3, columns=[column(), column()]), "'a' occurs more than once"),
        (pb.Table(rows=3, columns=[pb.Column(name="a", codes=bytes(3))]), "has no palette"),
        (
            pb.Table(rows=1, columns=[pb.Column(name="a", codes=b"\0", floats=pb.Floats(values=[float("nan")]))]),
            "NaN in its palette",
        ),
    ],
)
def test_a_table_that_makes_no_sense_is_refused(table: pb.Table, message: str) -> None:
    with pytest.raises(ReleaseError, match=message):
        list(answers.assembled([pb.Part(table=table)], 1))


def good(draw: int = 0, more: bool = False, name: str = "a") -> pb.Part:
    return pb.Part(draw=draw, more=more, table=pb.Table(rows=3, columns=[column(name=name)]))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([good(), good(1), good(2)], "more than the 2 releases"),
        ([good(1)], "a piece of draw 1 where draw 0"),
        ([good(more=True), good(1)], "a piece of draw 1 where draw 0"),
        ([good(more=True), good(name="b")], "a later piece has the columns"),
        ([good(more=True)], "broke off in the middle of draw 0"),
        ([pb.Part()], "neither a table nor predictions"),
        ([good(more=True), pb.Part(predictions=pb.Predictions(values=1, rows=bytes(8)))], "tables as well as"),
        ([pb.Part(predictions=pb.Predictions(values=3, rows=bytes(8)))], "8 bytes of predictions of 3 values"),
        ([pb.Part(predictions=pb.Predictions(rows=bytes(8)))], "8 bytes of predictions of 0 values"),
    ],
)
def test_pieces_that_do_not_fit_together_are_refused(parts: list[pb.Part], message: str) -> None:
    with pytest.raises(OracleError, match=message):
        list(answers.assembled(iter(parts), 2))


def test_an_endless_release_is_refused_at_its_limit() -> None:
    def endless() -> Iterator[pb.Part]:
        while True:
            yield pb.Part(more=True, table=pb.Table(rows=0, columns=[column(codes=b"")]))

    with pytest.raises(ReleaseError, match="more than 100000 bytes; allow more with max_reply_bytes"):
        list(answers.assembled(endless(), 1, limit=100_000))


def test_text_that_is_no_text_cannot_be_sent() -> None:
    table = Table(("a",), (Cells(np.array(["half a character: \ud800"], dtype=object), np.zeros(1, dtype=np.int32)),))
    with pytest.raises(ReleaseError, match="column 'a' cannot be sent"):
        list(answers.parts([table]))
    with pytest.raises(ReleaseError, match="cannot be written as JSON"):
        json_form.dumped(json_form.json_releases([table]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.schema.quasi[0].ClearField("kind"), "kind 0 is not known"),
        (lambda m: m.schema.quasi[0].domain.ints.values.pop(), "not in the domain it was given"),
        (lambda m: m.schema.quasi[0].domain.texts.values.append("x"), "domain"),
        (lambda m: m.table.columns.pop(), "the table must hold exactly those"),
        (lambda m: m.ClearField("schema"), "no quasi-identifier"),
        (lambda m: m.schema.quasi[4].domain.spans.first.pop(), "3 first, 4 last days|2 first, 3 last days"),
    ],
)
def test_a_dataset_that_makes_no_sense_is_refused(change: Callable[[Any], object], message: str) -> None:
    packed = messages.pack_dataset(mixed())
    change(packed)
    with pytest.raises(InputError, match=message):
        messages.unpack_dataset(packed)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_mutilated_bytes_raise_nothing_but_harness_errors(data: st.DataObject) -> None:
    samples: list[Any] = [
        messages.pack_dataset(mixed()),
        questions.pack_question(Question(mixed(), (1,), (1, "x"), 2, 3)),
        questions.pack_question(Question("ab" * 32, (1, 2), None, 2, 3)),
        next(answers.parts([replace(mixed().table, notes=("a note",))])),
        messages.pack_description(Description(Card("c"))),
    ]
    body = bytearray(data.draw(st.sampled_from(samples)).SerializeToString())
    for _ in range(data.draw(st.integers(1, 8))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    body = body[: data.draw(st.integers(0, len(body)))] if data.draw(st.booleans()) else body
    readers: list[Callable[[], object]] = [
        lambda: messages.unpack_dataset(messages.parsed(pb.Dataset, bytes(body))),
        lambda: questions.unpack_question(messages.parsed(pb.AnswerRequest, bytes(body))),
        lambda: list(answers.assembled([messages.parsed(pb.Part, bytes(body))], 1)),
        lambda: messages.unpack_description(messages.parsed(pb.DescribeReply, bytes(body))),
    ]
    for read in readers:
        with suppress(HarnessError):
            read()


def places(value: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every part of a JSON value."""
    yield here
    inside: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, deeper in inside:
        yield from places(deeper, (*here, key))


JUNK = st.sampled_from([None, True, -1, 3, 2**70, 1.5, "", "x", [], {}, [None], ["x", 1], {"from": "x", "to": "y"}])
READERS: dict[str, tuple[Any, Callable[[Any], object]]] = {
    "dataset": (json_form.json_dataset(mixed()), json_form.read_dataset),
    "question": (json_form.json_question(Question(mixed(), (1,), (1, "x"), 2, 3)), json_form.read_question),
    "without": (json_form.json_question(Question("ab" * 32, (1, 2))), json_form.read_question),
    "releases": (
        json_form.json_releases([replace(mixed().table, notes=("a note",))]),
        lambda message: json_form.read_releases(message, 1),
    ),
    "predictions": (
        {"releases": [{"predictions": [[0.5, 0.5]]}]},
        lambda message: json_form.read_releases(message, 1),
    ),
    "card": (json_form.json_description(Description(Card("c", max_draws=3))), json_form.read_description),
    "problem": ({"code": "BUSY", "message": "m", "retry_after": 1}, json_form.read_problem),
}


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_mutilated_json_raises_nothing_but_harness_errors(data: st.DataObject) -> None:
    sample, read = READERS[data.draw(st.sampled_from(sorted(READERS)))]
    message = json.loads(json.dumps(sample))
    where = data.draw(st.sampled_from([place for place in places(message) if place]))
    inner = message
    for key in where[:-1]:
        inner = inner[key]
    inner[where[-1]] = data.draw(JUNK)
    with suppress(HarnessError):
        read(message)


@pytest.mark.parametrize("body", [b"", b"<html>", b"[1]", b'{"rows": NaN}', b"\xff", b"[" * 100_000])
def test_what_is_no_json_object_is_refused(body: bytes) -> None:
    with pytest.raises(ReleaseError):
        json_form.loaded(body)


def test_a_column_without_a_type_has_the_narrowest_that_holds_its_palette() -> None:
    message: dict[str, Any] = {"rows": 1, "columns": [{"name": "a", "palette": [1, 2.5], "codes": [0]}]}
    assert json_form.read_table(message).columns[0].palette.dtype == np.float64
    message["columns"][0]["palette"] = ["x"]
    assert json_form.read_table(message).columns[0].palette.dtype == object


# ---- frames


def test_frames_follow_each_other_and_end_with_the_stream() -> None:
    stream = io.BytesIO(messages.frame(pb.Version(major=1)) + messages.frame(pb.Version(major=2)))
    found = [messages.read_frame(stream.read, pb.Version) for _ in range(3)]
    assert [version and version.major for version in found] == [1, 2, None]


@pytest.mark.parametrize("body", [b"\0", b"\0\0\0\x09abc", b"Hello, world", b"\0\0\0\x02\xff\xff"])
def test_what_is_no_frame_is_refused(body: bytes) -> None:
    with pytest.raises(OracleError):
        messages.read_frame(io.BytesIO(body).read, pb.Version)
