"""What every transport of a server does with a request: check it, keep datasets, ask the oracle, bound it all.

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
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from harness.vocabulary.answers import checked_answers
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import FailedError, HarnessError, OracleError, RaisedError
from harness.vocabulary.oracle import Ask, Oracle, Release
from oracles.serve.dataset_cache import DatasetCache
from oracles.wire import json_form, messages
from oracles.wire._pb import oracle_pb2 as pb
from oracles.wire.messages import Description, Question, Refused

log = logging.getLogger("oracles.serve")
FOR_ITS_OWNER = "its owner finds more on the server's standard error"


@dataclass(frozen=True)
class Limits:
    """How much a server accepts, keeps and does at once."""

    request_bytes: int = 64 * 2**20  # one question with its data
    dataset_bytes: int = 64 * 2**20  # one dataset that is put
    kept_bytes: int = 2**30  # all datasets together; the longest unused make room
    kept_seconds: float = 3600.0  # since it was last used
    concurrency: int = 1  # questions worked on at once; more only for anonymizers that can be called by threads
    patience: float = 5.0  # seconds that a question waits for its turn; then its client is asked to come again
    draws: int = 1_000_000  # per question

    @property
    def message_bytes(self) -> int:
        """The largest message of any verb: a question with its envelope, or a piece of a dataset."""
        return max(self.request_bytes, messages.MESSAGE_BYTES) + 2**16


class Handler:
    """An oracle, as a server offers it. All methods may be called by many threads."""

    def __init__(
        self,
        oracle: Oracle,
        *,
        limits: Limits | None = None,
        token: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.oracle = oracle
        self.limits = limits or Limits()
        self._token = token
        self._cache = DatasetCache(self.limits.kept_bytes, self.limits.kept_seconds, clock)
        self._turns = threading.BoundedSemaphore(self.limits.concurrency)
        self._running = 0
        self._changed = threading.Condition()
        self._draining = False

    def admit(self, authorization: str | None) -> None:
        """Refuse a caller whose `Authorization` is not `Bearer` and the token, if there is a token."""
        expected = f"Bearer {self._token}"
        if self._token is not None and not hmac.compare_digest((authorization or "").encode(), expected.encode()):
            raise Refused("this oracle needs its token: Authorization: Bearer …", code="UNAUTHENTICATED")

    def describe(self, major: int = 0) -> Description:
        """The card; a caller of another major version is refused."""
        messages.check_major(major, "the client")
        card = replace(self.oracle.card, keeps_data=True)
        return Description(card, self.limits.request_bytes)

    def put(self, digest: str, pieces: Iterable[bytes], *, form: str = "protobuf", size: int = 0) -> str:
        """Keep the dataset that the pieces make up, in protobuf or JSON form; the digest it is kept under."""
        with self._refusing("put"), self._counted():
            if self._cache.take(digest) is not None:  # what the caller is still sending need not be looked at
                return digest
            body = _gathered(pieces, size, self.limits.dataset_bytes)
            actual = messages.digest_of(body)
            if actual != digest:
                raise Refused(f"the data has the digest {actual}, not {digest[:80]!r}", code="INVALID")
            data = self._read(body, form)
            self._cache.put(digest, data, len(body) + 16 * data.size * len(data.table.columns))
            return digest

    def _read(self, body: bytes, form: str) -> Dataset:
        with _invalid():
            if form == "json":
                return json_form.read_dataset(json_form.loaded(body))
            return messages.unpack_dataset(messages.parsed(pb.Dataset, body))

    def question(self, message: pb.AnswerRequest) -> Question:
        """The question of a message, or a refusal."""
        with _invalid():
            return messages.unpack_question(messages.sized(message, self.limits.request_bytes))

    def json_question(self, body: bytes) -> Question:
        """The question of a JSON body, or a refusal."""
        if len(body) > self.limits.request_bytes:
            raise Refused(f"the question takes more than {self.limits.request_bytes} bytes", code="TOO_LARGE")
        with _invalid():
            return json_form.read_question(json_form.loaded(body))

    def answer(self, question: Question) -> Generator[Release, None, None]:
        """The releases, checked, one after the other; waits for its turn, and gives it back when done or closed."""
        with self._refusing("answer"), self._counted():
            ask = self._ask(question)
            if not self._turns.acquire(timeout=self.limits.patience):
                raise Refused("too many questions at once; ask again later", code="BUSY", retry_after=1.0)
            try:
                yield from checked_answers(self.oracle, ask)
            finally:
                self._turns.release()

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

    @contextmanager
    def _counted(self) -> Iterator[None]:
        with self._changed:
            if self._draining:
                raise Refused("this oracle is stopping", code="UNAVAILABLE", retry_after=1.0)
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
            refused = _refusal(error)
            outcome = refused.code
            if refused is error:
                raise
            raise refused from error
        finally:
            log.info("%s %s %.0f ms", verb, outcome, 1000 * (time.perf_counter() - began))


def _refusal(error: Exception) -> Refused:
    if isinstance(error, Refused):
        return error
    if isinstance(error, RaisedError):  # what it says may be the vendor's secret: its own standard error holds that
        return Refused(_raised(error.kind), code="FAILED")
    if isinstance(error, FailedError):  # was tried again here already, where its process has ended
        return Refused(f"{error}; {FOR_ITS_OWNER}", code="FAILED")
    if isinstance(error, OracleError):
        return Refused(str(error), code="UNAVAILABLE" if error.retryable else "FAILED")
    if isinstance(error, HarnessError):
        return Refused(str(error), code="INVALID")
    return Refused(_raised(type(error).__name__), code="FAILED")


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


def _raised(kind: str) -> str:
    return f"the anonymizer raised {kind}; {FOR_ITS_OWNER}"


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
    body = bytearray()
    for piece in pieces:
        body += piece
        if max(size, len(body)) > limit:
            raise Refused(f"the dataset has more than {limit} bytes; this server keeps none so large", code="TOO_LARGE")
    return bytes(body)
