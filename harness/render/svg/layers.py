"""What is drawn between the axes of a figure: curves with bands, bars, dots and marks, each as SVG elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from harness.render.markup import Attributes, Markup, element, joined
from harness.render.svg.axes import Axis, Floats

COLOURS = ("#0f6cbd", "#c2410c", "#0e7a55", "#8a3ffc", "#a8326e", "#7a6000")  # legible on white and on black
DASHES = (None, "6 3", "2 3", "8 3 2 3", "4 4", "1 4")
GREY = -1  # the shade of references
GREY_COLOUR, MARK_COLOUR = "#767676", "#c50f1f"
MOST_HINTS = 60  # places of a curve or histogram that say their numbers when they are pointed at
REACH = 14  # pixels above and below a line that still belong to it
MOST_NAMES = 24  # dots that carry a name

Numbers = npt.ArrayLike


@dataclass(frozen=True)
class Frame:
    """The rectangle between the axes, in pixels of one drawing."""

    x: Axis
    y: Axis
    left: float
    top: float
    width: float
    height: float

    def across(self, values: Numbers) -> Floats:
        return np.asarray(np.round(self.left + self.width * self.x.share(values), 1))

    def up(self, values: Numbers) -> Floats:
        return np.asarray(np.round(self.top + self.height * (1 - self.y.share(values)), 1))

    @property
    def bottom(self) -> float:
        return self.top + self.height


class Layer(Protocol):
    """Something to draw, with its place in the legend (None: none)."""

    @property
    def label(self) -> str: ...
    @property
    def shade(self) -> int | None: ...
    def draw(self, frame: Frame) -> Markup: ...


def paint(shade: int) -> tuple[str, str, str | None]:
    """Class, colour and dash pattern of a shade."""
    if shade == GREY:
        return "grey", GREY_COLOUR, "3 3"
    return f"shade-{shade % len(COLOURS)}", COLOURS[shade % len(COLOURS)], DASHES[shade % len(DASHES)]


def number(value: float) -> str:
    """A coordinate, or a number in a hint: as short as it can be."""
    return f"{value:.6g}"


def path_through(x: Floats, y: Floats) -> str:
    """Path data through points in pixels."""
    points = [f"{number(a)} {number(b)}" for a, b in zip(x, y, strict=True)]
    return "M" + "L".join(points) if points else ""


def thinned(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Of all points in one column of pixels the first, lowest, highest and last; looks the same."""
    if len(x) <= 4:
        return x, y
    column = np.floor(x)
    starts = np.flatnonzero(np.r_[True, column[1:] != column[:-1]])
    kept: set[int] = set()
    for start, end in zip(starts, np.r_[starts[1:], len(x)], strict=True):
        part = y[start:end]
        kept |= {int(start), int(start + part.argmin()), int(start + part.argmax()), int(end - 1)}
    places = np.array(sorted(kept))
    return x[places], y[places]


def stepped(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """The corners of steps: each y holds up to and including its x."""
    if len(x) < 2:
        return x, y
    return np.r_[x[0], np.repeat(x[:-1], 2)[1:], x[-1], x[-1]], np.r_[y[0], np.repeat(y[1:], 2), y[-1]]


@dataclass(frozen=True)
class Curve:
    """A line through points that ascend in x; `step`: each y holds up to and including its x. A band is optional."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    shade: int = 0
    step: bool = False
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None

    def draw(self, frame: Frame) -> Markup:
        name, colour, dash = paint(self.shade)
        band = self._band(frame, name, colour)
        x, y = self._points(frame, self.y)
        line = element(
            "path",
            {"class": name, "d": path_through(x, y), "fill": "none", "stroke": colour, "stroke-width": 2,
             "stroke-dasharray": dash, "stroke-linejoin": "round"},
        )  # fmt: skip
        return joined([band, line, *self._hints(frame)])

    def _points(self, frame: Frame, values: Sequence[float]) -> tuple[Floats, Floats]:
        x, y = thinned(frame.across(self.x), frame.up(values))
        return stepped(x, y) if self.step else (x, y)

    def _band(self, frame: Frame, name: str, colour: str) -> Markup:
        if self.low is None or self.high is None:
            return Markup("")
        below, above = self._points(frame, self.low), self._points(frame, self.high)
        outline = np.r_[above[0], below[0][::-1]], np.r_[above[1], below[1][::-1]]
        data = path_through(*outline) + "Z"
        return element("path", {"class": f"band {name}", "d": data, "fill": colour, "fill-opacity": 0.18})

    def _hints(self, frame: Frame) -> list[Markup]:
        """Invisible places along the line that say its numbers; where it falls steeply, those of its upper end."""
        if not len(self.x):
            return []
        distinct = np.flatnonzero(np.r_[True, np.diff(self.x) > 0])
        places = distinct[np.unique(np.linspace(0, len(distinct) - 1, min(MOST_HINTS, len(distinct))).astype(int))]
        across, up = frame.across(np.asarray(self.x)[places]), frame.up(np.asarray(self.y)[places])
        edges = np.r_[across[0] - 4, (across[1:] + across[:-1]) / 2, across[-1] + 4]
        return [
            hint(left, y - REACH, right - left, 2 * REACH, self._at(frame, int(place)))
            for place, left, right, y in zip(places, edges[:-1], edges[1:], up, strict=True)
            if right - left >= 0.5
        ]

    def _at(self, frame: Frame, place: int) -> str:
        band = ""
        if self.low is not None and self.high is not None:
            band = f" (from {frame.y.text(self.low[place])} to {frame.y.text(self.high[place])})"
        at = f"{frame.x.quantity}: {frame.x.text(self.x[place])}"
        return f"{self.label}. {at}. {frame.y.label}: {frame.y.text(self.y[place])}{band}"


def hint(left: float, top: float, width: float, height: float, text: str) -> Markup:
    """An invisible rectangle that says a text when it is pointed at."""
    place = {"x": number(left), "y": number(top), "width": number(width), "height": number(height)}
    return element("rect", {"class": "hint", **place, "fill": "none", "pointer-events": "all"}, title(text))


def title(text: str) -> Markup:
    """What a browser shows when an element is pointed at, and what a screen reader reads."""
    return element("title", None, text)


def cumulative(label: str, values: Sequence[float], shade: int = 0) -> Curve:
    """The share of values at or above each x, one step per distinct value: all at 0 or below, none beyond the last."""
    distinct, counts = np.unique(np.asarray(values, dtype=float), return_counts=True)
    x, y = distinct.tolist(), (counts[::-1].cumsum()[::-1] / max(counts.sum(), 1)).tolist()
    if not x:
        return Curve(label, [], [], shade, step=True)
    before = ([0.0], [1.0]) if x[0] > 0 else ([], [])
    return Curve(label, [*before[0], *x, x[-1]], [*before[1], *y, 0.0], shade, step=True)


@dataclass(frozen=True)
class Bars:
    """A histogram: one bar between each two edges."""

    label: str
    edges: Sequence[float]
    heights: Sequence[float]
    shade: int = 0

    def draw(self, frame: Frame) -> Markup:
        name, colour, _ = paint(self.shade)
        x, y = frame.across(self.edges), frame.up(self.heights)
        bars = [
            element(
                "rect",
                {"class": name, "x": number(left + 0.5), "y": number(top), "width": number(max(right - left - 1, 0.5)),
                 "height": number(frame.bottom - top), "fill": colour},
            )
            for left, right, top in zip(x[:-1], x[1:], y, strict=True)
        ]  # fmt: skip
        hints = [
            hint(left, frame.top, right - left, frame.height, self._at(frame, place))
            for place, (left, right) in enumerate(pairwise(x))
            if len(self.heights) <= MOST_HINTS
        ]
        return joined([*bars, *hints])

    def _at(self, frame: Frame, place: int) -> str:
        ends = f"{frame.x.text(self.edges[place])} to {frame.x.text(self.edges[place + 1])}"
        return f"{frame.x.quantity} {ends}: {frame.y.text(self.heights[place])}"


@dataclass(frozen=True)
class Dots:
    """A scatter as one path; at most one dot per pixel is drawn. Names stand beside the first few dots."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    shade: int = 0
    names: Sequence[str] = ()

    def draw(self, frame: Frame) -> Markup:
        name, colour, _ = paint(self.shade)
        places = np.unique(np.round(np.c_[frame.across(self.x), frame.up(self.y)]), axis=0)
        data = "".join(f"M{number(x)} {number(y)}h0" for x, y in places)
        dots = element(
            "path",
            {"class": f"dots {name}", "d": data, "fill": "none", "stroke": colour,
             "stroke-width": 4 if len(places) > 200 else 6, "stroke-linecap": "round", "stroke-opacity": 0.7},
        )  # fmt: skip
        return joined([dots, *self._names(frame)])

    def _names(self, frame: Frame) -> list[Markup]:
        texts = []
        for x, y, name in zip(frame.across(self.x), frame.up(self.y), self.names[:MOST_NAMES], strict=False):
            left = x > frame.left + 0.7 * frame.width
            beside = {"x": number(x + (-7 if left else 7)), "y": number(y - 5), "text-anchor": "end" if left else None}
            texts.append(element("text", {**beside, "font-size": 11, "fill": "currentColor"}, name))
        return texts


@dataclass(frozen=True)
class Mark:
    """A line across the whole figure with its label, such as the claim."""

    at: float
    label: str
    axis: Literal["x", "y"] = "x"
    shade: int | None = None  # no place in the legend: its label stands at the line

    def draw(self, frame: Frame) -> Markup:
        if self.axis == "x":
            x = float(frame.across([self.at])[0])
            ends = {"x1": number(x), "x2": number(x), "y1": number(frame.top - 4), "y2": number(frame.bottom)}
            left = x > frame.left + frame.width / 2
            place = {"x": number(x), "y": number(frame.top - 8), "text-anchor": "end" if left else "start"}
        else:
            y = float(frame.up([self.at])[0])
            right = frame.left + frame.width
            ends = {"x1": number(frame.left), "x2": number(right), "y1": number(y), "y2": number(y)}
            place = {"x": number(right), "y": number(y - 4), "text-anchor": "end"}
        line = element("line", {"class": "mark", **ends, "stroke": MARK_COLOUR, "stroke-width": 1.5})
        text: Attributes = {"class": "mark-text", "font-size": 12, "font-weight": "bold", "fill": MARK_COLOUR}
        return joined([line, element("text", {**place, **text}, self.label)])
