"""The declarations under which every cell of one release of the data can be read, found by trying them.

Column by column, the first of these that reads every cell as something that covers a raw value:
    as it is; other numbers (`points`); a hierarchy from a file; a notation under which each row's cell covers that
    row's raw value; a hierarchy learnt from the rows; any notation, as a guess.
Words such as REDACTED count as suppressed cells before that.
Then the closed side: where ranges meet (`20-30`, `30-40`), the rows decide to which of them 30 belongs, if the release
keeps their order. A column that nothing reads is left out with a question, so that the rest can be audited.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from harness.initializing.guess_kind import Guess
from harness.initializing.guess_roles import Draft
from harness.initializing.learn_hierarchy import hierarchy_file, hierarchy_of_rows
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError
from harness.vocabulary.release import WEIGHT_NAMES
from harness.vocabulary.schema import Column
from harness.vocabulary.table import Table
from harness.vocabulary.values import NOTATIONS, Exact, Interval, Kind, Raw, Reading, Suppressed, Unreadable, parse
from harness.vocabulary.values.atoms import cell_text
from harness.vocabulary.values.kinds import show_raw

SUPPRESSED_WORD = re.compile(
    r"(suppress|redact|mask|hidden|hide|remov|anonym|withheld|delet|censor|confidential|any$|all$|x{2,}$|#+$|-{2,}$)",
    re.IGNORECASE,
)
ENOUGH_IN_ORDER = 0.99  # of the rows whose cells cover the raw value in the same row: the release keeps the order
MOST_CELLS_TRIED = 2_000  # of one column: a release of means may have another number in every row
CLOSED = ("left", "right")
GUESSED = "GUESSED"  # begins the comment of what the rows did not decide


@dataclass(frozen=True)
class Places:
    """Folders: of the data, where hierarchies may lie, and of the audit.toml, to which paths in it are relative."""

    data: Path = Path()
    file: Path = Path()


@dataclass(frozen=True, eq=False)
class ReleasedColumn:
    """One column of the data beside what the release shows of it."""

    guess: Guess
    raws: Sequence[Raw]  # the domain
    cells: Sequence[str]  # distinct, as printed
    pairs: Sequence[tuple[Raw, str]]  # distinct (raw value, cell) of equal rows; empty unless rows keep their order
    places: Places

    def reading(self, declaration: Mapping[str, Any]) -> Reading:
        column = Column.of(self.guess.name, declaration, self.places.file)
        texts = list(map(show_raw, self.raws))
        untyped = column.untyped(texts)
        return column.reading(untyped, [untyped.raw(text) for text in texts])


def fit_release(draft: Draft, data: Dataset, release: Table, places: Places) -> Draft:
    """The draft with the declarations that this release needs; `data` is what the release was made of."""
    suppressed = _signs_of_suppression(draft, data, release)
    aligned = _keeps_rows(draft, data, release)
    fitted = [
        guess if guess not in draft.quasi else _fitted(_released(guess, data, release, aligned, places), suppressed)
        for guess in draft.columns
    ]
    signs = tuple(dict.fromkeys((*(draft.suppressed or ("*",)), *suppressed))) if suppressed else draft.suppressed
    draft = replace(draft, columns=tuple(fitted), suppressed=signs, weight=_weight(release, data))
    return replace(draft, notes=tuple(_notes(draft, data, release, aligned)))


def _released(guess: Guess, data: Dataset, release: Table, aligned: bool, places: Places) -> ReleasedColumn:
    place = data.schema.names.index(guess.name)
    domain, codes = data.readings[place].domain, data.codes[place]
    column = release.column(guess.name)
    cells = [cell_text(cell) for cell in column.palette.tolist()]
    pairs: list[tuple[Raw, str]] = []
    if aligned:
        shown = np.where(column.codes < 0, len(cells), column.codes)
        both = np.unique(np.stack([codes, shown]), axis=1).T.tolist()
        pairs = [(domain[raw], cells[cell]) for raw, cell in both if cell < len(cells)]
    return ReleasedColumn(guess, domain, cells, pairs, places)


def _keeps_rows(draft: Draft, data: Dataset, release: Table) -> bool:
    """Whether row i of the release is row i of the data, as far as cells that need no declaration show."""
    if release.rows != data.size:
        return False
    shares = [_share_covered(_released(guess, data, release, True, Places())) for guess in draft.quasi]
    place = data.schema.names.index(draft.sensitive)
    shares.append(_share_of_equal_secrets(data, release, place))
    known = [share for share in shares if share is not None]
    return bool(known) and min(known) >= ENOUGH_IN_ORDER


def _share_covered(column: ReleasedColumn) -> float | None:
    """How many of the distinct pairs agree; None if the cells do not read as they are, or say nothing."""
    try:
        reading = column.reading(column.guess.declaration or {})
        values = {cell: parse(cell, reading) for cell in column.cells[:MOST_CELLS_TRIED]}
    except (Unreadable, InputError):
        return None
    covering = [values[cell].covers(raw) for raw, cell in column.pairs if cell in values]
    says_something = any(not isinstance(value, Suppressed) for value in values.values())
    return sum(covering) / len(covering) if covering and says_something else None


def _share_of_equal_secrets(data: Dataset, release: Table, place: int) -> float | None:
    name, domain = data.schema.names[place], data.readings[place].domain
    column = release.column(name)
    shown = [cell_text(cell) for cell in column.palette.tolist()]
    own = np.array([show_raw(raw) for raw in domain], dtype=object)[data.codes[place]]
    seen = np.array([*shown, ""], dtype=object)[column.codes]
    kept = np.isin(seen.astype(str), [show_raw(raw) for raw in domain])
    return float((own[kept] == seen[kept]).mean()) if kept.any() else None


def _signs_of_suppression(draft: Draft, data: Dataset, release: Table) -> tuple[str, ...]:
    """Words such as REDACTED that stand for a suppressed cell, and are no value of their column."""
    words: dict[str, None] = {}
    for guess in (*draft.quasi, draft.secret):
        domain = data.readings[data.schema.names.index(guess.name)].domain
        own = set(map(show_raw, domain))
        for cell in map(cell_text, release.column(guess.name).palette.tolist()):
            if cell not in own and SUPPRESSED_WORD.match(cell.strip()) and cell.strip() not in ("*",):
                words[cell.strip()] = None
    return tuple(words)


def _fitted(column: ReleasedColumn, suppressed: Sequence[str]) -> Guess:
    """The guess with the first declaration that reads every cell, or left out with the question that is open."""
    column = replace(column, cells=[cell for cell in column.cells if cell.strip() not in suppressed])
    for declaration, how in _declarations(column):
        if _reads(column, declaration) is None:
            guess = _with_closed_side(column, {**declaration}, how)
            return _with_other_notations(column, guess) if how.startswith(GUESSED) else guess
    problem = _reads(column, column.guess.declaration or {})
    return replace(
        column.guess,
        declaration=None,
        because=f"its released cells cannot be read: {problem}",
        question="what do these cells mean? Declare a hierarchy, an order or a notation for them",
        choices=(),
    )


def _declarations(column: ReleasedColumn) -> Iterator[tuple[Mapping[str, Any], str]]:
    """What is tried, and the comment that it gets: first what needs least, last what is a guess."""
    plain = dict(column.guess.declaration or {})
    yield plain, ""
    kind: Kind = plain["kind"]
    if kind == "number":
        yield {**plain, "points": True}, "releases show means or other new numbers"
    names = _unreadable(column, plain)
    path = hierarchy_file(column.places.data, column.guess.name, map(show_raw, column.raws), names)
    if path is not None:
        relative = Path(os.path.relpath(path, column.places.file)).as_posix()
        yield {**plain, "hierarchy": relative}, "names of this file are in the releases"
    example = _example(names)
    notations = () if "notation" in plain else NOTATIONS[kind]
    for notation in _by_narrowness(column, plain, notations):
        yield {**plain, "notation": notation}, f"decides how {example} is read, as the rows show"
    if (tree := _hierarchy_of_rows(column, names)) is not None:
        yield {**plain, "hierarchy": tree}, "LEARNT from one release, row by row: check it"
    for notation in sorted(notations, key=lambda each: each == "run"):  # a list is a set rather than a run
        yield {**plain, "notation": notation}, f"{GUESSED}: decides how {example} is read; check it"
    if kind == "number":
        yield {**plain, "points": True, "notation": "interval"}, "releases show ranges of new numbers"


def _with_other_notations(column: ReleasedColumn, guess: Guess) -> Guess:
    """The guess with the question which of the notations that read every cell is meant."""
    chosen = dict(guess.declaration or {})
    others = [each for each in NOTATIONS[chosen["kind"]] if each != chosen["notation"]]
    tried = [chosen, *({**chosen, "notation": each} for each in others)]
    choices = tuple((str(each["notation"]), each) for each in tried if _reads(column, each) is None)
    question = "how are the cells of the release meant?"
    return guess if len(choices) < 2 else replace(guess, question=question, choices=choices)


def _by_narrowness(column: ReleasedColumn, plain: Mapping[str, Any], notations: Sequence[str]) -> list[str]:
    """The notations under which every cell covers the raw values of its rows; first the one that covers least else."""
    fitting = [each for each in notations if _covers_all(column, {**plain, "notation": each})]
    return sorted(fitting, key=lambda each: _width(column, {**plain, "notation": each}))


def _width(column: ReleasedColumn, declaration: Mapping[str, Any]) -> int:
    """How many raw values the cells cover, summed over the cells."""
    reading = column.reading(declaration)
    values = [parse(cell, reading) for cell in column.cells[:MOST_CELLS_TRIED]]
    return sum(value.covers(raw) for value in values for raw in reading.domain)


def _hierarchy_of_rows(column: ReleasedColumn, names: Set[str]) -> dict[str, Any] | None:
    groups: dict[str, set[str]] = defaultdict(set)
    for raw, cell in column.pairs:
        if cell in names:
            groups[cell].add(show_raw(raw))
    return hierarchy_of_rows(groups, list(map(show_raw, column.raws)))


def _unreadable(column: ReleasedColumn, declaration: Mapping[str, Any]) -> set[str]:
    reading = column.reading(declaration)
    return {cell for cell in column.cells if _problem(cell, reading) is not None}


def _example(names: Set[str]) -> str:
    cells = sorted(names, key=lambda cell: (len(cell), cell))
    return f"{cells[0][:40]!r}" if cells else "a cell"


def _reads(column: ReleasedColumn, declaration: Mapping[str, Any]) -> str | None:
    """The first problem with a cell under a declaration, None if there is none."""
    try:
        reading = column.reading(declaration)
    except InputError as error:
        return str(error)
    problems = (_problem(cell, reading) for cell in column.cells[:MOST_CELLS_TRIED])
    return next((problem for problem in problems if problem is not None), None)


def _problem(cell: str, reading: Reading) -> str | None:
    try:
        value = parse(cell, reading)
    except Unreadable as error:
        return str(error)
    if reading.points and isinstance(value, Exact):
        return None
    covers_one = isinstance(value, Suppressed) or any(map(value.covers, reading.domain))
    return None if covers_one else f"{cell[:40]!r} covers no value of the data"


def _with_closed_side(column: ReleasedColumn, declaration: dict[str, Any], how: str) -> Guess:
    """Decides to which of two ranges that meet their common end belongs, by the rows that have it."""
    because = f"{column.guess.because}; {how}" if how else column.guess.because
    guess = replace(column.guess, declaration=declaration, because=because)
    if declaration["kind"] not in ("number", "date") or not _ranges_meet(column, declaration):
        return guess
    agreeing = [side for side in CLOSED if _covers_all(column, {**declaration, "closed": side})]
    if len(agreeing) == 1:
        note = f"{because}; where ranges meet, their {agreeing[0]} end belongs to them, as the rows show"
        return replace(guess, declaration={**declaration, "closed": agreeing[0]}, because=note)
    if column.pairs and _covers_all(column, declaration):
        return guess  # both ends belong to them, or nobody stands where they meet
    choices = tuple((f"the {side} one", {**declaration, "closed": side}) for side in CLOSED)
    question = "ranges of the release meet (20-30, 30-40): which end of a range belongs to it?"
    return replace(guess, declaration=choices[0][1], question=question, choices=choices)


def _ranges_meet(column: ReleasedColumn, declaration: Mapping[str, Any]) -> bool:
    """Whether ranges share ends that none of them says to have; square brackets say that both ends belong to it."""
    reading = column.reading(declaration)
    values = [parse(cell, reading) for cell in column.cells[:MOST_CELLS_TRIED] if not _has_brackets(cell)]
    ranges = {(value.low, value.high) for value in values if isinstance(value, Interval) and value.closed == "both"}
    return _meet_without_overlap(sorted(ranges))


def _has_brackets(cell: str) -> bool:
    return cell.strip().startswith("[") and cell.strip().endswith("]")


def _meet_without_overlap(ranges: Sequence[tuple[float, float]]) -> bool:
    """Whether sorted ranges share ends and nothing else, as steps of a scale do.

    Those of groups, from the least to the greatest member, overlap anyhow, and both of their ends belong to them.
    """
    neighbours = list(pairwise(ranges))
    return all(one[1] <= other[0] for one, other in neighbours) and any(
        one[1] == other[0] and one[0] < one[1] and other[0] < other[1] for one, other in neighbours
    )


def _covers_all(column: ReleasedColumn, declaration: Mapping[str, Any]) -> bool:
    if not column.pairs:
        return False
    reading = column.reading(declaration)
    try:
        return all(parse(cell, reading).covers(raw) for raw, cell in column.pairs)
    except Unreadable:
        return False


def _weight(release: Table, data: Dataset) -> str | None:
    """ "" where an added column has the name of a weight and is none: it holds something else than numbers."""
    for name in release.names:
        if name not in data.schema.names and name.lower() in WEIGHT_NAMES:
            try:
                [float(cell) for cell in release.column(name).palette.tolist()]
            except (TypeError, ValueError):
                return ""
    return None


def changed_columns(data: Dataset, release: Table) -> set[str]:
    """The columns that have a cell in the release which is none of their raw values and is not suppressed."""
    return {name for name in data.schema.names if next(iter(_new_cells(name, data, release, ())), None) is not None}


def _new_cells(name: str, data: Dataset, release: Table, suppressed: Sequence[str]) -> Iterator[str]:
    own = {*map(show_raw, data.readings[data.schema.names.index(name)].domain), "", "*", *suppressed}
    cells = map(cell_text, release.column(name).palette.tolist())
    return (cell for cell in cells if cell not in own and not SUPPRESSED_WORD.match(cell.strip()))


def _notes(draft: Draft, data: Dataset, release: Table, aligned: bool) -> Iterator[str]:
    order = "in the same order" if aligned else "perhaps in another order"
    yield f"One release was read: {release.rows:,} rows of {data.size:,}, {order}."
    other = next(iter(_new_cells(draft.sensitive, data, release, draft.suppressed)), None)
    if other is not None:
        yield (
            f"DECIDE: the release shows {other[:40]!r} as {draft.sensitive!r}, which the data does not have; the "
            "sensitive column must stay as it is or be suppressed, so choose another one or fix the anonymizer"
        )
