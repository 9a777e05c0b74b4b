"""How often a pair of predictions differs by ε or more (v1, Definition 1); knows the distance of each pair.

T(ε) = Pr[distance ≥ ε] for one record. Of independent pairs it also carries the noise of f itself; of coupled
pairs only what the record changed.
"""

import math
from dataclasses import dataclass

import numpy as np

from harness.bounds import binomial_lower, binomial_upper
from harness.distance import Floats

ROUNDING = 1e-12  # a distance this close below ε counts as ε


@dataclass(frozen=True)
class Limits:
    """An estimate between two confidence limits."""

    value: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Curve:
    """(ε, δ): the share of pairs at or above each ε, and limits that hold for all ε at once."""

    epsilons: tuple[float, ...]
    shares: tuple[float, ...]
    uppers: tuple[float, ...]


def tail(paired: Floats, epsilon: float) -> tuple[int, int]:
    """How many pairs are at or above ε, and of how many."""
    return int(np.count_nonzero(paired >= epsilon - ROUNDING)), len(paired)


def smallest_delta(paired: Floats, epsilon: float, alpha: float) -> Limits:
    """T(ε), with Clopper-Pearson limits at alpha/2 each."""
    count, draws = tail(paired, epsilon)
    lower, upper = binomial_lower(count, draws, alpha / 2), binomial_upper(count, draws, alpha / 2)
    return Limits(count / draws, lower, upper)


def smallest_epsilon(paired: Floats, delta: float, alpha: float, largest: float) -> Limits:
    """The ε beyond which T stays within δ, with limits at alpha/2 each; `largest` is all a pair can differ by.

    Order statistics: if Q is the true one, at most k of the pairs lie at or above Q with no more chance than at
    most k successes at rate δ. The limit is therefore the largest distance but k, for the largest k whose
    Clopper-Pearson limit is within δ; the lower limit mirrors it.
    """
    draws = len(paired)
    falling = np.sort(paired)[::-1]
    within = _first(draws, lambda count: binomial_upper(count, draws, alpha / 2) > delta)
    beyond = _first(draws, lambda count: binomial_lower(count, draws, alpha / 2) > delta)
    allowed = math.floor(delta * draws + ROUNDING)
    return Limits(
        value=float(falling[allowed]) if allowed < draws else 0.0,
        lower=float(falling[beyond - 1]) if 0 < beyond <= draws else 0.0,
        upper=largest if within == 0 else float(falling[within - 1]) if within <= draws else 0.0,
    )
