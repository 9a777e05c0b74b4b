"""How a person is called in messages and reports. Knows numbers of persons and rows only."""

from __future__ import annotations

from collections.abc import Sequence


def rows_in_words(rows: Sequence[int]) -> str:
    """`row 3`, or `rows 3, 4`."""
    return f"{'row' if len(rows) == 1 else 'rows'} {', '.join(map(str, rows))}"


def person_in_words(person: int, rows: Sequence[int], *, is_record: bool) -> str:
    """`record 3` where every row is a person, else `person 0 (rows 3, 4)`; the rows are those of the source."""
    return f"record {rows[0] if rows else person}" if is_record else f"person {person} ({rows_in_words(rows)})"
