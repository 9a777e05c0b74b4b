"""The reference of what an audit can be given: every key of audit.toml, and every name that a key can have."""

from __future__ import annotations

import dataclasses
from typing import Any

from describe import (
    code,
    comments_of,
    first_line_of,
    generated,
    indented_lines_of,
    listed,
    parameters_of,
    quoted,
    require_explained,
    table,
)

import harness
import harness.vocabulary.values
from harness.auditing.config import OPTIONS, sections
from harness.auditing.options import ADVERSARY_KEYS
from harness.measuring.adversary import ENCODER, MODEL, PANELS, PRIOR
from harness.measuring.divergence.naming import ALIASES, EMD, FIXED, LAWS, divergence_named
from harness.measuring.encoding import ENCODINGS, PROPORTIONAL, PairEncoder, encoder_named
from harness.measuring.encoding.hierarchies import Nodes, Proportions
from harness.measuring.encoding.names import CATEGORIES, FILLS, NUMBERS, paper_name
from harness.measuring.encoding.names import OPTIONS as ENCODING_OPTIONS
from harness.measuring.models.names import CLOSED_FORMS, ESTIMATORS
from harness.measuring.prior.names import forms

# What the comments in harness/vocabulary/schema.py do not say.
COLUMN_KEYS = {
    "kind": 'what the raw values are: "number", "category", "ordered" or "date"',
    "hierarchy": "generalisation tree: a file with one `leaf;…;root` on each line, as ARX writes it, or a nested table",
    "order": "the values of an ordered column, lowest first",
    "notation": "decides cells that could be read in two ways; see below",
    "closed": "which ends belong to a range, whatever its brackets say",
    "points": "released numbers may be means or synthetic, hence other numbers than the data has",
    "min": "the least number there may be: encodings that scale begin there (the least of the data)",
    "max": "the greatest number there may be, likewise",
    "binning": "where the edges of `bins` are: at quantiles of the data, or equally far apart",
}
GROUNDS: dict[str, Any] = {
    '`"ordered"`, or a table with `order`': "ordered",
    '`"numeric"`, or a table with `positions`': {"positions": {"a": 1, "b": 2, "c": 3}},
    "a table with `hierarchy`": {"hierarchy": {"*": ["a", "b", "c"]}},
    "a table with `matrix` (and `values`)": {"matrix": [[0, 1, 1], [1, 0, 1], [1, 1, 0]]},
}


def audit_file_page() -> str:
    """Every section and key of audit.toml."""
    intro = (
        "The file of an audit, in [TOML](https://toml.io). Paths are relative to the file. Every key is also a keyword "
        "of [`harness.audit`](python.md#harnessaudit), except where the table says `file`. What `encoder`, `model`, "
        "`prior`, `distance` and `panel` can be: [names](names.md). Addresses and `[oracle.options]`: "
        "[oracles](oracles.md)."
    )
    return "\n".join([generated("audit.toml", intro), _audit_file(), _columns()])


def names_page() -> str:
    """Every encoding, model, panel, prior and distance."""
    intro = (
        "Every name that an adversary or a distance can have. How to choose: [adversaries](../how-to/adversaries.md), "
        "[distances](../explanation/distances.md)."
    )
    parts = [_encodings(), _models(), _panels(), _priors(), _distances()]
    return "\n".join([generated("Names of encodings, models, priors and distances", intro), *parts])


def _audit_file() -> str:
    parts: list[str] = []
    require_explained("audit.toml", [option.name for option in OPTIONS], {each.name: each.purpose for each in OPTIONS})
    for section, options in sections().items():
        rows = [
            (quoted(name), option.expected, "yes" if option.required else "", _where(option.in_file_only),
             option.purpose)
            for name, option in options.items()
        ]  # fmt: skip
        parts += [f"## [{section}]\n", table(("option", "what it is", "needed", "where", ""), rows)]
    keys = [(quoted(key), expected) for key, expected in ADVERSARY_KEYS.items()]
    parts += [
        "## [[adversary]]\n",
        "One table for each adversary of a panel, instead of `encoder`, `model`, `prior` or `panel` under "
        f'[inference]. What is left out is `encoder = "{ENCODER}"`, `model = "{MODEL}"`, `prior = "{PRIOR}"`.\n',
        table(("key", "what it is"), keys),
    ]
    assert sum(len(options) for options in sections().values()) == len(OPTIONS)
    return "\n".join(parts)


def _where(in_file_only: bool) -> str:
    return "file" if in_file_only else "file, Python"


def _columns() -> str:
    comments = {**COLUMN_KEYS, **comments_of(harness.Column)}
    rows = []
    for field in dataclasses.fields(harness.Column):
        if field.name == "name":
            continue
        if field.name not in comments:
            raise SystemExit(f"the key {field.name!r} of a column has no comment; write one in {__file__} or beside it")
        rows.append((quoted(field.name), quoted(str(field.type)), quoted(repr(field.default)), comments[field.name]))
    return "\n".join(
        [
            "## Columns\n",
            'A quasi-identifier is declared by its kind, `age = "number"`, or by a table with these keys:\n',
            table(("key", "type", "default", ""), rows),
            "Notations:\n",
            code(indented_lines_of(harness.vocabulary.values)),
        ]
    )


def _encodings() -> str:
    numbers = [(quoted(name), first_line_of(_of_numbers(name)), listed(NUMBERS[name].options)) for name in NUMBERS]
    categories = [(quoted(name), first_line_of(known.encoding)) for name, known in CATEGORIES.items()]
    require_explained("encoding", {option for known in NUMBERS.values() for option in known.options}, ENCODING_OPTIONS)
    options = [(quoted(name), text) for name, text in ENCODING_OPTIONS.items()]
    rows = [
        (quoted(name), paper_name(name) or "", _whether(encoder_named(name).depends_on_target)) for name in ENCODINGS
    ]
    return "\n".join(
        [
            "## Encodings\n",
            "`encoder` is a name, or a table with a name and options: `{ name = \"quantiles-hot\", bins = 4 }`. A name "
            "joins an encoding of number and date columns with one of category and ordered columns; `tf` is short for "
            "`tf-tf`.\n",
            table(("numbers and dates", "one cell becomes", "options"), numbers),
            table(("option", ""), options),
            table(("categories", "one cell becomes"), categories),
            f"On hierarchies ({listed(FILLS)}), for columns of every kind: {first_line_of(Nodes)}\n",
            f"For releases that print shares (`{PROPORTIONAL}`): {first_line_of(Proportions)} Such an adversary is "
            "always joined by one that reads the plain cells (`fill-parent`), and the report shows both.\n",
            f"All {len(ENCODINGS)} names:\n",
            table(("name", "in v1, appendix A", "trained for each target"), rows),
        ]
    )  # fmt: skip


def _of_numbers(name: str) -> Any:
    """What encodes numbers under this name: one column, or where that begins before f the whole table."""
    encoder = encoder_named(f"{name}-{next(iter(CATEGORIES))}")
    return encoder.numbers if isinstance(encoder, PairEncoder) else encoder


def _models() -> str:
    closed = [(quoted(name), first_line_of(kind)) for name, kind in CLOSED_FORMS.items()]
    parameters = [
        f"Parameters of `{name}`:\n\n{text}" for name, kind in CLOSED_FORMS.items() if (text := parameters_of(kind))
    ]
    estimators = [
        (quoted(name), quoted(path), listed(f"{key}={value}" for key, value in usual.items()))
        for name, (path, usual) in ESTIMATORS.items()
    ]
    return "\n".join(
        [
            "## Models\n",
            "`model` is a name, or a table with a name and parameters: `{ name = \"bernoulli\", alpha = 0.5 }`. Also: "
            "`sklearn:package.Class` for any classifier with `predict_proba`, `package.module:name` for your own, or "
            "an object in Python.\n",
            table(("computed in closed form", ""), closed),
            *parameters,
            table(("scikit-learn's", "class", "set beside its defaults"), estimators),
        ]
    )  # fmt: skip


def _panels() -> str:
    parts = ["## Panels\n", "`panel` names a list of adversaries.\n"]
    for name, members in PANELS.items():
        rows = [(quoted(model), quoted(encoder)) for model, encoder in members]
        parts += [f'`panel = "{name}"`:\n', table(("model", "encoder"), rows)]
    return "\n".join(parts)


def _priors() -> str:
    return "\n".join(
        [
            "## Priors\n",
            "`prior` is one of these, in audit.toml with `=` in place of `:`\n",
            table(("prior", "what it says"), [(quoted(form), text) for form, text in forms().items()]),
        ]
    )


def _distances() -> str:
    known = [*FIXED.values(), divergence_named(LAWS).for_values(("a", "b", "c"))]
    largest = {LAWS: "number of values"}
    rows = [(quoted(one.name), largest.get(one.name, f"{one.largest:.4g}"), one.proves, one.describes) for one in known]
    grounds = [
        (declared, made.proves, made.describes)
        for declared, ground in GROUNDS.items()
        for made in [divergence_named({"name": EMD, "ground": ground}).for_values(("a", "b", "c"))]
    ]
    aliases = ", ".join(f"`{alias}` is another name of `{name}`" for alias, name in ALIASES.items())
    return "\n".join(
        [
            "## Distances\n",
            "*Proves*: what confidence limits can show of a randomized f when δ = 0: `both` that a claim holds and "
            "that it is violated, `upper` only that it holds, `nothing` neither. With δ > 0 every distance is judged "
            f"on pairs of draws. {aliases}.\n",
            table(("name", "largest", "proves", "what it is"), rows),
            f"`{EMD}` needs a ground distance: `distance = {{ name = \"{EMD}\", ground = … }}`.\n",
            table(("ground", "proves", "what it is"), grounds),
        ]
    )  # fmt: skip


def _whether(truth: bool) -> str:
    return "yes" if truth else ""
