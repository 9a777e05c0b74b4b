"""A page about several audits: headings, paragraphs, tables and figures in the same file format as report.html."""

from __future__ import annotations

from collections.abc import Sequence

from harness.render.html.document import document
from harness.render.html.parts import table
from harness.render.markup import Markup, element
from harness.render.text import cut

LONGEST_CELL = 60  # characters


def page(title: str, *body: object) -> str:
    """The text of an HTML file; what is not markup in `body` is escaped."""
    return document(title, element("main", None, element("h1", None, title), *body))


def paragraph(text: object) -> Markup:
    return element("p", None, text)


def heading(text: object) -> Markup:
    return element("h2", None, text)


def page_table(caption: object, head: Sequence[str], rows: Sequence[Sequence[str]], *, words: int = 1) -> Markup:
    """A table whose first columns hold words, and the others numbers."""
    shown = [[cut(cell, LONGEST_CELL) for cell in row] for row in rows]
    return table(caption, head, shown, numbers=len(head) - words)
