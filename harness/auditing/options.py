"""The options of an audit in one table: audit.toml is checked against it, the manual is generated from it.

Every option of a section is also a keyword of `harness.audit` unless it is said to belong to the file alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

NUMBER, WHOLE, TEXT, TRUTH = "a number", "a whole number", "a text", "true or false"
TEXTS, TABLE = "a text or a list of texts", "a table"
TEXT_OR_TABLE, ALL_OR_WHOLE = "a text or a table", '"all" or a whole number'
WHOLE_OR_TEXT = "a whole number or a text"


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


OPTIONS = (
    Option("data", "path", TEXT, "CSV or Parquet file with the records, relative to the audit.toml", True, True),
    Option("data", "sensitive", TEXTS, "what an adversary wants to know: one column or several", True),
    Option("data", "quasi", TABLE, "what an adversary knows: each column with its kind or a table of its keys", True),
    Option("data", "joint", TRUTH, "infer several sensitive columns as one joint value (false: each separately)",
           plan={"type": "boolean"}),
    Option("data", "person", TEXT, "column that says whose row it is; a person is left out with all her rows"),
    Option("data", "missing", TEXT, 'rows with gaps: "error", "drop", or "keep" a gap as a value of its own'),
    Option("data", "missing_values", TEXTS, "texts of the CSV file that mean a gap", in_file_only=True),
    Option("data", "weight", TEXT, "column of the releases that says how many people a row represents"),
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
    Option("run", "draws", WHOLE, "draws a side where chance plays a part (500 of a randomized anonymizer, 25 of a "
           "randomized adversary behind a deterministic one)",
           plan={"anyOf": [{"type": "integer"}, {"type": "null"}, {"const": "adaptive"}]}),
    Option("run", "seed", WHOLE, "seed of all random draws (default 0)", plan={"type": "integer", "minimum": 0}),
    Option("run", "records", ALL_OR_WHOLE, 'how many persons to examine, drawn at random ("all")',
           plan={"anyOf": [{"const": "all"}, {"type": "integer", "minimum": 1}]}),
    Option("run", "budget", WHOLE, "calls of the anonymizer to spend, half on random persons, half on the riskiest",
           plan={"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}]}),
    Option("run", "adaptive", TRUTH, "draw in several rounds (looks) until each person is settled (false)", plan={}),
    Option("run", "randomized", TRUTH, "draw f even if its card says that it is deterministic (false)",
           plan={"type": "boolean"}),
    Option("run", "pairs", TEXT, 'draws that make a pair: of equal "seeds" where f honours them, or "independent"',
           plan={"enum": ["seeds", "independent"]}),
    Option("run", "confirm", WHOLE, "questions about persons that a deterministic f is asked again at the end (8)",
           plan={"type": "integer", "minimum": 2}),
    Option("run", "workers", WHOLE_OR_TEXT, 'how many ask at once (1); or where: "local:4", "tcp://scheduler:8786"'),
    Option("run", "blind", TRUTH, "f gets D without the person as just another table (true over a network)",
           plan={"type": ["boolean", "null"]}),
)  # fmt: skip

PLAN = tuple(option for option in OPTIONS if option.plan is not None)  # passed on to the Plan as they are
ADVERSARY = "adversary"  # a list of tables [[adversary]], each with these keys
ADVERSARY_KEYS = {"encoder": TEXT_OR_TABLE, "model": TEXT_OR_TABLE, "prior": TEXT_OR_TABLE, "name": TEXT}


def sections() -> dict[str, dict[str, Option]]:
    """The options by section and name."""
    grouped: dict[str, dict[str, Option]] = {}
    for option in OPTIONS:
        grouped.setdefault(option.section, {})[option.name] = option
    return grouped


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
        TEXT_OR_TABLE: isinstance(value, str | dict),
        ALL_OR_WHOLE: value == "all" or whole,
        WHOLE_OR_TEXT: whole or isinstance(value, str),
    }[expected]
