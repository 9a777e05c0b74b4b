"""The reference of the Python API: every public name with its signature, fields and the methods meant for users."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from describe import declaration_of, documentation_of, fields_of, generated, method_of, parameters_of

import harness
from harness.auditing.config import OPTIONS

# Every public name, and the methods of each class that are meant for users.
GROUPS: dict[str, dict[str, tuple[str, ...]]] = {
    "Audits and their results": {
        "audit": (),
        "Report": (
            "load", "of", "verdict", "verdicts", "findings", "all_findings", "notes", "assumptions", "card", "coupled",
            "claim",
            "result", "statistics", "curve", "to_dict", "to_json", "to_frame", "summary",
            "render",
        ),
        "Verdict": ("require",),
        "Outcome": ("exit_code",),
        "Finding": ("violates", "satisfies"),
        "Claim": (),
        "Plan": ("secrets", "divergences", "digest", "spec"),
        "Audit": ("events",),
        "judge": (),
    },
    "Adversaries and distances": {
        "Adversary": ("depends_on_target", "randomized", "train", "spec"),
        "encode": (),
        "ReleaseEncoder": ("fit", "transform", "transform_target", "get_feature_names_out"),
        "distance": (),
    },
    "Metrics of a release": {
        "metrics": (),
        "discrimination_rate": (),
    },
    "Data": {
        "Column": ("of",),
        "Schema": ("names",),
        "Hierarchy": ("from_csv", "from_nested", "from_widths", "from_paths", "leaves", "path"),
        "Dataset": (
            "from_frame", "from_file", "from_csv", "from_parquet", "size", "population", "rows_of", "row", "record",
            "secrets", "without",
        ),
        "Record": (),
        "Table": ("from_frame", "to_frame", "rows", "column"),
    },
    "Oracles": {
        "Oracle": ("card", "answer", "close"),
        "Ask": ("table", "seeds", "rng"),
        "Card": ("title",),
        "Predictions": (),
    },
    "Errors": {
        "HarnessError": ("within",),
        "InputError": (),
        "JournalError": (),
        "OracleError": (),
        "ReleaseError": (),
    },
}  # fmt: skip


def python_page() -> str:
    listed = {name for group in GROUPS.values() for name in group}
    if listed != set(harness.__all__):
        raise SystemExit(f"GROUPS in {__file__} and harness.__all__ differ in {listed ^ set(harness.__all__)}")
    parts = [
        generated(
            "Python API", "Everything that `import harness` offers. The usual call is [`harness.audit`](#harnessaudit)."
        )
    ]
    for title, names in GROUPS.items():
        parts += [f"## {title}\n", *(_entry(name, methods) for name, methods in names.items())]
    return "\n".join(parts)


def _entry(name: str, methods: Sequence[str]) -> str:
    thing = getattr(harness, name)
    parts = [f"### harness.{name}\n", declaration_of(thing), documentation_of(thing)]
    if thing is harness.audit:
        parts.append(parameters_of(thing, {option.name: option.purpose for option in OPTIONS}))
    parts.append(
        "Its fields are under [columns](audit-toml.md#columns).\n" if thing is harness.Column else fields_of(thing)
    )
    parts += [method_of(name, method, inspect.getattr_static(thing, method)) for method in methods]
    return "\n".join(part for part in parts if part)
