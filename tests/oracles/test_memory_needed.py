"""What a request will need is known before it is read: never less than it takes, not far more for real data."""

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.vocabulary.errors import HarnessError, InputError
from oracles.serve.handler import Handler
from oracles.serve.room import size_in_memory
from oracles.wire import json_form, messages
from oracles.wire._pb import oracle_pb2 as pb
from oracles.wire.memory_needed import dataset_memory, json_memory, question_memory
from tests.oracles.filters import dataset
from tests.oracles.test_handler import Scripted

SIZE = 300_000  # bytes of a hostile message


def taken_by(work: Callable[[], object]) -> int:
    """The most memory that Python took while the work was done."""
    tracemalloc.start()
    try:
        kept = work()
        return tracemalloc.get_traced_memory()[1] + 0 * id(kept)
    except HarnessError:
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def repeated(unit: str, before: str = '{"x":[', after: str = "1]}") -> bytes:
    return (before + unit * (SIZE // len(unit)) + after).encode()


JSON = [
    repeated("{},"),
    repeated("[],"),
    repeated("[[]],"),
    repeated('{"":1},'),
    repeated('{"a":{}},'),
    repeated('"ab",'),
    repeated("1000,"),
    repeated("1.5,"),
    repeated("-1,"),
    repeated("null,"),
    ("{" + ",".join(f'"{n}":{n}' for n in range(30_000)) + "}").encode(),
    ('{"x":"' + "a" * SIZE + '\U0001f600"}').encode(),
    ('{"x":[' + ",".join(f'"{n:x}"' for n in range(40_000)) + "]}").encode(),
    (b'{"x":[' + b",".join([b'{"":' * 300 + b"1" + b"}" * 300] * 200) + b"]}"),
]


@pytest.mark.parametrize("body", JSON, ids=lambda body: repr(body[:24]))
def test_json_takes_no_more_than_was_foreseen(body: bytes) -> None:
    assert taken_by(lambda: json_form.loaded(body)) <= json_memory(body)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
                    | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_any_json_takes_no_more_than_was_foreseen(value: Any) -> None:
    body = json_form.dumped({"x": [value] * 200}) if not _halved(value) else b"{}"
    assert taken_by(lambda: json_form.loaded(body)) <= json_memory(body) + 4096


def _halved(value: Any) -> bool:
    try:
        return not json_form.dumped({"x": value})
    except HarnessError:
        return True


def field(number: int, content: bytes) -> bytes:
    """A field of a protobuf message."""
    size, digits = len(content), b""
    while size > 127:
        digits += bytes([size & 127 | 128])
        size >>= 7
    return bytes([number << 3 | 2]) + digits + bytes([size]) + content


def put(body: bytes) -> object:
    handler = Handler(Scripted())
    return handler.put(messages.digest_of(body), [body]), handler


def table_of(*columns: bytes) -> bytes:
    return field(2, b"".join(field(2, column) for column in columns))


TEXTS = b"".join(field(1, b"%x" % number) for number in range(30_000))
NUMBERS = pb.Ints(values=range(1000, 60_000)).SerializeToString()
PROTOBUF = {
    "equal texts": table_of(field(4, field(1, b"ab") * (SIZE // 4))),
    "distinct texts": table_of(field(4, TEXTS)),
    "whole numbers": table_of(field(2, NUMBERS)),
    "a hierarchy": field(1, field(1, field(4, field(1, b"a")) * (SIZE // 5))),
    "empty paths": field(1, field(1, field(4, b"") * (SIZE // 2))),
    "an order": field(1, field(1, field(3, b"ab") * (SIZE // 4))),
    "a domain": field(1, field(1, field(8, field(3, TEXTS)))),
    "unknown fields": field(15, b"") * 20_000,
    "columns": table_of(*[b""] * 4000),
    "declarations": field(1, field(1, b"") * 4000),
}


@pytest.mark.parametrize("name", PROTOBUF)
def test_a_dataset_in_protobuf_takes_no_more_than_was_foreseen(name: str) -> None:
    body = PROTOBUF[name]
    assert taken_by(lambda: put(body)) <= dataset_memory(body) + 100_000


def rows(count: int) -> pb.Dataset:
    names = ("a", "b")
    declared = [
        pb.Declaration(name=name, kind="KIND_CATEGORY", domain=pb.Domain(texts=pb.Texts(values=["x"])))
        for name in names
    ]
    columns = [pb.Column(name=name, texts=pb.Texts(values=["x"]), codes=bytes(count)) for name in names]
    return pb.Dataset(
        schema=pb.Schema(quasi=declared[:1], sensitive=declared[1:]), table=pb.Table(rows=count, columns=columns)
    )


def test_many_rows_take_no_more_than_was_foreseen() -> None:
    body = rows(400_000).SerializeToString()
    assert taken_by(lambda: put(body)) <= dataset_memory(body)


@pytest.mark.parametrize(
    "body", [field(4, b"") * 100_000, field(7, b"") * 100_000, field(1, field(2, field(2, b"") * 100_000))]
)
def test_far_too_many_parts_are_refused_before_they_are_read(body: bytes) -> None:
    with pytest.raises(InputError, match="more than 50000 fields"):
        question_memory(body)


@pytest.mark.parametrize("body", [b"", b"\xff", b"\xff" * 20, b"\x0a\xff\xff\xff\xff\x7f", b"\x0b\x0c", b"\x0a"])
def test_bytes_that_are_no_message_are_looked_at_without_harm(body: bytes) -> None:
    assert question_memory(body) >= 0
    assert dataset_memory(body) >= 0


@given(st.binary(max_size=300))
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_looked_at_without_harm(body: bytes) -> None:
    assert question_memory(body) >= 0


def test_real_data_is_not_taken_for_far_larger_than_it_is() -> None:
    data = dataset(20_000)
    body = messages.pack_dataset(data).SerializeToString()
    kept = size_in_memory((data, data.codes))
    assert dataset_memory(body) < 12 * kept
    assert json_memory(json_form.dumped(json_form.json_dataset(data))) < 20 * kept


def test_what_is_kept_counts_at_its_real_size() -> None:
    texts = [f"text number {number}" for number in range(5000)]
    assert 5000 * 60 < size_in_memory(texts) < 5000 * 90
    assert size_in_memory(np.array(texts, dtype=object)) > 5000 * 60
    assert size_in_memory(np.zeros(10_000)[:5000]) >= 40_000
