"""sweep.toml: an audit.toml with a table [sweep], or several [[sweep]], that says which keys take which values.

    [sweep]
    mode = "grid"                                  # every combination; "zip": the first of each, then the second, …
    "oracle.options.k" = [2, 5, 10]
    "inference.encoder" = ["tf-tf", "scaling-hot"]
    "run.seed" = { from = 0, to = 4 }              # 0, 1, 2, 3, 4; `step` adds, `factor` multiplies

A key is written as in audit.toml, section.key, or as key alone where only one section has it; SHORT has the papers'
parameters. What else stands in the file holds for all cells. Each cell is the content of an audit.toml. Knows the file,
not the data.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.auditing.config import SWEEP, check, read_toml, sections
from harness.auditing.options import ADVERSARY, TABLE, TEXT_OR_TABLE
from harness.vocabulary.errors import InputError, did_you_mean

Place = tuple[str, ...]  # of a key in the content of an audit.toml

MODE, NAME = "mode", "name"
MODES = ("grid", "zip")
RANGE_KEYS = ("from", "to", "step", "factor")
MOST_CELLS = 10_000
SHORT: Mapping[str, Place] = {
    **{name: ("oracle", "options", name) for name in ("k", "l", "t", "noise_epsilon", "noise_delta")},
    "encoding": ("inference", "encoder"),
    "columns": ("data", "quasi"),
}
NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9.=_+-]+")
LONGEST_NAME = 60
HIDDEN = "(not shown)"


@dataclass(frozen=True)
class Cell:
    """One audit of a sweep: the swept keys as the file writes them, and the whole content of its audit.toml."""

    series: str  # name of the [[sweep]] that it belongs to
    parameters: Mapping[str, Any]
    places: Mapping[str, Place]  # of the parameters in the content
    content: Mapping[str, Any]
    identity: Mapping[str, Any]  # what its folder is named by: the content without who does the work

    @property
    def label(self) -> str:
        """Its parameters for a person: `k=5, encoder=tf-tf`."""
        return ", ".join(f"{key.rpartition('.')[2]}={_shown(value)}" for key, value in self.parameters.items()) or "all"

    @property
    def folder(self) -> str:
        """The name of its folder, the same whenever its audit is: adding values to a sweep moves no cell."""
        readable = NOT_IN_A_NAME.sub("-", self.label.replace(", ", "+"))[:LONGEST_NAME].strip("-")
        return f"{readable}-{digest(self.identity)}"


def read_sweep(path: str | Path) -> list[Cell]:
    """The cells that a file describes, in its order; the first mistake in any of them is refused."""
    path = Path(path)
    content = read_toml(path)
    try:
        return list(_cells(content))
    except InputError as error:
        raise error.within(str(path)) from None


def digest(value: Any) -> str:
    """A short name of plain data."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:8]


def _identity(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content without what may change while an audit goes on: who does the work."""
    run = {key: value for key, value in content.get("run", {}).items() if key != "workers"}
    return {**content, "run": run}


def _cells(content: Mapping[str, Any]) -> Iterator[Cell]:
    base = {section: options for section, options in content.items() if section != SWEEP}
    tables = _tables(content)
    for number, table in enumerate(tables, start=1):
        where = f"[{SWEEP}]" if len(tables) == 1 else f"[[{SWEEP}]] number {number}"
        try:
            yield from _cells_of(base, table, number)
        except InputError as error:
            raise error.within(where) from None


def _tables(content: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    found = content.get(SWEEP)
    tables: list[Any] = found if isinstance(found, list) else [found]
    if not found or not all(isinstance(table, dict) for table in tables):
        raise InputError(f'a sweep needs a table [{SWEEP}] with the keys to vary, such as "oracle.options.k" = [2, 5]')
    return tables


def _cells_of(base: Mapping[str, Any], table: Mapping[str, Any], number: int) -> Iterator[Cell]:
    mode, series = table.get(MODE, MODES[0]), str(table.get(NAME, f"sweep {number}"))
    if mode not in MODES:
        raise InputError(f"{MODE} = {mode!r} is not known; {did_you_mean(str(mode), MODES)}")
    swept = dict(_flat({key: value for key, value in table.items() if key not in (MODE, NAME)}))
    if not swept:
        raise InputError("no key is varied; write one such as claim.epsilon = [0.05, 0.1]")
    places = {key: _place(key, base) for key in swept}
    twice = next((key for key in places if list(places.values()).count(places[key]) > 1), None)
    if twice is not None:
        raise InputError(f"{twice!r} is varied twice, under two spellings")
    values = {key: _values(key, value) for key, value in swept.items()}
    for combination in _combined(values, mode):
        parameters = dict(zip(values, combination, strict=True))
        cell_content = _with(base, {places[key]: value for key, value in parameters.items()})
        cell = Cell(series, parameters, places, cell_content, _identity(cell_content))
        try:
            check(cell.content)
        except InputError as error:
            raise error.within(f"cell {_without_oracle_texts(cell).label}") from None
        yield cell


def _without_oracle_texts(cell: Cell) -> Cell:
    """The same cell, named without texts and tables that are given to the oracle: they may be secret."""

    def may_be_secret(place: Place, value: Any) -> bool:
        return place[0] == "oracle" and (isinstance(value, str) or len(place) > 3)

    shown = {key: HIDDEN if may_be_secret(cell.places[key], value) else value for key, value in cell.parameters.items()}
    return replace(cell, parameters=shown)


def _flat(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Keys with dots, however the file nests them; a table with `from` and `to` is a range, not a section."""
    for key, value in table.items():
        if isinstance(value, dict) and not _is_range(value):
            yield from _flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


def _is_range(value: Any) -> bool:
    return isinstance(value, dict) and {"from", "to"} <= set(value)


def _place(key: str, base: Mapping[str, Any]) -> Place:
    """Where a key stands in the content of an audit.toml."""
    known, words = sections(), tuple(key.split("."))
    if words == (ADVERSARY,):
        return words
    if len(words) == 1:
        homes = [section for section, options in known.items() if key in options]
        if len(homes) == 1:
            return homes[0], key
        if key in SHORT:
            return SHORT[key]
        if key in base.get("oracle", {}).get("options", {}):
            return "oracle", "options", key
        names = [*SHORT, *(name for options in known.values() for name in options)]
        raise InputError(
            f'unknown key {key!r}; an option of the oracle is written "oracle.options.{key}"; '
            f"{did_you_mean(key, names)}"
        )
    if words[0] == "oracle" and words[1] not in known["oracle"]:
        return "oracle", "options", *words[1:]
    if words[0] not in known:
        raise InputError(f"unknown section in {key!r}; {did_you_mean(words[0], [*known, ADVERSARY])}")
    option = known[words[0]].get(words[1])
    if option is None:
        raise InputError(f"unknown key {key!r}; {did_you_mean(words[1], known[words[0]])}")
    if len(words) > 2 and option.expected not in (TABLE, TEXT_OR_TABLE):
        raise InputError(f"{key!r}: [{words[0]}] {words[1]} must be {option.expected} and has no keys of its own")
    return words


def _values(key: str, value: Any) -> list[Any]:
    """The values of one key: a list, a range, or one value that only these cells have."""
    if _is_range(value):
        return _range(key, value)
    if isinstance(value, list) and not value:
        raise InputError(f"{key!r} has no values")
    return value if isinstance(value, list) else [value]


def _range(key: str, ends: Mapping[str, Any]) -> list[Any]:
    unknown = next((name for name in ends if name not in RANGE_KEYS), None)
    if unknown is not None:
        raise InputError(f"{key!r}: unknown key {unknown!r} of a range; {did_you_mean(unknown, RANGE_KEYS)}")
    numbers = [ends["from"], ends["to"], ends.get("step", 1), ends.get("factor", 2)]
    if any(isinstance(number, bool) or not isinstance(number, int | float) for number in numbers):
        raise InputError(f"{key!r}: a range has numbers, not {dict(ends)!r}")
    first, last, step, factor = numbers
    if "step" in ends and "factor" in ends:
        raise InputError(f"{key!r}: a range has a step or a factor, not both")
    if ("factor" in ends and not (factor > 1 and 0 < first <= last)) or not (step > 0 and first <= last):
        raise InputError(f"{key!r}: a range rises from `from` to `to`, by a step above 0 or a factor above 1")
    values, number = [first], first
    for place in itertools.count(1):
        number = number * factor if "factor" in ends else first + place * step
        if number > last * (1 + 1e-12) or len(values) > MOST_CELLS:
            return values
        values.append(number)
    raise AssertionError("a range ends")


def _combined(values: Mapping[str, list[Any]], mode: str) -> Iterator[tuple[Any, ...]]:
    if mode == "grid":
        if math.prod(map(len, values.values())) > MOST_CELLS:
            raise InputError(f"more than {MOST_CELLS} cells; sweep fewer values")
        return itertools.product(*values.values())
    lengths = {key: len(each) for key, each in values.items() if len(each) > 1}
    if len(set(lengths.values())) > 1:
        raise InputError(f'mode = "zip" needs lists of one length, not {lengths}')
    longest = max(lengths.values(), default=1)
    return zip(*(each if len(each) > 1 else each * longest for each in values.values()), strict=True)


def _with(base: Mapping[str, Any], assigned: Mapping[Place, Any]) -> dict[str, Any]:
    """A copy of the content with these keys set."""
    content = deepcopy(dict(base))
    for place, value in assigned.items():
        if place == (ADVERSARY,):
            content[ADVERSARY] = [value] if isinstance(value, dict) else value
            continue
        if place == SHORT["columns"] and not isinstance(value, dict):
            value = _declared_columns(base, value)
        table = content
        for word in place[:-1]:
            inner = table.setdefault(word, {})
            if not isinstance(inner, dict):
                raise InputError(f"{'.'.join(place)!r}: {word!r} is {inner!r} in the file and has no keys of its own")
            table = inner
        table[place[-1]] = value
    return content


def _declared_columns(base: Mapping[str, Any], names: Any) -> dict[str, Any]:
    """Some of the quasi-identifiers that the file declares, by their names."""
    declared = base.get("data", {}).get("quasi", {})
    chosen = [names] if isinstance(names, str) else names
    if not isinstance(declared, dict) or not isinstance(chosen, list):
        raise InputError(
            f"columns are names of [data.quasi], or a table of columns with their kinds, not {names!r:.80}"
        )
    unknown = next((name for name in chosen if not isinstance(name, str) or name not in declared), None)
    if unknown is not None:
        raise InputError(f"no quasi-identifier {unknown!r:.80} is declared; {did_you_mean(str(unknown), declared)}")
    return {name: declared[name] for name in chosen}


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return str(value.get("name", "+".join(map(str, value))))
    return "+".join(map(_shown, value)) if isinstance(value, list) else f"{value}"
