"""What can be counted about one column of a data file, whatever it means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pandas as pd

from harness.vocabulary.values.atoms import MISSING, cell_text, number

GAPS = frozenset({"", "?", "-", "--", ".", *MISSING})  # texts that tables have in place of a value
WORDS = frozenset({"None"})  # of them those that are a word of its own where a column holds words


@dataclass(frozen=True, eq=False)
class ColumnFacts:
    """One column: its distinct texts in the order of appearance, how often each stands there, and its gaps."""

    name: str
    rows: int
    texts: Sequence[str]  # distinct, without gaps
    counts: Sequence[int]  # how many rows have each
    gap_texts: tuple[str, ...] = ()  # texts that stand for a gap: "?", "NA"
    gaps: int = 0  # rows without a value
    kind: str | None = field(default=None)  # "number", "date" or None: what a file with types of its own says

    @property
    def distinct(self) -> int:
        return len(self.texts)

    @property
    def filled(self) -> int:
        return self.rows - self.gaps

    @property
    def is_unique(self) -> bool:
        """Whether no value stands twice."""
        return self.distinct == self.filled

    @cached_property
    def numbers(self) -> list[float] | None:
        """The distinct values as numbers, if all of them are; a code such as 00123 is none."""
        values = [number(text.strip()) for text in self.texts]
        if any(value is None for value in values) or any(map(_is_code, self.texts)):
            return None
        return [float(value) for value in values if value is not None]


def _is_code(text: str) -> bool:
    """Whether a text of digits would lose something as a number: `00123`, `+49`."""
    digits = text.strip().lstrip("-")
    return (len(digits) > 1 and digits[0] == "0" and digits.isdigit()) or digits.startswith("+")


def facts_of(name: str, cells: pd.Series[Any]) -> ColumnFacts:
    """The facts of a column whose cells are texts, or typed as a Parquet or Excel file has them."""
    present = cells[cells.notna()]
    counts = present.map(_text).value_counts(sort=False)
    texts = [str(text) for text in counts.index]
    signs = [text for text in texts if text.strip() in GAPS] if _is_text(cells) else []
    if any(number(text.strip()) is None for text in texts if text not in signs):
        signs = [text for text in signs if text.strip() not in WORDS]
    values = counts.drop(signs)
    gaps = len(cells) - int(values.sum())
    return ColumnFacts(
        name, len(cells), [str(text) for text in values.index], [int(count) for count in values],
        tuple(sign for sign in signs if sign), gaps, _declared_kind(cells),
    )  # fmt: skip


def _is_text(cells: pd.Series[Any]) -> bool:
    return all(isinstance(cell, str) for cell in cells.dropna())


def _text(cell: Any) -> str:
    return cell.isoformat().removesuffix("T00:00:00") if isinstance(cell, pd.Timestamp) else cell_text(cell)


def _declared_kind(cells: pd.Series[Any]) -> str | None:
    if pd.api.types.is_bool_dtype(cells):
        return None
    if pd.api.types.is_datetime64_any_dtype(cells):
        return "date"
    return "number" if pd.api.types.is_numeric_dtype(cells) else None
