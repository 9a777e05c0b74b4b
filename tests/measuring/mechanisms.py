"""Pairs of random predictions whose distances are known, and how often a bound may miss: for tests of statistics."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binom

from harness.measuring.samples import Floats

Sides = tuple[Floats, Floats]  # draws of present and absent  # [draws, n] twice
Mechanism = Callable[[np.random.Generator, int, bool], Sides]

FALLING = np.arange(14, 0, -1) / 105


def two_values(first: Floats) -> Floats:
    return np.stack([first, 1 - first], axis=1)


def uniforms(rng: np.random.Generator, draws: int, coupled: bool) -> Sides:
    """What both sides make their predictions of: the same chance when coupled."""
    u = rng.random(draws)
    return u, u if coupled else rng.random(draws)


def shifted(rng: np.random.Generator, draws: int, coupled: bool) -> Sides:
    u, v = uniforms(rng, draws, coupled)
    return two_values(u / 2), two_values(v / 2 + 0.1)


def crossing(rng: np.random.Generator, draws: int, coupled: bool) -> Sides:
    u, v = uniforms(rng, draws, coupled)
    return two_values(0.2 + 0.6 * u), two_values(0.35 + 0.3 * v)


def two_points(rng: np.random.Generator, draws: int, coupled: bool) -> Sides:
    u, v = uniforms(rng, draws, coupled)
    return two_values(np.where(u < 0.3, 0.6, 0.2)), two_values(np.where(v < 0.5, 0.6, 0.2))


def rare(rng: np.random.Generator, draws: int, coupled: bool) -> Sides:
    return two_values(np.zeros(draws)), two_values((rng.random(draws) < 0.002).astype(float))


def randomized_response(rng: np.random.Generator, draws: int, coupled: bool) -> Sides:
    u, v = uniforms(rng, draws, coupled)
    truth = np.exp(1) / (1 + np.exp(1))
    return two_values((u < truth).astype(float)), two_values((v > truth).astype(float))


def opposite(rng: np.random.Generator, draws: int, coupled: bool) -> Sides:
    u, v = uniforms(rng, draws, coupled)
    return two_values(u), two_values(1 - v)


def nothing(rng: np.random.Generator, draws: int, coupled: bool) -> Sides:
    return rng.dirichlet(np.ones(14), draws), rng.dirichlet(np.ones(14), draws)


def corners(rng: np.random.Generator, draws: int, coupled: bool) -> Sides:
    u, v = uniforms(rng, draws, coupled)
    x, y = (np.searchsorted(np.cumsum(law)[:-1], w) for law, w in ((FALLING, u), (FALLING[::-1], v)))
    return np.eye(14)[x], np.eye(14)[y]


def cells(rng: np.random.Generator, draws: int, coupled: bool, noise_epsilon: float = 1.0) -> Sides:
    """The Laplace mechanism of the paper on counts (1, 2, 0, …), which lose the 1."""
    counts = np.zeros((2, 1, 14))
    counts[:, :, 1], counts[0, :, 0] = 2, 1
    noise = rng.laplace(scale=1 / noise_epsilon, size=(1 if coupled else 2, draws, 14))
    kept = 1 + np.maximum(0, counts + noise)
    x, y = kept / kept.sum(axis=2, keepdims=True)
    return x, y


def faint_cells(rng: np.random.Generator, draws: int, coupled: bool) -> Sides:
    return cells(rng, draws, coupled, noise_epsilon=0.1)


# The sum over values of each; v2, eq. 1.
MECHANISMS: dict[Mechanism, float] = {
    shifted: 0.2,
    crossing: 0.15,
    two_points: 0.16,
    rare: 0.004,
    randomized_response: float(2 * np.tanh(0.5)),
    opposite: 0.0,  # equal laws, and the worst coupling of them
    nothing: 0.0,
    corners: float(np.abs(FALLING - FALLING[::-1]).sum()),
    # E‖x − y‖₁ of 1.6 million coupled pairs, ± 0.00003; all pairs move one way, which makes it d.
    cells: 0.05437,
    faint_cells: 0.01169,
}
REFERENCE_ERROR = 6e-5


def name_of(mechanism: Mechanism) -> str:
    return mechanism.__name__


every_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS, ids=name_of)
coupled_or_not = pytest.mark.parametrize("coupled", [True, False], ids=["coupled", "independent"])


def allowed(runs: int, rate: float) -> int:
    """As many misses as a bound that errs at its nominal rate exceeds once in a thousand times."""
    return int(binom.isf(1e-3, runs, rate))
