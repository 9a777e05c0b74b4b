"""Proportional output (Proportional Representation, Section III): how the original values of a class are shared out.

    M(l, v) = rows of l's class whose original value lies under v / rows of the class        equation (1)

For that the original and the class of every row must be known, so it is an output format of an anonymizer, not
something that can be worked out from a release. A class is the rows with the same cells as printed. It travels as text
in the cells themselves (harness.vocabulary.values.shares), through every transport; who does not know it refuses it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pandas as pd

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError
from harness.vocabulary.release import require_columns
from harness.vocabulary.schema import Schema
from harness.vocabulary.table import Cells, Table
from harness.vocabulary.values import Raw
from harness.vocabulary.values.shares import show_with_shares
from oracles.reference.axes import Ints, Longs, joint_ranks

MOST_TEXTS = 1 << 16


def proportional(original: pd.DataFrame, release: pd.DataFrame, schema: Schema) -> pd.DataFrame:
    """A release with the shares of its classes, from the original; row for row the same people."""
    data, table = Dataset.from_frame(original, schema, missing="keep"), Table.from_frame(release)
    require_columns(schema, table)
    if table.rows != data.size:
        raise InputError(
            f"the release has {table.rows} rows and the original {data.size}; expected the same people, row for row"
        )
    return with_shares(table.selecting(schema.names), data, np.arange(data.size)).to_frame().set_axis(release.index)


def with_shares(table: Table, data: Dataset, records: Longs) -> Table:
    """A release with the shares of its classes in the cells of quasi-identifiers; each row is of one record of D.

    `records` are their numbers.  # [rows]
    """
    quasi = [column.name for column in data.schema.quasi]
    released = [table.column(name) for name in quasi]
    classes = joint_ranks([cells.codes + 1 for cells in released])
    shared = {
        name: _shared(cells, classes, codes[records], reading.domain)
        for name, cells, codes, reading in zip(quasi, released, data.codes, data.readings, strict=False)
    }
    columns = tuple(shared.get(name, cells) for name, cells in zip(table.names, table.columns, strict=True))
    return Table(table.names, columns, table.notes)


def _shared(cells: Cells, classes: Longs, codes: Ints, domain: tuple[Raw, ...]) -> Cells:
    """One column: every class has a cell of its own, and classes that print alike share it."""
    first = np.unique(classes, return_index=True)[1]
    plain = [None if code < 0 else cells.palette[code] for code in cells.codes[first]]
    texts = [
        _text("" if cell is None else str(cell), counts)
        for cell, counts in zip(plain, _counts(classes, codes, domain), strict=True)
    ]
    return Cells.of(np.array(texts, dtype=object)[classes])


def _counts(
    classes: Longs, codes: npt.NDArray[np.integer], domain: tuple[Raw, ...]
) -> Iterator[tuple[tuple[Raw, int], ...]]:
    """How often each class has each value, class by class, in the order of the domain."""
    pairs, counts = np.unique(classes * len(domain) + codes, return_counts=True)
    owners, values = np.divmod(pairs, len(domain))
    ends = np.searchsorted(owners, np.arange(int(owners[-1]) + 2) if len(owners) else np.zeros(1, dtype=np.intp))
    raws, numbers = [domain[value] for value in values.tolist()], counts.tolist()
    for begin, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        yield tuple(zip(raws[begin:end], numbers[begin:end], strict=True))


@lru_cache(MOST_TEXTS)  # an oracle prints the same few thousand cells for D and for every D⁻ⁱ
def _text(plain: str, counts: tuple[tuple[Raw, int], ...]) -> str:
    return show_with_shares(plain, dict(counts))
