"""The metrics of f(D) itself, where report.json has them: one line for each number, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from harness.render.html.parts import Section, Source, facts, named, p
from harness.render.markup import joined

MOST_LINES = 40
WORDS = {  # of keys that say too little by themselves
    "k": "k: rows in the smallest class",
    "c_avg": "average class size, divided by k",
    "discernibility": "discernibility: sum of squared class sizes",
    "suppressed": "suppressed rows",
    "suppressed_cells": "share of suppressed cells",
    "l": "ℓ",
    "recursive_c": "recursive: smallest c for ℓ =",
    "equal": "equal ground distance",
    "ordered": "ordered values",
    "hierarchical": "hierarchy",
    "release": "against the release",
    "original": "against the data",
    "outside": "outside their own cells",
}
ELSEWHERE = ("l", "t")  # the worst of what stands under `secrets`


def released(source: Source) -> Section | None:
    """What the release itself shows, independent of any adversary."""
    if not source.report.get("release"):
        return None
    about = p("Numbers of f(D) itself; no verdict rests on them.", name="small")
    paths = [path for path in _numbers(source.report["release"], ("release",)) if path[1] not in ELSEWHERE]
    lines = facts((_in_words(path), _shown(source, path)) for path in paths[:MOST_LINES])
    more = [p(f"and {len(paths) - MOST_LINES} more in report.json", name="small")] if len(paths) > MOST_LINES else []
    return Section("release", "What the release itself shows", joined([about, lines, *more]))


def _numbers(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    """The place of every number."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _numbers(inner, (*path, key))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path


def _in_words(path: tuple[str | int, ...]) -> Any:
    """Names from the outside in; those of columns as they are."""
    words = [
        str(key) if path[place - 1] in ("secrets", "columns") else _word(str(key)) for place, key in enumerate(path)
    ]
    return named(", ".join(word for word in words[1:] if word not in ("secrets", "columns")))


def _word(key: str) -> str:
    return WORDS.get(key, key.replace("_", " "))


def _shown(source: Source, path: tuple[str | int, ...]) -> Any:
    return source.number(*path) if isinstance(source.at(*path), float) else source.count(*path)
