"""Laws find planted faults and leave correct anonymizers alone; counterexamples are small and can be replayed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from harness.cli import main
from harness.render.check_report import outcomes_of_check
from harness.testing import CheckReport, check, check_table
from harness.vocabulary.errors import InputError
from harness.vocabulary.schema import Schema
from tests.testing.boxes import (
    CORRECT,
    FAULTY,
    SCHEMA,
    Claim,
    GlobalState,
    answering_at_random,
    correct,
    noisy_ages,
    noisy_counts,
    off_by_one,
)

Make = Callable[[], Callable[..., pd.DataFrame]]
SMALL = 6  # rows
SCHEMA_TOML = """
[data]
sensitive = { name = "disease", values = ["cold", "flu", "gout", "mumps"] }
[data.quasi]
age = { kind = "number", min = 0, max = 99 }
city = { kind = "category", values = ["Bonn", "Köln", "Rom", "Wien"] }
"""


def broken(report: CheckReport) -> dict[str, int]:
    """The laws that failed, with the number of rows of their tables."""
    return {result.law.name: len(result.counterexample or ()) for result in report.failed}


@pytest.mark.parametrize(("make", "claim", "law"), FAULTY.values(), ids=FAULTY)
def test_a_law_finds_its_fault_within_300_calls_and_shrinks_it(make: Make, claim: Claim, law: str) -> None:
    report = check(make(), SCHEMA, claim, laws=[law], max_time=600)
    assert broken(report).keys() == {law}
    assert broken(report)[law] <= SMALL
    assert report.calls <= 300


@pytest.mark.slow
@pytest.mark.parametrize(("make", "claim", "law"), FAULTY.values(), ids=FAULTY)
def test_all_laws_together_find_the_fault_within_300_calls(make: Make, claim: Claim, law: str) -> None:
    report = check(make(), SCHEMA, claim, max_time=600)
    assert law in broken(report)
    assert max(broken(report).values()) <= SMALL
    assert report.calls <= 300
    assert report.exit_code() == 1


@pytest.mark.slow
@pytest.mark.parametrize(("make", "claim"), CORRECT.values(), ids=CORRECT)
def test_a_correct_anonymizer_keeps_all_laws(make: Make, claim: Claim) -> None:
    report = check(make(), SCHEMA, claim, max_time=600)
    assert broken(report) == {}
    assert not report.by_outcome("inconclusive")
    report.require()


@pytest.mark.slow
@pytest.mark.parametrize(("f", "runs"), [(noisy_ages, 30), (noisy_counts, 10)])
def test_correct_noise_is_not_accused_more_often_than_stated(f: Callable[..., pd.DataFrame], runs: int) -> None:
    law, claim = "noise-is-as-large-as-claimed", {"noise_epsilon": 1.0, "keeps_rows": False}
    alarms = sum(bool(check(f, SCHEMA, claim, laws=[law], seed=seed, max_time=600).failed) for seed in range(runs))
    assert alarms <= 2  # more than 2 of 30 at a rate of 1 % have a chance of 0.3 %


@pytest.mark.parametrize(
    ("name", "law"),
    [
        ("never_negative_ages", "noise-is-as-large-as-claimed"),
        ("rounded_ages", "noise-is-as-large-as-claimed"),
        ("noisy_counts_named_n", "noise-is-as-large-as-claimed"),
        ("answering_at_random", "noise-is-as-large-as-claimed"),
        ("dropping_and_saying_so", "rows-are-accounted-for"),
    ],
)
def test_what_a_correct_anonymizer_may_do_is_no_fault(name: str, law: str) -> None:
    make, claim = CORRECT[name]
    (result,) = check(make(), SCHEMA, claim, laws=[law], max_time=600).laws
    assert (result.outcome, result.reason) == ("passed", None)


def test_a_note_that_is_no_text_is_refused_with_what_was_expected() -> None:
    def f(df: pd.DataFrame) -> pd.DataFrame:
        df.attrs["notes"] = {"suppressed": 3}
        return df

    (result,) = check(f, SCHEMA, laws=["answers-every-table"], budget_calls=3, max_time=600).laws
    assert 'attrs["notes"] of the release is a dict; expected a text, or a list of texts' in (result.reason or "")


def test_refusals_are_judged_also_where_few_calls_are_left() -> None:
    report = check(correct, SCHEMA, {"k": 3}, laws=["errors-are-stable"], budget_calls=30, max_time=600)
    assert [result.outcome for result in report.laws] == ["passed"]


def test_a_column_of_noisy_counts_is_no_identifier() -> None:
    make, claim = CORRECT["noisy_counts_named_n"]
    (result,) = check(make(), SCHEMA, claim, laws=["no-identifier-survives"], budget_calls=3, max_time=600).laws
    assert result.outcome == "skipped"


def test_a_law_that_cannot_be_told_from_a_broken_one_is_not_judged() -> None:
    remembers = GlobalState()

    def loses_a_row_of_wide_tables(df: pd.DataFrame) -> pd.DataFrame:
        return remembers(df).iloc[: len(df) - (len(df.columns) > 3)]

    laws = ["equal-tables-get-equal-releases", "further-columns-do-not-matter"]
    report = check(loses_a_row_of_wide_tables, SCHEMA, {"k": 3}, laws=laws, budget_calls=90, max_time=600)
    assert [result.outcome for result in report.laws] == ["failed", "inconclusive"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("box", "reason"), [("hash_dependent", "PYTHONHASHSEED"), ("middle_of_the_first_table", "was not asked before")]
)
def test_what_depends_on_the_process_is_found_and_replayed(
    box: str, reason: str, place: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    address, law = f"python:tests.testing.boxes:{box}", "same-in-every-process"
    assert main(["check", address, "--schema", "schema.toml", "--law", law, "--max-time", "600"]) == 1
    assert reason in capfd.readouterr().out
    assert main(["replay"]) == 1
    assert reason in capfd.readouterr().out


def test_an_f_that_draws_without_a_seed_and_does_not_say_so_is_no_f_that_remembers() -> None:
    def f(df: pd.DataFrame) -> pd.DataFrame:
        return answering_at_random(df.assign(age="*", city="*"), int(rng.integers(2**60)))

    for seed in range(6):
        rng = np.random.default_rng(seed)
        laws = ["equal-tables-get-equal-releases"]
        report = check(f, SCHEMA, {"keeps_sensitive": False}, laws=laws, seed=seed, budget_calls=90, max_time=600)
        assert not report.failed


def test_a_broken_law_is_told_with_its_table_and_a_test() -> None:
    report = check(off_by_one, SCHEMA, {"k": 3}, laws=["classes-have-k-rows"], max_time=600)
    (result,) = report.failed
    assert result.test is not None
    namespace: dict[str, Any] = {"pd": pd, "check_table": check_table, "f": off_by_one, "SCHEMA": SCHEMA}
    exec(result.test, namespace)  # what a user pastes
    with pytest.raises(AssertionError, match="classes-have-k-rows"):
        namespace["test_classes_have_k_rows"]()
    namespace["f"] = correct
    namespace["test_classes_have_k_rows"]()


def test_the_same_seed_asks_the_same_tables() -> None:
    asked: list[list[Any]] = []
    for _ in range(2):
        tables: list[Any] = []

        def f(df: pd.DataFrame, tables: list[Any] = tables) -> pd.DataFrame:
            tables.append(df.values.tolist())
            return correct(df)

        check(f, SCHEMA, {"k": 3}, budget_calls=60, max_time=600)
        asked.append(tables)
    assert asked[0] == asked[1]


def test_a_check_stays_within_its_budget_and_says_what_it_could_not_judge() -> None:
    report = check(correct, SCHEMA, {"k": 3}, budget_calls=5, max_time=600)
    assert report.calls <= 5
    assert report.by_outcome("inconclusive")
    assert report.exit_code() == 0
    assert report.exit_code(inconclusive_fails=True) == 4


def test_a_check_that_ends_at_a_failure_says_so_and_accuses_nobody_else() -> None:
    report = check(off_by_one, SCHEMA, {"k": 3}, budget_calls=60, max_time=600, max_failures=1)
    assert broken(report).keys() == {"classes-have-k-rows"}
    (ended,) = {result.reason for result in report.by_outcome("inconclusive")}
    assert ended == "the check ended with 1 broken, as max_failures says"
    severities = {one.result: one.severity for one in outcomes_of_check(report.plain()).outcomes}
    assert (severities["failed"], severities["inconclusive"]) == ("error", "warning")


def test_a_claim_about_neighbours_is_broken_by_the_distance_of_an_audit() -> None:
    report = check(correct, SCHEMA, {"k": 3, "epsilon": 0.05}, laws=["neighbours-stay-close"], max_time=600)
    assert broken(report)["neighbours-stay-close"] <= SMALL
    generous = check(correct, SCHEMA, {"k": 3, "epsilon": 2.0}, laws=["neighbours-stay-close"], max_time=600)
    assert broken(generous) == {}


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ({"kk": 3}, "claim 'kk' is not known; did you mean 'k'"),
        ({"k": 0}, "claim k must be a whole number from 1, not 0"),
        ({"deterministic": 1}, "claim deterministic must be true or false, not 1"),
        ({"t": "close"}, "claim t must be a number from 0, not 'close'"),
    ],
)
def test_a_wrong_claim_is_named(claim: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        check(correct, SCHEMA, claim)


def test_a_column_without_a_domain_is_named() -> None:
    with pytest.raises(InputError, match="column 'city': its values are not known"):
        check(correct, Schema({"city": "category"}, "disease"))
    with pytest.raises(InputError, match="column 'age': its numbers are not known"):
        check(correct, Schema({"age": "number"}, "disease"))


def test_domains_are_learnt_from_a_sample() -> None:
    sample = pd.DataFrame({"age": [20, 30, 47], "city": ["Bonn", "Rom", "Rom"], "disease": ["flu", "cold", "flu"]})
    seen: set[Any] = set()

    def f(df: pd.DataFrame) -> pd.DataFrame:
        seen.update(df.age.tolist())
        return correct(df)

    check(f, Schema({"age": "number", "city": "category"}, "disease"), {"k": 3}, sample=sample, budget_calls=40)
    assert min(seen) >= 20
    assert max(seen) <= 47


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a schema and an anonymizer, in which commands run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schema.toml").write_text(SCHEMA_TOML, encoding="utf-8")
    (tmp_path / "checked_box.py").write_text(
        "import os\nfrom tests.testing.boxes import correct, off_by_one\n"
        "def f(df):\n    return (correct if os.path.exists('fixed') else off_by_one)(df)\n",
        encoding="utf-8",
    )
    return tmp_path


def test_the_command_writes_reports_keeps_cases_and_replays_them(
    place: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["check", "python:checked_box:f", "--schema", "schema.toml", "--claim", "k=3", "--max-time", "600"]
    words += ["--law", "classes-have-k-rows", "--report", "json,junit,sarif,md,html", "--report-dir", "out"]
    assert main(words) == 1
    printed = capfd.readouterr().out
    assert "Reproduce with: harness replay .harness/classes-have-k-rows-" in printed
    report = json.loads((place / "out" / "check.json").read_text(encoding="utf-8"))
    (law,) = report["laws"]
    assert (law["name"], law["outcome"]) == ("classes-have-k-rows", "failed")
    assert 0 < law["calls"] <= report["calls"] <= 300
    assert set(law["counterexample"][0]) == {"age", "city", "disease"}
    (alert,) = json.loads((place / "out" / "check.sarif").read_text(encoding="utf-8"))["runs"][0]["results"]
    assert alert["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": "schema.toml"}
    written = {path.suffix for path in (place / "out").iterdir()}
    assert written == {".json", ".xml", ".sarif", ".md", ".html"}
    assert (place / ".harness" / ".gitignore").read_text(encoding="utf-8") == "*\n"

    assert main(["replay"]) == 1
    assert capfd.readouterr().out.startswith("failed .harness/classes-have-k-rows-")
    (place / "fixed").touch()
    assert main(["replay"]) == 0
    assert capfd.readouterr().out.startswith("fixed  .harness/classes-have-k-rows-")


def test_a_case_that_cannot_be_read_is_named(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (place / "case.json").write_text('{"format": 1, "address": 3}', encoding="utf-8")
    assert main(["replay", "case.json"]) == 2
    assert "case.json: address is missing or is no str" in capfd.readouterr().err


def test_a_misspelt_law_or_format_is_named(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    base = ["check", "python:checked_box:f", "--schema", "schema.toml"]
    assert main([*base, "--law", "classes-have-k-row"]) == 2
    assert "did you mean 'classes-have-k-rows'?" in capfd.readouterr().err
    assert main([*base, "--report", "jnuit"]) == 2
    assert "did you mean 'junit'?" in capfd.readouterr().err


def test_an_oracle_that_cannot_be_reached_is_no_broken_law(place: Path) -> None:
    assert main(["check", "http://127.0.0.1:9", "--schema", "schema.toml", "--option", "attempts=1"]) == 3
