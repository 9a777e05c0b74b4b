"""Invented people look like a census: skewed, correlated, and the same for the same seed."""

from typing import Any

import pandas as pd
import pytest

from harness.synthetic_census import people


def test_equal_seeds_invent_equal_people() -> None:
    pd.testing.assert_frame_equal(people(200, 7), people(200, 7))
    assert not people(200, 7).equals(people(200, 8))


def test_the_first_people_do_not_depend_on_a_file_or_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.socket", None)
    assert len(people(50)) == 50


def test_ages_hours_and_regions_are_skewed() -> None:
    invented = people(5000)
    assert 30 < invented["age"].median() < 45
    skewness: Any = invented["age"].skew()
    assert skewness > 0.5
    assert (invented["hours_per_week"] == 40).mean() > 0.45
    regions = invented["region"].value_counts()
    assert regions.max() > 20 * regions.min()


def test_education_goes_with_occupation_and_age_with_marital_status() -> None:
    invented = people(5000)
    teaching = invented.groupby("education")["occupation"].agg(lambda jobs: (jobs == "teaching").mean())
    assert teaching["doctorate"] > 10 * teaching["primary"]
    single = invented["marital_status"] == "single"
    assert invented[single]["age"].mean() + 10 < invented[~single]["age"].mean()


def test_no_value_is_impossible() -> None:
    invented = people(5000)
    assert invented["age"].between(17, 90).all()
    assert invented["hours_per_week"].between(5, 90).all()
    assert not invented.isna().any().any()
