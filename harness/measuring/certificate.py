"""What some records, drawn at random, say about all of them; knows counts only.

Each of the two limits is one-sided: "at most `most`" is wrong with probability at most alpha, and so is "at least
`least`". Whoever states one of them states it with confidence 1 − alpha. Whoever states both, as an interval, states
them with confidence 1 − 2 alpha; `certify(…, joint=True)` spends half of alpha on either, so that the interval has
confidence 1 − alpha.
"""

import math
from dataclasses import dataclass

import numpy as np

from harness.measuring import special
from harness.measuring.samples import Floats
from harness.vocabulary.errors import InputError

ROUNDING = 1e-9  # a chance this close below alpha counts as alpha, which errs to the wider limit


@dataclass(frozen=True)
class Certificate:
    """Of a population, at least `least` and at most `most` records are at or above ε; `alpha` is the level of each."""

    population: int
    examined: int
    above: int
    alpha: float
    least: int
    most: int

    @property
    def joint_alpha(self) -> float:
        """Both limits hold at once, except with this probability."""
        return min(1.0, 2 * self.alpha)

    @property
    def share(self) -> float:
        """With confidence 1 − alpha (this end by itself), no larger share of the population is at or above ε."""
        return self.most / self.population


def certify(population: int, examined: int, above: int, alpha: float, *, joint: bool = False) -> Certificate:
    """The exact hypergeometric limits from records examined at random, none of them twice.

    Either limit by itself fails with probability alpha; with `joint`, both together do. Count as `above`
    every examined record that is not known to be below ε.
    """
    if not 0 <= above <= examined <= population or population < 1:
        raise InputError(
            f"{above} records above ε of {examined} examined of {population} cannot be: each is part of the next"
        )
    if joint:
        alpha = alpha / 2
    most = _most(population, examined, above, alpha)
    least = population - _most(population, examined, examined - above, alpha)
    return Certificate(population, examined, above, alpha, least, most)


def _most(population: int, examined: int, hits: int, alpha: float) -> int:
    """The largest number of members of which `hits` or fewer are drawn with at least probability alpha."""
    least = alpha * (1 - ROUNDING)
    low, high = hits, population - (examined - hits)
    while low < high:  # the chance falls as the members grow; at `low` it is 1
        middle = (low + high + 1) // 2
        if _at_most(hits, population, middle, examined) >= least:
            low = middle
        else:
            high = middle - 1
    return low


def _at_most(hits: int, population: int, members: int, examined: int) -> float:
    """P[at most `hits` members among `examined` drawn without replacement]."""
    drawn = np.arange(max(0, examined - (population - members)), min(hits, members) + 1.0)
    chances = _choose(members, drawn) + _choose(population - members, examined - drawn)
    return float(np.exp(chances - _choose(population, np.array(float(examined)))).sum())


def _choose(total: int, some: Floats) -> Floats:
    """The logarithm of the binomial coefficient."""
    result: Floats = math.lgamma(total + 1) - special.gammaln(some + 1) - special.gammaln(total - some + 1)
    return result
