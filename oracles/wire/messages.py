"""Vocabulary to protocol messages and back (proto/oracle/v1). Pure: knows no transport; what arrives is not trusted."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeVar, get_args

from google.protobuf.message import DecodeError, Message

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import REFUSED, REPLY_LOST, AwayError, FailedError, InputError, OracleError, ReleaseError
from harness.vocabulary.oracle import Card
from harness.vocabulary.schema import Schema
from harness.vocabulary.table import Table
from harness.vocabulary.values import Raw
from oracles.untrusted import SAID, TOKEN_HINT, checked_name, pause, quoted
from oracles.wire._pb import oracle_pb2 as pb
from oracles.wire.declarations import check_domain, pack_schema, unpack_schema
from oracles.wire.tables import pack_table, unpack_table

MAJOR, MINOR = 1, 2
SEVERAL_ROWS: Final = (1, 1)  # the version from which a question may leave out several rows by index
PART_BYTES: Final = 900_000  # no message of a stream is larger; receivers take up to MESSAGE_BYTES
MESSAGE_BYTES: Final = 4 * 2**20
FRAME_HEAD: Final = 4  # bytes that say how long the message of a frame is
MOST_BYTES: Final = 128 * 2**20  # of one release, as received and as decoded
DESCRIBE_SECONDS: Final = 30.0  # a card is a constant
Code = Literal[
    "INVALID", "UNSUPPORTED", "UNAUTHENTICATED", "UNKNOWN_DATA", "TOO_LARGE", "BUSY", "UNAVAILABLE", "FAILED"
]
RETRYABLE: Final = frozenset({"BUSY", "UNAVAILABLE"})  # PROTOCOL.md §7; UNKNOWN_DATA after another Put

Some = TypeVar("Some", bound=Message)


class Refused(OracleError):
    """There is no answer, for a reason of the closed table of codes; raised by servers, sent, raised by clients."""

    reason = REFUSED

    def __init__(
        self,
        message: str,
        *,
        code: Code = "FAILED",
        retryable: bool | None = None,
        retry_after: float | None = None,
    ) -> None:
        OracleError.__init__(self, message, retryable=code in RETRYABLE if retryable is None else retryable)
        self.code: Code = code
        self.retry_after = retry_after


class Failed(Refused, FailedError):
    """The anonymizer behind a server failed: code FAILED, as a client raises it."""

    reason = FailedError.reason


class Busy(Refused, AwayError):
    """The server asks to be asked later: code BUSY or UNAVAILABLE, as a client raises it."""

    reason = AwayError.reason


@dataclass(frozen=True)
class Description:
    """What Describe answers."""

    card: Card
    request_bytes: int = MESSAGE_BYTES  # the largest question, with its data inline
    protocol: tuple[int, int] = (MAJOR, MINOR)


# ---- bytes


def digest_of(body: bytes) -> str:
    """The address of a dataset: SHA-256 of its bytes exactly as they are put."""
    return hashlib.sha256(body).hexdigest()


def parsed(kind: type[Some], data: bytes) -> Some:
    """A message of this kind; bytes that are none are the other side's fault."""
    try:
        return kind.FromString(data)
    except DecodeError:
        raise ReleaseError(f"{len(data)} bytes arrived that are no {kind.DESCRIPTOR.name} message") from None


def frame(message: Message) -> bytes:
    """A message as it stands on standard output or in an HTTP body: its length in four bytes, big end first."""
    body = message.SerializeToString()
    return len(body).to_bytes(FRAME_HEAD, "big") + body


def read_frame(read: Callable[[int], bytes], kind: type[Some], limit: int = MESSAGE_BYTES) -> Some | None:
    """The next message of a stream, None at its end; `read(n)` gives n bytes, or fewer where the stream ends."""
    head = read(FRAME_HEAD)
    if not head:
        return None
    size = int.from_bytes(head, "big")
    hint = f"is something else written to this stream? It begins with {head!r}"
    if len(head) < FRAME_HEAD:
        raise OracleError(f"a frame breaks off in its length; {hint}", retryable=True, reason=REPLY_LOST)
    if size > limit:
        raise ReleaseError(f"a frame announces {size} bytes, more than {limit}; {hint}")
    body = read(size)
    if len(body) < size:
        words = f"the stream ended after {len(body)} of a frame's {size} bytes"
        raise OracleError(words, retryable=True, reason=REPLY_LOST)
    return parsed(kind, body)


# ---- Describe


def describe_request() -> pb.DescribeRequest:
    return pb.DescribeRequest(protocol=pb.Version(major=MAJOR, minor=MINOR))


def check_major(major: int, whose: str) -> None:
    """Refuses another major version; 0 means that the other side did not say."""
    if major not in (0, MAJOR):
        raise Refused(
            f"{whose} speaks version {major} of the oracle protocol, this side version {MAJOR}; "
            f"both need the same major version",
            code="UNSUPPORTED",
        )


def pack_description(description: Description) -> pb.DescribeReply:
    card = description.card
    releases = pb.Card.RELEASES_PREDICTIONS if card.releases == "predictions" else pb.Card.RELEASES_MICRODATA
    packed = pb.Card(
        name=card.name,
        version=card.version,
        releases=releases,
        randomized=card.randomized,
        seedable=card.seedable,
        keeps_data=card.keeps_data,
        max_draws=card.max_draws,
        noise_epsilon=card.noise_epsilon,
        noise_delta=card.noise_delta,
    )
    major, minor = description.protocol
    return pb.DescribeReply(
        protocol=pb.Version(major=major, minor=minor), card=packed, request_bytes=description.request_bytes
    )


def unpack_description(message: pb.DescribeReply) -> Description:
    """What the other side says of itself, as the card of an oracle that is waited for."""
    check_major(message.protocol.major, "the oracle")
    card = message.card
    kinds: dict[int, Literal["microdata", "predictions"]] = {1: "microdata", 2: "predictions"}
    if not card.name or card.releases not in kinds:
        raise ReleaseError("its card says neither its name nor what it releases; both are needed")
    read = Card(
        name=card.name,
        version=card.version,
        releases=kinds[card.releases],
        randomized=card.randomized if card.HasField("randomized") else None,
        seedable=card.seedable,
        keeps_data=card.keeps_data,
        in_process=False,
        max_draws=card.max_draws if card.HasField("max_draws") else None,
        noise_epsilon=card.noise_epsilon if card.HasField("noise_epsilon") else None,
        noise_delta=card.noise_delta if card.HasField("noise_delta") else None,
    )
    return Description(
        checked_card(read), message.request_bytes or MESSAGE_BYTES, (message.protocol.major, message.protocol.minor)
    )


def checked_card(card: Card) -> Card:
    """The card, or a ReleaseError: numbers in range and texts that can be printed."""
    checked_name(card.name, "the name on its card")
    checked_name(card.version, "the version on its card")
    if card.max_draws is not None and card.max_draws < 1:
        raise ReleaseError(f"its card allows {card.max_draws} draws per question; expected at least 1")
    if card.noise_epsilon is not None and not 0 < card.noise_epsilon < math.inf:
        raise ReleaseError(f"its card claims a noise_epsilon of {card.noise_epsilon}; expected a positive number")
    if card.noise_delta is not None and not 0 <= card.noise_delta < 1:
        raise ReleaseError(f"its card claims a noise_delta of {card.noise_delta}; expected a number from 0 to below 1")
    return card


# ---- datasets


def pack_dataset(data: Dataset) -> pb.Dataset:
    return pb.Dataset(schema=pack_schema(data), table=pack_table(data.table))


def unpack_dataset(message: pb.Dataset) -> Dataset:
    """A dataset as its owner knows it, or an InputError that says what is wrong with it."""
    schema, domains = unpack_schema(message.schema)
    try:
        table = unpack_table(message.table)
    except ReleaseError as error:
        raise InputError(f"the dataset cannot be read: {error}") from None
    return checked_dataset(schema, table, domains)


def checked_dataset(schema: Schema, table: Table, domains: Sequence[Sequence[Raw]]) -> Dataset:
    """The dataset of a schema, a table and domains that arrived together, and fit together."""
    if table.names != schema.names:
        raise InputError(
            f"the table has the columns {list(table.names)[:12]}; the schema declares {list(schema.names)[:12]}, "
            "quasi-identifiers first, and the table must hold exactly those in that order"
        )
    for column, domain in zip(schema.quasi, domains, strict=False):
        check_domain(column, domain)
    return Dataset.within(schema, table, domains)


def put_requests(digest: str, body: bytes) -> Iterator[pb.PutRequest]:
    """The messages that put these bytes."""
    for start in range(0, max(1, len(body)), PART_BYTES):
        request = pb.PutRequest(part=body[start : start + PART_BYTES], last=start + PART_BYTES >= len(body))
        if start == 0:
            request.digest, request.size = digest, len(body)
        yield request


# ---- problems


def pack_problem(problem: Refused) -> pb.Problem:
    return pb.Problem(code=f"CODE_{problem.code}", message=str(problem)[:2000], retry_after=problem.retry_after)


def unpack_problem(message: pb.Problem) -> Refused:
    """The problem that the other side names, as an error; a code of a newer minor version is not retried."""
    known: dict[int, Code] = {pb.Problem.Code.Value(f"CODE_{name}"): name for name in get_args(Code)}
    after = pause(message.retry_after) if message.HasField("retry_after") else None
    return read_problem(message.message, known.get(message.code, "FAILED"), after)


def read_problem(message: str, code: Code, retry_after: float | None) -> Refused:
    """A problem as an error: its message quoted, and what to do about it where that is known here."""
    reason = quoted(message, SAID) if message else "it gave no reason"
    hint = f"; {TOKEN_HINT}" if code == "UNAUTHENTICATED" else ""
    kind = Failed if code == "FAILED" else Busy if code in RETRYABLE else Refused
    return kind(f"{reason}{hint}", code=code, retry_after=retry_after)


def placed_problem(problem: Refused, where: str) -> Refused:
    """The same problem, and which server refused, or failed."""
    return problem.within(f"{where} {'failed' if isinstance(problem, Failed) else 'refused'}")
