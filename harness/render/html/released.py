"""The metrics of f(D) itself, where report.json has them: classes, secrets and columns, a table for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.render.html.parts import Section, Source, named, p, table
from harness.render.markup import Markup, joined

MOST_ROWS = 40
CLASSES = {  # the metrics of the whole release, and what each says
    "rows": "rows of the release",
    "classes": "classes: groups of rows with equal quasi-identifiers",
    "k": "k: rows in the smallest class",
    "average_class_size": "rows in a class on average",
    "c_avg": "the same, divided by k",
    "discernibility": "discernibility: sum of squared class sizes",
    "suppressed": "suppressed rows",
    "suppressed_cells": "share of suppressed cells",
    "mean_lost_leaves": "lost leaves of a cell on average (0: nothing is lost, 1: all)",
    "mean_normalized_certainty_penalty": "normalized certainty penalty of a cell on average (0 to 1)",
}
OUTSIDE = {"cells": "share of cells that do not cover their own value", "rows": "share of rows with such a cell"}
DIVERSITY = {
    "distinct": "distinct ℓ: different values in the worst class",
    "entropy": "entropy ℓ: exp of the entropy of the worst class",
    "probability": "probability ℓ: 1 / largest share of a value in a class",
}
GROUNDS = {"equal": "all values equally far apart", "ordered": "ordered values", "hierarchical": "a hierarchy"}
SIDES = {"release": "the release", "original": "the data"}
LOSSES = {"lost_leaves": "lost leaves", "normalized_certainty_penalty": "certainty penalty"}

Path = tuple[str | int, ...]


def released(source: Source) -> Section | None:
    """What the release itself shows, independent of any adversary."""
    release = source.report.get("release")
    if not release:
        return None
    about = p("Numbers of f(D) itself; no verdict rests on them.", name="small")
    tables = [
        _lines(source, "Classes and losses", _of_classes(release)),
        *(
            _lines(source, named(f"How varied {secret} is in a class"), _of_secret(secret))
            for secret in release["secrets"]
        ),
        _of_columns(source, release),
    ]
    return Section("release", "What the release itself shows", joined([about, *tables]))


def _lines(source: Source, caption: object, lines: Iterator[tuple[object, Path]]) -> Markup:
    """A table of names and numbers; what was not measured is left out."""
    rows = [(name, _shown(source, path)) for name, path in lines if _is_number(source, path)]
    return table(caption, ("metric", "number"), rows, numbers=1)


def _of_classes(release: Mapping[str, Any]) -> Iterator[tuple[object, Path]]:
    for key, words in CLASSES.items():
        yield words, ("release", key)
    if release.get("outside") is not None:
        for key, words in OUTSIDE.items():
            yield words, ("release", "outside", key)


def _of_secret(secret: str) -> Iterator[tuple[object, Path]]:
    here: Path = ("release", "secrets", secret)
    for key, words in DIVERSITY.items():
        yield words, (*here, "l", key)
    yield "recursive (c, 2): c must be larger than this", (*here, "l", "recursive_c", "2")
    for ground, words in GROUNDS.items():
        for side, against in SIDES.items():
            yield f"t: largest distance of a class from {against} ({words})", (*here, "t", ground, side)
    yield "discrimination rate of all quasi-identifiers together", (*here, "discrimination_rate", "all")


def _of_columns(source: Source, release: Mapping[str, Any]) -> Markup:
    """What each quasi-identifier lost, and how much it tells of each secret."""
    secrets = [name for name, found in release["secrets"].items() if found["discrimination_rate"]["by"]]
    headings = ["quasi-identifier", *LOSSES.values(), *(named(f"discrimination rate of {name}") for name in secrets)]
    columns = list(release["columns"])
    rows = [[named(name), *_of_column(source, name, secrets)] for name in columns[:MOST_ROWS]]
    more = len(columns) - MOST_ROWS
    caption = "Columns" + (f" (and {more} more in report.json)" if more > 0 else "")
    return table(caption, headings, rows, numbers=len(headings) - 1)


def _of_column(source: Source, name: str, secrets: Sequence[str]) -> Iterator[object]:
    for key in LOSSES:
        yield _shown(source, ("release", "columns", name, key))
    for secret in secrets:
        yield _shown(source, ("release", "secrets", secret, "discrimination_rate", "by", name))


def _is_number(source: Source, path: Path) -> bool:
    value = _at(source, path)
    return isinstance(value, int | float) and not isinstance(value, bool)


def _at(source: Source, path: Path) -> Any:
    """The leaf at a place; None where something on the way to it was not measured."""
    found: Any = source.report
    for step in path:
        found = found.get(step) if isinstance(found, Mapping) else None
    return found


def _shown(source: Source, path: Path) -> object:
    if not _is_number(source, path):
        return "not measured"
    return source.number(*path) if isinstance(_at(source, path), float) else source.count(*path)
