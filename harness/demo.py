"""`harness demo`: three anonymizers, three verdicts, no file and no network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from harness.api import audit
from harness.render.text import wrapped
from harness.report import Report
from harness.synthetic_census import people
from harness.vocabulary.errors import InputError
from oracles.reference import Laplace, Mondrian

QUASI = {
    "age": "number",
    "education": "category",
    "marital_status": "category",
    "hours_per_week": "number",
    "region": "category",
}
FIVE = pd.DataFrame(
    {
        "age": [28, 36, 47, 53, 72],
        "gender": ["M", "M", "F", "M", "F"],
        "disease": ["Flu", "Flu", "Cancer", "Flu", "Flu"],
    }
)  # Table 1a of v2
FEWEST = 20  # people: fewer cannot be hidden in groups of five
HOW_TO_READ = """
  How to read this: an adversary predicts each person's occupation from the
  release, once with that person's own record in the data and once without. The
  distance between the two predictions goes from 0 (the record made no
  difference) to 2 (certain of one value, then of another). Half of it is the
  probability that moved: 0.1 is 5 percentage points.
  VIOLATED      somebody is proven to reach 0.1: the person with that row label
  HOLDS         everybody was examined, and nobody reaches 0.1
  INCONCLUSIVE  neither is proven; the report then says what is missing
  More: harness explain distance, harness explain HOLDS"""


def five_people() -> Report:
    """The worked example of the paper: 2-anonymity, relative frequencies; distances 1, 1, 2/3, 1/3, 1/3."""
    return audit(
        Mondrian(k=2, cells="regions"), FIVE, quasi={"age": "number", "gender": "category"}, sensitive="disease",
        epsilon=0.5, model="conditional",
    )  # fmt: skip


def comparison(count: int, seed: int) -> dict[str, Report]:
    """The same invented people behind three anonymizers, judged by the same claim."""
    table = people(count, seed)
    coarse = table.assign(age=table["age"] // 20 * 20, hours_per_week=table["hours_per_week"] // 20 * 20)
    tried: dict[str, tuple[Any, pd.DataFrame]] = {
        "Mondrian, k = 5": (Mondrian(k=5), table),
        "Mondrian, ℓ = 3": (Mondrian(k=1, l=3), table),
        "Laplace, noise_epsilon = 0.1": (Laplace(noise_epsilon=0.1), coarse),
    }
    return {
        name: audit(oracle, data, quasi=QUASI, sensitive="occupation", epsilon=0.1, seed=seed)
        for name, (oracle, data) in tried.items()
    }


def show(say: Callable[[str], None], count: int = 1000, seed: int = 1) -> dict[str, Report]:
    """Both parts, and how to read them, line by line through `say`."""
    if count < FEWEST:
        raise InputError(f"--people must be at least {FEWEST}: fewer people cannot be anonymized")
    five = five_people()
    say("Five people behind an anonymizer that puts at least two in a group\n")
    say(five.summary().rpartition("\n\n")[0])  # without what to do next: there is no folder of this audit
    reports = comparison(count, seed)
    say(f"\n\n{count:,} invented people, three anonymizers, one claim: all distances are below 0.1\n")
    say(f"  {'':<39}largest distance")
    say(f"  {'anonymizer':<28} {'verdict':<9} {'at least':>9} {'at most':>8} {'mean':>8} {'row label':>10}")
    for name, report in reports.items():
        numbers = report.statistics()
        say(
            f"  {name:<28} {report.verdict.outcome.name:<9} {report.verdict.at_least:>9.4g} "
            f"{report.verdict.at_most:>8.4g} {numbers['mean']:>8.4g} {report.verdict.rows[0]:>10}"
        )
    say("")
    for name, report in reports.items():
        say("\n".join(wrapped(f"  {name}: {report.verdict}", "    ")))
    say(HOW_TO_READ)
    return {"Table 1": five, **reports}
