"""The metrics of f(D) itself, where report.json has them: whatever is there, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.render.html.parts import Section, Source, facts, named, p
from harness.render.markup import Markup, joined

MOST_ENTRIES = 12  # of a list


def released(source: Source) -> Section | None:
    """What the release itself shows, independent of any adversary."""
    if not source.report.get("release"):
        return None
    about = p("Numbers of f(D) itself; no verdict rests on them.", name="small")
    return Section("release", "What the release itself shows", joined([about, _shown(source, ("release",))]))


def _shown(source: Source, path: tuple[str | int, ...]) -> Markup:
    value: Any = source.at(*path)
    if isinstance(value, Mapping):
        return facts((named(str(key).replace("_", " ")), _shown(source, (*path, key))) for key in value)
    if isinstance(value, list):
        shown = [_shown(source, (*path, place)) for place in range(min(len(value), MOST_ENTRIES))]
        more = [f"and {len(value) - MOST_ENTRIES} more"] if len(value) > MOST_ENTRIES else []
        return joined([*shown, *more], "; ")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return named("-" if value is None else "yes" if value is True else "no" if value is False else str(value))
    return source.number(*path) if isinstance(value, float) else source.count(*path)
