"""A draft as the text of an audit.toml, with comments that say what was guessed and what is to be decided.

Holds names of columns and, where a key lists them, values of the categories: never a row.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.initializing.guess_kind import Guess
from harness.initializing.guess_roles import Draft

DECIDE = "DECIDE"  # marks every line that a person should look at
WIDTH = 100
BARE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
MOST_RECORDS = 2_000  # above so many, part of them is proposed in a comment


def toml_of(draft: Draft, path: str, address: str | None, options: Mapping[str, Any]) -> str:
    """The whole file; `path` is the data as the file names it."""
    lines = [
        "# Written by `harness init`. Every guess says so; lines with DECIDE want your decision.",
        "# All keys: docs/reference/audit-toml.md. Check the file: harness plan FILE. Run it: harness run FILE.",
        "",
        "[data]",
        f"path = {_text(path)}",
        *_sensitive(draft),
        *_person(draft),
        *_gaps(draft),
        *_signs(draft),
        "",
        "# What an adversary knows about everybody. Remove the columns that nobody outside can know.",
        *(f"# {_plain(note)}" for note in draft.notes),
        "[data.quasi]",
        *(line for guess in draft.quasi for line in _column(guess)),
        *_left_out(draft),
        "",
        *_oracle(address, options),
        "",
        "[claim]",
        "epsilon = 0.1  # DECIDE: nobody may move the inference about herself by this much. Distances go from",
        "               # 0 to 2, half of one is the probability that moves: 0.1 is 5 percentage points",
        *_run(draft),
    ]
    return "\n".join(lines) + "\n"


def _sensitive(draft: Draft) -> Iterator[str]:
    secret = draft.secret
    guessed = draft.sensitive_was == "guessed"
    why = f"{DECIDE}: guessed; say which column nobody should learn about a person" if guessed else "as you said"
    yield f"# {why} ({_plain(secret.because)})"
    assert secret.declaration is not None
    if set(secret.declaration) == {"kind"} and secret.kind == "category":
        yield f"sensitive = {_text(secret.name)}"
    else:
        yield f"sensitive = {{ {_key(secret.name)} = {_value(secret.declaration)} }}"


def _person(draft: Draft) -> Iterator[str]:
    if draft.person is not None:
        values = _plain(draft.column(draft.person).because)
        yield f"# {DECIDE}: guessed, it is named like a key and has {values}; the rows of one"
        yield "# person are left out together. Remove the line if every row is another person."
        yield f"person = {_text(draft.person)}"


def _gaps(draft: Draft) -> Iterator[str]:
    if draft.gap_texts:
        yield f"missing_values = {_value(['', *draft.gap_texts])}  # {DECIDE}: these texts stand for a gap, not a value"
    if draft.rows_with_gaps:
        count = f"{draft.rows_with_gaps:,} of {draft.rows:,} rows"
        yield f'missing = "drop"  # leaves out {count}; "keep" makes a gap a value of its own'


def _signs(draft: Draft) -> Iterator[str]:
    if draft.suppressed:
        yield f"# {DECIDE}: how the releases write a suppressed cell; any other text is a value"
        yield f"suppressed = {_value(draft.suppressed)}"
    if draft.weight is not None:
        yield f"weight = {_text(draft.weight)}  # no column of the release counts people"


def _column(guess: Guess) -> Iterator[str]:
    assert guess.declaration is not None
    if guess.question is not None:
        yield f"# {DECIDE}: {_plain(guess.question)}{_alternatives(guess)}"
    value = _value(guess.kind if set(guess.declaration) == {"kind"} else guess.declaration)
    yield f"{_key(guess.name)} = {value}  # {_plain(guess.because)}"


def _alternatives(guess: Guess) -> str:
    others = [_value(declaration) for _, declaration in guess.choices if declaration != guess.declaration]
    return f" Otherwise: {_key(guess.name)} = {' or '.join(others)}" if others else ""


def _left_out(draft: Draft) -> Iterator[str]:
    if draft.left_out:
        yield "# Left out, and not sent to the anonymizer:"
    for guess in draft.left_out:
        mark = f"{DECIDE}: " if guess.question else ""
        text = f"{mark}{_key(guess.name)}: {_plain(guess.because)}"
        if guess.question:
            text += f". {_plain(guess.question)}"
        yield from textwrap.wrap(text, WIDTH, initial_indent="#   ", subsequent_indent="#     ", break_long_words=False)


def _oracle(address: str | None, options: Mapping[str, Any]) -> Iterator[str]:
    yield "[oracle]"
    if address is not None:
        yield f"address = {_text(address)}"
    else:
        yield f"# {DECIDE}: the anonymizer to audit, such as https://anonymizer.example, cmd:program or"
        yield "# python:module:function. Until then, our reference anonymizer Mondrian:"
        yield 'address = "reference:mondrian"'
        options = {"k": 5}
    if options:
        yield "[oracle.options]"
        yield from (f"{_key(name)} = {_value(value)}" for name, value in options.items())


def _run(draft: Draft) -> Iterator[str]:
    people = draft.rows - draft.rows_with_gaps
    if people > MOST_RECORDS:
        yield ""
        yield "[run]"
        yield f"# records = {MOST_RECORDS // 4}  # for a first look: so many persons at random instead of all"


def _key(name: str) -> str:
    return name if name and set(name) <= BARE else _text(name)


def _text(text: str) -> str:
    """A TOML basic string: JSON's escapes are TOML's, and what JSON leaves as it is TOML accepts."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _plain(text: str) -> str:
    """A text as part of a comment: in one line, without control characters."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_key(str(name))} = {_value(one)}' for name, one in value.items())} }}"
    if isinstance(value, Sequence):
        return f"[{', '.join(map(_value, value))}]"
    return repr(value)
