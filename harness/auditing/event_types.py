"""Whether what was read from a journal has the types that its event declares; JSON may hold anything. Knows no event.

Measurements are not looked at: there are many, and every number of them is derived again or bounded elsewhere.
"""

from __future__ import annotations

import types
from collections.abc import Hashable
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from harness.vocabulary.errors import JournalError

UNIONS = (Union, types.UnionType)


def require_types(event: Any) -> None:
    """Raises a JournalError that names the first field of an event whose value is of another type than declared."""
    for name, declared in _fields_of(event):
        if not _fits(getattr(event, name), declared):
            raise JournalError(
                f"{name!r} of the event {event.name!r} is {getattr(event, name)!r:.60}, which no audit writes; "
                "the journal cannot be trusted"
            )


def _fields_of(value: Any) -> tuple[tuple[str, Any], ...]:
    return _declared(cast(Hashable, type(value)))


@cache
def _declared(kind: Any) -> tuple[tuple[str, Any], ...]:
    hints = get_type_hints(kind)
    return tuple((item.name, hints[item.name]) for item in fields(kind))


def _fits(value: Any, declared: Any) -> bool:
    origin, parts = get_origin(declared), get_args(declared)
    if declared is Any:
        return True
    if origin in UNIONS:
        return any(_fits(value, part) for part in parts)
    if origin is Literal:
        return type(value) is str and value in parts
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        if parts[-1] is Ellipsis:
            return all(_fits(each, parts[0]) for each in value)
        return len(value) == len(parts) and all(map(_fits, value, parts))
    if isinstance(origin, type):  # a mapping, or an array
        return isinstance(value, origin)
    if declared is float:
        return type(value) in (int, float)
    if declared in (int, str, bool, type(None)):
        return type(value) is declared
    if not isinstance(value, declared):
        return False
    return not is_dataclass(value) or all(_fits(getattr(value, name), hint) for name, hint in _fields_of(value))
