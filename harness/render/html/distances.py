"""The distances of everybody, as one adversary and secret showed them: cumulative curve, histogram, (ε, δ) curve.

Figures of a large audit, whose report does not list all findings, are drawn from quantiles.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from harness.render.html.parts import Section, Source, named, p
from harness.render.html.terms import term
from harness.render.markup import Markup, element, joined
from harness.render.svg import Axis, Bars, Curve, Mark, axis_of, cumulative, figure

PER_DECADE = 4  # bars of the histogram
MOST_FIGURES = 3  # adversaries and secrets with figures of their own

Floats = npt.NDArray[np.float64]
SHARE = Axis("share at or above", 0, 1, percent=True)


def distances(source: Source) -> Section | None:
    """The figures of the results that are worst, the verdict's first."""
    places = [place for place in worst_first(source) if source.findings[place]][:MOST_FIGURES]
    if not places:
        return None
    parts = [_result(source, place, alone=len(source.report["results"]) == 1) for place in places]
    more = len(source.report["results"]) - len(places)
    if more > 0:
        parts.append(p(f"Figures of {more} more are left out; the table of adversaries and secrets has them all."))
    return Section("distances", f"How far each {source.unit} moves the inference", joined(parts))


def worst_first(source: Source) -> list[int]:
    """The places of all results: the verdict's, then by outcome and largest distance."""
    order = {"violated": 0, "inconclusive": 1, "holds": 2}
    results = source.report["results"]

    def rank(place: int) -> tuple[bool, int, float, int]:
        verdict = results[place]["verdict"]
        return place != source.verdict_result, order[verdict["outcome"]], -float(verdict["at_least"]), place

    return sorted(range(len(results)), key=rank)


def is_large(source: Source, place: int) -> bool:
    """Whether the report lists quantiles and the worst findings of this result instead of all."""
    return "quantiles" in source.report["results"][place]


def numbers_of(source: Source, place: int, name: str) -> Floats:
    """One number of every finding; where there are many, their quantiles."""
    if is_large(source, place):
        return np.array([float(number) for number in source.report["results"][place]["quantiles"][name]])
    return np.array([float(finding[name]) for finding in source.findings[place]])


def _result(source: Source, place: int, *, alone: bool) -> Markup:
    result = source.report["results"][place]
    level = "h3" if alone else "h4"
    heading = () if alone else (element("h3", None, named(result["adversary"]), " about ", named(result["secret"])),)
    return element(
        "div", {"class": "result"}, *heading, _in_words(source, place),
        element(level, None, "Cumulative"), _cumulative(source, place),
        element(level, None, "Histogram"), _histogram(source, place),
        element(level, None, "(ε, δ) curve"), _epsilon_delta(source, place),
    )  # fmt: skip


def _in_words(source: Source, place: int) -> Markup:
    result = source.report["results"][place]
    at = ("results", place, "statistics")
    epsilon = f"{source.report['plan']['claim']['epsilon']:.4g}"
    if result["exact"]:
        return p(
            "Largest ", term("distance"), " ", source.number(*at, "largest"), ", mean ", source.number(*at, "mean"),
            "; ", source.share(*at, "share_at_or_above", epsilon), f" of {source.unit}s at {epsilon} or more. ",
            "Distances are ",
            term("exact"), ": nothing is random.",
        )  # fmt: skip
    return p(
        "Largest ", term("distance"), " ", term("at least"), " ",
        source.number("results", place, "verdict", "at_least"), " and at most ",
        source.number("results", place, "verdict", "at_most"), "; mean of the estimates ",
        source.number(*at, "mean"), ", of which sampling noise alone would show ", source.number(*at, "floor"), " (",
        term("noise floor"), "). ", source.share(*at, "share_at_or_above", epsilon), f" of {source.unit}s are proven, ",
        source.share(*at, "share_possibly_at_or_above", epsilon), f" possible at {epsilon} or more.",
    )  # fmt: skip


def _claimed(source: Source) -> tuple[float, Mark]:
    epsilon = source.report["plan"]["claim"]["epsilon"]
    return epsilon, Mark(epsilon, f"claim ε = {epsilon:g}")


def _cumulative(source: Source, place: int) -> Markup:
    result = source.report["results"][place]
    exact, many = result["exact"], result["verdict"]["examined"]
    epsilon, mark = _claimed(source)
    lower = numbers_of(source, place, "lower")
    if exact:
        curves = [cumulative(f"{source.unit}s", lower.tolist())]
    else:
        upper = numbers_of(source, place, "upper")
        curves = [
            cumulative("proven (lower limits)", lower.tolist()),
            cumulative("possible (upper limits)", upper.tolist(), 1),
        ]
    values = [value for curve in curves for value in curve.x]
    axis = axis_of("distance (logarithmic)", values, log=True, at_least=[epsilon / 10, 2 * epsilon])
    large = is_large(source, place)
    still = None if large else int((lower <= 0).sum())
    below = f" {still:,} of {len(lower):,} do not move it at all and stand at the left end." if still and exact else ""
    below += f" Drawn from {len(lower):,} quantiles of {many:,} {source.unit}s." if large else ""
    caption = f"Share of {source.unit}s at or above each distance.{below}"
    return _figure("Cumulative curve of distances", caption, axis, SHARE, *curves, mark)


def _figure(heading: str, caption: str, x: Axis, y: Axis, *layers: Curve | Bars | Mark) -> Markup:
    drawn = figure(heading, caption, x, y, *layers)
    return element("figure", None, drawn, element("figcaption", None, caption))


def _histogram(source: Source, place: int) -> Markup:
    result = source.report["results"][place]
    exact = result["exact"]
    epsilon, mark = _claimed(source)
    values = numbers_of(source, place, "lower")
    each = (result["verdict"]["examined"] - result["failures"]) / len(values)  # persons that a number stands for
    moving = values[(values > 0) & np.isfinite(values)]
    axis = axis_of("distance (logarithmic)", moving, log=True, at_least=[epsilon / 10, 2 * epsilon])
    steps = math.ceil(PER_DECADE * math.log10(axis.high / axis.low) - 1e-9)
    edges = np.append(axis.low * 10.0 ** (np.arange(steps) / PER_DECADE), axis.high)
    counts = np.round(each * np.histogram(np.maximum(moving, axis.low), edges)[0]).astype(int)
    what = "distance" if exact else "proven distance (lower limit)"
    rest = round(each * (len(values) - len(moving)))
    about = "about " if is_large(source, place) else ""
    still = f"; {about}{rest:,} more {'does' if rest == 1 else 'do'} not move it" if rest else ""
    caption = f"Number of {source.unit}s by {what}{still}" + (", as far as is proven." if rest and not exact else ".")
    bars = Bars(f"{source.unit}s", edges.tolist(), counts.tolist())
    return _figure(
        "Histogram of distances", caption, axis, axis_of(f"{source.unit}s", counts.tolist(), at_least=[5]), bars, mark
    )


def _epsilon_delta(source: Source, place: int) -> Markup:
    points, (_, mark) = source.report["results"][place]["curve"], _claimed(source)
    epsilon, delta, low, high = ([point[key] for point in points] for key in ("epsilon", "delta", "lower", "upper"))
    exact = source.report["results"][place]["exact"]
    line = Curve("δ", epsilon, delta, step=True)
    if not exact:
        line = Curve("δ with its band", epsilon, delta, step=True, low=low, high=high)
    x, y = axis_of("ε (logarithmic)", epsilon, log=True), Axis("δ", 0, 1)
    caption = (
        "Nothing is random here: δ is 1 up to the largest distance, and 0 beyond it."
        if exact
        else f"δ is the largest share, over all {source.unit}s, of pairs of draws that lie ε or more apart. The band "
        "holds for everybody and every ε at once."
    )
    claimed = source.report["plan"]["claim"]["delta"]
    return _figure(
        "(ε, δ) curve", caption, x, y, line, mark, *([Mark(claimed, f"δ = {claimed:g}", "y")] if claimed else [])
    )
