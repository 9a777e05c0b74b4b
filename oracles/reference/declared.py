"""Options of the reference anonymizers: what is refused when one is made."""

from __future__ import annotations

from numbers import Integral

from harness.vocabulary.errors import InputError


def check_truth(oracle: str, name: str, value: object) -> None:
    """Refuses an option that is neither true nor false."""
    if not isinstance(value, bool):
        raise InputError(f"{oracle}: {name} = {value!r}; expected true or false")


def checked_count(oracle: str, name: str, value: object) -> int:
    """A whole number of at least 1, of whatever type of numbers; anything else is refused."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise InputError(f"{oracle}: {name} = {value!r}; expected a whole number of at least 1")
    return int(value)
