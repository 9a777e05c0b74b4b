"""D's domains as cells of a table, and cells as raw values."""

from __future__ import annotations

from typing import Any

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.schema import MISSING
from harness.vocabulary.table import Cells
from harness.vocabulary.values import Raw, Reading, Unreadable


def sensitive_cells(data: Dataset) -> tuple[Cells, ...]:
    """The sensitive columns of a table that holds each joint sensitive value once, in the order of the domain."""
    columns = zip(*data.sensitive_domain, strict=True)
    return tuple(Cells.of([None if raw == MISSING else raw for raw in column]) for column in columns)


def raw_of(reading: Reading, cell: Any) -> Raw | None:
    """The raw value of a cell; None if it cannot be one of this column."""
    if cell is None or cell != cell:
        return MISSING
    try:
        return reading.raw(cell)
    except Unreadable:
        return None
