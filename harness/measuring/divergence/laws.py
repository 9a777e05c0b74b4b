"""The total variation between the laws of each confidence, summed: what v2 calls total variation (§3.2).

It asks whether a confidence changed at all, not by how much: of a deterministic anonymizer it is the number of
values whose confidence changed. Two sets of draws of continuous laws share no point, so the plug-in is then n
whatever the truth; it is shown, and nothing is proven from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.measuring.divergence.interface import Proof
from harness.measuring.samples import Floats, Samples, same_draws, same_values

ROUNDING = 1e-12  # confidences this close are the same


@dataclass(frozen=True)
class TotalVariationOfLaws:
    """Σⱼ of the total variation between the laws of the confidence in value j, with and without the record."""

    largest: float  # n
    name: str = "total-variation-of-laws"
    describes: str = (
        "total variation between the laws of each sensitive value's confidence, summed over the values, which v2 §3.2 "
        "calls total variation; for a deterministic anonymizer the number of values whose confidence changed at all"
    )
    proves: Proof = "nothing"

    def between(self, p: Floats, q: Floats) -> float:
        """How many confidences differ."""
        return float(np.count_nonzero(np.abs(np.asarray(p) - np.asarray(q)) > ROUNDING))

    def paired(self, x: Samples, y: Samples) -> Floats:
        """How many confidences differ in each pair of draws.  # [draws]"""
        x, y = same_draws(x, y)
        changed: Floats = (np.abs(x.draws - y.draws) > ROUNDING).sum(axis=1).astype(np.float64)
        return changed

    def per_value(self, x: Samples, y: Samples) -> Floats:
        """The total variation of the two empirical laws of each value.  # [n]"""
        x, y = same_values(x, y)
        return np.array([_apart(a, b) for a, b in zip(x.columns, y.columns, strict=True)])

    def upper(self, x: Samples, y: Samples, plug_in: float, alpha: float, *, coupled: bool) -> float:
        """Nothing is proven."""
        return self.largest

    def interval(
        self, x: Samples, y: Samples, plug_in: float, alpha: float, *, coupled: bool, lower_from: float
    ) -> tuple[float, float]:
        """Nothing is proven."""
        return 0.0, self.largest

    def spec(self) -> dict[str, Any]:
        """The name."""
        return {"name": self.name}


def _apart(x: Floats, y: Floats) -> float:
    """½ Σ |share in x − share in y| over the points that occur."""
    pooled = np.concatenate([x, y])
    order = np.argsort(pooled)
    points = np.cumsum(np.diff(pooled[order], prepend=pooled[order[0]]) > ROUNDING)
    shares = np.concatenate([np.full(len(x), 1 / len(x)), np.full(len(y), -1 / len(y))])
    return float(np.abs(np.bincount(points, shares[order])).sum()) / 2
