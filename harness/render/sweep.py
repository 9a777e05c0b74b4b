"""A sweep for people: a table for a terminal, and a page with the papers' figures. Reads the content of sweep.json.

Figures against a parameter need one that is a number and varies; other parameters that vary make a curve each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from harness.render.audit_figures import cumulative_figure, privacy_utility_plane
from harness.render.markup import Markup
from harness.render.plain_page import heading, page, page_table, paragraph
from harness.render.svg import Curve, axis_of, figure
from harness.render.tables import text_table
from harness.render.text import brief

Plain = Mapping[str, Any]
Distances = Mapping[str, Sequence[float]]  # of all persons, by cell
MOST_CURVES = 12  # in one figure
NUMBERS = 8  # columns of numbers at the end of the table


def sweep_text(sweep: Plain) -> str:
    """The table of a sweep, one line per cell."""
    return text_table(*_table(sweep))


def _table(sweep: Plain) -> tuple[list[str], list[list[str]]]:
    rows = sweep["cells"]
    keys = list(dict.fromkeys(key for row in rows for key in row["parameters"]))
    several = len({row["series"] for row in rows}) > 1
    head = [key.rpartition(".")[2] for key in keys]
    head += ["verdict", "at least", "at most", "mean", "≥ claim", "≥ 0.00316", "changed", "AUC", "calls"]
    lines = [[_shown(row["parameters"].get(key)) for key in keys] + _numbers(row) for row in rows]
    if not several:
        return head, lines
    return ["sweep", *head], [[row["series"], *line] for row, line in zip(rows, lines, strict=True)]


def _numbers(row: Plain) -> list[str]:
    if row["status"] == "failed":
        return [f"failed ({row['error']})", *[""] * NUMBERS]
    auc = row["membership_auc"]
    return [
        row["verdict"],
        brief(row["at_least"]),
        brief(row["at_most"]),
        brief(row["mean"]),
        _percent(row["share_at_the_claim"]),
        _percent((row["share_at_or_above"] or {}).get("0.003162")),
        _percent(row["share_of_changed_predictions"]),
        "" if auc is None else f"{auc['value']:.3f}",
        "" if row["calls"] is None else str(row["calls"]),
    ]


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f} %"


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return str(value.get("name", dict(value))) if isinstance(value, Mapping) else str(value)


def sweep_page(sweep: Plain, distances: Distances, title: str = "Sweep") -> str:
    """The page of a sweep; `distances` of all persons are for the cumulative curves."""
    random = any(row["status"] == "finished" and not row["exact"] for row in sweep["cells"])
    noise = [paragraph(RANDOM)] if random else []
    head, lines = _table(sweep)
    cells = page_table("One row per cell of the sweep", head, lines, words=len(head) - NUMBERS)
    return page(title, paragraph(READING), *noise, cells, *sweep_figures(sweep, distances))


def sweep_figures(sweep: Plain, distances: Distances) -> list[Markup]:
    """Largest, mean and changed predictions against the parameters, cumulative curves, privacy against utility."""
    finished = [row for row in sweep["cells"] if row["status"] == "finished"]
    return [*_against_parameters(finished), *_cumulative_curves(finished, distances), *_plane(finished)]


READING = (
    "One row per cell. “At least” and “at most” are limits of the largest distance over all persons; "
    "“≥ claim” is the share of persons proven to reach the claimed ε; “≥ 0.00316” the share proven to reach 10^-2.5, a "
    "small distance that the papers report too; “changed” is the share of persons without whom the most likely value "
    "is another one. AUC says how well an adversary tells who was in the data by how sure it is of the true value "
    "(0.5: by guessing)."
)
RANDOM = "Where chance plays a part, means are estimates that contain noise, and limits are what is proven."


def _against_parameters(rows: Sequence[Plain]) -> Iterator[Markup]:
    for name, values in (
        ("Largest distance", ("at_least", "at_most")),
        ("Mean distance", ("mean", "mean")),
        ("Share of changed predictions", ("share_of_changed_predictions",) * 2),
    ):
        known = [row for row in rows if row.get(values[0]) is not None and row.get(values[1]) is not None]
        for parameter, layers in _layers(known, values):
            numbers = [float(row[value]) for row in known for value in values]
            x = axis_of(parameter, [at for layer in layers for at in layer.x], log=_wants_log(layers))
            y = axis_of(name, numbers, percent="Share" in name)
            yield heading(f"{name} against {parameter}")
            yield figure(f"{name} against {parameter}", f"{name} of each cell of the sweep", x, y, *layers)


def _layers(rows: Sequence[Plain], values: tuple[str, str]) -> list[tuple[str, list[Curve]]]:
    """For each parameter that is a number and varies, its curves: one per series and per values of the others."""
    found: dict[str, dict[tuple[str, str], list[Plain]]] = {}
    for series in dict.fromkeys(row["series"] for row in rows):
        members = [row for row in rows if row["series"] == series]
        varying = [
            key for key in members[0]["parameters"] if len({repr(row["parameters"].get(key)) for row in members}) > 1
        ]
        numeric = [key for key in varying if all(_is_number(row["parameters"].get(key)) for row in members)]
        for key in numeric[:1]:
            for row in [row for row in members if np.isfinite(float(row["parameters"][key]))]:
                others = ", ".join(f"{_short(one)} = {_shown(row['parameters'][one])}" for one in varying if one != key)
                label = ", ".join(filter(None, (series if len({r["series"] for r in rows}) > 1 else "", others)))
                found.setdefault(_short(key), {}).setdefault((label, key), []).append(row)
    return [
        (
            short,
            [_curve(label, key, group, values, shade) for shade, ((label, key), group) in enumerate(curves.items())],
        )
        for short, curves in found.items()
    ]


def _curve(label: str, key: str, rows: Sequence[Plain], values: tuple[str, str], shade: int) -> Curve:
    ordered = sorted(rows, key=lambda row: float(row["parameters"][key]))
    x = [float(row["parameters"][key]) for row in ordered]
    low, high = ([float(row[value]) for row in ordered] for value in values)
    middle = [(one + other) / 2 for one, other in zip(low, high, strict=True)]
    same = low == high
    return Curve(label or key, x, middle, shade, low=None if same else low, high=None if same else high)


def _short(key: str) -> str:
    return key.rpartition(".")[2]


def _is_number(value: Any) -> bool:
    """A number, or the text that stands for infinity."""
    return (isinstance(value, int | float) and not isinstance(value, bool)) or value == "inf"


def _wants_log(layers: Sequence[Curve]) -> bool:
    """Whether the numbers along x span more than a power of ten, all of them above 0."""
    numbers = [at for layer in layers for at in layer.x]
    return min(numbers) > 0 and max(numbers) / min(numbers) > 20


def _cumulative_curves(rows: Sequence[Plain], distances: Distances) -> Iterator[Markup]:
    """A figure per series."""
    for series in dict.fromkeys(row["series"] for row in rows):
        members = [row for row in rows if row["series"] == series and row["cell"] in distances][:MOST_CURVES]
        if any(distances[row["cell"]] for row in members):
            yield heading(f"Share of persons at or below each distance: {series}")
            by_label = {row["label"]: distances[row["cell"]] for row in members}
            yield cumulative_figure(f"Cumulative distances, {series}", by_label)


def _plane(rows: Sequence[Plain]) -> Iterator[Markup]:
    series = dict.fromkeys(row["series"] for row in rows)
    plane = privacy_utility_plane({name: [row for row in rows if row["series"] == name] for name in series})
    if plane is not None:
        yield heading("Privacy against utility")
        yield plane
