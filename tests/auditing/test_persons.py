"""A person is all her rows: she is left out with all of them, and her distance is the largest over them."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import harness
from harness.api import open_journal
from harness.auditing.journal import entries
from harness.auditing.plan import Claim, Plan
from harness.auditing.procedure import Audit
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.schema import Schema
from oracles import as_oracle
from oracles.reference import Laplace, Mondrian
from tests import naive
from tests.anonymizers import chunks, jittered
from tests.small_audits import QUASI, audit, table


def visits(people: int = 20, each: int = 3) -> pd.DataFrame:
    """People with several rows each, in mixed order, and a column that says whose row it is."""
    rows = table(people * each, seed=5)
    order = np.random.default_rng(1).permutation(people * each)
    return rows.assign(pid=np.repeat([f"p{number}" for number in range(people)], each)[order])


def naive_distance(f: Any, data: pd.DataFrame, pid: str) -> float:
    """The largest distance over her rows, between f of everybody and f of everybody else."""
    columns = [*QUASI, "ill"]
    everybody = data[columns]
    others = data[data["pid"] != pid][columns].reset_index(drop=True)
    domain = sorted(data["ill"].unique())
    distances = []
    for _, row in data[data["pid"] == pid].iterrows():
        target = tuple(row[list(QUASI)])
        sides = [naive.predict(f(part.copy()), target, list(QUASI), "ill", domain) for part in (everybody, others)]
        distances.append(float(np.abs(sides[0] - sides[1]).sum()))
    return max(distances)


def test_distances_are_those_of_leaving_out_the_whole_person() -> None:
    data = visits()
    report = audit(chunks, data, person="pid")
    assert len(report.findings) == 20
    for finding in report.findings:
        names = set(data.loc[list(finding.rows), "pid"])
        assert len(names) == 1
        assert len(finding.rows) == 3
        assert finding.distance == pytest.approx(naive_distance(chunks, data, names.pop()), abs=1e-12)


@pytest.mark.parametrize("oracle", [Mondrian(k=3), Mondrian(k=3, cells="regions")])
def test_the_reference_mondrian_leaves_out_all_rows_of_a_person(oracle: Mondrian) -> None:
    data = visits(10)
    schema = harness.Schema(QUASI, "ill")
    report = audit(oracle, data, person="pid", encoder="bounds-hot", model="gaussian", blind=False)
    blind = audit(oracle, data, person="pid", encoder="bounds-hot", model="gaussian", blind=True)
    assert report.findings == blind.findings
    assert len(oracle.anonymize(data[[*QUASI, "ill"]], schema)) == 30


def test_a_person_with_one_row_is_a_record() -> None:
    data = table().assign(pid=range(30))
    by_person, by_row = audit(chunks, data, person="pid"), audit(chunks, data)
    assert [finding.distance for finding in by_person.findings] == [finding.distance for finding in by_row.findings]


def test_the_words_and_counts_speak_of_persons() -> None:
    report = audit(chunks, visits(), person="pid", epsilon=0.01)
    assert report.verdict.population == 20
    assert (
        f"person {report.verdict.witness} (row labels {', '.join(map(str, report.verdict.rows))})"
        in report.verdict.reason
    )
    assert "20 of 20 persons; nothing is random" in report.summary()
    assert any("a person is all rows with one 'pid'" in line for line in report.assumptions)


def test_a_person_with_one_row_is_named_with_one_row() -> None:
    report = audit(chunks, table().assign(pid=range(30)), person="pid", epsilon=0.01)
    assert f"person {report.verdict.witness} (row label {report.verdict.rows[0]})" in report.verdict.reason


def test_a_random_part_of_the_persons_certifies_a_share_of_persons() -> None:
    report = audit(lambda data: data.assign(age="*", sex="*"), visits(40), person="pid", records=10, epsilon=0.5)
    assert report.verdict.certificate is not None
    assert report.verdict.certificate.population == 40
    assert "of all persons do not keep it" in report.verdict.reason


def test_f_never_sees_the_person_column_unless_it_is_declared() -> None:
    seen: list[list[str]] = []

    def watching(data: pd.DataFrame) -> pd.DataFrame:
        seen.append(list(data.columns))
        return data

    audit(watching, visits(), person="pid", records=2)
    assert {tuple(columns) for columns in seen} == {("age", "sex", "ill")}
    audit(watching, visits(), person="pid", records=2, quasi={**QUASI, "pid": "category"})
    assert seen[-1] == ["age", "sex", "pid", "ill"]


def test_predictions_are_asked_for_twice_per_distinct_row() -> None:
    asked: list[tuple[Any, int]] = []  # about which quasi-identifiers, without how many rows

    class Watched(Laplace):
        def answer(self, ask: harness.Ask) -> Any:
            asked.append((ask.about, len(ask.drop)))
            return super().answer(ask)

    data = pd.DataFrame(
        {"age": [30, 30, 40, 50], "sex": "M", "ill": ["flu", "ulcer", "flu", "flu"], "pid": ["a", "a", "a", "b"]}
    )
    report = audit(Watched(1.0), data, person="pid", draws=50)
    about = [row for row, rows in asked if rows == 3]
    assert sorted(about) == [(30, "M"), (40, "M")]
    worst = max(report.findings, key=lambda finding: finding.distance)
    assert worst.person == 0


def test_her_rows_share_her_error_level() -> None:
    data = visits(4)
    report = audit(jittered, data, person="pid", draws=20)
    looks = report.plain["selection"]["looks"]
    assert looks[0]["alpha"] == pytest.approx(0.05 / 4)
    for finding in report.findings:
        distinct = len(data.loc[list(finding.rows), list(QUASI)].drop_duplicates())
        assert finding.alpha == pytest.approx(looks[0]["alpha"] / distinct)


@pytest.mark.parametrize("workers", [1, 2])
def test_workers_and_interruptions_change_nothing(workers: int, tmp_path: Path) -> None:
    data = visits()
    whole = audit(chunks, data, person="pid")
    oracle = as_oracle(chunks)
    journal = open_journal(plan(data), oracle, tmp_path)
    assert journal is not None
    with journal:
        events = Audit(plan(data), oracle).events(journal)
        for _ in range(9):
            next(events)
        events.close()
    resumed = audit(chunks, data, person="pid", workers=workers, out=tmp_path)
    assert resumed.to_json() == whole.to_json()
    assert any("resumed" in entry for entry in entries(tmp_path / "journal.jsonl"))


def plan(data: pd.DataFrame) -> Plan:
    return Plan(Dataset.from_frame(data, Schema(QUASI, "ill", person="pid")), Claim(0.1))


def test_rows_with_equal_quasi_identifiers_are_told_apart_by_what_a_prior_knows_of_each() -> None:
    data = pd.DataFrame({"pid": [1, 1, 2, 3, 4, 5], "age": [30, 30, 30, 40, 40, 40], "s": list("aabbab")})
    options: dict[str, Any] = {"quasi": {"age": "number"}, "sensitive": "s", "person": "pid", "epsilon": 0.25}
    distances = []
    for first, second in ((0.999, 0.5), (0.5, 0.999)):
        prior = pd.DataFrame({"a": [first, second, 0.5, 0.5, 0.5, 0.5]})
        report = harness.audit(lambda rows: rows, data, prior=prior.assign(b=1 - prior["a"]), **options)
        distances.append(report.findings[0].distance)
    assert distances[0] == pytest.approx(distances[1])
    assert distances[0] > 0.25


def test_a_budget_is_kept_with_predictions_about_several_rows() -> None:
    report_calls = 0

    class Counted(Laplace):
        def answer(self, ask: harness.Ask) -> Any:
            nonlocal report_calls
            report_calls += 1
            return super().answer(ask)

    audit(Counted(1.0), visits(12, 2), person="pid", draws=30, budget=40)
    assert report_calls <= 40


def test_a_dataset_brings_its_own_columns_and_persons() -> None:
    data = visits(4)
    bound = harness.Dataset.from_frame(data, harness.Schema(QUASI, "ill", person="pid"))
    report = harness.audit(chunks, bound, epsilon=0.1)
    assert report.findings == audit(chunks, data, person="pid").findings
    with pytest.raises(harness.InputError, match="data is a Dataset, which has its columns declared in its schema"):
        harness.audit(chunks, bound, epsilon=0.1, person="pid")


def test_dropped_rows_keep_the_numbers_of_the_source() -> None:
    data = visits(5).astype({"age": float})
    data.loc[[0, 7], "age"] = None
    report = audit(lambda rows: rows, data, person="pid", missing="drop")
    rows = sorted(row for finding in report.findings for row in finding.rows)
    assert rows == [row for row in range(15) if row not in (0, 7)]


def test_a_row_without_a_person_is_refused() -> None:
    data = visits(3)
    data.loc[4, "pid"] = None
    with pytest.raises(harness.InputError, match="column 'pid', row label 4: the row names no person"):
        audit(chunks, data, person="pid")
    with pytest.raises(harness.InputError, match="the data has no column 'patient'"):
        audit(chunks, data, person="patient")


def test_a_person_with_one_row_is_named_with_one_row_where_the_anonymizer_fails() -> None:
    def fails_without(data: pd.DataFrame) -> pd.DataFrame:
        if 200 not in set(data["age"]) and len(data) == 11:
            raise ValueError("she is missing")
        return chunks(data)

    people = table(12).assign(pid=["a", "b", "c", "c", *"defghijk"])
    people.loc[5, "age"] = 200
    with pytest.raises(harness.OracleError, match=r"person 4 \(row label 5\)"):
        audit(fails_without, people, person="pid", max_failures=0)
