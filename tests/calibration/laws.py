"""Thirteen pairs of laws whose distance is known, from one atom in a thousand to fifty values that hardly move."""

import numpy as np
from scipy.integrate import quad

from harness.measuring.samples import Floats
from tests.measuring.mechanisms import (
    MECHANISMS,
    Mechanism,
    Sides,
    cells,
    corners,
    crossing,
    nothing,
    opposite,
    randomized_response,
    shifted,
    two_points,
    two_values,
    uniforms,
)


def one_in_a_thousand(rng: np.random.Generator, draws: int, coupled: bool) -> Sides:
    """The record shows in one release of a thousand, and then fully."""
    return two_values(np.where(rng.random(draws) < 0.001, 1.0, 0.5)), two_values(np.full(draws, 0.5))


def skewed(rng: np.random.Generator, draws: int, coupled: bool) -> Sides:
    u, v = uniforms(rng, draws, coupled)
    return two_values(0.4 * u**8), two_values(0.4 * v**8 + 0.05 * v)


def heavy_tailed(rng: np.random.Generator, draws: int, coupled: bool) -> Sides:
    u, v = uniforms(rng, draws, coupled)
    return two_values(_heavy(u)), two_values(2 * _heavy(v))


def _heavy(u: Floats) -> Floats:
    """The quantiles of a power law of exponent 3/2, cut off at a half."""
    quantiles: Floats = np.minimum(0.005 * (1 - u) ** (-2 / 3), 0.5)
    return quantiles


def one_of_fifty(rng: np.random.Generator, draws: int, coupled: bool) -> Sides:
    """The first value gains a tenth, which the other 49 lose together."""
    x, y = rng.dirichlet(np.ones(50), (2, draws))
    return x, 0.9 * (x if coupled else y) + 0.1 * np.eye(50)[0]


def nothing_of_fifty(rng: np.random.Generator, draws: int, coupled: bool) -> Sides:
    x, y = rng.dirichlet(np.full(50, 0.3), (2, draws))
    return x, y


LAWS: dict[Mechanism, float] = {
    **{law: MECHANISMS[law] for law in (shifted, crossing, two_points, randomized_response, opposite, nothing)},
    **{law: MECHANISMS[law] for law in (corners, cells)},
    one_in_a_thousand: 0.001,  # 2 · 0.001 · 0.5
    skewed: 0.05,  # all quantiles move up: 2 · E 0.05 U
    heavy_tailed: 2 * quad(lambda u: float(_heavy(np.array(u))), 0, 1)[0],  # quantiles double
    one_of_fifty: 0.196,  # all quantiles move one way: 0.1 · 49/50 for the first, as much for all others
    nothing_of_fifty: 0.0,
}
