"""The reference of the laws that `harness check` judges, and of the claims they are judged by."""

from __future__ import annotations

from dataclasses import fields

from describe import generated, table

from harness.testing.claims import Claims
from harness.testing.run import LAWS

CLAIMS = {
    "k": "every class of rows with the same quasi-identifiers has at least k rows",
    "l": "every class holds at least l different sensitive values",
    "t": "the sensitive values of every class are distributed as in the table, up to t",
    "noise_epsilon": "released numbers, counts or changed sensitive values carry the noise of ε-differential privacy; "
    "cells need not be true",
    "epsilon": "no row moves the inference about itself by this much",
    "deterministic": "equal tables get equal releases; false: they need not",
    "seedable": "equal seeds give equal releases, and different ones different releases",
    "keeps_rows": "as many rows come back as were given; taken as claimed unless it is false",
    "keeps_sensitive": "sensitive values come back as they are; taken as claimed unless it is false",
    "truthful": "released cells cover the values they stand for; taken as claimed unless it is false, as for averaged "
    "or exchanged values",
}


def laws_page() -> str:
    """Every law and every claim."""
    intro = (
        "What [`harness check`](../how-to/check.md) and `harness.testing.check` judge an anonymizer by. A law with a "
        "rate of 0 is broken by the table that is shown; of the others, an anonymizer that keeps the law is said to "
        "break it in at most that share of all checks."
    )
    claims = table(("claim", "what it says"), [(f"`{each.name}`", CLAIMS[each.name]) for each in fields(Claims)])
    parts = [generated("Laws", intro), "## Claims\n", claims]
    for law in LAWS:
        rate = f"{law.error_rate:g}"
        parts.append(f"## {law.name}\n\n{law.says} {law.why}\n\nTried on: {law.phase}. False alarms: {rate}.\n")
    return "\n".join(parts)
