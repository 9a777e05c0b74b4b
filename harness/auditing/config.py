"""audit.toml: reads it and builds a Plan, or says what is wrong where. Knows the disk, not the oracle."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from harness.auditing import statements
from harness.auditing.options import (
    ADVERSARY,
    ADVERSARY_KEYS,
    SUBJECT,
    USUALLY_KEPT,
    Option,
    is_as_expected,
    kept_bytes,
    options_of,
)
from harness.auditing.plan import Claim, Plan
from harness.measuring.adversary import Adversary, adversary_from, panel_named, with_plain_readers
from harness.measuring.divergence import divergence_named
from harness.measuring.encoding import PROPORTIONAL
from harness.measuring.privacy_claim import PrivacyClaim
from harness.vocabulary.dataset import Dataset, Missing
from harness.vocabulary.errors import InputError, did_you_mean, message_of
from harness.vocabulary.files import not_utf_8
from harness.vocabulary.loading import is_importable_name, load_object
from harness.vocabulary.schema import Column, Schema, sensitive_columns
from harness.vocabulary.source import read_columns

PLAN = options_of(Plan)  # passed on to the Plan as they are
OPTIONS = (*SUBJECT, *PLAN, *statements.OPTIONS)
SWEEP = "sweep"  # the section that makes an audit.toml a sweep.toml: harness/analysis/sweep_file.py reads it


@dataclass(frozen=True, eq=False)
class AuditFile:
    """What an audit.toml says: the plan, where the oracle is, and how many workers ask it, or where."""

    path: Path
    plan: Plan
    address: str
    options: dict[str, Any]  # of the oracle, as they are written: its files are relative to the folder of `path`
    workers: int | str
    keep_predictions: int = kept_bytes(USUALLY_KEPT)  # bytes
    statements: dict[str, Any] = field(default_factory=dict)  # what the auditor states: the section [evidence]


def load(path: str | Path) -> AuditFile:
    """The audit that a file describes; relative paths in it are relative to it."""
    path = Path(path)
    return build(path, read_toml(path))


def build(path: Path, content: Mapping[str, Any], data: Dataset | None = None) -> AuditFile:
    """The audit that the content of a file describes; `data` is what its section [data] declares, if that was read."""
    try:
        check(content)
        return _build(path, content, dataset_of(path, content) if data is None else data)
    except InputError as error:
        raise error.within(str(path)) from None


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file."""
    try:
        content = path.read_bytes()
        return tomllib.loads(content.decode("utf-8-sig").replace("\r\n", "\n"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: {not_utf_8(content.splitlines())}") from None
    except RecursionError:
        raise InputError(f"{path}: not a TOML file: its lists or tables lie too deep in one another") from None
    except ValueError as error:  # TOMLDecodeError, and a number of thousands of digits
        raise InputError(f"{path}: not a TOML file: {message_of(error)}") from None


def sections() -> dict[str, dict[str, Option]]:
    """All options by section and name."""
    grouped: dict[str, dict[str, Option]] = {}
    for option in OPTIONS:
        grouped.setdefault(option.section, {})[option.name] = option
    return grouped


def check(content: Mapping[str, Any]) -> None:
    """Every section and key is known and of its kind, and none that is needed is missing."""
    known = sections()
    for section, options in content.items():
        if section == ADVERSARY:
            _check_adversaries(options)
            continue
        if section == SWEEP:
            raise InputError(
                "this is a sweep, that is one audit for every value of some keys: run it with `harness sweep FILE`, or "
                f"take [{SWEEP}] out to run one audit"
            )
        if section not in known:
            raise InputError(f"unknown section [{section}]; {did_you_mean(section, [*known, ADVERSARY])}")
        _check_section(section, options, known[section])
    _check_accepted(content.get(statements.EVIDENCE, {}))
    for section, options in known.items():
        _require_keys(section, content.get(section, {}), options.values())


def _check_accepted(evidence: Mapping[str, Any]) -> None:
    for table in evidence.get("accepted", ()):
        _check_keys("[[evidence.accepted]]", table, statements.ACCEPTED_KEYS)


def checked_statements(evidence: Any) -> dict[str, Any]:
    """What an auditor states, as the section [evidence] or the keyword of `audit`: checked, as plain data."""
    _check_section(statements.EVIDENCE, evidence, sections()[statements.EVIDENCE])
    _check_accepted(evidence)
    return statements.stated(evidence)


def _check_section(section: str, options: Any, known: Mapping[str, Option]) -> None:
    if not isinstance(options, dict):
        raise InputError(f"{section} must be a section [{section}], not {_shown(section, options)}")
    _check_keys(f"[{section}]", options, {name: option.expected for name, option in known.items()})


def _require_keys(section: str, given: Mapping[str, Any], options: Iterable[Option]) -> None:
    for option in options:
        if option.required and option.name not in given:
            raise InputError(f"[{section}] {option.name} is missing; it must be {option.expected}")
        if option.required and given[option.name] == "":
            raise InputError(f"[{section}] {option.name} is an empty text")


def _check_keys(where: str, options: Mapping[str, Any], expected: Mapping[str, str]) -> None:
    for key, value in options.items():
        if key not in expected:
            raise InputError(f"{where} unknown key {key!r}; {did_you_mean(key, expected)}")
        if not is_as_expected(expected[key], value):
            raise InputError(f"{where} {key} must be {expected[key]}, not {_shown(where, value)}")


def _shown(where: str, value: Any) -> str:
    """A wrong value; of the section of the oracle only what it is, because it may be a secret."""
    return f"a {type(value).__name__}" if where.strip("[]") == "oracle" else repr(value)


def _check_adversaries(tables: Any) -> None:
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise InputError("adversary must be a list of tables, each headed [[adversary]]")
    for table in tables:
        _check_keys("[[adversary]]", table, ADVERSARY_KEYS)


def _build(path: Path, content: Mapping[str, Any], dataset: Dataset) -> AuditFile:
    run, inference, data = content.get("run", {}), content.get("inference", {}), content["data"]
    declared = choose_adversaries(
        content.get(ADVERSARY),
        {key: inference[key] for key in ("encoder", "model", "prior") if key in inference},
        inference.get("panel"),
        path.parent,
        shows_shares=content["oracle"].get("options", {}).get(PROPORTIONAL) is True,
    )
    joint = data.get("joint", False)
    plan = Plan(
        data=dataset,
        claim=Claim(**{key: value for key, value in content["claim"].items() if key != "privacy"}),
        privacy=PrivacyClaim.of(content["claim"]["privacy"]) if "privacy" in content["claim"] else None,
        adversaries=bind(declared, dataset, joint, lambda columns: read_columns(path.parent / data["path"], columns)),
        divergence=divergence_named(loaded(inference.get("distance", "sum")), path.parent),
        **dict(options_of_plan(content)),
    )
    oracle = content["oracle"]
    evidence = statements.stated(content.get(statements.EVIDENCE, {}))
    kept = kept_bytes(run.get("keep_predictions", USUALLY_KEPT))
    return AuditFile(path, plan, oracle["address"], oracle.get("options", {}), run.get("workers", 1), kept, evidence)


def options_of_plan(content: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The options that a Plan takes as they are, as far as the file has them."""
    for option in PLAN:
        if option.name in content.get(option.section, {}):
            yield option.name, content[option.section][option.name]


def choose_adversaries(
    listed: Sequence[Adversary | Mapping[str, Any]] | None,
    single: Mapping[str, Any],
    panel: str | None,
    base: Path = Path(),
    *,
    shows_shares: bool = False,
) -> tuple[Adversary, ...]:
    """The adversaries of an audit: a list of them, a named panel, or one by its encoder, model and prior.

    Where none is chosen and the anonymizer is known to print proportional tables, somebody reads their shares, too.
    """
    if sum((listed is not None, bool(single), panel is not None)) > 1:
        raise InputError(
            "adversaries are given in more than one way; give either a list of adversaries, or a panel, or one by its "
            "encoder, model and prior"
        )
    if panel is not None:
        return panel_named(panel)
    usual = [single] if single or not shows_shares else [single, {"encoder": PROPORTIONAL}]
    chosen = listed if listed is not None else usual
    return with_plain_readers(adversary_from(one, base) for one in chosen)


def bind(
    adversaries: Sequence[Adversary],
    data: Dataset,
    joint: bool,
    source: Callable[[Sequence[str]], pd.DataFrame],
) -> tuple[Adversary, ...]:
    """The adversaries with what their priors know of each record; `source` gives further columns of the data."""
    columns = sorted({column for adversary in adversaries for column in adversary.prior.columns})
    frame = source(columns) if columns else None
    return tuple(adversary.for_data(data, data.secrets(joint), frame) for adversary in adversaries)


def loaded(declaration: Any) -> Any:
    """A user's own object for `package.module:name`, anything else as it is."""
    return load_object(declaration) if isinstance(declaration, str) and is_importable_name(declaration) else declaration


def load_schema(path: str | Path) -> Schema:
    """The columns that a file declares: the section [data] of an audit.toml, which need not name the data itself."""
    return load_declared_data(path)[0]


def load_declared_data(path: str | Path) -> tuple[Schema, Mapping[str, Any]]:
    """The columns, and the section [data] as it is written; relative paths in it are relative to the file."""
    path = Path(path)
    content = read_toml(path)
    try:
        known = sections()
        unknown = next((name for name in content if name not in (*known, ADVERSARY)), None)
        if unknown is not None or "data" not in content:
            what = "[data] is missing" if unknown is None else f"unknown section [{unknown}]"
            raise InputError(f"{what}; expected [data] with sensitive and [data.quasi], as in an audit.toml")
        _check_section("data", content["data"], known["data"])
        _require_keys("data", content["data"], [one for one in known["data"].values() if one.name != "path"])
        return _schema(path, content["data"]), content["data"]
    except InputError as error:
        raise error.within(str(path)) from None


def _schema(path: Path, options: Mapping[str, Any]) -> Schema:
    quasi = [Column.of(name, declaration, path.parent) for name, declaration in options["quasi"].items()]
    sensitive = list(sensitive_columns(options["sensitive"], path.parent))
    return Schema(quasi, sensitive, options.get("weight"), options.get("person"), options.get("suppressed"))


def dataset_of(path: Path, content: Mapping[str, Any]) -> Dataset:
    """The data that the section [data] of a checked file declares."""
    options = content["data"]
    return read_data(path.parent / options["path"], _schema(path, options), options)


def read_data(path: Path, schema: Schema, options: Mapping[str, Any]) -> Dataset:
    """The records of a file, with gaps treated as the section [data] says."""
    marks = options.get("missing_values", [""])
    missing: Missing = options.get("missing", "error")
    marks = [marks] if isinstance(marks, str) else marks
    return Dataset.from_file(path, schema, missing, marks)
