"""Which column is sensitive, which says whose row it is, which an adversary knows: the draft of an audit.

Which column is sensitive cannot be known from data. Names that often mean it are tried first, then the last column
with few values; whoever calls can say it beforehand, and the file says that it was guessed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from harness.initializing.describe_column import ColumnFacts
from harness.initializing.guess_kind import Guess, guess_kind
from harness.vocabulary.errors import InputError, did_you_mean
from harness.vocabulary.schema import Column

SENSITIVE_NAMES = tuple(
    re.compile(rf"(^|[^a-z])({words})([^a-z]|$)")
    for words in (
        "disease|diagnos[ei]s|illness|hiv|cancer|condition|medication|drug|treatment|symptom|icd|sickness",
        "sensitive|secret",
        "income|salary|wage|wages|earnings|revenue|debt|credit|balance|wealth",
        "religion|party|vote|orientation|ethnicity|conviction|crime",
        "target|class|label|outcome|species|result|survived|default|risk|progression|quality",
        "occupation|job|profession|grade|score|rating|price",
    )
)
FEW_VALUES = 50  # of a sensitive column without bins
MOST_NUMBERS = 10  # distinct numbers that are predicted one by one
BINS = 5  # of a sensitive column with more numbers
FEWEST_REPEATS = 1.2  # rows per value of a column that says whose row it is


@dataclass(frozen=True)
class Draft:
    """Everything that the audit.toml says about the data."""

    columns: tuple[Guess, ...]  # of every column of the file, in its order
    sensitive: str
    sensitive_was: str  # "given", or why it was guessed
    person: str | None = None
    gap_texts: tuple[str, ...] = ()
    rows_with_gaps: int = 0
    rows: int = 0
    suppressed: tuple[str, ...] = ()
    weight: str | None = None
    notes: tuple[str, ...] = field(default=())  # about the release

    @property
    def quasi(self) -> tuple[Guess, ...]:
        """The columns that an adversary knows."""
        roles = (self.sensitive, self.person)
        return tuple(guess for guess in self.columns if guess.declaration is not None and guess.name not in roles)

    @property
    def left_out(self) -> tuple[Guess, ...]:
        roles = (self.sensitive, self.person)
        return tuple(guess for guess in self.columns if guess.declaration is None and guess.name not in roles)

    @property
    def secret(self) -> Guess:
        """The sensitive column."""
        return self.column(self.sensitive)

    def column(self, name: str) -> Guess:
        return next(guess for guess in self.columns if guess.name == name)


def draft_of(
    columns: Sequence[ColumnFacts],
    sensitive: str | None = None,
    quasi: Sequence[str] | None = None,
    not_sensitive: Collection[str] = (),
) -> Draft:
    """The draft for a table; `sensitive` and `quasi` are what a person has said already.

    `not_sensitive` are columns that cannot be the sensitive one, because a release changes them.
    """
    known = {facts.name: facts for facts in columns}
    _require_known([*([sensitive] if sensitive else []), *(quasi or ())], list(known))
    guesses = [guess_kind(facts) for facts in columns]
    chosen = sensitive or _likely_sensitive([one for one in guesses if one.name not in not_sensitive], known)
    person = _likely_person(guesses, known, chosen, quasi or ())
    final = tuple(_in_its_role(guess, known[guess.name], chosen, person, quasi) for guess in guesses)
    was = "given" if sensitive else "guessed"
    draft = Draft(final, chosen, was, person, rows=columns[0].rows)
    if not draft.quasi:
        why = "; ".join(f"{one.name!r} is {one.because}" for one in draft.left_out[:8])
        raise InputError(
            f"no column is left that an adversary could know beside {chosen!r}, which is taken as sensitive"
            + (f": {why}; name some with --quasi" if why else "; the data needs at least two columns")
        )
    return draft


def _require_known(names: Sequence[str], known: Sequence[str]) -> None:
    unknown = next((name for name in names if name not in known), None)
    if unknown is not None:
        raise InputError(f"the data has no column {unknown!r}; {did_you_mean(unknown, known)}")


def _likely_sensitive(guesses: Sequence[Guess], known: Mapping[str, ColumnFacts]) -> str:
    fit = [guess for guess in guesses if guess.declaration is not None and _can_be_predicted(guess, known[guess.name])]
    if not fit:
        raise InputError("no column can be the sensitive one: none has between 2 and a few values; use --sensitive")
    for pattern in SENSITIVE_NAMES:
        named = [guess for guess in fit if pattern.search(guess.name.lower())]
        if named:
            return named[0].name
    few = [guess for guess in fit if guess.kind in ("category", "ordered") and known[guess.name].distinct <= FEW_VALUES]
    return (few or fit)[-1].name


def _can_be_predicted(guess: Guess, facts: ColumnFacts) -> bool:
    return guess.kind == "number" or (guess.kind != "date" and facts.distinct <= FEW_VALUES)


def _likely_person(
    guesses: Sequence[Guess], known: Mapping[str, ColumnFacts], sensitive: str, quasi: Sequence[str]
) -> str | None:
    """The first key that stands in several rows of many persons."""
    for guess in guesses:
        facts = known[guess.name]
        repeats = facts.filled / max(1, facts.distinct)
        taken = guess.name == sensitive or guess.name in quasi
        if guess.is_key and not taken and facts.gaps == 0 and repeats >= FEWEST_REPEATS:
            return guess.name
    return None


def _in_its_role(
    guess: Guess, facts: ColumnFacts, sensitive: str, person: str | None, quasi: Sequence[str] | None
) -> Guess:
    if guess.name == sensitive:
        return _secret(guess, facts)
    if guess.name == person:
        return Guess(guess.name, None, f"{facts.distinct:,} values in {facts.rows:,} rows")
    if quasi is None:
        return guess
    if guess.name not in quasi:
        return Guess(guess.name, None, "not among --quasi", is_key=guess.is_key)
    return guess if guess.declaration is not None else _declared_anyway(guess, facts)


def _declared_anyway(guess: Guess, facts: ColumnFacts) -> Guess:
    kind = "number" if facts.numbers is not None else "category"
    return Guess(guess.name, {"kind": kind}, f"asked for, although it is {guess.because}")


def _secret(guess: Guess, facts: ColumnFacts) -> Guess:
    """The sensitive column: its values as they are, or many numbers in bins."""
    if facts.distinct < 2:
        raise InputError(f"column {guess.name!r} has {facts.distinct} value; a sensitive column needs at least two")
    if facts.numbers is None or facts.distinct <= MOST_NUMBERS:
        return Guess(guess.name, {"kind": "category"}, f"{facts.distinct:,} values")
    bins = _bins(facts)
    if bins is None:
        declaration: dict[str, Any] = {"kind": "number", "bins": BINS, "binning": "width"}
    else:
        declaration = {"kind": "number", "bins": bins}
    how = "of equal width" if bins is None else "of about equally many rows"
    return Guess(guess.name, declaration, f"{facts.distinct:,} numbers, in {declaration['bins']} groups {how}")


def _bins(facts: ColumnFacts) -> int | None:
    """The largest number of quantile bins, at most BINS, that are all in use; None if one value fills nearly all."""
    assert facts.numbers is not None
    cells = np.repeat(facts.numbers, facts.counts)
    for bins in range(BINS, 1, -1):
        column = Column(facts.name, kind="number", bins=bins)
        if len(set(_bin_numbers(column, cells))) == bins:
            return bins
    return None


def _bin_numbers(column: Column, cells: Any) -> list[int]:
    return [int(number) for number in column.binned(pd.Series(cells)).unique()]
