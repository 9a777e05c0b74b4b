"""Encoders of whole releases: one encoding per column, chosen by its kind. Knows no names but those it is given."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any

from harness.measuring.encoding.axis import axis_of
from harness.measuring.encoding.bins import NUMBER_KINDS, Bins, bin_label, binned
from harness.measuring.encoding.column import ColumnEncoding, bound
from harness.measuring.features import ColumnFeatures, Features, Target
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError
from harness.vocabulary.lexicon import CellIds
from harness.vocabulary.release import TrainingRows


class _ByColumn(ABC):
    """What the encoders share that choose an encoding for each column, and leave D as it is unless they say so."""

    @abstractmethod
    def choose(self, column: CellIds) -> ColumnEncoding:
        """The encoding of one column."""

    def prepare(self, data: Dataset) -> Dataset:
        return data

    def prepare_target(self, target: Target, data: Dataset) -> Target:
        return target

    def encode(self, rows: TrainingRows, target: Target | None) -> Features:
        raws = (None,) * len(rows.quasi) if target is None else target
        columns = zip(rows.quasi, raws, strict=True)
        return Features(tuple(self.choose(column).encode(column, raw) for column, raw in columns))

    def labels(self, column: CellIds, features: ColumnFeatures) -> tuple[str, ...]:
        return self.choose(column).labels(column)


@dataclass(frozen=True)
class PairEncoder(_ByColumn):
    """e_ij of v1 appendix A: one encoding for number and date columns, one for category and ordered ones."""

    name: str
    numbers: ColumnEncoding
    categories: ColumnEncoding

    @property
    def depends_on_target(self) -> bool:
        return self.numbers.relative or self.categories.relative

    def for_data(self, data: Dataset) -> PairEncoder:
        return replace(self, numbers=bound(self.numbers, data), categories=bound(self.categories, data))

    def choose(self, column: CellIds) -> ColumnEncoding:
        return self.numbers if column.lexicon.reading.kind in NUMBER_KINDS else self.categories

    def spec(self) -> dict[str, Any]:
        return {"name": self.name, **self.numbers.parameters(), **self.categories.parameters()}


@dataclass(frozen=True)
class QuantilesBeforeEncoder(_ByColumn):
    """e_4j: numbers are put into bins before f sees them, which then are categories like any other."""

    name: str
    categories: ColumnEncoding
    bins: Bins = field(default_factory=Bins)

    @property
    def depends_on_target(self) -> bool:
        return self.categories.relative

    def prepare(self, data: Dataset) -> Dataset:
        return binned(data, self.bins)

    def prepare_target(self, target: Target, data: Dataset) -> Target:
        """A target's raw values in the terms of the prepared data; `data` is D itself."""
        edges = self.bins.edges_of(data)
        columns = zip(data.schema.quasi, data.readings, target, strict=False)  # readings of sensitive columns follow
        return tuple(
            bin_label(raw, edges[column.name], axis_of(reading)) if column.name in edges else raw
            for column, reading, raw in columns
        )

    def for_data(self, data: Dataset) -> QuantilesBeforeEncoder:
        return replace(self, categories=bound(self.categories, data))

    def choose(self, column: CellIds) -> ColumnEncoding:
        if column.lexicon.reading.kind in NUMBER_KINDS:
            raise InputError(
                f"column {column.lexicon.name!r} holds {column.lexicon.reading.kind}s; {self.name} needs releases "
                "of the data that its prepare(data) returns"
            )
        return self.categories

    def spec(self) -> dict[str, Any]:
        return {"name": self.name, **self.bins.parameters(), **self.categories.parameters()}


@dataclass(frozen=True)
class HierarchyEncoder(_ByColumn):
    """Every column by the place of its cells in a hierarchy."""

    name: str
    columns: ColumnEncoding

    @property
    def depends_on_target(self) -> bool:
        return False

    def for_data(self, data: Dataset) -> HierarchyEncoder:
        return self

    def choose(self, column: CellIds) -> ColumnEncoding:
        return self.columns

    def spec(self) -> dict[str, Any]:
        return {"name": self.name}
