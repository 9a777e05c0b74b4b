"""Answers recorded in a file, and replayed from it without the oracle. A question is known by its content.

The file is JSON lines: the card of the recorded oracle first, then per answer the digest of its ask and the
releases in the protocol's JSON form. An ask that was answered several times is replayed in the recorded order.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from harness.vocabulary.errors import InputError, OracleError, ReleaseError
from harness.vocabulary.oracle import Ask, Card, Oracle, Release
from harness.vocabulary.private_files import open_private
from harness.vocabulary.schema import Schema
from oracles.middleware import Wrapper
from oracles.wire.json_form import json_releases, read_releases

FORMAT = 2
BEGINNING = b'{"ask":"'
DIGEST = slice(len(BEGINNING), len(BEGINNING) + 64)
ENDING = b"]}\n"


class Keys:
    """The digest of what an ask says: the rows f sees, how they are declared, and what is wanted of them."""

    def __init__(self) -> None:
        self._declared: tuple[Schema | None, str] = (None, "")

    def of(self, ask: Ask) -> str:
        words = [ask.table.digest, self._declaration(ask), ask.about, ask.draws, ask.seed]
        return hashlib.sha256(json.dumps(words).encode()).hexdigest()

    def _declaration(self, ask: Ask) -> str:
        """The declarations as text; kept, because all asks of an audit share a schema that may be large."""
        schema, text = self._declared
        if schema is not ask.data.schema:
            schema = ask.data.schema
            columns = {column.name: column.summary() for column in (*schema.quasi, *schema.sensitive)}
            domains = [list(map(str, reading.domain)) for reading in ask.data.readings[len(schema.quasi) :]]
            text = json.dumps([columns, len(schema.quasi), schema.weight, domains])
            self._declared = (schema, text)
        return text


class Recording(Wrapper):
    """Every complete answer of the inner oracle is added to the file at `path` before the next is asked for."""

    def __init__(self, inner: Oracle, path: str | Path) -> None:
        self.inner, self.path = inner, Path(path)
        self._keys = Keys()
        self._lock = threading.Lock()
        self._begun = False

    def __reduce__(self) -> tuple[Any, ...]:
        return Recording, (self.inner, self.path)

    def answer(self, ask: Ask) -> Iterator[Release]:
        self._begin()
        releases = []
        for release in self.inner.answer(ask):
            releases.append(release)
            yield release
        self._append({"ask": self._keys.of(ask), **json_releases(releases)})

    def _begin(self) -> None:
        """Continue the recording of the same oracle, or begin one; a line torn by a crash is closed."""
        with self._lock:
            if self._begun:
                return
            if self.path.exists() and self.path.stat().st_size:
                recorded = _header(self.path)
                if recorded != self.inner.card:
                    other = recorded.name
                    raise InputError(f"{self.path} is the recording of another oracle, {other!r}; name a new file")
                if _torn(self.path):
                    self._write(b"\n")
            else:
                self._write(_line({"recording": FORMAT, "card": asdict(self.inner.card)}))
            self._begun = True

    def _append(self, entry: dict[str, Any]) -> None:
        with self._lock:
            self._write(_line(entry))

    def _write(self, line: bytes) -> None:
        """Appends a line in one piece, so that lines of several processes do not mix."""
        try:
            with open(open_private(self.path, os.O_WRONLY | os.O_APPEND), "ab", buffering=0) as file:
                file.write(line)
        except OSError as error:
            raise InputError(f"{self.path}: cannot be written: {error.strerror}") from None


class Replaying:
    """The oracle that a file recorded. What was not asked then cannot be answered now."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.card = replace(_header(self.path), in_process=False)
        self._keys = Keys()
        self._lock = threading.Lock()
        self._places = _places(self.path)
        self._asked: dict[str, int] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return Replaying, (self.path,)

    def answer(self, ask: Ask) -> Iterator[Release]:
        key = self._keys.of(ask)
        places = self._places.get(key)
        if places is None:
            raise OracleError(
                f"{self.path} holds no answer to this question "
                f"({ask.table.rows} rows, {ask.draws} draws, seed {ask.seed}); "
                "replay with the data, declarations and plan that were recorded, or record again"
            )
        with self._lock:
            times = self._asked.get(key, 0)
            self._asked[key] = times + 1
        yield from self._read(places[min(times, len(places) - 1)], ask.draws)

    def close(self) -> None:
        """Nothing is held open."""

    def _read(self, place: tuple[int, int], draws: int) -> list[Release]:
        start, length = place
        with self.path.open("rb") as file:
            file.seek(start)
            line = file.read(length)
        try:
            return read_releases(json.loads(line), draws)
        except (ValueError, ReleaseError) as error:
            raise InputError(f"{self.path}: the line at byte {start} cannot be read: {error}") from None


def _line(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _torn(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read() != b"\n"


def _header(path: Path) -> Card:
    try:
        with path.open("rb") as file:
            header = json.loads(file.readline(1 << 20))
        if header["recording"] != FORMAT:
            raise InputError(f"{path} is a recording of version {header['recording']!r}; this harness reads {FORMAT}")
        return Card(**header["card"])
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{path} is not a recording; expected a file that the option record has written") from None


def _places(path: Path) -> dict[str, list[tuple[int, int]]]:
    """Where the answers to each ask stand; a line torn by a crash is none."""
    places: dict[str, list[tuple[int, int]]] = {}
    with path.open("rb") as file:
        start = len(file.readline())
        for line in file:
            if line.startswith(BEGINNING) and line.endswith(ENDING):
                places.setdefault(line[DIGEST].decode("ascii", "replace"), []).append((start, len(line)))
            start += len(line)
    return places
