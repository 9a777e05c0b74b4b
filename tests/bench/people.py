"""The records that the benchmark examines: Adult where it is at hand, else invented people."""

from __future__ import annotations

import numpy as np
import pandas as pd

from harness.synthetic_census import people
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.schema import Schema
from tests.data import ADULT, PEOPLE, adult, folder

MORE = {"workclass": "category", "relationship": "category", "race": "category", "sex": "category"}
SECRET = "occupation"
PERSON = "person"
MOST = 30_162  # records of Adult


def table(count: int, extra: int = 0) -> tuple[pd.DataFrame, dict[str, str]]:
    """So many records and their quasi-identifiers, `extra` more than the usual five."""
    if folder() is not None:
        return adult(min(count, MOST)), ADULT | dict(list(MORE.items())[:extra])
    frame = people(count)
    more = {f"answer {number}": "category" for number in range(extra)}
    rng = np.random.default_rng(0)
    return frame.assign(**{name: rng.choice(["yes", "no", "maybe"], count) for name in more}), PEOPLE | more


def dataset(count: int, quasi: int = 5) -> Dataset:
    """So many records with so many quasi-identifiers."""
    frame, columns = table(count, max(0, quasi - 5))
    return Dataset.from_frame(frame, Schema(dict(list(columns.items())[:quasi]), SECRET))


def dataset_of_persons(count: int, rows_each: int) -> Dataset:
    """So many records, of which so many belong to each person."""
    frame, columns = table(count)
    whose = np.arange(len(frame)) // rows_each
    return Dataset.from_frame(frame.assign(**{PERSON: whose}), Schema(columns, SECRET, person=PERSON))
