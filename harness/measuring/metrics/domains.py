"""The values of a column as far as they are declared: for a release whose original is not given."""

from __future__ import annotations

from collections.abc import Sequence

from harness.vocabulary.hierarchy import MOST_LEAVES
from harness.vocabulary.schema import Column
from harness.vocabulary.values import Raw, Reading


def declared_reading(column: Column) -> Reading | None:
    """How the cells of a column are read by its declaration alone; None where that does not say its values."""
    untyped = column.untyped()
    raws = _declared(column, untyped)
    return column.reading(untyped, raws) if raws else None


def _declared(column: Column, untyped: Reading) -> Sequence[Raw]:
    if column.hierarchy is not None:
        return [untyped.raw(leaf) for leaf in column.hierarchy.leaves(column.hierarchy.root)]
    if column.order or column.values:
        return column.order or column.values
    if column.min is not None and column.max is not None and column.max - column.min <= MOST_LEAVES:
        whole = all(float(end).is_integer() for end in (column.min, column.max))
        return range(int(column.min), int(column.max) + 1) if whole else ()
    return ()
