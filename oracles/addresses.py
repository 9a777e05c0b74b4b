"""Addresses as they may be shown and stored, and which options of an oracle may be secret. Opens nothing.

Passwords and queries of an address, the words of a command, headers, form fields and environment variables are
secrets: somebody may have put a key there. So are all texts that are given to code nobody here knows.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.vocabulary.errors import InputError
from harness.vocabulary.secret import Secret

SCRIPT = re.compile(r"\w[\w.-]*\.(py|r|R|jl|js|mjs|ts|sh|pl|rb|php|jar|lua|m|exe)")  # a file that programs run
AUTHORITY = re.compile(r"(//)[^/?#]*@")
# Texts that are no secrets: names of files, of variables, of columns, and words with a meaning of ours.
PLAIN_TEXTS = frozenset(
    (
        "ca", "cert", "key", "token_env", "server_name", "encoding", "delimiter", "columns", "name", "cwd", "replay",
        "plain.method", "plain.format", "plain.field", "plain.names", "plain.seed", "plain.delimiter", "plain.columns",
        "plain.request_key", "plain.reply_key",
    )
)  # fmt: skip
SECRET_TABLES = frozenset(("headers", "env", "plain.headers", "plain.fields"))  # whatever they hold, numbers too
NOT_SHOWN = "(not shown)"
OPEN_SCHEMES = frozenset(("reference",))  # our own anonymizers: nothing in their options is secret


def shown_address(address: str) -> str:
    """An address without what may be secret in it: password, query, the words of a command."""
    scheme, _, rest = address.partition(":")
    if scheme == "cmd":
        return f"cmd:{_shown_command(rest)}"
    return re.split(r"[?#]", AUTHORITY.sub(r"\1", address), maxsplit=1)[0]


def _shown_command(text: str) -> str:
    try:
        words = shlex.split(text)
    except ValueError:
        return "…"
    return program_name(words) if words else ""


def program_name(argv: Sequence[str]) -> str:
    """How outputs call a command: its program, and the script or module that it runs.

    No other word is shown: options and their values may be secret.
    """
    words, program = list(argv[1:]), Path(argv[0]).name
    if program.startswith("python") and "-m" in words[:-1]:
        return f"{program} -m {words[words.index('-m') + 1]}"
    script = next((name for name in (Path(word).name for word in words) if SCRIPT.fullmatch(name)), None)
    return program if script is None else f"{program} {script}"


def check_characters(address: str, options: Mapping[str, Any]) -> None:
    """No null character anywhere, and nothing unprintable in an address: no library takes them well."""
    if not address.isprintable() and not address.startswith("cmd:"):
        raise InputError(f"oracle address {shown_address(address)!r:.80}: it holds a character that cannot be printed")
    place = "the address" if "\0" in address else _place_of_null(options, "option")
    if place is not None:
        raise InputError(f"oracle {shown_address(address)!r:.80}: {place} holds a null character; leave it out")


def _place_of_null(value: Any, place: str) -> str | None:
    if isinstance(value, str):
        return place if "\0" in value else None
    if isinstance(value, Mapping):
        parts = [(str(name), name, part) for name, part in value.items()]
    elif isinstance(value, list | tuple):
        parts = [(str(number), "", part) for number, part in enumerate(value)]
    else:
        return None
    for name, key, part in parts:
        inner = f"{place} {name}" if place == "option" else f"{place}.{name}"
        found = place if isinstance(key, str) and "\0" in key else _place_of_null(part, inner)
        if found is not None:
            return found
    return None


def without_secrets(address: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """An address and options as plain data for a journal, in which every value that may be secret is a Secret."""
    shown = shown_address(address)
    hidden = {} if shown == address else {"whole_address": Secret(address)}
    is_open = address.partition(":")[0] in OPEN_SCHEMES
    kept = dict(options) if is_open else {name: _kept(value, name) for name, value in options.items()}
    return {"address": shown, **hidden, "options": kept}


def secret_options(options: Mapping[str, Any]) -> list[str]:
    """The names of options that are there for secrets: headers, env, and plain if it has headers, fields or a query."""
    plain = options.get("plain")
    plain = plain if isinstance(plain, Mapping) else {}
    hides = plain.get("headers") or plain.get("fields") or "?" in str(plain.get("path", ""))
    return [name for name in ("headers", "env") if options.get(name)] + (["plain"] if hides else [])


def shown_option(place: str, value: Any) -> Any:
    """An option, or a part of one, for a person: tables of secrets and queries are not shown."""
    if any(place == table or place.startswith(f"{table}.") for table in SECRET_TABLES):
        return NOT_SHOWN
    if place == "plain.path":
        return str(value).partition("?")[0]
    if isinstance(value, Mapping):
        return {name: shown_option(f"{place}.{name}" if place else name, part) for name, part in value.items()}
    return value


def _kept(value: Any, place: str, *, secret: bool = False) -> Any:
    """A value, with Secrets in the place of texts, and of everything in a table of secrets."""
    if place in PLAIN_TEXTS:
        return value
    secret = secret or place in SECRET_TABLES
    if isinstance(value, Mapping):
        return {name: _kept(part, f"{place}.{name}", secret=secret) for name, part in value.items()}
    if place == "plain.path" and isinstance(value, str):
        path, mark, query = value.partition("?")
        return {"path": path, "query": Secret(query)} if mark else value
    if isinstance(value, list | tuple) and not secret:
        return [_kept(part, f"{place}[{number}]") for number, part in enumerate(value)]
    return Secret(value) if secret or isinstance(value, str) else value
