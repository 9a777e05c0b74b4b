"""Invented people with the skew and the correlations of a census, for demonstrations. Knows numpy only."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

EDUCATIONS = ("primary", "secondary", "vocational", "bachelor", "master", "doctorate")
MARITAL = ("single", "married", "divorced", "widowed")
REGIONS = ("capital", "coast", "north", "south", "islands", "abroad")
OCCUPATIONS = ("clerical", "craft", "sales", "care", "transport", "teaching", "technical", "management", "farming")

# P(education) for people below and above 45, P(region): few regions hold most people.
_EDUCATION = np.array([[0.05, 0.30, 0.25, 0.24, 0.13, 0.03], [0.14, 0.38, 0.26, 0.13, 0.07, 0.02]])
_REGION = np.array([0.38, 0.24, 0.18, 0.14, 0.045, 0.015])
# How much each education leans to each occupation; rows need not sum to one.
_LEANING = np.array(
    [
        [1, 5, 3, 4, 5, 0.05, 0.2, 0.2, 4],
        [4, 5, 5, 4, 4, 0.20, 1.0, 1.0, 2],
        [3, 7, 3, 5, 2, 0.40, 4.0, 1.5, 1],
        [4, 1, 4, 2, 0.5, 4.0, 5.0, 5.0, 0.5],
        [2, 0.3, 2, 1, 0.2, 6.0, 5.0, 7.0, 0.2],
        [0.5, 0.1, 0.5, 0.5, 0.1, 9.0, 5.0, 4.0, 0.1],
    ]
)
_HOURS = np.array([38, 42, 40, 34, 45, 38, 41, 47, 52])


def people(count: int, seed: int = 0) -> pd.DataFrame:
    """So many invented people: age, education, marital status, hours per week, region; sensitive: occupation."""
    rng = np.random.default_rng(seed)
    age = np.clip(17 + rng.gamma(2.6, 9.5, count), 17, 90).astype(np.int64)
    education = _choose(rng, _EDUCATION[(age >= 45).astype(int)])
    marital = _choose(rng, _marital(age))
    region = _choose(rng, np.broadcast_to(_REGION, (count, len(REGIONS))))
    leaning = _LEANING[education] * np.where(np.arange(len(OCCUPATIONS)) == 8, 1 + 2.0 * (region[:, None] > 2), 1.0)
    occupation = _choose(rng, leaning)
    return pd.DataFrame(
        {
            "age": age,
            "education": np.array(EDUCATIONS, dtype=object)[education],
            "marital_status": np.array(MARITAL, dtype=object)[marital],
            "hours_per_week": _hours(rng, _HOURS[occupation]),
            "region": np.array(REGIONS, dtype=object)[region],
            "occupation": np.array(OCCUPATIONS, dtype=object)[occupation],
        }
    )


def _marital(age: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Single when young, married in the middle, widowed late."""
    years = age[:, None].astype(np.float64)
    single, widowed = 1 / (1 + np.exp((years - 29) / 4)), 0.7 / (1 + np.exp((76 - years) / 6))
    return np.hstack([single + 0.08, (1 - single) * 0.8, (1 - single) * 0.2, widowed])


def _hours(rng: np.random.Generator, usual: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Half of all people work forty hours to the minute, a tenth part time, the others about as their trade does."""
    kind = rng.choice(3, len(usual), p=[0.5, 0.1, 0.4])
    other = np.clip(rng.normal(usual, 8), 5, 90)
    part_time = rng.integers(8, 30, len(usual))
    return np.where(kind == 0, 40, np.where(kind == 1, part_time, other)).astype(np.int64)


def _choose(rng: np.random.Generator, weights: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """One column per row, drawn with that row's weights."""
    shares = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)
    chosen: npt.NDArray[np.int64] = (rng.random(len(weights))[:, None] > shares[:, :-1]).sum(axis=1)
    return chosen
