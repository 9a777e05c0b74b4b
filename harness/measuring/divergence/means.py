"""Divergences of expected predictions: Kullback-Leibler, max divergence, Hellinger, Jensen-Shannon; a user's own.

For a randomized anonymizer the number is D(E M, E M⁻ⁱ), and the plug-in is D of the means of the draws.

Each built-in divergence is put together from one term per sensitive value, t(pⱼ, qⱼ), which is 0 where p = q and
grows as the two move apart. Its limits are the best of

- boxes: confidence limits of all 2n expected confidences at once. The terms at the far corners of the boxes give an
  upper limit, those at the near corners a lower one. The upper limits of Kullback-Leibler and max divergence are
  infinite as long as a confidence without the record is not known to be positive;
- pairs: Dᵏ(E X, E Y) ≤ E Dᵏ(X, Y) for every coupling where Dᵏ is jointly convex (k = 2 for Hellinger, else 1), so
  that a bound on a mean gives an upper limit where D is bounded. Coupled pairs differ by little more than what the
  record changed, hence this limit is the sharper one for them;
- tangents: a term that is convex and grows in proportion to (p, q) lies above its tangent at every (p₀, q₀), so that
  u·E X + v·E Y ≤ Dᵏ(E X, E Y) for the slopes u, v there. With p₀, q₀ from the first draws, a bound on the mean of
  u·x + v·y over the others gives a lower limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from harness.measuring import bounds, special
from harness.measuring.divergence.foreign import guarded
from harness.measuring.divergence.interface import Proof
from harness.measuring.samples import Floats, Samples, on_simplex, same_draws, same_values
from harness.vocabulary.plain_numbers import plain_number

BOXES, OTHERS = 0.5, 0.5  # how the error level of one end is shared; others: pairs above, tangents below


def mean_predictions(x: Samples, y: Samples) -> tuple[Floats, Floats]:
    """The mean prediction of each side, a point of the simplex.  # [n] twice"""
    x, y = same_values(x, y)
    return x.normalised.mean(axis=0), y.normalised.mean(axis=0)


Terms = Callable[[Floats, Floats], Floats]  # confidences of both sides to terms, value by value  # [..., n]
Slopes = Callable[[Floats, Floats], tuple[Floats, Floats]]  # of the terms at p, q > 0, by p and by q  # [n] twice
Combine = Callable[[Floats], Floats]  # terms to the divergence, which grows with each of them  # [..., n] -> [...]


@dataclass(frozen=True)
class ByValue:
    """A divergence that is put together from one term per sensitive value."""

    name: str
    describes: str
    largest: float
    terms: Terms
    combine: Combine
    slopes: Slopes | None = None  # None if the terms are not jointly convex
    convex_power: int = 1  # the k whose Dᵏ is the sum of the terms

    proves: Proof = field(default="both", init=False)

    def between(self, p: Floats, q: Floats) -> float:
        """The divergence of two points of the simplex."""
        return float(self._of(on_simplex(np.asarray(p)), on_simplex(np.asarray(q))))

    def paired(self, x: Samples, y: Samples) -> Floats:
        """The divergence of each pair of draws.  # [draws]"""
        x, y = same_draws(x, y)
        return self._of(x.normalised, y.normalised)

    def per_value(self, x: Samples, y: Samples) -> Floats:
        """The term of each value at the means if the divergence is their sum, else the divergence of the means."""
        means = mean_predictions(x, y)
        return self.terms(*means) if self.combine is _sum else np.array([self._of(*means)])

    def interval(
        self, x: Samples, y: Samples, plug_in: float, alpha: float, *, coupled: bool, lower_from: float
    ) -> tuple[float, float]:
        """Limits from boxes, and from pairs and tangents where the terms are convex; half of alpha for either end."""
        low, high = self._limits_of_boxes(x, y, self._share_of_boxes * alpha / 2)
        if self.slopes is not None:
            high = min(high, self._upper_of_pairs(x, y, OTHERS * alpha / 2))
            low = max(low, 0.0 if plug_in < lower_from else self._lower_of_tangents(x, y, OTHERS * alpha / 2))
        return 0.0 if plug_in < lower_from else min(low, high), high

    def upper(self, x: Samples, y: Samples, plug_in: float, alpha: float, *, coupled: bool) -> float:
        """An upper limit from boxes, and from pairs where the terms are convex, at level alpha."""
        _, high = self._limits_of_boxes(x, y, self._share_of_boxes * alpha)
        return high if self.slopes is None else min(high, self._upper_of_pairs(x, y, OTHERS * alpha))

    @property
    def _share_of_boxes(self) -> float:
        return 1.0 if self.slopes is None else BOXES

    def _of(self, p: Floats, q: Floats) -> Floats:
        return np.clip(self.combine(self.terms(p, q)), 0.0, self.largest)  # no more than rounding

    def _limits_of_boxes(self, x: Samples, y: Samples, alpha: float) -> tuple[float, float]:
        """The least and the largest divergence of expected predictions in boxes that miss them with chance alpha."""
        (low_p, high_p), (low_q, high_q) = (
            bounds.mean_limits(np.ascontiguousarray(side.normalised.T), alpha / 2) for side in (x, y)
        )
        rises, falls = low_p > high_q, high_p < low_q
        nearest = np.where(rises, self.terms(low_p, high_q), np.where(falls, self.terms(high_p, low_q), 0.0))
        farthest = np.maximum(self.terms(high_p, low_q), self.terms(low_p, high_q))
        low, high = np.clip([self.combine(nearest), self.combine(farthest)], 0.0, self.largest)
        return float(low), float(high)

    def _upper_of_pairs(self, x: Samples, y: Samples, alpha: float) -> float:
        if math.isinf(self.largest):
            return math.inf
        draws = min(len(x), len(y))
        powers = self._of(x.normalised[:draws], y.normalised[:draws]) ** self.convex_power
        mean = bounds.mean_at_most(powers, alpha, span=self.largest**self.convex_power)
        return float(mean ** (1 / self.convex_power))

    def _lower_of_tangents(self, x: Samples, y: Samples, alpha: float) -> float:
        draws = min(len(x), len(y))
        left, right = (np.ascontiguousarray(side.normalised[:draws].T) for side in (x, y))
        mean = bounds.lower_by_potential(left, right, alpha, 1.0, self._tangent)
        return float(min(mean ** (1 / self.convex_power), self.largest))

    def _tangent(self, x: Floats, y: Floats, price: float) -> bounds.LinearPotential:
        """The tangent at the means of these draws, half a draw of each value added so that none is 0."""
        assert self.slopes is not None
        p, q = ((side.sum(axis=1) + 0.5) / (side.shape[1] + len(side) / 2) for side in (x, y))
        return bounds.LinearPotential(*self.slopes(p, q))

    def spec(self) -> dict[str, Any]:
        """The name, which stands for the formula."""
        return {"name": self.name}


Formula = Callable[[Floats, Floats], float]  # of two points of the simplex  # [n] twice


@dataclass(frozen=True)
class FromFormula:
    """A user's own divergence from its formula for two points of the simplex.

    At δ = 0 it proves nothing, unless the formula is declared jointly convex and has a largest value: then pairs
    prove upper limits. With δ > 0 it is judged by its pairs as every other.
    """

    name: str
    describes: str
    formula: Formula
    largest: float = math.inf
    jointly_convex: bool = False

    @property
    def proves(self) -> Proof:
        return "upper" if self.jointly_convex and math.isfinite(self.largest) else "nothing"

    def _apply(self, p: Floats, q: Floats) -> float:
        with guarded(self.name):
            return float(self.formula(p, q))

    def between(self, p: Floats, q: Floats) -> float:
        """The divergence of two points of the simplex."""
        return self._apply(on_simplex(np.asarray(p)), on_simplex(np.asarray(q)))

    def paired(self, x: Samples, y: Samples) -> Floats:
        """The divergence of each pair of draws.  # [draws]"""
        x, y = same_draws(x, y)
        return np.array([self._apply(p, q) for p, q in zip(x.normalised, y.normalised, strict=True)])

    def per_value(self, x: Samples, y: Samples) -> Floats:
        """The divergence of the means, in one piece.  # [1]"""
        return np.array([self.between(*mean_predictions(x, y))])

    def upper(self, x: Samples, y: Samples, plug_in: float, alpha: float, *, coupled: bool) -> float:
        """An upper limit from pairs if the formula allows it, otherwise nothing."""
        if self.proves == "nothing":
            return self.largest
        pairs = zip(x.normalised, y.normalised, strict=False)
        moved = np.array([self._apply(p, q) for p, q in pairs])
        return bounds.mean_at_most(np.clip(moved, 0.0, self.largest), alpha, span=self.largest)

    def interval(
        self, x: Samples, y: Samples, plug_in: float, alpha: float, *, coupled: bool, lower_from: float
    ) -> tuple[float, float]:
        """An upper limit at alpha/2 if the formula allows it, and never a lower one."""
        return 0.0, self.upper(x, y, plug_in, alpha / 2, coupled=coupled)

    def spec(self) -> dict[str, Any]:
        """The name, where the formula is found, and what was declared of it."""
        formula = f"{self.formula.__module__}:{self.formula.__qualname__}"
        largest = plain_number(self.largest)
        return {"name": self.name, "formula": formula, "largest": largest, "jointly_convex": self.jointly_convex}


def _relative_entropy(p: Floats, q: Floats) -> Floats:
    """p ln(p/q) − p + q ≥ 0, whose sum is that of p ln(p/q) as both sides sum to 1; infinite where p > 0 = q."""
    terms: Floats = np.maximum(special.kl_div(p, q), 0.0)  # no more than rounding
    return terms


def _slopes_of_relative_entropy(p: Floats, q: Floats) -> tuple[Floats, Floats]:
    return np.log(p / q), 1 - p / q


def _jensen_shannon(p: Floats, q: Floats) -> Floats:
    middle = (p + q) / 2
    terms: Floats = (_relative_entropy(p, middle) + _relative_entropy(q, middle)) / 2
    return terms


def _slopes_of_jensen_shannon(p: Floats, q: Floats) -> tuple[Floats, Floats]:
    middle = (p + q) / 2
    return np.log(p / middle) / 2, np.log(q / middle) / 2


def _hellinger(p: Floats, q: Floats) -> Floats:
    terms: Floats = np.square(np.sqrt(p) - np.sqrt(q)) / 2
    return terms


def _slopes_of_hellinger(p: Floats, q: Floats) -> tuple[Floats, Floats]:
    return (1 - np.sqrt(q / p)) / 2, (1 - np.sqrt(p / q)) / 2


def _log_ratio(p: Floats, q: Floats) -> Floats:
    """ln(p/q); a value that is impossible with the record says nothing, and has −∞."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(p > 0, np.log(p) - np.log(q), -np.inf)


def _sum(terms: Floats) -> Floats:
    return np.asarray(terms.sum(axis=-1))


def _root_of_sum(terms: Floats) -> Floats:
    root: Floats = np.sqrt(_sum(terms))
    return root


def _maximum(terms: Floats) -> Floats:
    return np.asarray(terms.max(axis=-1))


KL = ByValue(
    "kl",
    "Kullback-Leibler divergence of the expected prediction with the record from the one without it, in nats "
    "(v1, footnote 9); infinite where a value is possible only with the record",
    math.inf, _relative_entropy, _sum, _slopes_of_relative_entropy,
)  # fmt: skip
MAX_DIVERGENCE = ByValue(
    "max-divergence",
    "largest ln(p/q) over the sensitive values, p and q being the expected confidence with and without the record, in "
    "nats (v1 §2.2); of the record's presence from its absence only, where differential privacy bounds both ways; "
    "infinite where a value is possible only with the record",
    math.inf, _log_ratio, _maximum,
)  # fmt: skip
HELLINGER = ByValue(
    "hellinger",
    "Hellinger distance of the expected predictions, √(½ Σ (√p − √q)²), from 0 to 1",
    1.0, _hellinger, _root_of_sum, _slopes_of_hellinger, convex_power=2,
)  # fmt: skip
JENSEN_SHANNON = ByValue(
    "jensen-shannon",
    "Jensen-Shannon divergence of the expected predictions in nats, from 0 to ln 2; the divergence, not its root",
    math.log(2), _jensen_shannon, _sum, _slopes_of_jensen_shannon,
)  # fmt: skip
