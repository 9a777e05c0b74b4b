"""Proportional Representation §IV (Viton et al. 2021): how useful a k-anonymous table is in four representations.

A network of 5 and 2 units learns to predict the income of Adult from two thirds of a table, and is tested on the other
third of a table that the greedy algorithm made k-anonymous (Figures 3 and 4). It learns from the table itself (k = 1)
or from a 100-anonymous one, in one representation, and reads the tested table in each of the four. Scores are areas
under the ROC curve, as means over seeds of the network.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import harness
from oracles.reference import Greedy, proportional

REPRESENTATIONS = ("proportional", "fill-parent", "one-class", "fill-child")  # in the order of the text's legend
QUASI = ("age", "sex", "race", "marital-status", "education", "native-country", "workclass", "occupation")
SENSITIVE = "income"
LEARNT_AT = 100  # k of the table that Figure 4's networks learn from
TEST_SHARE = 1 / 3


@dataclass(frozen=True)
class RepresentationResult:
    """One point of a figure."""

    learnt_k: int
    learnt: str  # representation that the network learns from
    k: int
    tested: str  # representation of the tested table
    auc: float  # mean over the seeds
    deviation: float


def compare_representations(
    people: pd.DataFrame, trees: Path, ks: Sequence[int], seeds: int
) -> list[RepresentationResult]:
    """All points of both figures, on these records; `trees` is the folder of Adult's hierarchies."""
    frame = people.reset_index(drop=True)
    schema = harness.Schema({name: {"hierarchy": str(trees / f"adult-{name}.csv")} for name in QUASI}, SENSITIVE)
    tables = {k: dict(_represented(frame, schema, k)) for k in sorted({1, LEARNT_AT, *ks})}
    rich = (frame[SENSITIVE] == sorted(frame[SENSITIVE].unique())[-1]).to_numpy()
    test = np.random.default_rng(0).permutation(len(frame)) < TEST_SHARE * len(frame)
    learnt_from = [(1, "fill-parent"), *((LEARNT_AT, name) for name in REPRESENTATIONS)]
    found = []
    for learnt_k, learnt in learnt_from:
        networks = [_trained(tables[learnt_k][learnt][~test], rich[~test], seed) for seed in range(seeds)]
        for k in ks:
            for tested in REPRESENTATIONS:
                scores = [_auc(network, tables[k][tested][test], rich[test]) for network in networks]
                found.append(
                    RepresentationResult(learnt_k, learnt, k, tested, float(np.mean(scores)), float(np.std(scores)))
                )
    return found


def _represented(frame: pd.DataFrame, schema: harness.Schema, k: int) -> Iterator[tuple[str, np.ndarray]]:
    """A table with classes of k in every representation, a row of features per record."""
    plain = Greedy(k=k).anonymize(frame, schema)
    shared = proportional(frame, plain, schema)
    target = frame.iloc[0].to_dict()  # whoever it is: these representations do not depend on it
    for name in REPRESENTATIONS:
        release = shared if name == "proportional" else plain
        yield name, harness.encode(release, target, data=frame, schema=schema, encoding=name)[0]


def _trained(features: np.ndarray, labels: np.ndarray, seed: int):  # type: ignore[no-untyped-def]  # a network
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    network = MLPClassifier((5, 2), batch_size=min(200, len(labels)), max_iter=500, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the text stops after 500 epochs too
        return network.fit(features, labels)


def _auc(network, features: np.ndarray, labels: np.ndarray) -> float:  # type: ignore[no-untyped-def]
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(labels, network.predict_proba(features)[:, 1]))
