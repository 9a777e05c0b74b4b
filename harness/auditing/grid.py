"""The ε of the (ε, δ) curve: a rising grid up to a distance's reach, dense where claims live."""

from __future__ import annotations

from harness.measuring.divergence import Divergence, reach

SHARES = tuple(round(10 ** (-4 + step / 4), 6) for step in range(17))


def grid(divergence: Divergence) -> tuple[float, ...]:
    """The grid of one distance."""
    return epsilons(reach(divergence))


def epsilons(farthest: float) -> tuple[float, ...]:
    """The grid up to a finite reach."""
    return tuple(share * farthest for share in SHARES)
