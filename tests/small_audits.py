"""A small table of people and an audit of it, for tests that need just any."""

from typing import Any

import numpy as np
import pandas as pd

import harness

QUASI = {"age": "number", "sex": "category"}


def table(rows: int = 30, seed: int = 0) -> pd.DataFrame:
    """So many people: age, sex, illness."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(20, 60, rows),
            "sex": rng.choice(["F", "M"], rows),
            "ill": rng.choice(["flu", "ulcer", "none"], rows, p=[0.5, 0.1, 0.4]),
        }
    )


def audit(f: Any, data: pd.DataFrame | None = None, **options: Any) -> harness.Report:
    """An audit of that table, or of another, with a claim that the options may change."""
    people = table() if data is None else data
    return harness.audit(f, people, **{"quasi": QUASI, "sensitive": "ill", "epsilon": 0.1, **options})


def values_of(report: harness.Report) -> list[str]:
    """The values of the first secret in the order of the predictions; report.json has them sorted."""
    assert report.complete is not None, "an audit that was made here"
    values: list[str] = report.complete["plan"]["secrets"][0]["values"]
    return values
