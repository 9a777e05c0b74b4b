"""Comparison: limits decide, noise never does, and what cannot be compared is refused."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import harness
from harness.analysis.compare import Span, compare_reports, worst
from harness.cli import main
from harness.report import Report
from harness.vocabulary.errors import InputError
from oracles.reference import Laplace, Mondrian
from tests.small_audits import audit, table

NUMBERS = st.floats(0, 2)
SPANS = st.tuples(NUMBERS, NUMBERS).map(lambda ends: Span(min(ends), max(ends)))


@given(SPANS, SPANS)
def test_only_limits_that_lie_apart_differ_and_the_other_way_round_is_the_opposite(one: Span, other: Span) -> None:
    opposite = {"better": "worse", "worse": "better", "same": "same"}
    assert other.to(one) == opposite[one.to(other)]
    assert one.to(one) == "same"
    if one.lower <= other.upper and other.lower <= one.upper:
        assert one.to(other) == "same"


def test_anything_worse_makes_the_whole_worse() -> None:
    assert worst(["better", "worse", "same"]) == "worse"
    assert worst(["same", "better"]) == "better"
    assert worst(["same", "same"]) == "same"


def test_a_lower_k_is_worse_and_names_the_rows_of_the_people() -> None:
    people = table(200)
    comparison = compare_reports(audit(Mondrian(k=10), people), audit(Mondrian(k=5), people))
    (result,) = comparison["results"]
    assert comparison["overall"] == result["overall"] == "worse"
    assert comparison["joint_confidence"] == 1
    assert result["measures"]["mean distance"]["direction"] == "worse"
    worse = [person for person in result["persons"] if person["direction"] == "worse"]
    assert len(worse) == result["worse"] > 0
    assert worse[0]["rows"] == [people.index[worse[0]["person"]]]
    assert worse[0]["after"]["lower"] - worse[0]["before"]["upper"] == max(person["gap"] for person in worse)


def test_the_directions_of_exact_audits_are_those_of_their_distances() -> None:
    one, other = audit(Mondrian(k=10)), audit(Mondrian(k=3))
    (result,) = compare_reports(one, other)["results"]
    moved = {found.person: found.distance for found in one.findings}
    expected = {
        found.person: "worse" if found.distance > moved[found.person] else "better"
        for found in other.findings
        if abs(found.distance - moved[found.person]) > 1e-9
    }
    assert {person["person"]: person["direction"] for person in result["persons"]} == expected


@pytest.mark.parametrize("oracle", [Mondrian(k=3), Laplace(noise_epsilon=1.0)])
def test_the_same_anonymizer_with_another_seed_is_the_same(oracle: Any) -> None:
    one, other = (audit(oracle, seed=seed, draws=100) for seed in (0, 1))
    assert compare_reports(one, other)["overall"] == "same"
    assert compare_reports(one, other)["results"][0]["persons"] == []


def test_samples_are_compared_by_the_people_whom_both_examined() -> None:
    people = table(200)
    one, other = (audit(Mondrian(k=3), people, seed=seed, records=60) for seed in (0, 1))
    assert compare_reports(one, other)["overall"] == "same"
    assert 0 < compare_reports(one, other)["results"][0]["compared"] < 60
    (lower,) = compare_reports(audit(Mondrian(k=10), people, records=60), one)["results"]
    assert (lower["overall"], lower["compared"], lower["population"]) == ("worse", 60, 200)
    few = [audit(Mondrian(k=3), people, seed=seed, records=1) for seed in (0, 1)]
    with pytest.raises(InputError, match="nobody was examined in both"):
        compare_reports(*few)


def test_a_mechanism_with_much_more_noise_is_better_by_proof() -> None:
    loud, quiet = (audit(Laplace(noise_epsilon=noise), draws=2_000) for noise in (5.0, 0.1))
    comparison = compare_reports(loud, quiet)
    assert comparison["overall"] == "better"
    assert comparison["joint_confidence"] == pytest.approx(0.9)
    assert all(person["after"]["upper"] < person["before"]["lower"] for person in comparison["results"][0]["persons"])


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ({"epsilon": 0.2}, r"differ in \[claim\] epsilon: 0.1 before, 0.2 now\. Audit both"),
        ({"distance": "half"}, r"differ in \[inference\] distance: sum before, half now\. Audit both"),
        ({"model": "conditional"}, "differ in the adversaries: .* before, conditional on tf-tf now"),
        (
            {"model": {"name": "bernoulli", "alpha": 2}},
            r"tf-tf before, bernoulli\(alpha=2\) on tf-tf now",
        ),
        ({"data": table(30, seed=1)}, "differ in the content of the data\\. Audit both"),
        ({"quasi": {"age": "number"}}, r"\[data\] quasi: age \(number\), .* before, age \(number\) now"),
    ],
)
def test_audits_of_something_else_are_refused_with_the_reason(option: dict[str, Any], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        compare_reports(audit(Mondrian(k=3)), audit(Mondrian(k=3), **option))


def test_tables_and_predictions_cannot_be_compared() -> None:
    with pytest.raises(InputError, match="releases tables, the other predictions"):
        compare_reports(audit(Mondrian(k=3)), audit(Laplace(noise_epsilon=1.0), draws=50))


def test_metrics_of_the_release_that_changed_are_listed() -> None:
    report = audit(Mondrian(k=3))
    one, other = (replace(report, plain={**report.plain, "release": {"k": k, "l": {"distinct": 2}}}) for k in (10, 5))
    assert compare_reports(one, other)["metrics"] == [{"metric": "k", "before": 10, "after": 5}]


def test_a_person_without_a_result_is_never_better_or_worse() -> None:
    report = audit(Mondrian(k=3))
    broken = json.loads(report.to_json())
    broken["findings"][0] |= {
        "failure": "no prediction",
        "distance": None,
        "lower": None,
        "upper": None,
        "own_upper": None,
    }
    comparison = compare_reports(report, Report(broken))
    assert comparison["results"][0]["persons"] == []


def test_the_command_compares_folders_and_says_what_it_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    people = table(100)
    folders = [str(tmp_path / f"k{k}") for k in (10, 5)]
    for k, folder in zip((10, 5), folders, strict=True):
        audit(Mondrian(k=k), people, out=folder)
    assert main(["compare", *folders]) == 0
    page = capsys.readouterr().out
    assert page.startswith("WORSE:")
    assert "worse   row label " in page
    assert main(["compare", *folders, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["overall"] == "worse"
    assert main(["compare", *folders, folders[0], "--json"]) == 0
    several = json.loads(capsys.readouterr().out)
    assert [one["overall"] for one in several["comparisons"]] == ["worse", "same"]
    assert main(["compare", folders[0]]) == 2
    assert main(["compare", folders[0], str(tmp_path / "nothing")]) == 2
    (tmp_path / "k5" / "report.json").unlink()
    capsys.readouterr()
    assert main(["compare", *folders]) == 2
    assert "k5: this audit is not finished; run it to its end, then compare" in capsys.readouterr().err


@pytest.mark.slow
def test_noise_is_flagged_in_at_most_five_of_a_hundred_pairs() -> None:
    """100 pairs among 50 audits of one randomized anonymizer; every law is the same: whatever is flagged is wrong."""
    people = pd.DataFrame({"age": [20, 20, 30, 30], "ill": ["flu", "ulcer", "flu", "flu"]})
    options: dict[str, Any] = {"quasi": {"age": "number"}, "sensitive": "ill", "epsilon": 0.1, "draws": 40}
    reports = [
        harness.audit(Laplace(noise_epsilon=1.0), people, pairs="independent", seed=seed, **options)
        for seed in range(50)
    ]
    pairs = [(one, (one + step) % 50) for step in (1, 2) for one in range(50)]
    flagged = [
        comparison["overall"] != "same" or bool(comparison["results"][0]["persons"])
        for comparison in (compare_reports(reports[one], reports[other]) for one, other in pairs)
    ]
    assert len(flagged) == 100
    assert np.mean(flagged) <= 0.05
