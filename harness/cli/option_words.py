"""NAME=VALUE on a command line: options of an oracle as words."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence

from harness.vocabulary.errors import InputError


def options_from_words(words: Sequence[str], flag: str) -> dict[str, object]:
    """The options; values are as in TOML, and a word that is none is a text."""
    options: dict[str, object] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise InputError(f"{flag} {word!r}: expected NAME=VALUE, such as k=5")
        try:
            options[name] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            options[name] = value
    return options
