"""Anonymizers that print, hang, end their process and do worse; asked at `python:` addresses."""

import ctypes
import os
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd

from harness.vocabulary.oracle import Ask, Card
from harness.vocabulary.table import Table

print("printed at import")


def same(data: pd.DataFrame, k: int = 5) -> pd.DataFrame:
    return data


def printing(data: pd.DataFrame) -> pd.DataFrame:
    print("printed to stdout")
    print("printed to stderr", file=sys.stderr)
    os.write(1, b"written to descriptor 1\n")
    subprocess.run(["sh", "-c", "echo echoed by a child"], check=True)
    return data


def exiting(data: pd.DataFrame) -> pd.DataFrame:
    print("printed last")
    os._exit(7)


def exiting_without_the_third(data: pd.DataFrame) -> pd.DataFrame:
    if 22 not in list(data["age"]):
        os._exit(7)
    return data


def exiting_once(data: pd.DataFrame, mark: str) -> pd.DataFrame:
    if not Path(mark).exists():
        Path(mark).touch()
        os._exit(7)
    return data


def reading_nothing(data: pd.DataFrame) -> pd.DataFrame:
    ctypes.string_at(0)
    return data


def hanging(data: pd.DataFrame) -> pd.DataFrame:
    Path("child").write_text(str(os.getpid()))
    while True:
        time.sleep(60)


def raising(data: pd.DataFrame) -> pd.DataFrame:
    raise ValueError(f"no use for the age {data['age'].iloc[0]}")


def interrupting(data: pd.DataFrame) -> pd.DataFrame:
    raise KeyboardInterrupt


def asking_for_input(data: pd.DataFrame) -> pd.DataFrame:
    return data.assign(age=int(input("k? ")))


def timed(data: pd.DataFrame, timeout: int = 3) -> pd.DataFrame:
    return data.assign(age=timeout)


def taking_anything(data: pd.DataFrame, **words: object) -> pd.DataFrame:
    return data


class Failing:
    """An oracle whose card is sound and whose answers are exceptions."""

    def __init__(self, depth: int = 1) -> None:
        self.card = Card("failing", row_order_invariant=True)
        self.depth = depth

    def answer(self, ask: Ask) -> list[Table]:
        raise LookupError(f"nothing at depth {self.depth}")

    def close(self) -> None:
        """Nothing is held open."""


class Tag(str):
    """A text of a class that only this module has."""


def tagging(data: pd.DataFrame) -> pd.DataFrame:
    return data.assign(ill=[Tag(value) for value in data["ill"]])
