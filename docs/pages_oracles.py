"""The reference of oracles: every address, with every option of every transport, and the reference anonymizers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from describe import documentation_of, generated, listed, parameters_of, quoted, table

import oracles
from harness.vocabulary.loading import find_object
from oracles.reference import REFERENCE


def oracles_page() -> str:
    parts = [
        generated(
            "Oracles",
            "How an anonymizer is reached: `address` and `[oracle.options]` of audit.toml, the first "
            "argument of `harness.audit`, and the address of `harness serve`.",
        ),
        f"Schemes of an address: {listed(oracles.SCHEMES)}; an entry point of the group `harness.oracles` adds one of "
        "its name. All but `python` and `reference`, those of entry points too, take these options:\n",
        table(("option", ""), [(quoted(name), text) for name, text in oracles.WRAPPER_OPTIONS.items()]),
        "## `python:package.module:name`\n",
        "A callable, or a class of oracles. It runs in a process of its own: what it prints, and the traceback of what "
        "it raises, is in `oracle.log` in the folder of the audit, which may hold raw rows (mode 0600). "
        "These options are ours, all others are its keyword arguments:\n",
        table(("option", ""), [(quoted(name), text) for name, text in oracles.PYTHON_OPTIONS.items()]),
    ]
    for transport in dict.fromkeys(map(id, oracles.SCHEMES.values())):
        parts += _transport(next(one for one in oracles.SCHEMES.values() if id(one) == transport))
    parts.append("## `reference:name`\n")
    for name, kind in REFERENCE.items():
        parts.append(f"**`reference:{name}`**\n\n{_explained(kind)}")
    return "\n".join(parts)


def _transport(transport: oracles.Transport) -> Iterator[str]:
    for address, classes in transport.forms.items():
        yield f"## `{address}`\n"
        yield from (_explained(find_object(name)) for name in classes)


def _explained(kind: Any) -> str:
    """A class with what it is and all its parameters."""
    return "\n".join([f"`{kind.__name__}`: {documentation_of(kind)}", parameters_of(kind)])
