"""What a column is taken for, from its cells and its name alone."""

from typing import Any

import pandas as pd
import pytest

from harness.initializing.describe_column import facts_of
from harness.initializing.guess_kind import guess_kind
from harness.initializing.guess_roles import draft_of
from harness.initializing.known_orders import order_of
from harness.vocabulary.errors import InputError

ROWS = 60


def cells(*texts: str) -> list[str]:
    return [texts[row % len(texts)] for row in range(ROWS)]


def different(form: str) -> list[str]:
    return [form.format(row) for row in range(ROWS)]


def declared(name: str, texts: list[Any]) -> Any:
    guess = guess_kind(facts_of(name, pd.Series(texts)))
    return guess.declaration


@pytest.mark.parametrize(
    ("name", "texts", "kind"),
    [
        ("age", cells("20", "31", "45"), "number"),
        ("income", different("{}.5"), "number"),
        ("weight", different("1e{}"), "number"),
        ("year", cells("1999", "2001", "2003"), "number"),
        ("temp", cells("-3", "0", "12"), "number"),
        ("zip", cells("01234", "90210", "02138"), "category"),
        ("zip", cells("10115", "90210"), "category"),
        ("phone", cells("+491", "+492"), "category"),
        ("flag", cells("0", "1"), "number"),
        ("smoker", cells("True", "False"), "category"),
        ("sex", cells("M", "F"), "category"),
        ("born", cells("1980-02-03", "1990-11-30"), "date"),
        ("born", cells("13/02/1980", "03/02/1980"), "date"),
        ("month", cells("Mar", "Jan", "Feb"), "ordered"),
        ("agegroup", cells("18-24", "65+", "25-34"), "ordered"),
        ("income", cells("Over_$100", "Under_$10", "$10-19"), "ordered"),
        ("grade", cells("HIGH", "Low", "medium"), "ordered"),
        ("town", [f"town {row % 40}" for row in range(ROWS)], "category"),
    ],
)
def test_a_column_is_taken_for_what_its_cells_are(name: str, texts: list[str], kind: str) -> None:
    assert declared(name, texts)["kind"] == kind


@pytest.mark.parametrize(
    ("name", "texts", "why"),
    [
        ("", cells("a", "b"), "without a name"),
        ("hospital", cells("General"), "the same value"),
        ("empty", cells(""), "empty"),
        ("rare", cells("", "", "", "x", "y"), "cells are missing"),
        ("id", different("{}"), "an identifier"),
        ("number of the row", different("{}"), "an identifier"),
        ("account", different("1000{:04d}"), "an identifier"),
        ("code", different("C-{}"), "another value"),
        ("surname", different("Smith {}"), "names of people"),
        ("note", different("she came {} days ago and had a cough, fever and pain"), "free text"),
        ("amount", different("1.234,{}0"), "look like numbers"),
        ("share", different("{} %"), "look like numbers"),
    ],
)
def test_a_column_is_left_out_for_a_reason(name: str, texts: list[str], why: str) -> None:
    guess = guess_kind(facts_of(name, pd.Series(texts)))
    assert guess.declaration is None
    assert why in guess.because


def test_dates_that_two_orders_fit_are_asked_about() -> None:
    guess = guess_kind(facts_of("born", pd.Series(cells("03/02/1980", "05/06/1981"))))
    assert guess.question == "does the day or the month come first?"
    assert [choice["notation"] for _, choice in guess.choices] == ["%d/%m/%Y", "%m/%d/%Y"]


@pytest.mark.parametrize(
    ("texts", "gaps", "distinct"),
    [
        (["20", "NA", "?", "30"], ("NA", "?"), 2),
        (["20", "None", "30"], ("None",), 2),
        (["Flu", "None", "Ulcer"], (), 3),  # a word among words
        (["a", "", "b"], (), 2),  # an empty cell is a gap anyhow
    ],
)
def test_texts_in_place_of_a_value_are_gaps(texts: list[str], gaps: tuple[str, ...], distinct: int) -> None:
    facts = facts_of("x", pd.Series(texts))
    assert (facts.gap_texts, facts.distinct) == (gaps, distinct)


@pytest.mark.parametrize(
    ("values", "order"),
    [
        (["c", "a", "b"], None),
        (["12", "3", "40"], None),  # numbers, or codes
        (["high", "low"], None),  # two values have no order worth a line
        (["Very_High", "low", "high"], ("low", "high", "Very_High")),
        (["2nd", "10th", "1st"], ("1st", "2nd", "10th")),
        (["5-9", "<5", "10+"], ("<5", "5-9", "10+")),
    ],
)
def test_orders_that_everybody_knows_are_found(values: list[str], order: tuple[str, ...] | None) -> None:
    assert order_of(values) == order


def facts(**columns: list[str]) -> list[Any]:
    return [facts_of(name, pd.Series(texts)) for name, texts in columns.items()]


@pytest.mark.parametrize(
    ("names", "sensitive"),
    [
        (("age", "diagnosis", "job"), "diagnosis"),
        (("income", "disease"), "disease"),
        (("sex", "colour", "shape"), "shape"),  # none is named like it: the last with few values
    ],
)
def test_the_sensitive_column_is_guessed_by_name_and_then_by_place(names: tuple[str, ...], sensitive: str) -> None:
    draft = draft_of(facts(**{name: cells("a", "b", "c") for name in names}))
    assert (draft.sensitive, draft.sensitive_was) == (sensitive, "guessed")


def test_what_a_person_says_about_columns_decides() -> None:
    columns = facts(age=cells("1", "2"), code=different("C-{}"), a=cells("x", "y"), b=cells("x", "y"))
    draft = draft_of(columns, sensitive="a", quasi=["age", "code"])
    assert (draft.sensitive, draft.sensitive_was) == ("a", "given")
    assert [guess.name for guess in draft.quasi] == ["age", "code"]
    with pytest.raises(InputError, match="no column 'agee'; did you mean 'age'"):
        draft_of(columns, quasi=["agee"])


def test_a_key_that_stands_in_several_rows_is_the_person() -> None:
    columns = facts(customer=[f"K{row // 3}" for row in range(ROWS)], a=cells("x", "y"), b=cells("x", "y"))
    assert draft_of(columns).person == "customer"


@pytest.mark.parametrize(
    ("numbers", "declaration"),
    [
        (different("{}"), {"kind": "number", "bins": 5}),
        (cells(*["0"] * 50, *map(str, range(1, 11))), {"kind": "number", "bins": 2}),
        (cells(*["99"] * 50, *map(str, range(1, 11))), {"kind": "number", "bins": 5, "binning": "width"}),
        (cells("1", "2", "3"), {"kind": "category"}),
    ],
)
def test_many_numbers_of_a_sensitive_column_are_put_into_bins(numbers: list[str], declaration: Any) -> None:
    draft = draft_of(facts(salary=numbers, town=cells("x", "y")), sensitive="salary")
    assert draft.secret.declaration == declaration


def test_a_table_of_keys_alone_is_refused_with_the_reasons() -> None:
    with pytest.raises(InputError, match="'id' is an identifier"):
        draft_of(facts(id=different("{}"), b=cells("x", "y")))
