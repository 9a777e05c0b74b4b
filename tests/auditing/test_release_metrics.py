"""What an audit says about f(D) itself: metrics of its first draw, and what shares disclose beyond the plain table."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest

import harness
from harness.auditing.config import choose_adversaries
from harness.auditing.verify import recompile
from oracles.reference import Greedy, Identity, Laplace, Mondrian
from tests.small_audits import QUASI, audit, table

SCHEMA = json.loads(files("harness").joinpath("report.schema.json").read_text(encoding="utf-8"))


def test_the_report_has_the_metrics_of_f_of_d() -> None:
    people = table(40)
    report = audit(Mondrian(k=4), people)
    release = Mondrian(k=4).anonymize(people, harness.Schema(QUASI, "ill"))
    expected = harness.metrics(release, QUASI, "ill", people)
    found = report.plain["release"]
    assert {key: found[key] for key in ("k", "classes", "discernibility", "lost_leaves", "outside")} == {
        key: expected[key] for key in ("k", "classes", "discernibility", "lost_leaves", "outside")
    }
    assert found["t"] == expected["t"]
    jsonschema.validate(report.plain, SCHEMA)


def test_the_metrics_follow_from_the_journal(tmp_path: Path) -> None:
    report = audit(Mondrian(k=4), out=tmp_path)
    assert recompile(tmp_path / "journal.jsonl")["release"] == report.plain["release"]


def test_no_cell_of_the_release_is_in_the_metrics() -> None:
    people = table(40).assign(sex=lambda frame: frame["sex"].map({"F": "secretly-F", "M": "secretly-M"}))
    text = json.dumps(audit(Mondrian(k=4), people).plain["release"])
    assert "secretly" not in text
    assert "ulcer" not in text


def test_predictions_are_no_table_to_measure() -> None:
    report = audit(Laplace(noise_epsilon=1.0), draws=50, records=3)
    assert report.plain["release"] is None
    jsonschema.validate(report.plain, SCHEMA)


def test_a_random_anonymizer_is_measured_by_its_first_draw() -> None:
    def shuffled(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
        return frame.assign(age=np.random.default_rng(seed).permutation(frame["age"]), sex="*")

    report = audit(shuffled, draws=30, records=3)
    assert report.plain["release"]["rows"] == 30
    assert report.plain["release"]["outside"]["cells"] > 0


def test_an_adversary_that_reads_shares_is_joined_by_one_that_reads_the_plain_table() -> None:
    report = audit(Greedy(k=5, proportional=True), encoder="proportional", model={"name": "bernoulli", "alpha": 0.5})
    names = [result["adversary"] for result in report.plain["results"]]
    assert names == ["bernoulli(alpha=0.5) on proportional", "bernoulli(alpha=0.5) on fill-parent"]
    (compared,) = report.plain["proportional"]
    assert (compared["adversary"], compared["plain_adversary"]) == tuple(names)
    for prefix, result in zip(("", "plain_"), report.plain["results"], strict=True):
        assert compared[f"{prefix}largest"] == result["statistics"]["largest"]
        assert compared[f"{prefix}mean"] == result["statistics"]["mean"]
    assert compared["mean"] > compared["plain_mean"]
    assert "the shares of the proportional table move a record by" in report.plain["notes"][0]
    jsonschema.validate(report.plain, SCHEMA)


@pytest.mark.parametrize("oracle", [Mondrian(k=5, proportional=True), Identity(proportional=True)])
def test_an_audit_file_with_proportional_tables_shows_what_the_shares_disclose_without_being_asked(oracle: Any) -> None:
    report = audit(oracle, records=10, adversaries=choose_adversaries(None, {}, None, shows_shares=True))
    names = [result["adversary"] for result in report.plain["results"]]
    assert names == ["bernoulli on tf-tf", "bernoulli on proportional", "bernoulli on fill-parent"]
    (compared,) = report.plain["proportional"]
    if isinstance(oracle, Identity):  # shares of equal rows say what the rows say
        assert compared["largest"] == compared["plain_largest"]
    else:
        assert compared["mean"] > compared["plain_mean"]


def test_both_readers_may_be_named_and_are_not_doubled() -> None:
    pair = [{"encoder": "proportional"}, {"encoder": "fill-parent"}]
    report = audit(Mondrian(k=5, proportional=True), adversaries=pair, records=5)
    assert len(report.plain["results"]) == 2
    assert len(report.plain["proportional"]) == 1


@pytest.mark.parametrize("oracle", [Mondrian, Greedy])
def test_whoever_reads_the_plain_cells_sees_the_plain_table(oracle: Any) -> None:
    plain, shared = (audit(oracle(k=5, proportional=shares), encoder="tf-tf") for shares in (False, True))
    assert [one.distance for one in shared.findings] == [one.distance for one in plain.findings]
    assert any("shared out (proportional)" in note for note in shared.plain["notes"])
    assert shared.plain["proportional"] == []


def test_a_release_without_shares_is_refused_where_shares_are_to_be_read() -> None:
    with pytest.raises(harness.ReleaseError, match="does not say how the values of its class are shared out"):
        audit(Mondrian(k=5), encoder="proportional")


def test_a_release_without_rows_is_not_measured_and_ends_no_audit() -> None:
    report = audit(lambda frame: frame[:0], records=3)
    assert report.plain["release"] is None


def test_suppressed_sensitive_cells_are_no_values_of_the_release() -> None:
    secret = {"name": "ill", "values": ["flu", "ulcer", "none"]}
    report = audit(lambda frame: frame.assign(ill=frame["ill"].where(frame.index > 2, "NA")), sensitive=secret)
    assert report.plain["release"]["l"]["distinct"] == 1


def test_the_details_page_shows_the_metrics_of_f_of_d() -> None:
    page = audit(Mondrian(k=4), records=3).render("details")
    assert "Metrics of f(D), its first draw" in page
    assert "people in the smallest class" in page
