"""The command init: reads the data, asks the anonymizer for a release and the person at a terminal, writes a file."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Collection, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

import oracles
from harness.api import child_settings, oracle_log
from harness.auditing.config import load
from harness.cli import allow_imports_beside, tell
from harness.cli.option_words import options_from_words
from harness.initializing.describe_column import GAPS, facts_of
from harness.initializing.fit_release import Places, changed_columns, fit_release
from harness.initializing.guess_kind import Guess
from harness.initializing.guess_roles import Draft, draft_of
from harness.initializing.write_toml import DECIDE, toml_of
from harness.vocabulary.answers import checked_answers
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.error_codes import code_of
from harness.vocabulary.errors import InputError, OracleError, ReleaseError
from harness.vocabulary.oracle import Ask, Oracle
from harness.vocabulary.schema import Column, Schema
from harness.vocabulary.source import read_table
from harness.vocabulary.table import Table

SIGNS = ("*", "**", "[suppressed]")  # of a suppressed cell: the first that is no value of the data
Choose = Callable[[str, Sequence[str]], int]  # a question and its answers -> which was chosen; the first is the guess


def init(chosen: argparse.Namespace) -> int:
    """Write an audit.toml for a data file; 3 if the anonymizer could not be asked, the file is written nevertheless."""
    file: Path = chosen.output
    if file.exists() and not chosen.force:
        raise InputError(f"{file} exists; give --force to overwrite it, or another name with -o")
    choose = _ask_person if sys.stdin.isatty() and sys.stderr.isatty() else _take_guess
    table = _Table(read_table(chosen.data), chosen.sensitive, _names(chosen.quasi))
    draft = _with_secret(table.draft(), table, choose)
    options = options_from_words(chosen.option, "--option")
    problem: OracleError | None = None
    if chosen.oracle is not None:
        allow_imports_beside(file)
        try:
            draft = _fitted(draft, table, chosen, options)
        except OracleError as error:
            problem = error
            draft = replace(draft, notes=(f"{DECIDE}: {_without_rows(error)}",))
    draft = _with_answers(draft, choose)
    path = Path(os.path.relpath(chosen.data, file.parent)).as_posix()
    _write(file, toml_of(draft, path, chosen.oracle, options))
    load(file)  # an error here is told, and names the line to correct
    _tell_result(file, draft)
    if problem is not None:
        raise problem
    return 0


def _names(words: str | None) -> list[str] | None:
    return None if words is None else [word.strip() for word in words.split(",") if word.strip()]


def _without_rows(error: OracleError) -> str:
    """What a file may say of an error: what the anonymizer itself said may quote a row, what it released is public."""
    if isinstance(error, ReleaseError):
        return str(error)
    return f"the anonymizer could not be asked for a release ({code_of(error)}; the command told why)"


@dataclass(frozen=True, eq=False)
class _Table:
    """The data as a frame, and what was said on the command line about its columns."""

    frame: pd.DataFrame
    sensitive: str | None
    quasi: Sequence[str] | None

    def __post_init__(self) -> None:
        if len(self.frame) == 0:
            raise InputError("the data holds no records; an audit needs at least one")

    def draft(self, sensitive: str | None = None, not_sensitive: Collection[str] = ()) -> Draft:
        columns = [facts_of(str(name), self.frame[name]) for name in self.frame.columns]
        draft = draft_of(columns, sensitive or self.sensitive, self.quasi, not_sensitive)
        return _with_gaps(draft, self.frame)


def _with_secret(draft: Draft, table: _Table, choose: Choose) -> Draft:
    """The draft with the sensitive column that a person chooses."""
    if draft.sensitive_was == "given" or choose is _take_guess:
        return draft
    others = [guess.name for guess in draft.columns if guess.declaration and guess.name != draft.sensitive]
    names = [draft.sensitive, *others]
    return table.draft(names[choose("Which column should nobody learn about a person?", names)])


def _with_gaps(draft: Draft, frame: pd.DataFrame) -> Draft:
    """The texts that stand for gaps in the columns that are used, and how many rows have one."""
    used = [guess.name for guess in (*draft.quasi, draft.secret)]
    columns = {facts.name: facts for facts in (facts_of(name, frame[name]) for name in used)}
    texts = dict.fromkeys(text for facts in columns.values() for text in facts.gap_texts)
    is_gap = pd.DataFrame(
        {name: frame[name].isna() | frame[name].isin(["", *columns[name].gap_texts]) for name in used}
    )
    values = {text for facts in columns.values() for text in facts.texts}
    signs = [sign for sign in SIGNS if sign not in values][:1] if values & {"*", *GAPS} else []
    return replace(draft, gap_texts=tuple(texts), rows_with_gaps=int(is_gap.any(axis=1).sum()), suppressed=tuple(signs))


def _fitted(draft: Draft, table: _Table, chosen: argparse.Namespace, options: dict[str, Any]) -> Draft:
    """The draft with what one release of the anonymizer needs.

    A column that was guessed to be sensitive, and is not released as it is, is none: another one is guessed then.
    """
    places = Places(chosen.data.resolve().parent, chosen.output.resolve().parent)
    beside = oracles.options_beside(places.file, chosen.oracle, options)
    with (
        oracle_log(None) as log,
        closing(oracles.open_with(chosen.oracle, beside, child_settings(log))) as oracle,
    ):
        if oracle.card.releases == "predictions":
            return replace(draft, notes=("The anonymizer releases predictions: no cell is to be read.",))
        data, release = _release(draft, chosen.data, places, oracle)
        changed = changed_columns(data, release)
        if draft.sensitive in changed and draft.sensitive_was == "guessed":
            draft = table.draft(not_sensitive=changed)
            data, release = _release(draft, chosen.data, places, oracle)
    return fit_release(draft, data, release, places)


def _release(draft: Draft, path: Path, places: Places, oracle: Oracle) -> tuple[Dataset, Table]:
    """The data as the draft declares it, and one release of it."""
    data = _dataset(draft, path, places.file)
    tell(f"asking {oracle.card.name} for one release of {data.size:,} rows")
    release = next(iter(checked_answers(oracle, Ask(data))))
    assert isinstance(release, Table)
    return data, release


def _dataset(draft: Draft, path: Path, base: Path) -> Dataset:
    quasi = [Column.of(guess.name, guess.declaration, base) for guess in draft.quasi]
    secret = Column.of(draft.sensitive, draft.secret.declaration, base)
    schema = Schema(quasi, [secret], person=draft.person, suppressed=draft.suppressed or None)
    return Dataset.from_file(path, schema, "drop" if draft.rows_with_gaps else "error", ["", *draft.gap_texts])


def _with_answers(draft: Draft, choose: Choose) -> Draft:
    """The draft with a person's answers to its open questions."""
    return replace(draft, columns=tuple(_answered(guess, choose) for guess in draft.columns))


def _answered(guess: Guess, choose: Choose) -> Guess:
    if guess.question is None or not guess.choices or choose is _take_guess:
        return guess
    answer = choose(f"{guess.name}: {guess.question}", [text for text, _ in guess.choices])
    return replace(guess, declaration=guess.choices[answer][1], question=None)


def _take_guess(question: str, answers: Sequence[str]) -> int:
    """Nobody is there to ask: the guess stays, and the file marks it."""
    return 0


def _ask_person(question: str, answers: Sequence[str]) -> int:
    """The number that a person at the terminal types; an empty line takes the guess."""
    print(question, file=sys.stderr)
    for number, answer in enumerate(answers, start=1):
        print(f"  {number}  {answer}", file=sys.stderr)
    while True:
        print("number, or Enter for 1: ", end="", file=sys.stderr, flush=True)
        word = sys.stdin.readline()
        if not word.strip():
            return 0
        if word.strip().isdigit() and 1 <= int(word) <= len(answers):
            return int(word) - 1


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{file}: cannot be written: {error.strerror}; choose another file with -o") from None


def _tell_result(file: Path, draft: Draft) -> None:
    text = file.read_text(encoding="utf-8")
    marked = sum(DECIDE in line for line in text.splitlines()[1:])
    quasi = ", ".join(guess.name for guess in draft.quasi[:6]) + (", …" if len(draft.quasi) > 6 else "")
    tell(f"{file} written: {draft.sensitive} is sensitive ({draft.sensitive_was}), known are {quasi}")
    lines = "1 line marked" if marked == 1 else f"{marked} lines marked"
    tell(f"{lines} {DECIDE}: your decision. Then: harness plan {file}")
