"""Oracles: every way to reach an anonymizer. `open(address, **options)` is the one way in."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any

from harness.vocabulary.errors import InputError, did_you_mean
from harness.vocabulary.oracle import Oracle

__all__ = ["as_oracle", "open"]


Opener = Callable[[str, dict[str, Any]], Oracle]


def open(address: str, **options: Any) -> Oracle:
    """The oracle at an address such as `python:pkg.mod:name`, `reference:mondrian`, `cmd:…` or `https://…`.

    An entry point of the group `harness.oracles` adds a scheme of its name: a callable that is given what stands
    behind the colon and the options.
    """
    scheme, colon, rest = address.partition(":")
    if colon and scheme in SCHEMES:
        return SCHEMES[scheme](rest, options)
    plugins = {entry.name: entry for entry in entry_points(group="harness.oracles")}
    if not colon or scheme not in plugins:
        known = did_you_mean(scheme, [*SCHEMES, *plugins])
        raise InputError(f"oracle address {address!r} has no known scheme; {known}")
    oracle: Oracle = plugins[scheme].load()(rest, options)
    return oracle


def as_oracle(anonymizer: Any) -> Oracle:
    """The oracle that an oracle, an address or a callable stands for."""
    if isinstance(anonymizer, str):
        return open(anonymizer)
    if isinstance(anonymizer, Oracle) and not inspect.isclass(anonymizer):
        return anonymizer
    if inspect.isclass(anonymizer) and hasattr(anonymizer, "answer"):
        raise InputError(f"{anonymizer.__name__} is a class of oracles; make one: {anonymizer.__name__}(…)")
    if callable(anonymizer):
        from oracles.clients.local import Local

        return Local(anonymizer)
    raise InputError(f"expected a callable f(df) -> df, an oracle or an address, not a {type(anonymizer).__name__}")


def _python(rest: str, options: dict[str, Any]) -> Oracle:
    """`pkg.mod:name`: a callable (options become keyword arguments) or an Oracle class (options construct it)."""
    from oracles.clients.local import Local

    module, colon, name = rest.partition(":")
    if not colon or not module or not name:
        raise InputError(f"python:{rest} does not name a callable; expected python:package.module:name")
    try:
        target: Any = importlib.import_module(module)
    except ImportError as error:
        raise InputError(
            f"python:{rest}: module {module!r} cannot be imported: {error}; it is looked for "
            "in the current folder, beside the audit.toml and where Python has its packages"
        ) from error
    except Exception as error:  # whatever the module does when it is imported
        raise InputError(f"python:{rest}: importing {module!r} raised {type(error).__name__}: {error}") from error
    for part in name.split("."):
        if not hasattr(target, part):
            raise InputError(f"python:{rest}: {module} has no {name!r}; {did_you_mean(part, _public(target))}")
        target = getattr(target, part)
    if inspect.isclass(target) and hasattr(target, "answer"):
        return _constructed(target, options, f"python:{rest}")
    if isinstance(target, Oracle):
        if options:
            raise InputError(f"python:{rest} is an oracle already made; it takes no options")
        return target
    if not callable(target):
        raise InputError(f"python:{rest} is a {type(target).__name__}; expected a callable or an Oracle class")
    return Local(target, options)


def _public(target: Any) -> list[str]:
    return [
        name for name in dir(target) if not name.startswith("_") and not inspect.ismodule(getattr(target, name, None))
    ]


def _reference(rest: str, options: dict[str, Any]) -> Oracle:
    from oracles.reference import REFERENCE

    if rest not in REFERENCE:
        raise InputError(f"no reference oracle is called {rest!r}; {did_you_mean(rest, REFERENCE)}")
    return _constructed(REFERENCE[rest], options, f"reference:{rest}")


def _command(rest: str, options: dict[str, Any]) -> Oracle:
    """`cmd:program words`, or the words as the option command; with frames = true it stays and speaks the protocol."""
    from oracles.clients.command import Command
    from oracles.clients.persistent_command import PersistentCommand

    given = {"command": rest, **options}  # the options themselves are needed again if this attempt fails
    kind = PersistentCommand if given.pop("frames", False) else Command
    return _constructed(kind, given, f"cmd:{rest}")


def _web(rest: str, options: dict[str, Any]) -> Oracle:
    """`http://…` and `https://…`: a server that speaks the protocol, or with the option plain any that takes tables."""
    from oracles.clients.http import HttpOracle
    from oracles.clients.table_api import TableApi
    from oracles.clients.web import Web

    kind = TableApi if "plain" in options else HttpOracle
    known = {*inspect.signature(kind).parameters, *inspect.signature(Web).parameters} - {"address", "base", "web"}
    unknown = next((name for name in options if name not in known), None)
    if unknown is not None:
        raise InputError(f"{rest}: unknown option {unknown!r}; {did_you_mean(unknown, known)}")
    return _constructed(kind, {"address": rest, **options}, rest)


def _grpc(rest: str, options: dict[str, Any]) -> Oracle:
    from oracles.clients.grpc import GrpcOracle

    return _constructed(GrpcOracle, {"address": rest, **options}, rest)


def _remote(scheme: str, make: Opener) -> Opener:
    """A scheme of oracles outside this process, with the options that all of them have.

    `attempts` per ask, asks `per_second`, `concurrency`, and a file to `record` to or to `replay` from; a replay
    does not even look for the oracle.
    """

    def opened(rest: str, options: dict[str, Any]) -> Oracle:
        from oracles.middleware import Breaker, Counting, Paced, Retrying, patiently
        from oracles.recording import Recording, Replaying

        chosen = {name: options.pop(name, None) for name in MIDDLEWARE_OPTIONS}
        if chosen["replay"] is not None:
            return Counting(Replaying(chosen["replay"]))
        timeout = options.get("timeout", 1)
        if not isinstance(timeout, int | float) or not timeout > 0:
            raise InputError(f"{scheme}:{rest}: timeout must be a positive number of seconds, not {timeout!r}")
        attempts = 4 if chosen["attempts"] is None else chosen["attempts"]
        address = rest if scheme == "cmd" else f"{scheme}:{rest}"
        oracle = patiently(lambda: make(address, options), attempts)
        oracle = Retrying(Breaker(Paced(oracle, chosen["per_second"], chosen["concurrency"])), attempts)
        return Counting(oracle if chosen["record"] is None else Recording(oracle, chosen["record"]))

    return opened


def _constructed(kind: type, options: dict[str, Any], address: str) -> Oracle:
    signature = inspect.signature(kind)
    known = [name for name in signature.parameters if name not in ("self", "address")]
    try:
        signature.bind(**options)
    except TypeError as error:
        wrong = next((name for name in options if name not in known), "")
        hint = did_you_mean(wrong, known) if known else "it takes none"
        raise InputError(f"{address}: the options do not fit: {error}; {hint}") from None
    oracle: Oracle = kind(**options)
    return oracle


MIDDLEWARE_OPTIONS = ("attempts", "per_second", "concurrency", "record", "replay")
SCHEMES: dict[str, Opener] = {
    "python": _python,
    "reference": _reference,
    "cmd": _remote("cmd", _command),
    "http": _remote("http", _web),
    "https": _remote("https", _web),
    "grpc": _remote("grpc", _grpc),
    "grpcs": _remote("grpcs", _grpc),
}
