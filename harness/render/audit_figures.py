"""Figures that sweeps and comparisons share: several audits in one drawing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from harness.render.markup import Markup
from harness.render.svg import Axis, Curve, Dots, Mark, axis_of, figure

Plain = Mapping[str, Any]


def cumulative_figure(title: str, distances: Mapping[str, Sequence[float]], epsilon: float | None = None) -> Markup:
    """The share of persons at or below each distance, a curve per audit (v1 Figures 5 and 6, v2 Figures 2 and 4).

    `epsilon`, where all audits have the same claim, is marked.
    """
    numbers = [number for values in distances.values() for number in values]
    layers = [_at_or_below(label, values, shade) for shade, (label, values) in enumerate(distances.items())]
    return figure(
        title, "The share of persons whose distance is at most x",
        axis_of("distance (logarithmic)", numbers, log=True, at_least=around(epsilon)),
        Axis("share of persons", 0.0, 1.0, percent=True),
        *layers, *([] if epsilon is None else [Mark(epsilon, f"claim ε = {epsilon:g}")]),
    )  # fmt: skip


def around(epsilon: float | None) -> tuple[float, ...]:
    """What an axis of distances shows at least: some room on both sides of the claim."""
    return () if epsilon is None else (epsilon / 10, 2 * epsilon)


def _at_or_below(label: str, values: Sequence[float], shade: int) -> Curve:
    """The cumulative distribution, one point per distinct value."""
    distinct, counts = np.unique(np.asarray(values, dtype=float), return_counts=True)
    return Curve(label, distinct.tolist(), (counts.cumsum() / max(counts.sum(), 1)).tolist(), shade)


def privacy_utility_plane(groups: Mapping[str, Sequence[Plain]]) -> Markup | None:
    """Mean distance against utility, a dot per audit, where the reports measured how useful f(D) still is.

    Each audit has a `label`, a `utility` and a `mean`; each group has its colour.
    """
    known = {
        name: [one for one in group if one["utility"] is not None and one["mean"] is not None]
        for name, group in groups.items()
    }
    drawn = [one for group in known.values() for one in group]
    if not drawn:
        return None
    layers = [
        Dots(
            name, [one["utility"] for one in group], [float(one["mean"]) for one in group], shade,
            [one["label"] for one in group],
        )
        for shade, (name, group) in enumerate(known.items())
    ]  # fmt: skip
    x = axis_of("precision kept (1 - normalized certainty penalty)", [one["utility"] for one in drawn])
    y = axis_of("mean distance", [float(one["mean"]) for one in drawn])
    return figure("Privacy against utility", "Mean distance and utility of each audit", x, y, *layers)
