"""What a release lost: discernibility, class sizes, suppression, lost leaves, certainty penalty, untrue cells.

    discernibility       sum of |class|^2 over the classes, and |D| for every suppressed row (Bayardo & Agrawal 2005)
    average class size   people / classes; C_avg = that / k (LeFevre et al. 2006)
    suppressed           rows of which every quasi-identifier is suppressed, and rows of the original that are missing

The others add up what `cells` says of single cells.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.measuring.metrics.cells import certainty_penalty, lost_leaves, outside
from harness.measuring.metrics.classes import Classes, shows_nothing
from harness.vocabulary.lexicon import CellIds
from harness.vocabulary.table import Cells
from harness.vocabulary.values import Suppressed
from harness.vocabulary.values.atoms import cell_text

Plain = dict[str, Any]


def is_suppressed(cells: Cells, read: CellIds | None, signs: Collection[str]) -> npt.NDArray[np.bool_]:
    """Whether each row's cell says nothing.  # [rows]

    Where the column could not be read, as far as its text says so.
    """
    if read is not None:
        known = [isinstance(read.lexicon.value(int(number)), Suppressed) for number in read.ids]
        return np.array(known, dtype=bool)[read.codes]
    flags = [shows_nothing(cell_text(cell), (), signs) for cell in cells.palette.tolist()]
    return np.array([*flags, True], dtype=bool)[cells.codes]  # a missing cell's -1 picks the last entry


def sizes(classes: Classes, suppressed: npt.NDArray[np.bool_], people: float | None) -> Plain:
    """What follows from the classes alone; `suppressed` are the rows that show nothing, `people` those of D."""
    k = float(classes.sizes.min())
    shown = classes.total(suppressed)
    missing = 0.0 if people is None else max(people - classes.people, 0.0)
    hidden = np.bincount(classes.ids, suppressed, len(classes.sizes)) > 0  # a row of them shows nothing: all do
    everybody = classes.people if people is None else max(people, classes.people)
    return {
        "k": counted(k),
        "discernibility": counted(float((classes.sizes[~hidden] ** 2).sum()) + (shown + missing) * everybody),
        "average_class_size": classes.people / len(classes.sizes),
        "c_avg": classes.people / len(classes.sizes) / k,
        "suppressed": counted(shown + missing),
    }


def counted(number: float) -> int | float:
    """A whole number as one: people are counted, unless weights are broken."""
    return int(number) if float(number).is_integer() else number


def cell_losses(columns: Mapping[str, CellIds | None], classes: Classes) -> Plain:
    """Lost leaves and certainty penalty, summed over rows and columns; None where a domain is not known."""
    kinds = {"lost_leaves": lost_leaves, "normalized_certainty_penalty": certainty_penalty}
    by_column: Plain = {
        name: {kind: None if column is None else classes.total(of(column)) for kind, of in kinds.items()}
        for name, column in columns.items()
    }
    sums = {kind: _total([each[kind] for each in by_column.values()]) for kind in kinds}
    cells = classes.people * len(columns)
    means = {f"mean_{kind}": None if total is None else total / cells for kind, total in sums.items()}
    return {**sums, **means, "columns": by_column}


def _total(sums: Sequence[float | None]) -> float | None:
    return None if None in sums else float(sum(each for each in sums if each is not None))


def untrue(columns: Sequence[CellIds | None], original: Sequence[npt.NDArray[np.int32]]) -> Plain:
    """The share of cells, and of rows with such a cell, that do not cover the value their row has in the original.

    `original` has the positions of the values in their domains: quasi-identifiers first, in the order of the columns.
    """
    read = [column for column in columns if column is not None]
    missed = np.stack([outside(column, codes) for column, codes in zip(read, original, strict=False)])
    return {"cells": float(missed.mean()), "rows": float(missed.any(axis=0).mean())}
