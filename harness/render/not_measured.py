"""The persons who could not be measured, in words. Reads the plain data of report.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.vocabulary.persons import RowNames

NAMED = 3  # persons named for each reason

Plain = Mapping[str, Any]


def not_measured(report: Plain) -> str:
    """How many, why, and who first; nothing where everybody was measured. Has the vendor's texts where they are shown.

    Of an earlier version's report nothing is known.
    """
    section = report.get("not_measured")
    if section is None:
        return ""
    return f"{section['persons']:,}: {'; '.join(_reason(report, one) for one in section['reasons'])}"


def _reason(report: Plain, one: Plain) -> str:
    names = RowNames(**report["plan"]["data"]["source"])
    shown = [names.in_words(each["rows"]) for each in one["first"][:NAMED]]
    more = f" and {one['persons'] - len(shown):,} more" if one["persons"] > len(shown) else ""
    count = f", {one['persons']:,}" if len(report["not_measured"]["reasons"]) > 1 else ""
    return f"{one['reason']}{count} ({', '.join(shown)}{more}{_texts(one['details'])})"


def _texts(details: Sequence[str] | None) -> str:
    return "".join(f"; it said: {text}" for text in (details or ())[:NAMED])
