"""Everything about an audit as a page for a terminal: all results, notices and assumptions, in lines of any length.

Reads the plain data of report.json. The summary of one screen is `render.text`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from harness.render.metrics import metrics_lines
from harness.render.not_measured import not_measured
from harness.render.text import (
    Plain,
    brief,
    draws_in_words,
    headline,
    moving_most,
    printable,
    share_in_words,
    unit_of,
)
from harness.vocabulary.oracle import Card
from harness.vocabulary.persons import RowNames

WORST = 10  # persons listed


def details(report: Plain) -> str:
    """The page; no raw value of a person is on it."""
    verdict = report["verdict"]
    parts = [f"{headline(report)}: {verdict['reason']}", "", *_facts(report), ""]
    if len(report["results"]) > 1:
        parts += [*_panel(report), ""]
    for result in report["results"]:
        parts += [*_result(report, result), ""]
        if "statistics" in result:
            parts += [*_decades(result), "", *_worst(report, result), ""]
    if report.get("release") is not None:  # none in reports of earlier versions
        parts += ["Metrics of f(D), its first draw", *(f"  {line}" for line in metrics_lines(report["release"])), ""]
    return "\n".join(map(printable, [*parts[:-1], *_small_print(report)]))


def _lines(facts: Mapping[str, str]) -> list[str]:
    return [f"  {name:<12} {text}" for name, text in facts.items()]


def _facts(report: Plain) -> list[str]:
    """Who was asked about whom."""
    plan, card = report["plan"], Card(**report["oracle"]["card"])
    data, unit = plan["data"], unit_of(report)
    quasi = ", ".join(column["name"] for column in plan["quasi"])
    secrets = ", ".join(f"{secret['name']} ({len(secret['values'])} values)" for secret in plan["secrets"])
    kind = "randomized" if card.randomized else "deterministic"
    people = f"{data['rows']} records"
    if unit == "person":
        people = f"{data['population']} persons ({data['person']}) in {data['rows']} rows"
    missing = not_measured(report)
    return _lines(
        {
            "oracle": f"{card.title}, {kind}, releases {card.releases}",
            "data": f"{people}; {quasi} → {secrets}",
            "examined": f"{report['selection']['persons']} of {data['population']} {unit}s, {draws_in_words(report)}",
            **({"not measured": missing} if missing else {}),
        }
    )


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
            row += "".join(f" {brief(number):>9}" for number in numbers)
        lines.append(row)
    return lines


def _result(report: Plain, result: Plain) -> list[str]:
    """What one adversary found about one secret."""
    facts = {"adversary": result["adversary"]}
    if len(report["plan"]["secrets"]) > 1:
        facts["secret"] = result["secret"]
    if "statistics" not in result:
        return _lines({**facts, "failed": f"no {unit_of(report)} could be measured"})
    numbers = _exact_facts(report, result) if result["exact"] else _random_facts(report, result)
    return _lines(facts | numbers | _membership_facts(report, result))


def _shares(shares: Mapping[str, float]) -> str:
    return "   ".join(f"≥ {limit}: {share_in_words(share)}" for limit, share in shares.items())


def _exact_facts(report: Plain, result: Plain) -> dict[str, str]:
    numbers, unit = result["statistics"], unit_of(report)
    return {
        "distance": f"largest {brief(numbers['largest'])}   mean {brief(numbers['mean'])} ± "
        f"{brief(numbers['deviation'])}   ({result['distance']})",
        "shares": f"of {unit}s at a distance   {_shares(numbers['share_at_or_above'])}",
        "predictions": f"{share_in_words(numbers['share_of_changed_predictions'])} of {unit}s change "
        "the adversary's most likely value",
    }


def _random_facts(report: Plain, result: Plain) -> dict[str, str]:
    """Where chance plays a part: what is proven, and estimates beside what noise alone would show."""
    numbers, verdict, unit = result["statistics"], result["verdict"], unit_of(report)
    return {
        "distance": f"the largest is at least {brief(verdict['at_least'])} and at most {brief(verdict['at_most'])}"
        f"   ({result['distance']})",
        "estimates": f"mean {brief(numbers['mean'])}; sampling noise alone would show {brief(numbers['floor'])}",
        "proven": f"{unit}s at a distance   {_shares(numbers['share_at_or_above'])}",
        "possible": f"{unit}s at a distance   {_shares(numbers['share_possibly_at_or_above'])}",
        "(ε, δ)": _epsilon_and_delta(report, result),
    }


def _membership_facts(report: Plain, result: Plain) -> dict[str, str]:
    """How well the confidence in the true value tells who is in the data."""
    told = result["membership"]
    if told is None:
        return {}
    rates = "   ".join(
        f"{share_in_words(point['true_positives']['value'])} of members found at {point['allowed']:.1%} false alarms"
        for point in told["points"]
    )
    auc = told["auc"]
    both = "" if told["certain"] is None else f"; with both models known, {share_in_words(told['certain'])} for certain"
    return {
        "membership": f"AUC {brief(auc['value'])} ({brief(auc['lower'])} to {brief(auc['upper'])}, "
        f"{report['plan']['claim']['confidence']:.0%} confidence)   {rates}{both}"
    }


def _epsilon_and_delta(report: Plain, result: Plain) -> str:
    """The claim read both ways, over all persons."""
    claim, delta, epsilon = report["plan"]["claim"], result["smallest_delta"], result["smallest_epsilon"]
    return (
        f"δ at ε = {claim['epsilon']:g}: {brief(delta['value'])}, at most {brief(delta['upper'])}   "
        f"ε at δ = {claim['delta']:g}: {brief(epsilon['value'])}, at most {brief(epsilon['upper'])}"
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


def _worst(report: Plain, result: Plain) -> list[str]:
    unit, rows = unit_of(report), RowNames(**report["plan"]["data"]["source"])
    worst = moving_most(report, result)[:WORST]
    if not worst:
        return [f"  no {unit} {'moves it at all' if result['exact'] else 'is proven to move it at all'}"]
    proven = "" if result["exact"] else ", proven"
    lines = [f"  {unit}s that move it most{proven}"]
    for finding in worst:
        who = f"person {finding['person']}, " if unit == "person" else ""
        lines.append(f"  {brief(finding['lower']):>10}  {who}{rows.in_source(finding['rows'])}")
    return lines


def _small_print(report: Plain) -> list[str]:
    def section(title: str, items: Iterable[str]) -> list[str]:
        lines = [f"  - {item}" for item in items]
        return ["", f"  {title}", *lines] if lines else []

    return section("noticed", report["notes"]) + section("assumed", report["assumptions"])
