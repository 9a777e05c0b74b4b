"""The law about noise: released numbers, counts and sensitive values carry the noise of the claimed ε.

Two neighbouring tables are drawn many times, and one number of each release is read:

    a number   one row, whose number lies at either end of its declared range Δ
    a count    many rows that are the same, and one row less (Δ = 1); counted by f, or counted here where f releases
               as many invented rows as its noisy count says
    a value    one row with one or the other sensitive value, where f is said to change these; 1 if the first came back

What differs between the tables bounds the ε of differential privacy from below (`measuring.privacy_loss`; of a value,
whose event is known beforehand, by exact binomial limits). Where a number is not cut off at the ends of its range, the
size of the noise is judged too: were noise that is added to a number ε-differentially private, it would lie in a window
of width mΔ around 0 with probability at most tanh(mε/2). For the windows of that width beside it have at least
e^(−mε|j|) times its probability, and all of them together at most 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import beta, binom

from harness.measuring.privacy_loss import least_privacy_loss
from harness.testing.asking import Answer, OutOfBudget, Rows, Session, Trial
from harness.testing.claims import Claims
from harness.testing.domains import Cell
from harness.testing.generating import Row
from harness.testing.law import Law, SaysNothing
from harness.vocabulary.release import WEIGHT_NAMES
from harness.vocabulary.table import Table

Floats = npt.NDArray[np.float64]
NOISE_RATE = 0.01
MOST_DRAWS = 240  # of both sides together, of an f that releases rows
FEWEST_DRAWS = 20  # a side
PREDICTIONS = 4_000  # draws a side of an f that releases predictions, which come in one answer
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
        return _too_little(claims.noise_epsilon, *_predictions(session, rows), delta)
    pairs = [pair for pair in _neighbours(session, claims, rows) if _is_shown(session, pair)]
    judged = False
    for number, pair in enumerate(pairs):
        each = min(MOST_DRAWS, session.budget.left // (len(pairs) - number)) // 2
        if each < FEWEST_DRAWS:
            raise OutOfBudget
        sides = [_numbers(session, pair, side, each) for side in (0, 1)]
        if min(map(len, sides)) < FEWEST_DRAWS or not np.ptp(np.concatenate(sides)):
            continue  # it was refused, or is always the same
        judged = True
        reason = _judged(claims.noise_epsilon, delta, pair, sides)
        if reason is not None:
            return f"{pair.what}: {reason}"
    if not judged:
        raise SaysNothing("f releases no number, count or changed value that the noise can be seen in")
    return None


def _judged(epsilon: float, delta: float, pair: _Neighbours, sides: Sequence[Floats]) -> str | None:
    if pair.reach is None:
        return _too_often(epsilon, delta, sides)
    reason = _too_little(epsilon, sides[0], sides[1], delta)
    return reason or (None if delta else _too_small(epsilon, pair, pair.reach, sides))


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
    if counted is not None and _weights(session, counted) is not None:
        yield _Neighbours("the number of rows", copies, _largest_count, truths, 1.0)
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


def _largest_count(session: Session, rows: Rows, answer: Answer) -> float | None:
    """The count of the only group that has people."""
    return None if answer.release is None else _largest(_weights(session, answer.release))


def _rows_like_the_first(session: Session, rows: Rows, answer: Answer) -> float | None:
    """How many released rows may stand for the row that all rows of the table are."""
    trial = Trial(session.domains.dataset(rows), rows, answer)
    if trial.microdata is None:
        return None
    return float(np.count_nonzero((trial.covers & trial.shows_secret)[:, 0] & ~trial.suppressed))


def _reading(name: str) -> Callable[[Session, Rows, Answer], float | None]:
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


def _weights(session: Session, release: Table) -> Floats | None:
    """The column that counts rows; None if there is none."""
    name = session.domains.schema.weight or next((one for one in release.names if one.lower() in WEIGHT_NAMES), None)
    return None if name is None else _column(release, name)


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


def _too_little(epsilon: float, present: Floats, absent: Floats, delta: float) -> str | None:
    loss = least_privacy_loss(present, absent, alpha=NOISE_RATE / 4, delta=delta)
    if loss.epsilon <= epsilon:
        return None
    return f"releases of two tables differ more than ε = {loss.epsilon:.3g} allows; ε = {epsilon:g} is claimed"


def _too_often(epsilon: float, delta: float, sides: Sequence[Floats]) -> str | None:
    """Whether a value comes back too often where it is the true one (limits of Clopper and Pearson, 1934)."""
    hits, draws = [int(side.sum()) for side in sides], [len(side) for side in sides]
    least = beta.ppf(NOISE_RATE / 8, hits[0], draws[0] - hits[0] + 1) if hits[0] else 0.0
    most = beta.ppf(1 - NOISE_RATE / 8, hits[1] + 1, draws[1] - hits[1]) if hits[1] < draws[1] else 1.0
    if least <= math.exp(min(epsilon, 700.0)) * most + delta:
        return None
    return (
        f"a value came back {hits[0]} of {draws[0]} times where it is true and {hits[1]} of {draws[1]} times where it "
        f"is not; ε = {epsilon:g} does not allow that"
    )


def _too_small(epsilon: float, pair: _Neighbours, reach: float, sides: Sequence[Floats]) -> str | None:
    """Whether more of the noise lies near 0 than any noise of that ε allows: an exact binomial test of each side."""
    numbers = np.concatenate(sides)
    if pair.ends is not None and numbers.min() >= pair.ends[0] and numbers.max() <= pair.ends[1]:
        return None  # it may be cut off at the ends, which is allowed and leaves more of it near 0
    windows = max(1, round(1 / epsilon)) if epsilon > 0 else 1
    most = math.tanh(windows * epsilon / 2)
    half = windows * reach / 2
    if np.diff(np.unique(numbers)).min() > 2 * half:
        return None  # rounded more coarsely than the window is wide: that, too, leaves more of it near 0
    noise = np.concatenate([side - truth for side, truth in zip(sides, pair.truths, strict=True)])
    near = int(np.count_nonzero((noise >= -half) & (noise < half)))
    if binom.sf(near - 1, len(noise), most) > NOISE_RATE / 4:
        return None
    return (
        f"{near} of {len(noise)} times the noise was smaller than {half:g}; noise of ε = {epsilon:g} is so in "
        f"{most:.0%} of all times at the most"
    )


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
