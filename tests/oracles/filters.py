"""Anonymizers that every door leads to: callables, and the same as a CSV filter `python filters.py NAME [SEED]`."""

import pickle
import sys

import numpy as np
import pandas as pd

from harness.dataset import Dataset
from harness.schema import Schema
from harness.oracle import Oracle

QUASI = {"age": "number", "sex": "category", "weight kg": "number"}


def people(rows: int = 24) -> pd.DataFrame:
    """Invented people with every kind of cell: whole numbers, fractions, text with commas, quotes and umlauts."""
    rng = np.random.default_rng(7)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, rows),
            "sex": rng.choice(["female", "male"], rows),
            "weight kg": rng.integers(400, 1200, rows) / 10,
            "illness": rng.choice(["flu", "none", 'ague, "tertian"', "Brüche"], rows),
        }
    )


def dataset(rows: int = 24) -> Dataset:
    return Dataset.from_frame(people(rows), Schema(QUASI, "illness"))


def decades(frame: pd.DataFrame) -> pd.DataFrame:
    """Deterministic: ages to decades, weights to tens, a rare illness pulls its row out."""
    frame = frame.assign(age=_tens(frame["age"]), **{"weight kg": _tens(frame["weight kg"])})
    often = frame["illness"].map(frame["illness"].value_counts()) > 1
    return frame[often].reset_index(drop=True)


def noisy(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Randomized and seedable: a third of the rows forget the sex, all of them shift their age."""
    rng = np.random.default_rng(seed)
    hidden = rng.random(len(frame)) < 1 / 3
    shifted = frame["age"] + rng.integers(-3, 4, len(frame))
    return frame.assign(age=_tens(shifted), sex=frame["sex"].where(~hidden, "*"))


def travelled(oracle: Oracle) -> Oracle:
    """The oracle as a worker process would get it."""
    copy: Oracle = pickle.loads(pickle.dumps(oracle))  # noqa: S301
    return copy


def _tens(numbers: pd.Series) -> list[str]:
    return [f"[{int(low)}, {int(low) + 10})" for low in np.floor(numbers / 10) * 10]


def main(name: str, seed: str = "") -> None:
    frame = pd.read_csv(sys.stdin)
    released = decades(frame) if name == "decades" else noisy(frame, int(seed))
    released.to_csv(sys.stdout, index=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
