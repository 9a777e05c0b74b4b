"""Who moves the inference most, with both predictions; and distance beside class size and rarity.

Both predictions tell a person's sensitive value, even where no bar is labelled: whoever holds the release knows the one
with her record, and sees which probability fell without it. They are drawn only where the report reveals them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from harness.render import Plain
from harness.render.html.distances import is_large
from harness.render.html.parts import Section, Source, cut, named, p, table
from harness.render.html.terms import term
from harness.render.markup import Markup, element, joined
from harness.render.svg import Dots, Mark, axis_of, figure, paired_bars
from harness.render.text import moving_most, printable
from harness.vocabulary.persons import RowNames

LISTED, DRAWN = 10, 3  # persons in the table; with both predictions
MOST_BARS = 14


def persons(source: Source) -> Section | None:
    """The persons of the verdict's adversary and secret who move it most."""
    place = source.verdict_result
    result = source.report["results"][place]
    worst = moving_most(source.report, result)[:LISTED]
    content = (
        [_table(source, worst, exact=result["exact"])] if worst else [p(f"No {source.unit} is proven to move it.")]
    )
    shown = [finding for finding in worst[:DRAWN] if finding["present"] is not None]
    content += [_predictions(source, finding) for finding in shown]
    if worst and not shown:
        content.append(p("What was inferred about single persons is shown with --reveal.", name="small"))
    content += _crowds(source, place)
    return Section("persons", f"{source.unit.capitalize()}s that move it most", joined(content))


def _name(source: Source, finding: Plain) -> str:
    rows = RowNames(**source.report["plan"]["data"]["source"])
    name = rows.in_words(finding["rows"])
    return name if source.unit == "record" else f"person {finding['person']} ({name})"


def _table(source: Source, worst: list[Plain], *, exact: bool) -> Markup:
    places = {id(finding): place for place, finding in enumerate(source.report["findings"])}
    headings = [source.unit, "distance"] if exact else [source.unit, "at least", "estimate", "at most"]
    columns = ("distance",) if exact else ("lower", "distance", "upper")
    if source.beside.records:
        headings.insert(1, "raw record")
    rows = []
    for finding in worst:
        raw = [str(dict(row)) for row in source.beside.records.get(finding["person"], ())]
        shown = [element("span", {"class": "raw"}, cut("; ".join(raw)))] if source.beside.records else []
        numbers = [source.number("findings", places[id(finding)], column) for column in columns]
        rows.append([named(_name(source, finding)), *shown, *numbers])
    file = source.report["plan"]["data"]["source"]["file"]
    where = joined([", in ", named(file)]) if file else ""
    adversary, secret = (source.report["verdict"][key] for key in ("adversary", "secret"))
    caption = joined(
        [f"{source.unit.capitalize()}s that ", named(adversary), " shows to move ", named(secret), " most", where]
    )
    return table(caption, headings, rows, numbers=len(columns))


def _predictions(source: Source, finding: Plain) -> Markup:
    """Both predictions about one person as paired bars."""
    labels = _labels(source, finding)
    present, absent = finding["present"], finding["absent"]
    kept = sorted(np.argsort([-abs(a - b) for a, b in zip(present, absent, strict=True)], kind="stable")[:MOST_BARS])
    sides = [[side[place] for place in kept] for side in (present, absent)]
    whose = "its record" if source.unit == "record" else "her rows"
    names = (f"with {whose} in the data", f"without {whose}")
    heading = f"Predictions about {_name(source, finding)}"
    fewer = f" The {MOST_BARS} of {len(labels)} that move most." if len(labels) > MOST_BARS else ""
    caption = f"What the adversary predicts with and without {whose}: probability of each value.{fewer}"
    bars = paired_bars(heading, caption, [cut(labels[place])[:28] for place in kept], sides[0], sides[1], names)
    return element(
        "figure", None, element("h3", None, "Predictions about ", named(_name(source, finding))), bars,
        element("figcaption", None, caption),
    )  # fmt: skip


def _labels(source: Source, finding: Plain) -> list[str]:
    secrets = source.report["plan"]["secrets"]
    return [printable(label) for label in next(one["values"] for one in secrets if one["name"] == finding["secret"])]


def _crowds(source: Source, place: int) -> Iterator[Markup]:
    """Distance against the number of released rows that cover a person, and against her rarest value."""
    sizes = source.report.get("class_sizes")
    if sizes is None or is_large(source, place):
        return
    distances = {finding["person"]: float(finding["lower"]) for finding in source.findings[place]}
    known = [position for position, person in enumerate(sizes["persons"]) if person in distances]
    if not known:
        return
    y = [distances[sizes["persons"][position]] for position in known]
    epsilon = source.report["plan"]["claim"]["epsilon"]
    vertical = axis_of("distance (logarithmic)", y, log=True, at_least=[epsilon / 10, 2 * epsilon])
    what = {
        "covering": ("Distance against class size", "released rows that cover the " + source.unit,
                     "few rows hide a person badly"),
        "rarest": ("Distance against rarity", "rows of the data with the rarest value",
                   "a rare value makes a person stand out"),
    }  # fmt: skip
    yield element("h3", None, "Do those who stand out move most?")
    for key, (heading, label, why) in what.items():
        x = [float(sizes[key][position]) for position in known]
        horizontal = axis_of(label, [max(value, 0.5) for value in x], log=True)
        mark = Mark(epsilon, f"claim ε = {epsilon:g}", "y")
        caption = f"{heading}, of {len(known):,} {source.unit}s: {why}. What is 0 stands at the end of its axis."
        drawn = figure(heading, caption, horizontal, vertical, Dots(f"{source.unit}s", x, y), mark)
        yield element("figure", None, drawn, element("figcaption", None, caption))
    yield p(
        term("class size", "Class sizes"),
        " are counted in the first ",
        term("draw"),
        " of ",
        term("f(D)"),
        ".",
        name="small",
    )
