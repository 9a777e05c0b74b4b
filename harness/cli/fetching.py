"""The command data: public data sets of the papers, fetched from OpenML by scikit-learn's loader."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from harness.cli import tell
from harness.vocabulary.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

SOURCES = {"adult": ("adult", 2)}  # name and version at OpenML
RENAMED = {"class": "income"}  # as the UCI repository calls it


def data(chosen: argparse.Namespace) -> int:
    """Write a data set as a CSV file."""
    out = chosen.output or Path(f"{chosen.name}.csv")
    frame = complete_records(_fetched(chosen.name, chosen.attempts))
    try:
        frame.to_csv(out, index=False)
    except OSError as error:
        raise InputError(f"{out}: cannot be written: {error.strerror}") from None
    tell(f"{len(frame):,} complete records of {chosen.name} in {out}")
    return 0


def _fetched(name: str, attempts: int) -> pd.DataFrame:
    from sklearn.datasets import fetch_openml

    known, version = SOURCES[name]
    try:
        loaded = fetch_openml(known, version=version, as_frame=True, parser="auto", n_retries=attempts)
    except (OSError, ValueError) as error:  # no network, or no such data set any more
        raise InputError(
            f"{name} cannot be fetched from openml.org: {error}; is there a network? The file of the UCI repository, "
            "with a line of column names, will do as well"
        ) from None
    frame: pd.DataFrame = loaded.frame
    return frame


def complete_records(frame: pd.DataFrame) -> pd.DataFrame:
    """The records without gaps, under the names of the UCI repository."""
    return frame.rename(columns=RENAMED).dropna().reset_index(drop=True)
