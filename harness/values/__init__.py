"""What released cells mean: parsing every notation in the wild, and whether a cell covers a raw value.

Knows one column at a time; no tables, no releases, no arrays. The road of a cell: `parsing` asks the
`reading` (the column's domain and declaration), then `ranges`, `sets` and `masks` offer candidates, `meaning`
chooses one or refuses, and the result is one of the `kinds`.
"""

from harness.values.kinds import (
    Closed,
    Exact,
    Interval,
    OneOf,
    Other,
    Raw,
    Span,
    Suppressed,
    Unreadable,
    Value,
    show,
)
from harness.values.parsing import parse, resolve_other
from harness.values.reading import NOTATIONS, Kind, Reading, date_order

__all__ = [
    "NOTATIONS",
    "Closed",
    "Exact",
    "Interval",
    "Kind",
    "OneOf",
    "Other",
    "Raw",
    "Reading",
    "Span",
    "Suppressed",
    "Unreadable",
    "Value",
    "date_order",
    "parse",
    "resolve_other",
    "show",
]
