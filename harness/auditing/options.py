"""What an option of an audit is, and the options that say what is audited; those of the plan stand there (plan.py).

audit.toml is checked against all of them (config.py), and the manual is generated from them. Every option is also a
keyword of `harness.audit` unless it is said to belong to the file alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from typing import Any

from harness.vocabulary.errors import InputError
from harness.vocabulary.sizes import bytes_in

NUMBER, WHOLE, TEXT, TRUTH = "a number", "a whole number", "a text", "true or false"
TEXTS, TABLE = "a text or a list of texts", "a table"
COLUMNS = "a text, a table with a name, or a list of these"
TEXT_OR_TABLE, ALL_OR_WHOLE = "a text or a table", '"all" or a whole number'
WHOLE_OR_TEXT = "a whole number or a text"
USUALLY_KEPT = "1G"  # bytes of draws of predictions
DATE, TABLES = "a date such as 2026-03-31, without quotes", "a list of tables"


@dataclass(frozen=True)
class Option:
    """One option: where it stands in audit.toml, what it may be, and what it is for."""

    section: str
    name: str
    expected: str
    purpose: str
    required: bool = False
    in_file_only: bool = False
    plan: Mapping[str, Any] | None = None  # of an option of the plan alone: the JSON schema of what Plan.spec() shows


SUBJECT = (  # what is audited, and by whom
    Option("data", "path", TEXT, "CSV, Parquet or Excel file with the records, relative to the audit.toml", True, True),
    Option("data", "sensitive", COLUMNS, "what an adversary wants to know: one column or several, each its name or a "
           'table of its name and keys: { name = "disease", values = ["flu", "cold"] }; or a table of columns, to put '
           "numbers into bins: { income = { kind = \"number\", bins = 5 } }", True),
    Option("data", "quasi", TABLE, "what an adversary knows: each column with its kind or a table of its keys", True),
    Option("data", "person", TEXT, "column that says whose row it is; a person is left out with all her rows"),
    Option("data", "missing", TEXT, 'rows with gaps: "error", "drop", or "keep" a gap as a value of its own (an empty '
           "cell of a release then means that value)"),
    Option("data", "missing_values", TEXTS, "texts of the CSV file that mean a gap", in_file_only=True),
    Option("data", "suppressed", TEXTS, "texts of the releases that mean a suppressed cell; must be declared where the "
           "data itself has a value such as *, ? or NA, which could be either"),
    Option("data", "weight", TEXT, "column of the releases that says how many people a row represents; undeclared, an "
           'added column called count, weight, weights, frequency or freq is read so; "" says that none is'),
    Option("oracle", "address", TEXT, "where the anonymizer is: python:, cmd:, http(s)://, grpc(s)://, reference:",
           True, True),
    Option("oracle", "options", TABLE, "options of that kind of oracle, or keyword arguments of a callable",
           in_file_only=True),
    Option("claim", "epsilon", NUMBER, "no person may move the inference about herself by this much", True),
    Option("claim", "delta", NUMBER, "except with this probability (v1); 0: the distance of the laws decides (v2)"),
    Option("claim", "confidence", NUMBER, "of the verdict (0.95)"),
    Option("claim", "privacy", TABLE, "differential privacy that f is said to have (what its card says): epsilon and "
           "delta; or rho and delta (zCDP); or order, epsilon and delta (Rényi)"),
    Option("inference", "encoder", TEXT_OR_TABLE, 'how a release is encoded ("tf-tf"); see the encodings'),
    Option("inference", "model", TEXT_OR_TABLE, 'what is trained on it ("bernoulli"); see the models'),
    Option("inference", "prior", TEXT_OR_TABLE, 'what the adversary believes beforehand ("fitted"); see the priors'),
    Option("inference", "panel", TEXT, 'a named list of adversaries instead: "standard"'),
    Option("inference", "distance", TEXT_OR_TABLE, 'how predictions are compared ("sum"); see the distances'),
    Option("run", "workers", WHOLE_OR_TEXT, 'how many ask at once (1); or where: "local:4", "tcp://scheduler:8786"'),
    Option("run", "keep_predictions", WHOLE_OR_TEXT, "how many bytes of draws of predictions are kept, at most, for "
           f'`harness verify` to measure once more from ("{USUALLY_KEPT}"; 0: none); the report does not depend on it'),
)  # fmt: skip

ADVERSARY = "adversary"  # a list of tables [[adversary]], each with these keys
ADVERSARY_KEYS = {"encoder": TEXT_OR_TABLE, "model": TEXT_OR_TABLE, "prior": TEXT_OR_TABLE, "name": TEXT}


def plan_option(section: str, expected: str, purpose: str, shown: Mapping[str, Any], default: Any) -> Any:
    """A field of the Plan that is an option; `shown` is the JSON schema of what Plan.spec() says of it."""
    return field(default=default, metadata={"option": (section, expected, purpose, shown)})


def options_of(plan: type) -> tuple[Option, ...]:
    """The options among the fields of the Plan, which takes them as they are."""
    declared = ((each.name, each.metadata["option"]) for each in fields(plan) if "option" in each.metadata)
    return tuple(
        Option(section, name, expected, purpose, plan=shown) for name, (section, expected, purpose, shown) in declared
    )


def kept_bytes(written: int | str) -> int:
    """What `keep_predictions` says, in bytes."""
    try:
        return bytes_in(written)
    except InputError as error:
        raise error.within(f"keep_predictions = {written!r}") from None


def is_as_expected(expected: str, value: Any) -> bool:
    """Whether a value of a TOML file is of the expected kind."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    texts = isinstance(value, list) and all(isinstance(item, str) for item in value)
    return {
        NUMBER: whole or isinstance(value, float),
        WHOLE: whole,
        TEXT: isinstance(value, str),
        TRUTH: isinstance(value, bool),
        TEXTS: isinstance(value, str) or texts,
        TABLE: isinstance(value, dict),
        COLUMNS: all(isinstance(item, str | dict) for item in (value if isinstance(value, list) else [value])),
        TEXT_OR_TABLE: isinstance(value, str | dict),
        ALL_OR_WHOLE: value == "all" or whole,
        WHOLE_OR_TEXT: whole or isinstance(value, str),
        DATE: isinstance(value, date),
        TABLES: isinstance(value, list) and all(isinstance(item, dict) for item in value),
    }[expected]
