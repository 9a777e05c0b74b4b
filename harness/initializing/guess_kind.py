"""What a column probably is: number, date, ordered, category; or something that an audit does without, and why.

The steps, first match wins: nothing or one value, a name for persons or rows, numbers, dates, free text, a known order,
else categories. Codes keep their leading zeros because only what prints again as it was is a number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import mean
from typing import Any

from harness.initializing.describe_column import ColumnFacts
from harness.initializing.known_orders import order_of
from harness.vocabulary.errors import InputError
from harness.vocabulary.values import Reading
from harness.vocabulary.values.atoms import DAY_FIRST, MONTH_FIRST

ID_NAME = re.compile(
    r"(^|[^a-z])(id|ids|uuid|guid|pid|uid|ssn|nr|no|key|index|rownames?|row|patient|person|subject|customer|client|"
    r"user|member|respondent|participant|account|passenger)([^a-z]|$)|[a-z](Id|ID|Nr|No)$"
)
CODE_NAME = re.compile(r"(^|[^a-z])(zip|zipcode|postal|postcode|plz|phone|tel|fax|iban|code)([^a-z]|$)")
NAME_NAME = re.compile(r"(^|[^a-z])(first|last|full|sur|given|family)?_?(name|surname|email|mail|address|street)$")
_PEOPLES_NUMBER = re.compile(r"[-+]?[$€£]?\d[\d.,' ]*\s*[%€$£]?")
MOST_MISSING = 0.4  # of the rows: a column with more gaps costs too many of them
FEW_ROWS = 12  # in so small a table every column may be without repetition
NEARLY_UNIQUE = 0.9  # distinct texts per row
FREE_TEXT = 40  # letters of an average cell
CODE_DIGITS = 6  # numbers that all have so many digits, each once, are keys


@dataclass(frozen=True)
class Guess:
    """What one column is declared as, or why it is left out; and what a person may want to decide."""

    name: str
    declaration: Mapping[str, Any] | None  # as audit.toml has it; None: left out
    because: str  # a comment: what it looks like, or why it is left out
    question: str | None = None  # what only a person can decide
    choices: tuple[tuple[str, Mapping[str, Any]], ...] = field(default=())  # answers to it; the first was taken
    is_key: bool = False  # names a person or a row

    @property
    def kind(self) -> str | None:
        return None if self.declaration is None else str(self.declaration["kind"])


def guess_kind(facts: ColumnFacts) -> Guess:
    """The guess for one column."""
    left_out = _reason_to_leave_out(facts)
    if left_out is not None:
        return Guess(facts.name, None, left_out)
    if _is_key(facts):
        what = "a different value in every row" if facts.is_unique else f"{facts.distinct:,} values, named like a key"
        return Guess(facts.name, None, f"an identifier: {what}", is_key=True)
    if facts.kind == "date":
        return Guess(facts.name, {"kind": "date"}, f"{facts.distinct:,} dates")
    if facts.numbers is not None:
        return _number_or_code(facts, facts.numbers)
    return _date(facts) or _text(facts)


def _reason_to_leave_out(facts: ColumnFacts) -> str | None:
    if not facts.name.strip():
        return "a column without a name"
    if facts.distinct == 0:
        return "empty"
    if facts.distinct == 1:
        return "the same value in every row"
    if facts.gaps > MOST_MISSING * facts.rows:
        return f"{facts.gaps:,} of {facts.rows:,} cells are missing"
    return None


def _is_key(facts: ColumnFacts) -> bool:
    """Whether the column names rows or persons: by its name, or because its numbers count or all differ in length 6."""
    name = _snake(facts.name)
    if facts.rows < FEW_ROWS:
        return bool(ID_NAME.search(name)) and facts.is_unique
    whole = facts.numbers is not None and all(value.is_integer() for value in facts.numbers)
    if whole and facts.is_unique:
        return bool(ID_NAME.search(name)) or _counts_rows(facts) or _has_even_digits(facts)
    textual = facts.numbers is None and facts.kind is None
    many = facts.distinct > max(FEW_ROWS, facts.filled / 20)
    return bool(ID_NAME.search(name)) and many and (whole or textual)


def _snake(name: str) -> str:
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()


def _counts_rows(facts: ColumnFacts) -> bool:
    assert facts.numbers is not None
    return max(facts.numbers) - min(facts.numbers) == facts.distinct - 1


def _has_even_digits(facts: ColumnFacts) -> bool:
    lengths = {len(text.strip()) for text in facts.texts}
    return len(lengths) == 1 and lengths.pop() >= CODE_DIGITS and all(text.strip().isdigit() for text in facts.texts)


def _number_or_code(facts: ColumnFacts, numbers: list[float]) -> Guess:
    if CODE_NAME.search(_snake(facts.name)) and all(value.is_integer() for value in numbers):
        return Guess(facts.name, {"kind": "category"}, f"{facts.distinct:,} codes of digits")
    return Guess(facts.name, {"kind": "number"}, f"{facts.distinct:,} different numbers")


def _date(facts: ColumnFacts) -> Guess | None:
    words = f"{facts.distinct:,} dates"
    try:
        Reading.of("date", facts.texts)
    except InputError as error:
        if "ambiguous" not in str(error) or not _reads_as_dates(facts, DAY_FIRST):
            return None
        choices = [({"kind": "date", "notation": order}, order) for order in (DAY_FIRST, MONTH_FIRST)]
        question = "does the day or the month come first?"
        return Guess(facts.name, choices[0][0], words, question, tuple((text, known) for known, text in choices))
    return Guess(facts.name, {"kind": "date"}, words)


def _reads_as_dates(facts: ColumnFacts, notation: str) -> bool:
    try:
        Reading.of("date", facts.texts, notation=notation)
    except InputError:
        return False
    return True


def _text(facts: ColumnFacts) -> Guess:
    letters = mean(len(text) for text in facts.texts)
    if _looks_numeric(facts):
        return Guess(
            facts.name,
            None,
            "texts that look like numbers",
            "If they are numbers, write them with a point and no other sign",
        )
    if NAME_NAME.search(_snake(facts.name)) and facts.distinct > facts.filled / 2:
        return Guess(facts.name, None, "names of people or places: they identify by themselves", is_key=True)
    if facts.rows >= FEW_ROWS and facts.distinct > NEARLY_UNIQUE * facts.filled:
        what = "free text" if letters > FREE_TEXT else "an identifier or free text"
        return Guess(facts.name, None, f"{what}: (nearly) every row has another value", is_key=letters <= FREE_TEXT)
    if letters > FREE_TEXT and facts.distinct > facts.filled / 4:
        return Guess(facts.name, None, f"free text: {letters:.0f} letters in an average cell")
    order = order_of(facts.texts)
    if order is not None:
        return Guess(facts.name, {"kind": "ordered", "order": list(order)}, f"{facts.distinct:,} values with an order")
    return Guess(facts.name, {"kind": "category"}, f"{facts.distinct:,} values")


def _looks_numeric(facts: ColumnFacts) -> bool:
    """Whether nearly all texts are numbers as people write them and programs do not: 3,50 or 1.234,50 or 12 %."""
    likely = [text for text in facts.texts if _PEOPLES_NUMBER.fullmatch(text.strip())]
    with_signs = any(re.search(r"\d[.,' ]\d|[%€$£]", text) for text in likely)
    return with_signs and len(likely) > 0.9 * facts.distinct and facts.distinct > FEW_ROWS
