"""Tables that broke a law, kept as files until they do not any more. Knows the disk, asks nobody.

A case is a JSON file in `.harness`, a folder that ignores itself in git. It names the anonymizer, the schema file, the
claims, the law and the rows, so that `harness replay` can ask the same again. Options that hold secrets are not kept,
only their names: they are given again. Cases may hold raw rows, so only their owner reads them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from harness.testing.asking import Rows
from harness.vocabulary.errors import InputError, why_not_written
from harness.vocabulary.private_files import make_private_folder, write_private
from oracles.addresses import secret_options

FOLDER = Path(".harness")
LOG = "oracle.log"
FORMAT = 1
FIELDS = {"address": str, "options": dict, "schema": str, "claims": dict, "law": str, "rows": list, "seed": int}


@dataclass(frozen=True)
class Case:
    """One broken law with the table that broke it."""

    address: str
    options: Mapping[str, Any]
    schema: str  # path of the file
    claims: Mapping[str, Any]
    law: str
    rows: Rows
    seed: int
    withheld: tuple[str, ...] = ()  # names of options that are not kept

    @property
    def name(self) -> str:
        """The same for the same case."""
        content = json.dumps(asdict(self), sort_keys=True, default=str)
        return f"{self.law}-{hashlib.sha256(content.encode()).hexdigest()[:8]}.json"


def keep(case: Case, folder: Path = FOLDER) -> Path:
    """Write a case; returns its file."""
    secret = secret_options(case.options)
    kept = {name: value for name, value in case.options.items() if name not in secret}
    case = replace(case, options=kept, withheld=tuple(secret))
    path = _made(folder) / case.name
    try:
        content = json.dumps({"format": FORMAT, **asdict(case)}, indent=1, ensure_ascii=False)
        write_private(path, (content + "\n").encode(errors="backslashreplace"))
    except OSError as error:
        raise InputError(why_not_written(path, error)) from None
    return path


def log_in(folder: Path | None) -> Path | None:
    """The file for what an anonymizer prints and raises; None: it prints to standard error."""
    return None if folder is None else _made(folder) / LOG


def _made(folder: Path) -> Path:
    try:
        make_private_folder(folder)
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    except OSError as error:
        raise InputError(why_not_written(folder / ".gitignore", error)) from None
    return folder


def read_case(path: Path) -> Case:
    """A case as it was kept; anything else is an InputError that names the file."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise InputError(f"{path}: not a case of `harness check`: {error}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(f"{path}: not a case of `harness check` (expected format {FORMAT})")
    for name, kind in FIELDS.items():
        if not isinstance(content.get(name), kind):
            raise InputError(f"{path}: {name} is missing or is no {kind.__name__}; run `harness check` again")
    if not all(isinstance(row, list) for row in content["rows"]):
        raise InputError(f"{path}: rows must be lists of cells; run `harness check` again")
    rows = tuple(tuple(row) for row in content["rows"])
    withheld = tuple(map(str, content.get("withheld") or ()))
    return Case(**{**{name: content[name] for name in FIELDS}, "rows": rows, "withheld": withheld})


def kept_cases(folder: Path = FOLDER) -> list[Path]:
    """All cases of a folder, by name."""
    return sorted(folder.glob("*.json"))
