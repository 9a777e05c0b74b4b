"""Tables that break an anonymizer's rule as a whole: a clear refusal by every address, and an audit that goes on."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import harness
from harness.testing import check
from oracles.reference import Greedy, Mondrian
from oracles.serve.http import serve
from tests.command_line import run_harness
from tests.small_audits import audit, table
from tests.testing.boxes import SCHEMA

AUDIT = """
[data]
path = "people.csv"
sensitive = "ill"
quasi = {{ age = "number", sex = "category" }}
[oracle]
address = "{address}"
options = {options}
[claim]
epsilon = 0.1
"""
MINE = "from oracles.reference import Mondrian\n\nclass Large(Mondrian):\n    pass\n"
K_IS_TOO_LARGE = "k = 99, but the table has 12 rows; lower k or give more rows"


@contextmanager
def served() -> Iterator[str]:
    server = serve(Mondrian(k=99))
    try:
        yield server.address
    finally:
        server.stop(1.0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    table(12).to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "mine_large.py").write_text(MINE)
    return tmp_path


def refusal(folder: Path, address: str, options: str = "{}") -> str:
    """The line that an audit of this address ends with."""
    (folder / "audit.toml").write_text(AUDIT.format(address=address, options=options))
    result = run_harness("run", "audit.toml", "--out", "out", cwd=folder)
    assert result.returncode == 3
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("harness: error ")]
    return line


@pytest.mark.parametrize("address", ["reference:mondrian", "reference:greedy", "python:mine_large:Large"])
def test_k_larger_than_the_table_is_one_clear_line(folder: Path, address: str) -> None:
    line = refusal(folder, address, "{ k = 99 }")
    assert K_IS_TOO_LARGE in line
    assert ('infeasible = "generalise"' in line) is ("greedy" not in address)


def test_the_refusal_crosses_the_wire(folder: Path) -> None:
    with served() as address:
        line = refusal(folder, address)
    assert line.startswith("harness: error E304: ")
    assert K_IS_TOO_LARGE in line


@pytest.mark.parametrize("oracle", [Mondrian(k=12), Greedy(k=12)])
def test_of_exactly_k_records_none_can_be_measured_which_proves_nothing(oracle: Any) -> None:
    report = audit(oracle, table(12), epsilon=1.5)
    assert report.verdict.outcome is harness.Outcome.INCONCLUSIVE
    (reason,) = report.plain["not_measured"]["reasons"]
    assert (reason["reason"], reason["persons"]) == ("f refused the table", 12)


def test_who_is_needed_for_the_diversity_of_the_table_is_not_measured_and_the_others_are() -> None:
    """Of 9 rows 3 have flu: without one of the six others, flu makes up more than a third."""
    people = pd.DataFrame(
        {"age": range(20, 29), "sex": list("FMF" * 3), "ill": ["flu"] * 3 + ["ulcer"] * 2 + list("abcd")}
    )
    report = audit(Mondrian(l=3), people, epsilon=2.0)
    assert report.verdict.outcome is harness.Outcome.INCONCLUSIVE
    assert [finding.person for finding in report.all_findings() if finding.failure is None] == [0, 1, 2]


def test_the_table_may_be_suppressed_instead() -> None:
    report = audit(Mondrian(k=12, infeasible="generalise"), table(12), epsilon=2.0)
    assert "not_measured" not in report.plain or not report.plain["not_measured"]
    assert report.plain["release"]["k"] == 12


@pytest.mark.parametrize(
    ("oracle", "claims"),
    [(Mondrian(k=3), {"k": 3}), (Mondrian(l=2), {"l": 2}), (Greedy(k=3), {"k": 3})],
)
def test_who_refuses_what_no_release_can_keep_breaks_no_law(oracle: Any, claims: dict[str, Any]) -> None:
    report = check(oracle, SCHEMA, claims, laws=["answers-every-table", "errors-are-stable"], max_time=600)
    assert not report.failed
