"""A whole figure: axes, layers and a legend, drawn once for wide and once for narrow screens."""

from __future__ import annotations

from dataclasses import dataclass

from harness.render.markup import Attributes, Markup, element, joined
from harness.render.svg.axes import Axis
from harness.render.svg.layers import Frame, Layer, number, paint, title

FONT = 12
LEGEND_LINE = 18
FACES = "system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif"


@dataclass(frozen=True)
class Size:
    """One drawing of a figure, in pixels."""

    name: str  # the class of its container
    width: int
    height: int  # between the axes
    ticks: int  # along x
    hidden: bool


SIZES = (Size("wide", 720, 240, 8, False), Size("narrow", 340, 220, 4, True))
LEFT, RIGHT, TOP, BELOW = 58, 14, 26, 42


def figure(heading: str, describes: str, x: Axis, y: Axis, *layers: Layer) -> Markup:
    """The figure; `heading` and `describes` say what it shows to those who cannot see it."""
    return in_both_sizes(heading, describes, [_drawn(size, x, y, layers) for size in SIZES])


def in_both_sizes(heading: str, describes: str, drawings: list[tuple[int, Markup]]) -> Markup:
    """Wide and narrow drawings of the same, each with its height, as elements of which a page shows one."""
    parts = []
    for size, (height, content) in zip(SIZES, drawings, strict=True):
        svg = element(
            "svg",
            {"viewBox": f"0 0 {size.width} {height}", "width": "100%", "role": "img",
             "aria-label": heading, "xmlns": "http://www.w3.org/2000/svg", "font-family": FACES, "font-size": FONT},
            title(heading), element("desc", None, describes), content,
        )  # fmt: skip
        parts.append(element("div", {"class": size.name, "hidden": "" if size.hidden else None}, svg))
    return element("div", {"class": "figure"}, *parts)


def _drawn(size: Size, x: Axis, y: Axis, layers: tuple[Layer, ...]) -> tuple[int, Markup]:
    entries = [layer for layer in layers if layer.shade is not None and layer.label]
    top = TOP + LEGEND_LINE * (len(entries) if len(entries) > 1 else 0)
    frame = Frame(x, y, LEFT, top, size.width - LEFT - RIGHT, size.height)
    legend = [_legend(entry, line) for line, entry in enumerate(entries)] if len(entries) > 1 else []
    parts = [*legend, _axes(frame, size.ticks), *(layer.draw(frame) for layer in layers)]
    return round(frame.bottom) + BELOW, joined(parts)


def _legend(layer: Layer, line: int) -> Markup:
    assert layer.shade is not None
    name, colour, dash = paint(layer.shade)
    y = 10 + LEGEND_LINE * line
    sample: Attributes = {
        "x1": 4,
        "x2": 34,
        "y1": y,
        "y2": y,
        "stroke": colour,
        "stroke-width": 3,
        "stroke-dasharray": dash,
    }
    return joined([element("line", {"class": name, **sample}), text(layer.label, 42, y + 4)])


def text(words: str, x: float, y: float, anchor: str | None = None, transform: str | None = None) -> Markup:
    """Words at a place, in the colour of the text around the figure."""
    place = {"x": number(x), "y": number(y), "text-anchor": anchor, "transform": transform}
    return element("text", {**place, "fill": "currentColor"}, words)


def _axes(frame: Frame, most: int) -> Markup:
    lines, words = [], []
    for value in frame.x.ticks(most):
        at = float(frame.across([value])[0])
        lines.append(f"M{number(at)} {number(frame.bottom)}v5")
        words.append(text(frame.x.text(value), at, frame.bottom + 18, "middle"))
    grid = []
    for value in frame.y.ticks(5):
        at = float(frame.up([value])[0])
        grid.append(f"M{number(frame.left)} {number(at)}h{number(frame.width)}")
        words.append(text(frame.y.text(value), frame.left - 6, at + 4, "end"))
    corner = f"M{number(frame.left)} {number(frame.top)}V{number(frame.bottom)}h{number(frame.width)}"
    middle = frame.top + frame.height / 2
    return joined(
        [
            _stroke("grid", "".join(grid), 0.15),
            _stroke("axes", corner + "".join(lines), 0.8),
            *words,
            text(frame.x.label, frame.left + frame.width / 2, frame.bottom + 36, "middle"),
            text(frame.y.label, 12, middle, "middle", f"rotate(-90 12 {number(middle)})"),
        ]
    )


def _stroke(name: str, data: str, opacity: float) -> Markup:
    return element(
        "path", {"class": name, "d": data, "fill": "none", "stroke": "currentColor", "stroke-opacity": opacity}
    )
