"""v2's Tables 1 and 2, and the examples of both texts, exactly."""

from fractions import Fraction

import pandas as pd
import pytest

import harness
from harness.demo import FIVE
from oracles.reference import Mondrian
from tests.small_audits import values_of

QUASI = {"age": "number", "gender": "category"}


@pytest.fixture(scope="module")
def report() -> harness.Report:
    return harness.audit(
        Mondrian(k=2, cells="regions"), FIVE, quasi=QUASI, sensitive="disease", epsilon=0.5, model="conditional"
    )


def test_table_1b_comes_out_exactly(report: harness.Report) -> None:
    third, half = Fraction(1, 3), Fraction(1, 2)
    certain = (Fraction(1), Fraction(0))
    present = [certain, certain, (2 * third, third), (2 * third, third), (2 * third, third)]
    absent = [(half, half), (half, half), certain, (half, half), (half, half)]
    distance = [Fraction(1), Fraction(1), 2 * third, third, third]
    assert values_of(report) == ["Flu", "Cancer"]
    for finding, with_her, without, far in zip(report.findings, present, absent, distance, strict=True):
        assert finding.present == pytest.approx([float(p) for p in with_her], abs=1e-15)
        assert finding.absent == pytest.approx([float(p) for p in without], abs=1e-15)
        assert finding.distance == pytest.approx(float(far), abs=1e-15)
        assert finding.lower == finding.distance == finding.upper


def test_delta_of_the_example_is_one_and_its_witness_the_first_record(report: harness.Report) -> None:
    assert report.verdict.epsilon == 1
    assert report.verdict.outcome is harness.Outcome.VIOLATED
    assert report.verdict.witness == 0


def test_table_2a_has_the_printed_classes() -> None:
    schema = harness.Schema(quasi=QUASI, sensitive="disease")
    released = Mondrian(k=2, cells="regions").anonymize(FIVE, schema)
    assert released["age"].nunique() == 2
    assert released.groupby("age", sort=False).size().tolist() == [2, 3]


def test_a_cut_fixed_at_45_gives_one_half_for_the_first_two_records() -> None:
    """So Table 1b cannot come from a cut that stays where it is."""

    def fixed(data: pd.DataFrame) -> pd.DataFrame:
        age = data["age"].map(lambda age: "< 45" if age < 45 else "≥ 45")
        return data.assign(age=age, gender=data["gender"].where(age == "< 45", "{M, F}"))

    report = harness.audit(fixed, FIVE, quasi=QUASI, sensitive="disease", epsilon=0.5, model="conditional")
    assert [finding.distance for finding in report.findings[:2]] == [0, 0]


def test_the_first_versions_example_is_a_quarter_of_the_sum() -> None:
    """v1 §3.3; the exact earth mover's distance at unit ground distance is the half."""
    present, absent = [0.49, 0.01, 0.5], [0.01, 0.49, 0.5]
    assert harness.distance("quarter", present, absent) == pytest.approx(0.24)
    assert harness.distance("half", present, absent) == pytest.approx(0.48)
    assert harness.distance("sum", present, absent) == pytest.approx(0.96)


@pytest.mark.parametrize(("name", "share"), [("sum", 1), ("half", 0.5), ("total-variation", 0.5), ("quarter", 0.25)])
def test_every_named_distance_is_its_share_of_the_sum(name: str, share: float) -> None:
    report = harness.audit(
        Mondrian(k=2, cells="regions"), FIVE, quasi=QUASI, sensitive="disease", epsilon=0.5, model="conditional",
        distance=name,
    )  # fmt: skip
    assert report.verdict.epsilon == pytest.approx(share)
    assert report.result()["distance"] == ("half" if name == "total-variation" else name)
