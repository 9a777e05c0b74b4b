"""Questions as they travel, and back (proto/oracle/v1). Pure: knows no transport; what arrives is not trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError
from harness.vocabulary.oracle import Ask
from oracles.wire._pb import oracle_pb2 as pb
from oracles.wire.messages import Refused, pack_dataset, unpack_dataset

MOST_ROWS_LEFT_OUT: Final = 100_000  # by index in one question


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
