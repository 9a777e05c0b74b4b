"""Options of an anonymizer as words of the command line: --option k=5."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence

from harness.vocabulary.errors import InputError


def options_of_words(words: Sequence[str]) -> dict[str, object]:
    """NAME=VALUE with values as in TOML; a word that is none is a text."""
    options: dict[str, object] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise InputError(f"--option {word!r}: expected NAME=VALUE, such as k=5")
        try:
            options[name] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            options[name] = value
    return options
