"""Anonymizers of tests of shards: for this process, and at an address for the command."""

import numpy as np
import pandas as pd


def wide(df: pd.DataFrame) -> pd.DataFrame:
    return _in_ranges(df, 10)


def shaken(df: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Ranges whose width the seed says."""
    return _in_ranges(df, int(np.random.default_rng(seed).integers(5, 15)))


class Unsteady:
    """Ranges whose width changes from call to call."""

    calls = 0

    def __call__(self, df: pd.DataFrame) -> pd.DataFrame:
        self.calls += 1
        return _in_ranges(df, 5 + self.calls % 10)


unsteady = Unsteady()


def failing(df: pd.DataFrame) -> pd.DataFrame:
    """Fails without some of the 24 people."""
    if len(df) == 23 and df["age"].sum() % 7 == 0:
        raise ValueError("no")
    return wide(df)


def _in_ranges(df: pd.DataFrame, width: int) -> pd.DataFrame:
    lows = [age // width * width for age in df["age"]]
    return df.assign(age=[f"[{low}, {low + width}]" for low in lows])
