"""Words of the glossary on a page: explained when they are pointed at, and in a list at the end, which prints."""

from __future__ import annotations

import re

from harness.glossary import TERMS, find_term
from harness.render.html.parts import Section
from harness.render.markup import Markup, element, joined

USED = re.compile(r'href="#term-([^"]+)"')


def term(words: str, shown: str | None = None) -> Markup:
    """A word with its explanation; `shown` is how it is written here."""
    known = find_term(words)
    assert known is not None, f"{words!r} is not in the glossary"
    explained = element("dfn", {"title": known.text}, shown or words)
    return element("a", {"class": "term", "href": f"#term-{known.slug}"}, explained)


def _with_code(text: str) -> Markup:
    """The text with what stands between backticks as code."""
    parts = text.split("`")
    return joined(element("code", None, part) if place % 2 else part for place, part in enumerate(parts))


def definitions(content: Markup) -> Section:
    """The terms that a page links to, in alphabetical order."""
    used = set(USED.findall(content))
    entries = [
        element(
            "div",
            {"id": f"term-{known.slug}"},
            element("dt", None, known.name),
            element("dd", None, _with_code(known.text)),
        )
        for known in TERMS
        if known.slug in used
    ]
    return Section("terms", "The words of this page", element("dl", {"class": "terms"}, *entries))
