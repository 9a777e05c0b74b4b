"""The law about row order, judged by a test with a stated error rate.

The rows of a table are given in random orders. If the order in which rows of one class come back says
nothing about the values that the class hides, the m rows of a class that can be told apart by their sensitive values
stand in any of m! orders with equal chance. That they stand in the order of a hidden column every time has the
probability ∏ 1/m! over all classes and orders asked, times two directions and the number of columns.
"""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np

from harness.testing.asking import Rows, Session, Trial
from harness.testing.claims import Claims
from harness.testing.law import Law
from harness.testing.release_laws import readable

ORDER_RATE = 1e-4
MOST_ORDERS = 16  # asked about one table


def _hides_order(session: Session, claims: Claims, rows: Rows) -> str | None:
    """Asks about the rows in random orders until the order of a hidden column is no accident, or was not kept.

    Sensitive values are dealt out anew each time: an order of theirs, which everybody sees, hides nothing.
    """
    random_orders = random.Random(f"{session.seed}, {len(rows)} rows")
    columns = range(len(session.domains.schema.quasi))
    chances = {(column, direction): 0.0 for column in columns for direction in (1, -1)}  # logarithms
    goal = math.log(ORDER_RATE / len(chances))
    for _ in range(MOST_ORDERS):
        if not chances:
            return None
        trial = readable(session, _dealt_anew(rows, len(columns), random_orders))
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


def _rows_cannot_be_told_apart(session: Session, claims: Claims) -> str | None:
    if claims.changes_cells or claims.keeps_sensitive is False:
        return "values are changed, so that released rows cannot be told apart by them"
    return None


ORDER_LAWS = (
    Law(
        "row-order-hides-values",
        "The order of released rows says nothing about the values that their class hides.",
        "Rows that are sorted before they are generalised tell who of a class is the youngest.",
        _hides_order,
        "orders",
        error_rate=ORDER_RATE,
        skipped=_rows_cannot_be_told_apart,
    ),
)
