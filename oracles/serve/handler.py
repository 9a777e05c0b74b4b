"""What every transport of a server does with a request: check it, keep datasets, ask the oracle, bound its memory.

Raises messages.Refused and nothing else on purpose. Logs verbs, codes and times, never a record; what the anonymizer
raises, which may quote one, is for its owner alone, on standard error.
"""

from __future__ import annotations

import hmac
import logging
import sys
import threading
import time
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Literal

from harness.vocabulary.answers import checked_answers
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import TABLE_REFUSED, FailedError, HarnessError, OracleError, RaisedError
from harness.vocabulary.oracle import Ask, Oracle, Release
from oracles.serve.dataset_cache import DatasetCache
from oracles.serve.limits import Limits
from oracles.serve.room import Room, size_in_memory
from oracles.wire import json_form, messages, questions
from oracles.wire._pb import oracle_pb2 as pb
from oracles.wire.memory_needed import CELL, dataset_memory, json_memory, question_memory
from oracles.wire.messages import Code, Description, Refused
from oracles.wire.questions import Question

log = logging.getLogger("oracles.serve")
FOR_ITS_OWNER = "its owner finds more on the server's standard error"
DEBUG_CHARACTERS = 1500  # of a traceback that callers are told
Form = Literal["protobuf", "json"]


class OtherData(Refused):
    """Data was put under the digest of other data."""


class Handler:
    """An oracle, as a server offers it. All methods may be called by many threads."""

    def __init__(
        self,
        oracle: Oracle,
        *,
        limits: Limits | None = None,
        token: str | None = None,
        debug: bool = False,  # whether callers are told what the anonymizer raised, and where
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.oracle = oracle
        self.limits = limits or Limits()
        self._token, self._debug = token, debug
        self._room = Room(self.limits.work_bytes)
        self._cache = DatasetCache(self.limits.kept_bytes, self.limits.kept_seconds, clock)
        self._running = 0
        self._changed = threading.Condition()
        self._draining = False

    @property
    def needs_token(self) -> bool:
        return self._token is not None

    def admit(self, authorization: str | None) -> None:
        """Refuse a caller whose `Authorization` is not `Bearer` and the token, if there is a token."""
        scheme, _, token = (authorization or "").partition(" ")
        if self._token is None:
            return
        if scheme.lower() != "bearer" or not hmac.compare_digest(token.strip().encode(), self._token.encode()):
            raise Refused("this oracle needs its token: Authorization: Bearer …", code="UNAUTHENTICATED")

    def describe(self, major: int = 0) -> Description:
        """The card; a caller of another major version is refused."""
        messages.check_major(major, "the client")
        card = replace(self.oracle.card, keeps_data=True)
        return Description(card, self.limits.request_bytes)

    def keeps(self, digest: str) -> bool:
        """Whether the dataset of this digest is kept; it counts as used now."""
        return self._cache.take(digest) is not None

    def put(self, digest: str, pieces: Iterable[bytes], *, form: Form = "protobuf", size: int = 0) -> str:
        """Keep the dataset that the pieces make up, in protobuf or JSON form; the digest it is kept under."""
        with self._refusing("put"), self._counted():
            if self.keeps(digest):  # what the caller is still sending need not be looked at
                return digest
            body = _gathered(pieces, size, self.limits.dataset_bytes)
            actual = messages.digest_of(body)
            if actual != digest:
                raise OtherData(f"the data has the digest {actual}, not {digest[:80]!r}", code="INVALID")
            with self._reading(body, form, dataset_memory):
                data = _read_dataset(body, form)
                kept = size_in_memory((data, data.codes))  # these are computed for some anonymizers, and then stay
                self._cache.put(digest, data, kept)
            return digest

    def answer_to(self, body: bytes, form: Form = "protobuf") -> Generator[Release, None, None]:
        """The releases that the question in these bytes asks for, checked, one after the other."""
        with self._refusing("answer"), self._counted():
            limit = self.limits.request_bytes
            if len(body) > limit:
                raise Refused(f"the question takes {len(body)} bytes; at most {limit} are taken", code="TOO_LARGE")
            with self._reading(body, form, question_memory):
                yield from self._releases(self.question(body, form))

    def answer(self, question: Question) -> Generator[Release, None, None]:
        """The releases that a question asks for, checked, one after the other."""
        with self._refusing("answer"), self._counted():
            yield from self._releases(question)

    def question(self, body: bytes, form: Form) -> Question:
        """The question in these bytes, or a refusal."""
        with _invalid():
            if form == "json":
                return json_form.read_question(json_form.loaded(body))
            return questions.unpack_question(messages.parsed(pb.AnswerRequest, body))

    def _releases(self, question: Question) -> Iterator[Release]:
        ask = self._ask(question)
        cells = ask.data.size * len(ask.data.table.columns) if isinstance(question.data, str) else 0
        with self._room.taken(CELL * cells, self.limits.patience):  # data that came along is counted already
            yield from checked_answers(self.oracle, ask)

    def _reading(self, body: bytes, form: Form, need: Callable[[bytes], int]) -> AbstractContextManager[None]:
        """Room in memory for these bytes once they are read."""
        with _invalid():
            return self._room.taken(json_memory(body) if form == "json" else need(body), self.limits.patience)

    def _ask(self, question: Question) -> Ask:
        data = question.data
        if isinstance(data, str):
            dataset = self._cache.take(data)
            if dataset is None:
                raise Refused("nothing is kept under this digest; put the data again", code="UNKNOWN_DATA")
            data = dataset
        card = self.oracle.card
        most = min(card.max_draws or self.limits.draws, self.limits.draws)
        with _invalid():
            if question.draws > most:
                raise Refused(f"{question.draws} draws are asked for; at most {most} per question", code="INVALID")
            if card.releases == "predictions":
                _check_predictable(question, data)
            return question.of(data)

    def drain(self, grace: float) -> bool:
        """Take no more questions and wait for those under way; whether all were finished in time."""
        with self._changed:
            self._draining = True
            return self._changed.wait_for(lambda: self._running == 0, grace)

    def require_open(self) -> None:
        """Refuses once the server has begun to stop: nobody needs to wait for a turn then."""
        if self._draining:
            raise Refused("this oracle is stopping", code="UNAVAILABLE", retry_after=1.0)

    @contextmanager
    def _counted(self) -> Iterator[None]:
        with self._changed:
            self.require_open()
            self._running += 1
        try:
            yield
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    @contextmanager
    def _refusing(self, verb: str) -> Iterator[None]:
        """Everything that goes wrong becomes a refusal, and a line in the log that holds no data."""
        began = time.perf_counter()
        outcome = "ok"
        try:
            yield
        except GeneratorExit:
            outcome = "abandoned"
            raise
        except Exception as error:
            _show_to_owner(error, verb)
            refused = self._refusal(error)
            outcome = refused.code
            if refused is error:
                raise
            raise refused from error
        finally:
            log.info("%s %s %.0f ms", verb, outcome, 1000 * (time.perf_counter() - began))

    def _refusal(self, error: Exception) -> Refused:
        """What a caller is told: nothing that the anonymizer said, printed or was given, unless its owner wants that.

        What a program or another server says about its failure may quote its code, and the data.
        """
        if isinstance(error, Refused):
            return error
        if not isinstance(error, HarnessError) or isinstance(error, RaisedError):
            kind = error.kind if isinstance(error, RaisedError) else type(error).__name__
            told = _in_full(error) if self._debug else f"the anonymizer raised {kind}; {FOR_ITS_OWNER}"
            return Refused(told, code="FAILED")
        if not isinstance(error, OracleError):
            return Refused(str(error), code="INVALID")
        told = str(error) if self._debug or self.oracle.card.in_process else f"{error.reason}; {FOR_ITS_OWNER}"
        if isinstance(error, FailedError):  # was tried again here already, where its process has ended
            return Refused(told if told.endswith(FOR_ITS_OWNER) else f"{told}; {FOR_ITS_OWNER}", code="FAILED")
        refused: Code = "INVALID" if error.reason == TABLE_REFUSED else "FAILED"
        return Refused(told, code="UNAVAILABLE" if error.retryable else refused)


def _show_to_owner(error: Exception, verb: str) -> None:
    """How the anonymizer failed, on standard error, with the traceback of what it raised in this process.

    What it raised in a process of its own that process has printed already.
    """
    raised = error.__cause__ if isinstance(error, RaisedError) else None if isinstance(error, HarnessError) else error
    if raised is not None:
        traceback.print_exception(raised)
    elif isinstance(error, OracleError) and not isinstance(error, RaisedError | Refused):
        now = datetime.now(UTC).isoformat(timespec="seconds")
        print(f"{now} {verb} failed: {error}", file=sys.stderr, flush=True)


def _in_full(error: Exception) -> str:
    """What the anonymizer raised with its message, and the end of its traceback."""
    raised = error.__cause__ if isinstance(error, RaisedError) and error.__cause__ is not None else error
    notes = getattr(error, "__notes__", None) or traceback.format_exception(raised)
    return f"{error}\n{''.join(notes)[-DEBUG_CHARACTERS:]}"


def _read_dataset(body: bytes, form: Form) -> Dataset:
    with _invalid():
        if form == "json":
            return json_form.read_dataset(json_form.loaded(body))
        return messages.unpack_dataset(messages.parsed(pb.Dataset, body))


def _check_predictable(question: Question, data: Dataset) -> None:
    """A prediction is about somebody, and has one coordinate per joint sensitive value: there may be too many."""
    count = len(data.schema.quasi)
    if len(question.about or ()) != count:
        raise Refused(f"predictions need `about`: one value per quasi-identifier, {count}", code="INVALID")
    _ = data.sensitive_domain


@contextmanager
def _invalid() -> Iterator[None]:
    """What cannot be read here is the caller's mistake."""
    try:
        yield
    except Refused:
        raise
    except HarnessError as error:
        raise Refused(str(error), code="INVALID") from None


def _gathered(pieces: Iterable[bytes], size: int, limit: int) -> bytes:
    taken, length = [], 0
    for piece in pieces:
        taken.append(piece)
        length += len(piece)
        if max(size, length) > limit:
            raise Refused(f"the dataset has more than {limit} bytes; this server keeps none so large", code="TOO_LARGE")
    return b"".join(taken)
