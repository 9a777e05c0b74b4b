"""What the sections of a page are made of: numbers of the report, names that others chose, lists and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from harness.render import Beside, Plain
from harness.render.markup import Markup, element, foreign
from harness.render.text import brief, share_in_words, unit_of

LONGEST = 300  # characters of a name that others chose
LONGEST_SENTENCE = 2_000  # of a sentence of ours with such names in it


@dataclass(frozen=True)
class Section:
    """A part of the page with a heading."""

    slug: str
    heading: str
    content: Markup

    def markup(self) -> Markup:
        heading = element("h2", {"id": f"{self.slug}-heading"}, self.heading)
        return element("section", {"id": self.slug, "aria-labelledby": f"{self.slug}-heading"}, heading, self.content)


@dataclass(frozen=True)
class Source:
    """The report that a page shows, and what may be shown beside it."""

    report: Plain
    beside: Beside

    def at(self, *path: str | int) -> Any:
        """The leaf at a place of report.json."""
        found: Any = self.report
        for step in path:
            found = found[step]
        return found

    def number(self, *path: str | int) -> Markup:
        """A number of report.json with four digits; says where it stands there."""
        return self._leaf(path, brief(self.at(*path)))

    def share(self, *path: str | int) -> Markup:
        """A share of report.json in percent."""
        value = self.at(*path)
        return self._leaf(path, "-" if value is None else share_in_words(value))

    def count(self, *path: str | int) -> Markup:
        """A whole number of report.json."""
        return self._leaf(path, f"{self.at(*path):,}")

    def _leaf(self, path: Sequence[str | int], text: str) -> Markup:
        value = self.at(*path)
        at = "/" + "/".join(str(step).replace("~", "~0").replace("/", "~1") for step in path)  # a JSON Pointer
        return element("data", {"value": "" if value is None else str(value), "data-at": at}, text)

    @cached_property
    def unit(self) -> str:
        return unit_of(self.report)

    @cached_property
    def verdict_result(self) -> int:
        """The place of the result that the verdict is about."""
        verdict = self.report["verdict"]
        pairs = [(one["adversary"], one["secret"]) for one in self.report["results"]]
        return pairs.index((verdict["adversary"], verdict["secret"]))

    @cached_property
    def findings(self) -> list[list[Plain]]:
        """The findings that are no failures, by result."""
        places = {(one["adversary"], one["secret"]): place for place, one in enumerate(self.report["results"])}
        found: list[list[Plain]] = [[] for _ in places]
        for finding in self.report["findings"]:
            if finding["failure"] is None:
                found[places[finding["adversary"], finding["secret"]]].append(finding)
        return found


def cut(text: str) -> str:
    """A text that others chose, no longer than a page can bear."""
    return text if len(text) <= LONGEST else text[:LONGEST] + " …"


def named(text: str) -> Markup:
    """A name or text that others chose."""
    return foreign(cut(text))


def sentence(text: str) -> Markup:
    """A sentence of ours with names in it that others chose, beginning with a capital letter."""
    shown = text if len(text) <= LONGEST_SENTENCE else text[:LONGEST_SENTENCE] + " …"
    is_f = shown.startswith("f ")  # the anonymizer's name
    return foreign(shown if is_f else shown[:1].upper() + shown[1:])


def p(*children: object, name: str | None = None) -> Markup:
    return element("p", {"class": name}, *children)


def items(texts: Iterable[object]) -> Markup:
    return element("ul", None, *(element("li", None, text) for text in texts))


def facts(pairs: Iterable[tuple[object, object]]) -> Markup:
    """Names with what they stand for."""
    rows = (joined_row(name, text) for name, text in pairs)
    return element("dl", {"class": "facts"}, *rows)


def joined_row(name: object, text: object) -> Markup:
    return element("div", None, element("dt", None, name), element("dd", None, text))


def table(
    caption: object,
    headings: Sequence[object],
    rows: Iterable[Sequence[object]],
    *,
    numbers: int,
    grey: Sequence[int] = (),
) -> Markup:
    """A table whose last `numbers` columns hold numbers; a script lets readers sort it. Rows `grey` are references."""
    words = len(headings) - numbers
    head = (
        element("th", {"scope": "col", "class": None if place < words else "number"}, heading)
        for place, heading in enumerate(headings)
    )
    body = (_row(row, words, "grey" if place in grey else None) for place, row in enumerate(rows))
    whole = element(
        "table", {"class": "sortable"},
        element("caption", None, caption),
        element("thead", None, element("tr", None, *head)), element("tbody", None, *body),
    )  # fmt: skip
    return element("div", {"class": "table", "tabindex": 0, "role": "region", "aria-label": "table"}, whole)


def _row(cells: Sequence[object], words: int, name: str | None) -> Markup:
    first = element("th", {"scope": "row"}, cells[0])
    rest = (
        element("td", {"class": None if place < words else "number"}, cell)
        for place, cell in enumerate(cells[1:], start=1)
    )
    return element("tr", {"class": name}, first, *rest)
