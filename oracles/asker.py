"""Whether somebody still waits for the answer that a thread works on. Knows no transport.

A server tells each thread which asker it works for; clients that wait for a process or another machine look now and
then, so that a question whose asker has gone does not hold that process, or the only turn of a server.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from harness.vocabulary.errors import OracleError

_mine = threading.local()  # .asker of the question that this thread works on, where a server told it


class Asker:
    """Whoever waits for one answer."""

    def __init__(self) -> None:
        self._gone = threading.Event()

    def leave(self) -> None:
        """Nobody waits any more."""
        self._gone.set()

    @contextmanager
    def served(self) -> Iterator[None]:
        """What this thread does inside is done for this asker."""
        _mine.asker = self
        try:
            yield
        finally:
            _mine.asker = None

    def require(self) -> None:
        """Raises an OracleError if nobody waits any more."""
        if self._gone.is_set():
            raise OracleError("whoever asked this question has gone")


def require_asker() -> None:
    """Raises an OracleError if the asker that this thread works for has gone; does nothing without one."""
    asker: Asker | None = getattr(_mine, "asker", None)
    if asker is not None:
        asker.require()
