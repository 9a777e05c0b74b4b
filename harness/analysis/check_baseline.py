"""What a baseline holds of one check: its claims, and the outcome of every law. Knows the plain data of check.json.

No table is in it, since counterexamples may hold values of a sample of real rows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.vocabulary.errors import InputError

LAW_OUTCOMES = ("passed", "failed", "skipped", "inconclusive")

Plain = dict[str, Any]
Given = Mapping[str, Any]


@dataclass(frozen=True)
class CheckBaseline:
    """What was found by one check."""

    oracle: str
    claims: Mapping[str, Any]
    laws: Mapping[str, str]  # outcomes by name

    def plain(self) -> Plain:
        return {
            "oracle": self.oracle,
            "claims": dict(sorted(self.claims.items())),
            "laws": dict(sorted(self.laws.items())),
        }

    @classmethod
    def from_plain(cls, plain: Given) -> CheckBaseline:
        """What `plain()` gave; KeyError, TypeError or ValueError for anything else."""
        return cls(str(plain["oracle"]), dict(plain["claims"]), outcomes_from(plain["laws"]))


def outcomes_from(laws: Given) -> dict[str, str]:
    """The outcomes of laws by name; ValueError for one that is not known."""
    for name, outcome in laws.items():
        if outcome not in LAW_OUTCOMES:
            raise ValueError(f"law {name!r} is {outcome!r}; expected one of {', '.join(LAW_OUTCOMES)}")
    return {str(name): str(outcome) for name, outcome in laws.items()}


def check_baseline_of(check: Given) -> CheckBaseline:
    """What a baseline holds of a check.json; KeyError, TypeError or ValueError for anything else."""
    laws = {law["name"]: law["outcome"] for law in check["laws"]}
    return CheckBaseline(str(check["oracle"]), dict(check["claims"]), outcomes_from(laws))


def read_check(path: Path) -> CheckBaseline:
    """The check of a check.json."""
    try:
        return check_baseline_of(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(f"{path}: not the check.json of `harness check --report json`") from None


def is_check(path: Path) -> bool:
    """Whether a file is a check.json rather than a report.json; by what it holds, whatever its name is."""
    if path.suffix != ".json" or not path.is_file():
        return False
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(content, dict) and "laws" in content and "verdict" not in content
