"""A report as a page for a terminal: verdict first, then what it rests on. Reads the plain data of report.json."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from harness.vocabulary.oracle import Card
from harness.vocabulary.persons import RowNames

WORST = 10  # persons listed
Plain = Mapping[str, Any]


def summary(report: Plain, records: Mapping[int, Sequence[Mapping[str, Any]]] | None = None) -> str:
    """The page; raw rows of persons appear only where `records` has them."""
    verdict = report["verdict"]
    parts = [f"{verdict['outcome'].upper()}: {verdict['reason']}", "", *_facts(report), ""]
    if len(report["results"]) > 1:
        parts += [*_panel(report), ""]
    result = result_of(report, verdict["adversary"], verdict["secret"])
    parts += [*_result(report, result), ""]
    if "statistics" in result:
        parts += [*_decades(result), "", *_worst(report, result, records or {})]
    return "\n".join(map(_printable, [*parts, *_small_print(report)]))


def _printable(line: str) -> str:
    """A line without what could move the cursor or change its colour: names in it were chosen by others."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in line)


def result_of(report: Plain, adversary: str, secret: str) -> Plain:
    """The results of one adversary and secret."""
    result: Plain = next(one for one in report["results"] if (one["adversary"], one["secret"]) == (adversary, secret))
    return result


def _unit(report: Plain) -> str:
    return "record" if report["plan"]["data"]["person"] is None else "person"


def _lines(facts: Mapping[str, str]) -> list[str]:
    return [f"  {name:<12} {text}" for name, text in facts.items()]


def _facts(report: Plain) -> list[str]:
    """Who was asked about whom."""
    plan, card = report["plan"], Card(**report["oracle"]["card"])
    data, unit = plan["data"], _unit(report)
    quasi = ", ".join(column["name"] for column in plan["quasi"])
    secrets = ", ".join(f"{secret['name']} ({len(secret['values'])} values)" for secret in plan["secrets"])
    kind = "randomized" if card.randomized else "deterministic"
    people = f"{data['rows']} records"
    if unit == "person":
        people = f"{data['population']} persons ({data['person']}) in {data['rows']} rows"
    return _lines(
        {
            "oracle": f"{card.title}, {kind}, releases {card.releases}",
            "data": f"{people}; {quasi} → {secrets}",
            "examined": f"{report['selection']['persons']} of {data['population']} {unit}s, {_draws(report)}",
        }
    )


def _draws(report: Plain) -> str:
    if all(result["exact"] for result in report["results"]):
        return "exact"
    drawn = sorted({draws for result in report["results"] if not result["exact"] for draws in result["draws"]})
    span = f"{drawn[0]}" if len(drawn) == 1 else f"{drawn[0]} to {drawn[-1]}" if drawn else "no"
    partly = " where chance plays a part" if any(result["exact"] for result in report["results"]) else ""
    return f"{span} draws a side{partly}"


def _panel(report: Plain) -> list[str]:
    """One line for each adversary and secret."""
    width = max(len("adversary"), *(len(result["adversary"]) for result in report["results"]))
    depth = max(len("secret"), *(len(result["secret"]) for result in report["results"]))
    lines = [
        f"  {'adversary':<{width}}  {'secret':<{depth}}  {'verdict':<13} {'at least':>9} {'at most':>9} {'mean':>9}"
    ]
    for result in report["results"]:
        row = f"  {result['adversary']:<{width}}  {result['secret']:<{depth}}  {result['verdict']['outcome']:<13}"
        if "statistics" not in result:
            row += f"  {result['verdict']['reason']}"
        else:
            numbers = (result["verdict"]["at_least"], result["verdict"]["at_most"], result["statistics"]["mean"])
            row += "".join(f" {_number(number):>9}" for number in numbers)
        lines.append(row)
    return lines


def _number(value: float | str | None) -> str:
    return "-" if value is None else value if isinstance(value, str) else f"{value:.4g}"


def _result(report: Plain, result: Plain) -> list[str]:
    """What one adversary found about one secret."""
    facts = {"adversary": result["adversary"]}
    if len(report["plan"]["secrets"]) > 1:
        facts["secret"] = result["secret"]
    if "statistics" not in result:
        return _lines({**facts, "failed": f"no {_unit(report)} could be measured"})
    return _lines(facts | (_exact_facts(report, result) if result["exact"] else _random_facts(report, result)))


def _shares(shares: Mapping[str, float]) -> str:
    return "   ".join(f"≥ {limit}: {share:.1%}" for limit, share in shares.items())


def _exact_facts(report: Plain, result: Plain) -> dict[str, str]:
    numbers, unit = result["statistics"], _unit(report)
    return {
        "distance": f"largest {_number(numbers['largest'])}   mean {_number(numbers['mean'])} ± "
        f"{_number(numbers['deviation'])}   ({result['distance']})",
        "shares": f"of {unit}s at a distance   {_shares(numbers['share_at_or_above'])}",
        "predictions": f"{numbers['share_of_changed_predictions']:.1%} of {unit}s change the adversary's most likely "
        "value",
    }


def _random_facts(report: Plain, result: Plain) -> dict[str, str]:
    """Where chance plays a part: what is proven, and estimates beside what noise alone would show."""
    numbers, verdict, unit = result["statistics"], result["verdict"], _unit(report)
    return {
        "distance": f"the largest is at least {_number(verdict['at_least'])} and at most {_number(verdict['at_most'])}"
        f"   ({result['distance']})",
        "estimates": f"mean {_number(numbers['mean'])}; sampling noise alone would show {_number(numbers['floor'])}",
        "proven": f"{unit}s at a distance   {_shares(numbers['share_at_or_above'])}",
        "possible": f"{unit}s at a distance   {_shares(numbers['share_possibly_at_or_above'])}",
        "(ε, δ)": _epsilon_and_delta(report, result),
    }


def _epsilon_and_delta(report: Plain, result: Plain) -> str:
    """The claim read both ways, over all persons."""
    claim, delta, epsilon = report["plan"]["claim"], result["smallest_delta"], result["smallest_epsilon"]
    return (
        f"δ at ε = {claim['epsilon']:g}: {_number(delta['value'])}, at most {_number(delta['upper'])}   "
        f"ε at δ = {claim['delta']:g}: {_number(epsilon['value'])}, at most {_number(epsilon['upper'])}"
    )


def _decades(result: Plain) -> list[str]:
    """The distribution of distances by decade, as bars."""
    decades = result["statistics"]["by_decade"]
    total = sum(decade["count"] for decade in decades)
    labels = ["< 0.00001", *(f"≥ {decade['from']:.5f}".rstrip("0").rstrip(".") for decade in decades[1:])]
    what = "how far" if result["exact"] else "at least how far"
    return [f"  {what} their own rows move the inference about them"] + [
        f"  {label:>10} {_bar(decade['count'] / total):<30} {decade['count']}"
        for label, decade in zip(labels, decades, strict=True)
    ]


def _bar(share: float, width: int = 30) -> str:
    """A bar with eighths of a character, so that one record in a thousand still shows."""
    eighths = max(round(share * width * 8), 1 if share > 0 else 0)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def _worst(report: Plain, result: Plain, records: Mapping[int, Sequence[Mapping[str, Any]]]) -> list[str]:
    labels = next(one["values"] for one in report["plan"]["secrets"] if one["name"] == result["secret"])
    mine = [
        finding
        for finding in report["findings"]
        if (finding["adversary"], finding["secret"]) == (result["adversary"], result["secret"])
    ]
    moving = [finding for finding in mine if finding["failure"] is None and float(finding["lower"]) > 0]
    order = sorted(moving, key=lambda one: (-float(one["lower"]), -float(one["distance"]), one["person"]))
    worst = order[:WORST]
    if not worst:
        return [f"  no {_unit(report)} {'moves it at all' if result['exact'] else 'is proven to move it at all'}"]
    heading = "person" if _unit(report) == "person" else "record"
    distance = "distance" if result["exact"] else "at least"
    proven = "" if result["exact"] else ", proven"
    lines = [
        f"  {_unit(report)}s that move it most{proven}",
        f"  {heading:>10}  {distance}  largest change of confidence",
    ]
    return lines + [_worst_line(report, finding, labels, records) for finding in worst]


def _worst_line(
    report: Plain, finding: Plain, labels: Sequence[str], records: Mapping[int, Sequence[Mapping[str, Any]]]
) -> str:
    where = RowNames(**report["plan"]["data"]["source"]).in_words(finding["rows"])
    name = finding["person"] if _unit(report) == "person" else where
    change = ""
    if finding["present"] is not None:
        value = int(np.argmax(np.abs(np.subtract(finding["present"], finding["absent"]))))
        change = f"{labels[value]}: {finding['present'][value]:.3f} with, {finding['absent'][value]:.3f} without"
    rows = (
        f"   {RowNames(**report['plan']['data']['source']).in_words(finding['rows'])}"
        if _unit(report) == "person"
        else ""
    )
    raw = "".join(f"   {dict(row)}" for row in records.get(finding["person"], ()))
    return f"  {name:>10}  {_number(finding['lower']):<8}  {change}{rows}{raw}"


def _small_print(report: Plain) -> list[str]:
    def section(title: str, items: Iterable[str]) -> list[str]:
        lines = [f"  - {item}" for item in items]
        return ["", f"  {title}", *lines] if lines else []

    return section("noticed", report["notes"]) + section("assumed", report["assumptions"])
