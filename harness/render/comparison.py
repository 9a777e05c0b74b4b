"""A comparison of two audits for a terminal. Reads the plain data of `analysis.compare`.

The page with figures, `comparison_page`, says the same in the same words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from harness.render.tables import text_table
from harness.render.text import brief, counted, printable, wrapped
from harness.vocabulary.persons import RowNames

SHOWN = 10  # persons, and metrics

Plain = Mapping[str, Any]


def comparison_text(comparison: Plain, first: str, later: str, rows: RowNames) -> str:
    """The page; `rows` says how rows of the source are called."""
    return "\n".join(_lines(comparison, first, later, rows))


def _lines(comparison: Plain, first: str, later: str, rows: RowNames) -> Iterator[str]:
    certain = comparison["joint_confidence"]
    sure = "exact distances" if certain == 1 else f"together with {certain:.0%} confidence"
    yield from wrapped(f"{comparison['overall'].upper()}: {later} compared with {first} ({sure})")
    before, after = comparison["verdicts"]
    yield f"verdict: {before}" + (f", now {after}" if after != before else ", as before")
    for result in comparison["results"]:
        yield ""
        if len(comparison["results"]) > 1:
            yield printable(f"{result['adversary']}, {result['secret']}: {result['overall']}")
        yield text_table(
            ["", "before", "after", ""],
            [
                [name, span_text(measure["before"]), span_text(measure["after"]), measure["direction"]]
                for name, measure in result["measures"].items()
            ],
        )
        some = "" if result["compared"] == result["population"] else f", of {result['population']:,}, examined in both"
        yield (
            f"of {counted(result['compared'], 'person')}{some}: {result['worse']:,} worse, "
            f"{result['better']:,} better, {result['same']:,} the same"
        )
        yield from _persons(result, rows)
        for text in mixed_directions(result):
            yield from wrapped(text)
    yield from _metrics(comparison)
    for which in ("new", "gone"):
        for note in comparison["notes"][which]:
            yield from wrapped(f"noticed, {which}: {note}", "  ")


def _persons(result: Plain, rows: RowNames) -> Iterator[str]:
    for person in result["persons"][:SHOWN]:
        spans = f"{span_text(person['before'])} before, {span_text(person['after'])} after"
        yield printable(f"  {person['direction']:<6}  {rows.in_source(person['rows'])}: {spans}")
    if len(result["persons"]) > SHOWN:
        yield f"  and {len(result['persons']) - SHOWN:,} more (--json lists all)"


def mixed_directions(result: Plain) -> Iterator[str]:
    """Why a comparison is worse in both directions, where some numbers rose and others fell."""
    by_direction = {
        way: [name for name, measure in result["measures"].items() if measure["direction"] == way]
        for way in ("worse", "better")
    }
    if all(by_direction.values()):
        yield (
            f"Worse in one number ({', '.join(by_direction['worse'])}) and better in another "
            f"({', '.join(by_direction['better'])}): one that is worse is enough for WORSE, so the comparison the "
            "other way round says WORSE too. Neither release is better for everybody."
        )


def _metrics(comparison: Plain) -> Iterator[str]:
    metrics = comparison["metrics"]
    if metrics:
        yield ""
        chance = "" if comparison["joint_confidence"] == 1 else " (of one draw each, which chance alone can change)"
        yield f"metrics of f(D) that changed: {len(metrics)}{chance}"
        for metric in metrics[:SHOWN]:
            before, after = (metric_text(metric[side]) for side in ("before", "after"))
            yield printable(f"  {metric['metric']}: {before} before, {after} after")
        if len(metrics) > SHOWN:
            yield f"  and {len(metrics) - SHOWN:,} more (--json lists all)"


def metric_text(value: Any) -> str:
    """A number with four digits; a text cut to what a line can bear."""
    if isinstance(value, float):
        return brief(value)
    return "not measured" if value is None else f"{value}"[:40]


def span_text(span: Plain) -> str:
    lower, upper = span["lower"], span["upper"]
    return brief(lower) if lower == upper else f"{brief(lower)} to {brief(upper)}"
