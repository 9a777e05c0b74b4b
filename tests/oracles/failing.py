"""Anonymizers that fail on chosen records: a table without one of them raises, hangs, ends its process, is malformed.

A record is chosen by its age: all ages of `people` are different, so that f sees who is left out.
"""

import asyncio
import os
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

PEOPLE = 12
QUASI = {"age": "number"}


def people(rows: int = PEOPLE) -> pd.DataFrame:
    """So many records with ages from 20 on, each another one."""
    illnesses = np.random.default_rng(3).choice(["flu", "ulcer", "none"], rows)
    return pd.DataFrame({"age": [20 + row for row in range(rows)], "ill": illnesses})


def left_out(data: pd.DataFrame) -> int | None:
    """Who is missing, by age; None of a table in which nobody of the first ones is, or that is another one."""
    ages = [int(age) for age in data["age"]]
    missing = sorted(set(range(20, max(ages) + 1)) - set(ages))
    return missing[0] if len(missing) == 1 and len(ages) == len(set(ages)) else None


class ChosenError(Exception):
    pass


class Panic(BaseException):
    """What a library in another language may raise, such as the PanicException of pyo3: no Exception."""


RAISED = {
    "raise": ChosenError("the age of the chosen one is 23"),
    "memory": MemoryError(),
    "cancel": asyncio.CancelledError("the loop is closed"),
    "leave": GeneratorExit(),
    "panic": Panic("called `Option::unwrap()` on a `None` value"),
    "interrupt": KeyboardInterrupt(),
}


def fail(kind: str) -> None:
    """What happens to a question about a chosen record."""
    if kind in RAISED:
        raise RAISED[kind]
    if kind == "exit":
        os._exit(7)
    if kind == "hang":
        time.sleep(3600)


def failing(data: pd.DataFrame, on: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Ages in groups of four; `on` says for which ages (of who is left out) what happens."""
    kind = ({"23": "raise"} if on is None else on).get(str(left_out(data)), "")
    fail(kind)
    if kind == "malformed":
        return data.drop(columns="ill")
    if kind == "array":
        return data.to_numpy()  # type: ignore[return-value]  # no DataFrame
    return data.assign(age=[f"[{age // 4 * 4}, {age // 4 * 4 + 3}]" for age in data["age"]])


def whole(data: pd.DataFrame) -> pd.DataFrame:
    """Ages in groups of four, for everybody."""
    return failing(data, {})


def shaken(data: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Random groups: of three, four or five ages."""
    width = int(rng.integers(3, 6))
    return data.assign(age=[f"[{age // width * width}, {age // width * width + width - 1}]" for age in data["age"]])


def drawn(data: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Random groups; without the record of age 23 it raises at some draws only."""
    if left_out(data) == 23 and rng.random() < 0.5:
        raise ChosenError("by chance")
    return shaken(data, rng)


def until_repaired(data: pd.DataFrame, mark: str) -> pd.DataFrame:
    """Fails on two records until a file is there."""
    return failing(data, {} if Path(mark).exists() else {"23": "raise", "26": "raise"})


def never_without(data: pd.DataFrame) -> pd.DataFrame:
    """Answers f(D) and nothing else."""
    if len(data) == PEOPLE * 3 - 1:
        raise ChosenError("not enough rows")
    return failing(data, {})
