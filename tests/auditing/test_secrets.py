"""Several sensitive columns: each inferred and judged for itself, or all jointly."""

import numpy as np
import pandas as pd
import pytest

import harness
from oracles.reference import Laplace
from tests import naive
from tests.anonymizers import chunks
from tests.small_audits import QUASI, audit, table


def two_secrets(rows: int = 40) -> pd.DataFrame:
    return table(rows).assign(poor=np.random.default_rng(9).choice(["yes", "no"], rows))


def generalising(data: pd.DataFrame) -> pd.DataFrame:
    """Decades of age; both sensitive columns as they are."""
    decade = data["age"] // 10 * 10
    return data.assign(age=[f"[{low}, {low + 9}]" for low in decade])


def test_each_secret_is_inferred_from_the_release_of_all_of_them() -> None:
    data = two_secrets()
    report = audit(generalising, data, sensitive=["ill", "poor"])
    assert {finding.secret for finding in report.findings} == {"ill", "poor"}
    for finding in report.findings:
        expected = naive.distance(generalising, data, finding.person, list(QUASI), finding.secret)
        assert finding.distance == pytest.approx(expected, abs=1e-12)


def test_each_secret_has_a_verdict_and_the_worst_is_the_audits() -> None:
    report = audit(generalising, two_secrets(), sensitive=["ill", "poor"])
    worst = max(report.verdicts.values(), key=lambda verdict: verdict.epsilon)
    assert report.verdict.secret == worst.secret
    assert report.verdict.epsilon == worst.epsilon
    assert f"worst of 2 secrets (bernoulli on tf-tf; {worst.secret})" in report.verdict.reason


def test_joint_secrets_are_one_secret_with_all_combinations() -> None:
    report = audit(generalising, two_secrets(), sensitive=["ill", "poor"], joint=True)
    (secret,) = report.plain["plan"]["secrets"]
    assert secret["name"] == "ill | poor"
    assert len(secret["values"]) == 6
    assert {finding.secret for finding in report.findings} == {"ill | poor"}


def test_a_suppressed_value_drops_its_row_for_that_secret_only() -> None:
    def hiding(data: pd.DataFrame) -> pd.DataFrame:
        return data.assign(poor=data["poor"].where(data["poor"] == "no", "*"))

    data = two_secrets()
    report = audit(hiding, data, sensitive=["ill", "poor"])
    alone = audit(hiding, data, sensitive=["ill", "poor"], joint=True)
    ill = [finding for finding in report.findings if finding.secret == "ill"]
    assert ill[0].distance == pytest.approx(naive.distance(lambda d: d, data, 0, list(QUASI), "ill"), abs=1e-12)
    assert any("'poor' is suppressed" in note for note in report.notes)
    assert alone.findings[0].present != ill[0].present


def test_predictions_of_all_columns_are_summed_for_each_secret() -> None:
    data = two_secrets(12)
    separate = audit(Laplace(1.0), data, sensitive=["ill", "poor"], draws=30)
    joint = audit(Laplace(1.0), data, sensitive=["ill", "poor"], draws=30, joint=True)
    for whole in joint.findings:
        ill, poor = (finding for finding in separate.findings if finding.person == whole.person)
        assert whole.present is not None
        cells = np.array(whole.present).reshape(3, 2)
        assert ill.present == pytest.approx(cells.sum(axis=1))
        assert poor.present == pytest.approx(cells.sum(axis=0))


def test_many_secrets_need_no_small_joint_domain() -> None:
    rows = 200
    wide = pd.DataFrame({"age": range(rows), "sex": "M", **{f"s{j}": range(rows) for j in range(3)}})
    report = audit(lambda data: data, wide, sensitive=["s0", "s1", "s2"], records=2)
    assert len(report.verdicts) == 3
    with pytest.raises(harness.InputError, match="have 8000000 values, more than 10000"):
        audit(lambda data: data, wide, sensitive=["s0", "s1", "s2"], records=2, joint=True)


def test_one_secret_is_as_if_it_were_alone() -> None:
    assert audit(chunks, sensitive=["ill"]).to_json() == audit(chunks).to_json()
