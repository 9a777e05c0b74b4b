"""An oracle whose errors never quote what was entrusted to it: tokens, headers, form fields, environment variables.

A server may answer "wrong token: …", and a command may print its environment when it fails; errors quote both.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote, quote_plus

from harness.vocabulary.errors import HarnessError
from harness.vocabulary.oracle import Ask, Oracle, Release
from oracles.middleware import Wrapper

SHORTEST = 4  # characters: shorter ones stand in every text
HIDDEN = "(hidden)"


def secrets_in(options: Mapping[str, Any]) -> tuple[str, ...]:
    """The texts among these options that a message must not show, the longest first."""
    plain = options.get("plain")
    plain = plain if isinstance(plain, Mapping) else {}
    tables = (options.get("headers"), options.get("env"), plain.get("headers"), plain.get("fields"))
    values = [str(value) for table in tables if isinstance(table, Mapping) for value in table.values()]
    values += [part.partition("=")[2] for part in str(plain.get("path", "")).partition("?")[2].split("&")]
    variable = options.get("token_env")
    if isinstance(variable, str) and variable and "\0" not in variable:
        values.append(os.environ.get(variable, "").strip())
    spellings = {text for value in values for text in _spellings(value) if len(text) >= SHORTEST}
    return tuple(sorted(spellings, key=len, reverse=True))


def _spellings(value: str) -> set[str]:
    """A value as messages may quote it; of `Bearer abc` and the like also the part behind the scheme."""
    parts = {value, *(value.split(" ", 1)[1:])}
    lenient = {"errors": "replace"}
    return {
        text
        for part in parts
        for text in (part, repr(part)[1:-1], quote(part, safe="", **lenient), quote_plus(part, **lenient))
    }


class Redacting(Wrapper):
    """The inner oracle; in its errors something else stands in the place of these texts."""

    def __init__(self, inner: Oracle, secrets: tuple[str, ...]) -> None:
        self.inner, self._secrets = inner, secrets

    def __reduce__(self) -> tuple[Any, ...]:
        return Redacting, (self.inner, self._secrets)

    def spec(self) -> dict[str, Any]:
        """What tells this oracle from another."""
        return {"inner": self.inner}

    def answer(self, ask: Ask) -> Iterator[Release]:
        with redacted(self._secrets):
            yield from self.inner.answer(ask)


@contextmanager
def redacted(secrets: tuple[str, ...]) -> Iterator[None]:
    """Inside, errors of ours lose these texts, and whatever they were made from."""
    try:
        yield
    except HarnessError as error:
        error.args = tuple(_without(argument, secrets) for argument in error.args)
        if hasattr(error, "__notes__"):
            error.__notes__ = [_without(note, secrets) for note in error.__notes__]
        if secrets:
            raise error from None
        raise


def _without(text: Any, secrets: tuple[str, ...]) -> Any:
    if isinstance(text, str):
        for secret in secrets:
            text = text.replace(secret, HIDDEN)
    return text
