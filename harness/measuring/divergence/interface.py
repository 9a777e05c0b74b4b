"""The interface of every divergence, built in or a user's own. Knows samples, never where they come from.

A divergence says how far the prediction with a person's record lies from the one without it. What it means for a
randomized anonymizer when the claim has δ = 0 is part of each divergence: either a distance between the laws of the
predictions (the family of sums) or the divergence of the expected predictions (all others). With δ > 0 every
divergence is judged on pairs of draws (`paired`), which is honest for all of them.
"""

from __future__ import annotations

import math
from typing import Any, Literal, Protocol

from harness.measuring.samples import Floats, Samples

Proof = Literal["both", "upper", "nothing"]

LONGEST_CURVE = 20.0  # nats: where (ε, δ) curves of a divergence without a largest value end


class Divergence(Protocol):
    """How far apart two predictions lie."""

    @property
    def name(self) -> str: ...

    @property
    def describes(self) -> str:
        """One plain sentence that is printed beside the number."""

    @property
    def largest(self) -> float:
        """The distance of the two most different predictions; may be infinite."""

    @property
    def proves(self) -> Proof:
        """What the limits of `interval` can prove about a randomized record when δ = 0.

        "both": that a claim holds and that it is violated. "upper": only that it holds. "nothing": neither.
        """

    def between(self, p: Floats, q: Floats) -> float:
        """The distance of two points of the simplex: present p, absent q.  # [n] twice"""

    def paired(self, x: Samples, y: Samples) -> Floats:
        """The distance of each pair of draws.  # [draws]"""

    def per_value(self, x: Samples, y: Samples) -> Floats:
        """Contributions ≥ 0 that sum to the plug-in distance; one entry if it does not split."""

    def upper(self, x: Samples, y: Samples, plug_in: float, alpha: float, *, coupled: bool) -> float:
        """The true distance is at most this, except with probability alpha: all of it is spent on this end.

        Nothing proven is `largest`.
        """

    def interval(
        self, x: Samples, y: Samples, plug_in: float, alpha: float, *, coupled: bool, lower_from: float
    ) -> tuple[float, float]:
        """Limits between which the true distance lies, except with probability alpha: half of it for either end.

        Its upper end is `upper` at alpha/2. Nothing proven is 0 below and `largest` above. A plug-in below `lower_from`
        may be given the lower limit 0, which is true and costs nothing.
        """

    def spec(self) -> dict[str, Any]:
        """Every parameter as plain data."""


def reach(divergence: Divergence) -> float:
    """How far (ε, δ) curves of the divergence are drawn: a finite number."""
    return divergence.largest if math.isfinite(divergence.largest) else LONGEST_CURVE


def upper_of(divergence: Divergence, x: Samples, y: Samples, plug_in: float, alpha: float, *, coupled: bool) -> float:
    """The upper limit of the distance at level alpha, from a divergence of before there was `upper` too."""
    if hasattr(divergence, "upper"):
        return divergence.upper(x, y, plug_in, alpha, coupled=coupled)
    if alpha >= 0.5:
        return divergence.largest
    return divergence.interval(x, y, plug_in, 2 * alpha, coupled=coupled, lower_from=math.inf)[1]
