"""Figures as SVG from plain numbers: no chart library, no script, no style sheet needed.

    figure(title, describes, x, y, *layers)     axes and what is drawn between them, as markup for a page
    paired_bars(title, describes, pairs)        two numbers side by side for each of a few labels

    Axis(label, low, high, log=…, percent=…)    one axis; `axis_of` chooses its ends from the numbers
    Curve(label, x, y, step=…, low=…, high=…)   a line, or steps, with a band between `low` and `high`
    Bars(label, edges, heights)                 a histogram
    Dots(label, x, y, names=…)                  a scatter: one path, however many points; a few may carry names
    Mark(at, label, axis=…)                     a line across the figure, such as the claim
    cumulative(label, values)                   the Curve of the share of values at or above each x

Layers are drawn in their order. `shade` 0, 1, 2, … chooses a colour and a dash pattern, `GREY` is for references.
Colours are attributes of the elements, so a figure keeps them where a style sheet is not allowed; a page may override
them by the classes `shade-0`, `shade-1`, …, `grey`, `mark`. Texts and axes have the colour of the text around.

Each figure is drawn twice, for wide and for narrow screens, in a `<div class="wide">` and a `<div class="narrow"
hidden>`; a page swaps them by width. Curves keep four points per column of pixels, dots one per pixel, so a million
numbers make no larger a figure than a few thousand. Numbers that are not finite, or not positive on a logarithmic
axis, are drawn at its end. Equal numbers give equal bytes.
"""

from harness.render.svg.axes import Axis, axis_of
from harness.render.svg.bars import paired_bars
from harness.render.svg.figure import figure
from harness.render.svg.layers import GREY, Bars, Curve, Dots, Layer, Mark, cumulative

__all__ = [
    "GREY", "Axis", "Bars", "Curve", "Dots", "Layer", "Mark", "axis_of", "cumulative", "figure", "paired_bars",
]  # fmt: skip
