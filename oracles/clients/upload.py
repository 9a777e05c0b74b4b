"""How a dataset reaches a server: inline, or put once and then named by its digest. Knows no transport."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Protocol
from weakref import WeakKeyDictionary, WeakSet

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import ReleaseError
from harness.vocabulary.oracle import Ask, Release
from harness.vocabulary.table import Table
from oracles.untrusted import checked_most_rows, most_rows, require_few_rows
from oracles.wire.messages import SEVERAL_ROWS, Description, Refused, digest_of
from oracles.wire.questions import MOST_ROWS_LEFT_OUT, Question


class Link(Protocol):
    """One transport, as the sender needs it; every method may be called by several threads at once."""

    def pack(self, data: Dataset) -> bytes:
        """The dataset as `put` sends it."""

    def put(self, digest: str, body: bytes) -> str:
        """Have these bytes kept; the digest that the other side says it keeps."""

    def ask(self, question: Question) -> Iterator[Release]:
        """The releases, as they arrive; a question too large for the other side is Refused with TOO_LARGE."""


class Sender:
    """Answers asks over a link.

    A dataset is put when it is asked about by index, for the second time, or is too large to go inline; one
    that a server does not keep always goes inline, less the rows that are left out. So does one of which several
    rows are left out, if the server's version of the protocol cannot name several rows.
    """

    def __init__(self, link: Link, description: Description, max_rows: int | None = None) -> None:
        self.link, self.max_rows = link, checked_most_rows(max_rows)
        self.description = description
        self._lock = threading.Lock()
        self._seen: WeakSet[Dataset] = WeakSet()
        self._put: WeakKeyDictionary[Dataset, str] = WeakKeyDictionary()

    def answer(self, ask: Ask) -> Iterator[Release]:
        most = most_rows(ask.data.size, self.max_rows)
        for release in self._answered(ask):
            if isinstance(release, Table):
                require_few_rows(max([release.rows, *(len(cells.palette) for cells in release.columns)]), most)
            yield release

    def _answered(self, ask: Ask) -> Iterator[Release]:
        if not self._can_name_rows(ask):
            ask = _of_the_other_rows(ask)
        if self._named(ask):
            yield from self._by_digest(ask)
            return
        try:
            inline = _of_the_other_rows(ask)
            yield from self.link.ask(Question(inline.data, (), ask.about, ask.draws, ask.seed))
        except Refused as refused:
            if refused.code != "TOO_LARGE" or not self.description.card.keeps_data:
                raise
            yield from self._by_digest(ask)

    def _can_name_rows(self, ask: Ask) -> bool:
        """Whether the other side understands a question that leaves out these rows by index."""
        several = self.description.protocol >= SEVERAL_ROWS and len(ask.drop) <= MOST_ROWS_LEFT_OUT
        return several or len(ask.drop) <= 1

    def _named(self, ask: Ask) -> bool:
        """Whether to name the data rather than send it along."""
        if not self.description.card.keeps_data:
            return False
        with self._lock:
            seen = ask.data in self._seen
            self._seen.add(ask.data)
        return seen or bool(ask.drop)

    def _by_digest(self, ask: Ask) -> Iterator[Release]:
        digest = self._uploaded(ask.data)
        question = Question(digest, ask.drop, ask.about, ask.draws, ask.seed)
        try:
            yield from self.link.ask(question)
        except Refused as refused:
            if refused.code != "UNKNOWN_DATA":  # which comes before any release
                raise
            self._forget(ask.data, digest)  # it expired, or the server began anew
            self._uploaded(ask.data)
            yield from self.link.ask(question)

    def forget_all(self) -> None:
        """The other side began anew and keeps nothing."""
        with self._lock:
            self._put.clear()

    def _uploaded(self, data: Dataset) -> str:
        """The digest under which the other side now keeps the data; threads that need it wait for one upload."""
        with self._lock:
            if data not in self._put:
                body = self.link.pack(data)
                digest = digest_of(body)
                kept = self.link.put(digest, body)
                if kept != digest:
                    raise ReleaseError(f"it keeps the data under {kept[:80]!r}, but was given {digest}")
                self._put[data] = digest
            return self._put[data]

    def _forget(self, data: Dataset, digest: str) -> None:
        with self._lock:
            if self._put.get(data) == digest:
                del self._put[data]


def _of_the_other_rows(ask: Ask) -> Ask:
    """The same question about the rows that are not left out, as a dataset of its own."""
    return replace(ask, data=ask.data.without(ask.drop), drop=()) if ask.drop else ask
