"""The report as Markdown: verdict, facts, tables and lists, for an issue or a merge request.

Reads the plain data of report.json. What others chose is escaped in one place, so that no name of a column makes a
link, a heading or HTML.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence

from harness.render import Plain
from harness.render.not_measured import not_measured
from harness.render.text import (
    brief,
    counted,
    draws_in_words,
    headline,
    meaning,
    moving_most,
    next_step,
    printable,
    result_of,
    share_in_words,
    unit_of,
)
from harness.vocabulary.persons import RowNames

SPECIAL = re.compile(r"([\\`*_{}\[\]()#+\-.!|~>:@])")
LISTED = 10


def plainly(text: str) -> str:
    """Any text as text of a Markdown page."""
    return SPECIAL.sub(r"\\\1", html.escape(printable(text), quote=False))


def markdown(report: Plain) -> str:
    """The page."""
    verdict = report["verdict"]
    result = result_of(report, verdict["adversary"], verdict["secret"])
    blocks = [
        f"# {headline(report)}: audit of {plainly(report['oracle']['card']['name'])}",
        f"**{plainly(verdict['reason'])}**",
        f"What it means: {plainly(meaning(report, result))}",
        f"Next: {plainly(next_step(report, result))}",
        "## Who was asked what",
        _list(_facts(report)),
        "## Adversaries and secrets",
        _table(["adversary", "infers", "verdict", "at least", "at most", "mean"], map(_row, report["results"])),
        *_baselines(report),
        f"## {unit_of(report).capitalize()}s that move it most",
        _worst(report, result),
        "## Noticed",
        _list(map(plainly, report["notes"])) or "Nothing odd\\.",
        "## Assumed",
        _list(map(plainly, report["assumptions"])),
    ]
    return "\n\n".join(blocks) + "\n"


def _list(lines: Iterator[str] | Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _table(headings: Sequence[str], rows: Iterator[Sequence[str]] | Sequence[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _facts(report: Plain) -> list[str]:
    plan, card, unit = report["plan"], report["oracle"]["card"], unit_of(report)
    data = plan["data"]
    known = ", ".join(plainly(column["name"]) for column in plan["quasi"])
    secrets = ", ".join(f"{plainly(one['name'])} ({len(one['values'])} values)" for one in plan["secrets"])
    claim, examined = plan["claim"], report["selection"]["persons"]
    return [
        f"anonymizer: {plainly(card['name'])} {plainly(card['version'] or '')}".rstrip(),
        f"data: {counted(data['rows'], 'row')}; the adversary knows {known} and infers {secrets}",
        f"examined: {examined:,} of {counted(data['population'], unit)}; {draws_in_words(report)}",
        *([f"not measured: {plainly(missing)}"] if (missing := not_measured(report)) else []),
        f"claim: ε = {claim['epsilon']:g}, δ = {claim['delta']:g}, confidence {share_in_words(claim['confidence'])}",
        f"plan digest: {report['plan_digest']}",
    ]


def _row(result: Plain) -> list[str]:
    words = [plainly(result["adversary"]), plainly(result["secret"]), result["verdict"]["outcome"].upper()]
    if "statistics" not in result:
        return [*words, "-", "-", "-"]
    ends = [brief(result["verdict"][end]) for end in ("at_least", "at_most")]
    return [*words, *ends, brief(result["statistics"]["mean"])]


def _baselines(report: Plain) -> Iterator[str]:
    """What releases that need no anonymizer would give, beside f, about the same persons."""
    known = (report.get("baselines") or {}).get("known")
    if not known:
        return
    rows = [
        [plainly(one["adversary"]), plainly(one["secret"]), one["release"], brief(one["largest"]), brief(one["mean"]),
         brief(one["f"]["largest"]), brief(one["f"]["mean"])]
        for one in known
    ]  # fmt: skip
    yield "## Beside releases without an anonymizer"
    yield _table(["adversary", "infers", "release", "largest", "mean", "largest under f", "mean under f"], rows)


def _worst(report: Plain, result: Plain) -> str:
    rows = RowNames(**report["plan"]["data"]["source"])
    worst = moving_most(report, result)[:LISTED]
    if not worst:
        return f"No {unit_of(report)} is proven to move it\\."
    return _table(
        [unit_of(report), "at least"], [[plainly(rows.in_source(one["rows"])), brief(one["lower"])] for one in worst]
    )
