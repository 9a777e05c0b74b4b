"""Oracles: every way to reach an anonymizer. `open(address, **options)` is the one way in.

`SCHEMES` is the list of transports: how each is opened, which of its options are files, and what the manual shows.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.vocabulary.durations import seconds_in
from harness.vocabulary.errors import InputError, did_you_mean, nearest
from harness.vocabulary.loading import find_object, is_importable_name
from harness.vocabulary.oracle import Card, Oracle
from oracles.addresses import check_characters, shown_address, without_secrets

if TYPE_CHECKING:
    from oracles.clients.isolated import ChildSettings

__all__ = ["as_oracle", "open", "open_with", "options_beside", "source_of"]

Opener = Callable[[str, dict[str, Any]], Oracle]

# The options of every oracle but `python:` and `reference:`, whoever wrote its transport.
WRAPPER_OPTIONS: dict[str, str] = {
    "attempts": "how often a question is asked when it fails (a reply that was lost on the way, status 500) (4)",
    "patience": 'how long the oracle may be away (not reached, or busy) before the audit stops, such as "10m" (2m)',
    "per_second": "how many questions may begin in a second (as many as there are workers to ask them)",
    "concurrency": "how many questions may be under way at once (as many as there are workers)",
    "record": "file to which every answer is added, to be replayed later",
    "replay": "file of recorded answers to use instead of the oracle, which is not even connected to",
}
RECORDINGS = ("record", "replay")
# The options of `python:` itself; all others are keyword arguments of the anonymizer.
PYTHON_OPTIONS: dict[str, str] = {
    "timeout": "seconds that one call may take; the process of the anonymizer is then ended (300)",
    "attempts": "how often a question is asked, each time in a fresh process, when its process ends by itself (2)",
    "record": WRAPPER_OPTIONS["record"],
    "replay": WRAPPER_OPTIONS["replay"],
    "arguments": "table of keyword arguments of the anonymizer, where one of them has the name of an option of ours",
}
# How an oracle is asked, not which one it is: an audit may go on with others.
MANNERS = ("timeout", "attempts", "patience", "per_second", "concurrency", "record")
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
    return open_with(address, options)


def open_with(address: str, options: dict[str, Any], settings: ChildSettings | None = None) -> Oracle:
    """The same; `settings` say where a `python:` anonymizer prints to, and in which environment it computes."""
    check_characters(address, options)
    transport, rest = _transport(address), address.partition(":")[2]
    if transport is _PYTHON:
        return _isolated(rest, options, settings)
    rest = address if transport.whole else rest
    if not transport.wrapped:
        return transport.opens(rest, options)
    return _wrapped(transport.opens, shown_address(address), rest, options)


def options_beside(folder: Path, address: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of an oracle as an audit.toml in this folder means them: files, and where a command runs."""
    transport = _transport(address)
    names = (*transport.files, *(RECORDINGS if transport.wrapped else ()))
    files = {name: str(folder / options[name]) for name in names if isinstance(options.get(name), str)}
    place = {} if transport.folder is None else {transport.folder: str(folder.resolve())}
    return {**place, **options, **files}


def source_of(address: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """What tells one oracle from another, for the journal of an audit; what may be secret in it is a `Secret`."""
    return without_secrets(address, {name: value for name, value in options.items() if name not in MANNERS})


def _transport(address: str) -> Transport:
    scheme, colon, _ = address.partition(":")
    if colon and scheme in SCHEMES:
        return SCHEMES[scheme]
    plugins = {entry.name: entry for entry in entry_points(group="harness.oracles")}
    if not colon or scheme not in plugins:
        known = did_you_mean(scheme if colon else "", [*SCHEMES, *plugins])
        form = "" if colon else "; expected one such as python:module:function or https://host"
        raise InputError(f"oracle address {shown_address(address)!r} has no known scheme{form}; {known}")
    plugin = plugins[scheme].load()
    return plugin if isinstance(plugin, Transport) else Transport(plugin)


def _wrapped(make: Opener, address: str, rest: str, options: dict[str, Any]) -> Oracle:
    """The oracle with what WRAPPER_OPTIONS say; the options themselves are left as they are."""
    from oracles.middleware import PATIENCE, Counting, Paced, Retrying, open_with_retries
    from oracles.recording import Recording, Replaying

    chosen = {name: options.get(name) for name in WRAPPER_OPTIONS}
    own = {name: value for name, value in options.items() if name not in WRAPPER_OPTIONS}
    if chosen["replay"] is not None:
        return Counting(Replaying(chosen["replay"]))
    _check_timeout(address, own.get("timeout", 1))
    attempts = 4 if chosen["attempts"] is None else chosen["attempts"]
    patience = PATIENCE if chosen["patience"] is None else seconds_in(chosen["patience"], f"{address}: patience")
    oracle = open_with_retries(lambda: _discreet(make, rest, own), attempts)
    oracle = Retrying(Paced(oracle, chosen["per_second"], chosen["concurrency"]), attempts, patience=patience)
    return Counting(oracle if chosen["record"] is None else Recording(oracle, chosen["record"]))


def _discreet(make: Opener, rest: str, options: Mapping[str, Any]) -> Oracle:
    """The oracle, whose errors do not quote what is secret in its options."""
    from oracles.redacting import Redacting, redacted, secrets_in

    secrets = secrets_in(options)
    with redacted(secrets):
        oracle = make(rest, dict(options))
    return Redacting(oracle, secrets) if secrets else oracle


def _check_timeout(address: str, timeout: Any) -> None:
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
        raise InputError(f"{address}: timeout must be a positive number of seconds, not {timeout!r}")


def as_oracle(anonymizer: Any, settings: ChildSettings | None = None, timeout: float | None = None) -> Oracle:
    """The oracle that an oracle, an address or a callable stands for; a callable is called in this process.

    `timeout` is how many seconds one call may take.
    """
    if isinstance(anonymizer, str):
        return open_with(anonymizer, {} if timeout is None else {"timeout": timeout}, settings)
    if isinstance(anonymizer, Oracle) and not inspect.isclass(anonymizer):
        return anonymizer
    if inspect.isclass(anonymizer) and hasattr(anonymizer, "answer"):
        raise InputError(f"{anonymizer.__name__} is a class of oracles; make one: {anonymizer.__name__}(…)")
    if callable(anonymizer):
        from oracles.clients.local import CALL_SECONDS, Local

        seconds = CALL_SECONDS if timeout is None else timeout
        _check_timeout("the anonymizer", seconds)
        return Local(anonymizer, call_seconds=seconds)
    raise InputError(f"expected a callable f(df) -> df, an oracle or an address, not a {type(anonymizer).__name__}")


def _isolated(rest: str, options: dict[str, Any], settings: ChildSettings | None) -> Oracle:
    """`python:pkg.mod:name` in a process of its own, with what PYTHON_OPTIONS say."""
    from oracles.clients.isolated import Isolated, Opening
    from oracles.middleware import Counting, Retrying
    from oracles.recording import Recording, Replaying

    address = f"python:{rest}"
    if options.get("replay") is not None:
        return Counting(Replaying(options["replay"]))
    if not is_importable_name(rest):
        hint = " (a module's name, without its folder and .py)" if ".py" in rest or "/" in rest else ""
        raise InputError(f"{address} does not name a callable; expected python:package.module:name{hint}")
    timeout, attempts = options.get("timeout", 300.0), options.get("attempts", 2)
    _check_timeout(address, timeout)
    own, taken = _arguments(address, options)
    oracle: Oracle = Retrying(Isolated(Opening(rest, own, taken), timeout=timeout, settings=settings), attempts)
    return oracle if options.get("record") is None else Recording(oracle, options["record"])


def _arguments(address: str, options: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The keyword arguments of the anonymizer, and the names among our options that might be meant for it too."""
    inner = options.get("arguments", {})
    if not isinstance(inner, dict):
        raise InputError(f"{address}: arguments must be a table of keyword arguments, not {inner!r}")
    outer = {name: value for name, value in options.items() if name not in PYTHON_OPTIONS}
    twice = next((name for name in outer if name in inner), None)
    if twice is not None:
        raise InputError(f"{address}: {twice!r} is given twice, as an option and under arguments; leave one out")
    ours = tuple(name for name in options if name in PYTHON_OPTIONS)
    return {**outer, **inner}, () if "arguments" in options else ours


def python_oracle(rest: str, arguments: Mapping[str, Any], taken: Sequence[str] = ()) -> Oracle:
    """`pkg.mod:name` in this process: a callable (with keyword arguments) or an Oracle class (which they construct).

    `taken` are names of our own options that were given too: an anonymizer that has one of them as well is refused.
    """
    from oracles.clients.local import Local

    address = f"python:{rest}"
    target = find_object(rest, address)
    if isinstance(target, Oracle) and not inspect.isclass(target):
        if arguments:
            raise InputError(f"{address} is an oracle already made; it takes no arguments: {', '.join(arguments)}")
        return _with_card(target, address)
    if not callable(target):
        raise InputError(f"{address} is a {type(target).__name__}; expected a callable or an Oracle class")
    parameters = _parameters(target)
    for name in taken:
        if name in parameters:
            raise InputError(
                f"{address}: {name} may be an option of python: or the anonymizer's own parameter; write "
                f"arguments = {{ {name} = … }} for its own, and arguments = {{}} beside {name} for ours"
            )
    unknown = next((name for name in arguments if name in WRAPPER_OPTIONS and name not in parameters), None)
    if unknown is not None:
        raise InputError(
            f"{address}: {unknown} is an option of commands and servers (cmd:, http:, grpc:), not of python:; "
            f"python: has {', '.join(PYTHON_OPTIONS)}"
        )
    try:
        is_class = inspect.isclass(target) and hasattr(target, "answer")
        return _constructed(target, dict(arguments), address) if is_class else Local(target, arguments)
    except InputError as error:
        unknown = next((name for name in arguments if name not in parameters), None)
        if unknown is None:
            raise
        ours = f"{nearest(unknown, PYTHON_OPTIONS)}options of python: itself: {', '.join(PYTHON_OPTIONS)}"
        raise InputError(f"{error} ({ours})") from None


def _parameters(target: Any) -> Collection[str]:
    try:
        return inspect.signature(target).parameters
    except (TypeError, ValueError):  # a builtin
        return ()


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
    return _constructed(kind, given, shown_address(f"cmd:{rest}"))


def _web(rest: str, options: dict[str, Any]) -> Oracle:
    """`http://…` and `https://…`: a server that speaks the protocol, or with the option plain any that takes tables."""
    from oracles.clients.http import HttpOracle
    from oracles.clients.table_api import TableApi
    from oracles.clients.web import Web

    kind = TableApi if "plain" in options else HttpOracle
    known = {*inspect.signature(kind).parameters, *inspect.signature(Web).parameters} - {"address", "base", "web"}
    unknown = next((name for name in options if name not in known), None)
    if unknown is not None:
        raise InputError(f"{shown_address(rest)}: unknown option {unknown!r}; {did_you_mean(unknown, known)}")
    return _constructed(kind, {"address": rest, **options}, shown_address(rest))


def _grpc(rest: str, options: dict[str, Any]) -> Oracle:
    from oracles.clients.grpc import GrpcOracle

    return _constructed(GrpcOracle, {"address": rest, **options}, shown_address(rest))


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
    return _with_card(oracle, address)


def _with_card(oracle: Oracle, address: str) -> Oracle:
    if not isinstance(oracle, Oracle):
        missing = next(name for name in ("card", "answer", "close") if not hasattr(oracle, name))
        raise InputError(f"{address}: an oracle needs card, answer and close, and {missing} is missing")
    if not isinstance(oracle.card, Card):
        raise InputError(f"{address}: its card is a {type(oracle.card).__name__}; expected a harness.Card")
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
_PYTHON = Transport(lambda rest, options: _isolated(rest, options, None), files=RECORDINGS, wrapped=False)
SCHEMES: dict[str, Transport] = {
    "python": _PYTHON,
    "reference": Transport(_reference, wrapped=False),
    "cmd": _CMD,
    "http": _WEB,
    "https": _WEB,
    "grpc": _GRPC,
    "grpcs": _GRPC,
}
