"""Encoders of whole releases: one encoding per column, chosen by its kind. Knows no names but those it is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from harness.measuring.encoding.axis import axis_of
from harness.measuring.encoding.bins import NUMBER_KINDS, Bins, bin_label, binned
from harness.measuring.encoding.column import ColumnEncoding
from harness.measuring.encoding.hierarchies import Fill, Nodes
from harness.measuring.encoding.numbers import Quantiles
from harness.measuring.features import Encoder, Features, Target
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError
from harness.vocabulary.release import CellIds, TrainingRows

Choice = Callable[[CellIds], ColumnEncoding]


def _encode(rows: TrainingRows, target: Target | None, choose: Choice) -> Features:
    raws = (None,) * len(rows.quasi) if target is None else target
    columns = zip(rows.quasi, raws, strict=True)
    return Features(tuple(choose(column).encode(column, raw) for column, raw in columns))


@dataclass(frozen=True)
class PairEncoder:
    """e_ij of v1 appendix A: one encoding for number and date columns, one for category and ordered ones."""

    name: str
    numbers: ColumnEncoding
    categories: ColumnEncoding

    @property
    def depends_on_target(self) -> bool:
        return self.numbers.relative or self.categories.relative

    def prepare(self, data: Dataset) -> Dataset:
        return data

    def for_data(self, data: Dataset) -> PairEncoder:
        """Only quantiles of D's rows need the rows."""
        return replace(self, numbers=self.numbers.for_data(data)) if isinstance(self.numbers, Quantiles) else self

    def encode(self, rows: TrainingRows, target: Target | None) -> Features:
        return _encode(rows, target, self.choose)

    def choose(self, column: CellIds) -> ColumnEncoding:
        return self.numbers if column.lexicon.reading.kind in NUMBER_KINDS else self.categories

    def spec(self) -> dict[str, Any]:
        return {"name": self.name, **self.numbers.parameters(), **self.categories.parameters()}


@dataclass(frozen=True)
class QuantilesBeforeEncoder:
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
        return self

    def encode(self, rows: TrainingRows, target: Target | None) -> Features:
        return _encode(rows, target, self.choose)

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
class HierarchyEncoder:
    """Every column by the place of its cells in a hierarchy."""

    name: Fill

    @property
    def depends_on_target(self) -> bool:
        return False

    def prepare(self, data: Dataset) -> Dataset:
        return data

    def for_data(self, data: Dataset) -> HierarchyEncoder:
        return self

    def encode(self, rows: TrainingRows, target: Target | None) -> Features:
        return _encode(rows, target, self.choose)

    def choose(self, column: CellIds) -> ColumnEncoding:
        return Nodes(self.name)

    def spec(self) -> dict[str, Any]:
        return {"name": self.name}


def feature_names(encoder: Encoder, rows: TrainingRows, features: Features) -> tuple[str, ...]:
    """A name for every feature of these rows, such as `age: middle`; numbered where the encoder has no labels."""
    names: list[str] = []
    for column, encoded in zip(rows.quasi, features.columns, strict=True):
        if isinstance(encoder, PairEncoder | QuantilesBeforeEncoder | HierarchyEncoder):
            labels = encoder.choose(column).labels(column)
        else:
            labels = tuple(str(number) for number in range(encoded.cells.shape[1]))
        names += [f"{column.lexicon.name}: {label}" for label in labels]
    return tuple(names)
