"""From draws to a number: the distance, its noise floor, a confidence interval; knows arrays only."""

import math
from dataclasses import dataclass

import numpy as np

from harness.measuring.divergence import Divergence, Proof, SumOfDistances
from harness.measuring.samples import Coordinates, Floats, Samples, same_values
from harness.vocabulary.errors import InputError

FLOOR_BLOCKS, FLOOR_BLOCK = 4, 512  # pairs of draws; the floor of all draws of a sum of W₁ follows from these
SPREAD_OF_GUESS = 2.2  # floors over √n: how far a guess may be off; this and the next two from simulation
MOST_DOUBT, RESERVE = 2.5, 1.5  # the largest part of a gap that doubt leaves; how many draws more than the median
OVERLOOKED = 0.8  # the largest part of a limit's reach that is taken to shrink as 1/draws
EXCHANGES = (1, 2, 4, 8)  # so many pairs in a row keep their sides and as many exchange them, one pattern each


@dataclass(frozen=True)
class Estimate:
    """One record's distance; the true one lies in [lower, upper] except with probability alpha."""

    distance: float  # may be infinite, as may `upper`
    per_value: tuple[float, ...]
    floor: float | None  # what `distance` would show without any influence; None if it cannot be told
    lower: float
    upper: float
    draws: int
    coupled: bool
    exact: bool
    alpha: float = 0.0
    proves: Proof = "both"  # what more draws could prove
    largest: float = math.inf  # the largest distance there is


def compare(
    divergence: Divergence,
    present: Floats | Samples,
    absent: Floats | Samples,
    *,
    alpha: float,
    coupled: bool,
    exact: bool,
    lower_from: float = 0.0,
) -> Estimate:
    """The estimate at error level `alpha`, half of it for either end; `exact`: chance plays no part.

    A distance below `lower_from` is given the lower limit 0, which is true and costs nothing.
    """
    x, y = same_values(present, absent)
    values = divergence.per_value(x, y)
    if exact:
        return _exact(divergence, x, y, values, coupled)
    if coupled and len(x) != len(y):
        raise InputError(f"coupled draws come in pairs; got {len(x)} present and {len(y)} absent")
    plug_in = min(float(values.sum()), divergence.largest)  # rounding must not carry it beyond
    low, high = divergence.interval(x, y, plug_in, alpha, coupled=coupled, lower_from=lower_from)
    return Estimate(
        distance=plug_in,
        per_value=tuple(values.tolist()),
        floor=noise_floor(divergence, x, y),
        lower=low,
        upper=high,
        draws=min(len(x), len(y)),
        coupled=coupled,
        exact=False,
        alpha=alpha,
        proves=divergence.proves,
        largest=divergence.largest,
    )


def _exact(divergence: Divergence, x: Samples, y: Samples, values: Floats, coupled: bool) -> Estimate:
    """The estimate of a record whose predictions do not vary: one draw of each side says all."""
    if any(len(side) > 1 and (side.draws != side.draws[0]).any() for side in (x, y)):
        raise InputError("an exact comparison was asked for, but the draws of one side differ from each other")
    apart = min(divergence.between(x.draws[0], y.draws[0]), divergence.largest)
    return Estimate(
        distance=apart, per_value=tuple(values.tolist()), floor=0.0, lower=apart, upper=apart,
        draws=min(len(x), len(y)), coupled=coupled, exact=True,
    )  # fmt: skip


def noise_floor(divergence: Divergence, present: Samples, absent: Samples) -> float | None:
    """What the plug-in shows of sampling noise alone: the plug-in once the sides of half of the pairs are exchanged.

    The exchange cancels the influence of the record and keeps the noise, coupled or not.
    """
    if isinstance(divergence, SumOfDistances):
        floor = _floor_of_sum(divergence.coordinates(present), divergence.coordinates(absent))
        return None if floor is None else floor * divergence.scale
    draws = min(len(present), len(absent))
    floors = [_exchanged(divergence, present, absent, many) for many in EXCHANGES if 2 * many <= draws]
    mean = float(np.mean(floors)) if floors else math.inf
    return mean if math.isfinite(mean) else None


def _exchanged(divergence: Divergence, present: Samples, absent: Samples, many: int) -> float:
    """The plug-in when `many` pairs in a row keep their sides, the next as many exchange them, and so on."""
    draws = min(len(present), len(absent))
    draws -= draws % (2 * many)
    kept = (np.arange(draws) // many % 2 == 0)[:, None]
    x, y = present.draws[:draws], absent.draws[:draws]
    sides = Samples(np.where(kept, x, y)), Samples(np.where(kept, y, x))
    return float(divergence.per_value(*sides).sum())


def _floor_of_sum(present: Coordinates, absent: Coordinates) -> float | None:
    """The floor of Σₑ W₁, which shrinks as 1/√draws, so that a few blocks tell the floor of all draws."""
    draws = min(len(present), len(absent))
    size = min(FLOOR_BLOCK, draws - draws % 2)
    if size == 0:
        return None
    blocks = min(FLOOR_BLOCKS, draws // size)
    x, y = (side.columns[:, : blocks * size].copy() for side in (present, absent))
    x[:, ::2], y[:, ::2] = y[:, ::2], x[:, ::2].copy()
    shape = (len(x), blocks, size)
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
    """How many draws would put both bounds on one side of `epsilon` in about nine audits of ten; None when none would.

    A guess of the distance is taken for the true one, nearer to ε by what noise may have added to their gap, though
    not by more than some of it, and for no nearer than the noise could tell; ask again with the draws this gives. The
    bounds are taken to close in on it as √(ln(2/alpha)/draws), which is never faster than they do.
    """
    if estimate.upper < epsilon or estimate.lower >= epsilon:
        return estimate.draws
    noise = estimate.floor or 0.0
    guess = estimate.distance if estimate.coupled else max(estimate.lower, _without_noise(estimate, noise))
    if estimate.proves == "nothing" or (estimate.proves == "upper" and guess >= epsilon):
        return None
    reach = estimate.upper - guess if guess < epsilon else guess - estimate.lower
    gap = abs(epsilon - guess)
    doubt = SPREAD_OF_GUESS * noise / math.sqrt(len(estimate.per_value))
    margin = max(gap - doubt, gap / MOST_DOUBT, noise / 4)
    if margin == 0 or not math.isfinite(reach):
        return None
    return max(estimate.draws, math.ceil(RESERVE * _until(margin, reach, estimate, alpha)))


def _until(margin: float, reach: float, estimate: Estimate, alpha: float) -> float:
    """How many draws bring a limit from `reach` to `margin` away from the distance.

    Part of the reach of coupled pairs is what N draws may have overlooked, largest · ln(2/alpha)/N, which shrinks as
    1/N; the rest is noise, which shrinks as 1/√N.
    """
    goal = math.log(2 / alpha)
    stricter = goal / math.log(2 / estimate.alpha) if estimate.alpha else 1.0
    overlooked = 0.0
    if estimate.coupled and math.isfinite(estimate.largest):
        overlooked = min(OVERLOOKED * reach * estimate.draws, estimate.largest * goal / stricter)
    noise = (reach - overlooked / estimate.draws) * math.sqrt(estimate.draws)
    noise, overlooked = noise * math.sqrt(stricter), overlooked * stricter
    return ((noise + math.sqrt(noise**2 + 4 * overlooked * margin)) / (2 * margin)) ** 2


def _without_noise(estimate: Estimate, noise: float) -> float:
    """Noise adds to each value's distance about in quadrature; it is taken to be shared evenly."""
    each = noise / len(estimate.per_value)
    return sum(math.sqrt(max(0.0, value**2 - each**2)) for value in estimate.per_value)
