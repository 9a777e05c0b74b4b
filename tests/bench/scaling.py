"""How the cost of one record grows: with records, quasi-identifiers, sensitive values and draws. One process."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.oracle import Oracle
from harness.vocabulary.schema import Schema
from oracles.reference import Laplace, Mondrian
from tests.bench.measuring import Section
from tests.bench.people import SECRET, dataset, table
from tests.bench.running import held_work, plan_for


def per_record(data: Dataset, oracle: Oracle, sample: int, draws: int | None = None) -> float:
    """Milliseconds of CPU for one record in the midst of an audit, as a worker examines it."""
    examine, items, _ = held_work(plan_for(data, draws=draws), oracle)
    begin = max(0, (len(items) - 2 * sample) // 2)
    for item in items[begin : begin + sample]:  # the cells and nodes that most records share are known by then
        examine(item)
    chosen = items[begin + sample : begin + 2 * sample] or items[:sample]
    start = time.process_time()
    for item in chosen:
        examine(item)
    return (time.process_time() - start) * 1000 / sum(map(len, chosen))


def records(counts: list[int], sample: int) -> Section:
    """k- and ℓ-Mondrian, and the k-Mondrian without its shortcut for leaving one out."""
    rows: list[dict[str, Any]] = []
    for count in counts:
        data = dataset(count)
        rows.append(
            {
                "records": data.size,
                "k = 5": per_record(data, Mondrian(k=5), sample),
                "l = 5": per_record(data, Mondrian(k=5, l=5), sample),
                "k = 5, no shortcut": per_record(data, Mondrian(k=5, incremental=False), max(sample // 8, 5)),
            }
        )
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
    rows: list[dict[str, Any]] = []
    for many in (2, 14, 100, 500):
        secret = [f"secret {number}" for number in rng.integers(many, size=len(frame))]
        data = Dataset.from_frame(frame.assign(**{SECRET: secret}), Schema(columns, SECRET))
        rows.append({"sensitive values": many, "k = 5": per_record(data, Mondrian(k=5), sample)})
    return Section(f"… by the number of sensitive values ({count} records)", rows)


def draws(count: int, sample: int) -> Section:
    """The Laplace mechanism of v2 §4.2.2, whose papers took 25,000 draws a side."""
    data = dataset(count)
    rows: list[dict[str, Any]] = []
    for many in (100, 1000, 25_000):
        spent = per_record(data, Laplace(noise_epsilon=1.0), max(5, min(sample, 200_000 // many)), many)
        rows.append({"draws": many, "laplace": spent, "microseconds per draw": spent * 1000 / many})
    return Section(f"… by the number of draws a side ({count} records, noise_epsilon = 1)", rows)
