"""All metrics of one release as plain data: the whole of it, and where each number comes from.

    classes        rows with the same quasi-identifiers as printed            -> k, discernibility, average class size
    secrets        the sensitive values of the classes                        -> l, t, discrimination rate
    cells          what a cell means, read against the domain of its column   -> lost leaves, certainty penalty
    the original   D itself, where it is given                                -> t against D, missing rows, untrue cells

The domain of a column is that of the original; without it, what is declared: a hierarchy, an order, values, or whole
numbers from min to max. What cannot be measured is None, and `notes` says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.measuring.metrics.classes import Classes
from harness.measuring.metrics.discrimination import rate
from harness.measuring.metrics.domains import declared_reading
from harness.measuring.metrics.loss import cell_losses, is_suppressed, sizes, untrue
from harness.measuring.metrics.secrets import (
    Plain,
    SecretColumn,
    secret_metrics,
    worst_closeness,
    worst_diversity,
)
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError, ReleaseError
from harness.vocabulary.lexicon import CellIds, Lexicon, cell_ids
from harness.vocabulary.plain_numbers import plain_number
from harness.vocabulary.release import require_columns, weights_of
from harness.vocabulary.schema import Schema
from harness.vocabulary.table import Cells, Table

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class MeasuredRelease:
    """A release and what is known about it: the rows that count, their classes, and the original."""

    schema: Schema
    table: Table
    classes: Classes
    original: Dataset | None
    cells: tuple[CellIds | None, ...]  # per quasi-identifier; None where its domain is not known
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, table: Table, schema: Schema, original: Dataset | None, lexicons: Sequence[Lexicon | None] | None = None
    ) -> MeasuredRelease:
        """A release, read; raises a ReleaseError for what cannot be. `lexicons` of its columns that have read it."""
        require_columns(schema, table)
        weights, notes = weights_of(schema, table)
        if weights is not None:
            table, weights = table.taking(weights > 0), weights[weights > 0]
        if not table.rows:
            raise InputError("the release has no rows that count; there is nothing to measure")
        columns = [table.column(column.name) for column in schema.quasi]
        classes = Classes.of(columns, weights)
        known = _lexicons(schema, original) if lexicons is None else lexicons
        cells = tuple(
            None if lexicon is None else cell_ids(lexicon, column)
            for lexicon, column in zip(known, columns, strict=True)
        )
        return cls(schema, table, classes, original, cells, (*notes, *_unread(schema, cells)))

    def metrics(self) -> Plain:
        """Every metric but utility."""
        secrets = {secret.column.name: self._about(secret) for secret in self.secrets()}
        signs = self.schema.suppressed or ()
        suppressed = np.stack(
            [is_suppressed(cells, read, signs) for cells, read in zip(self._quasi, self.cells, strict=True)]
        )
        shows_nothing: Flags = np.logical_and.reduce(suppressed)
        names = [column.name for column in self.schema.quasi]
        unmatched = [] if self.original is None else list(self._why_unmatched(self.original))
        return {
            "rows": self.table.rows,
            "classes": len(self.classes.sizes),
            **sizes(self.classes, shows_nothing, None if self.original is None else self.original.size),
            "suppressed_cells": self.classes.total(suppressed.mean(axis=0)) / self.classes.people,
            "l": worst_diversity([each["l"] for each in secrets.values()]),
            "t": worst_closeness([each["t"] for each in secrets.values()]),
            "secrets": secrets,
            **cell_losses(dict(zip(names, self.cells, strict=True)), self.classes),
            "outside": None if self.original is None or unmatched else untrue(self.cells, self.original.codes),
            "notes": [*self.notes, *(f"untrue cells are not looked for, because {reason}" for reason in unmatched)],
        }

    @property
    def _quasi(self) -> list[Cells]:
        return [self.table.column(column.name) for column in self.schema.quasi]

    def secrets(self) -> Iterator[SecretColumn]:
        """Each sensitive column."""
        for column in self.schema.sensitive:
            before = None if self.original is None else self.original.table.column(column.name)
            yield SecretColumn.of(column, self.table.column(column.name), before, self.schema.suppressed or ())

    def _about(self, secret: SecretColumn) -> Plain:
        """ℓ, t and discrimination rates of one sensitive column."""
        by = {
            column.name: rate(secret.released(Classes.of([cells], self.classes.weights)))
            for column, cells in zip(self.schema.quasi, self._quasi, strict=True)
        }
        together = rate(secret.released(self.classes))
        return {**secret_metrics(secret, self.classes), "discrimination_rate": {"by": by, "all": together}}

    def _why_unmatched(self, original: Dataset) -> Iterator[str]:
        """Why the rows of the release cannot be matched with those of the original; nothing where they can.

        They can where the release has as many rows, with the same sensitive values in the same order.
        """
        secrets = list(self.secrets())
        if self.classes.weights is not None:
            yield "rows of the release stand for several people"
        elif self.table.rows != original.size:
            yield f"the release has {self.table.rows} rows and the original {original.size}"
        elif not all(_is_in_order(secret) for secret in secrets):
            yield "the sensitive values of the release are not those of the original in their order"
        elif all(len(np.unique(secret.codes)) == 1 for secret in secrets):
            yield "all sensitive values are equal, which tells nothing about the order of rows"
        elif None in self.cells:
            yield "the cells of a column cannot be read"


def _is_in_order(secret: SecretColumn) -> bool:
    return secret.original is not None and np.array_equal(secret.codes, secret.original)


def _lexicons(schema: Schema, original: Dataset | None) -> Iterator[Lexicon | None]:
    """How the cells of each quasi-identifier are read; None where its values are not known."""
    signs = frozenset(schema.suppressed or ())
    for number, column in enumerate(schema.quasi):
        reading = declared_reading(column) if original is None else original.readings[number]
        if reading is None:
            yield None
        else:
            yield Lexicon(column.name, replace(reading, suppressed=signs), column.hierarchy)


def measurable_lexicons(table: Table, schema: Schema, original: Dataset | None) -> list[Lexicon | None]:
    """The same; None also where a cell of the column cannot be read."""
    return [
        lexicon if lexicon is not None and _can_read(lexicon, table.column(lexicon.name)) else None
        for lexicon in _lexicons(schema, original)
    ]


def _can_read(lexicon: Lexicon, cells: Cells) -> bool:
    try:
        cell_ids(lexicon, cells)
    except ReleaseError:
        return False
    return True


def _unread(schema: Schema, cells: Sequence[CellIds | None]) -> list[str]:
    return [
        f"column {column.name!r}: lost leaves and certainty penalty are not measured, because its values are not "
        "known or a cell cannot be read; give the original, and declare the kind and the hierarchy of the column"
        for column, read in zip(schema.quasi, cells, strict=True)
        if read is None
    ]


def plain_metrics(metrics: Plain) -> Plain:
    """The same as JSON can hold it: an infinite number is the text "inf"."""
    return {name: _plain(value) for name, value in metrics.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return plain_metrics(value)
    return plain_number(value) if isinstance(value, float) else value
