"""Whether draws that should be independent are copies of each other; knows their order and which of them are equal.

Draws that are independent, with whatever law, are exchangeable: once it is known which values there are and how often
each, every order of them is equally likely. So the next draw equals the one `lag` places before it with the share
that this value has of all draws still to come. Against that, bet that it is a copy: with θ the probability of a copy
and q that share, an equal draw multiplies the capital by (θ + (1 − θ) q) / q and any other by 1 − θ, which is 1 on
average. By Markov's inequality a capital of C is reached with probability at most 1/C. The capital is shared between
the lags 1, 2, 3, … as 1/2, 1/6, 1/12, … and between a few θ. Leaving some lags out only loses their part of it, so
only those are bet on at which most draws are equal.

An honest mechanism with few different outputs has a large q and wins nothing. Draws of which all are different say
nothing, and neither do draws that are all equal.
"""

import math
from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt

from harness.measuring import special

COPIED = np.array([0.1, 0.4, 0.8, 0.999])  # the probabilities of a copy that are bet on
LAGS = 8  # that are bet on, beside lag 1
NEAREST = 3  # earlier draws of the same value that are looked at for a lag

Integers = npt.NDArray[np.intp]


def copies_by_chance(draws: Sequence[Hashable]) -> float:
    """A bound on the probability that independent draws repeat each other as much as these; small means copies."""
    values = _numbered(draws)
    if len(values) < 2:
        return 1.0
    lags = _frequent_lags(values)
    parts = [_log_capital(values, lag) - np.log(lag * (lag + 1.0)) for lag in lags]
    return math.exp(-min(700.0, max(0.0, float(special.logsumexp(parts)))))


def _numbered(draws: Sequence[Hashable]) -> Integers:
    """Equal draws as equal numbers."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(draw, len(numbers)) for draw in draws], dtype=np.intp)


def _places(values: Integers) -> tuple[Integers, Integers]:
    """The places of the draws sorted by value and then by place, and the values in this order."""
    order = np.argsort(values, kind="stable")
    return order, values[order]


def _frequent_lags(values: Integers) -> list[int]:
    """Lag 1, and those at which draws most often equal an earlier one nearby among the equal ones."""
    order, ranked = _places(values)
    counts = np.zeros(len(values), dtype=np.intp)
    for step in range(1, NEAREST + 1):
        gaps = (order[step:] - order[:-step])[ranked[step:] == ranked[:-step]]
        counts += np.bincount(gaps, minlength=len(values))
    # What is compared is the share of the draws that have one so many places before them.
    shares = counts[1:] / np.arange(len(values) - 1, 0, -1)
    longest_last = np.argsort(-shares, kind="stable")[:LAGS] + 1
    return sorted({1, *(int(lag) for lag in longest_last if counts[lag] > 0)})


def _log_capital(values: Integers, lag: int) -> float:
    """The logarithm of the capital of betting that each draw is a copy of the one `lag` before."""
    draws = len(values)
    order, ranked = _places(values)
    places = np.arange(lag, draws)
    before = values[places - lag]
    # Of the value `before`: how many there are in all, and how many came before each place.
    starts, ends = np.searchsorted(ranked, before), np.searchsorted(ranked, before, "right")
    keys = ranked * draws + order
    come = np.searchsorted(keys, before * draws + places) - starts
    chances = (ends - starts - come) / (draws - places)
    equal = values[places] == before
    open_ = (chances > 0) & (chances < 1)  # the others are certain, and nothing is won or lost on them
    chances, equal = chances[open_], equal[open_]
    won = np.log(COPIED[:, None] / chances[equal] + (1 - COPIED[:, None])).sum(axis=1)
    lost = np.count_nonzero(~equal) * np.log1p(-COPIED)
    return float(special.logsumexp(won + lost)) - float(np.log(len(COPIED)))
