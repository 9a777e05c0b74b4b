"""Real data for tests, where it is at hand: ../shared/data, or the folder HARNESS_DATA names. Never committed."""

import os
from pathlib import Path

import pandas as pd
import pytest

from harness.synthetic_census import people
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.schema import Schema

ADULT = {
    "age": "number",
    "education": "category",
    "marital-status": "category",
    "hours-per-week": "number",
    "native-country": "category",
}
PEOPLE = {
    "age": "number",
    "education": "category",
    "marital_status": "category",
    "hours_per_week": "number",
    "region": "category",
}


def folder() -> Path | None:
    named = os.environ.get("HARNESS_DATA")
    place = Path(named) if named else Path(__file__).parent.parent.parent / "shared" / "data"
    return place if (place / "adult.csv").exists() else None


needs_data = pytest.mark.skipif(folder() is None, reason="no adult.csv in ../shared/data or HARNESS_DATA")


def adult(count: int, seed: int = 0) -> pd.DataFrame:
    """A random sample of Adult, as the papers took one."""
    place = folder()
    assert place is not None
    return pd.read_csv(place / "adult.csv").sample(count, random_state=seed).reset_index(drop=True)


def adult_or_people(count: int) -> tuple[str, Dataset]:
    if folder() is not None:
        return "Adult", Dataset.from_frame(adult(count), Schema(ADULT, "occupation"))
    return "invented people", Dataset.from_frame(people(count), Schema(PEOPLE, "occupation"))
