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
    columns = [by] if isinstance(by, str) else list(by)
    if not columns:
        raise InputError("by names no column; name at least one")
    for name in (of, *columns):
        if name not in df.columns:
            raise InputError(f"the table has no column {name!r}; {did_you_mean(str(name), map(str, df.columns))}")
    if not len(df):
        raise InputError("the table has no rows; a discrimination rate needs at least one")
    sought = Cells.of(df[of])
    cells = [Cells.of(df[name]) for name in columns]
    codes = printed_codes(sought if partition is None else mapped(sought, partition, of))
    counts = Classes.of(cells).counts(codes, int(codes.max()) + 1)
    if value is None:
        return rate(counts)
    return rate_of_class(counts, int(Classes.of(cells).ids[_row_with(cells, columns, value)]))


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
    whole = _entropy(counts.sum(axis=0))
    return 0.0 if whole == 0 else _within(1 - sum(map(_weighted, counts)) / counts.sum() / whole)


def rate_of_class(counts: Floats, number: int) -> float:
    """1 - P(y) H(X|Y=y) / H(X) for one value y."""
    whole = _entropy(counts.sum(axis=0))
    return 0.0 if whole == 0 else _within(1 - _weighted(counts[number]) / counts.sum() / whole)


def _weighted(counts: Floats) -> float:
    """n H, in nats, of n observations."""
    shown = counts[counts > 0]
    total = shown.sum()
    return float(-(shown * np.log(shown / total)).sum()) if total else 0.0


def _entropy(counts: Floats) -> float:
    total = float(counts.sum())
    return _weighted(counts) / total if total else 0.0


def _within(rate: float) -> float:
    """From 0 to 1: rounding may leave it by a few bits."""
    return min(max(rate, 0.0), 1.0)


def _row_with(cells: Sequence[Cells], columns: Sequence[str], value: Any) -> int:
    """The first row that shows this value."""
    wanted = value if isinstance(value, tuple) else (value,)
    if len(wanted) != len(columns):
        raise InputError(f"value has {len(wanted)} cells, but by names {len(columns)} columns; give one cell for each")
    rows = np.ones(len(cells[0].codes), dtype=bool)
    for name, column, cell in zip(columns, cells, wanted, strict=True):
        texts = [cell_text(one) for one in column.palette.tolist()]
        if cell_text(cell) not in texts:
            hint = did_you_mean(cell_text(cell)[:80], texts[:50])
            raise InputError(f"column {name!r}: no row shows {cell!r:.80}; {hint}")
        rows &= column.codes == texts.index(cell_text(cell))
    if not rows.any():
        raise InputError(f"no row shows {value!r:.80} together: the class is empty; name cells of one row")
    return int(np.argmax(rows))
