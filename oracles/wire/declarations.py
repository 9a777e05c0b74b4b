"""Schemas and domains as protocol messages and back. Knows no rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal, cast, get_args

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError, did_you_mean
from harness.vocabulary.hierarchy import Hierarchy
from harness.vocabulary.schema import MISSING, Column, Schema
from harness.vocabulary.values import Kind, Raw, Reading, Span
from oracles.wire._pb import oracle_pb2 as pb

Closed = Literal["both", "left", "right", "neither"]
Domains = tuple[tuple[Raw, ...], ...]  # one per column
EPOCH = 719_163  # the ordinal of 1970-01-01
EXACT = 2**53  # floats tell whole numbers apart up to here
LAST_DAY = 3_652_059  # the ordinal of 9999-12-31
REMEMBERED_SCHEMAS, REMEMBERED_BYTES = 2, 1 << 15  # so many, each of at most so many bytes
KINDS = {  # of columns, as the protocol numbers them; 0 is none
    name.removeprefix("KIND_").lower(): number for name, number in pb.Declaration.Kind.items() if number
}


def pack_schema(data: Dataset) -> pb.Schema:
    """The schema with each column's domain: of D, also where the table is D⁻ⁱ."""
    quasi, sensitive = data.schema.quasi, data.schema.sensitive
    declared = [_pack(column, reading) for column, reading in zip((*quasi, *sensitive), data.readings, strict=True)]
    return pb.Schema(quasi=declared[: len(quasi)], sensitive=declared[len(quasi) :], weight=data.schema.weight or None)


def _pack(column: Column, reading: Reading) -> pb.Declaration:
    return pb.Declaration(
        name=column.name,
        kind=_packed_kind(column),
        order=column.order,
        hierarchy=[pb.Path(names=path) for path in paths_of(column)],
        notation=reading.notation,  # of dates: what all of D's together decided
        closed=f"CLOSED_{(column.closed or 'unspecified').upper()}",
        points=column.points,
        domain=pack_domain(column.name, reading.domain),
    )


def _packed_kind(column: Column) -> str:
    if column.kind not in KINDS:
        hint = did_you_mean(column.kind, KINDS)
        raise InputError(f"column {column.name!r}: kind {column.kind!r} cannot be sent to another machine; {hint}")
    return f"KIND_{column.kind.upper()}"


def paths_of(column: Column) -> list[tuple[str, ...]]:
    """The hierarchy's paths from each leaf to the root; none without a hierarchy."""
    tree = column.hierarchy
    return [] if tree is None else [tree.path(leaf) for leaf in tree.leaves(tree.root)]


def unpack_schema(message: pb.Schema) -> tuple[Schema, Domains]:
    """The schema and one domain per column, quasi-identifiers first.

    The questions of an audit differ in their rows and not in their schema, so the latest are remembered. A large one
    is not, nor is it copied: many small messages take much more memory than their bytes.
    """
    if message.ByteSize() > REMEMBERED_BYTES:
        return _unpack_schema(message)
    return _remembered_schema(message.SerializeToString())


@lru_cache(REMEMBERED_SCHEMAS)
def _remembered_schema(body: bytes) -> tuple[Schema, Domains]:
    return _unpack_schema(pb.Schema.FromString(body))


def _unpack_schema(message: pb.Schema) -> tuple[Schema, Domains]:
    declared = [*message.quasi, *message.sensitive]
    columns = [_unpack(declaration) for declaration in declared]
    domains = tuple(tuple(unpack_domain(declaration.name, declaration.domain)) for declaration in declared)
    quasi, sensitive = columns[: len(message.quasi)], columns[len(message.quasi) :]
    return Schema(quasi, sensitive, message.weight if message.HasField("weight") else None), domains


def _unpack(message: pb.Declaration) -> Column:
    kinds = {number: kind for kind, number in KINDS.items()}
    sides: dict[int, Closed] = {
        pb.Declaration.Closed.Value(f"CLOSED_{side.upper()}"): side for side in get_args(Closed)
    }
    if message.kind not in kinds:
        raise InputError(f"column {message.name!r}: kind {message.kind} is not known; expected {sorted(kinds)}")
    return column_of(
        message.name,
        cast(Kind, kinds[message.kind]),
        order=tuple(message.order),
        paths=[tuple(path.names) for path in message.hierarchy],
        notation=message.notation if message.HasField("notation") else None,
        closed=sides.get(message.closed),
        points=message.points,
    )


def column_of(name: str, kind: Kind, *, paths: Sequence[Sequence[str]] = (), **rest: Any) -> Column:
    """A declared column whose hierarchy came as paths."""
    where = f"column {name!r}, its hierarchy"
    hierarchy = Hierarchy.from_paths((where, path) for path in paths) if paths else None
    return Column(name, kind, hierarchy=hierarchy, **rest)


def pack_domain(name: str, domain: Sequence[Raw]) -> pb.Domain:
    """The values of a domain by type; a missing cell that counts as a value has no type, only a position."""
    values: list[Any] = [raw for raw in domain if raw != MISSING]
    missing = domain.index(MISSING) if len(values) < len(domain) else None
    kinds = {type(raw) for raw in values}
    if kinds == {Span}:
        first, last = ([day - EPOCH for day in days] for days in zip(*values, strict=True))
        return pb.Domain(spans=pb.Spans(first=first, last=last), missing=missing)
    if kinds <= {str}:
        return pb.Domain(texts=pb.Texts(values=values), missing=missing)
    if kinds == {int} and all(-(2**63) <= raw < 2**63 for raw in values):
        return pb.Domain(ints=pb.Ints(values=values), missing=missing)
    if kinds <= {int, float} and all(type(raw) is float or abs(raw) < EXACT for raw in values):
        return pb.Domain(floats=pb.Floats(values=values), missing=missing)
    raise InputError(f"column {name!r}: a domain that mixes types, or holds numbers beyond 64 bits, cannot be sent")


def unpack_domain(name: str, message: pb.Domain) -> list[Raw]:
    """The raw values of a domain, as the harness types them."""
    which = message.WhichOneof("values")
    values: list[Raw]
    if which == "spans":
        values = _spans(name, message.spans)
    elif which == "floats":
        values = [whole(name, value) for value in message.floats.values]
    else:
        values = list(getattr(message, which).values) if which else []
    if message.HasField("missing"):
        if message.missing > len(values):
            raise InputError(f"column {name!r}: its domain has no position {message.missing}")
        values.insert(message.missing, MISSING)
    return values


def check_domain(column: Column, domain: Sequence[Raw]) -> None:
    """The values of a quasi-identifier are of the type that its kind says."""
    expected: dict[Kind, tuple[type, ...]] = {"number": (int, float), "date": (Span,)}
    right = expected.get(column.kind, (str,))
    bad = next((raw for raw in domain if raw != MISSING and not isinstance(raw, right)), None)
    if bad is not None:
        raise InputError(f"column {column.name!r} is of kind {column.kind}, but its domain holds {bad!r:.80}")


def whole(name: str, value: float) -> Raw:
    """A number as the harness types it: whole where floats can say so."""
    if value - value != 0:
        raise InputError(f"column {name!r}: its domain holds {value}; expected finite numbers")
    return int(value) if value == int(value) and abs(value) < EXACT else value


def _spans(name: str, message: pb.Spans) -> list[Raw]:
    if len(message.first) != len(message.last):
        raise InputError(f"column {name!r}: its domain has {len(message.first)} first, {len(message.last)} last days")
    return [span_of(name, first + EPOCH, last + EPOCH) for first, last in zip(message.first, message.last, strict=True)]


def span_of(name: str, first: int, last: int) -> Span:
    """A period of time, by the ordinals of its ends."""
    if not 1 <= first <= last <= LAST_DAY:
        raise InputError(f"column {name!r}: its domain holds an impossible period: days {first} to {last}")
    return Span(first, last)
