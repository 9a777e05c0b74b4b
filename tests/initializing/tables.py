"""Tables as people have them, and anonymizers of all habits, for tests of `harness init`."""

from __future__ import annotations

import numpy as np
import pandas as pd

ROWS = 120


def bank() -> pd.DataFrame:
    """Row numbers, numbers, categories with and without an order, amounts, gaps."""
    rng = np.random.default_rng(1)
    duration = pd.Series(rng.integers(1, 999, ROWS).astype(object))
    duration[::17] = ""
    return pd.DataFrame(
        {
            "id": range(1, ROWS + 1),
            "age": rng.integers(18, 80, ROWS),
            "job": rng.choice(["admin", "clerk", "nurse", "driver"], ROWS),
            "duration": duration,
            "age_group": rng.choice(["25-34", "18-24", "65+", "35-64"], ROWS),
            "satisfaction": rng.choice(["high", "low", "medium"], ROWS),
            "balance": np.round(rng.lognormal(7, 1, ROWS), 2),
        }
    )


def hospital() -> pd.DataFrame:
    """Persons with several rows, dates, codes with leading zeros, booleans, free text, a constant, names."""
    rng = np.random.default_rng(2)
    born = pd.to_datetime(rng.integers(0, 12000, ROWS), unit="D")
    words = ["pain", "fever", "cough", "loss", "sleep", "daily", "since", "weeks"]
    return pd.DataFrame(
        {
            "patient_id": [f"P{number:03d}" for number in rng.integers(0, 40, ROWS)],
            "born": born.strftime("%d/%m/%Y"),
            "zip": [f"{code:05d}" for code in rng.choice([1234, 1235, 2138, 90210], ROWS)],
            "smoker": rng.choice(["True", "False"], ROWS),
            "note": [" ".join(rng.choice(words, 9)) + f" {row}" for row in range(ROWS)],
            "hospital": "General",
            "name": [f"Smith {row}" for row in range(ROWS)],
            "diagnosis": rng.choice(["Flu", "Asthma", "Ulcer"], ROWS),
        }
    )


def tens(df: pd.DataFrame) -> pd.DataFrame:
    """Ranges that meet: 30 is in 30-40."""
    low = df["age"] // 10 * 10
    return df.assign(age=[f"{start}-{start + 10}" for start in low])


def tens_to_the_right(df: pd.DataFrame) -> pd.DataFrame:
    """Ranges that meet: 30 is in 20-30."""
    low = (df["age"] - 1) // 10 * 10
    return df.assign(age=[f"{start}-{start + 10}" for start in low])


def groups_of_five(df: pd.DataFrame) -> pd.DataFrame:
    """Rows in order of age, five to a group; ranges from the least to the greatest meet, and may hold one age alone."""
    rows = df.sort_values("age", kind="stable", ignore_index=True)
    ages = rows["age"].groupby(rows.index // 5)
    ends = zip(ages.transform("min"), ages.transform("max"), strict=True)
    return rows.assign(age=[f"[{low}, {high}]" for low, high in ends])


def shuffled(df: pd.DataFrame) -> pd.DataFrame:
    return tens(df).sample(frac=1, random_state=3)


def listed(df: pd.DataFrame) -> pd.DataFrame:
    """Steps of a scale in a list, in other rows: both of them, or all from one to the other?"""
    return df.assign(satisfaction="['low,high']").sample(frac=1, random_state=3)


def named_jobs(df: pd.DataFrame) -> pd.DataFrame:
    """Names that no data has, and a sign of its own for what is suppressed."""
    names = {"admin": "office", "clerk": "office", "nurse": "REDACTED"}
    return df.assign(job=df["job"].map(lambda job: names.get(job, job)))


def means(df: pd.DataFrame) -> pd.DataFrame:
    group = df["age"].rank(method="first").floordiv(7)
    return df.assign(age=df["age"].groupby(group).transform("mean"))


def tens_as_masks(df: pd.DataFrame) -> pd.DataFrame:
    """`3+` for 30 to 39, which could be 3 or more too."""
    return df.assign(age=[f"{number // 10}+" for number in df["age"]])


def coarse_balance(df: pd.DataFrame) -> pd.DataFrame:
    """Generalises what looks sensitive, and leaves the rest."""
    return tens(df).assign(balance="some")


def counting(df: pd.DataFrame) -> pd.DataFrame:
    return tens(df).assign(count="many", comment="hello")


def private(df: pd.DataFrame) -> pd.DataFrame:
    """Invents names that nothing explains."""
    return df.sample(frac=1, random_state=1).assign(job=[f"cluster {row % 3}" for row in range(len(df))])


def raising(df: pd.DataFrame) -> pd.DataFrame:
    raise ValueError(f"no use for {df.iloc[0].to_dict()}")
