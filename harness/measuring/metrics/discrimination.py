"""Discrimination rate (Sondeck et al. 2017): how much of the uncertainty about X the key attributes Y take away.

    of attributes    DR_X(Y1, …, Yn) = 1 - H(X | Y1, …, Yn) / H(X)                       Definitions 3 and 4
    of one value     1 - P(y) H(X | Y = y) / H(X): the form that the published tables follow
    semantic         the same after X was mapped through a partition of its values       Definition 7

0: Y says nothing about X; 1: Y says everything. Where X has one value only there is nothing to find out: 0.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from harness.measuring.metrics.classes import Classes, Floats, printed_codes
from harness.vocabulary.errors import InputError, did_you_mean
from harness.vocabulary.table import Cells
from harness.vocabulary.values.atoms import cell_text


def discrimination_rate(
    df: pd.DataFrame,
    of: str,
    by: str | Sequence[str],
    value: Any = None,
    partition: Mapping[Any, Hashable] | None = None,
) -> float:
    """How much the columns `by` say about the column `of`, from 0 to 1.

    `value`: of one cell of `by`, or of a tuple with one cell for each column. `partition` maps every value of `of` to
    what an attacker takes it for.
    """
    columns = [by] if isinstance(by, str) else _listed(by)
    cells, classes, counts = _counted(df, of, columns, partition)
    if value is None:
        return rate(counts)
    return rate_of_class(counts, int(classes.ids[_row_with(cells, columns, value)]))


def rates_of_values(
    df: pd.DataFrame, of: str, by: Sequence[str], partition: Mapping[Any, Hashable] | None = None
) -> list[dict[str, Any]]:
    """The discrimination rate of every value that the columns `by` have together, the highest first."""
    cells, classes, counts = _counted(df, of, by, partition)
    rows = np.unique(classes.ids, return_index=True)[1].tolist()
    shown = [[cell_text(column.taking(slice(row, row + 1)).values()[0]) for column in cells] for row in rows]
    rates: list[dict[str, Any]] = [
        {"value": value, "rate": rate_of_class(counts, number)} for number, value in enumerate(shown)
    ]
    return sorted(rates, key=lambda each: (-each["rate"], each["value"]))


def _listed(by: Any) -> list[str]:
    if not isinstance(by, Sequence | pd.Index):
        raise InputError(f"by must name a column or list several, not {by!r:.80}")
    return list(by)


def _counted(
    df: pd.DataFrame, of: str, by: Sequence[str], partition: Mapping[Any, Hashable] | None
) -> tuple[list[Cells], Classes, Floats]:
    """The columns `by`, their classes, and how often each value of `of` occurs in each.  # counts [classes, values]"""
    if not isinstance(df, pd.DataFrame):
        raise InputError(f"the table must be a DataFrame, not a {type(df).__name__}")
    if not isinstance(partition, Mapping | None):
        raise InputError(f"the partition must map every value of {of!r} to its group, not a {type(partition).__name__}")
    if not len(by):
        raise InputError("by names no column; name at least one")
    if not isinstance(of, Hashable):
        raise InputError(f"of must name one column, not {of!r:.80}")
    for name in (of, *by):
        if name not in df.columns:
            raise InputError(f"the table has no column {name!r}; {did_you_mean(str(name), map(str, df.columns))}")
        if (df.columns == name).sum() > 1:
            raise InputError(f"column {name!r} occurs more than once in the table; rename one of them")
    if not len(df):
        raise InputError("the table has no rows; a discrimination rate needs at least one")
    sought = Cells.of(df[of])
    codes = printed_codes(sought if partition is None else mapped(sought, partition, of))
    cells = [Cells.of(df[name]) for name in by]
    classes = Classes.of(cells)
    return cells, classes, classes.counts(codes, int(codes.max()) + 1)


def mapped(cells: Cells, partition: Mapping[Any, Hashable], name: str) -> Cells:
    """The column after a semantic partition; a value that it leaves out is refused."""
    known = {cell_text(value): group for value, group in partition.items()}
    values = [cell_text(cell) for cell in cells.palette.tolist()]
    missing = next((value for value in values if value not in known), None)
    if missing is not None:
        raise InputError(
            f"the partition of {name!r} does not say where {missing!r:.80} belongs; {did_you_mean(missing[:80], known)}"
        )
    return Cells(np.array([str(known[value]) for value in values], dtype=object), cells.codes)


def rate(counts: Floats) -> float:
    """1 - H(X|Y)/H(X), from how often each value of X occurs with each of Y.  # counts [Y, X]"""
    whole = _weighted(counts.sum(axis=0, keepdims=True))[0]
    return 0.0 if whole == 0 else _within(1 - float(_weighted(counts).sum() / whole))


def rate_of_class(counts: Floats, number: int) -> float:
    """1 - P(y) H(X|Y=y) / H(X) for one value y."""
    whole = _weighted(counts.sum(axis=0, keepdims=True))[0]
    return 0.0 if whole == 0 else _within(1 - float(_weighted(counts[[number]])[0] / whole))


def _weighted(counts: Floats) -> Floats:
    """n H of each row of n observations, in nats.  # [rows]"""
    totals = counts.sum(axis=1, keepdims=True)
    logs = np.log(np.divide(counts, totals, out=np.ones_like(counts), where=counts > 0))
    weighted: Floats = -(counts * logs).sum(axis=1)
    return weighted


def _within(rate: float) -> float:
    """From 0 to 1: rounding may leave it by a few bits."""
    return min(max(rate, 0.0), 1.0)


def _row_with(cells: Sequence[Cells], columns: Sequence[str], value: Any) -> int:
    """The first row that shows this value."""
    wanted = value if isinstance(value, tuple | list) else (value,)
    if len(wanted) != len(columns):
        raise InputError(f"value has {len(wanted)} cells, but by names {len(columns)} columns; give one cell for each")
    rows = np.ones(len(cells[0].codes), dtype=bool)
    for name, column, cell in zip(columns, cells, wanted, strict=True):
        shows = _shows(column, cell_text(cell))
        if not shows.any():
            hint = did_you_mean(cell_text(cell)[:80], [cell_text(one) for one in column.palette.tolist()][:50])
            raise InputError(f"column {name!r}: no row shows {cell!r:.80}; {hint}")
        rows &= shows
    if not rows.any():
        raise InputError(f"no row shows {value!r:.80} together: the class is empty; name cells of one row")
    return int(np.argmax(rows))


def _shows(column: Cells, text: str) -> npt.NDArray[np.bool_]:
    """Whether each row shows this text.  # [rows]"""
    alike = [cell_text(one) == text for one in column.palette.tolist()]
    return np.array([*alike, text == ""], dtype=bool)[column.codes]  # a missing cell's -1 picks the last entry
