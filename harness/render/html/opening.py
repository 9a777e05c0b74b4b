"""The first screen: verdict, reason, what it means, how it was decided, what it does not say."""

from __future__ import annotations

from harness.render.html.parts import Section, Source, items, named, p, sentence
from harness.render.html.terms import term
from harness.render.markup import Markup, element, joined
from harness.render.text import headline, meaning, next_step, share_in_words

SIGNS = {"violated": "✗", "holds": "✓", "inconclusive": "?"}


def opening(source: Source) -> Markup:
    """The head of the page."""
    report = source.report
    verdict, card = report["verdict"], report["oracle"]["card"]
    version = (" ", named(card["version"])) if card["version"] else ()
    result = report["results"][source.verdict_result]
    title = element("h1", None, "Audit of the anonymizer ", named(card["name"]), *version)
    sign = element("span", {"class": "sign", "aria-hidden": "true"}, SIGNS[verdict["outcome"]])
    word = element(
        "p",
        {"class": "outcome"},
        element("strong", None, sign, " ", term(verdict["outcome"].upper(), headline(report))),
    )
    reason = p(sentence(verdict["reason"]), name="reason")
    cards = (
        _card("What it means", p(sentence(meaning(report, result)))),
        _card("How it was decided", decision_rule(source)),
        _card("What it does not say", items(limits(source))),
    )
    return element(
        "header", {"class": f"opening {verdict['outcome']}"},
        title, element("div", {"class": "verdict"}, word, reason), element("div", {"class": "cards"}, *cards),
        p("Next: ", sentence(next_step(report, result)), name="next"),
    )  # fmt: skip


def _card(heading: str, *content: object) -> Markup:
    return element("div", {"class": "card"}, element("h2", None, heading), *content)


def decision_rule(source: Source) -> Markup:
    """How a verdict follows from the numbers, in words."""
    claim, unit = source.report["plan"]["claim"], source.unit
    epsilon = source.number("plan", "claim", "epsilon")
    often = (
        joined([" in more than ", source.share("plan", "claim", "delta"), " of all draws"])
        if claim["delta"] > 0
        else ""
    )
    return items(
        [
            joined(
                [term("claim", "The claim"), f": nobody's own {'record' if unit == 'record' else 'rows'} may move the "
                 f"inference about that {unit} by ", term("epsilon", "ε"), " = ", epsilon, " or more", often, "."]
            ),
            joined([term("VIOLATED"), f" if one {unit} is proven to move it by that much."]),
            joined([term("HOLDS"), f" if every {unit} was examined and all are proven to move it by less."]),
            joined([term("INCONCLUSIVE"), " otherwise."]),
            _how_sure(source),
        ]
    )  # fmt: skip


def _how_sure(source: Source) -> Markup:
    """How often a verdict can be wrong by chance."""
    if all(result["exact"] for result in source.report["results"]):
        return joined(["Nothing is random here: distances are ", term("exact"), ", computed and not estimated."])
    return joined(
        ["Where chance plays a part, each of the two can be wrong with probability ",
         share_in_words(1 - source.report["plan"]["claim"]["confidence"]), " at most (", term("confidence"), " ",
         source.share("plan", "claim", "confidence"), ")."]
    )  # fmt: skip


def limits(source: Source) -> list[Markup]:
    """What nobody may read into the verdict."""
    report, unit = source.report, source.unit
    own = "a record" if unit == "record" else "a person's rows"
    said = [
        joined(["It relates to the anonymizer, the data and the ", term("adversary", _adversaries(report)), " of this "
                "audit. Another adversary may infer more."]),
        joined([f"It is about what {own} adds to a release, and not about all that a release tells about people."]),
        joined(["An anonymizer that recognises an audit could answer it differently."]),
    ]  # fmt: skip
    if report["verdict"]["outcome"] == "violated":
        said[0:0] = [
            joined([f"How many are affected: one {unit} is enough. The figures below show how many reach the claim."])
        ]
    if report["selection"]["persons"] < report["plan"]["data"]["population"]:
        part = [source.count("selection", "persons"), " of ", source.count("plan", "data", "population")]
        said[0:0] = [joined(["Only ", *part, f" {unit}s were examined."])]
    return said


def _adversaries(report: object) -> str:
    count = len({one["adversary"] for one in report["results"]})  # type: ignore[index]
    return "adversary" if count == 1 else f"{count} adversaries"


def section_of_sample(source: Source) -> Section | None:
    """What a random part of the persons says about all of them."""
    certificate = source.report["verdict"]["certificate"]
    if certificate is None:
        return None
    text = p(
        "With ", source.share("plan", "claim", "confidence"), " confidence at most ",
        source.share("verdict", "certificate", "share"), f" of all {source.unit}s reach the claim (",
        term("certificate"), ").",
    )  # fmt: skip
    return Section("sample", "What the sample says about everybody", text)
