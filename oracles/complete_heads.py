"""Replies whose head is complete; one that the end of the connection cuts off is an error.

Python's own reader takes such a head for a complete one with fewer headers, and so a lost reply for an empty success.
"""

from __future__ import annotations

import http.client
import io
import socket


class CompleteHead(http.client.HTTPResponse):
    """A reply of which every line that matters arrived up to its end: in the head and before each chunk."""

    def __init__(
        self, sock: socket.socket, debuglevel: int = 0, method: str | None = None, url: str | None = None
    ) -> None:
        super().__init__(sock, debuglevel, method, url)
        self._lines = _WholeLines(self.fp.detach())  # nothing was read yet
        self.fp = self._lines

    def begin(self) -> None:
        """Reads the head; a RemoteDisconnected if the connection ends in it."""
        self._lines.in_head = True
        super().begin()
        self._lines.in_head = False


class _WholeLines(io.BufferedReader):
    """The bytes of a reply; a line that the end of the connection cuts off is an error."""

    in_head = False
    has_begun = False

    def readline(self, size: int | None = -1, /) -> bytes:
        line = super().readline(size)
        is_end = line == b"" and not (self.in_head and self.has_begun)  # which http.client knows how to treat
        if not (line.endswith(b"\n") or len(line) == size or is_end):
            raise http.client.RemoteDisconnected("the connection ended in the middle of the reply")
        self.has_begun = True
        return line
