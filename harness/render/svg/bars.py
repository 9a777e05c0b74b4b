"""Two numbers side by side for each of a few labels, as horizontal bars with their numbers written beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.render.markup import Attributes, Markup, element, joined
from harness.render.svg.figure import LEGEND_LINE, SIZES, in_both_sizes, text
from harness.render.svg.layers import number, paint, title

THICK, GAP = 11, 8  # of a bar, between pairs
LABEL, NUMBER = 0.3, 52  # share of the width for labels; pixels for the number behind a bar


@dataclass(frozen=True)
class _Rows:
    """Where the bars of one drawing lie."""

    left: float
    width: float
    largest: float


def paired_bars(
    heading: str, describes: str, labels: Sequence[str], first: Sequence[float], second: Sequence[float],
    names: tuple[str, str], largest: float = 1.0,
) -> Markup:  # fmt: skip
    """For each label a bar of `first` above one of `second`; `names` says in the legend which is which."""
    drawings = [_drawn(size.width, labels, (first, second), names, largest) for size in SIZES]
    return in_both_sizes(heading, describes, drawings)


def _drawn(
    width: int, labels: Sequence[str], sides: tuple[Sequence[float], Sequence[float]], names: tuple[str, str],
    largest: float,
) -> tuple[int, Markup]:  # fmt: skip
    rows = _Rows(LABEL * width, width - LABEL * width - NUMBER, largest)
    top = 2 * LEGEND_LINE + 6
    parts = [_legend(name, shade) for shade, name in enumerate(names)]
    for place, label in enumerate(labels):
        y = top + place * (2 * THICK + GAP)
        parts.append(text(label, rows.left - 8, y + THICK + 4, "end"))
        parts += [
            _bar(rows, shade, side[place], y + shade * THICK, f"{label}, {names[shade]}")
            for shade, side in enumerate(sides)
        ]
    return top + len(labels) * (2 * THICK + GAP), joined(parts)


def _legend(name: str, shade: int) -> Markup:
    known, colour, _ = paint(shade)
    y = 2 + LEGEND_LINE * shade
    sample = element("rect", {"class": known, "x": 4, "y": y, "width": 24, "height": 10, "fill": colour})
    return joined([sample, text(name, 36, y + 10)])


def _bar(rows: _Rows, shade: int, value: float, y: float, label: str) -> Markup:
    known, colour, _ = paint(shade)
    length = rows.width * min(max(value / rows.largest, 0.0), 1.0)
    place: Attributes = {"x": number(rows.left), "y": number(y), "width": number(max(length, 0.5)), "height": THICK - 1}
    said = f"{value:.4g}"
    bar = element("rect", {"class": known, **place, "fill": colour}, title(f"{label}: {said}"))
    return joined([bar, text(said, rows.left + length + 5, y + 9)])
