"""Tables by hand: the ones that anonymizers get wrong most often. Knows domains, no oracle."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from harness.testing.asking import Rows
from harness.testing.claims import Claims
from harness.testing.domains import Cell, Domain, Domains
from harness.testing.generating import UNUSUAL, Row

FEW = 4  # rows of the first table
MOST_CELLS, CELLS_AT_ONCE = 100, 25  # of a column all of whose values are tried, in all and in one table
TOGETHER = 6  # rows of a table whose rows an anonymizer puts into one class, at the most


def examples(domains: Domains, claims: Claims) -> Iterator[Rows]:
    """A small and an ordinary table first; then constant, extreme and unusual ones, and the smallest ones last.

    The first one is small since it is the one that is asked about again at the end, after all others.
    """
    least = claims.least_rows
    yield ordinary(domains, max(FEW, least))
    yield ordinary(domains, 3 * least + 6)
    yield (_row(domains, 0),) * max(3, least)
    yield tuple(_corner(domains, number) for number in range(2 * least + 4))
    for place, domain in enumerate(domains.columns):  # one column is the same in every row
        for cell in dict.fromkeys((_row(domains, 0)[place], domain.corners[-1])):
            yield _with_column(ordinary(domains, 2 * least + 2), place, [cell])
    for place, domain in enumerate(domains.columns[: len(domains.schema.quasi)]):
        if domain.is_open and domain.kind == "category":
            yield _with_column(ordinary(domains, max(len(UNUSUAL), 2 * least)), place, UNUSUAL)
    for place, domain in enumerate(domains.columns):
        if domain.has_gaps:
            rows = ordinary(domains, 2 * least + 2)
            yield _with_column(rows, place, [None, *(row[place] for row in rows[1:3])])
    for place, domain in enumerate(domains.columns[: len(domains.schema.quasi)]):
        cells = () if claims.changes_cells else _all_cells(domain, MOST_CELLS)
        for start in range(0, len(cells), CELLS_AT_ONCE):
            some = [cell for cell in cells[start : start + CELLS_AT_ONCE] for _ in range(max(2, least))]
            yield tuple(_with_cell(_row(domains, 0), place, cell) for cell in some)
    yield from (ordinary(domains, rows) for rows in sorted({least, max(1, least - 1), 1}, reverse=True))


def with_an_unseen_value(domains: Domains, claims: Claims) -> Rows | None:
    """A table with a value that the schema does not list; None if no column has such a list."""
    for place, domain in enumerate(domains.columns[: len(domains.schema.quasi)]):
        if domain.kind == "category" and not domain.is_open and domains.schema.quasi[place].values:
            unseen = next(text for text in UNUSUAL if text not in domain.values)
            rows = ordinary(domains, claims.least_rows + 1)
            return _with_column(rows, place, [unseen, *(row[place] for row in rows[1:])])
    return None


def _all_cells(domain: Domain, most: int) -> tuple[Cell, ...]:
    """All values of a column where they are few; else round numbers, at which ranges begin and end."""
    if domain.values:
        return domain.values[:most]
    if domain.low == domain.high:
        return (domain.cell(domain.low),)
    if domain.whole and domain.high - domain.low < most:
        return tuple(domain.cell(number) for number in range(int(domain.low), int(domain.high) + 1))
    step = _round_step((domain.high - domain.low) / most)
    first = math.ceil(domain.low / step)
    rounds = [number * step for number in range(first, first + most) if number * step <= domain.high]
    return tuple(dict.fromkeys((*map(domain.cell, rounds), *domain.corners)))


def _round_step(least: float) -> float:
    """The smallest of …, 1, 2, 5, 10, 20, … that is not below a number."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= least)


def _with_cell(row: Row, place: int, cell: Cell) -> Row:
    return (*row[:place], cell, *row[place + 1 :])


def _corner(domains: Domains, number: int) -> Row:
    return tuple(domain.corners[number % len(domain.corners)] for domain in domains.columns)


def _with_column(rows: Rows, place: int, cells: Sequence[Cell]) -> Rows:
    """The rows with other cells in one column, taken in turn."""
    return tuple(_with_cell(row, place, cells[number % len(cells)]) for number, row in enumerate(rows))


def ordinary(domains: Domains, rows: int) -> Rows:
    """So many rows whose cells go through their domains, each column at a pace of its own."""
    return tuple(_row(domains, number) for number in range(rows))


def _row(domains: Domains, number: int) -> Row:
    return tuple(_cell(domain, number * (2 * place + 1)) for place, domain in enumerate(domains.columns))


def _cell(domain: Domain, number: int) -> Cell:
    if domain.values:
        return domain.values[number % len(domain.values)]
    steps = 17
    return domain.cell(domain.low + (domain.high - domain.low) * (number * 5 % steps) / (steps - 1))


def together(domains: Domains, claims: Claims) -> Iterator[Rows]:
    """Small tables whose numbers differ a little and whose other cells differ, smallest first: one class, or few."""
    for rows in range(max(3, claims.least_rows), max(TOGETHER, claims.least_rows + 1) + 1):
        yield tuple(_near(domains, number) for number in range(rows))


def _near(domains: Domains, number: int) -> Row:
    quasi = len(domains.schema.quasi)
    near = [_next_to_lowest(domain, number) for domain in domains.columns[:quasi]]
    return (*near, *(_cell(domain, number) for domain in domains.columns[quasi:]))


def _next_to_lowest(domain: Domain, number: int) -> Cell:
    if domain.values:
        return _cell(domain, number)
    step = 1.0 if domain.whole else (domain.high - domain.low) / 100
    return domain.cell(min(domain.high, domain.low + number * step))
