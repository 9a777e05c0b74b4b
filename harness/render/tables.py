"""Tables for a terminal, from rows of texts."""

from __future__ import annotations

from collections.abc import Sequence

from harness.render.text import printable

Rows = Sequence[Sequence[str]]


def text_table(head: Sequence[str], rows: Rows) -> str:
    """Columns as wide as they need to be: the first on the left, numbers on the right."""
    cells = [[printable(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    lines = []
    for row in cells:
        aligned = [
            cell.rjust(width) if _is_number(cells, column) else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(aligned).rstrip())
    return "\n".join(lines)


def _is_number(cells: Sequence[Sequence[str]], column: int) -> bool:
    """Whether a column holds numbers, or nothing, below its head."""
    return all(not row[column] or row[column][:1] in "-.0123456789" for row in cells[1:])
