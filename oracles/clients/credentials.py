"""What this side shows to a server: a token, headers, certificates. Checked when they are read, and never quoted.

A value that a library refuses later would stand in that library's message; so whatever cannot be sent is refused here,
in words that name the option and the kind of fault, but not the value.
"""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Mapping
from typing import Any

from harness.vocabulary.errors import InputError

VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")  # anything else may be the token itself, in the wrong place
HEADER_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")  # RFC 9110, token


def read_token(variable: str, where: str) -> str:
    """The token in an environment variable: printable ASCII without spaces, as headers can carry it."""
    if not variable or "\0" in variable or "=" in variable:
        raise InputError(f"{where}: token_env is no name of an environment variable")
    token = os.environ.get(variable, "")
    if not token:
        named = f"variable {variable}" if VARIABLE.fullmatch(variable) else "variable that token_env names"
        hint = "set it to the oracle's" if VARIABLE.fullmatch(variable) else "token_env is a name, not the token itself"
        raise InputError(f"{where}: the environment {named} holds no token; {hint}")
    fault = _fault(token)
    if fault is not None:
        expected = "expected printable ASCII characters without spaces"
        raise InputError(f"{where}: the token in the environment variable {variable} {fault}; {expected}")
    return token


def _fault(token: str) -> str | None:
    """What is wrong with a token, without saying what it is."""
    if token.rstrip("\r\n") != token:
        return "ends with a line break"
    if not token.isascii():
        return "holds a character outside ASCII"
    if not token.isprintable():
        return "holds a control character"
    return "holds a space" if " " in token else None


def checked_headers(headers: Any, option: str) -> dict[str, str]:
    """Headers that can be sent; `option` names them for a person."""
    if not isinstance(headers, Mapping):
        raise InputError(f"option {option} must be a table of texts, not a {type(headers).__name__}")
    for name, value in headers.items():
        if not isinstance(name, str) or not HEADER_NAME.fullmatch(name):
            raise InputError(f"option {option}: {name!r:.80} is no name of a header")
        if not isinstance(value, str):
            raise InputError(f"option {option}: the value of {name} must be a text, not a {type(value).__name__}")
        if not value.isascii() or not value.isprintable() or value != value.strip():
            raise InputError(
                f"option {option}: the value of {name} cannot be sent; expected printable ASCII characters that do not "
                "begin or end with a space"
            )
    return dict(headers)


def checked_texts(texts: Any, option: str) -> dict[str, str]:
    """A table of texts, such as environment variables; numbers become their text."""
    if not isinstance(texts, Mapping):
        raise InputError(f"option {option} must be a table of texts, not a {type(texts).__name__}")
    for name, value in texts.items():
        if not isinstance(name, str) or not name:
            raise InputError(f"option {option}: {name!r:.80} is no name")
        if not isinstance(value, str | int | float):
            raise InputError(f"option {option}: the value of {name} must be a text, not a {type(value).__name__}")
    return {name: str(value) for name, value in texts.items()}


def check_certificates(ca: str | None, cert: str | None, key: str | None) -> None:
    """Files for TLS that can be read and used; else an InputError names the option and the file."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for option, file in (("ca", ca), ("cert", cert), ("key", key)):
        if file is not None:
            _require_readable(option, file)
    if ca is not None:
        try:
            context.load_verify_locations(ca)
        except (ssl.SSLError, OSError, ValueError):
            raise InputError(f"option ca: {ca!r} holds no certificate; expected a PEM file") from None
    if cert is not None:
        _check_own(context, cert, key)


def _require_readable(option: str, file: str) -> None:
    if not isinstance(file, str):
        raise InputError(f"option {option} must be the name of a file, not a {type(file).__name__}")
    if not os.path.exists(file):
        raise InputError(f"option {option}: there is no file {file!r}")
    try:
        with open(file, "rb") as opened:
            opened.read(1)
    except OSError as error:
        raise InputError(f"option {option}: {file!r} cannot be read: {error.strerror}") from None


def _check_own(context: ssl.SSLContext, cert: str, key: str | None) -> None:
    asked: list[str] = []

    def passphrase() -> str:  # without this OpenSSL asks at the terminal, and waits
        asked.append(cert)
        return "none"

    try:
        context.load_cert_chain(cert, key, password=passphrase)
    except (ssl.SSLError, OSError, ValueError) as error:
        if getattr(error, "reason", None) == "KEY_VALUES_MISMATCH":
            raise InputError(f"option key: {key!r} is not the key of the certificate {cert!r}") from None
        if asked:
            raise InputError(f"option key: {key or cert!r} is encrypted; give a key without a passphrase") from None
        raise InputError(
            f"options cert and key: {cert!r}{f' and {key!r}' if key else ''} are no certificate with its key; "
            "expected PEM files"
        ) from None
