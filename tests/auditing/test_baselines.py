"""Baselines are what an audit of the identity, and of an anonymizer that suppresses everything, would find."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

import harness
from harness.auditing.baselines import MOST, compute_baselines
from harness.auditing.events import OracleProfile, from_entry, to_entry
from harness.auditing.plan import Claim, Plan
from harness.auditing.reference_events import RAW, SUPPRESSED, Baseline, Baselines, ClassSizes
from harness.measuring.adversary import adversary_from
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.oracle import Card
from harness.vocabulary.schema import Schema
from tests.render.reports import identity, suppressing
from tests.small_audits import QUASI, audit, table

PANEL = [{}, {"model": "conditional"}, {"model": "gaussian", "encoder": "scaling-hot"}]


def halves(df: pd.DataFrame) -> pd.DataFrame:
    """Ages in two ranges."""
    return df.assign(age=np.where(df["age"] < 40, "[20, 39]", "[40, 59]"))


def known(report: harness.Report, release: str) -> Iterator[dict[str, Any]]:
    yield from (one for one in report.to_dict()["baselines"]["known"] if one["release"] == release)


@pytest.mark.parametrize(("release", "f"), [(RAW, identity), (SUPPRESSED, suppressing)])
def test_a_baseline_is_the_result_of_an_audit_of_that_release(release: str, f: Any) -> None:
    """With 30 people everybody is in the sample, so that numbers must agree to the last bit."""
    audited = audit(f, adversaries=PANEL)
    baselines = list(known(audit(halves, adversaries=PANEL), release))
    assert len(baselines) == len(PANEL)
    for one in baselines:
        statistics = audited.statistics(one["adversary"], one["secret"])
        assert one["persons"] == 30
        assert (one["largest"], one["share_at_or_above"]) == (
            statistics["largest"],
            statistics["share_at_or_above"]["0.1"],
        )
        assert one["mean"] == pytest.approx(statistics["mean"], rel=1e-12)


def test_the_anonymizers_own_numbers_stand_beside_for_the_same_persons() -> None:
    report = audit(halves)
    for one in report.to_dict()["baselines"]["known"]:
        assert one["f"]["largest"] == report.statistics()["largest"]
        assert one["f"]["mean"] == pytest.approx(report.statistics()["mean"], rel=1e-12)


def computed(rows: int, seed: int = 0, adversaries: Sequence[dict[str, Any]] = ({},)) -> Baselines:
    """The baselines of a plan, without an audit."""
    data = Dataset.from_frame(table(rows), Schema(QUASI, "ill"))
    bound = tuple(adversary_from(one) for one in adversaries)
    profile = OracleProfile(Card("f"), coupled=True, row_order_invariant=False, notes=(), first="")
    return compute_baselines(Plan(data, Claim(0.1), bound, seed=seed), profile, range(rows))


def test_of_many_persons_a_seeded_sample_is_taken() -> None:
    first, again, other = (computed(400, seed) for seed in (0, 0, 1))
    assert {len(one.persons) for one in first.known} == {MOST}
    assert first == again
    assert first.known[0].persons != other.known[0].persons
    assert first.known[0].persons == tuple(sorted(set(first.known[0].persons)))


def test_persons_with_several_rows_count_by_their_largest_distance() -> None:
    people = table(24).assign(who=[row // 2 for row in range(24)])
    report, audited = (audit(f, people, person="who") for f in (halves, identity))
    (one,) = known(report, RAW)
    assert one["persons"] == 12
    assert one["largest"] == audited.statistics()["largest"]


def test_costly_and_random_models_are_left_out_with_a_reason() -> None:
    models = [{"model": name, "encoder": "bounds-hot"} for name in ("tree", "forest")]
    assert computed(12, adversaries=models) == Baselines(
        (),
        (
            (0, "its model is trained anew for every person, which would slow so small an audit"),
            (1, "its model draws random numbers"),
        ),
    )


def test_a_costly_model_is_tried_on_one_examined_person_of_a_hundred() -> None:
    tree = computed(600, adversaries=[{"model": "tree", "encoder": "bounds-hot"}])
    assert {len(one.persons) for one in tree.known} == {6}


def test_a_declared_sign_of_suppression_is_used() -> None:
    people = table().assign(sex=lambda df: df["sex"].replace("F", "*"))
    report = audit(lambda df: df, people, suppressed="?")
    plain = audit(lambda df: df, people.assign(sex=people["sex"].replace("*", "F")))
    assert [one["largest"] for one in known(report, SUPPRESSED)] == [one["largest"] for one in known(plain, SUPPRESSED)]


def test_class_sizes_are_counts_of_rows_that_cover_a_person() -> None:
    people = table(40)
    sizes = audit(halves, people).to_dict()["class_sizes"]
    assert sizes["persons"] == list(range(40))
    for person, covering, rarest in zip(*(sizes[key] for key in ("persons", "covering", "rarest")), strict=True):
        her = people.iloc[person]
        same = ((people["age"] < 40) == (her["age"] < 40)) & (people["sex"] == her["sex"])
        assert covering == same.sum()
        assert rarest == min((people[name] == her[name]).sum() for name in QUASI)


def test_the_events_are_read_back_from_the_journal_as_they_were() -> None:
    for event in (
        Baselines((Baseline(RAW, 0, 1, (3, 5), (0.1, float("inf"))),), ((1, "because"),)),
        ClassSizes((3, 5), (2.0, 7.5), (1, 2)),
    ):
        assert from_entry(to_entry(event)) == event
