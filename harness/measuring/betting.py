"""Bounds on means and probabilities by betting; knows bounded numbers, nothing of what they measure.

A claim about a mean is a game that it says cannot be won. Against "the mean is at most m", stake λₜ on draw t, set
before it is seen: the capital Π(1 + λₜ(zₜ − m)) is never negative and, were the claim true, would not grow on average.
By Ville's inequality it ever reaches 1/alpha with probability at most alpha (Waudby-Smith & Ramdas). That holds for
every law and every number of draws, and stakes decide only how soon a wrong claim is refuted. Three uses:

- `mean_at_least`, `mean_at_most`, `mean_limits`: all draws are at hand. The limit is the m that is just not refuted
  by their end. Stakes are those that would be best if the draws to come had the variance of those before.
- `Wager`: the claim m is given and draws come in parts, as many as it takes. The capital is shared at the start
  between stakes of a fixed share of the largest one that cannot ruin it (`SHARES`), and each goes its own way. So the
  state is one number for each share, betting on a and then on b is betting on both, and the number of draws need not
  be known. `SHARES` and `WEIGHTS` were chosen by simulation: over laws of lengths from 0 to 2 against ε = 0.1 the mean
  number of draws is 1.1 to 1.4 times ln(1/alpha) over the best rate of growth there is.
- `evidence_below`, `evidence_above`, `probability_limits`: the draws are zeros and ones, and their counts are all that
  matters. The capital of the claim p ≥ δ is the likelihood of the counts, averaged over the probabilities below δ,
  over their likelihood at δ: with a Beta prior cut off at δ, a closed form.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from harness.measuring import special
from harness.measuring.samples import Floats

LARGEST_SHARE = 0.9  # of the capital that `mean_at_least` stakes on one draw when there are few
LARGEST_SHARE_OF_MANY = 0.97
MANY = 100  # draws, from which their variance is known well enough to stake by it alone
RARE = 5.0  # how boldly to bet while hardly anything varies; from simulation

SHARES = np.array([0.99, 0.85, 0.65, 0.45, 0.30, 0.19, 0.11, 0.06, 0.03])  # of the largest stake
WEIGHTS = np.array([0.32, 0.10, 0.15, 0.13, 0.10, 0.08, 0.06, 0.04, 0.02])  # of the capital, at the start
NOTHING_BET = tuple(np.log(WEIGHTS).tolist())

PRIOR = 0.5  # both parameters of the Beta prior of a probability (Jeffreys)
MOST_DRAWS = 1_000_000_000  # no plan has more


def mean_at_least(values: Floats, alpha: float, *, span: float, seen: int = 0, below: Floats | float = 0.0) -> float:
    """A lower confidence bound, from 0 up, on the mean of values ≥ −`below`, by betting that it is larger.

    Stakes are at most 1/(m + belowₜ), so that no draw takes more than the capital. The first `seen` values set stakes
    and are not bet on; `span` is the width of what the first ones can be.
    """
    goal = math.log(1 / alpha)
    stakes, bets = _stakes(values, goal, span, seen, below), values[seen:]
    share = LARGEST_SHARE if len(bets) < MANY else LARGEST_SHARE_OF_MANY

    def gained(mean: float) -> float:
        return float(np.log1p(np.minimum(stakes, share / (mean + below)) * (bets - mean)).sum()) - goal

    least, most = 1e-9 * span, float(bets.max())
    if most <= least or gained(least) <= 0:
        return 0.0
    # The capital falls as m grows, so every m below the root is refuted; stay on that side of it.
    from scipy.optimize import brentq  # late: it takes longer to import than most audits need

    root: float = brentq(gained, least, most, xtol=1e-8 * span, rtol=1e-8)
    return max(0.0, root - 2e-8 * span)


def mean_at_most(values: Floats, alpha: float, *, span: float) -> float:
    """An upper confidence bound on the mean of values from 0 to `span`.

    No bound that holds for every law is below the mean plus (1 − alpha^(1/N)) (span − mean): N draws overlook a share
    1 − alpha^(1/N) of draws at `span` with chance alpha.
    """
    return span - mean_at_least(span - values, alpha, span=span)


def mean_limits(columns: Floats, alpha: float) -> tuple[Floats, Floats]:
    """Lower and upper limits of the means of rows of values from 0 to 1.  # [rows, draws] -> [rows] twice

    All of them hold at once, except with probability alpha.
    """
    each = alpha / (2 * len(columns))
    lows = [mean_at_least(row, each, span=1.0) for row in columns]
    highs = [mean_at_most(row, each, span=1.0) for row in columns]
    return np.array(lows), np.array(highs)


def _stakes(values: Floats, goal: float, span: float, seen: int, below: Floats | float) -> Floats:
    """The stakes that would be best if the values to come had the variance of those before.

    Of a normal law that is √(2 goal / (N variance)). While hardly anything varies it would stake all, and one rare
    value would ruin it: with u = N variance / (goal (mean + below)²), the ratio of what varies to what a bet can
    lose, the share (r + √2u) / (r + √2u + u) of the largest stake is the same for large u and mild for small ones.
    """
    many = np.arange(1, len(values) + 1)
    means = np.cumsum(values) / many
    squares = np.empty(len(values))
    squares[0] = span**2 / 4  # the largest variance there is, until something is seen
    squares[1:] = (values[1:] - means[:-1]) ** 2
    variances = np.cumsum(squares) / many
    before = np.concatenate([squares[:1], variances[:-1]])[seen:]
    if len(before) < MANY:
        return np.sqrt(2 * goal / (len(before) * before))
    reach = np.maximum(np.concatenate([[span / 2], means[:-1]])[seen:] + below, 1e-9 * span)
    ratio = len(before) * before / (goal * reach**2)
    mild = RARE + np.sqrt(2 * ratio)
    stakes: Floats = mild / (mild + ratio) / reach
    return stakes


@dataclass(frozen=True)
class Wager:
    """The state of a bet against one claim about a mean; as it is, nothing has been bet yet.

    Bet on with `bet_on_less` or `bet_on_more`, always the same one with the same claim.
    """

    draws: int = 0
    log_capitals: tuple[float, ...] = NOTHING_BET  # of each of `SHARES`, in parts of the whole capital at the start
    highest: float = 0.0  # the largest logarithm of the whole capital so far

    @property
    def log_capital(self) -> float:
        """The logarithm of the capital now; that at the start is 0."""
        return float(np.logaddexp.reduce(self.log_capitals))

    def refutes(self, alpha: float) -> bool:
        """Whether the claim is refuted: were it true, this would ever happen with probability at most alpha."""
        return self.highest >= math.log(1 / alpha)


def bet_on_less(wager: Wager, values: Floats, mean: float, span: float) -> Wager:
    """The wager after more values from 0 to `span`, against the claim that their mean is `mean` or more."""
    if mean >= span:
        raise ValueError(f"a mean of {mean} or more cannot be bet against: values go up to {span}")
    return _bet(wager, (mean - np.asarray(values, dtype=np.float64)) / (span - mean))


def bet_on_more(wager: Wager, gains: Floats, mean: float, below: Floats | float) -> Wager:
    """The wager after more gains ≥ −`below`, against the claim that their mean is `mean` or less.

    `below`, of all of them or of each, is known before the gain is seen; so is what the gains are gains of.
    """
    return _bet(wager, (np.asarray(gains, dtype=np.float64) - mean) / (mean + below))


def _bet(wager: Wager, returns: Floats) -> Wager:
    """The wager after returns of −1 (all that was staked is lost) or more."""
    if len(returns) == 0:
        return wager
    steps = np.log1p(SHARES[:, None] * np.maximum(returns, -1.0))  # below −1 by no more than rounding
    # One after the other, the state first: then it does not matter in which parts the values came.
    paths = np.cumsum(np.column_stack([wager.log_capitals, steps]), axis=1)[:, 1:]
    highest = max(wager.highest, float(np.logaddexp.reduce(paths, axis=0).max()))
    return Wager(wager.draws + len(returns), tuple(paths[:, -1].tolist()), highest)


def draws_to_refute(
    values: Floats, mean: float, span: float, alpha: float, *, below: float | None = None, sure: float = 0.9
) -> int | None:
    """How many draws like these a wager needs to refute its claim with probability about `sure`; None if no number.

    Against "the mean is `mean` or more" with values from 0 to `span`; with `below`, against "`mean` or less" with
    gains ≥ −`below`. The law of the values is taken to be the one seen: n draws multiply the capital of a share by
    about e^(n rate ± √n spread).
    """
    returns = (mean - values) / (span - mean) if below is None else (values - mean) / (mean + below)
    steps = np.log1p(SHARES[:, None] * np.maximum(returns, -1.0))
    rates, spreads = steps.mean(axis=1), steps.std(axis=1)
    if rates.max() <= 0:
        return None
    goal, quantile = math.log(1 / alpha), float(special.ndtri(sure))

    def reached(draws: int) -> bool:
        return float(special.logsumexp(NOTHING_BET + draws * rates - quantile * math.sqrt(draws) * spreads)) >= goal

    most = 1
    while not reached(most):
        most *= 2
        if most > MOST_DRAWS:
            return None
    low = most // 2  # not reached
    while most - low > 1:
        middle = (low + most) // 2
        low, most = (low, middle) if reached(middle) else (middle, most)
    return most


def evidence_below(hits: int, draws: int, probability: float) -> float:
    """The logarithm of a capital against "each draw is a hit with `probability` or more", from the counts so far.

    Were it true, this would reach ln(1/alpha) at any look with probability at most alpha: for every q below
    `probability`, the likelihood ratio of q to it grows at no draw on average.
    """
    if not 0 < probability < 1:
        return 0.0
    misses = draws - hits
    cut = _log_share(hits + PRIOR, misses + PRIOR, probability) - _log_share(PRIOR, PRIOR, probability)
    mixture = float(special.betaln(hits + PRIOR, misses + PRIOR) - special.betaln(PRIOR, PRIOR))
    return mixture + cut - hits * math.log(probability) - misses * math.log1p(-probability)


def evidence_above(hits: int, draws: int, probability: float) -> float:
    """The logarithm of a capital against "each draw is a hit with `probability` or less", from the counts so far.

    A hit refutes the probability 0 at once.
    """
    if probability == 0:
        return math.inf if hits else 0.0
    return evidence_below(draws - hits, draws, 1 - probability)


def probability_limits(hits: int, draws: int, alpha: float) -> tuple[float, float]:
    """Limits of the probability of a hit, from the counts so far: at all looks together they miss with chance alpha.

    The probabilities whose likelihood is not 1/alpha times smaller than the mean likelihood under a Beta prior.
    """
    misses = draws - hits
    mixture = float(special.betaln(hits + PRIOR, misses + PRIOR) - special.betaln(PRIOR, PRIOR)) + math.log(alpha)

    def unlikely(probability: float) -> bool:
        return hits * math.log(probability) + misses * math.log1p(-probability) <= mixture

    share = hits / draws if draws else 0.5
    low, high = 0.0, 1.0
    if hits and unlikely(1e-300):
        low = _edge(0.0, share, unlikely)
    if misses and unlikely(1 - 1e-16):
        high = _edge(1.0, share, unlikely)
    return low, high


def _edge(outside: float, inside: float, unlikely: Callable[[float], bool]) -> float:
    """A point at the edge of what is not unlikely, on its outer side."""
    for _ in range(60):
        middle = (outside + inside) / 2
        if middle in (outside, inside):
            break
        outside, inside = (middle, inside) if 0 < middle < 1 and unlikely(middle) else (outside, middle)
    return outside


def _log_share(a: float, b: float, end: float) -> float:
    """The logarithm of the part of a Beta law that lies below `end`."""
    share = float(special.betainc(a, b, end))
    return math.log(share) if share > 0 else -math.inf
