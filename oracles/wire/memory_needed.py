"""How much memory a request will need, found from its bytes before any of it is read.

A short message can be large once it is read: `{},` is three bytes of JSON and 72 of Python, an empty column two bytes
of protobuf and a hundred of a message. So a server asks here first, and reads only what it has room for.

    JSON       counts the signs that make objects, lists, members and texts
    protobuf   looks at the outermost fields only: the columns of a table, the declarations of a schema; what is inside
               them counts by its length, each kind with the most that one of its bytes can become

The numbers are upper bounds, measured with hostile messages (tests/oracles/test_memory_needed.py). They cover what
happens to a table until it has been released unchanged as well: the frame that f is given, its copy, and the reply.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from harness.vocabulary.errors import InputError
from oracles.untrusted import MOST_COLUMNS
from oracles.wire._pb import oracle_pb2 as pb

CELL: Final = 64  # bytes that a cell of a table needs, from its code to the reply about it
MARKS: Final = {b"{": 240, b"[": 96, b",": CELL, b":": 64, b'"': 64}  # bytes that each of these signs can need
ASCII, UNICODE = 2, 9  # bytes that a sign of JSON can need as text: one emoji makes all others of its text wide
PALETTE: Final = {"ints": 64, "floats": 16, "texts": 64, "bools": 32}  # bytes that a byte of a palette can need
DECLARED: Final = 96  # of a declaration: hierarchies are many small messages
OTHER: Final = 4  # of names, and of fields that are not known here
MOST_FIELDS: Final = 10 * MOST_COLUMNS  # that are looked at

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5  # wire types
_COLUMN = {field.number: field.name for field in pb.Column.DESCRIPTOR.fields}


def json_memory(body: bytes | bytearray) -> int:
    """Bytes that this JSON needs at most once it is read."""
    wide = ASCII if body.isascii() else UNICODE
    return len(body) * wide + sum(body.count(mark) * need for mark, need in MARKS.items())


def question_memory(body: bytes) -> int:
    """Bytes that this AnswerRequest needs at most once it is read; an InputError if it has far too many parts."""
    numbers = pb.AnswerRequest.DESCRIPTOR.fields_by_name
    need = 0
    for number, value in _Fields().of(memoryview(body)):
        known = number == numbers["dataset"].number
        need += dataset_memory(value) if known else DECLARED * (2 + len(value))
    return need


def dataset_memory(body: bytes | memoryview) -> int:
    """Bytes that this Dataset needs at most once it is read; an InputError if it has far too many parts."""
    fields = _Fields()
    need = len(body)
    for number, value in fields.of(memoryview(body)):
        if number == pb.Dataset.DESCRIPTOR.fields_by_name["table"].number:
            need += _table(value, fields)
        else:
            need += _schema(value, fields)
    return need


def _schema(body: memoryview, fields: _Fields) -> int:
    return sum(DECLARED * (2 + len(value)) for _, value in fields.of(body))


def _table(body: memoryview, fields: _Fields) -> int:
    need = 0
    for _, column in fields.of(body):
        need += 4 * DECLARED
        for number, value in fields.of(column):
            name = _COLUMN.get(number, "")
            need += len(value) * (CELL if name == "codes" else PALETTE.get(name, OTHER))
    return need


class _Fields:
    """The fields of messages, one after the other, up to so many of them in all."""

    def __init__(self) -> None:
        self._left = MOST_FIELDS

    def of(self, body: memoryview) -> Iterator[tuple[int, memoryview]]:
        """Number and content of each field; a body that is no message ends it, and reading it will tell."""
        at = 0
        while at < len(body):
            self._left -= 1
            if self._left < 0:
                raise InputError(f"the message has more than {MOST_FIELDS} fields, columns and declarations")
            key, at = _varint(body, at)
            kind, start = key & 7, at
            if kind == _VARINT:
                _, at = _varint(body, at)
            elif kind == _BYTES:
                size, start = _varint(body, at)
                at = start + size
            elif kind in (_FIXED64, _FIXED32):
                at += 8 if kind == _FIXED64 else 4
            else:
                return
            yield key >> 3, body[start:at]


def _varint(body: memoryview, at: int) -> tuple[int, int]:
    """The number that begins at a place, and where it ends; beyond the end of the body it is 0."""
    value = shift = 0
    while at < len(body) and shift < 70:
        byte = body[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    return 0, len(body)
