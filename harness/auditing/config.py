"""audit.toml: reads it and builds a Plan, or says what is wrong where. Knows the disk, not the oracle."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.auditing.plan import Claim, Plan
from harness.measuring.adversary import Inference
from harness.measuring.divergence import named
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError, did_you_mean
from harness.vocabulary.schema import Column, Schema

NUMBER, WHOLE, TEXT, TRUTH = "a number", "a whole number", "a text", "true or false"
TEXTS, TABLE = "a text or a list of texts", "a table"
ALL_OR_WHOLE = '"all" or a whole number'

KEYS: dict[str, dict[str, str]] = {
    "data": {
        "path": TEXT, "sensitive": TEXTS, "quasi": TABLE, "missing": TEXT, "missing_values": TEXTS, "weight": TEXT
    },
    "oracle": {"address": TEXT, "options": TABLE},
    "claim": {"epsilon": NUMBER, "delta": NUMBER, "confidence": NUMBER},
    "inference": {"encoder": TEXT, "model": TEXT, "distance": TEXT},
    "run": {"draws": WHOLE, "seed": WHOLE, "records": ALL_OR_WHOLE, "budget": WHOLE, "adaptive": TRUTH,
        "workers": WHOLE, "blind": TRUTH},
}  # fmt: skip
FILES = ("record", "replay", "ca", "cert", "key")  # of the options of any remote oracle
REQUIRED = (("data", "path"), ("data", "sensitive"), ("data", "quasi"), ("oracle", "address"), ("claim", "epsilon"))


@dataclass(frozen=True, eq=False)
class Planfile:
    """What an audit.toml says: the plan, where the oracle is, and how many workers ask it."""

    path: Path
    plan: Plan
    address: str
    options: dict[str, Any]
    workers: int


def load(path: str | Path) -> Planfile:
    """The audit that a file describes; relative paths in it are relative to it."""
    path = Path(path)
    said = _parsed(path)
    _check(path, said)
    try:
        return _built(path, said)
    except InputError as error:
        raise error if str(error).startswith(str(path)) else InputError(f"{path}: {error}") from None


def _parsed(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a TOML file: {error}") from None


def _check(path: Path, said: Mapping[str, Any]) -> None:
    """Every section and key is known and of its type, and none that is needed is missing."""
    for section, content in said.items():
        if section not in KEYS:
            raise InputError(f"{path}: unknown section [{section}]; {did_you_mean(section, KEYS)}")
        if not isinstance(content, dict):
            raise InputError(f"{path}: {section} must be a section [{section}], not {content!r}")
        for key, value in content.items():
            if key not in KEYS[section]:
                raise InputError(f"{path}: [{section}] unknown key {key!r}; {did_you_mean(key, KEYS[section])}")
            if not _is(KEYS[section][key], value):
                raise InputError(f"{path}: [{section}] {key} must be {KEYS[section][key]}, not {value!r}")
    for section, key in REQUIRED:
        if key not in said.get(section, {}):
            raise InputError(f"{path}: [{section}] {key} is missing; it must be {KEYS[section][key]}")


def _is(expected: str, value: object) -> bool:
    whole = isinstance(value, int) and not isinstance(value, bool)
    texts = isinstance(value, list) and all(isinstance(item, str) for item in value)
    return {
        NUMBER: whole or isinstance(value, float),
        WHOLE: whole,
        TEXT: isinstance(value, str),
        TRUTH: isinstance(value, bool),
        TEXTS: isinstance(value, str) or texts,
        TABLE: isinstance(value, dict),
        ALL_OR_WHOLE: value == "all" or whole,
    }[expected]


def _built(path: Path, said: Mapping[str, Any]) -> Planfile:
    run, inference = said.get("run", {}), said.get("inference", {})
    plan = Plan(
        data=_dataset(path, said["data"]),
        claim=Claim(**said["claim"]),
        inference=Inference.named(inference.get("encoder", "tf"), inference.get("model", "bernoulli")),
        distance=named(inference.get("distance", "emd")),
        **{key: run[key] for key in ("draws", "seed", "records", "budget", "adaptive", "blind") if key in run},
    )
    workers = run.get("workers", 1)
    address = said["oracle"]["address"]
    return Planfile(path, plan, address, _from_here(path, address, said["oracle"].get("options", {})), workers)


def _from_here(path: Path, address: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The oracle's options with files relative to the audit.toml; a command is run in its folder."""
    files = {name: str(path.parent / options[name]) for name in FILES if isinstance(options.get(name), str)}
    place = {"cwd": str(path.parent.resolve())} if address.startswith("cmd:") else {}
    return {**place, **options, **files}


def _dataset(path: Path, said: Mapping[str, Any]) -> Dataset:
    quasi = [Column.of(name, declaration, path.parent) for name, declaration in said["quasi"].items()]
    schema = Schema(quasi, said["sensitive"], said.get("weight"))
    source = path.parent / said["path"]
    missing = said.get("missing", "error")
    if source.suffix.lower() in (".parquet", ".pq"):
        return Dataset.from_parquet(source, schema, missing)
    marks = said.get("missing_values", [""])
    return Dataset.from_csv(source, schema, missing, [marks] if isinstance(marks, str) else marks)
