"""Vocabulary to protocol messages and back (proto/oracle/v1). Pure: knows no transport; what arrives is not trusted."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar, get_args

from google.protobuf.message import DecodeError, Message

from harness.vocabulary.dataset import MOST_SENSITIVE_VALUES, Dataset
from harness.vocabulary.errors import InputError, OracleError, ReleaseError
from harness.vocabulary.oracle import Ask, Card, Release
from harness.vocabulary.release import Predictions
from harness.vocabulary.schema import Schema
from harness.vocabulary.table import Table
from harness.vocabulary.values import Raw
from oracles.untrusted import SAID, checked_name, pause, quoted
from oracles.wire._pb import oracle_pb2 as pb
from oracles.wire.declarations import check_domain, pack_schema, unpack_schema
from oracles.wire.tables import Growing, Rows, pack_table, table_parts, unpack_table

MAJOR, MINOR = 1, 0
PART_BYTES: Final = 900_000  # no message of a stream is larger; receivers take up to MESSAGE_BYTES
MESSAGE_BYTES: Final = 4 * 2**20
MOST_BYTES: Final = 128 * 2**20  # of one release, as received and as decoded
DESCRIBE_SECONDS: Final = 30.0  # a card is a constant
Code = Literal[
    "INVALID", "UNSUPPORTED", "UNAUTHENTICATED", "UNKNOWN_DATA", "TOO_LARGE", "BUSY", "UNAVAILABLE", "FAILED"
]
RETRYABLE: Final = frozenset({"BUSY", "UNAVAILABLE"})  # PROTOCOL.md §7; UNKNOWN_DATA after another Put

Some = TypeVar("Some", bound=Message)


class Refused(OracleError):
    """The other side said why there is no answer; raised by servers, sent, and raised again by clients."""

    def __init__(
        self,
        message: str,
        *,
        code: Code = "FAILED",
        retryable: bool | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, retryable=code in RETRYABLE if retryable is None else retryable)
        self.code: Code = code
        self.retry_after = retry_after


@dataclass(frozen=True)
class Description:
    """What Describe answers."""

    card: Card
    request_bytes: int = MESSAGE_BYTES  # the largest question, with its data inline
    protocol: tuple[int, int] = (MAJOR, MINOR)


@dataclass(frozen=True, eq=False)
class Question:
    """An ask as it travels: with its dataset, or with the digest of one that was put before."""

    data: Dataset | str
    drop: int | None = None
    about: tuple[Any, ...] | None = None
    draws: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        if self.draws < 1:
            raise InputError(f"draws must be at least 1, not {self.draws}")
        if not 0 <= self.seed < 2**63:
            raise InputError(f"seed must be a whole number from 0 to 2**63 - 1, not {self.seed}")

    def of(self, data: Dataset) -> Ask:
        """The ask about this dataset."""
        if self.drop is not None and not 0 <= self.drop < data.size:
            raise InputError(f"drop is row {self.drop}; the data has rows 0 to {data.size - 1}")
        return Ask(data, self.drop, self.about, self.draws, self.seed)


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
    return len(body).to_bytes(4, "big") + body


def read_frame(read: Callable[[int], bytes], kind: type[Some], limit: int = MESSAGE_BYTES) -> Some | None:
    """The next message of a stream, None at its end; `read(n)` gives n bytes, or fewer where the stream ends."""
    head = read(4)
    if not head:
        return None
    size = int.from_bytes(head, "big")
    if len(head) < 4 or size > limit:
        what = f"announces {size} bytes, more than {limit}" if len(head) == 4 else "breaks off in its length"
        raise ReleaseError(f"a frame {what}; is something else written to this stream? It begins with {head!r}")
    body = read(size)
    if len(body) < size:
        raise OracleError(f"the stream ended after {len(body)} of a frame's {size} bytes", retryable=True)
    return parsed(kind, body)


# ---- Describe


def describe_request() -> pb.DescribeRequest:
    return pb.DescribeRequest(protocol=pb.Version(major=MAJOR, minor=MINOR))


def check_major(major: int, whose: str) -> None:
    """Other majors are refused; 0 is what a peer sends that says nothing."""
    if major not in (0, MAJOR):
        raise Refused(
            f"{whose} speaks version {major} of the oracle protocol, this side version {MAJOR}; "
            f"both need the same major version",
            code="UNSUPPORTED",
        )


def pack_description(said: Description) -> pb.DescribeReply:
    card = said.card
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
    )
    major, minor = said.protocol
    return pb.DescribeReply(
        protocol=pb.Version(major=major, minor=minor), card=packed, request_bytes=said.request_bytes
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
    )
    return Description(
        checked_card(read), message.request_bytes or MESSAGE_BYTES, (message.protocol.major, message.protocol.minor)
    )


def checked_card(card: Card) -> Card:
    """A card whose numbers make sense and whose texts can be printed, whoever wrote it."""
    checked_name(card.name, "the name on its card")
    checked_name(card.version, "the version on its card")
    if card.max_draws is not None and card.max_draws < 1:
        raise ReleaseError(f"its card allows {card.max_draws} draws per question; expected at least 1")
    if card.noise_epsilon is not None and not 0 < card.noise_epsilon < math.inf:
        raise ReleaseError(f"its card claims a noise_epsilon of {card.noise_epsilon}; expected a positive number")
    return card


# ---- datasets and questions


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
    joint = math.prod(len(domain) for domain in domains[len(schema.quasi) :])
    if joint > MOST_SENSITIVE_VALUES:
        raise InputError(f"the sensitive columns have {joint} joint values, more than {MOST_SENSITIVE_VALUES}")
    for column, domain in zip(schema.quasi, domains, strict=False):
        check_domain(column, domain)
    return Dataset.within(schema, table, domains)


def pack_question(question: Question) -> pb.AnswerRequest:
    about = [_pack_cell(cell) for cell in question.about or ()]
    request = pb.AnswerRequest(drop=question.drop, about=about, draws=question.draws, seed=question.seed)
    if isinstance(question.data, str):
        request.digest = question.data
    else:
        request.dataset.CopyFrom(pack_dataset(question.data))
    return request


def unpack_question(message: pb.AnswerRequest) -> Question:
    """A question, or an InputError that says what is wrong with it."""
    which = message.WhichOneof("data")
    if which is None:
        raise InputError("the question names no data; expected a dataset or a digest")
    return Question(
        message.digest if which == "digest" else unpack_dataset(message.dataset),
        message.drop if message.HasField("drop") else None,
        tuple(_unpack_cell(cell) for cell in message.about) or None,
        message.draws,
        message.seed,
    )


def _pack_cell(cell: Any) -> pb.Cell:
    match cell:
        case None:
            return pb.Cell()
        case bool():
            return pb.Cell(truth=cell)
        case int():
            return pb.Cell(whole=cell)
        case float():
            return pb.Cell(number=cell)
        case _:
            return pb.Cell(text=str(cell))


def _unpack_cell(cell: pb.Cell) -> Any:
    which = cell.WhichOneof("value")
    return None if which is None else getattr(cell, which)


def sized(request: pb.AnswerRequest, limit: int) -> pb.AnswerRequest:
    """The same request, unless the other side would not take one so large."""
    if request.ByteSize() > limit:
        raise Refused(f"the question takes {request.ByteSize()} bytes; the oracle takes {limit}", code="TOO_LARGE")
    return request


def put_requests(digest: str, body: bytes) -> Iterator[pb.PutRequest]:
    """The messages that put these bytes."""
    for start in range(0, max(1, len(body)), PART_BYTES):
        request = pb.PutRequest(part=body[start : start + PART_BYTES], last=start + PART_BYTES >= len(body))
        if start == 0:
            request.digest, request.size = digest, len(body)
        yield request


# ---- releases


def parts(releases: Iterable[Release]) -> Iterator[pb.Part]:
    """The pieces of an answer, each below a megabyte; most releases are one piece."""
    for draw, release in enumerate(releases):
        pieces = _prediction_parts(release) if isinstance(release, Predictions) else _table_parts(release)
        waiting = next(pieces)
        for following in pieces:
            waiting.draw, waiting.more = draw, True
            yield waiting
            waiting = following
        waiting.draw = draw
        yield waiting


def _table_parts(table: Table) -> Iterator[pb.Part]:
    for piece in table_parts(table, PART_BYTES):
        yield pb.Part(table=piece)


def _prediction_parts(predictions: Predictions) -> Iterator[pb.Part]:
    rows = predictions.rows
    if rows.ndim != 2:
        raise ReleaseError(f"the predictions have shape {rows.shape}; expected one row per draw")
    values = rows.shape[1]
    step = max(1, PART_BYTES // max(1, 8 * values))
    for start in range(0, max(1, len(rows)), step):
        packed = rows[start : start + step].astype("<f8").tobytes()
        yield pb.Part(predictions=pb.Predictions(values=values, rows=packed))


def assembled(pieces: Iterable[pb.Part], most: int, limit: int = MOST_BYTES) -> Iterator[Release]:
    """The releases that the pieces make up: at most `most` of them, each at most `limit` bytes once decoded."""
    growing: Growing | Rows | None = None
    count = 0
    for part in pieces:
        if count == most:
            raise ReleaseError(f"it sent more than the {most} releases that were asked for")
        if part.draw != count:
            raise ReleaseError(f"it sent a piece of draw {part.draw} where draw {count} was expected")
        which = part.WhichOneof("piece")
        if which is None:
            raise ReleaseError(f"a piece of draw {count} is neither a table nor predictions")
        kind = Growing if which == "table" else Rows
        if growing is None:
            growing = kind(limit)
        if not isinstance(growing, kind):
            raise ReleaseError(f"the pieces of draw {count} are tables as well as predictions")
        growing.add(getattr(part, which))
        if not part.more:
            yield growing.finished()
            growing, count = None, count + 1
    if growing is not None:
        raise OracleError(f"the answer broke off in the middle of draw {count}", retryable=True)


def check_done(done: pb.Done, arrived: int) -> None:
    """The end of an answer counts its releases as they were counted here."""
    if done.releases != arrived:
        raise ReleaseError(f"it says that it sent {done.releases} releases and is done; {arrived} arrived")


# ---- problems


def pack_problem(problem: Refused) -> pb.Problem:
    return pb.Problem(code=f"CODE_{problem.code}", message=str(problem)[:2000], retry_after=problem.retry_after)


def unpack_problem(message: pb.Problem) -> Refused:
    """What the other side said, as an error; a code of a newer minor version is not retried."""
    known: dict[int, Code] = {pb.Problem.Code.Value(f"CODE_{name}"): name for name in get_args(Code)}
    after = pause(message.retry_after) if message.HasField("retry_after") else None
    return Refused(reason(message.message), code=known.get(message.code, "FAILED"), retry_after=after)


def reason(message: str) -> str:
    """The message of a problem, as our errors quote it."""
    return quoted(message, SAID) if message else "it gave no reason"
