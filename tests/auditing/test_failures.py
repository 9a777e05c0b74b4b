"""A record on which f fails does not end an audit: it is reported, and nothing else changes."""

import signal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import harness
import oracles
from harness.auditing import failures
from harness.auditing.verify import recompile, verify_report
from harness.vocabulary.errors import OracleError
from tests.command_line import end, run_harness, start_harness
from tests.oracles.failing import (
    QUASI,
    ChosenError,
    drawn,
    failing,
    left_out,
    never_without,
    people,
    shaken,
    until_repaired,
)
from tests.waiting import wait_until

SEVERAL = {"22": "memory", "23": "raise", "26": "malformed", "29": "raise"}


def audit(f: Any, data: pd.DataFrame | None = None, **options: Any) -> harness.Report:
    table = people() if data is None else data
    return harness.audit(f, table, **{"quasi": QUASI, "sensitive": "ill", "epsilon": 1.99, **options})


def failed(report: harness.Report) -> dict[int, str]:
    """Who could not be measured, and why."""
    return {one.person: one.failure for one in report.findings if one.failure is not None}


def test_a_record_on_which_f_raises_is_reported_and_all_others_are_measured() -> None:
    report = audit(failing)
    assert str(report.verdict.outcome.value) == "inconclusive"
    assert report.verdict.reason == "1 record could not be measured (f raised ChosenError)"
    assert failed(report) == {3: "f raised ChosenError"}
    whole = {one.person: one.distance for one in audit(partial(failing, on={})).findings}
    assert {one.person: one.distance for one in report.findings if one.failure is None} == {
        person: distance for person, distance in whole.items() if person != 3
    }


def test_a_violation_that_is_proven_stands_beside_records_that_failed() -> None:
    report = audit(failing, epsilon=0.01)
    assert report.verdict.outcome.value == "violated"
    assert failed(report) == {3: "f raised ChosenError"}


def test_every_reason_is_named_with_its_number() -> None:
    report = audit(partial(failing, on=SEVERAL))
    assert report.verdict.reason == (
        "4 records could not be measured (f raised ChosenError: 2; f gave a malformed release: 1; f raised "
        "MemoryError: 1)"
    )
    section = report.plain["not_measured"]
    assert section["persons"] == 4
    assert [(one["reason"], one["persons"]) for one in section["reasons"]] == [
        ("f raised ChosenError", 2), ("f gave a malformed release", 1), ("f raised MemoryError", 1),
    ]  # fmt: skip
    assert section["reasons"][0]["first"] == [{"person": 3, "rows": [3]}, {"person": 9, "rows": [9]}]


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_callable_that_raises_what_is_no_exception_fails_on_that_record_only(workers: int) -> None:
    on = {"21": "cancel", "23": "leave", "25": "panic"} | ({} if workers == 1 else {"27": "interrupt"})
    reasons = {1: "CancelledError", 3: "GeneratorExit", 5: "Panic"} | ({} if workers == 1 else {7: "KeyboardInterrupt"})
    report = audit(partial(failing, on=on), workers=workers)
    assert failed(report) == {person: f"f raised {kind}" for person, kind in reasons.items()}


def test_a_keyboard_interrupt_in_the_process_of_the_audit_ends_it() -> None:
    with pytest.raises(KeyboardInterrupt):
        audit(partial(failing, on={"23": "interrupt"}))


@pytest.mark.parametrize("address", [False, True])
def test_an_array_instead_of_a_table_is_a_malformed_release(address: bool) -> None:
    f: Any = partial(failing, on={"23": "array"})
    if address:
        f = oracles.open("python:tests.oracles.failing:failing", on={"23": "array"})
    assert failed(audit(f)) == {3: "f gave a malformed release"}


@pytest.mark.parametrize("form", ["text", "details", "md", "html", "junit"])
def test_every_page_says_how_many_failed_and_why(form: str) -> None:
    report = audit(partial(failing, on=SEVERAL))
    page = " ".join(report.render(form).replace("\\", "").split())
    assert "f raised ChosenError, 2 (row label 3, row label 9)" in page
    assert "the age of the chosen one" not in page


def test_what_f_said_is_shown_only_where_it_is_wanted(tmp_path: Path) -> None:
    secret = "the age of the chosen one is 23"
    report = audit(failing, out=tmp_path / "out")
    assert report.complete is not None
    assert secret in str(report.complete["not_measured"])
    written = [path for path in (tmp_path / "out").iterdir() if path.name != "journal.jsonl"]
    assert not [path.name for path in written if secret.encode() in path.read_bytes()]
    audit(failing, out=tmp_path / "revealed", reveal=True)
    assert secret in (tmp_path / "revealed" / "report.json").read_text()


@pytest.mark.parametrize("reveal", [False, True])
def test_verify_compiles_the_failures_again(reveal: bool, tmp_path: Path) -> None:
    audit(partial(failing, on=SEVERAL), out=tmp_path, reveal=reveal)
    proven = verify_report(tmp_path / "journal.jsonl", tmp_path / "report.json")
    assert proven["not_measured"]["persons"] == 4


def test_the_test_report_counts_failures_by_reason_and_names_nobody(tmp_path: Path) -> None:
    report = audit(partial(failing, on=SEVERAL), out=tmp_path)
    assert report.certificate is not None
    attempts = report.certificate["attempts"]
    assert attempts["failures"] == 4
    assert attempts["not_measured"][0] == {"reason": "f raised ChosenError", "persons": 2}


def test_a_failure_of_f_of_all_data_ends_the_audit() -> None:
    def never(data: pd.DataFrame) -> pd.DataFrame:
        raise ChosenError("always")

    with pytest.raises(OracleError, match=r"asked for f\(D\)"):
        audit(never)


@pytest.mark.parametrize("adversaries", [None, [{"model": "bernoulli"}, {"model": "gaussian"}]])
def test_a_person_who_failed_failed_for_every_adversary(adversaries: Any) -> None:
    report = audit(failing, adversaries=adversaries)
    pairs = len(report.plain["results"])
    assert [one.person for one in report.findings if one.failure] == [3] * pairs
    assert all(result["failures"] == 1 for result in report.plain["results"])


def test_a_person_with_some_failing_draws_is_not_measured() -> None:
    report = audit(drawn, draws=20)
    assert failed(report) == {3: "f raised ChosenError"}


@pytest.mark.parametrize("pairs", ["seeds", "independent"])
def test_an_adaptive_audit_goes_on_without_who_failed(pairs: Any) -> None:
    report = audit(drawn, draws=100, adaptive=True, epsilon=1.5, pairs=pairs)
    assert failed(report) == {3: "f raised ChosenError"}
    assert len(report.findings) == 12


@pytest.mark.slow
def test_who_fails_at_a_further_look_is_not_measured_where_an_earlier_one_proved_nothing() -> None:
    options: dict[str, Any] = {"draws": 200, "adaptive": True, "epsilon": 0.45}
    whole = audit(shaken, **options)
    first = whole.plain["selection"]["looks"][0]["draws"]
    open_at_first = [one.person for one in whole.findings if one.look > 1]
    assert open_at_first
    chosen, asked = open_at_first[0], 0

    def later(data: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
        """Fails without one record, but not at the draws of the first look."""
        nonlocal asked
        if left_out(data) == 20 + chosen:
            asked += 1
            if asked > first + 5:  # a probe asks about one record, too
                raise ChosenError
        return shaken(data, rng)

    report = audit(later, **options)
    assert failed(report) == {chosen: "f raised ChosenError"}
    assert [one.look for one in report.findings if one.person == chosen] == [2]


def test_a_budget_goes_on_without_who_failed() -> None:
    report = audit(failing, people(40), budget=60)
    assert all(reason == "f raised ChosenError" for reason in failed(report).values())
    assert report.verdict.outcome.value == "inconclusive"


def test_all_duplicates_of_a_record_that_failed_are_not_measured() -> None:
    class Counting:
        """Answers how many records there are, and fails without one of the first two, which are equal."""

        card = harness.Card("counting", randomized=False, row_order_invariant=True)

        def answer(self, ask: Any) -> Any:
            if ask.table.rows == 5 and list(ask.table.to_frame()["age"]).count(20) == 1:
                raise OracleError("no")
            yield ask.table

        def close(self) -> None:
            pass

    twins = pd.DataFrame({"age": [20, 20, 21, 22, 23, 24], "ill": ["flu", "flu", "flu", "none", "none", "ulcer"]})
    report = audit(Counting(), twins)
    assert failed(report) == {0: "the question failed", 1: "the question failed"}
    assert report.plain["not_measured"]["persons"] == 2


def test_the_audit_stops_when_more_failed_than_are_accepted(tmp_path: Path) -> None:
    f = partial(failing, on=SEVERAL)
    with pytest.raises(OracleError, match="3 persons could not be measured .* max_failures = 2 allows no more"):
        audit(f, out=tmp_path, max_failures=2)
    assert failed(audit(f, out=tmp_path, max_failures=4)).keys() == {2, 3, 6, 9}


@pytest.mark.parametrize("most", [-1, True, 1.5])
def test_a_number_of_failures_that_is_none_is_refused(most: Any) -> None:
    with pytest.raises(harness.InputError, match="max_failures must be a whole number of at least 0"):
        audit(failing, max_failures=most)


def test_the_audit_stops_when_nobody_at_all_can_be_measured(tmp_path: Path) -> None:
    data = people(36)
    with pytest.raises(OracleError, match=r"f answers f\(D\), but none of the first 20 persons could be measured"):
        audit(never_without, data, out=tmp_path)
    report = audit(never_without, data, out=tmp_path, max_failures=36)
    assert report.verdict.outcome.value == "inconclusive"
    assert len(failed(report)) == 36


def test_failures_of_an_oracle_that_is_down_are_nobodys(tmp_path: Path) -> None:
    asked = 0

    def dying(data: pd.DataFrame) -> pd.DataFrame:
        nonlocal asked
        asked += 1
        if asked > 14:
            raise ChosenError("down")
        return failing(data, {})

    with pytest.raises(OracleError, match=rf"{failures.IN_A_ROW} questions in a row failed .* f\(D\) is not answered"):
        audit(dying, out=tmp_path)
    assert '"failed"' not in (tmp_path / "journal.jsonl").read_text()


def test_who_failed_is_not_asked_again_unless_that_is_wanted(tmp_path: Path) -> None:
    f = partial(until_repaired, mark=str(tmp_path / "repaired"))
    out = tmp_path / "out"
    first = audit(f, out=out)
    assert failed(first).keys() == {3, 6}
    (tmp_path / "repaired").touch()
    assert failed(audit(f, out=out)).keys() == {3, 6}
    repaired = audit(f, out=out, retry_failed=True)
    assert failed(repaired) == {}
    assert repaired.verdict.outcome.value == "holds"
    never = audit(f, out=tmp_path / "never")
    assert repaired.to_json() == never.to_json()
    recompile(out / "journal.jsonl")


def test_who_fails_again_is_reported_again(tmp_path: Path) -> None:
    first = audit(failing, out=tmp_path)
    assert audit(failing, out=tmp_path, retry_failed=True).to_json() == first.to_json()


def test_a_repeated_question_on_which_f_fails_confirms_nothing() -> None:
    asked: dict[int | None, int] = {}

    def once(data: pd.DataFrame) -> pd.DataFrame:
        """Answers about every record once only."""
        who = left_out(data)
        asked[who] = asked.get(who, 0) + 1
        if who is not None and asked[who] > 1:
            raise ChosenError
        return failing(data, {})

    report = audit(once, epsilon=0.01)
    assert report.verdict.outcome.value == "inconclusive"
    assert report.plain["confirmed"]["unanswered"] == 8
    assert "asked again, f failed on 8 questions about records that it had answered before" in report.plain["notes"]


HARD = {"22": "exit", "23": "raise", "26": "hang", "29": "malformed"}


def written(out: Path) -> tuple[bytes, bytes]:
    return (out / "report.json").read_bytes(), (out / "summary.txt").read_bytes()


@pytest.mark.slow
def test_crashes_and_hangs_of_a_callable_cost_its_worker_process_and_no_other_record(tmp_path: Path) -> None:
    """DESIGN: the same results, whoever computes them; a worker in which f hangs is ended, its queue is handed on."""
    f = partial(failing, on=HARD)
    for workers in (2, 3):
        audit(f, workers=workers, timeout=6.0, out=tmp_path / str(workers))
    report = harness.Report.load(tmp_path / "2" / "report.json")
    assert failed(report) == {
        2: "the process of f ended", 3: "f raised ChosenError", 6: "f did not answer in time",
        9: "f gave a malformed release",
    }  # fmt: skip
    assert written(tmp_path / "2") == written(tmp_path / "3")


AUDIT = """
[data]
path = "people.csv"
sensitive = "ill"
[data.quasi]
age = "number"
[oracle]
address = "python:tests.oracles.failing:failing"
[oracle.options]
timeout = 6
[oracle.options.on]
22 = "exit"
23 = "raise"
26 = "hang"
29 = "malformed"
[claim]
epsilon = 1.99
"""


@pytest.mark.slow
def test_a_killed_audit_with_failures_ends_in_the_same_report(tmp_path: Path) -> None:
    people().to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "audit.toml").write_text(AUDIT)
    whole = run_harness("run", "audit.toml", "--out", "whole", cwd=tmp_path)
    assert whole.returncode == 4, whole.stderr
    journal = tmp_path / "killed" / "journal.jsonl"
    for examined in (2, 5):
        process = start_harness("run", "audit.toml", "--out", "killed", "--workers", "2", cwd=tmp_path)
        wait_until(lambda: journal.exists() and journal.read_text().count('[{"x":[') >= examined)  # noqa: B023
        process.send_signal(signal.SIGKILL)
        end(process)
    rest = run_harness("run", "audit.toml", "--out", "killed", "--workers", "2", cwd=tmp_path)
    assert rest.returncode == 4, rest.stderr
    assert written(tmp_path / "whole") == written(tmp_path / "killed")
    assert run_harness("verify", "killed", cwd=tmp_path).returncode == 0
    again = run_harness("run", "audit.toml", "--out", "killed", "--max-failures", "-1", cwd=tmp_path)
    assert again.returncode == 2
    assert "max_failures must be a whole number of at least 0" in again.stderr
