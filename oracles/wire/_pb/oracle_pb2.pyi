# ruff: noqa
# mypy: disable-error-code="type-arg"
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Version(_message.Message):
    __slots__ = ("major", "minor")
    MAJOR_FIELD_NUMBER: _ClassVar[int]
    MINOR_FIELD_NUMBER: _ClassVar[int]
    major: int
    minor: int
    def __init__(self, major: _Optional[int] = ..., minor: _Optional[int] = ...) -> None: ...

class DescribeRequest(_message.Message):
    __slots__ = ("protocol",)
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    protocol: Version
    def __init__(self, protocol: _Optional[_Union[Version, _Mapping]] = ...) -> None: ...

class DescribeReply(_message.Message):
    __slots__ = ("protocol", "card", "request_bytes")
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    CARD_FIELD_NUMBER: _ClassVar[int]
    REQUEST_BYTES_FIELD_NUMBER: _ClassVar[int]
    protocol: Version
    card: Card
    request_bytes: int
    def __init__(self, protocol: _Optional[_Union[Version, _Mapping]] = ..., card: _Optional[_Union[Card, _Mapping]] = ..., request_bytes: _Optional[int] = ...) -> None: ...

class Card(_message.Message):
    __slots__ = ("name", "version", "releases", "randomized", "seedable", "keeps_data", "max_draws", "noise_epsilon", "noise_delta")
    class Releases(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        RELEASES_UNSPECIFIED: _ClassVar[Card.Releases]
        RELEASES_MICRODATA: _ClassVar[Card.Releases]
        RELEASES_PREDICTIONS: _ClassVar[Card.Releases]
    RELEASES_UNSPECIFIED: Card.Releases
    RELEASES_MICRODATA: Card.Releases
    RELEASES_PREDICTIONS: Card.Releases
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    RELEASES_FIELD_NUMBER: _ClassVar[int]
    RANDOMIZED_FIELD_NUMBER: _ClassVar[int]
    SEEDABLE_FIELD_NUMBER: _ClassVar[int]
    KEEPS_DATA_FIELD_NUMBER: _ClassVar[int]
    MAX_DRAWS_FIELD_NUMBER: _ClassVar[int]
    NOISE_EPSILON_FIELD_NUMBER: _ClassVar[int]
    NOISE_DELTA_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: str
    releases: Card.Releases
    randomized: bool
    seedable: bool
    keeps_data: bool
    max_draws: int
    noise_epsilon: float
    noise_delta: float
    def __init__(self, name: _Optional[str] = ..., version: _Optional[str] = ..., releases: _Optional[_Union[Card.Releases, str]] = ..., randomized: _Optional[bool] = ..., seedable: _Optional[bool] = ..., keeps_data: _Optional[bool] = ..., max_draws: _Optional[int] = ..., noise_epsilon: _Optional[float] = ..., noise_delta: _Optional[float] = ...) -> None: ...

class PutRequest(_message.Message):
    __slots__ = ("digest", "size", "part", "last")
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    PART_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    digest: str
    size: int
    part: bytes
    last: bool
    def __init__(self, digest: _Optional[str] = ..., size: _Optional[int] = ..., part: _Optional[bytes] = ..., last: _Optional[bool] = ...) -> None: ...

class PutReply(_message.Message):
    __slots__ = ("digest",)
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    digest: str
    def __init__(self, digest: _Optional[str] = ...) -> None: ...

class AnswerRequest(_message.Message):
    __slots__ = ("dataset", "digest", "without", "drop", "about", "draws", "seed")
    DATASET_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    WITHOUT_FIELD_NUMBER: _ClassVar[int]
    DROP_FIELD_NUMBER: _ClassVar[int]
    ABOUT_FIELD_NUMBER: _ClassVar[int]
    DRAWS_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    dataset: Dataset
    digest: str
    without: Without
    drop: int
    about: _containers.RepeatedCompositeFieldContainer[Cell]
    draws: int
    seed: int
    def __init__(self, dataset: _Optional[_Union[Dataset, _Mapping]] = ..., digest: _Optional[str] = ..., without: _Optional[_Union[Without, _Mapping]] = ..., drop: _Optional[int] = ..., about: _Optional[_Iterable[_Union[Cell, _Mapping]]] = ..., draws: _Optional[int] = ..., seed: _Optional[int] = ...) -> None: ...

class Without(_message.Message):
    __slots__ = ("digest", "rows")
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    digest: str
    rows: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, digest: _Optional[str] = ..., rows: _Optional[_Iterable[int]] = ...) -> None: ...

class Part(_message.Message):
    __slots__ = ("draw", "table", "predictions", "more", "notes", "question")
    DRAW_FIELD_NUMBER: _ClassVar[int]
    TABLE_FIELD_NUMBER: _ClassVar[int]
    PREDICTIONS_FIELD_NUMBER: _ClassVar[int]
    MORE_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    draw: int
    table: Table
    predictions: Predictions
    more: bool
    notes: _containers.RepeatedScalarFieldContainer[str]
    question: str
    def __init__(self, draw: _Optional[int] = ..., table: _Optional[_Union[Table, _Mapping]] = ..., predictions: _Optional[_Union[Predictions, _Mapping]] = ..., more: _Optional[bool] = ..., notes: _Optional[_Iterable[str]] = ..., question: _Optional[str] = ...) -> None: ...

class Predictions(_message.Message):
    __slots__ = ("values", "rows")
    VALUES_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    values: int
    rows: bytes
    def __init__(self, values: _Optional[int] = ..., rows: _Optional[bytes] = ...) -> None: ...

class Dataset(_message.Message):
    __slots__ = ("schema", "table")
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    TABLE_FIELD_NUMBER: _ClassVar[int]
    schema: Schema
    table: Table
    def __init__(self, schema: _Optional[_Union[Schema, _Mapping]] = ..., table: _Optional[_Union[Table, _Mapping]] = ...) -> None: ...

class Schema(_message.Message):
    __slots__ = ("quasi", "sensitive", "weight")
    QUASI_FIELD_NUMBER: _ClassVar[int]
    SENSITIVE_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    quasi: _containers.RepeatedCompositeFieldContainer[Declaration]
    sensitive: _containers.RepeatedCompositeFieldContainer[Declaration]
    weight: str
    def __init__(self, quasi: _Optional[_Iterable[_Union[Declaration, _Mapping]]] = ..., sensitive: _Optional[_Iterable[_Union[Declaration, _Mapping]]] = ..., weight: _Optional[str] = ...) -> None: ...

class Declaration(_message.Message):
    __slots__ = ("name", "kind", "order", "hierarchy", "notation", "closed", "points", "domain")
    class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        KIND_UNSPECIFIED: _ClassVar[Declaration.Kind]
        KIND_NUMBER: _ClassVar[Declaration.Kind]
        KIND_CATEGORY: _ClassVar[Declaration.Kind]
        KIND_ORDERED: _ClassVar[Declaration.Kind]
        KIND_DATE: _ClassVar[Declaration.Kind]
    KIND_UNSPECIFIED: Declaration.Kind
    KIND_NUMBER: Declaration.Kind
    KIND_CATEGORY: Declaration.Kind
    KIND_ORDERED: Declaration.Kind
    KIND_DATE: Declaration.Kind
    class Closed(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        CLOSED_UNSPECIFIED: _ClassVar[Declaration.Closed]
        CLOSED_BOTH: _ClassVar[Declaration.Closed]
        CLOSED_LEFT: _ClassVar[Declaration.Closed]
        CLOSED_RIGHT: _ClassVar[Declaration.Closed]
        CLOSED_NEITHER: _ClassVar[Declaration.Closed]
    CLOSED_UNSPECIFIED: Declaration.Closed
    CLOSED_BOTH: Declaration.Closed
    CLOSED_LEFT: Declaration.Closed
    CLOSED_RIGHT: Declaration.Closed
    CLOSED_NEITHER: Declaration.Closed
    NAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    HIERARCHY_FIELD_NUMBER: _ClassVar[int]
    NOTATION_FIELD_NUMBER: _ClassVar[int]
    CLOSED_FIELD_NUMBER: _ClassVar[int]
    POINTS_FIELD_NUMBER: _ClassVar[int]
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    name: str
    kind: Declaration.Kind
    order: _containers.RepeatedScalarFieldContainer[str]
    hierarchy: _containers.RepeatedCompositeFieldContainer[Path]
    notation: str
    closed: Declaration.Closed
    points: bool
    domain: Domain
    def __init__(self, name: _Optional[str] = ..., kind: _Optional[_Union[Declaration.Kind, str]] = ..., order: _Optional[_Iterable[str]] = ..., hierarchy: _Optional[_Iterable[_Union[Path, _Mapping]]] = ..., notation: _Optional[str] = ..., closed: _Optional[_Union[Declaration.Closed, str]] = ..., points: _Optional[bool] = ..., domain: _Optional[_Union[Domain, _Mapping]] = ...) -> None: ...

class Path(_message.Message):
    __slots__ = ("names",)
    NAMES_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, names: _Optional[_Iterable[str]] = ...) -> None: ...

class Domain(_message.Message):
    __slots__ = ("ints", "floats", "texts", "spans", "missing")
    INTS_FIELD_NUMBER: _ClassVar[int]
    FLOATS_FIELD_NUMBER: _ClassVar[int]
    TEXTS_FIELD_NUMBER: _ClassVar[int]
    SPANS_FIELD_NUMBER: _ClassVar[int]
    MISSING_FIELD_NUMBER: _ClassVar[int]
    ints: Ints
    floats: Floats
    texts: Texts
    spans: Spans
    missing: int
    def __init__(self, ints: _Optional[_Union[Ints, _Mapping]] = ..., floats: _Optional[_Union[Floats, _Mapping]] = ..., texts: _Optional[_Union[Texts, _Mapping]] = ..., spans: _Optional[_Union[Spans, _Mapping]] = ..., missing: _Optional[int] = ...) -> None: ...

class Spans(_message.Message):
    __slots__ = ("first", "last")
    FIRST_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    first: _containers.RepeatedScalarFieldContainer[int]
    last: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, first: _Optional[_Iterable[int]] = ..., last: _Optional[_Iterable[int]] = ...) -> None: ...

class Table(_message.Message):
    __slots__ = ("rows", "columns")
    ROWS_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    rows: int
    columns: _containers.RepeatedCompositeFieldContainer[Column]
    def __init__(self, rows: _Optional[int] = ..., columns: _Optional[_Iterable[_Union[Column, _Mapping]]] = ...) -> None: ...

class Column(_message.Message):
    __slots__ = ("name", "ints", "floats", "texts", "bools", "codes")
    NAME_FIELD_NUMBER: _ClassVar[int]
    INTS_FIELD_NUMBER: _ClassVar[int]
    FLOATS_FIELD_NUMBER: _ClassVar[int]
    TEXTS_FIELD_NUMBER: _ClassVar[int]
    BOOLS_FIELD_NUMBER: _ClassVar[int]
    CODES_FIELD_NUMBER: _ClassVar[int]
    name: str
    ints: Ints
    floats: Floats
    texts: Texts
    bools: Bools
    codes: bytes
    def __init__(self, name: _Optional[str] = ..., ints: _Optional[_Union[Ints, _Mapping]] = ..., floats: _Optional[_Union[Floats, _Mapping]] = ..., texts: _Optional[_Union[Texts, _Mapping]] = ..., bools: _Optional[_Union[Bools, _Mapping]] = ..., codes: _Optional[bytes] = ...) -> None: ...

class Ints(_message.Message):
    __slots__ = ("values",)
    VALUES_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, values: _Optional[_Iterable[int]] = ...) -> None: ...

class Floats(_message.Message):
    __slots__ = ("values",)
    VALUES_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, values: _Optional[_Iterable[float]] = ...) -> None: ...

class Texts(_message.Message):
    __slots__ = ("values",)
    VALUES_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, values: _Optional[_Iterable[str]] = ...) -> None: ...

class Bools(_message.Message):
    __slots__ = ("values",)
    VALUES_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedScalarFieldContainer[bool]
    def __init__(self, values: _Optional[_Iterable[bool]] = ...) -> None: ...

class Cell(_message.Message):
    __slots__ = ("whole", "number", "text", "truth")
    WHOLE_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    TRUTH_FIELD_NUMBER: _ClassVar[int]
    whole: int
    number: float
    text: str
    truth: bool
    def __init__(self, whole: _Optional[int] = ..., number: _Optional[float] = ..., text: _Optional[str] = ..., truth: _Optional[bool] = ...) -> None: ...

class Request(_message.Message):
    __slots__ = ("describe", "put", "answer")
    DESCRIBE_FIELD_NUMBER: _ClassVar[int]
    PUT_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    describe: DescribeRequest
    put: PutRequest
    answer: AnswerRequest
    def __init__(self, describe: _Optional[_Union[DescribeRequest, _Mapping]] = ..., put: _Optional[_Union[PutRequest, _Mapping]] = ..., answer: _Optional[_Union[AnswerRequest, _Mapping]] = ...) -> None: ...

class Reply(_message.Message):
    __slots__ = ("described", "kept", "part", "done", "problem")
    DESCRIBED_FIELD_NUMBER: _ClassVar[int]
    KEPT_FIELD_NUMBER: _ClassVar[int]
    PART_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    described: DescribeReply
    kept: PutReply
    part: Part
    done: Done
    problem: Problem
    def __init__(self, described: _Optional[_Union[DescribeReply, _Mapping]] = ..., kept: _Optional[_Union[PutReply, _Mapping]] = ..., part: _Optional[_Union[Part, _Mapping]] = ..., done: _Optional[_Union[Done, _Mapping]] = ..., problem: _Optional[_Union[Problem, _Mapping]] = ...) -> None: ...

class Done(_message.Message):
    __slots__ = ("releases",)
    RELEASES_FIELD_NUMBER: _ClassVar[int]
    releases: int
    def __init__(self, releases: _Optional[int] = ...) -> None: ...

class Problem(_message.Message):
    __slots__ = ("code", "message", "retry_after")
    class Code(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        CODE_UNSPECIFIED: _ClassVar[Problem.Code]
        CODE_INVALID: _ClassVar[Problem.Code]
        CODE_UNSUPPORTED: _ClassVar[Problem.Code]
        CODE_UNAUTHENTICATED: _ClassVar[Problem.Code]
        CODE_UNKNOWN_DATA: _ClassVar[Problem.Code]
        CODE_TOO_LARGE: _ClassVar[Problem.Code]
        CODE_BUSY: _ClassVar[Problem.Code]
        CODE_UNAVAILABLE: _ClassVar[Problem.Code]
        CODE_FAILED: _ClassVar[Problem.Code]
    CODE_UNSPECIFIED: Problem.Code
    CODE_INVALID: Problem.Code
    CODE_UNSUPPORTED: Problem.Code
    CODE_UNAUTHENTICATED: Problem.Code
    CODE_UNKNOWN_DATA: Problem.Code
    CODE_TOO_LARGE: Problem.Code
    CODE_BUSY: Problem.Code
    CODE_UNAVAILABLE: Problem.Code
    CODE_FAILED: Problem.Code
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_FIELD_NUMBER: _ClassVar[int]
    code: Problem.Code
    message: str
    retry_after: float
    def __init__(self, code: _Optional[_Union[Problem.Code, str]] = ..., message: _Optional[str] = ..., retry_after: _Optional[float] = ...) -> None: ...
