"""Repair: who breaks the claim is taken out, everything is tested again, and the path is told as it was."""

import json
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import harness
from harness.analysis.prune import Budget, whom_to_remove
from harness.cli import main
from harness.experiments.repair import run_prune
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.schema import Schema
from oracles.reference import Mondrian
from tests.small_audits import QUASI, audit, table

AUDIT = """
[data]
path = "people.csv"
sensitive = "ill"
quasi = {{ age = "number", sex = "category" }}
[oracle]
address = "reference:mondrian"
options = {{ k = 3 }}
[claim]
epsilon = {epsilon}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    table(60).to_csv(tmp_path / "people.csv", index=False)
    return tmp_path


def repaired(folder: Path, epsilon: float, *words: str) -> tuple[int, dict[str, Any]]:
    (folder / "audit.toml").write_text(AUDIT.format(epsilon=epsilon))
    code = main(["prune", str(folder / "audit.toml"), "--out", str(folder / "out"), "--quiet", *words])
    return code, json.loads((folder / "out" / "prune.json").read_text())


def test_each_round_is_an_audit_of_the_table_without_the_removed_rows(folder: Path) -> None:
    code, prune = repaired(folder, 0.5)
    people = pd.read_csv(folder / "people.csv")
    gone: list[int] = []
    for row in prune["rounds"]:
        gone += [line - 2 for rows in row["removed"] for line in rows]  # the header is line 1
        assert row["removed_so_far"] == len(gone)
        left = people.drop(index=gone)
        report = harness.audit(Mondrian(k=3), left, quasi=QUASI, sensitive="ill", epsilon=0.5)
        assert row["at_least"] == pytest.approx(max(found.distance for found in report.findings), abs=1e-12)
        assert row["breaking_the_claim"] == sum(found.distance >= 0.5 for found in report.findings)
    assert len(prune["rounds"]) > 1
    assert prune["removed"] == [line + 2 for line in gone]
    assert code == (0 if prune["holds"] else 1)


def test_who_moves_most_is_removed_first() -> None:
    report = audit(Mondrian(k=3), table(60), epsilon=0.3)
    moved = {found.person: found.distance for found in report.findings}
    assert whom_to_remove(report, 2) == sorted(moved, key=lambda person: (-moved[person], person))[:2]
    assert set(whom_to_remove(report, 60)) == {person for person, distance in moved.items() if distance >= 0.3}


@pytest.mark.parametrize(
    ("words", "stopped"),
    [
        (["--rounds", "1"], "all rounds are spent"),
        (["--people", "2"], "as many persons as allowed are removed"),
        (["--at-once", "1", "--people", "2"], "as many persons as allowed are removed"),
    ],
)
def test_a_spent_budget_is_no_success(folder: Path, words: list[str], stopped: str) -> None:
    code, prune = repaired(folder, 0.05, *words)
    assert (code, prune["holds"], prune["stopped"]) == (1, False, stopped)
    if "--people" in words:
        assert len(prune["removed"]) == 2
    if "--at-once" in words:
        assert [len(row["removed"]) for row in prune["rounds"]] == [0, 1, 1]


def test_a_rise_of_the_largest_distance_is_told(folder: Path) -> None:
    _, prune = repaired(folder, 0.05, "--rounds", "2", "--at-once", "5", "--people", "20")
    largest = [row["at_least"] for row in prune["rounds"]]
    assert prune["rose"] == [number for number in (1, 2) if largest[number] > largest[number - 1]]
    assert largest[prune["best_round"]] == min(largest)


def test_a_repair_that_was_interrupted_ends_in_the_same_bytes(folder: Path) -> None:
    budget = Budget(2, 10, 3)
    (folder / "audit.toml").write_text(AUDIT.format(epsilon=0.05))
    run_prune(folder / "audit.toml", folder / "whole", budget)
    shutil.copytree(folder / "whole", folder / "cut")
    (folder / "cut" / "prune.json").unlink()
    journal = folder / "cut" / "round-1" / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:20]) + lines[20][:15])  # as a power cut leaves it
    shutil.rmtree(folder / "cut" / "round-2")
    run_prune(folder / "audit.toml", folder / "cut", budget)
    for name in ("prune.json", "round-1/report.json", "round-2/report.json"):
        assert (folder / "cut" / name).read_bytes() == (folder / "whole" / name).read_bytes()


def test_a_claim_that_holds_needs_no_repair(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, prune = repaired(folder, 1.9)
    assert (code, prune["removed"], len(prune["rounds"])) == (0, [], 1)
    assert "HOLDS after 0 rounds" in capsys.readouterr().out


def test_a_budget_of_nothing_is_refused(folder: Path) -> None:
    (folder / "audit.toml").write_text(AUDIT.format(epsilon=0.1))
    assert main(["prune", str(folder / "audit.toml"), "--people", "0"]) == 2


def test_data_without_some_persons_keeps_the_names_of_its_rows_and_forgets_their_values() -> None:
    people = pd.DataFrame({"who": [1, 2, 2, 3], "age": [20, 30, 31, 40], "ill": ["flu", "rare", "flu", "flu"]})
    data = Dataset.from_frame(people, Schema({"age": "number"}, "ill", person="who"))
    left = data.without_persons([1])
    assert [left.row(row) for row in range(left.size)] == [0, 3]
    assert left.population == 2
    assert left.secrets(joint=False)[0].labels == ("flu",)
    assert "rare" not in left.table.column("ill").palette.tolist()
    assert data.without_persons([]) is data


def test_a_value_that_only_dropped_rows_had_is_no_value_of_the_data() -> None:
    people = table(30).assign(age=lambda frame: frame["age"].astype(float))
    people.loc[3, ["age", "ill"]] = [None, "rare"]
    report = harness.audit(Mondrian(k=3), people, quasi=QUASI, sensitive="ill", epsilon=0.5, missing="drop")
    assert "rare" not in report.plain["plan"]["secrets"][0]["values"]
