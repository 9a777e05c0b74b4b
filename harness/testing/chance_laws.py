"""Laws that only chance can break by accident: judged by tests with a stated error rate.

**Row order.** The rows of a table are given in random orders. If the order in which rows of one class come back says
nothing about the values that the class hides, the m rows of a class that can be told apart by their sensitive values
stand in any of m! orders with equal chance. That they stand in the order of a hidden column every time has the
probability ∏ 1/m! over all classes and orders asked, times two directions and the number of columns.

**Noise.** Two tables differ in one number, which lies at either end of its declared range Δ, or in one row of many
that are the same (Δ = 1, where releases count rows). Their released numbers bound the ε of differential privacy from
below (`measuring.privacy_loss`). Where numbers are not cut off at the ends of the range, the size of the noise is
judged too: were noise that is added to a number ε-differentially private, it would lie in a window of width mΔ around 0
with probability at most tanh(mε/2). For the windows of that width beside it have at least e^(−mε|j|) times its
probability, and all of them together at most 1.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import binom

from harness.measuring.privacy_loss import least_privacy_loss
from harness.testing.asking import OutOfBudget, Rows, Session, Trial
from harness.testing.claims import Claims
from harness.testing.law import Law
from harness.vocabulary.release import WEIGHT_NAMES
from harness.vocabulary.table import Table

Floats = npt.NDArray[np.float64]
ORDER_RATE = 1e-4
NOISE_RATE = 0.01
MOST_ORDERS = 16  # asked about one table
MOST_DRAWS = 240  # of both sides together, of an f that releases rows
FEWEST_DRAWS = 20  # a side
PREDICTIONS = 4_000  # draws a side of an f that releases predictions, which come in one answer
COPIES = 60  # rows that are the same, in a table whose count is noisy
SEEDS_APART = 1_000_003


def _hides_order(session: Session, claims: Claims, rows: Rows) -> str | None:
    """Asks about the rows in random orders until the order of a hidden column is no accident, or was not kept.

    Sensitive values are dealt out anew each time: an order of theirs, which everybody sees, hides nothing.
    """
    random_orders = random.Random(f"{session.seed}, {len(rows)} rows")
    columns = range(len(session.domains.schema.quasi))
    chances = {(column, direction): 0.0 for column in columns for direction in (1, -1)}  # logarithms
    goal = math.log(ORDER_RATE / len(chances))
    for _ in range(MOST_ORDERS):
        trial = session.trial(_dealt_anew(rows, len(columns), random_orders))
        if trial.microdata is None or not chances:
            return None
        chances = {key: chance + _log_chance(trial, *key) for key, chance in chances.items()}
        chances = {key: chance for key, chance in chances.items() if chance > -math.inf}
        if not any(chance < 0 for chance in chances.values()):
            return None  # classes show nothing, or were never in a hidden order
        reached = next((key for key, chance in chances.items() if chance <= goal), None)
        if reached is not None:
            name = session.domains.schema.quasi[reached[0]].name
            return f"whatever the order of the rows given, released rows of a class stand in the order of {name!r}"
    return None


def _dealt_anew(rows: Rows, quasi: int, random_orders: random.Random) -> Rows:
    """The rows in another order, with each other's sensitive values."""
    known, secrets = [row[:quasi] for row in rows], [row[quasi:] for row in rows]
    random_orders.shuffle(known)
    random_orders.shuffle(secrets)
    return tuple((*row, *secret) for row, secret in zip(known, secrets, strict=True))


def _log_chance(trial: Trial, column: int, direction: int) -> float:
    """The logarithm of the chance of the order seen; minus infinity if it is not the order of the column."""
    reading, codes = trial.data.readings[column], trial.data.codes[column]
    raws: list[Any] = [code if reading.kind == "ordered" else reading.domain[code] for code in codes.tolist()]
    total = 0.0
    for hidden in _told_apart(trial, column):
        values = [raws[row] for row in hidden]
        if values != sorted(values, reverse=direction < 0):
            return -math.inf
        total -= math.lgamma(len(values) + 1)
    return total


def _told_apart(trial: Trial, column: int) -> list[list[int]]:
    """For each class, its rows of the table in the order of release, where sensitive values tell which is which."""
    possible = trial.covers & trial.shows_secret
    found: list[list[int]] = []
    for number in np.unique(trial.classes):
        mine = np.flatnonzero(trial.classes == number)
        partners = [np.flatnonzero(possible[row]) for row in mine]
        rows = [int(each[0]) for each in partners if len(each) == 1]
        values = {trial.data.codes[column][row] for row in rows}
        if len(rows) > 1 and len(set(rows)) == len(rows) == len(values):
            found.append(rows)
    return found


@dataclass(frozen=True)
class _Neighbours:
    """Two tables whose releases of one number differ by `reach` at the most, before noise."""

    column: str | None  # None: the number of rows
    tables: tuple[Rows, Rows]
    truths: tuple[float, float]
    reach: float  # Δ
    ends: tuple[float, float]  # between which a number may be cut off


def _noise_suffices(session: Session, claims: Claims, rows: Rows) -> str | None:
    assert claims.noise_epsilon is not None
    delta = session.card.noise_delta or 0.0
    if session.card.releases == "predictions":
        return _too_little(claims.noise_epsilon, *_predictions(session, rows), delta)
    pairs = [pair for pair in _neighbours(session, rows) if _holds_a_number(session, pair)]
    for number, pair in enumerate(pairs):
        each = min(MOST_DRAWS, session.budget.left // (len(pairs) - number)) // 2
        if each < FEWEST_DRAWS:
            raise OutOfBudget
        sides = [_numbers(session, pair, side, each) for side in (0, 1)]
        if min(map(len, sides)) < FEWEST_DRAWS or not np.ptp(np.concatenate(sides)):
            continue  # it was refused, or is always the same
        reason = _too_little(claims.noise_epsilon, sides[0], sides[1], delta)
        reason = reason or (None if delta else _too_small(claims.noise_epsilon, pair, sides))
        if reason is not None:
            return f"{'the number of rows' if pair.column is None else pair.column}: {reason}"
    return None


def _predictions(session: Session, rows: Rows) -> tuple[Floats, Floats]:
    """What f predicts about a row that stands three times in a table, with one of them left out and not."""
    table = (rows[0],) * 3 + tuple(rows[1:])
    present, absent = (
        session.predictions(table, 0, left, PREDICTIONS, seed=(2 * session.seed + 1 + left) * SEEDS_APART).rows
        for left in (False, True)
    )
    return present, absent


def _neighbours(session: Session, rows: Rows) -> Iterator[_Neighbours]:
    row = rows[0]
    many = session.trial((row,) * COPIES)
    if many.microdata is not None and many.microdata.weights is not None:
        yield _Neighbours(
            None, ((row,) * COPIES, (row,) * (COPIES - 1)), (COPIES, COPIES - 1), 1.0, (-math.inf, math.inf)
        )
    for place, domain in enumerate(session.domains.columns[: len(session.domains.schema.quasi)]):
        if domain.is_number and domain.low < domain.high:
            tables = [((*row[:place], domain.cell(end), *row[place + 1 :]),) for end in (domain.high, domain.low)]
            yield _Neighbours(
                domain.name,
                (tables[0], tables[1]),
                (domain.high, domain.low),
                domain.high - domain.low,
                (domain.low, domain.high),
            )


def _holds_a_number(session: Session, pair: _Neighbours) -> bool:
    """Whether a release shows the number that noise is to hide."""
    release = session.trial(pair.tables[0]).answer.release
    return release is not None and _column(release, _name(session, pair)) is not None


def _name(session: Session, pair: _Neighbours) -> str | None:
    return session.domains.schema.weight if pair.column is None else pair.column


def _numbers(session: Session, pair: _Neighbours, side: int, draws: int) -> Floats:
    """The released number of each draw: the cell of the only row, or the count of the only group that has people."""
    answers = session.draws(pair.tables[side], draws, seed=(2 * session.seed + 1 + side) * SEEDS_APART)
    numbers = []
    for answer in answers:
        cells = None if answer.release is None else _column(answer.release, _name(session, pair))
        if cells is not None and len(cells):
            numbers.append(cells.max())
    return np.array(numbers, dtype=np.float64)


def _column(release: Table, name: str | None) -> Floats | None:
    """A column of numbers, or the one that counts rows; None if it holds something else."""
    name = name or next((each for each in release.names if each.lower() in WEIGHT_NAMES), None)
    if name is None or name not in release.names:
        return None
    try:
        numbers = release.column(name).values().astype(np.float64)
    except (TypeError, ValueError):
        return None
    return numbers if np.isfinite(numbers).all() else None


def _too_little(epsilon: float, present: Floats, absent: Floats, delta: float) -> str | None:
    loss = least_privacy_loss(present, absent, alpha=NOISE_RATE / 4, delta=delta)
    if loss.epsilon <= epsilon:
        return None
    return f"releases of two tables differ more than ε = {loss.epsilon:.3g} allows; ε = {epsilon:g} is claimed"


def _too_small(epsilon: float, pair: _Neighbours, sides: Sequence[Floats]) -> str | None:
    """Whether more of the noise lies near 0 than any noise of that ε allows: an exact binomial test of each side."""
    numbers = np.concatenate(sides)
    if numbers.min() >= pair.ends[0] and numbers.max() <= pair.ends[1]:
        return None  # it may be cut off at the ends, which is allowed and leaves more of it near 0
    windows = max(1, round(1 / epsilon)) if epsilon > 0 else 1
    most = math.tanh(windows * epsilon / 2)
    half = windows * pair.reach / 2
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


CHANCE_LAWS = (
    Law(
        "noise-is-as-large-as-claimed",
        "Released numbers or counts carry at least the noise of the claimed ε.",
        "Half of the noise is twice the ε.",
        _noise_suffices,
        "draws",
        error_rate=NOISE_RATE,
        skipped=_no_noise,
        needs_rows=False,
    ),
    Law(
        "row-order-hides-values",
        "The order of released rows says nothing about the values that their class hides.",
        "Rows that are sorted before they are generalised tell who of a class is the youngest.",
        _hides_order,
        "orders",
        error_rate=ORDER_RATE,
    ),
)
