"""The smallest table that still breaks a law: delta debugging (Zeller and Hildebrandt, 2002) on rows, then on cells.

    rows    leave out halves, quarters, … single rows, as long as the law stays broken
    cells   replace each column, then each cell, by the simplest value of its domain

Asks as little as possible: an oracle may take seconds for an answer. Hypothesis, which shrinks what users' own tests
draw, asks several hundred times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from harness.testing.asking import OutOfBudget, Rows
from harness.testing.domains import Domain, Domains

Predicate = Callable[[Rows], bool]


def reduced(rows: Rows, is_broken: Predicate, domains: Domains, most: int) -> Rows:
    """A table from which no row can be left out, found with at most so many questions."""
    search = _Search(rows, is_broken, most)
    try:
        _leave_out_rows(search)
        _simplify_cells(search, domains)
    except OutOfBudget:
        return search.smallest  # the smallest that was seen, if not the smallest there is
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


def _simplify_cells(search: _Search, domains: Domains) -> None:
    for place, domain in enumerate(domains.columns):
        whole = search.smallest
        for number in range(len(whole)):
            whole = _with_simplest(whole, number, place, domain)
        if not search.goes_on_with(whole):
            for table in _each_simplified(search, place, domain):
                search.goes_on_with(table)


def _each_simplified(search: _Search, place: int, domain: Domain) -> Iterator[Rows]:
    for number in range(len(search.smallest)):
        yield _with_simplest(search.smallest, number, place, domain)


def _with_simplest(rows: Rows, number: int, place: int, domain: Domain) -> Rows:
    row = rows[number]
    simplest = domain.values[0] if domain.values else domain.cell(domain.low)
    return (*rows[:number], (*row[:place], simplest, *row[place + 1 :]), *rows[number + 1 :])
