"""Secrets in a journal: a keyed digest stands for each, so that equal ones are recognised and none can be read.

A digest without a key could be tried out: passwords are short. The key is random, made for one folder, and stands
there in `identity.key`: whoever continues the audit on another machine takes it along with the folder, and whoever is
given reports, certificates or the journal alone can do nothing with their digests.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from harness.vocabulary.errors import JournalError, why_not_written
from harness.vocabulary.private_files import make_private_folder, open_private
from harness.vocabulary.secret import Secret

KEY = "identity.key"
MARK = "keyed_digest"  # the key of the table that stands for a secret
DIGITS = 32


def sealed(value: Any, journal: Path) -> Any:
    """Plain data in which a keyed digest stands for every Secret; the key is made when it is first needed."""
    return sealed_in(value, journal.parent, [journal])


def sealed_in(value: Any, folder: Path, journals: Iterable[Path]) -> Any:
    """The same with the key of this folder, which must be there if one of the journals holds digests."""
    return _sealed(value, _key(folder / KEY, journals), "") if _has_secret(value) else value


def sealed_as(value: Any, before: Any, journal: Path) -> Any:
    """The same, to be compared with what a journal holds: no key is made where it holds no digest to recognise."""
    return _sealed(value, _key(journal.parent / KEY, [journal]) if holds_seal(before) else b"", "")


def is_sealed(value: Any) -> bool:
    """Whether this stands for a secret."""
    return isinstance(value, Mapping) and set(value) == {MARK}


def holds_seal(value: Any) -> bool:
    """Whether a part of this stands for a secret."""
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return is_sealed(value) or any(map(holds_seal, parts))


def unsealed_part(value: Any) -> Any:
    """The same plain data without what stands for secrets: it says nothing about them, and needs no key."""
    if isinstance(value, Mapping):
        return {name: unsealed_part(part) for name, part in value.items() if not is_sealed(part)}
    if isinstance(value, list | tuple):
        return [unsealed_part(part) for part in value if not is_sealed(part)]
    return value


def _has_secret(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_has_secret, value.values()))
    return isinstance(value, Secret) or (isinstance(value, list | tuple) and any(map(_has_secret, value)))


def _sealed(value: Any, key: bytes, place: str) -> Any:
    """Equal values at different places have different digests."""
    if isinstance(value, Secret):
        message = json.dumps([place, value.value], sort_keys=True, default=str).encode(errors="surrogatepass")
        return {MARK: hmac.new(key, message, hashlib.sha256).hexdigest()[:DIGITS]}
    if isinstance(value, Mapping):
        return {name: _sealed(part, key, f"{place}.{name}") for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_sealed(part, key, f"{place}[{number}]") for number, part in enumerate(value)]
    return value


def _key(path: Path, journals: Iterable[Path]) -> bytes:
    """The key that is there, or a new one where no journal holds digests yet."""
    try:
        known = path.read_bytes().strip() if path.exists() else None
        if known is not None and len(known) == 2 * DIGITS:
            return known
        if any(map(_holds_digests, journals)):
            raise JournalError(
                f"{path}: the key that recognises headers, environment variables and other secrets of this audit is "
                f"{'not there' if known is None else 'damaged'}; copy it from where the audit began, or choose another "
                "--out"
            )
        if known is not None:  # what a power cut left
            path.unlink()
        return _new_key(path)
    except FileExistsError:
        raise JournalError(f"{path}: another process has just begun an audit here; choose another --out") from None
    except OSError as error:
        raise JournalError(why_not_written(path, error)) from None


def _holds_digests(journal: Path) -> bool:
    with suppress(FileNotFoundError), journal.open("rb") as file:
        return f'"{MARK}":'.encode() in file.readline()
    return False


def _new_key(path: Path) -> bytes:
    make_private_folder(path.parent)
    key = secrets.token_hex(DIGITS).encode()
    with open(open_private(path, os.O_WRONLY | os.O_EXCL), "wb") as file:
        file.write(key + b"\n")
        file.flush()
        os.fsync(file.fileno())
    return key
