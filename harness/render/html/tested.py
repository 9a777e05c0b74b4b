"""Who was asked what, of whom, under which assumptions; what the probes of the anonymizer showed; calls and time."""

from __future__ import annotations

from collections.abc import Iterator

from harness.render import Plain
from harness.render.html.parts import Section, Source, facts, items, named, p, sentence
from harness.render.html.terms import term
from harness.render.markup import Markup, joined
from harness.render.not_measured import not_measured
from harness.render.text import draws_in_words

KINDS = {"microdata": "tables of records", "predictions": "predictions"}


def tested(source: Source) -> Section:
    """The item, the data, the adversaries, the claim, and what a reader must grant."""
    report = source.report
    plan = report["plan"]
    known = joined((named(column["name"]) for column in plan["quasi"]), ", ")
    distances = dict.fromkeys(f"{one['distance']}: {one['describes']}" for one in report["results"])
    content = facts(
        [
            (term("anonymizer"), joined([named(report["oracle"]["card"]["name"]), " ",
                                         named(report["oracle"]["card"]["version"] or "(no version given)"),
                                         ", seen only through its answers (a black box)"])),
            ("data", joined(_data(source))),
            ("examined", joined([source.count("selection", "persons"), " of ",
                                 source.count("plan", "data", "population"), f" {source.unit}s; ",
                                 draws_in_words(report)])),
            *([("not measured", sentence(missing))] if (missing := not_measured(report)) else []),
            (term("quasi-identifier", "known to the adversary"), known),
            (term("secret", "to be inferred"), joined(_secrets(source), ", ")),
            (term("adversary", "adversaries"), joined([joined((named(name) for name in _adversaries(report)), "; "),
                                                       *_names_explained(report)])),
            (term("distance"), joined(map(named, distances), "; ")),
            (term("claim"), joined([term("epsilon", "ε"), " = ", source.number("plan", "claim", "epsilon"), ", ",
                                    term("delta", "δ"), " = ", source.number("plan", "claim", "delta"),
                                    *_confidence(source)])),
        ]
    )  # fmt: skip
    assumed = joined([p(term("assumed", "Assumed"), ", and not proven:"), items(map(sentence, report["assumptions"]))])
    return Section("tested", "Who was asked what", joined([content, assumed]))


def _confidence(source: Source) -> tuple[object, ...]:
    """The confidence, where anything is left to chance: draws, or who was examined."""
    report = source.report
    everybody = report["selection"]["persons"] == report["plan"]["data"]["population"]
    if everybody and all(result["exact"] for result in report["results"]):
        return ()
    return ", ", term("confidence"), " ", source.share("plan", "claim", "confidence")


def _data(source: Source) -> Iterator[object]:
    data = source.report["plan"]["data"]
    if source.unit == "person":
        yield from (source.count("plan", "data", "population"), " persons (column ", named(data["person"]), ") in ")
    yield from (source.count("plan", "data", "rows"), " rows")
    if data["source"]["file"]:
        yield from (" of ", named(data["source"]["file"]))
    if data["dropped"]:
        yield from ("; ", source.count("plan", "data", "dropped"), " with missing cells were left out")


def _secrets(source: Source) -> Iterator[Markup]:
    for secret in source.report["plan"]["secrets"]:
        yield joined([named(secret["name"]), f" ({len(secret['values'])} values)"])


def _names_explained(report: Plain) -> Iterator[object]:
    """The parts of the usual adversary's name, where one has them."""
    words = {word for name in _adversaries(report) for word in name.split()}
    known = [term(word) for word in ("bernoulli", "tf-tf") if word in words]
    if known:
        yield joined([" (model on encoding; explained: ", joined(known, ", "), ")"])


def _adversaries(report: Plain) -> list[str]:
    return list(dict.fromkeys(one["adversary"] for one in report["results"]))


def probes(source: Source) -> Section:
    """What the first and last questions showed about the anonymizer, and what was odd."""
    oracle, confirmed = source.report["oracle"], source.report.get("confirmed")
    card = oracle["card"]
    kind = "randomized" if card["randomized"] else "deterministic"
    known: list[tuple[object, object]] = [
        (term("card", "its card"), joined([term("deterministic", kind), ", releases ", KINDS[card["releases"]]])),
        ("order of rows", "makes no difference" if oracle["row_order_invariant"] else "may make a difference"),
    ]
    if card["randomized"]:
        pairs = "with the same seeds on both sides" if oracle["coupled"] else "independent"
        known.append((term("coupled", "draws"), pairs))
    if confirmed is not None:
        known.append(
            (term("confirm", "repeated questions"),
             joined([source.count("confirmed", "at_first"), " at the beginning, ",
                     source.count("confirmed", "repeated"), " at the end; ",
                     source.count("confirmed", "different"), " answers differed"]))
        )  # fmt: skip
    if card["noise_epsilon"] is not None:
        said = [term("noise_epsilon"), " = ", source.number("oracle", "card", "noise_epsilon")]
        known.append(("claims differential privacy", joined([*said, *_refuted(source)])))
    notes = source.report["notes"]
    noticed = joined([p(term("noticed", "Noticed"), ":"), items(map(sentence, notes))]) if notes else p("Nothing odd.")
    return Section("probes", "What the anonymizer showed of itself", joined([facts(known), noticed]))


def _refuted(source: Source) -> Iterator[object]:
    for place, result in enumerate(source.report["results"]):
        loss = result.get("privacy_loss")
        if loss is not None:
            yield from ("; the draws prove a ", term("privacy loss"), " of at least ")
            yield from (
                source.number("results", place, "privacy_loss", "at_least"),
                " for ",
                named(result["adversary"]),
            )


def running(source: Source) -> Section | None:
    """Calls, failures and time, which differ from run to run and are proven by nothing."""
    run = source.beside.run
    if run is None:
        return None
    known: list[tuple[object, object]] = [
        ("started", named(str(run.get("started", "?")))),
        ("seconds", f"{run['seconds']:,.1f}" if isinstance(run.get("seconds"), int | float) else "?"),
    ]
    calls = run.get("calls")
    if isinstance(calls, dict):
        counted = (f"{name.replace('_', ' ')}: {number:,}" for name, number in calls.items() if isinstance(number, int))
        known.append(("calls of the anonymizer", "; ".join(counted)))
    else:
        known.append(("calls of the anonymizer", "not counted: it was called as a Python function"))
    versions = run.get("versions")
    if isinstance(versions, dict):
        known.append(("software", named(", ".join(f"{name} {number}" for name, number in versions.items()))))
    return Section("run", "The run", joined([facts(known), p("From run.json; no proof covers these.", name="small")]))


def evidence(source: Source) -> Section:
    """What the page can be checked against."""
    content = facts(
        [
            ("plan digest", named(source.report["plan_digest"])),
            ("data digest", named(source.report["plan"]["data"]["digest"])),
            ("format of the report", source.count("format")),
        ]
    )
    how = p("Whoever has the folder of this audit proves every number of this page from its ", term("journal"),
            ", without the anonymizer and without the data: ", "harness verify DIR")  # fmt: skip
    return Section("evidence", "How to check it", joined([how, content]))
