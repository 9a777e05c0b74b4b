"""Adversary by adversary, secret by secret; and beside them what releases without any anonymizer would give."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.render import Plain
from harness.render.html.distances import numbers_of, worst_first
from harness.render.html.parts import Section, Source, items, named, p, table
from harness.render.html.terms import term
from harness.render.markup import Markup, element, joined
from harness.render.svg import Axis, Mark, axis_of, cumulative, figure

MOST_CURVES = 6
RELEASES = {"raw": "the data as it is", "suppressed": "all quasi-identifiers suppressed"}


def panel(source: Source) -> Section:
    """One row for each adversary and secret, the worst first."""
    headings = ["adversary", "infers", "verdict", "at least", "at most", "mean", "failures"]
    rows = [_row(source, place) for place in worst_first(source)]
    caption = joined(["What each ", term("adversary"), " found about each ", term("secret")])
    parts = [table(caption, headings, rows, numbers=4)]
    if len(source.report["results"]) > 1:
        parts.append(_curves(source))
    return Section("panel", "Adversary by adversary, secret by secret", joined(parts))


def _row(source: Source, place: int) -> list[object]:
    result = source.report["results"][place]
    at = ("results", place)
    outcome = "no verdict" if "unfinished" in source.report else result["verdict"]["outcome"].upper()
    words: list[object] = [named(result["adversary"]), named(result["secret"]), outcome]
    if "statistics" not in result:
        return [*words, "-", "-", "-", source.count(*at, "failures")]
    ends = [source.number(*at, "verdict", end) for end in ("at_least", "at_most")]
    return [*words, *ends, source.number(*at, "statistics", "mean"), source.count(*at, "failures")]


def _curves(source: Source) -> Markup:
    places = [place for place in worst_first(source) if source.findings[place]][:MOST_CURVES]
    results = source.report["results"]
    curves = [
        cumulative(f"{results[place]['adversary']}, {results[place]['secret']}"[:70],
                   numbers_of(source, place, "lower").tolist(), shade)
        for shade, place in enumerate(places)
    ]  # fmt: skip
    epsilon = source.report["plan"]["claim"]["epsilon"]
    x = axis_of(
        "distance (logarithmic)",
        [value for curve in curves for value in curve.x],
        log=True,
        at_least=[epsilon / 10, 2 * epsilon],
    )
    caption = f"Share of {source.unit}s at or above each distance (lower limits where chance plays a part), of the " + (
        f"{len(curves)} worst of {len(results)}." if len(curves) < len(results) else "adversaries and secrets above."
    )
    share = Axis("share at or above", 0, 1, percent=True)
    drawn = figure(
        "Cumulative curves by adversary and secret", caption, x, share, *curves, Mark(epsilon, f"claim ε = {epsilon:g}")
    )
    return element("figure", None, drawn, element("figcaption", None, caption))


def _worse_than_raw(source: Source, known: Sequence[Plain]) -> Iterator[object]:
    """That an anonymizer can be worse than none, and whether this one is; estimates prove neither."""
    exact = {(one["adversary"], one["secret"]) for one in source.report["results"] if one["exact"]}
    raw = [one for one in known if one["release"] == "raw" and (one["adversary"], one["secret"]) in exact]
    if any(None not in (one["largest"], one["f"]["largest"]) and _number(one["f"]) > _number(one) for one in raw):
        yield element("strong", None, "Here the anonymizer moves somebody more than the data as it is would. ")
    yield (
        "An anonymizer can be worse than none: without one person it may form other groups, and so change what the "
        "release says about many."
    )


def _number(one: Plain) -> float:
    return float(one["largest"])


def baselines(source: Source) -> Section | None:
    """What identity would give, and what suppressing everything would give, beside f."""
    known = source.report.get("baselines")
    if known is None:
        return None
    at = "baselines", "known"
    parts: list[Markup] = [
        p("A distance says more beside ", term("baselines"), ": two releases that need no ",
          term("anonymizer"), ", in grey: the data as it is (nothing is hidden), and all ",
          term("quasi-identifier", "quasi-identifiers"), " suppressed (only the ",
          term("secret", "secrets"), " are left). Releasing nothing at all would give 0 everywhere. "
          f"The same adversaries, the same {source.unit}s, chosen at random."),
        p(*_worse_than_raw(source, known["known"])),
    ]  # fmt: skip
    groups: dict[tuple[str, str], list[int]] = {}
    for place, one in enumerate(known["known"]):
        groups.setdefault((one["adversary"], one["secret"]), []).append(place)
    for (adversary, secret), places in list(groups.items())[:MOST_CURVES]:
        exact = all(result["exact"] for result in source.report["results"])
        mine = "this anonymizer" if exact else "this anonymizer, estimates"
        rows = [[mine, *(source.number(*at, places[0], "f", key) for key in ("largest", "mean")),
                 source.share(*at, places[0], "f", "share_at_or_above")]]  # fmt: skip
        rows += [
            [RELEASES[known["known"][place]["release"]],
             *(source.number(*at, place, key) for key in ("largest", "mean")),
             source.share(*at, place, "share_at_or_above")]
            for place in places
        ]  # fmt: skip
        count = source.count(*at, places[0], "persons")
        caption = joined([named(adversary), " about ", named(secret), ", ", count, f" {source.unit}s"])
        headings = ["release", "largest", "mean", "at the claim or above"]
        parts.append(table(caption, headings, rows, numbers=3, grey=range(1, len(rows))))
    if len(groups) > MOST_CURVES:
        parts.append(p(f"{len(groups) - MOST_CURVES} more adversaries and secrets are in report.json."))
    if known["skipped"]:
        skipped = (joined([named(one["adversary"]), ": ", one["reason"]]) for one in known["skipped"])
        parts += [p("Not computed:"), items(skipped)]
    return Section("baselines", "Beside releases without an anonymizer", joined(parts))
