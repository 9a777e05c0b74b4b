"""Figures from plain numbers: places of points, ticks, sizes, and what stays legible without a style sheet."""

import math
import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.render.svg import GREY, Axis, Bars, Curve, Dots, Mark, axis_of, cumulative, figure, paired_bars
from harness.render.svg.layers import thinned

SVG = "{http://www.w3.org/2000/svg}"
SHARE = Axis("share", 0, 1, percent=True)
finite = st.floats(-1e6, 1e6)


def drawings(markup: str) -> list[ET.Element]:
    """The wide and the narrow drawing of a figure."""
    return list(ET.fromstring(markup.replace(" hidden>", ">")).iter(f"{SVG}svg"))


def points(path: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"[ML]([-\d.e+]+) ([-\d.e+]+)", path)]


def line_of(drawing: ET.Element, name: str) -> list[tuple[float, float]]:
    return next(points(each.attrib["d"]) for each in drawing.iter(f"{SVG}path") if each.attrib["class"] == name)


def test_a_point_lies_where_the_axis_says() -> None:
    wide, narrow = drawings(figure("f", "d", Axis("x", 0, 10), Axis("y", 0, 4), Curve("c", [0, 5, 10], [0, 2, 4])))
    assert line_of(wide, "shade-0") == [(58, 266), (382, 146), (706, 26)]
    assert line_of(narrow, "shade-0") == [(58, 246), (192, 136), (326, 26)]


def test_a_logarithmic_axis_gives_every_power_of_ten_the_same_room() -> None:
    shares = Axis("d", 1e-4, 1, log=True).share([1e-4, 1e-3, 1e-2, 0.1, 1, 0, math.inf, math.nan])
    assert shares == pytest.approx([0, 0.25, 0.5, 0.75, 1, 0, 1, 0])


@given(st.lists(finite, min_size=1), st.booleans())
def test_every_value_finds_its_place_on_the_axis_that_is_chosen_for_it(values: list[float], log: bool) -> None:
    axis = axis_of("v", values, log=log)
    shares = axis.share(values)
    assert ((shares >= 0) & (shares <= 1)).all()
    ticks = axis.ticks()
    assert all(axis.low - 1e-9 * abs(axis.low) <= tick <= axis.high + 1e-9 * abs(axis.high) for tick in ticks)
    assert 1 <= len(ticks) <= 9


def test_an_axis_without_room_is_refused() -> None:
    with pytest.raises(ValueError, match="finite ends"):
        Axis("x", 1, 1)
    with pytest.raises(ValueError, match="above 0"):
        Axis("x", 0, 1, log=True)


def test_the_cumulative_curve_is_the_share_at_or_above_each_value() -> None:
    values = [0.0, 0.1, 0.1, 0.5]
    curve = cumulative("all", values)
    for x, y in zip(curve.x, curve.y, strict=True):
        assert y == sum(value >= x for value in values) / len(values)
    (wide, _) = drawings(figure("f", "d", Axis("x", 0, 1), SHARE, curve))
    corners = line_of(wide, "shade-0")  # the share of those at or above 0.3 is the one at 0.5
    at = 58 + 0.3 * 648
    ((_, y),) = {(0, y) for (x, y), (right, same) in pairwise(corners) if x <= at < right and y == same}
    assert y == pytest.approx(266 - 240 * 0.25, abs=0.06)


@given(st.lists(st.tuples(st.floats(0, 700), st.floats(0, 240)), min_size=1, max_size=400))
def test_thinning_keeps_first_last_lowest_and_highest_of_every_column(pairs: list[tuple[float, float]]) -> None:
    ordered = sorted(pairs)
    x, y = (np.array(values) for values in zip(*ordered, strict=True))
    thin_x, thin_y = thinned(x, y)
    for column in np.unique(np.floor(x)):
        before, after = y[np.floor(x) == column], thin_y[np.floor(thin_x) == column]
        assert (before[0], before[-1], before.min(), before.max()) == (after[0], after[-1], after.min(), after.max())
        assert len(after) <= 4


def test_many_numbers_make_a_figure_of_the_size_of_a_few_thousand() -> None:
    values = np.random.default_rng(0).lognormal(-4, 1, 200_000)
    axis = axis_of("d", values[:10_000], log=True)
    curve = cumulative("all", values.tolist())
    assert len(figure("f", "d", axis, SHARE, curve)) < 150_000
    assert len(figure("f", "d", axis, axis, Dots("all", values.tolist(), values[::-1].tolist()))) < 900_000


def test_no_figure_needs_a_style_sheet() -> None:
    """Under a strict content policy an SVG with colours in classes alone becomes black shapes."""
    curve = Curve("c", [0, 1], [0, 1], low=[0, 0.5], high=[0.5, 1])
    layers = (curve, Bars("b", [0, 1, 2], [1, 2], 1), Dots("d", [1], [1], GREY, names=["n"]), Mark(0.5, "claim"))
    page = figure("f", "d", Axis("x", 0, 2), Axis("y", 0, 2), *layers) + paired_bars(
        "p", "d", ["a"], [0.5], [0.25], ("with", "without")
    )
    assert "style" not in page
    assert "<script" not in page
    for drawing in drawings(f"<body>{page}</body>"):
        for shape in drawing.iter():
            if shape.tag in {f"{SVG}path", f"{SVG}rect", f"{SVG}text"}:
                assert "fill" in shape.attrib
            if shape.tag == f"{SVG}line":
                assert "stroke" in shape.attrib


def test_a_figure_says_what_it_shows_and_labels_are_text() -> None:
    label = "<script>\"'&\x00"
    for drawing in drawings(
        figure(label, label, Axis(label, 0, 1), SHARE, Curve(label, [0], [0]), Curve("b", [], [], 1))
    ):
        assert drawing.attrib["role"] == "img"
        assert drawing.attrib["aria-label"] == "<script>\"'&\\x00"
        assert drawing.findtext(f"{SVG}title") == drawing.findtext(f"{SVG}desc") == "<script>\"'&\\x00"


def test_paired_bars_are_as_long_as_their_numbers() -> None:
    wide, narrow = drawings(paired_bars("p", "d", ["a", "b"], [0.5, 1.0], [0.25, 0.0], ("with", "without")))
    for drawing in (wide, narrow):
        bars = [each for each in drawing.iter(f"{SVG}rect") if each.find(f"{SVG}title") is not None]
        lengths = [float(bar.attrib["width"]) for bar in bars]
        assert lengths == pytest.approx([lengths[2] * share for share in (0.5, 0.25, 1, 0.5 / lengths[2])], rel=1e-4)
        assert [bar.findtext(f"{SVG}title") for bar in bars] == [
            "a, with: 0.5", "a, without: 0.25", "b, with: 1", "b, without: 0",
        ]  # fmt: skip
