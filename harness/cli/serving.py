"""The command of a vendor: serve."""

from __future__ import annotations

import argparse
import os
import ssl
from pathlib import Path
from typing import TYPE_CHECKING

import oracles
from harness.cli import allow_imports_beside, tell
from harness.cli.oracle_options import options_of_words
from harness.vocabulary.errors import InputError
from oracles.serve.binding import until_stopped

if TYPE_CHECKING:
    from oracles.serve.binding import Running


def serve(chosen: argparse.Namespace) -> int:
    """Offer an anonymizer until it is stopped."""
    sink = None
    if chosen.stdio:
        from oracles.serve import stdio

        sink = stdio.claimed_stdout()  # before the vendor's module is imported, which may print
    allow_imports_beside(Path.cwd() / "audit.toml")
    oracle = oracles.open(chosen.address, **options_of_words(chosen.option))
    if chosen.stdio:
        stdio.serve(oracle, sink=sink)
        return 0
    token = _token(chosen.token_env)
    if chosen.grpc:
        from oracles.serve.grpc import Tls
        from oracles.serve.grpc import serve as serve_grpc

        tls = Tls(*map(_content, _certificates(chosen))) if chosen.cert else None
        server: Running = serve_grpc(oracle, chosen.grpc, token=token, tls=tls)
    else:
        from oracles.serve import http

        server = http.serve(oracle, chosen.http, token=token, tls=_tls_context(chosen) if chosen.cert else None)
    tell(f"{oracle.card.name} is served at {server.address}; stop it with Ctrl-C")
    until_stopped(server)
    return 0


def _token(name: str | None) -> str | None:
    if name is None:
        return None
    if not os.environ.get(name):
        raise InputError(f"--token-env {name}: that environment variable is not set, or empty")
    return os.environ[name]


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
