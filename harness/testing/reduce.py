"""The smallest table that still breaks a law: delta debugging (Zeller and Hildebrandt, 2002) on rows, then on cells.

    rows    leave out halves, quarters, … single rows, as long as the law stays broken
    cells   replace each column, then all cells of a column with the same value, then each cell, by the simplest value
            of its domain; where a table became simpler, rows are left out once more

Asks as little as possible: an oracle may take seconds for an answer. Hypothesis, which shrinks what users' own tests
draw, asks several hundred times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from harness.testing.asking import OutOfBudget, Rows
from harness.testing.domains import Domain, Domains

Predicate = Callable[[Rows], bool]


def reduced(rows: Rows, is_broken: Predicate, domains: Domains, most: int) -> Rows:
    """A table from which no row can be left out, found with at most so many questions."""
    search = _Search(rows, is_broken, most)
    with suppress(OutOfBudget):  # the smallest that was seen, if not the smallest there is
        _leave_out_rows(search)
        while _simplify_cells(search, domains):
            _leave_out_rows(search)
    return search.smallest


class _Search:
    """The smallest table so far that breaks the law, and what was asked already."""

    def __init__(self, rows: Rows, is_broken: Predicate, most: int) -> None:
        self.smallest, self.is_broken, self.left = rows, is_broken, most
        self.tried = {rows}

    def goes_on_with(self, table: Rows) -> bool:
        """Whether a smaller or simpler table breaks the law too; it is then the one to go on with."""
        if not table or table in self.tried:
            return False
        if self.left == 0:
            raise OutOfBudget
        self.left -= 1
        self.tried.add(table)
        if self.is_broken(table):
            self.smallest = table
            return True
        return False


def _leave_out_rows(search: _Search) -> None:
    size = max(1, len(search.smallest) // 2)
    while True:
        before, start = len(search.smallest), 0
        while start < len(search.smallest):
            rows = search.smallest
            if not search.goes_on_with(rows[:start] + rows[start + size :]):
                start += size
        if size == 1 and len(search.smallest) == before:
            return
        size = max(1, min(size // 2, len(search.smallest) // 2))


def _simplify_cells(search: _Search, domains: Domains) -> bool:
    """Whether a simpler table breaks the law too."""
    before = search.smallest
    for place, domain in enumerate(domains.columns):
        everything = range(len(search.smallest))
        if not search.goes_on_with(_simplified(search.smallest, everything, place, domain)):
            for numbers in (*_equal_cells(search.smallest, place), *([number] for number in everything)):
                search.goes_on_with(_simplified(search.smallest, numbers, place, domain))
    return search.smallest != before


def _equal_cells(rows: Rows, place: int) -> Iterator[list[int]]:
    """The rows of every value that several rows have in a column."""
    for value in dict.fromkeys(row[place] for row in rows):
        numbers = [number for number, row in enumerate(rows) if row[place] == value]
        if len(numbers) > 1:
            yield numbers


def _simplified(rows: Rows, numbers: Iterable[int], place: int, domain: Domain) -> Rows:
    """The table with the simplest value of a column in these rows."""
    simplest, chosen = domain.values[0] if domain.values else domain.cell(domain.low), set(numbers)
    return tuple(
        (*row[:place], simplest, *row[place + 1 :]) if number in chosen else row for number, row in enumerate(rows)
    )
