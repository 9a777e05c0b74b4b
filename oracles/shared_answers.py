"""Answers that several audits of one oracle share: each question is asked once, and its answer kept in a folder.

For audits that differ in who infers and how predictions are compared, not in what f is asked. An audit still asks the
oracle itself whatever is to show that it answers as before: its first questions, and those that it repeats.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

from harness.vocabulary.errors import HarnessError, OracleError
from harness.vocabulary.oracle import Ask, Oracle, Release
from oracles.middleware import Wrapper
from oracles.recording import Keys
from oracles.wire._pb import oracle_pb2 as pb
from oracles.wire.answers import assembled, parts
from oracles.wire.messages import MOST_BYTES, frame, read_frame

MOST_KEPT = 2 * 2**30  # bytes that one process keeps; further answers are asked for again


class SharedAnswers(Wrapper):
    """The inner oracle, with the answers that are in the folder and those that are added to it."""

    def __init__(self, inner: Oracle, folder: Path) -> None:
        self.inner, self.folder = inner, folder
        self._keys = Keys()
        self._kept = 0

    def __reduce__(self) -> tuple[Any, ...]:
        return SharedAnswers, (self.inner, self.folder)

    def answer(self, ask: Ask) -> Iterator[Release]:
        path = self._path(ask)
        known = _read(path, ask.draws)
        if known is not None:
            yield from known
            return
        releases = []
        for release in self.inner.answer(ask):
            releases.append(release)
            yield release
        if self._kept < MOST_KEPT:
            self._kept += _write(path, releases)

    def _path(self, ask: Ask) -> Path:
        key = self._keys.of(ask)
        return self.folder / key[:2] / key


def _read(path: Path, draws: int) -> list[Release] | None:
    """The kept answer; None where there is none, or none that is whole."""
    try:
        stream = BytesIO(zlib.decompress(path.read_bytes()))
        pieces = iter(lambda: read_frame(stream.read, pb.Part, limit=MOST_BYTES), None)
        return list(assembled((piece for piece in pieces if piece is not None), draws))
    except (OSError, zlib.error, OracleError):
        return None


def _write(path: Path, releases: list[Release]) -> int:
    """Keep an answer whole or not at all; a disk that refuses it costs a question, not the audit."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    with suppress(OSError, HarnessError):  # cells that the protocol cannot carry are asked for again, too
        content = zlib.compress(b"".join(frame(part) for part in parts(releases)), 1)
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(content)
        partial.replace(path)
        return len(content)
    return 0
