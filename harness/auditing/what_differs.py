"""What differs between two audits, in the words of audit.toml. Knows the plain data of plans and oracles.

A journal of another audit is refused, and audits of different plans cannot be compared: both say what differs. Digests,
raw values and names of our own code are not shown; the place in audit.toml is, with both values where a person wrote
them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from harness.auditing.config import sections
from harness.auditing.keyed_digests import holds_seal
from harness.auditing.plain_differences import Difference, plain_differences

MOST_SHOWN = 60  # letters of a value

Owner = Mapping[str, Any]  # of an audit: {"plan": Plan.spec(), "oracle": its identity}, or one of the two


def what_differs(one: Owner, other: Owner) -> Iterator[str]:
    """Each thing that differs once: `[claim] epsilon: 0.5 before, 0.6 now`."""
    told = set()
    for found in plain_differences(one, other):
        subject, words = _subject(found.place)
        if words in told:
            continue
        told.add(words)
        yield words + subject.both_values(one, other, found)


@dataclass(frozen=True)
class _Subject:
    """A part of an audit: where it stands in the plain data, its name for a person, and what is shown of it."""

    place: str  # a regular expression
    words: str
    shown: Callable[[Owner], Any] | None = None  # None: both values at the place itself
    secret: bool = False  # neither value may be shown, or would say anything

    def both_values(self, one: Owner, other: Owner, found: Difference) -> str:
        if self.secret or holds_seal(found.one) or holds_seal(found.other):
            return ""
        before, now = repr(found.one), repr(found.other)
        if self.shown is None:
            return f": {_cut(before)} before, {_cut(now)} now"
        try:
            names = str(self.shown(one)), str(self.shown(other))
        except (LookupError, TypeError):  # a journal of another version
            return ""
        if names[0] != names[1]:
            return f": {_cut(names[0])} before, {_cut(names[1])} now"
        return f", {found.place.rpartition('.')[2]}: {_cut(before)} before, {_cut(now)} now"


def _names(*path: str) -> Callable[[Owner], str]:
    """The names in a list of the plan, each with its kind where it has one."""

    def shown(owner: Owner) -> str:
        entries = owner["plan"][path[0]]
        parts = [entry[path[1]] if len(path) > 1 else entry for entry in entries]
        return ", ".join(f"{part['name']} ({part['kind']})" if "kind" in part else str(part["name"]) for part in parts)

    return shown


def _shard(owner: Owner) -> str:
    """Which part of an audit a journal holds."""
    shard = owner.get("shard")
    if shard is None:
        return "the whole audit"
    return f"{shard['number']}/{shard['of']}" if "number" in shard else f"one of {shard['of']}"


SUBJECTS = (
    _Subject(r"shard\b", "the shard", _shard),
    _Subject(
        r"plan\.data\.(rows|population)", "number of rows or persons", lambda owner: owner["plan"]["data"]["rows"]
    ),
    _Subject(r"plan\.data\.person\b", "[data] person"),
    _Subject(r"plan\.data\.source\b", "the file of the data, by which rows are named"),
    _Subject(r"plan\.data\b", "the content of the data", secret=True),
    _Subject(r"plan\.quasi\b", "[data] quasi", _names("quasi")),
    _Subject(r"plan\.(sensitive|secrets)\b", "[data] sensitive, or its values", secret=True),
    _Subject(r"plan\.adversaries\b", "the adversaries", _names("adversaries", "spec")),
    _Subject(r"plan\.divergence\b", "[inference] distance", _names("divergence")),
    _Subject(r"plan\.(claim\.\w+|\w+)", "{key}"),
    _Subject(r"oracle\.whole_address\b", "[oracle] address, or the words of the command", secret=True),
    _Subject(
        r"oracle\.(options\.(?:headers|env|plain\.(?:headers|fields|path))(?:\.(?!keyed_digest)[^.]+)*)",
        "[oracle] {key} (not shown)",
        secret=True,
    ),
    _Subject(r"oracle\.(options\..+)\.keyed_digest$", "[oracle] {key} (not shown)", secret=True),
    _Subject(r"oracle\.(address|options(\..+)?)", "[oracle] {key}"),
    _Subject(r"", "the code or the parameters of the anonymizer", secret=True),
)


def _subject(place: str) -> tuple[_Subject, str]:
    for subject in SUBJECTS:
        found = re.match(subject.place, place)
        if found:
            key = found[1] if found.re.groups else ""
            return subject, subject.words.format(key=_in_file(key) if place.startswith("plan.") else key)
    raise AssertionError("the last subject fits every place")


def _in_file(key: str) -> str:
    """A key of the plan as audit.toml has it: `[run] seed`."""
    name = key.rpartition(".")[2]
    home = next((section for section, options in sections().items() if name in options), None)
    return name if home is None else f"[{home}] {name}"


def _cut(text: str) -> str:
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"
