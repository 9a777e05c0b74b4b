"""Persons by keyed digest: the same person has the same digest under the same key, and nobody else can tell who it is.

A digest without a key could be tried out: there are only so many rows. The key is therefore kept apart from whatever
holds digests: in an environment variable, or in a file that is not checked in.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from harness.vocabulary.errors import InputError
from harness.vocabulary.persons import RowName

VARIABLE = "HARNESS_BASELINE_KEY"
LEAST = 16  # signs of a key
DIGITS = 16  # of a digest: 64 bits, enough to tell a million persons apart


@dataclass(frozen=True)
class DigestKey:
    """A secret key; it is never printed."""

    secret: bytes = field(repr=False)

    def person(self, rows: Sequence[RowName]) -> str:
        """The digest of the person with these rows of the source."""
        return self._digest("person", list(rows))

    def data(self, digest: str) -> str:
        """The digest of a table, from its own."""
        return self._digest("data", digest)

    @property
    def check(self) -> str:
        """What a file holds to recognise its key by."""
        return self._digest("check", "harness baseline")

    def _digest(self, purpose: str, value: object) -> str:
        message = json.dumps([purpose, value], ensure_ascii=True).encode()
        return hmac.new(self.secret, message, hashlib.sha256).hexdigest()[:DIGITS]


def find_key(path: Path | None, environment: Mapping[str, str] = os.environ) -> DigestKey | None:
    """The key of a file, else of the environment variable, else none."""
    if path is not None:
        return _key(_content(path), str(path))
    text = environment.get(VARIABLE, "")
    return _key(text, f"the environment variable {VARIABLE}") if text else None


def create_key(path: Path) -> None:
    """A file with a new random key that only its owner can read."""
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_hex(32) + "\n")
    except OSError as error:
        with suppress(OSError):
            path.unlink(missing_ok=True)
        raise InputError(f"{path}: the key cannot be written: {error.strerror}") from None


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: the key of the baseline cannot be read: {error}") from None


def _key(text: str, place: str) -> DigestKey:
    text = text.strip()
    if len(text) < LEAST:
        raise InputError(f"{place}: the key has {len(text)} signs; expected at least {LEAST}, better 64 random ones")
    return DigestKey(text.encode())
