"""Two anonymizers in plain Python, as functions of rows and as a CSV filter: `python csvfilter.py NAME [SEED]`."""

import csv
import random
import sys
from collections import Counter
from typing import Any

Rows = list[dict[Any, Any]]


def decades(rows: Rows) -> Rows:
    """Deterministic: ages to decades, weights to tens, a row whose illness is unique is left out."""
    often = Counter(row["illness"] for row in rows)
    kept = [row for row in rows if often[row["illness"]] > 1]
    return [{**row, "age": tens(row["age"]), "weight kg": tens(row["weight kg"])} for row in kept]


def noisy(rows: Rows, seed: int) -> Rows:
    """Randomized and seedable: ages are shifted and then generalised, a third of the rows forget the sex."""
    rng = random.Random(seed)
    released = []
    for row in rows:
        shifted = tens(float(row["age"]) + rng.randint(-3, 3))
        released.append({**row, "age": shifted, "sex": "*" if rng.random() < 1 / 3 else row["sex"]})
    return released


def tens(number: Any) -> str:
    low = int(float(number) // 10 * 10)
    return f"[{low}, {low + 10})"


def main(name: str, seed: str = "0") -> None:
    rows = list(csv.DictReader(sys.stdin))
    released = decades(rows) if name == "decades" else noisy(rows, int(seed))
    writer = csv.DictWriter(sys.stdout, list(rows[0]))
    writer.writeheader()
    writer.writerows(released)


if __name__ == "__main__":
    main(*sys.argv[1:])
