"""What a check found, as values: one result per law. Knows no oracle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from harness.render.check_report import broken_law
from harness.testing.claims import Claims
from harness.testing.law import Law

Outcome = Literal["passed", "failed", "skipped", "inconclusive"]
FORMAT = 1  # of check.json


@dataclass(frozen=True)
class LawResult:
    """How one law fared: `reason` says why it failed, was skipped or could not be judged."""

    law: Law
    outcome: Outcome
    calls: int  # whose answers it was judged by, those that other laws were judged by too included
    tables: int = 0  # that could have broken it
    reason: str | None = None
    counterexample: tuple[dict[str, Any], ...] | None = None  # the smallest table that was found to break it
    reproduce: str | None = None  # a command
    test: str | None = None  # the same as a test in Python

    def require(self) -> None:
        """Raises an AssertionError with the table if the law is broken."""
        if self.outcome == "failed":
            raise AssertionError(broken_law(self.plain()))

    def plain(self) -> dict[str, Any]:
        """As check.json holds it."""
        return {
            "name": self.law.name,
            "says": self.law.says,
            "why": self.law.why,
            "severity": self.law.severity,
            "error_rate": self.law.error_rate,
            "outcome": self.outcome,
            "reason": self.reason,
            "calls": self.calls,
            "tables": self.tables,
            "counterexample": None if self.counterexample is None else list(self.counterexample),
            "reproduce": self.reproduce,
            "test": self.test,
        }


@dataclass(frozen=True)
class CheckReport:
    """All results of a check, and what it took."""

    oracle: str
    claims: dict[str, Any]
    seed: int
    calls: int
    laws: tuple[LawResult, ...] = field(repr=False)
    schema: str | None = None  # its file, where it was read from one

    def by_outcome(self, outcome: Outcome) -> Sequence[LawResult]:
        return [result for result in self.laws if result.outcome == outcome]

    @property
    def failed(self) -> Sequence[LawResult]:
        return self.by_outcome("failed")

    @property
    def passed(self) -> bool:
        """Whether no law was broken."""
        return not self.failed

    def exit_code(self, *, inconclusive_fails: bool = False) -> int:
        """0: nothing is broken; 1: a law is; 4: one could not be judged, where that counts."""
        if any(result.law.severity == "error" for result in self.failed):
            return 1
        return 4 if inconclusive_fails and self.by_outcome("inconclusive") else 0

    def require(self) -> None:
        """Raises an AssertionError that shows the smallest counterexample of every broken law."""
        if self.failed:
            raise AssertionError("\n\n".join(broken_law(result.plain()) for result in self.failed))

    def plain(self) -> dict[str, Any]:
        """The content of check.json."""
        return {
            "format": FORMAT,
            "oracle": self.oracle,
            "schema": self.schema,
            "claims": self.claims,
            "seed": self.seed,
            "calls": self.calls,
            "outcome": "failed" if self.failed else "passed",
            "laws": [result.plain() for result in self.laws],
        }


def as_test(law: Law, claims: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    """A test with the table that broke the law, to be pasted where `f` and its schema `SCHEMA` are known."""
    table = {name: [row[name] for row in rows] for name in rows[0]}
    return "\n".join(
        [
            "import pandas as pd",
            "from harness.testing import check_table",
            "",
            "# f is the anonymizer, SCHEMA its harness.Schema or the name of a schema.toml",
            f"def test_{law.name.replace('-', '_')}() -> None:",
            f"    table = pd.DataFrame({table!r})",
            f"    check_table(f, SCHEMA, table, {law.name!r}, {dict(claims)!r}).require()",
        ]
    )


def plain_claims(claims: Claims) -> dict[str, Any]:
    """What is claimed, without what is not."""
    return {name: value for name, value in asdict(claims).items() if value is not None}
