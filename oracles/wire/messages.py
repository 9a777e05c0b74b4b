"""Vocabulary to protocol messages and back (proto/oracle/v1). Pure: knows no transport; what arrives is not trusted."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeVar, get_args

from google.protobuf.message import DecodeError, Message

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import REFUSED, AwayError, FailedError, InputError, OracleError, ReleaseError
from harness.vocabulary.oracle import Ask, Card, Release
from harness.vocabulary.release import Predictions
from harness.vocabulary.schema import Schema
from harness.vocabulary.table import Table
from harness.vocabulary.values import Raw
from oracles.untrusted import MOST_NOTES, SAID, TOKEN_HINT, checked_name, pause, quoted, readable_notes
from oracles.wire._pb import oracle_pb2 as pb
from oracles.wire.declarations import check_domain, pack_schema, unpack_schema
from oracles.wire.tables import Growing, Rows, grown, pack_table, prediction_parts, table_parts, unpack_table

MAJOR, MINOR = 1, 1
SEVERAL_ROWS: Final = (1, 1)  # the version from which a question may leave out several rows by index
MOST_ROWS_LEFT_OUT: Final = 100_000  # by index in one question
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


@dataclass(frozen=True, eq=False)
class Question:
    """An ask as it travels: with its dataset, or with the digest of one that was put before."""

    data: Dataset | str
    drop: tuple[int, ...] = ()  # rows to leave out; several only of data that was put before
    about: tuple[Any, ...] | None = None
    draws: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        if self.draws < 1:
            raise InputError(f"draws must be at least 1, not {self.draws}")
        if not 0 <= self.seed < 2**63:
            raise InputError(f"seed must be a whole number from 0 to 2**63 - 1, not {self.seed}")
        if len(self.drop) > MOST_ROWS_LEFT_OUT:
            raise InputError(f"{len(self.drop)} rows are to be left out; at most {MOST_ROWS_LEFT_OUT} are")
        if len(set(self.drop)) < len(self.drop):
            raise InputError("a row to be left out is named twice; name each once")
        if len(self.drop) > 1 and isinstance(self.data, Dataset):
            raise InputError("several rows can be left out by index only of data that was put; send the other rows")

    def of(self, data: Dataset) -> Ask:
        """The ask about this dataset."""
        beyond = next((row for row in self.drop if not 0 <= row < data.size), None)
        if beyond is not None:
            raise InputError(f"row {beyond} is to be left out; the data has rows 0 to {data.size - 1}")
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
    for column, domain in zip(schema.quasi, domains, strict=False):
        check_domain(column, domain)
    return Dataset.within(schema, table, domains)


def pack_question(question: Question) -> pb.AnswerRequest:
    about = [_pack_cell(cell) for cell in question.about or ()]
    request = pb.AnswerRequest(about=about, draws=question.draws, seed=question.seed)
    if isinstance(question.data, Dataset):
        request.dataset.CopyFrom(pack_dataset(question.data))
    elif len(question.drop) > 1:
        request.without.CopyFrom(pb.Without(digest=question.data, rows=question.drop))
    else:
        request.digest = question.data
    if len(question.drop) == 1:
        request.drop = question.drop[0]
    return request


def unpack_question(message: pb.AnswerRequest) -> Question:
    """A question, or an InputError that says what is wrong with it."""
    which = message.WhichOneof("data")
    if which is None:
        raise InputError("the question names no data; expected a dataset, the digest of one, or such data without rows")
    data = message.without.digest if which == "without" else message.digest
    return Question(
        unpack_dataset(message.dataset) if which == "dataset" else data,
        rows_left_out(
            message.drop if message.HasField("drop") else None, message.without.rows if which == "without" else None
        ),
        tuple(_unpack_cell(cell) for cell in message.about) or None,
        message.draws,
        message.seed,
    )


def rows_left_out(drop: int | None, without: Sequence[int] | None) -> tuple[int, ...]:
    """The rows that a question leaves out: the one of `drop`, or those of `without`.

    A `without` that names no row is refused: a client that lost the rows must not be given a release of them all.
    """
    if without is None:
        return () if drop is None else (drop,)
    if drop is not None:
        raise InputError("the question has drop as well as without; expected one of them")
    if not without:
        raise InputError("without names no rows; expected at least one")
    return tuple(without[: MOST_ROWS_LEFT_OUT + 1])  # one too many is refused by the Question


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
        pieces = _pieces(release)
        waiting = next(pieces)
        if isinstance(release, Table):
            waiting.notes.extend(readable_notes(release.notes))
        for following in pieces:
            waiting.draw, waiting.more = draw, True
            yield waiting
            waiting = following
        waiting.draw = draw
        yield waiting


def _pieces(release: Release) -> Iterator[pb.Part]:
    if isinstance(release, Predictions):
        return (pb.Part(predictions=piece) for piece in prediction_parts(release, PART_BYTES))
    return (pb.Part(table=piece) for piece in table_parts(release, PART_BYTES))


def assembled(pieces: Iterable[pb.Part], most: int, limit: int = MOST_BYTES) -> Iterator[Release]:
    """The releases that the pieces make up: at most `most` of them, each at most `limit` bytes once decoded."""
    growing: Growing | Rows | None = None
    notes: list[str] = []
    count = 0
    for part in pieces:
        if count == most:
            raise ReleaseError(f"it sent more than the {most} releases that were asked for")
        if part.draw != count:
            raise ReleaseError(f"it sent a piece of draw {part.draw} where draw {count} was expected")
        growing = grown(growing, part, limit)
        notes += part.notes[: MOST_NOTES - len(notes)]
        if not part.more:
            yield _with_notes(growing.finished(), notes)
            growing, notes, count = None, [], count + 1
    if growing is not None:
        raise OracleError(f"the answer broke off in the middle of draw {count}", retryable=True)


def _with_notes(release: Release, notes: Sequence[str]) -> Release:
    """A table with what the other side says about it."""
    return replace(release, notes=readable_notes(notes)) if notes and isinstance(release, Table) else release


def check_done(done: pb.Done, arrived: int) -> None:
    """Raises a ReleaseError unless as many releases arrived as the end of the answer says."""
    if done.releases != arrived:
        raise ReleaseError(f"it says that it sent {done.releases} releases and is done; {arrived} arrived")


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
