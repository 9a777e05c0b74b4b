"""The law about noise: released numbers, counts and sensitive values carry the noise of the claimed ε.

Two neighbouring tables are drawn many times, and one number of each release is read:

    a number   one row, whose number lies at either end of its declared range Δ
    a count    many rows that are the same, and one row less (Δ = 1); counted by f, or counted here where f releases
               as many invented rows as its noisy count says
    a value    one row with one or the other sensitive value, where f is said to change these; 1 if the first came back

What differs between the tables bounds the ε of differential privacy from below: an event that some draws choose is
judged by the others (`measuring.privacy_loss`), and events that are known beforehand by all draws: a number at or
beyond its true value (bets, as in `measuring.betting`), the true value itself (binomial limits).

Where a number is not cut off at an end, the size of the noise is judged too: were noise that is added to a number
ε-differentially private, it would lie in a window of width mΔ around 0 with probability at most tanh(mε/2). For the
windows of that width beside it have at least e^(−mε|j|) times its probability, and all of them together at most 1.
All tests share the error rate of the law.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import beta, binom

from harness.measuring.privacy_loss import LARGEST_EPSILON, least_privacy_loss, least_privacy_loss_of_independent
from harness.testing.asking import Answer, OutOfBudget, Rows, Session, Trial
from harness.testing.claims import Claims
from harness.testing.domains import Cell
from harness.testing.generating import Row
from harness.testing.law import Law, SaysNothing
from harness.vocabulary.release import WEIGHT_NAMES
from harness.vocabulary.table import Table

Floats = npt.NDArray[np.float64]
NOISE_RATE = 0.01
MOST_DRAWS = 260  # of both sides together, of an f that releases rows
FEWEST_DRAWS = 20  # a side
PREDICTIONS = 4_000  # draws a side of an f that releases predictions, which come in one answer
MOST_STAKE = 0.95  # of the capital, on one pair of draws
CUT_OFF = 0.05  # of all draws: more at one end of them come from numbers that were cut off there
COPIES = 60  # rows that are the same, in a table whose count is noisy
SEEDS_APART = 1_000_003


@dataclass(frozen=True)
class _Neighbours:
    """Two tables, and the number of their releases that noise is to hide."""

    what: str  # in words
    tables: tuple[Rows, Rows]
    read: Callable[[Session, Rows, Answer], float | None]  # None: the release shows no such number
    truths: tuple[float, float] = (1.0, 0.0)
    reach: float | None = None  # Δ, by which the number differs at most before noise; None: the number is 0 or 1
    ends: tuple[float, float] | None = None  # at which a number may be cut off


def _noise_suffices(session: Session, claims: Claims, rows: Rows) -> str | None:
    assert claims.noise_epsilon is not None
    delta = session.card.noise_delta or 0.0
    if session.card.releases == "predictions":
        return _too_little(claims.noise_epsilon, *_predictions(session, rows), delta, NOISE_RATE)
    pairs = [pair for pair in _neighbours(session, claims, rows) if _is_shown(session, pair)]
    judged = False
    for number, pair in enumerate(pairs):
        each = min(MOST_DRAWS, session.budget.left // (len(pairs) - number)) // 2
        if each < FEWEST_DRAWS:
            raise OutOfBudget
        sides = [_numbers(session, pair, side, each) for side in (0, 1)]
        if min(map(len, sides)) < FEWEST_DRAWS or not np.ptp(np.concatenate(sides)):
            continue  # it was refused, or is always the same
        if claims.keeps_sensitive is False and pair.ends is not None and _is_untouched(pair, sides):
            continue  # noise is on sensitive values instead, which are judged too
        judged = True
        reason = _judged(claims.noise_epsilon, delta, pair, sides, NOISE_RATE / len(pairs))
        if reason is not None:
            return f"{pair.what}: {reason}"
    if not judged:
        raise SaysNothing("f releases no number, count or changed value that the noise can be seen in")
    return None


def _is_untouched(pair: _Neighbours, sides: Sequence[Floats]) -> bool:
    """Whether a number always comes back as it is."""
    return all(bool((side == truth).all()) for side, truth in zip(sides, pair.truths, strict=True))


def _judged(epsilon: float, delta: float, pair: _Neighbours, sides: Sequence[Floats], alpha: float) -> str | None:
    if pair.reach is None:
        return _too_often(epsilon, delta, sides, alpha)
    if delta:
        return _too_little(epsilon, sides[0], sides[1], delta, alpha)
    return (
        _too_small(epsilon, pair, pair.reach, sides, alpha / 4)
        or _too_far_apart(epsilon, pair, sides, alpha / 2)
        or _too_little(epsilon, sides[0], sides[1], 0.0, alpha / 4)
    )


def _predictions(session: Session, rows: Rows) -> tuple[Floats, Floats]:
    """What f predicts about a row that stands three times in a table, with one of them left out and not."""
    table = (rows[0],) * 3 + tuple(rows[1:])
    present, absent = (
        session.predictions(table, 0, left, PREDICTIONS, seed=(2 * session.seed + 1 + left) * SEEDS_APART).rows
        for left in (False, True)
    )
    return present, absent


def _neighbours(session: Session, claims: Claims, rows: Rows) -> Iterator[_Neighbours]:
    row = rows[0]
    copies, truths = ((row,) * COPIES, (row,) * (COPIES - 1)), (COPIES, COPIES - 1)
    counted = session.trial(copies[0]).answer.release
    count = None if counted is None else _count_name(session, claims, counted)
    if count is not None:
        yield _Neighbours("the number of rows", copies, _reading(count), truths, 1.0)
    elif claims.keeps_rows is False:
        yield _Neighbours("the number of rows", copies, _rows_like_the_first, truths, 1.0)
    quasi = len(session.domains.schema.quasi)
    for place, domain in enumerate(session.domains.columns):
        if place < quasi and domain.is_number and domain.low < domain.high:
            ends = (domain.low, domain.high)
            high, low = (_with_cell(row, place, domain.cell(end)) for end in ends[::-1])
            yield _Neighbours(domain.name, (high, low), _reading(domain.name), ends[::-1], ends[1] - ends[0], ends)
        elif place >= quasi and claims.keeps_sensitive is False and len(domain.values) > 1:
            tables = [_with_cell(row, place, value) for value in domain.values[:2]]
            yield _Neighbours(domain.name, (tables[0], tables[1]), _coming_back(domain.name, domain.values[0]))


def _with_cell(row: Row, place: int, cell: Cell) -> Rows:
    return ((*row[:place], cell, *row[place + 1 :]),)


def _rows_like_the_first(session: Session, rows: Rows, answer: Answer) -> float | None:
    """How many released rows may stand for the row that all rows of the table are."""
    trial = Trial(session.domains.dataset(rows), rows, answer)
    if trial.microdata is None:
        return None
    return float(np.count_nonzero((trial.covers & trial.shows_secret)[:, 0] & ~trial.suppressed))


def _reading(name: str) -> Callable[[Session, Rows, Answer], float | None]:
    """The largest number of a column: that of the only row, or the count of the only group that has people."""

    def number(session: Session, rows: Rows, answer: Answer) -> float | None:
        return None if answer.release is None else _largest(_column(answer.release, name))

    return number


def _coming_back(name: str, value: object) -> Callable[[Session, Rows, Answer], float | None]:
    def comes_back(session: Session, rows: Rows, answer: Answer) -> float | None:
        if answer.release is None or name not in answer.release.names or answer.release.rows != 1:
            return None
        return float(str(answer.release.column(name).values()[0]) == str(value))

    return comes_back


def _is_shown(session: Session, pair: _Neighbours) -> bool:
    """Whether a release shows the number that noise is to hide."""
    return pair.read(session, pair.tables[0], session.trial(pair.tables[0]).answer) is not None


def _numbers(session: Session, pair: _Neighbours, side: int, draws: int) -> Floats:
    """The number of each draw of one table."""
    table = pair.tables[side]
    answers = session.draws(table, draws, seed=(2 * session.seed + 1 + side) * SEEDS_APART)
    numbers = (pair.read(session, table, answer) for answer in answers)
    return np.array([number for number in numbers if number is not None], dtype=np.float64)


def _count_name(session: Session, claims: Claims, release: Table) -> str | None:
    """The column that counts rows: by its name, or the only one of numbers that f added where rows are not kept."""
    schema = session.domains.schema
    named = schema.weight or next((one for one in release.names if one.lower() in WEIGHT_NAMES), None)
    if named is not None:
        return named
    added = [one for one in release.names if one not in schema.names and _column(release, one) is not None]
    return added[0] if claims.keeps_rows is False and len(added) == 1 else None


def _column(release: Table, name: str) -> Floats | None:
    """A column of numbers; None if it holds something else."""
    if name not in release.names:
        return None
    try:
        numbers = release.column(name).values().astype(np.float64)
    except (TypeError, ValueError):
        return None
    return numbers if np.isfinite(numbers).all() else None


def _largest(numbers: Floats | None) -> float | None:
    return None if numbers is None or not len(numbers) else float(numbers.max())


def _too_far_apart(epsilon: float, pair: _Neighbours, sides: Sequence[Floats], alpha: float) -> str | None:
    """Whether numbers at or beyond the true one come too often where it is true, beside the other table.

    With x of the table whose number is high and y of the other, ε-differential privacy says that the mean of
    z = 1[x ≥ high] − e^ε 1[y ≥ high] + 1[y ≤ low] − e^ε 1[x ≤ low] is at most 0, whatever was done to the numbers
    after noise was added. So the capital Π(1 + λ z) reaches 1/alpha with probability at most alpha.
    """
    (high, low), draws = pair.truths, min(map(len, sides))
    x, y = (side[:draws] for side in sides)
    ratio = math.exp(min(epsilon, LARGEST_EPSILON))
    won = 1.0 * (x >= high) + (y <= low)
    lost = 1.0 * (y >= high) + (x <= low)
    if np.log1p(_stake(epsilon, ratio) * (won - ratio * lost)).sum() < math.log(1 / alpha):
        return None
    return (
        f"numbers at or beyond the true one came {won.sum():.0f} of {2 * draws} times where it is true and "
        f"{lost.sum():.0f} of {2 * draws} times where it is not; ε = {epsilon:g} does not allow that"
    )


def _stake(epsilon: float, ratio: float) -> float:
    """The λ whose capital would grow fastest against half of the noise that is claimed, were it Laplace's."""
    won, lost = 0.5, 0.5 * math.exp(-2 * epsilon)
    chances = {1.0: won, -ratio: lost, 0.0: 1 - won - lost}
    pairs = [(one + other, chance * with_it) for one, chance in chances.items() for other, with_it in chances.items()]
    stakes = np.linspace(0.01, MOST_STAKE, 60) / (2 * ratio)
    growth = sum(chance * np.log1p(stakes * gain) for gain, chance in pairs)
    return float(stakes[np.argmax(growth)])


def _too_little(epsilon: float, present: Floats, absent: Floats, delta: float, alpha: float) -> str | None:
    loss = (
        least_privacy_loss(present, absent, alpha=alpha, delta=delta)
        if delta
        else least_privacy_loss_of_independent(present, absent, claimed=epsilon, alpha=alpha)
    )
    if loss.epsilon <= epsilon:
        return None
    return f"releases of two tables differ more than ε = {loss.epsilon:.3g} allows; ε = {epsilon:g} is claimed"


def _too_often(epsilon: float, delta: float, sides: Sequence[Floats], alpha: float) -> str | None:
    """Whether a value comes back too often where it is the true one (limits of Clopper and Pearson, 1934)."""
    hits, draws = [int(side.sum()) for side in sides], [len(side) for side in sides]
    least = beta.ppf(alpha / 2, hits[0], draws[0] - hits[0] + 1) if hits[0] else 0.0
    most = beta.ppf(1 - alpha / 2, hits[1] + 1, draws[1] - hits[1]) if hits[1] < draws[1] else 1.0
    if least <= math.exp(min(epsilon, 700.0)) * most + delta:
        return None
    return (
        f"a value came back {hits[0]} of {draws[0]} times where it is true and {hits[1]} of {draws[1]} times where it "
        f"is not; ε = {epsilon:g} does not allow that"
    )


def _too_small(epsilon: float, pair: _Neighbours, reach: float, sides: Sequence[Floats], alpha: float) -> str | None:
    """Whether more of the noise lies near 0 than any noise of that ε allows: an exact binomial test."""
    numbers = np.concatenate(sides)
    if pair.ends is not None and numbers.min() >= pair.ends[0] and numbers.max() <= pair.ends[1]:
        return None  # it may be cut off at the ends, which is allowed and leaves more of it near 0
    if any(_is_cut_off(side) for side in sides):
        return None
    windows = max(1, round(1 / epsilon)) if epsilon > 0 else 1
    most = math.tanh(windows * epsilon / 2)
    step = float(np.diff(np.unique(numbers)).min())
    half = math.floor(windows * reach / step + 1e-9) * step / 2  # of numbers that were rounded: so many whole steps
    noise = np.concatenate([side - truth for side, truth in zip(sides, pair.truths, strict=True)])
    near = int(np.count_nonzero((noise >= -half) & (noise < half)))
    if binom.sf(near - 1, len(noise), most) > alpha:
        return None
    return (
        f"{near} of {len(noise)} times the noise was smaller than {half:g}; noise of ε = {epsilon:g} is so in "
        f"{most:.0%} of all times at the most"
    )


def _is_cut_off(numbers: Floats) -> bool:
    """Whether the lowest or the highest number came so often, and more often than the one beside it, that numbers
    beyond it were replaced by it, wherever that end lies.
    """
    _, counts = np.unique(numbers, return_counts=True)
    lowest_and_next = (counts[:2], counts[-2:][::-1])
    return any(end[0] >= CUT_OFF * len(numbers) and end[0] > end[-1] for end in lowest_and_next if len(end) > 1)


def _no_noise(session: Session, claims: Claims) -> str | None:
    return None if claims.noise_epsilon is not None else "no noise is claimed"


NOISE_LAWS = (
    Law(
        "noise-is-as-large-as-claimed",
        "Released numbers, counts or changed values carry at least the noise of the claimed ε.",
        "Half of the noise is twice the ε.",
        _noise_suffices,
        "draws",
        error_rate=NOISE_RATE,
        skipped=_no_noise,
        needs_rows=False,
    ),
)
