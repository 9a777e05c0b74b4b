"""Functions that wait: for a time, as one does that asks a database; or for each other."""

import threading
import time

import pandas as pd

_together = threading.Barrier(32)


def waiting(data: pd.DataFrame, seconds: float = 0.05) -> pd.DataFrame:
    time.sleep(seconds)
    return data


def meeting(data: pd.DataFrame) -> pd.DataFrame:
    """Every call waits until 32 are under way."""
    _together.wait(60.0)
    return data
