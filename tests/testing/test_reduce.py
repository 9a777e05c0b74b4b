"""Shrinking: the smallest table that still breaks a law, found with few questions."""

import numpy as np
import pandas as pd
import pytest

from harness.testing import check
from harness.testing.asking import Rows
from harness.testing.domains import domains_of
from harness.testing.reduce import reduced
from harness.vocabulary.schema import Column, Schema
from tests.data import adult, needs_data
from tests.testing.boxes import SCHEMA

K = 5


def right_half_is_small(rows: Rows) -> bool:
    """Whether the rows above the median are fewer than K, and those up to it are not."""
    ages = pd.Series([float(str(row[0])) for row in rows])
    above = int((ages > ages.median()).sum())
    return 0 < above < K <= len(ages) - above


def test_rows_that_can_only_be_left_out_once_cells_are_equal_are_left_out() -> None:
    ages = (1, 50, 1, 56, 1, 50, 99)  # no six of these rows break the law, and six simpler ones do
    rows = tuple((age, "Bonn", "cold") for age in ages)
    smallest = reduced(rows, right_half_is_small, domains_of(SCHEMA), 80)
    assert [row[0] for row in smallest] == [0, 0, 0, 0, 0, 99]


def mondrian(df: pd.DataFrame) -> pd.DataFrame:
    """Cuts numbers at their median, and looks at the left half only: the right one may have fewer than K rows."""
    if len(df) < K:
        raise ValueError(f"fewer than {K} rows")
    whole = pd.concat([part.assign(**_ranges(part)) for part in _cut(df)])
    return whole.sort_index()


def _cut(df: pd.DataFrame) -> list[pd.DataFrame]:
    numbers = ["age", "hours-per-week"]
    for name in sorted(numbers, key=lambda name: int(np.ptp(df[name])), reverse=True):
        left = df[name] <= df[name].median()
        if left.sum() >= K and not left.all():
            return _cut(df[left]) + _cut(df[~left])
    return [df]


def _ranges(part: pd.DataFrame) -> dict[str, str]:
    numbers = {name: f"[{part[name].min()}, {part[name].max()}]" for name in ("age", "hours-per-week")}
    return {**numbers, "race": "{" + ", ".join(sorted(set(part.race))) + "}"}


@needs_data
@pytest.mark.slow
def test_a_mondrian_that_leaves_classes_below_its_k_on_adult_is_caught_on_six_rows() -> None:
    schema = Schema((Column("age", "number"), Column("hours-per-week", "number"), Column("race")), "occupation")
    report = check(mondrian, schema, {"k": K}, sample=adult(2_000), max_time=600)
    (result,) = report.failed
    assert result.law.name == "classes-have-k-rows"
    assert len(result.counterexample or ()) == K + 1
    assert report.calls <= 300
