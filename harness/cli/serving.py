"""The command of a vendor: serve."""

from __future__ import annotations

import argparse
import math
import ssl
from pathlib import Path
from typing import TYPE_CHECKING

import oracles
from harness.cli import allow_imports_beside, tell
from harness.cli.option_words import options_from_words
from harness.vocabulary.errors import InputError
from harness.vocabulary.sizes import bytes_in
from oracles.clients.credentials import read_token
from oracles.serve.binding import until_stopped
from oracles.serve.limits import Limits, give_freed_memory_back

if TYPE_CHECKING:
    from harness.vocabulary.oracle import Oracle
    from oracles.serve.binding import Running


def serve(chosen: argparse.Namespace) -> int:
    """Offer an anonymizer until it is stopped."""
    sink = None
    if chosen.stdio:
        from oracles.serve import stdio

        sink = stdio.claimed_stdout()  # before the vendor's module is imported, which may print
    allow_imports_beside(Path.cwd() / "audit.toml")
    at_once = _at_once(chosen)
    oracle = _opened(chosen)
    limits = _limits(chosen, at_once)
    if chosen.stdio:
        stdio.serve(oracle, sink=sink, limits=limits, debug=chosen.debug)
        return 0
    token = None if chosen.token_env is None else read_token(chosen.token_env, "--token-env")
    if chosen.grpc:
        from oracles.serve.grpc import Tls
        from oracles.serve.grpc import serve as serve_grpc

        tls = Tls(*map(_content, _certificates(chosen))) if chosen.cert else None
        server: Running = serve_grpc(oracle, chosen.grpc, token=token, tls=tls, limits=limits, debug=chosen.debug)
    else:
        from oracles.serve import http

        context = _tls_context(chosen) if chosen.cert else None
        server = http.serve(oracle, chosen.http, token=token, tls=context, limits=limits, debug=chosen.debug)
    many = f", {at_once} questions at once" if at_once > 1 else ""
    tell(f"{oracle.card.name} is served at {server.address}{many}; stop it with Ctrl-C")
    until_stopped(server)
    return 0


def _at_once(chosen: argparse.Namespace) -> int:
    """How many questions are answered at once."""
    name, number = ("--workers", chosen.workers) if chosen.threads is None else ("--threads", chosen.threads)
    if number < 1:
        raise InputError(f"{name} must be at least 1, not {number}")
    if chosen.stdio and number > 1:
        raise InputError(f"{name} {number}: over standard input and output one question is answered at a time")
    return int(number)


def _limits(chosen: argparse.Namespace, at_once: int) -> Limits:
    """How much is accepted; to be called when all is imported and opened, which takes memory too."""
    if not 0 < chosen.max_seconds < math.inf:
        raise InputError(f"--max-seconds must be a positive number, not {chosen.max_seconds:g}")
    limits = Limits(concurrency=at_once, question_seconds=chosen.max_seconds)
    if chosen.max_memory is None:
        return limits
    give_freed_memory_back()
    try:
        return limits.within(bytes_in(chosen.max_memory))
    except InputError as error:
        raise error.within(f"--max-memory {chosen.max_memory}") from None


def _opened(chosen: argparse.Namespace) -> Oracle:
    """The oracle to serve; a python: function that threads call is called in this process."""
    options = options_from_words(chosen.option, "--option")
    scheme, _, rest = chosen.address.partition(":")
    if chosen.threads is None or scheme != "python":
        return oracles.open(chosen.address, **options)
    return oracles.python_oracle(rest, options)


def _certificates(chosen: argparse.Namespace) -> list[Path]:
    if chosen.key is None:
        raise InputError("--cert needs --key, the key of that certificate")
    return [path for path in (chosen.cert, chosen.key, chosen.client_ca) if path is not None]


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: the certificate or its key cannot be read: {error.strerror}") from None


def _tls_context(chosen: argparse.Namespace) -> ssl.SSLContext:
    _certificates(chosen)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(chosen.cert, chosen.key)
        if chosen.client_ca is not None:
            context.load_verify_locations(chosen.client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
    except OSError as error:
        raise InputError(f"--cert {chosen.cert}: the certificate or its key cannot be used: {error.strerror}") from None
    return context
