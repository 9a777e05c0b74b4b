"""The anonymizers that every transport leads to, as callables; `python filters.py NAME` speaks frames."""

import pickle
import sys
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.oracle import Ask, Card, Oracle
from harness.vocabulary.release import Predictions
from harness.vocabulary.schema import Schema
from oracles.clients.local import Local
from oracles.reference import Greedy, Laplace, Mondrian
from oracles.serve.stdio import serve
from tests.oracles import csvfilter

PREDICTING = "known"
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
    return pd.DataFrame(csvfilter.decades(frame.to_dict("records")))


def noisy(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    return pd.DataFrame(csvfilter.noisy(frame.to_dict("records"), seed))


def travelled(oracle: Oracle) -> Oracle:
    """The oracle as a worker process would get it."""
    copy: Oracle = pickle.loads(pickle.dumps(oracle))  # noqa: S301
    return copy


class Known:
    """Predicts from a count and its seed, and cannot bear one number: an oracle whose releases are predictions."""

    card = Card("known", releases="predictions", randomized=True, seedable=True)

    def answer(self, ask: Ask) -> Iterator[Predictions]:
        assert ask.about is not None
        if 666.0 in ask.about:
            raise ValueError("the number of the beast")
        values = len(ask.data.sensitive_domain)
        counts = np.bincount(ask.table.column("illness").canonical().codes, minlength=values)[:values]
        yield Predictions(ask.rng().dirichlet(counts + ask.about[0], size=ask.draws))

    def close(self) -> None:
        pass


FUNCTIONS: dict[str, Callable[..., pd.DataFrame]] = {"decades": decades, "noisy": noisy}
REFERENCE: dict[str, Callable[[], Oracle]] = {
    "mondrian": lambda: Mondrian(k=3),
    "infeasible": lambda: Mondrian(k=1000, infeasible="generalise"),
    "greedy": lambda: Greedy(k=3),
    "proportional": lambda: Mondrian(k=3, proportional=True),
    "proportional-greedy": lambda: Greedy(k=3, proportional=True),
    "laplace": lambda: Laplace(noise_epsilon=0.7),
}


def named(name: str) -> Oracle:
    if name in REFERENCE:
        return REFERENCE[name]()
    return Known() if name == PREDICTING else Local(FUNCTIONS[name])


if __name__ == "__main__":
    serve(named(sys.argv[1]))
