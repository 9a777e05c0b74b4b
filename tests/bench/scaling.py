"""How the cost of one record grows: with records, quasi-identifiers, sensitive values and draws. One process."""

import numpy as np
import pandas as pd

from harness.synthetic_census import people
from harness.vocabulary.dataset import Dataset, Schema
from oracles.reference import Laplace, Mondrian
from tests.bench.measuring import Section, per_record
from tests.data import ADULT, PEOPLE, adult, folder

MORE = {"workclass": "category", "relationship": "category", "race": "category", "sex": "category"}


def table(count: int, extra: int = 0) -> tuple[pd.DataFrame, dict[str, str]]:
    """So many records of Adult where it is at hand, else invented people; with further quasi-identifiers."""
    if folder() is not None:
        chosen = ADULT | dict(list(MORE.items())[:extra])
        return adult(min(count, 30_162)), chosen
    frame = people(count)
    more = {f"answer {number}": "category" for number in range(extra)}
    rng = np.random.default_rng(0)
    return frame.assign(**{name: rng.choice(["yes", "no", "maybe"], count) for name in more}), PEOPLE | more


def dataset(count: int, quasi: int = 5) -> Dataset:
    frame, columns = table(count, max(0, quasi - 5))
    return Dataset.from_frame(frame, Schema(dict(list(columns.items())[:quasi]), "occupation"))


def records(counts: list[int], sample: int) -> Section:
    """k- and ℓ-Mondrian, and the k-Mondrian that is told nothing of leaving one out."""
    rows = []
    for count in counts:
        data = dataset(count)
        row = {"records": data.size}
        row["k = 5"] = per_record(data, Mondrian(k=5), sample)
        row["l = 5"] = per_record(data, Mondrian(k=5, l=5), sample)
        row["k = 5, no tricks"] = per_record(data, Mondrian(k=5, incremental=False), max(sample // 8, 5))
        rows.append(row)
    growth = [
        f"{name}: × {rows[-1][name] / rows[0][name]:.1f} for × {rows[-1]['records'] / rows[0]['records']:.0f} records"
        for name in rows[0]
        if name != "records"
    ]
    return Section("Milliseconds of CPU per record, by the number of records", rows, growth)


def quasi_identifiers(count: int, sample: int) -> Section:
    rows = [
        {"quasi-identifiers": many, "k = 5": per_record(dataset(count, many), Mondrian(k=5), sample)}
        for many in (1, 2, 3, 5, 7, 9)
    ]
    return Section(f"… by the number of quasi-identifiers ({count} records)", rows)


def sensitive_values(count: int, sample: int) -> Section:
    frame, columns = table(count)
    rng = np.random.default_rng(0)
    rows = []
    for many in (2, 14, 100, 500):
        secret = [f"secret {number}" for number in rng.integers(many, size=len(frame))]
        data = Dataset.from_frame(frame.assign(occupation=secret), Schema(columns, "occupation"))
        rows.append({"sensitive values": many, "k = 5": per_record(data, Mondrian(k=5), sample)})
    return Section(f"… by the number of sensitive values ({count} records)", rows)


def draws(count: int, sample: int) -> Section:
    """The Laplace mechanism of v2 §4.2.2, whose papers took 25,000 draws a side."""
    data = dataset(count)
    rows = []
    for many in (100, 1000, 25_000):
        spent = per_record(data, Laplace(noise_epsilon=1.0), max(5, min(sample, 200_000 // many)), many)
        rows.append({"draws": many, "laplace": spent, "microseconds per draw": spent * 1000 / many})
    return Section(f"… by the number of draws a side ({count} records, noise_epsilon = 1)", rows)
