"""From draws to a number: the distance, its noise floor, a confidence interval; knows arrays only."""

import math
from dataclasses import dataclass

import numpy as np

from harness.measuring import bounds
from harness.measuring.divergence import Distance, Floats, Samples, per_value, same_values
from harness.vocabulary.errors import InputError

FLOOR_BLOCKS, FLOOR_BLOCK = 4, 512  # pairs of draws; the floor of all draws follows from these


@dataclass(frozen=True)
class Estimate:
    """One record's distance; the true one lies in [lower, upper] except with probability alpha."""

    distance: float
    per_value: tuple[float, ...]
    floor: float | None  # what `distance` would show without any influence; None if one draw cannot tell
    lower: float
    upper: float
    draws: int
    coupled: bool
    exact: bool
    p_value: float | None  # of the permutation test of "no influence"; None when exact or not asked for
    alpha: float = 0.0


@dataclass(frozen=True)
class Estimator:
    """Compares the draws of both sides under one distance; with `permutations`, tests for any influence too."""

    distance: Distance
    permutations: int = 0
    lower_from: float = 0.0  # an estimate below this is given the lower bound 0, which is true and costs nothing

    def compare(
        self,
        present: Floats | Samples,
        absent: Floats | Samples,
        *,
        alpha: float,
        coupled: bool,
        exact: bool,
        rng: np.random.Generator | None = None,
    ) -> Estimate:
        """The estimate at error level `alpha`, half of it for either end; `exact`: chance plays no part."""
        x, y = same_values(present, absent)
        if coupled and len(x) != len(y):
            raise InputError(f"coupled draws come in pairs; got {len(x)} present and {len(y)} absent")
        values = per_value(x, y)
        plug_in = float(values.sum())
        if exact:
            low = high = plug_in
        elif plug_in * self.distance.scale < self.lower_from:
            low, high = 0.0, bounds.upper(x, y, plug_in, alpha / 2, coupled=coupled)
        else:
            low, high = bounds.interval(x, y, plug_in, alpha, coupled=coupled)
        floor = 0.0 if exact else noise_floor(x, y)
        p_value = None if exact else self._p_value(x, y, coupled, rng)
        scale = self.distance.scale
        return Estimate(
            distance=plug_in * scale,
            per_value=tuple((values * scale).tolist()),
            floor=None if floor is None else floor * scale,
            lower=low * scale,
            upper=high * scale,
            draws=min(len(x), len(y)),
            coupled=coupled,
            exact=exact,
            p_value=p_value,
            alpha=0.0 if exact else alpha,
        )

    def _p_value(self, x: Samples, y: Samples, coupled: bool, rng: np.random.Generator | None) -> float | None:
        if not self.permutations:
            return None
        if rng is None:
            raise InputError("a permutation test needs a random generator; got none")
        return permutation_test(x, y, coupled=coupled, permutations=self.permutations, rng=rng)


def noise_floor(present: Samples, absent: Samples) -> float | None:
    """What d̂ shows of sampling noise alone: d̂ once the sides of every other pair are exchanged.

    The exchange cancels E(δₓ − δᵧ) and keeps its noise, coupled or not. d̂ of noise shrinks as 1/√draws, so a
    few blocks tell the floor of all draws.
    """
    draws = min(len(present), len(absent))
    size = min(FLOOR_BLOCK, draws - draws % 2)
    if size == 0:
        return None
    blocks = min(FLOOR_BLOCKS, draws // size)
    x, y = (side.columns[:, : blocks * size].copy() for side in (present, absent))
    x[:, ::2], y[:, ::2] = y[:, ::2], x[:, ::2].copy()
    shape = (present.values, blocks, size)
    gaps = np.abs(np.sort(x.reshape(shape), axis=2) - np.sort(y.reshape(shape), axis=2))
    return float(gaps.sum(axis=0).mean()) * math.sqrt(size / draws)


def permutation_test(
    present: Samples, absent: Samples, *, coupled: bool, permutations: int, rng: np.random.Generator
) -> float:
    """p = (1 + #{d̂_b ≥ d̂}) / (permutations + 1) of "the record has no influence".

    Independent draws: exact, whole predictions move between the sides. Coupled draws: the sides of a pair are
    exchanged, exact when without influence both orders of a pair are equally likely (as when they are equal),
    and right in the limit otherwise, since exchanged and true pairs then have the same covariance.
    """
    pooled = np.concatenate([present.columns, absent.columns], axis=1)
    order = np.argsort(pooled, axis=1)
    gaps = np.diff(np.take_along_axis(pooled, order, axis=1), axis=1)
    many, more = len(present), len(absent)

    def moved(weights: Floats) -> float:
        heights = np.cumsum(weights[order], axis=1)[:, :-1]
        return float((np.abs(heights, out=heights) * gaps).sum())

    sides = np.concatenate([np.full(many, 1 / many), np.full(more, -1 / more)])
    observed = moved(sides) * (1 - 1e-9)  # equal up to rounding counts as equal

    def shuffled() -> Floats:
        if not coupled:
            return rng.permutation(sides)
        signs = rng.choice([-1.0, 1.0], size=many) / many
        return np.concatenate([signs, -signs])

    as_large = sum(moved(shuffled()) >= observed for _ in range(permutations))
    return (1 + as_large) / (permutations + 1)


def draws_needed(estimate: Estimate, epsilon: float, alpha: float) -> int | None:
    """About how many draws would put both bounds on one side of `epsilon`; None when no number would.

    Rough: a guess of the distance is taken for the true one, but for no nearer to ε than its own noise could
    tell; ask again with the draws this gives. The bounds are taken to close in on it as √(ln(2/alpha)/draws),
    which is never faster than they do.
    """
    if estimate.upper < epsilon or estimate.lower >= epsilon:
        return estimate.draws
    noise = estimate.floor or 0.0
    guess = estimate.distance if estimate.coupled else max(estimate.lower, _without_noise(estimate, noise))
    reach = estimate.upper - guess if guess < epsilon else guess - estimate.lower
    margin = max(abs(epsilon - guess), noise / 4)
    if margin == 0:
        return None
    stricter = math.log(2 / alpha) / math.log(2 / estimate.alpha) if estimate.alpha else 1.0
    return max(estimate.draws, math.ceil(estimate.draws * stricter * (reach / margin) ** 2))


def _without_noise(estimate: Estimate, noise: float) -> float:
    """Noise adds to each value's distance about in quadrature; it is taken to be shared evenly."""
    each = noise / len(estimate.per_value)
    return sum(math.sqrt(max(0.0, value**2 - each**2)) for value in estimate.per_value)
