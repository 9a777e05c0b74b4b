"""Membership inference: the numbers of a naive count over all pairs, limits that hold, and what a report says of it."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.auditing.journal import entries
from harness.cli import main
from harness.measuring.membership import tell_members
from harness.report import Report
from oracles.reference import Laplace, Mondrian
from tests.small_audits import audit, table, values_of

SCORES = st.lists(st.tuples(*[st.integers(0, 5)] * 2), min_size=2, max_size=40)  # few values: many ties


def sides(pairs: list[tuple[int, int]]) -> tuple[Any, Any]:
    scores = np.array(pairs, dtype=float) / 5
    return scores[:, 0], scores[:, 1]


@given(SCORES)
def test_the_auc_is_the_share_of_pairs_of_different_persons_that_the_member_wins(pairs: list[tuple[int, int]]) -> None:
    members, others = sides(pairs)
    told = tell_members(members, others, 0.95)
    assert told is not None
    wins = [
        1.0 if member > other else 0.5 if member == other else 0.0
        for one, member in enumerate(members)
        for two, other in enumerate(others)
        if one != two
    ]
    assert told.auc.value == pytest.approx(sum(wins) / len(wins), abs=1e-12)
    assert told.auc.lower <= told.auc.value <= told.auc.upper


@given(SCORES)
def test_no_threshold_within_the_allowed_false_positives_finds_more_members(pairs: list[tuple[int, int]]) -> None:
    members, others = sides(pairs)
    told = tell_members(members, others, 0.95)
    assert told is not None
    for point in told.points:
        reached = [
            float((members > threshold).mean())
            for threshold in (-1.0, *others, *members, 2.0)
            if (others > threshold).mean() <= point.allowed
        ]
        assert point.true_positives.value == max(reached)
        assert point.false_positives.value <= point.allowed


def test_the_limits_of_a_rate_are_those_of_clopper_and_pearson() -> None:
    """0 of 100 at 95 %: the upper limit is 1 - 0.025^(1/100)."""
    told = tell_members(np.zeros(100), np.zeros(100), 0.95)
    assert told is not None
    assert told.points[0].true_positives.upper == pytest.approx(1 - 0.025 ** (1 / 100))
    assert told.auc.value == 0.5


def test_one_person_tells_nothing_about_members() -> None:
    assert tell_members(np.ones(1), np.zeros(1), 0.95) is None


@pytest.mark.slow
def test_the_limits_of_the_auc_miss_no_more_often_than_they_may() -> None:
    """Scores of one person depend on each other; P(member above another) is Φ(1/√2) for shifts of 1."""
    rng, missed, runs = np.random.default_rng(0), 0, 2_000
    truth = 0.5 * (1 + math.erf(1 / 2))
    for _ in range(runs):
        own, noise = rng.normal(size=(2, 60))
        members, others = own + 1, 0.6 * own + 0.8 * noise
        told = tell_members(members, others, 0.95)
        assert told is not None
        missed += not told.auc.lower <= truth <= told.auc.upper
    assert missed / runs <= 0.05


def membership(report: Report) -> dict[str, Any]:
    found: dict[str, Any] = report.result()["membership"]
    return found


def test_a_report_scores_each_person_by_the_confidence_in_her_true_value() -> None:
    """Against a second reading of the report: predictions of both sides at the value that the data has."""
    people = table(40)
    report = audit(Mondrian(k=3), people)
    values = values_of(report)
    scores = [
        [getattr(finding, side)[values.index(people["ill"][finding.person])] for side in ("present", "absent")]
        for finding in report.findings
    ]
    members, others = np.array(scores).T
    wins = (members[:, None] > others[None, :]) + 0.5 * (members[:, None] == others[None, :])
    expected = (wins.sum() - np.trace(wins)) / (40 * 39)
    assert membership(report)["auc"]["value"] == pytest.approx(expected, abs=1e-12)
    assert membership(report)["persons"] == 40


def test_both_models_of_a_deterministic_anonymizer_tell_everybody_who_moves() -> None:
    report = audit(Mondrian(k=3))
    assert membership(report)["certain"] == np.mean([finding.distance > 0 for finding in report.findings])
    assert membership(audit(Laplace(noise_epsilon=1.0), draws=50))["certain"] is None


def test_a_report_holds_the_summary_of_all_and_no_persons_own_score(tmp_path: Path) -> None:
    report = audit(Mondrian(k=3), out=tmp_path / "kept")
    examined = [entry["examined"] for entry in entries(tmp_path / "kept" / "journal.jsonl") if "examined" in entry]
    assert all("confidence" in one for event in examined for one in event["measurements"])
    assert all("confidence" not in finding for finding in report.plain["findings"])
    assert main(["verify", str(tmp_path / "kept")]) == 0


def test_an_adaptive_audit_keeps_the_score_of_its_first_draw() -> None:
    report = audit(Laplace(noise_epsilon=1.0), draws=400, adaptive=True, epsilon=0.3)
    assert membership(report)["persons"] == 30
    assert max(finding.look for finding in report.findings) > 1


def test_a_changed_membership_number_is_found_by_verify(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    audit(Mondrian(k=3), out=tmp_path / "kept")
    path = tmp_path / "kept" / "report.json"
    plain = json.loads(path.read_text())
    plain["results"][0]["membership"]["auc"]["value"] = 0.5
    path.write_text(json.dumps(plain) + "\n")
    assert main(["verify", str(tmp_path / "kept")]) == 2
    assert "membership" in capsys.readouterr().err
