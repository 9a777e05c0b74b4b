"""Writes everything in docs/ that follows from the code: `python docs/generate.py`.

- the pages of docs/reference, from signatures, docstrings, tables of options and help texts;
- the options of a plan in harness/report.schema.json;
- what the commands of the tutorials print (docs/sessions.py).

`python docs/generate.py --measure` also measures the table of docs/explanation/what-0.1-means.md again, which takes a
minute (docs/measure.py). A test fails when one of them is out of date.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

from measure import MEANING_PAGE, with_measured_table
from pages_certificate import certificate_page
from pages_commands import commands_page, errors_page, glossary_page
from pages_laws import laws_page
from pages_oracles import oracles_page
from pages_python import python_page
from pages_report import report_page
from pages_settings import audit_file_page, names_page
from sessions import SESSIONS, with_output

from harness.auditing.config import OPTIONS

DOCS = Path(__file__).parent
REPORT_SCHEMA = DOCS.parent / "harness" / "report.schema.json"
REFERENCE: dict[str, Callable[[], str]] = {
    "audit-toml": audit_file_page,
    "certificate-json": certificate_page,
    "commands": commands_page,
    "errors": errors_page,
    "glossary": glossary_page,
    "laws": laws_page,
    "names": names_page,
    "oracles": oracles_page,
    "python": python_page,
    "report-json": report_page,
}


def report_schema() -> str:
    """harness/report.schema.json with what the options of a plan look like there."""
    schema = json.loads(REPORT_SCHEMA.read_text(encoding="utf-8"))
    plan = schema["$defs"]["plan"]
    shown = {option.name: option.plan for option in OPTIONS if option.plan}
    plan["properties"] |= shown
    plan["required"] = list(plan["properties"])
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


def main(words: list[str]) -> None:
    """Write all of it."""
    REPORT_SCHEMA.write_text(report_schema(), encoding="utf-8")
    for name, page in REFERENCE.items():
        (DOCS / "reference" / f"{name}.md").write_text(page(), encoding="utf-8")
    for path in SESSIONS:
        path.write_text(with_output(path), encoding="utf-8")
    if "--measure" in words:
        MEANING_PAGE.write_text(with_measured_table(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
