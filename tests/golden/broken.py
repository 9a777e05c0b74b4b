"""Anonymizers that fail in the ways real ones do."""

import sys

import numpy as np
import pandas as pd


def raises(data: pd.DataFrame) -> pd.DataFrame:
    return data["no such column"].to_frame()


def nothing(data: pd.DataFrame) -> None:
    data["age"] = "*"


def others(data: pd.DataFrame) -> pd.DataFrame:
    return data.rename(columns={"gender": "sex"})


def harmless(data: pd.DataFrame) -> pd.DataFrame:
    return data[["age", "gender"]]


def mumbling(data: pd.DataFrame) -> pd.DataFrame:
    return data.assign(age=["young" if age < 40 else "old" for age in data["age"]])


def averaging(data: pd.DataFrame) -> pd.DataFrame:
    return data.assign(age=data["age"].mean())


def leaving(data: pd.DataFrame) -> pd.DataFrame:
    sys.exit(0)


def doubling(data: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([data, data[["age"]]], axis=1)


async def later(data: pd.DataFrame) -> pd.DataFrame:
    return data


def array(data: pd.DataFrame) -> np.ndarray:
    return np.ones((1, 2))
