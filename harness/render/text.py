"""The summary of a report: one screen of 80 columns that says the verdict, what it means and what to do next.

Reads the plain data of report.json. Everything else that an audit found is on the page of `render.details`. What was
inferred about single persons (which value, how likely) and their raw rows appear only where they were asked for.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from harness.render.not_measured import not_measured
from harness.vocabulary.oracle import Card
from harness.vocabulary.persons import RowNames

WIDTH = 80
WORST, REVEALED = 3, 10  # persons listed; where their raw rows are shown
MOST_RESULTS = 5  # adversaries and secrets listed
MOST_NOTES = 2
MORE = 'More: harness report DIR --format details; in Python report.render("details")'
AS_RELEASED = "as released"  # the adversary where f releases predictions itself
ORACLE_SAYS = "the oracle says: "  # how a note begins that is the anonymizer's own text
TOGETHER = (" %", " = ")  # spaces at which no line ends

Plain = Mapping[str, Any]
Records = Mapping[int, Sequence[Mapping[str, Any]]]


def summary(report: Plain, records: Records | None = None) -> str:
    """The page; raw rows of persons appear only where `records` has them."""
    verdict = report["verdict"]
    result = result_of(report, verdict["adversary"], verdict["secret"])
    paragraphs = [
        [*wrapped(f"{headline(report)}: {verdict['reason']}")],
        [*wrapped(f"What it means: {meaning(report, result)}")],
        [*_tested(report, result)],
        [*_panel(report)],
        [*_worst(report, result, records or {})],
        [*_noticed(report)],
        [*wrapped(f"Next: {next_step(report, result)}"), *wrapped(MORE)],
    ]
    return "\n\n".join("\n".join(lines) for lines in paragraphs if lines)


def printable(text: str) -> str:
    """Text without what could move the cursor or change its colour: names in it were chosen by others."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def wrapped(text: str, indent: str = "", most: int | None = None) -> Iterator[str]:
    """The text in lines of 80 columns, further ones indented; what is beyond the `most` lines is cut."""
    clean = printable(text)
    for joined in TOGETHER:
        clean = clean.replace(joined, joined.replace(" ", "\N{NO-BREAK SPACE}"))
    for line in textwrap.wrap(
        clean, WIDTH, subsequent_indent=indent, break_on_hyphens=False, max_lines=most, placeholder=" …"
    ):
        yield line.replace("\N{NO-BREAK SPACE}", " ")


def headline(report: Plain) -> str:
    """The verdict in a word or two; an interrupted audit has none."""
    return "NO VERDICT" if "unfinished" in report else str(report["verdict"]["outcome"]).upper()


def result_of(report: Plain, adversary: str, secret: str) -> Plain:
    """The results of one adversary and secret."""
    result: Plain = next(one for one in report["results"] if (one["adversary"], one["secret"]) == (adversary, secret))
    return result


def unit_of(report: Plain) -> str:
    """What is examined: records, or persons with all their rows."""
    return "record" if report["plan"]["data"]["person"] is None else "person"


def counted(number: int, word: str) -> str:
    """`1 record`, `1,000 records`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def brief(value: float | str | None) -> str:
    """A number with four digits; `inf` is a text already."""
    return "-" if value is None else value if isinstance(value, str) else f"{value:.4g}"


def share_in_words(share: float) -> str:
    """A share in percent; only none is 0 %, and only all are 100 %."""
    if 0 < share < 0.001:
        return "below 0.1 %"
    if 0.999 < share < 1:
        return "above 99.9 %"
    return f"{100 * share:.3g} %"


def moving_most(report: Plain, result: Plain) -> list[Plain]:
    """The findings of one adversary and secret that are proven to lie above 0, the largest first."""
    mine = [
        finding
        for finding in report["findings"]
        if (finding["adversary"], finding["secret"]) == (result["adversary"], result["secret"])
    ]
    moving = [finding for finding in mine if finding["failure"] is None and float(finding["lower"]) > 0]
    return sorted(moving, key=lambda one: (-float(one["lower"]), -float(one["distance"]), one["person"]))


def change_of(report: Plain, finding: Plain) -> str:
    """The value whose probability changes most, with and without the person; names a sensitive value."""
    if finding["present"] is None:
        return ""
    labels = next(one["values"] for one in report["plan"]["secrets"] if one["name"] == finding["secret"])
    value = int(np.argmax(np.abs(np.subtract(finding["present"], finding["absent"]))))
    return f"{labels[value]}: {finding['present'][value]:.3f} with, {finding['absent'][value]:.3f} without"


def draws_in_words(report: Plain) -> str:
    """How often both sides were drawn."""
    if all(result["exact"] for result in report["results"]):
        return "nothing is random: distances are exact"
    drawn = sorted({draws for result in report["results"] if not result["exact"] for draws in result["draws"]})
    if not drawn:
        return "nobody could be measured"
    span = f"{drawn[0]}" if len(drawn) == 1 else f"{drawn[0]} to {drawn[-1]}"
    partly = " where chance plays a part" if any(result["exact"] for result in report["results"]) else ""
    return f"{span} draws with and without each{partly}"


def meaning(report: Plain, result: Plain) -> str:
    """What the verdict on one adversary and secret says, to somebody who has not read the papers."""
    plan, unit, outcome = report["plan"], unit_of(report), result["verdict"]["outcome"]
    its_row_was = "its own row was" if unit == "record" else "her own rows were"
    known = _listed([column["name"] for column in plan["quasi"]])
    if outcome == "violated":
        said = (
            f"whoever sees the release and knows {known} predicts {result['secret']} of this {unit} differently "
            f"because {its_row_was} in the data. "
        )
    elif outcome == "holds":
        left_out = "its own row is" if unit == "record" else "her own rows are"
        said = (
            f"whoever sees the release and knows {known} predicts {result['secret']}; for each {unit} this changes by "
            f"less than the claim allows if {left_out} left out of the data. "
        )
    else:
        said = "the claim is neither proven nor refuted. "
    return said + _scale(report, result)


def _scale(report: Plain, result: Plain) -> str:
    """What the numbers are: for the usual distances, how much probability moves."""
    plan, verdict = report["plan"], result["verdict"]
    epsilon = plan["claim"]["epsilon"]
    part = {"sum": 0.5, "half": 1.0, "quarter": 2.0}.get(result["distance"])
    declared = [one["name"] for one in plan["secrets"]].index(result["secret"])
    largest = brief(plan["divergence"][declared]["largest"])
    if part is None:
        return f"The distance {result['distance']!r} goes from 0 (no change) to {largest}."
    by_tail = _by_tail(report, result)
    often = f", except in {share_in_words(plan['claim']['delta'])} of all draws" if by_tail else ""
    here = ""
    if "statistics" in result and verdict["outcome"] != "inconclusive" and not by_tail:
        seen = verdict["at_least"] if verdict["outcome"] == "violated" else verdict["at_most"]
        limit = "at most " if verdict["outcome"] == "holds" else "" if result["exact"] else "at least "
        here = f"here {limit}{share_in_words(min(1.0, part * float(seen)))}; "
    of_it = {0.5: "Half of it", 1.0: "It", 2.0: "Twice of it"}[part]
    return (
        f"A distance goes from 0 (no change) to {largest} (sure of one value with the {unit_of(report)}, of "
        f"another without). {of_it} is the "
        f"probability that moves: {here}the claim allows less than {share_in_words(min(1.0, part * epsilon))}"
        f"{often}."
    )


def _by_tail(report: Plain, result: Plain) -> bool:
    """Whether pairs of draws decide, and not the largest distance."""
    return bool(report["plan"]["claim"]["delta"] > 0 and not result["exact"])


def _listed(names: Sequence[str], most: int = 3) -> str:
    more = f" and {counted(len(names) - most, 'more column')}" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _tested(report: Plain, result: Plain) -> Iterator[str]:
    """Who was asked about whom, and what was measured."""
    plan, card, unit = report["plan"], Card(**report["oracle"]["card"]), unit_of(report)
    data = plan["data"]
    people = counted(data["rows"], "record")
    if unit == "person":
        people = f"{counted(data['population'], 'person')} in {counted(data['rows'], 'row')}"
    dropped = f"; {dropped_in_words(data['dropped'])}" if data["dropped"] else ""
    facts: dict[str, str] = {
        "anonymizer": f"{card.title}, {'randomized' if card.randomized else 'deterministic'}",
        "data": people + dropped,
        "examined": f"{report['selection']['persons']:,} of {counted(data['population'], unit)}; "
        f"{draws_in_words(report)}",
    }
    if missing := not_measured(report):
        facts["failed"] = missing
    if len(report["results"]) == 1:  # else a table lists them all
        facts["adversary"] = f"{result['adversary']}; infers {result['secret']}"
        facts["distances"] = _distances(report, result)
    for name, text in facts.items():
        yield from wrapped(f"  {name:<11} {text}", " " * 14, most=4 if name == "failed" else 2)


def dropped_in_words(count: int) -> str:
    return f"{counted(count, 'row')} with missing cells {'was' if count == 1 else 'were'} left out"


def _distances(report: Plain, result: Plain) -> str:
    if "statistics" not in result:
        return f"no {unit_of(report)} could be measured"
    numbers, verdict, unit = result["statistics"], result["verdict"], unit_of(report)
    epsilon = f"{report['plan']['claim']['epsilon']:.4g}"
    measured = report["selection"]["persons"] - result["failures"]
    proven, possible = (
        round(numbers[name][epsilon] * measured) for name in ("share_at_or_above", "share_possibly_at_or_above")
    )
    if result["exact"]:
        return (
            f"largest {brief(numbers['largest'])}, mean {brief(numbers['mean'])}; "
            f"{proven:,} of {counted(measured, unit)} at {epsilon} or more"
        )
    if _by_tail(report, result):
        often = result["smallest_delta"]
        return (
            f"{epsilon} or more in {share_in_words(often['value'])} of the draws of the worst {unit} (at most "
            f"{share_in_words(often['upper'])})"
        )
    return (
        f"largest from {brief(verdict['at_least'])} to {brief(verdict['at_most'])}; "
        f"{proven:,} of {counted(measured, unit)} proven to be at {epsilon} or more, {possible:,} possibly"
    )


def _panel(report: Plain) -> Iterator[str]:
    """One line for each adversary and secret, the worst first, where there are several."""
    results = report["results"]
    if len(results) == 1:
        return
    order = {"violated": 0, "inconclusive": 1, "holds": 2}
    ranked = sorted(results, key=lambda one: (order[one["verdict"]["outcome"]], -float(one["verdict"]["at_most"])))
    yield f"  {'adversary':<34} {'infers':<12} {'verdict':<13} {'largest':>15}"
    for one in ranked[:MOST_RESULTS]:
        verdict = one["verdict"]
        ends = [brief(verdict[end]) for end in ("at_least", "at_most")]
        largest = "not measured" if "statistics" not in one else ends[0] if one["exact"] else " to ".join(ends)
        names = (cut(one["adversary"], 34), cut(one["secret"], 12))
        yield f"  {names[0]:<34} {names[1]:<12} {verdict['outcome'].upper():<13} {largest:>15}"
    if len(ranked) > MOST_RESULTS:
        yield f"  … and {len(ranked) - MOST_RESULTS} more"


def cut(text: str, width: int) -> str:
    """A text that is at most so wide."""
    clean = printable(text)
    return clean if len(clean) <= width else clean[: width - 1] + "…"


def _worst(report: Plain, result: Plain, records: Records) -> Iterator[str]:
    """Who moves it most; raw rows and values only where they were asked for."""
    brief_enough = len(report["results"]) == 1 and result["verdict"]["outcome"] != "holds"
    worst = moving_most(report, result)[: REVEALED if records else WORST if brief_enough else 0]
    if not worst:
        return
    rows = RowNames(**report["plan"]["data"]["source"])
    proven = "" if result["exact"] else ", proven"
    yield f"  {unit_of(report)}s that move it most{proven}" + (f", in {cut(rows.file, 40)}" if rows.file else "")
    for finding in worst:
        name = rows.in_words(finding["rows"])
        if unit_of(report) == "person":
            name = f"person {finding['person']} ({name})"
        line = f"  {brief(finding['lower']):>8}  {printable(name)}"
        raw = [printable(str(dict(row))) for row in records.get(finding["person"], ())]
        yield "   ".join([line, *raw, printable(change_of(report, finding))] if raw else [cut(line, WIDTH)])


def _noticed(report: Plain) -> Iterator[str]:
    notes: Iterable[str] = report["notes"]
    listed = list(notes)
    shown = listed if len(listed) <= MOST_NOTES else listed[: MOST_NOTES - 1]
    for note in shown:
        yield from wrapped(f"Noticed: {note}", "  ", most=2)
    if len(shown) < len(listed):
        yield f"Noticed: {len(listed) - len(shown)} more"


def times_as_many(result: Plain, needed: int) -> str:
    """What so many draws cost, beside those that were made: calls and time grow alike."""
    if not result["draws"]:
        return ""
    times = float(f"{needed / max(result['draws']):.2g}")
    told = f"{times:,.0f}" if times >= 10 else f"{times:g}"
    return f" (calls and time: about {told} times as many)" if times > 1 else ""


def next_step(report: Plain, result: Plain) -> str:
    """What to do after this verdict."""
    verdict, unit = report["verdict"], unit_of(report)
    if "unfinished" in report:
        return "run the same command again: it continues where it stopped."
    if verdict["outcome"] == "violated":
        return f"see this {unit} in the data, let the anonymizer hide more, run it again."
    if verdict["outcome"] == "holds" and result["adversary"] == AS_RELEASED:
        return "nothing. f releases predictions itself; what else it may release was not tested."
    if verdict["outcome"] == "holds" and verdict["at_most"] == 0:
        return "check that f reads the data it is given, since all distances are 0."
    if verdict["outcome"] == "holds":
        return (
            "nothing, if this adversary is the one you fear. Another may infer more: "
            'panel = "standard" tries nine of them.'
        )
    if verdict["draws_needed"]:
        return (
            f"run it with draws = {verdict['draws_needed']}{times_as_many(result, verdict['draws_needed'])}, or with "
            "adaptive = true, which draws no more than each needs."
        )
    if verdict["certificate"] is not None:
        share = math.ceil(1000 * verdict["certificate"]["share"]) / 1000  # upwards, or it would not pass
        return (
            f'examine everybody (records = "all"), or be content with the share: in a test, '
            f"verdict.require(share={share:g}) passes."
        )
    if report.get("not_measured") is not None:
        return "let the anonymizer answer without each person, then run it again with --retry-failed."
    return "correct what the first sentence names, and run it again."
