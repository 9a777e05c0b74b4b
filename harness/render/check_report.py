"""Pages about a check: which laws an anonymizer keeps. Reads the plain data of check.json and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.render.html.document import document
from harness.render.junit import junit
from harness.render.markdown import plainly
from harness.render.markup import Markup, element, foreign
from harness.render.outcomes import SEVERITIES, Location, NamedOutcome, OutcomeList
from harness.render.sarif import sarif
from harness.render.text import counted, printable

Plain = Mapping[str, Any]
ORDER = ("failed", "inconclusive", "passed", "skipped")
SIGNS = {"failed": "FAILED", "inconclusive": "not judged", "passed": "passed", "skipped": "skipped"}
WIDEST = 60  # signs of a cell
HEADS = ("outcome", "law", "judged on", "what it says")


def check_text(check: Plain) -> str:
    """The result for a terminal: broken laws with their tables, then one line for each law."""
    parts = [f"{_headline(check)}\n"]
    parts += [f"{broken_law(law)}\n" for law in check["laws"] if law["outcome"] == "failed"]
    parts += [_line(law) for law in _ordered(check)]
    return "\n".join(map(printable_lines, parts)) + "\n"


def printable_lines(text: str) -> str:
    return "\n".join(printable(line) for line in text.splitlines())


def _headline(check: Plain) -> str:
    count = {outcome: sum(law["outcome"] == outcome for law in check["laws"]) for outcome in ORDER}
    claims = ", ".join(f"{name} = {value}" for name, value in check["claims"].items()) or "nothing claimed"
    verdict = "FAILED" if count["failed"] else "PASSED"
    return (
        f"{verdict}: {check['oracle']} ({claims}): {count['passed']} laws kept, {count['failed']} broken, "
        f"{count['inconclusive']} not judged, {count['skipped']} not applicable; {check['calls']} calls, "
        f"seed {check['seed']}"
    )


def _ordered(check: Plain) -> list[Plain]:
    return sorted(check["laws"], key=lambda law: ORDER.index(law["outcome"]))


def _line(law: Plain) -> str:
    return f"  {SIGNS[law['outcome']]:<10} {law['name']}: {_extent(law)}"


def _extent(law: Plain) -> str:
    """On how much a law was judged, or why it was not."""
    if law["outcome"] in ("skipped", "inconclusive"):
        return str(law["reason"])
    return f"{counted(law['tables'], 'table')}, {counted(law['calls'], 'call')}"


def broken_law(law: Plain) -> str:
    """One broken law: what holds, why it does not, the table that shows it, and how to see it again."""
    lines = [f"{law['name']}: {law['reason']}", f"  The law: {law['says']}", f"  {law['why']}"]
    if law["error_rate"]:
        lines.append(f"  False alarms: in at most {law['error_rate']:.2%} of the checks of one that keeps this law.")
    if law["counterexample"]:
        lines += ["  The smallest table that was found:", *(f"    {line}" for line in grid(law["counterexample"]))]
        lines += ["  As a test:", *(f"    {line}" for line in law["test"].splitlines())]
    if law["reproduce"]:
        lines.append(f"  Reproduce with: {law['reproduce']}")
    return "\n".join(lines)


def grid(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """A table in columns."""
    names = list(rows[0])
    cells = [[printable(str(name)) for name in names]]
    cells += [[printable(str(row[name]))[:WIDEST] for name in names] for row in rows]
    widths = [max(len(line[place]) for line in cells) for place in range(len(names))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells]


def outcomes_of_check(check: Plain) -> OutcomeList:
    """The laws as named outcomes, for whatever reads test results."""
    outcomes = tuple(
        NamedOutcome(
            name=f"law/{law['name']}",
            result=law["outcome"],
            message=law["reason"] or f"{law['says']} Judged on {_extent(law)}.",
            severity=law["severity"] if law["outcome"] == "failed" else SEVERITIES[law["outcome"]],
            location=None if check.get("schema") is None else Location(check["schema"], 1),
            details=tuple(broken_law(law).splitlines()) if law["outcome"] == "failed" else (),
            describes=law["says"],
            explains=law["why"],
        )
        for law in check["laws"]
    )
    facts = {"oracle": check["oracle"], "seed": str(check["seed"]), "calls": str(check["calls"])}
    return OutcomeList("harness check", outcomes, facts)


def _json(check: Plain) -> str:
    return json.dumps(check, indent=1, ensure_ascii=False) + "\n"


@dataclass(frozen=True)
class Format:
    """How a check is written to a file, and the ending of its name."""

    ending: str
    render: Callable[[Plain], str]


def _markdown(check: Plain) -> str:
    blocks = [f"# {plainly(_headline(check))}"]
    for law in check["laws"]:
        if law["outcome"] == "failed":
            blocks += [f"## {plainly(law['name'])}", plainly(law["reason"]), plainly(f"{law['says']} {law['why']}")]
            blocks += ["\n".join(f"    {printable(line)}" for line in broken_law(law).splitlines()[1:])]
    lines = [f"- {SIGNS[law['outcome']]}: {plainly(law['name'])}: {plainly(_extent(law))}" for law in _ordered(check)]
    return "\n\n".join([*blocks, "## All laws", "\n".join(lines)]) + "\n"


def _html(check: Plain) -> str:
    failed = [_html_law(law) for law in check["laws"] if law["outcome"] == "failed"]
    rows = [
        element("tr", None, *(element("td", None, foreign(cell)) for cell in _html_cells(law)))
        for law in _ordered(check)
    ]
    head = element("tr", None, *(element("th", {"scope": "col"}, name) for name in HEADS))
    table = element("table", None, element("thead", None, head), element("tbody", None, *rows))
    headline = element("h1", None, foreign(_headline(check)))
    body = element("main", None, headline, *failed, element("h2", None, "All laws"), table)
    return document(f"check of {printable(check['oracle'])[:WIDEST]}", body)


def _html_cells(law: Plain) -> tuple[str, ...]:
    return SIGNS[law["outcome"]], law["name"], _extent(law), law["says"]


def _html_law(law: Plain) -> Markup:
    lines = broken_law(law).splitlines()[1:]
    return element(
        "section", None,
        element("h2", None, foreign(law["name"])),
        element("p", None, foreign(law["reason"])),
        element("pre", None, "\n".join(printable(line) for line in lines)),
    )  # fmt: skip


FORMATS = {
    "json": Format("json", _json),
    "junit": Format("xml", lambda check: junit(outcomes_of_check(check))),
    "sarif": Format("sarif", lambda check: sarif(outcomes_of_check(check))),
    "md": Format("md", _markdown),
    "html": Format("html", _html),
}
