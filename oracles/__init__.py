"""Oracles: every way to reach an anonymizer. `open(address, **options)` is the one way in."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any

from harness.errors import InputError, did_you_mean
from harness.oracle import Oracle

__all__ = ["as_oracle", "open"]


def open(address: str, **options: Any) -> Oracle:
    """The oracle at an address such as `python:pkg.mod:name` or `reference:mondrian`."""
    scheme, colon, rest = address.partition(":")
    if not colon or scheme not in SCHEMES:
        raise InputError(f"oracle address {address!r} has no known scheme; {did_you_mean(scheme, SCHEMES)}")
    return SCHEMES[scheme](rest, options)


def as_oracle(anonymizer: Any) -> Oracle:
    """Whatever a person has in hand: an oracle, an address, or a callable."""
    if isinstance(anonymizer, str):
        return open(anonymizer)
    if isinstance(anonymizer, Oracle) and not inspect.isclass(anonymizer):
        return anonymizer
    if inspect.isclass(anonymizer) and hasattr(anonymizer, "answer"):
        raise InputError(f"{anonymizer.__name__} is a class of oracles; make one: {anonymizer.__name__}(…)")
    if callable(anonymizer):
        from oracles.local import Local

        return Local(anonymizer)
    raise InputError(f"expected a callable f(df) -> df, an oracle or an address, not a {type(anonymizer).__name__}")


def _python(rest: str, options: dict[str, Any]) -> Oracle:
    """`pkg.mod:name`: a callable (options become keyword arguments) or an Oracle class (options construct it)."""
    from oracles.local import Local

    module, colon, name = rest.partition(":")
    if not colon or not module or not name:
        raise InputError(f"python:{rest} does not name a callable; expected python:package.module:name")
    try:
        found: Any = importlib.import_module(module)
    except ImportError as error:
        raise InputError(
            f"python:{rest}: module {module!r} cannot be imported: {error}; it is looked for "
            "in the current folder, beside the audit.toml and where Python has its packages"
        ) from error
    for part in name.split("."):
        if not hasattr(found, part):
            raise InputError(f"python:{rest}: {module} has no {name!r}; {did_you_mean(part, _public(found))}")
        found = getattr(found, part)
    if inspect.isclass(found) and hasattr(found, "answer"):
        return _constructed(found, options, f"python:{rest}")
    if isinstance(found, Oracle):
        if options:
            raise InputError(f"python:{rest} is an oracle already made; it takes no options")
        return found
    if not callable(found):
        raise InputError(f"python:{rest} is a {type(found).__name__}; expected a callable or an Oracle class")
    return Local(found, options)


def _public(found: Any) -> list[str]:
    return [name for name in dir(found) if not name.startswith("_")]


def _reference(rest: str, options: dict[str, Any]) -> Oracle:
    from oracles.reference import REFERENCE

    if rest not in REFERENCE:
        raise InputError(f"no reference oracle is called {rest!r}; {did_you_mean(rest, REFERENCE)}")
    return _constructed(REFERENCE[rest], options, f"reference:{rest}")


def _constructed(kind: type, options: dict[str, Any], address: str) -> Oracle:
    try:
        inspect.signature(kind).bind(**options)
    except TypeError as error:
        known = [name for name in inspect.signature(kind).parameters if name != "self"]
        wrong = next((name for name in options if name not in known), "")
        hint = did_you_mean(wrong, known) if known else "it takes none"
        raise InputError(f"{address}: the options do not fit: {error}; {hint}") from None
    oracle: Oracle = kind(**options)
    return oracle


SCHEMES: dict[str, Callable[[str, dict[str, Any]], Oracle]] = {"python": _python, "reference": _reference}
