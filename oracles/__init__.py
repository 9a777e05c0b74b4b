"""Oracles: every way to reach an anonymizer. `open(address, **options)` is the one way in.

`SCHEMES` is the list of transports: how each is opened, which of its options are files, and what the manual shows.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from harness.vocabulary.errors import InputError, did_you_mean
from harness.vocabulary.loading import find_object, is_importable_name
from harness.vocabulary.oracle import Oracle

__all__ = ["as_oracle", "open", "options_beside"]

Opener = Callable[[str, dict[str, Any]], Oracle]

# The options of every oracle but `python:` and `reference:`, whoever wrote its transport.
WRAPPER_OPTIONS: dict[str, str] = {
    "attempts": "how often a question is asked when it fails for a while (a lost connection, a busy server) (4)",
    "per_second": "how many questions may begin in a second (as many as there are workers to ask them)",
    "concurrency": "how many questions may be under way at once (as many as there are workers)",
    "record": "file to which every answer is added, to be replayed later",
    "replay": "file of recorded answers to use instead of the oracle, which is not even connected to",
}
RECORDINGS = ("record", "replay")
TLS_FILES = ("ca", "cert", "key")


@dataclass(frozen=True)
class Transport:
    """A scheme of addresses."""

    opens: Opener  # given what stands behind the colon, and the options
    forms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # for the manual: address -> names of classes
    files: tuple[str, ...] = ()  # options that are names of files, relative to the audit.toml
    folder: str | None = None  # option that is the folder to run in: that of the audit.toml unless it is given
    whole: bool = False  # `opens` is given the whole address, not only what stands behind the colon
    wrapped: bool = True  # has WRAPPER_OPTIONS: its oracles are not in this process


def open(address: str, **options: Any) -> Oracle:
    """The oracle at an address such as `python:pkg.mod:name`, `reference:mondrian`, `cmd:…` or `https://…`.

    An entry point of the group `harness.oracles` adds a scheme of its name: a callable that is given what stands
    behind the colon and the options, or a Transport. It has the options of WRAPPER_OPTIONS, as all others have.
    """
    transport, rest = _transport(address), address.partition(":")[2]
    rest = address if transport.whole else rest
    return _wrapped(transport.opens, address, rest, options) if transport.wrapped else transport.opens(rest, options)


def options_beside(folder: Path, address: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of an oracle as an audit.toml in this folder means them: files, and where a command runs."""
    transport = _transport(address)
    names = (*transport.files, *(RECORDINGS if transport.wrapped else ()))
    files = {name: str(folder / options[name]) for name in names if isinstance(options.get(name), str)}
    place = {} if transport.folder is None else {transport.folder: str(folder.resolve())}
    return {**place, **options, **files}


def _transport(address: str) -> Transport:
    scheme, colon, _ = address.partition(":")
    if colon and scheme in SCHEMES:
        return SCHEMES[scheme]
    plugins = {entry.name: entry for entry in entry_points(group="harness.oracles")}
    if not colon or scheme not in plugins:
        known = did_you_mean(scheme, [*SCHEMES, *plugins])
        raise InputError(f"oracle address {address!r} has no known scheme; {known}")
    plugin = plugins[scheme].load()
    return plugin if isinstance(plugin, Transport) else Transport(plugin)


def _wrapped(make: Opener, address: str, rest: str, options: dict[str, Any]) -> Oracle:
    """The oracle with what WRAPPER_OPTIONS say; the options themselves are left as they are."""
    from oracles.middleware import Breaker, Counting, Paced, Retrying, open_with_retries
    from oracles.recording import Recording, Replaying

    chosen = {name: options.get(name) for name in WRAPPER_OPTIONS}
    own = {name: value for name, value in options.items() if name not in WRAPPER_OPTIONS}
    if chosen["replay"] is not None:
        return Counting(Replaying(chosen["replay"]))
    timeout = own.get("timeout", 1)
    if not isinstance(timeout, int | float) or not timeout > 0:
        raise InputError(f"{address}: timeout must be a positive number of seconds, not {timeout!r}")
    attempts = 4 if chosen["attempts"] is None else chosen["attempts"]
    oracle = open_with_retries(lambda: make(rest, dict(own)), attempts)
    oracle = Retrying(Breaker(Paced(oracle, chosen["per_second"], chosen["concurrency"])), attempts)
    return Counting(oracle if chosen["record"] is None else Recording(oracle, chosen["record"]))


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

    if not is_importable_name(rest):
        raise InputError(f"python:{rest} does not name a callable; expected python:package.module:name")
    target = find_object(rest, f"python:{rest}")
    if inspect.isclass(target) and hasattr(target, "answer"):
        return _constructed(target, options, f"python:{rest}")
    if isinstance(target, Oracle):
        if options:
            raise InputError(f"python:{rest} is an oracle already made; it takes no options")
        return target
    if not callable(target):
        raise InputError(f"python:{rest} is a {type(target).__name__}; expected a callable or an Oracle class")
    return Local(target, options)


def _reference(rest: str, options: dict[str, Any]) -> Oracle:
    from oracles.reference import REFERENCE

    if rest not in REFERENCE:
        raise InputError(f"no reference oracle is called {rest!r}; {did_you_mean(rest, REFERENCE)}")
    return _constructed(REFERENCE[rest], options, f"reference:{rest}")


def _command(rest: str, options: dict[str, Any]) -> Oracle:
    """`cmd:program words`, or the words as the option command; with frames = true it stays and speaks the protocol."""
    from oracles.clients.command import Command
    from oracles.clients.persistent_command import PersistentCommand

    given = {"command": rest, **options}
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


_CMD = Transport(
    _command,
    forms={
        "cmd:program words": ("oracles.clients.command:Command",),
        "cmd:program words, with frames = true": ("oracles.clients.persistent_command:PersistentCommand",),
    },
    folder="cwd",
)
_WEB = Transport(
    _web,
    forms={
        "http://…, https://…": ("oracles.clients.http:HttpOracle", "oracles.clients.web:Web"),
        "http://…, https://…, with plain = {…}": (
            "oracles.clients.table_api:TableApi",
            "oracles.clients.table_api:EndpointMapping",
        ),
    },
    files=TLS_FILES,
    whole=True,
)
_GRPC = Transport(
    _grpc, forms={"grpc://…, grpcs://…": ("oracles.clients.grpc:GrpcOracle",)}, files=TLS_FILES, whole=True
)
SCHEMES: dict[str, Transport] = {
    "python": Transport(_python, wrapped=False),
    "reference": Transport(_reference, wrapped=False),
    "cmd": _CMD,
    "http": _WEB,
    "https": _WEB,
    "grpc": _GRPC,
    "grpcs": _GRPC,
}
