"""A claim that could not fail is refused, is inconclusive, or says in its own sentence why it holds."""

from typing import Any

import pandas as pd
import pytest

import harness
from tests.anonymizers import chunks
from tests.small_audits import audit, table


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (table(), {"epsilon": 2.5}, r"epsilon = 2.5 could not be reached: .* 'ill' is never more than 2; claim an"),
        (table(), {"epsilon": 1.5, "distance": "half"}, "is never more than 1; claim an epsilon of at most that"),
        (table().assign(ill="flu"), {}, "the sensitive column 'ill' has the same value in every row"),
        (table(1), {}, "the data holds one record only"),
        (table(3).assign(pid=7), {"person": "pid"}, "the data holds one person only.* at least two persons"),
        (table(), {"prior": {"flu": 1.0, "ulcer": 0.0, "none": 0.0}}, "its prior is certain of the value of every"),
        (table(), {"prior": {"column": "ill", "confidence": 1.0}}, "its prior is certain of the value of every"),
        (table(), {"confidence": 0.2}, "confidence must be a probability from 0.5 to below 1"),
    ],
)
def test_a_claim_that_could_not_fail_is_refused(data: pd.DataFrame, options: dict[str, Any], message: str) -> None:
    with pytest.raises(harness.InputError, match=message) as refused:
        audit(chunks, data, **options)
    assert refused.value.exit_code == 2


def test_an_epsilon_as_large_as_the_largest_distance_can_fail_and_is_taken() -> None:
    data = pd.DataFrame({"age": [1, 2, 2], "sex": ["F", "M", "M"], "ill": ["flu", "ulcer", "ulcer"]})
    report = audit(lambda rows: rows.assign(age="*", sex="*"), data, model="conditional", epsilon=2.0)
    assert report.verdict.outcome is harness.Outcome.HOLDS


def no_rows(data: pd.DataFrame) -> pd.DataFrame:
    return data.iloc[:0]


def no_secret(data: pd.DataFrame) -> pd.DataFrame:
    return data.assign(ill="*")


def no_weight(data: pd.DataFrame) -> pd.DataFrame:
    return data.assign(count=0)


def of_nobody(data: pd.DataFrame) -> pd.DataFrame:
    return data.assign(age=data["age"] + 1000)


@pytest.mark.parametrize("f", [no_rows, no_secret, no_weight, of_nobody])
@pytest.mark.parametrize("records", ["all", 20])
def test_releases_that_are_about_nobody_test_nothing(f: Any, records: Any) -> None:
    quasi = {"age": {"kind": "number", "points": True}, "sex": "category"}
    verdict = audit(f, quasi=quasi, model="conditional", epsilon=0.5, records=records).verdict
    assert verdict.outcome is harness.Outcome.INCONCLUSIVE
    assert verdict.reason.startswith("nothing was tested: no released row is about any record and shows 'ill'")
    assert verdict.certificate is None


def test_no_adversary_of_a_panel_hides_behind_another_that_was_tested() -> None:
    report = audit(no_rows, adversaries=[{}, {"model": "conditional"}])
    assert {verdict.outcome for verdict in report.verdicts.values()} == {harness.Outcome.INCONCLUSIVE}


def test_a_claim_that_holds_without_evidence_about_most_says_so() -> None:
    def about_a_few(data: pd.DataFrame) -> pd.DataFrame:
        return data.assign(age=data["age"].where(data["age"] < 25, data["age"] + 1000))

    quasi = {"age": {"kind": "number", "points": True}, "sex": "category"}
    verdict = audit(about_a_few, quasi=quasi, model="conditional", epsilon=2.0).verdict
    assert verdict.outcome is harness.Outcome.HOLDS
    few = int((table()["age"] < 25).sum())
    assert f"(the releases held no evidence about {30 - few} of them)" in verdict.reason


def test_distances_that_are_all_0_are_a_reason_to_look_at_the_anonymizer() -> None:
    verdict = audit(lambda data: table(40, seed=1).assign(age="*", sex="*")).verdict
    assert verdict.outcome is harness.Outcome.HOLDS
    assert "all distances are 0" in verdict.reason
    assert "check that f reads the data it is given" in verdict.reason


@pytest.mark.parametrize("says", [None, False])
def test_that_f_was_only_seen_to_be_deterministic_is_said_where_its_card_says_nothing(says: bool | None) -> None:
    class Silent:
        card = harness.Card("silent", randomized=says)

        def answer(self, ask: harness.Ask) -> list[harness.Table]:
            return [harness.Table.from_frame(chunks(ask.table.to_frame()))]

        def close(self) -> None: ...

    verdict = audit(Silent(), epsilon=2.0).verdict
    assert verdict.outcome is harness.Outcome.HOLDS
    assert ("f does not say whether it is random" in verdict.reason) is (says is None)


def test_predictions_that_all_fail_are_inconclusive() -> None:
    class Failing:
        name = "failing"
        randomized = False
        per_target = False

        def fit(self, *_: Any) -> Any:
            raise ValueError("no")

        def spec(self) -> dict[str, Any]:
            return {"name": self.name}

    verdict = audit(chunks, model=Failing(), epsilon=2.0).verdict
    assert verdict.outcome is harness.Outcome.INCONCLUSIVE
    assert "30 records could not be measured" in verdict.reason
