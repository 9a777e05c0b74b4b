"""Releases as pieces of an answer, and back (proto/oracle/v1). Pure: what arrives is not trusted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from harness.vocabulary.errors import REPLY_LOST, OracleError, ReleaseError
from harness.vocabulary.oracle import Release
from harness.vocabulary.release import Predictions
from harness.vocabulary.table import Table
from oracles.untrusted import MOST_NOTES, quoted, readable_notes
from oracles.wire._pb import oracle_pb2 as pb
from oracles.wire.messages import MOST_BYTES, PART_BYTES
from oracles.wire.tables import Growing, Rows, grown, prediction_parts, table_parts


def check_echo(named: str, question: str) -> None:
    """Raises a ReleaseError if an answer names another question than this digest; an older server names none."""
    if named and named != question:
        raise ReleaseError(f"it sent the answer to another question, {quoted(named)} instead of {question!r}")


def parts(releases: Iterable[Release], question: str = "") -> Iterator[pb.Part]:
    """The pieces of an answer, each below a megabyte; most releases are one piece. `question` is its digest."""
    for draw, release in enumerate(releases):
        pieces = _pieces(release)
        waiting = next(pieces)
        waiting.question = question
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


def assembled(pieces: Iterable[pb.Part], most: int, limit: int = MOST_BYTES, question: str = "") -> Iterator[Release]:
    """The releases that the pieces make up: at most `most` of them, each at most `limit` bytes once decoded.

    `question` is the digest of what was asked, which they may name.
    """
    growing: Growing | Rows | None = None
    notes: list[str] = []
    count = 0
    for part in pieces:
        if count == most:
            raise ReleaseError(f"it sent more than the {most} releases that were asked for")
        if part.draw != count:
            raise ReleaseError(f"it sent a piece of draw {part.draw} where draw {count} was expected")
        if growing is None and question:
            check_echo(part.question, question)
        growing = grown(growing, part, limit)
        notes += part.notes[: MOST_NOTES - len(notes)]
        if not part.more:
            yield _with_notes(growing.finished(), notes)
            growing, notes, count = None, [], count + 1
    if growing is not None:
        raise OracleError(f"the answer broke off in the middle of draw {count}", retryable=True, reason=REPLY_LOST)


def _with_notes(release: Release, notes: Sequence[str]) -> Release:
    """A table with what the other side says about it."""
    return replace(release, notes=readable_notes(notes)) if notes and isinstance(release, Table) else release


def check_done(done: pb.Done, arrived: int) -> None:
    """Raises a ReleaseError unless as many releases arrived as the end of the answer says."""
    if done.releases != arrived:
        raise ReleaseError(f"it says that it sent {done.releases} releases and is done; {arrived} arrived")
