"""The rounds of a repair for people: a table for a terminal, and a page with a figure. Reads prune.json."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from harness.render.plain_page import heading, page, page_table, paragraph
from harness.render.svg import Curve, axis_of, figure
from harness.render.tables import text_table
from harness.render.text import brief, counted, wrapped

HEAD = ["round", "removed", "left", "verdict", "at least", "at most", "mean", "break the claim"]
WARNING = (
    "Removing people changes what f does to everybody else, so the largest distance need not fall (v1, footnote 12). "
    "The claim is about the people who are left; a release must be made of the data without the removed rows."
)
ROUNDS = "One row per round; “at least” and “at most” are limits of the largest distance over all persons."

Plain = Mapping[str, Any]


def prune_text(prune: Plain) -> str:
    """The path of a repair and how it ended."""
    return "\n".join([text_table(HEAD, _rows(prune)), "", *_end(prune)])


def _rows(prune: Plain) -> list[list[str]]:
    return [
        [
            str(row["round"]), str(row["removed_so_far"]), str(row["persons"]), row["verdict"],
            brief(row["at_least"]), brief(row["at_most"]), brief(row["mean"]), str(row["breaking_the_claim"]),
        ]
        for row in prune["rounds"]
    ]  # fmt: skip


def _end(prune: Plain) -> Iterator[str]:
    best = prune["rounds"][prune["best_round"]]
    yield from wrapped(f"{prune['outcome'].upper()} after {counted(len(prune['rounds']) - 1, 'round')} of removing: "
                       f"{prune['stopped']}; {counted(len(prune['removed']), 'row')} removed")  # fmt: skip
    if prune["rose"]:
        yield from wrapped(f"the largest distance rose in round {', '.join(map(str, prune['rose']))}")
    if not prune["holds"]:
        yield from wrapped(f"the smallest largest distance, {brief(best['at_most'])}, is that of round {best['round']}")
    yield from wrapped(WARNING)


def prune_page(prune: Plain, title: str = "Repair") -> str:
    """The page of a repair."""
    removed = [float(row["removed_so_far"]) for row in prune["rounds"]]
    at_least, at_most, mean = (
        [float(row[name] or 0.0) for row in prune["rounds"]] for name in ("at_least", "at_most", "mean")
    )
    middle = [(low + high) / 2 for low, high in zip(at_least, at_most, strict=True)]
    band = None if at_least == at_most else (at_least, at_most)
    largest = Curve("largest", removed, middle, 0, low=band and band[0], high=band and band[1])
    drawing = figure(
        "Distances after each round", "Largest and mean distance against the number of persons removed",
        axis_of("persons removed", removed), axis_of("distance", [*at_most, *mean]),
        largest, Curve("mean", removed, mean, 1),
    )  # fmt: skip
    rows = ", ".join(map(str, prune["removed"])) or "none"
    return page(
        title, *(paragraph(line) for line in [" ".join(_end(prune))]), page_table(ROUNDS, HEAD, _rows(prune)),
        heading("Largest and mean distance"), drawing, heading("Removed rows of the source"), paragraph(rows),
    )  # fmt: skip
