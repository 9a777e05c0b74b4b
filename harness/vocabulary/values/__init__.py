"""What released cells mean: parsing every notation in the wild, and whether a cell covers a raw value.

Knows one column at a time; no tables, no releases, no arrays. Steps of reading a cell: `parsing` asks the
`reading` (the column's domain and declaration), then `ranges`, `sets` and `masks` offer candidates, `meaning`
chooses one or refuses, and the result is one of the `kinds`.

A declared notation decides the cells that could be read in two ways:
    interval    `99,100` is a range, not 99100             numbers, dates
    run         `9th~12th` is all from one to the other    ordered
    set         `19,26`, `[20, 30]`, `9th~12th` are two    all
    bound       `4+` and `+4` are 4 or more                numbers, ordered, dates
    mask        `4+` is 40 to 49, `130*` has 4 characters  all
    prefix      `130*` has any ending                      all but dates
    number      `+65` is 65, `2.000` is 2                  numbers
    %d/%m/%Y    03/02/1987 is in February                  dates, any pattern of strptime
"""

from harness.vocabulary.values.kinds import (
    Closed,
    CoversNothing,
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
from harness.vocabulary.values.parsing import parse, resolve_other, suppression_sign
from harness.vocabulary.values.reading import NOTATIONS, Kind, Reading, date_order

__all__ = [
    "NOTATIONS",
    "Closed",
    "CoversNothing",
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
    "suppression_sign",
]
