"""The pipeline as the papers ran it: full anonymisation, per-record Python encoding, scikit-learn, one process.

Shares no code with the harness; the tests compare with it, the benchmark races against it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.naive_bayes import BernoulliNB


def covers(cell: object, value: Any) -> bool:
    """TF-TF for the notations of the anonymizers below: ranges `[20, 30]` or `20~30`, sets `{a,b}` or `a~b`, `*`."""
    text = str(cell)
    if text == "*":
        return True
    if isinstance(value, str):
        return value in [part.strip().strip("'\"") for part in text.strip("{}").replace("~", ",").split(",")]
    ends = [float(end) for end in text.strip("[]").replace("~", ",").split(",")]
    return ends[0] <= float(value) <= ends[-1]


def predict(
    release: pd.DataFrame, target: tuple[Any, ...], quasi: list[str], sensitive: str, domain: list[str]
) -> np.ndarray:
    """The probability of each sensitive value, with the record's own quasi-identifiers as the target."""
    bits = [
        [int(covers(cell, value)) for cell, value in zip(row, target, strict=True)]
        for row in release[quasi].itertuples(index=False)
    ]
    return _predict(np.array(bits), release[sensitive], domain)


def predict_by_distinct_cells(
    release: pd.DataFrame, target: tuple[Any, ...], quasi: list[str], sensitive: str, domain: list[str]
) -> np.ndarray:
    """The same with each distinct cell of a column parsed once: what a careful author of a naive pipeline would do."""
    bits = np.empty((len(release), len(quasi)), dtype=np.int64)
    for place, (name, value) in enumerate(zip(quasi, target, strict=True)):
        codes, cells = pd.factorize(release[name])
        bits[:, place] = np.array([covers(cell, value) for cell in cells])[codes]
    return _predict(bits, release[sensitive], domain)


def _predict(bits: np.ndarray, labels: pd.Series[Any], domain: list[str]) -> np.ndarray:
    model = BernoulliNB().fit(bits, labels.to_numpy(dtype=object))
    aligned = dict(zip(model.classes_, model.predict_proba(np.ones((1, bits.shape[1])))[0], strict=True))
    return np.array([aligned.get(value, 0.0) for value in domain])


def distance(
    f: Callable[[pd.DataFrame], pd.DataFrame], data: pd.DataFrame, index: int, quasi: list[str], sensitive: str
) -> float:
    """dⁱ = Σⱼ|pⱼ − p⁻ⱼ| for a deterministic f (v2 §3.2)."""
    domain = sorted(data[sensitive].unique())
    target = tuple(data.iloc[index][quasi])
    present = predict(f(data.copy()), target, quasi, sensitive, domain)
    absent = predict(f(data.drop(data.index[index]).reset_index(drop=True)), target, quasi, sensitive, domain)
    return float(np.abs(present - absent).sum())
