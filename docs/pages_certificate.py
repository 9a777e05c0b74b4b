"""The reference of certificate.json, from its JSON Schema, which explains every key itself."""

from __future__ import annotations

import json
from pathlib import Path

from describe import generated
from pages_report import part_table

SCHEMA = Path(__file__).parent.parent / "harness" / "certificate.schema.json"


def certificate_page() -> str:
    """Every key of certificate.json, one chapter for each section that has some."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    intro = (
        f"{schema['description']} The JSON Schema is installed with the package as `harness/certificate.schema.json`. "
        "How to use it: [evidence that stands up](../how-to/evidence.md)."
    )
    sections = {name: part for name, part in schema["properties"].items() if _inner(part)}
    single = {name: part for name, part in schema["properties"].items() if name not in sections}
    parts = [generated("certificate.json", intro), part_table("certificate", {"properties": single})]
    for name, part in sections.items():
        parts += [f"## {name}\n", f"{part['description']}\n", part_table(name, _inner(part))]
    return "\n".join(parts)


def _inner(part: dict[str, object]) -> dict[str, object]:
    """The object with the keys of a section; of a list, that of its entries."""
    inner = part.get("items", part)
    assert isinstance(inner, dict)
    return inner if "properties" in inner else {}
