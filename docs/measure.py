"""Measures what well-known anonymizers reach on the invented people of `harness demo`, for the page what-0.1-means.md.

`python docs/generate.py --measure` writes the table into the page, which takes a minute; a test measures some of its
lines again.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd
from describe import table

import harness
from harness.demo import QUASI
from harness.synthetic_census import people
from oracles.reference import Laplace, Mondrian
from oracles.reference.extremes import Identity

MEANING_PAGE = Path(__file__).parent / "explanation" / "what-0.1-means.md"
COUNT, SEED, EPSILON = 1000, 1, 0.1
PLACE = re.compile(r"(?<=<!-- measured: begin -->\n).*?(?=<!-- measured: end -->)", re.DOTALL)
HEADS = (
    "anonymizer", "largest distance", "mean distance", "persons at 0.1 or more", "most likely value changes",
    "verdict at ε = 0.1",
)  # fmt: skip
ANONYMIZERS: dict[str, Any] = {
    "none: the data as they are": Identity(),
    **{f"Mondrian, k = {k}": Mondrian(k=k) for k in (2, 5, 10, 50, 200)},
    **{
        f"Mondrian, ℓ = {diversity}": Mondrian(k=1, l=diversity, infeasible="generalise")
        for diversity in (2, 3, 5, 7, 9)
    },
    **{f"Laplace, noise_epsilon = {noise:g}": Laplace(noise_epsilon=noise) for noise in (10, 1, 0.1, 0.01)},
}


def with_measured_table() -> str:
    """The page with the table as it is measured now."""
    rows = [line(name, measured(name)) for name in ANONYMIZERS]
    return PLACE.sub(lambda _: f"\n{table(HEADS, rows)}\n", MEANING_PAGE.read_text(encoding="utf-8"))


def measured(name: str) -> harness.Report:
    """The audit behind one line of the table."""
    return harness.audit(
        ANONYMIZERS[name], _data(name), quasi=QUASI, sensitive="occupation", epsilon=EPSILON, seed=SEED, progress=False
    )


def _data(name: str) -> pd.DataFrame:
    """The people of the demo; for Laplace, as there, with age and hours in steps of 20."""
    data = people(COUNT, SEED)
    if name.startswith("Laplace"):
        return data.assign(age=data["age"] // 20 * 20, hours_per_week=data["hours_per_week"] // 20 * 20)
    return data


def line(name: str, report: harness.Report) -> tuple[str, ...]:
    """One line of the table."""
    verdict, numbers = report.verdict, report.statistics()
    exact = verdict.at_least == verdict.at_most
    least, most = (numbers[key]["0.1"] for key in ("share_at_or_above", "share_possibly_at_or_above"))
    changed = numbers["share_of_changed_predictions"]
    return (
        name,
        f"{verdict.at_least:.3f}" if exact else f"{verdict.at_least:.3f} to {verdict.at_most:.3f}",
        f"{numbers['mean']:.3f}" if exact else f"about {numbers['mean']:.3f}",
        f"{least:.1%}" if least == most else f"{least:.1%} to {most:.1%}",
        "not counted" if changed is None else f"{changed:.1%}",
        verdict.outcome.name,
    )
