"""Finished audits side by side as an HTML page with the papers' figures. Reads plain data of `analysis` alone.

The first audit is A, each further one B, C, …, is compared with A. From top to bottom:

    opening       one box for each comparison: WORSE, BETTER or SAME, why, how it was decided, what it does not say
    numbers       one row per audit, adversary and secret, and bars (v1 Figures 3, 4 and 7, v2 Figures 1 and 3)
    persons       for each adversary and secret cumulative curves of all audits (v1 Figures 5, 6; v2 Figures 2, 4), and
                  for each comparison everybody's distance before and after, with those whose limits lie apart
    plane         privacy against utility, a dot per audit
    release       metrics of f(D) that changed, and what was noticed in one of two audits only
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.render.audit_figures import around, cumulative_figure, privacy_utility_plane
from harness.render.comparison import metric_text, mixed_directions, span_text
from harness.render.html.document import document
from harness.render.html.parts import Section, cut, items, named, p, table
from harness.render.html.terms import definitions, term
from harness.render.markup import Markup, element, joined
from harness.render.svg import GREY, Curve, Dots, Mark, axis_of, figure, paired_bars
from harness.render.text import brief, counted, share_in_words
from harness.vocabulary.persons import RowNames

MOST_PERSONS, MOST_METRICS = 20, 100  # rows of tables
MOST_BARS = 12  # audits
LONGEST_LABEL = 24  # characters of a folder's name in a figure
STYLES = {"worse": "violated", "better": "holds", "same": "inconclusive"}  # colours of a verdict
SIGNS = {"worse": "✗", "better": "✓", "same": "="}
WORDS = {"worse": "{} is WORSE than A", "better": "{} is BETTER than A", "same": "{} is the SAME as A"}
MEANINGS = {
    "worse": "A person's own rows move what is inferred about that person further in {} than in A.",
    "better": "A person's own rows move what is inferred about that person less far in {} than in A.",
    "same": "No difference between {} and A was proven.",
}
SMALL = "0.003162"  # 10^-2.5, which the papers report

Plain = Mapping[str, Any]


def comparison_page(comparisons: Sequence[Plain], audits: Sequence[Plain], rows: RowNames) -> str:
    """The page; `audits` begin with the one that the others are compared with. `rows` says how rows are called."""
    sections = [
        _numbers(audits),
        *(_persons(place, comparisons, audits, rows) for place in range(len(audits[0]["results"]))),
        _plane(audits),
        *(_release(letter(place), one) for place, one in enumerate(comparisons, start=1)),
    ]
    content = joined([_opening(comparisons, audits), *(section.markup() for section in sections if section)])
    words = ", ".join(f"{letter(place)} {one['overall']}" for place, one in enumerate(comparisons, start=1))
    body = element("main", None, content, definitions(content).markup())
    return document(f"Comparison with A: {words}", body)


def letter(place: int) -> str:
    """A, B, C, … for the audits in their order; numbers once there are no letters left."""
    return chr(ord("A") + place) if place < 26 else str(place + 1)


def _label(place: int, audit: Plain) -> str:
    """An audit in a figure: its letter and the end of its name."""
    name = str(audit["name"])
    return f"{letter(place)}: {name if len(name) <= LONGEST_LABEL else '…' + name[1 - LONGEST_LABEL :]}"


def _opening(comparisons: Sequence[Plain], audits: Sequence[Plain]) -> Markup:
    listed = items(
        joined([f"{letter(place)}: ", named(audit["name"]), ", anonymizer ", named(audit["anonymizer"])])
        for place, audit in enumerate(audits)
    )
    boxes = (_box(letter(place), one) for place, one in enumerate(comparisons, start=1))
    cards = (
        ("How it was decided", items(_decision(comparisons, audits[0]["epsilon"]))),
        ("What it does not say", items(_limits(comparisons))),
    )
    drawn = (element("div", {"class": "card"}, element("h2", None, name), content) for name, content in cards)
    title = element("h1", None, "Comparison of finished audits")
    return element("header", None, title, listed, *boxes, element("div", {"class": "cards"}, *drawn))


def _box(later: str, comparison: Plain) -> Markup:
    """What became of everybody together, and of how many."""
    overall = comparison["overall"]
    sign = element("span", {"class": "sign", "aria-hidden": "true"}, SIGNS[overall])
    word = element("strong", None, sign, f" {WORDS[overall].format(later)}")
    before, after = comparison["verdicts"]
    box = element(
        "div", {"class": "verdict"}, element("p", {"class": "outcome"}, word),
        p(MEANINGS[overall].format(later), name="reason"), items(_reasons(later, comparison)),
        p(f"Verdict of A: {before.upper()}; of {later}: {after.upper()}."),
    )  # fmt: skip
    return element("div", {"class": f"opening {STYLES[overall]}"}, box)


def _reasons(later: str, comparison: Plain) -> Iterator[str]:
    """Which numbers differ; with several adversaries or secrets, which of these differ."""
    alone = len(comparison["results"]) == 1
    for result in comparison["results"]:
        persons = f"{result['worse']:,} worse, {result['better']:,} better, {result['same']:,} the same"
        if not alone:
            pair = f"{cut(result['adversary'])} about {cut(result['secret'])}"
            yield f"{pair}: {result['overall']} ({persons})"
            continue
        for name, measure in result["measures"].items():
            if measure["direction"] != "same":
                spans = f"{span_text(measure['before'])} in A, {span_text(measure['after'])} in {later}"
                yield f"{name}: {spans} ({measure['direction']})"
        yield f"of {counted(result['compared'], 'person')} examined in both: {persons}"
        yield from mixed_directions(result)


def _decision(comparisons: Sequence[Plain], epsilon: float) -> Iterator[Markup]:
    yield joined(
        ["A person is worse off if the limits of her ", term("distance"), " in the later audit lie wholly above those "
         "in A, better off if wholly below, else the same."]
    )  # fmt: skip
    yield joined(
        ["All together: WORSE if the largest distance, the mean distance or the share of persons at the ",
         term("claim"), f" (ε = {epsilon:g}) is worse; BETTER if one is better and none is worse; else SAME."]
    )  # fmt: skip
    certain = min(one["joint_confidence"] for one in comparisons)
    if certain == 1:
        yield joined(["Nothing is random here: distances are ", term("exact"), ", and every difference is real."])
    else:
        yield joined(
            ["Everything that is said of two audits holds together with ", term("confidence"),
             f" {share_in_words(certain)}."]
        )  # fmt: skip


def _limits(comparisons: Sequence[Plain]) -> Iterator[Markup]:
    yield joined(["It relates to this data and these adversaries; another ", term("adversary"), " may infer more."])
    yield joined(["SAME says that no difference was proven, and not that there is none."])
    part = min(one["compared"] / one["population"] for comparison in comparisons for one in comparison["results"])
    if part < 1:
        yield joined(["Nothing is said about persons whom only one of two audits examined."])


def _numbers(audits: Sequence[Plain]) -> Section:
    several = len(audits[0]["results"]) > 1
    head = ["audit", *(["adversary", "secret"] if several else []), "verdict", "largest", "mean",
            "≥ claim", "≥ 0.00316", "changed", "AUC", "precision kept"]  # fmt: skip
    lines = [
        _line(letter(place), audit, one, several) for place, audit in enumerate(audits) for one in audit["results"]
    ]
    caption = (
        "“≥ claim” is the share of persons proven to reach the claimed ε; “≥ 0.00316” the share proven to reach "
        "10^-2.5; “changed” the share without whom the most likely value is another one; AUC says how well an "
        "adversary tells who was in the data (0.5: by guessing); precision kept is 1 - the normalized certainty "
        "penalty of f(D)."
    )
    numbers = table(caption, head, lines, numbers=7)
    return Section("numbers", "The audits side by side", joined([numbers, *_bars(audits)]))


def _line(name: str, audit: Plain, result: Plain, several: bool) -> list[object]:
    auc = result["membership_auc"]
    return [
        name, *([named(result["adversary"]), named(result["secret"])] if several else []), result["verdict"],
        span_text({"lower": result["at_least"], "upper": result["at_most"]}), brief(result["mean"]),
        _percent(result["share_at_the_claim"]), _percent((result["share_at_or_above"] or {}).get(SMALL)),
        _percent(result["share_of_changed_predictions"]), "" if auc is None else f"{auc['value']:.3f}",
        brief(audit["utility"]),
    ]  # fmt: skip


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f} %"


def _bars(audits: Sequence[Plain]) -> Iterator[Markup]:
    """Largest and mean distance, and the two shares, of each audit; of the first adversary and secret."""
    firsts = [(letter(place), audit["results"][0]) for place, audit in enumerate(audits)][:MOST_BARS]
    for names, keys, title in (
        (("largest distance, at most", "mean distance"), ("at_most", "mean"), "Largest and mean distance"),
        (("changed predictions", "persons at the claim"), ("share_of_changed_predictions", "share_at_the_claim"),
         "Share of changed predictions, and of persons proven at the claim"),
    ):  # fmt: skip
        known = [(name, result) for name, result in firsts if None not in (result[keys[0]], result[keys[1]])]
        if known:
            first, second = ([float(result[key]) for _, result in known] for key in keys)
            largest = max(*first, *second) or 1.0
            drawing = paired_bars(title, f"{title} of each audit", [n for n, _ in known], first, second, names, largest)
            yield element("h3", None, title)
            yield element("figure", None, drawing)


def _persons(place: int, comparisons: Sequence[Plain], audits: Sequence[Plain], rows: RowNames) -> Section:
    """Everybody, as one adversary saw them about one secret."""
    result = audits[0]["results"][place]
    curves = {_label(number, audit): [*audit["results"][place]["distances"].values()]
              for number, audit in enumerate(audits)}  # fmt: skip
    epsilon = audits[0]["epsilon"]
    parts: list[Markup] = [
        element("h3", None, "Share of persons at or below each distance"),
        element("figure", None, cumulative_figure("Cumulative distances", curves, epsilon)),
    ]  # fmt: skip
    for number, comparison in enumerate(comparisons, start=1):
        sides = audits[0]["results"][place], audits[number]["results"][place]
        parts += _changed(letter(number), comparison["results"][place], sides, epsilon, rows)
    if len(audits[0]["results"]) == 1:
        return Section("persons", "Everybody's distance", joined(parts))
    title = f"Everybody's distance: {cut(result['adversary'])} about {cut(result['secret'])}"
    return Section(f"persons-{place}", title, joined(parts))


def _changed(later: str, result: Plain, sides: tuple[Plain, Plain], epsilon: float, rows: RowNames) -> Iterator[Markup]:
    yield element("h3", None, f"Each person in A and in {later}")
    measures = [
        [name, measure["direction"], span_text(measure["before"]), span_text(measure["after"])]
        for name, measure in result["measures"].items()
    ]
    together = f"{counted(result['compared'], 'person')} examined in both, together"
    yield table(together, ["number", f"in {later}", "A", later], measures, numbers=2)
    yield element("figure", None, _before_and_after(later, result, sides, epsilon), _reading(later, sides))
    if result["persons"]:
        shown = [
            [rows.in_source(person["rows"]), person["direction"], span_text(person["before"]),
             span_text(person["after"]), brief(person["gap"])]
            for person in result["persons"][:MOST_PERSONS]
        ]  # fmt: skip
        more = len(result["persons"]) - len(shown)
        caption = f"Who is worse or better off in {later}, the largest change first; those who are worse off first"
        left_out = f". {more:,} more are in `harness compare --json`." if more else "."
        head = ["person", "in the later audit", "distance in A", f"distance in {later}", "apart by at least"]
        yield table(caption + left_out, head, shown, numbers=3)


def _before_and_after(later: str, result: Plain, sides: tuple[Plain, Plain], epsilon: float) -> Markup:
    before, after = (side["distances"] for side in sides)
    both = [person for person in before if person in after]
    directions = {person["person"]: person["direction"] for person in result["persons"]}
    numbers = [float(side[person]) for side in (before, after) for person in both]
    x, y = (
        axis_of(f"distance in {name} (logarithmic)", numbers, log=True, at_least=around(epsilon))
        for name in ("A", later)
    )
    layers = []
    for shade, way in ((GREY, "same"), (1, "worse"), (2, "better")):
        chosen = [person for person in both if directions.get(person, "same") == way]
        if chosen:
            layers.append(Dots(way, [before[one] for one in chosen], [after[one] for one in chosen], shade))
    diagonal = Curve("equal in both", [x.low, x.high], [x.low, x.high], GREY)
    return figure(
        f"Distances in A and in {later}", f"Each person's distance in {later} against that in A", x, y,
        diagonal, *layers, Mark(epsilon, f"claim ε = {epsilon:g}"), Mark(epsilon, "", "y"),
    )  # fmt: skip


def _reading(later: str, sides: tuple[Plain, Plain]) -> Markup:
    random = any(not side["exact"] for side in sides)
    noise = " Dots are estimates, which contain noise; a colour says that limits lie apart." if random else ""
    text = f"A dot per person: above the diagonal who moves the inference further in {later} than in A.{noise}"
    return element("figcaption", None, text)


def _plane(audits: Sequence[Plain]) -> Section | None:
    """Mean distance, of the first adversary and secret, against what f(D) still says."""
    dots = [
        {"label": letter(place), "utility": audit["utility"], "mean": audit["results"][0]["mean"]}
        for place, audit in enumerate(audits)
    ]
    plane = privacy_utility_plane({"audits": dots})
    if plane is None:
        return None
    caption = "Lower is more private, further to the right more precise."
    drawing = element("figure", None, plane, element("figcaption", None, caption))
    return Section("plane", "Privacy against utility", drawing)


def _release(later: str, comparison: Plain) -> Section | None:
    """Metrics of f(D) that changed, and notes of one audit only."""
    metrics, notes = comparison["metrics"], comparison["notes"]
    parts: list[Markup] = []
    if metrics:
        shown = [
            [named(one["metric"]), metric_text(one["before"]), metric_text(one["after"])]
            for one in metrics[:MOST_METRICS]
        ]
        chance = "" if comparison["joint_confidence"] == 1 else " (of one draw each, which chance alone can change)"
        left_out = "" if len(metrics) == len(shown) else f"; {len(metrics) - len(shown):,} more are in --json"
        caption = f"{counted(len(metrics), 'metric')} of f(D) that changed{chance}{left_out}"
        parts.append(table(caption, ["metric", "A", later], shown, numbers=2))
    for which, words in (("new", f"Noticed in {later} and not in A"), ("gone", f"Noticed in A and not in {later}")):
        if notes[which]:
            parts += [p(f"{words}:"), items(named(note) for note in notes[which])]
    if not parts:
        return None
    return Section(f"release-{later}", f"What else changed from A to {later}", joined(parts))
