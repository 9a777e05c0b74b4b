"""Two checks side by side, for a terminal. Reads the plain data of a comparison."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from harness.render.text import counted, printable

WORDS = {"worse": "WORSE", "better": "better", "known": "still broken", "changed": "changed"}


def compared_laws_text(comparison: Mapping[str, Any]) -> str:
    """What became of the laws of the first check in the later one; laws that stay as they were are counted."""
    return "\n".join(printable(line) for line in _lines(comparison))


def _lines(comparison: Mapping[str, Any]) -> Iterator[str]:
    yield f"{comparison['overall'].upper()}: {comparison['later']} compared with {comparison['first']}"
    claims = comparison["claims"]
    if claims["before"] != claims["after"]:
        yield f"  the claims differ: {claims['before']} and then {claims['after']}"
    for law in comparison["laws"]:
        if law["direction"] in WORDS:
            yield f"  {WORDS[law['direction']]:<12} {law['law']}: {law['before']}, then {law['after']}"
    same = sum(law["direction"] == "same" for law in comparison["laws"])
    yield f"  {counted(same, 'law')} as before"
