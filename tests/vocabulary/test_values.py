"""Released cells: every notation seen in the wild, what it covers, and what must be refused."""

import contextlib
import math
import pickle
import time
from datetime import date
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from harness.vocabulary.errors import InputError
from harness.vocabulary.values import (
    Closed,
    Exact,
    Interval,
    Kind,
    OneOf,
    Other,
    Raw,
    Reading,
    Span,
    Suppressed,
    Unreadable,
    Value,
    date_order,
    parse,
    resolve_other,
    show,
)

# fmt: off
SCHOOLS = [
    "Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th", "HS-grad", "Some-college",
    "Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate",
]
# fmt: on
ages = Reading.of("number", range(17, 91))
amounts = Reading.of("number", [0, 1, 2, 5, 10, 20, 1000, 2000])
schools = Reading.of("ordered", SCHOOLS)
letters = Reading.of("category", ["a", "b", "c", "M", "F", "Bachelors", "Smith, John", "<=50K", "1st-4th"])
zips = Reading.of("category", ["35501", "35510", "35601", "47677"])
born = Reading.of("date", ["13/02/1987", "01/03/1985", "30/11/1990", "05/05/1979"])


def many(*raws: Raw) -> OneOf:
    return OneOf(frozenset(raws))


def days(first: str, last: str) -> Interval:
    low, high = (date.fromisoformat(text).toordinal() for text in (first, last))
    return Interval(low, high, days=True)


def day(text: str) -> Span:
    ordinal = date.fromisoformat(text).toordinal()
    return Span(ordinal, ordinal)


def run(first: str, last: str) -> OneOf:
    return OneOf(frozenset(SCHOOLS[SCHOOLS.index(first) : SCHOOLS.index(last) + 1]))


NUMBERS: dict[object, Value] = {
    "25": Exact(25),
    "25.0": Exact(25),
    " 25 ": Exact(25),
    "2.5e1": Exact(25),
    "+90": Exact(90),  # the highest: 90 or more is the same
    "+15": Interval(15, math.inf, "left"),  # no raw value
    25: Exact(25),
    26.0: Exact(26),
    "[20,30]": Interval(20, 30),
    "[20, 40)": Interval(20, 40, "left"),
    "(33.667, 50.0]": Interval(33.667, 50, "right"),
    "(16.999, 26.0]": Interval(16.999, 26, "right"),
    "[0, 100[": Interval(0, 100, "left"),
    "]20, 30]": Interval(20, 30, "right"),
    "]20, 30[": Interval(20, 30, "neither"),
    "20-39": Interval(20, 39),
    "20 - 39": Interval(20, 39),
    "-5--1": Interval(-5, -1),
    "[-5--1]": Interval(-5, -1),
    "−5–−1": Interval(-5, -1),
    "1e-1-3e1": Interval(0.1, 30),
    "[37-40]": Interval(37, 40),
    "[37.0-41.0)": Interval(37, 41, "left"),
    "[37.-41.]": Interval(37, 41),
    "23~33": Interval(23, 33),
    "[23~33]": Interval(23, 33),
    "19,26": Interval(19, 26),
    "[20;30]": Interval(20, 30),
    "20..39": Interval(20, 39),
    "20...39": Interval(20, 39),
    "20…39": Interval(20, 39),
    "20–39": Interval(20, 39),
    "20 to 39": Interval(20, 39),
    "20:39": Interval(20, 39),
    "20-20": Interval(20, 20),
    "20-<30": Interval(20, 30, "left"),
    "20 to <30": Interval(20, 30, "left"),
    "-5 – <30": Interval(-5, 30, "left"),
    "20 <= x < 30": Interval(20, 30, "left"),
    "20 < hours-per-week ≤ 30": Interval(20, 30, "right"),
    ">=20 and <30": Interval(20, 30, "left"),
    "> 20 and <= 30": Interval(20, 30, "right"),
    "(-inf, 30]": Interval(-math.inf, 30, "right"),
    "[40, ∞)": Interval(40, math.inf, "left"),
    "(-∞, 3.5)": Interval(-math.inf, 3.5, "neither"),
    "40-inf": Interval(40, math.inf, "left"),
    "< 45": Interval(-math.inf, 45, "neither"),
    "<45": Interval(-math.inf, 45, "neither"),
    "under 45": Interval(-math.inf, 45, "neither"),
    "<= 45": Interval(-math.inf, 45, "right"),
    "≤45": Interval(-math.inf, 45, "right"),
    "≥ 45": Interval(45, math.inf, "left"),
    ">= 40": Interval(40, math.inf, "left"),
    "At least 40": Interval(40, math.inf, "left"),
    "> 40": Interval(40, math.inf, "neither"),
    "over 40": Interval(40, math.inf, "neither"),
    "60+": Interval(60, math.inf, "left"),
    "2*": many(*range(20, 30)),
    "   3*": many(*range(30, 40)),
    "*7": many(17, 27, 37, 47, 57, 67, 77, 87),
    "2x": many(*range(20, 30)),
    "{40, 23}": many(23, 40),
    "{40}": many(40),
    "[40]": many(40),
    "[20, 30] | [40, 41]": many(*range(20, 31), 40, 41),
    "{40;23}": many(23, 40),
    "{20-22, 40}": many(20, 21, 22, 40),
    "{>=89}": many(89, 90),
    "{1*, 89-<91}": many(17, 18, 19, 89, 90),
    "20|30": many(20, 30),
    "20;30": many(20, 30),
    "20;30;40": many(20, 30, 40),
    "[20, 30, 40]": many(20, 30, 40),
    "20~30~40": many(20, 30, 40),
    "19,26,30": many(19, 26, 30),
    "['23-36']": Interval(23, 36),
    "['8,38']": Interval(8, 38),
    "frozenset({20, 30})": many(20, 30),
    "set([20, 30])": many(20, 30),
}

CATEGORIES: dict[str, Value] = {
    "a": Exact("a"),
    "  a": Exact("a"),
    "<=50K": Exact("<=50K"),
    "1st-4th": Exact("1st-4th"),
    "Smith, John": Exact("Smith, John"),
    "{a, b}": many("a", "b"),
    "{M,F}": many("M", "F"),
    "a~b~c": many("a", "b", "c"),
    "a~b": many("a", "b"),
    "[a~b]": many("a", "b"),
    "[a, b]": many("a", "b"),
    "['a,b']": many("a", "b"),
    "['a', 'b']": many("a", "b"),
    "['a' 'b']": many("a", "b"),
    '("a", "b")': many("a", "b"),
    "('a',)": Exact("a"),
    "['a']": Exact("a"),
    "{'a'}": many("a"),
    "frozenset({'a', 'b'})": many("a", "b"),
    "a;b": many("a", "b"),
    "a|b": many("a", "b"),
    "a,b": many("a", "b"),
    "{a, Smith, John}": many("a", "Smith, John"),
    "Smith, John, b": many("Smith, John", "b"),
    "['Smith, John']": Exact("Smith, John"),
    "{'Smith, John', 'a'}": many("Smith, John", "a"),
    "Bachel***": many("Bachelors"),
    "Bachel*": many("Bachelors"),
    "Bachel###": many("Bachelors"),
    "OTHER": Other(),
    "other": Other(),
    "Others": Other(),
}

SCHOOL_CELLS: dict[str, Value] = {
    "1st-4th": Exact("1st-4th"),
    "[10th, Some-college]": run("10th", "Some-college"),
    "[10th, Some-college)": run("10th", "HS-grad"),
    "[11th~Bachelors]": run("11th", "Bachelors"),
    "11th-Bachelors": run("11th", "Bachelors"),
    "1st-4th-9th": run("1st-4th", "9th"),
    "1st-4th to 9th": run("1st-4th", "9th"),
    ">= Masters": run("Masters", "Doctorate"),
    "< 9th": run("Preschool", "7th-8th"),
    "1st-4th-<9th": run("1st-4th", "7th-8th"),
    "9th <= education < 12th": run("9th", "11th"),
    "{9th, Masters}": many("9th", "Masters"),
    "['9th', 'Masters']": many("9th", "Masters"),
    "9th;Masters": many("9th", "Masters"),
    "9th~10th~Masters": many("9th", "10th", "Masters"),
    "9th~10th": run("9th", "10th"),  # adjacent: as a run or a set the same
    "1*th": many("10th", "11th", "12th"),
}

DATES: dict[str, Value] = {
    "13/02/1987": Exact(day("1987-02-13")),
    "1987-02-13": Exact(day("1987-02-13")),
    "1987-02-13 00:00:00": Exact(day("1987-02-13")),
    "1987/2/13": Exact(day("1987-02-13")),
    "13.02.1987": Exact(day("1987-02-13")),
    "02/1987": days("1987-02-01", "1987-02-28"),
    "1987-02": days("1987-02-01", "1987-02-28"),
    "Q1 1987": days("1987-01-01", "1987-03-31"),
    "1987-Q1": days("1987-01-01", "1987-03-31"),
    "1987": days("1987-01-01", "1987-12-31"),
    "1980s": days("1980-01-01", "1989-12-31"),
    "[1980, 1990[": days("1980-01-01", "1989-12-31"),
    "]1979, 1990[": days("1980-01-01", "1989-12-31"),
    "[1980, 1990]": days("1980-01-01", "1990-12-31"),
    "1980-1989": days("1980-01-01", "1989-12-31"),
    "1980,1989": days("1980-01-01", "1989-12-31"),
    "1980-<1990": days("1980-01-01", "1989-12-31"),
    "{1987-02-13 00:00:00}": many(day("1987-02-13")),
    "[1980-01-01, 1989-12-31]": days("1980-01-01", "1989-12-31"),
    "1980-01-01/1989-12-31": days("1980-01-01", "1989-12-31"),
    "1980-01-01 - 1989-12-31": days("1980-01-01", "1989-12-31"),
    "02/1980 - 05/1981": days("1980-02-01", "1981-05-31"),
    "01/03/1980 – 13/02/1987": days("1980-03-01", "1987-02-13"),
    "1986-Q1 to 1987-Q3": days("1986-01-01", "1987-09-30"),
    "198*": many(day("1987-02-13"), day("1985-03-01")),
    "1987*": many(day("1987-02-13")),
    "1987-**-**": many(day("1987-02-13")),
    "**/02/1987": many(day("1987-02-13")),
    "0*/19**": many(day("1987-02-13"), day("1985-03-01"), day("1979-05-05")),
    "****-**-**": Suppressed(),
    "{1985, 1987}": many(day("1987-02-13"), day("1985-03-01")),
    ">= 1987": Interval(date(1987, 1, 1).toordinal(), math.inf, "left", days=True),
    "1987+": Interval(date(1987, 1, 1).toordinal(), math.inf, "left", days=True),
    "> 1987": Interval(date(1988, 1, 1).toordinal(), math.inf, "left", days=True),
    "< 01/03/1985": Interval(-math.inf, date(1985, 2, 28).toordinal(), "right", days=True),
}


def printed(part: object) -> str:
    """A cell or what it means, the same in every process: a set is shown in order."""
    if isinstance(part, OneOf):
        return "one of " + ", ".join(sorted(map(repr, part.values)))
    return repr(part)


@pytest.mark.parametrize(("cell", "value"), NUMBERS.items(), ids=repr)
def test_a_number_column_reads(cell: object, value: Value) -> None:
    assert parse(cell, ages) == value


@pytest.mark.parametrize(("cell", "value"), CATEGORIES.items(), ids=printed)
def test_a_category_column_reads(cell: str, value: Value) -> None:
    assert parse(cell, letters) == value


@pytest.mark.parametrize(("cell", "value"), SCHOOL_CELLS.items(), ids=printed)
def test_an_ordered_column_reads(cell: str, value: Value) -> None:
    assert parse(cell, schools) == value


@pytest.mark.parametrize(("cell", "value"), DATES.items(), ids=repr)
def test_a_date_column_reads(cell: str, value: Value) -> None:
    assert parse(cell, born) == value


@pytest.mark.parametrize("reading", [ages, letters, schools, born], ids=lambda reading: reading.kind)
@pytest.mark.parametrize(
    "cell", ["*", "**", "*****", "++", "###", "?", "", "   ", None, math.nan, "NA", "N/A", "null", "nan", "None"]
)
def test_a_cell_that_says_nothing_is_suppressed(cell: object, reading: Reading) -> None:
    assert parse(cell, reading) == Suppressed()


def test_zip_codes_are_masked_from_the_right() -> None:
    assert parse("355**", zips) == many("35501", "35510")
    assert parse("355XX", zips) == many("35501", "35510")
    assert parse("355++", zips) == many("35501", "35510")
    assert parse("3*", zips) == many("35501", "35510", "35601")


@pytest.mark.parametrize(
    ("cell", "raws"),
    [
        ("22.*", {22, 22.5}),
        ("2*.*", {22, 22.5, 23, 23.5}),
        ("2***", {22, 22.5, 23, 23.5}),
        ("35.*", {35, 35.5}),
        ("**.0", {22, 23, 35}),
        ("2*", {22, 23}),
        ("{22.*, 35.0}", {22, 22.5, 35}),
    ],
)
def test_a_mask_among_decimals_hides_whole_numbers_as_floats_print_them(cell: str, raws: set[Raw]) -> None:
    assert parse(cell, Reading.of("number", [22.0, 22.5, 23.0, 23.5, 35.0, 35.5])) == many(*raws)
    with pytest.raises(Unreadable):
        parse("22.*", Reading.of("number", [22.0, 23.0]))


@pytest.mark.parametrize("kind", ["category", "ordered"])
def test_one_star_at_the_end_is_one_character_or_any_ending(kind: Kind) -> None:
    codes = ["13053", "13068", "14850", "1305"]
    undeclared, mask, prefix = (Reading.of(kind, codes, notation=name) for name in (None, "mask", "prefix"))
    for cell in ("130*", "{130*, 14850}"):
        with pytest.raises(Unreadable, match='ambiguous.* declare notation = "mask" or notation = "prefix"'):
            parse(cell, undeclared)
    assert parse("148*", undeclared) == many("14850")
    assert parse("130**", undeclared) == many("13053", "13068")
    assert parse("130*", mask) == many("1305")
    with pytest.raises(Unreadable, match="fits no raw value"):
        parse("148*", mask)
    assert parse("130*", prefix) == many("1305", "13053", "13068")
    assert parse("148*", prefix) == many("14850")


def test_one_star_hides_one_digit_of_an_age_even_among_centenarians() -> None:
    assert parse("1*", Reading.of("number", range(1, 110))) == many(*range(10, 20))
    anything = Reading.of("number", range(1, 110), notation="prefix")
    assert parse("1*", anything) == many(1, *range(10, 20), *range(100, 110))


@pytest.mark.parametrize("notation", [None, "interval", "bound", "mask"])
@pytest.mark.parametrize(
    ("cell", "why"),
    [
        ("2.000", "ambiguous: may be number '2' or dots between thousands '2000'"),
        ("1.000-2.000", "ambiguous: may be interval '[1, 2]' or dots between thousands '[1000, 2000]'"),
        ("1.000..2.000", "ambiguous"),
        (">= 2.000", "ambiguous"),
        ("{2.000, 1000}", "its element '2.000': ambiguous"),
        ("(1.999, 25000]", "ambiguous"),
        ("25.000", "fits the raw data only with dots between thousands '25000'"),
        ("1.400-1.600", "fits the raw data only with dots between thousands '[1400, 1600]'"),
    ],
)
def test_a_dot_before_three_digits_may_part_thousands(cell: str, why: str, notation: str | None) -> None:
    with pytest.raises(Unreadable) as refusal:
        parse(cell, Reading.of("number", [2, 1000, 1500, 2000, 25000], notation=notation))
    assert why in str(refusal.value)
    assert "print plain numbers" in str(refusal.value)


def test_a_dot_is_decimal_where_nothing_else_fits_or_the_column_says_so() -> None:
    raws = [2, 1000, 1500, 2000, 25000]
    assert parse("0.500-2.000", Reading.of("number", raws)) == Interval(0.5, 2)
    assert parse("(1.999, 25000.0]", Reading.of("number", raws)) == Interval(1.999, 25000, "right")
    assert parse("25.000", ages) == Exact(25)
    assert parse("17.500-30.500", ages) == Interval(17.5, 30.5)
    for decided in (Reading.of("number", raws, notation="number"), Reading.of("number", [*raws, 2.125])):
        assert parse("2.000", decided) == Exact(2)
        assert parse("1.000-2.000", decided) == Interval(1, 2)


@pytest.mark.parametrize("cell", ["", None, math.nan, "None", "nan", "NaN", "null", "<NA>", "n/a", " NaT "])
def test_a_word_for_missing_is_the_missing_value_where_that_was_kept(cell: object) -> None:
    for reading in (Reading.of("category", ["", "a"]), Reading("number", ("", 20, 30))):
        assert parse(cell, reading) == Exact("")
    assert parse("{None, a}", Reading.of("category", ["", "a"])) == many("", "a")
    assert parse("*", Reading.of("category", ["", "a"])) == Suppressed()


def test_a_word_for_missing_that_is_a_raw_value_is_that_value() -> None:
    reading = Reading.of("category", ["", "NA", "none"])
    assert parse("NA", reading) == Exact("NA")
    assert parse("nan", reading) == Exact("")
    with pytest.raises(Unreadable, match="did you mean 'none'"):
        parse("None", reading)


@pytest.mark.parametrize(
    ("cell", "reading", "why"),
    [
        ("15", ages, "no such number in the raw data; declare points = true"),
        ("−5", ages, "points = true"),
        ("1e3", ages, "points = true"),
        ("50,000", ages, "thousands"),
        ("100,200", ages, "thousands"),
        ("50,000-60,000", ages, "thousands"),
        ("1,000 to 2,000", ages, "thousands"),
        ("[1,000, 2,000]", amounts, "thousands"),
        ("{1,000}", amounts, "thousands"),
        ("1,000-2,000", amounts, "thousands"),
        ("1,5-2,5", amounts, "its element '5-2'"),
        ("[1,5-20,5]", amounts, "its element '5-20': a range between commas"),
        ("(40)", ages, "neither a number"),
        ("$20", ages, "neither a number"),
        ("20 years", ages, "neither a number"),
        ("np.int64(25)", ages, "print a number, a range such as [20, 30), a bound such as >= 20, a set, a mask, or *;"),
        (">=20, <30", ages, "neither a number"),
        (">=20 and >=30", ages, "neither a number"),
        ("30-<20", ages, "low end lies above"),
        ("+25", ages, 'declare notation = "number" or notation = "bound"'),
        ("{+25, 30}", ages, 'declare notation = "number" or notation = "bound"'),
        ("[+20, 30, 40]", ages, "its element '+20': ambiguous"),
        ("+-5", ages, "neither a number"),
        (">=20;<30", ages, "its element '>=20': ambiguous: a bound beside others"),
        ("{>=20, <30}", ages, "print a range: [20, 30)"),
        (">=20|<30", ages, "ambiguous: a bound beside others"),
        ("['>=20', '<30']", ages, "ambiguous: a bound beside others"),
        ("{1*, >=89}", ages, "ambiguous: a bound beside others"),
        ("20,30,40+", ages, "ambiguous: a bound beside others"),
        ("4+,5+,6+", ages, 'declare notation = "mask" or notation = "bound"'),
        ("{>= 9th, < Masters}", schools, "ambiguous: a bound beside others"),
        (">=1980;<1986", born, "ambiguous: a bound beside others"),
        ("{17: 20, 18: 25}", ages, "its element '17: 20': ambiguous: may be a range, or a value and its count"),
        ("{17:20}", ages, "a value and its count"),
        ("17:20;18:25", ages, "a value and its count"),
        ("[20", ages, "neither a number"),
        ("20-", ages, "neither a number"),
        ("20-30-40", ages, "neither a number"),
        ("[30, 20]", ages, "low end lies above"),
        ("26,19", ages, "low end lies above"),
        ("[20, 20)", ages, "holds no value"),
        ("4+", ages, 'declare notation = "bound" or notation = "mask"'),
        ("9*9", ages, "a mask that fits no raw value"),
        ("{20, 99}", ages, "its element '99': no such number"),
        ("{200-300}", ages, "its element '200-300' covers no raw value"),
        ("set()", ages, "an empty set covers nobody"),
        ("[]", ages, "an empty set covers nobody"),
        ("OTHER", ages, "neither a number"),
        ("1" * 5000, ages, "neither a number"),
        ("1e999", ages, "neither a number"),
        ("Bachelor", letters, "did you mean 'Bachelors'? declare a hierarchy"),
        ("<=50k", letters, "did you mean '<=50K'?"),
        ("m", letters, "did you mean 'M'?"),
        ("{a, z}", letters, "its element 'z': neither a raw value"),
        ("a-b", letters, "neither a raw value"),
        ("{}", letters, "an empty set covers nobody"),
        ("{''}", letters, "its element ''"),
        ("zzz*", letters, "a mask that fits no raw value"),
        ("x", letters, "neither a raw value"),
        ("11th~Bachelors", schools, 'declare notation = "run" or notation = "set"'),
        ("11th,Bachelors", schools, 'declare notation = "run" or notation = "set"'),
        ("[Bachelors, 11th]", schools, "low end lies above"),
        ("1987-02-14", born, "no such date in the raw data"),
        ("1980-89", born, "neither a date"),
        ("31/02/1987", born, "neither a date"),
        ("0000", born, "neither a date"),
        ("> 9999", born, "leaves the calendar"),
        ("[1990, 1980]", born, "low end lies above"),
    ],
    ids=lambda part: repr(part)[:24] if isinstance(part, str) else part.kind,
)
def test_what_cannot_be_read_for_certain_is_refused(cell: str, reading: Reading, why: str) -> None:
    with pytest.raises(Unreadable) as refusal:
        parse(cell, reading)
    assert why in str(refusal.value)


def test_a_released_mean_is_read_where_points_are_declared() -> None:
    means = Reading.of("number", range(17, 91), points=True)
    assert parse("33.5", means) == Exact(33.5)
    assert parse("{33.5, 101}", means) == many(33.5, 101)


def test_the_raw_domain_comes_before_every_notation() -> None:
    odd = ["?", "*", "NA", "", "26-50", "$10-19", "[20, 30]", "a,b", "other", "< 45"]
    reading = Reading.of("category", odd)
    assert [parse(text, reading) for text in odd] == [Exact(text) for text in odd]
    assert parse(None, reading) == Exact("")


def test_a_node_comes_after_the_domain_and_before_every_notation() -> None:
    nodes = {"20-29": ["20", "21"], "young": ["17", "18"], "17": ["18"], "*": ["17", "18", "20", "21"]}
    reading = Reading.of("number", range(17, 30), nodes=nodes)
    assert parse("20-29", reading) == many(20, 21)
    assert parse(" young ", reading) == many(17, 18)
    assert parse("{young, 25}", reading) == many(17, 18, 25)
    assert parse("17", reading) == Exact(17)
    assert parse("*", reading) == Suppressed()


def test_a_leaf_of_the_hierarchy_is_a_raw_value_even_if_the_data_lack_it() -> None:
    reading = Reading.of("category", ["France"], nodes={"Europe": ["France", "Hungary"]})
    assert parse("Hungary", reading) == Exact("Hungary")
    assert not parse("Hungary", reading).covers("France")


def test_a_word_like_a_raw_value_in_another_case_is_not_taken_for_nothing() -> None:
    reading = Reading.of("category", ["none", "Other", "a"])
    for cell in ("None", "OTHER"):
        with pytest.raises(Unreadable, match="did you mean"):
            parse(cell, reading)


def test_an_ambiguous_split_is_refused_and_quotes_decide_it() -> None:
    reading = Reading.of("category", ["a", "b", "a,b"])
    assert parse("a,b", reading) == Exact("a,b")
    with pytest.raises(Unreadable, match="several ways"):
        parse("{a,b}", reading)
    assert parse("{'a,b'}", reading) == many("a,b")
    assert parse("{'a', 'b'}", reading) == many("a", "b")


@pytest.mark.parametrize(
    ("kind", "notation", "cell", "value"),
    [
        ("number", "bound", "4+", Interval(4, math.inf, "left")),
        ("number", "bound", "+65", Interval(65, math.inf, "left")),
        ("number", "number", "+65", Exact(65)),
        ("number", "number", "{+65, +70}", many(65, 70)),
        ("number", "mask", "{4+, 50}", many(*range(40, 51))),
        ("number", "mask", "4+", many(*range(40, 50))),
        ("number", "mask", "60+", Interval(60, math.inf, "left")),
        ("number", "set", "19,26", many(19, 26)),
        ("number", "set", "[20, 30]", many(20, 30)),
        ("number", "set", "23~33", many(23, 33)),
        ("number", "set", "20-30", Interval(20, 30)),
        ("number", "interval", "99,100", Interval(99, 100)),
        ("ordered", "run", "11th~Bachelors", run("11th", "Bachelors")),
        ("ordered", "set", "11th~Bachelors", many("11th", "Bachelors")),
        ("ordered", "set", "[11th, Bachelors]", many("11th", "Bachelors")),
        ("ordered", "run", "['11th,Bachelors']", run("11th", "Bachelors")),
        ("ordered", "set", "['11th,Bachelors']", many("11th", "Bachelors")),
    ],
)
def test_a_declared_notation_decides(kind: Kind, notation: str, cell: str, value: Value) -> None:
    texts = SCHOOLS if kind == "ordered" else list(range(17, 91))
    assert parse(cell, Reading.of(kind, texts, notation=notation)) == value


@pytest.mark.parametrize("cell", ["[20, 40]", "[20, 40)", "20-40", "20,40", "20~40", "['20-40']"])
def test_declared_ends_override_the_brackets(cell: str) -> None:
    reading = Reading.of("number", range(17, 91), closed="left")
    assert parse(cell, reading) == Interval(20, 40, "left")
    assert parse("<= 40", reading) == Interval(-math.inf, 40, "right")


@pytest.mark.parametrize(
    ("kind", "options", "hint"),
    [
        ("number", {"notation": "intervall"}, "did you mean 'interval'?"),
        ("category", {"notation": "run"}, "known: mask, prefix, set"),
        ("number", {"notation": "%d/%m/%Y"}, "unknown notation"),
        ("date", {"notation": "sets"}, "or a date pattern"),
        ("date", {"notation": "%d/%m"}, "names no year"),
        ("date", {"notation": "%Q"}, "no pattern for dates"),
        ("date", {"notation": "%Y-%d-%m"}, "another day than ISO 8601"),
        ("number", {"closed": "lefts"}, "did you mean 'left'?"),
        ("numbers", {}, "did you mean 'number'?"),
    ],
)
def test_a_wrong_declaration_is_refused_when_it_is_made(kind: Any, options: dict[str, Any], hint: str) -> None:
    with pytest.raises(InputError) as refusal:
        Reading(kind, (), **options)
    assert hint in str(refusal.value)


def test_all_dates_together_decide_whether_the_day_comes_first() -> None:
    assert born.notation == "%d/%m/%Y"
    assert parse("03/02/1987", Reading.of("date", ["03/02/1987", "13/02/1987"])) == Exact(day("1987-02-03"))
    assert parse("03/02/1987", Reading.of("date", ["03/02/1987", "02/13/1987"])) == Exact(day("1987-03-02"))
    assert date_order(["1987-02-13", "05/05/1987"]) is None
    with pytest.raises(InputError, match="ambiguous: may be day/month/year"):
        Reading.of("date", ["03/02/1987", "04/05/1988"])
    with pytest.raises(InputError, match="others only month/day/year"):
        Reading.of("date", ["13/02/1987", "02/13/1987"])


def test_a_pattern_decides_whether_the_day_comes_first() -> None:
    american = Reading.of("date", ["03/02/1987", "04/05/1988"], notation="%m/%d/%Y")
    assert parse("03/02/1987", american) == Exact(day("1987-03-02"))
    assert parse("[03/02/1987, 04/05/1988]", american) == days("1987-03-02", "1988-04-05")
    with pytest.raises(Unreadable, match="neither a date"):
        parse("13/02/1987", Reading.of("date", ["02/13/1987"], notation="%m/%d/%Y"))
    short = Reading.of("date", ["13.2.87"], notation="%d.%m.%y")
    assert parse("13.2.87", short) == Exact(day("1987-02-13"))
    monthly = Reading.of("date", ["Feb 1987"], notation="%b %Y")
    assert parse("Feb 1987", monthly) == Exact(Span(day("1987-02-01").first, day("1987-02-28").last))
    assert parse("1987", monthly).covers(monthly.domain[0])


def test_without_a_decision_only_the_domain_can_tell_day_from_month() -> None:
    undecided = Reading("date", (day("1987-02-03"),))
    assert parse("03/02/1987", undecided) == Exact(day("1987-02-03"))
    both = Reading("date", (day("1987-02-03"), day("1987-03-02")))
    with pytest.raises(Unreadable, match='declare notation = "%d/%m/%Y" or notation = "%m/%d/%Y"'):
        parse("03/02/1987", both)
    with pytest.raises(Unreadable, match="day/month/year or month/day/year"):
        parse("[03/02/1987, 1990]", both)
    with pytest.raises(Unreadable, match="ambiguous"):
        parse("03/02/1987", Reading("date", (day("2000-01-01"),), points=True))
    iso = Reading.of("date", ["1987-02-03", "1987-03-02"], notation="%Y-%m-%d")
    with pytest.raises(Unreadable, match="ambiguous"):
        parse("03/02/1987", iso)


def test_a_reading_that_covers_nobody_gives_way_to_one_that_does() -> None:
    """`1980-01-1989` runs from January 1980 through 1989, or from 1980 to January 1989."""
    late = Reading.of("date", ["1989-05-05"])
    assert parse("1980-01-1989", late) == days("1980-01-01", "1989-12-31")
    both = Reading.of("date", ["1989-05-05", "1985-05-05"])
    with pytest.raises(Unreadable, match="ambiguous"):
        parse("1980-01-1989", both)


def test_a_period_is_covered_only_by_what_holds_all_of_it() -> None:
    reading = Reading.of("date", ["1987", "1987-02", "1987-02-13"])
    year, month, single = (reading.raw(text) for text in ("1987", "1987-02", "1987-02-13"))
    assert [parse("1987-02", reading).covers(raw) for raw in (year, month, single)] == [False, True, True]
    assert [parse("{1987-02-13}", reading).covers(raw) for raw in (year, month, single)] == [False, False, True]
    assert [parse("[1980, 1987]", reading).covers(raw) for raw in (year, month, single)] == [True] * 3


def test_a_range_covers_both_of_its_ends_unless_it_says_otherwise() -> None:
    ends = (20, 30)
    assert [parse("20-30", ages).covers(end) for end in ends] == [True, True]
    assert [parse("[20, 30)", ages).covers(end) for end in ends] == [True, False]
    assert [parse("]20, 30]", ages).covers(end) for end in ends] == [False, True]
    assert [parse("(20, 30)", ages).covers(end) for end in ends] == [False, False]
    assert not parse("20-30", ages).covers("25")


def test_other_covers_what_is_not_printed_beside_it() -> None:
    values = [parse(cell, letters) for cell in ("a", "OTHER", "{b, c}", "*")]
    resolved = resolve_other(values, letters)
    assert resolved[1] == OneOf(frozenset(letters.domain) - {"a"})
    assert [resolved[0], *resolved[2:]] == [values[0], *values[2:]]


def test_other_says_nothing_when_every_value_is_printed() -> None:
    reading = Reading.of("category", ["a", "b"])
    assert resolve_other([Exact("a"), Exact("b"), Other()], reading)[2] == Suppressed()


def test_raw_cells_are_typed() -> None:
    number = Reading("number", ())
    assert [number.raw(text) for text in ("25", "25.0", " 2.50 ", 25, 2.5, "1e3")] == [25, 25, 2.5, 25, 2.5, 1000]
    assert isinstance(number.raw("25.0"), int)
    assert number.raw("12345678901234567891") == 12345678901234567891
    category = Reading("category", ())
    assert [category.raw(cell) for cell in (" a ", 7, 7.0, None, math.nan)] == ["a", "7", "7", "", ""]
    for text in ("", "abc", "50,000", "inf", "nan"):
        with pytest.raises(Unreadable, match="not a number"):
            number.raw(text)
    with pytest.raises(Unreadable, match="not a date"):
        Reading("date", ()).raw("yesterday")


def test_a_whole_float_finds_the_category_it_was_printed_from() -> None:
    assert parse(35501.0, zips) == Exact("35501")
    assert parse(35501, zips) == Exact("35501")


def test_a_kept_missing_value_stands_outside_the_order() -> None:
    reading = Reading("ordered", ("", *SCHOOLS))
    assert parse("<= 9th", reading) == run("Preschool", "9th")
    for cell in ("nonsense", "-9th", "nonsense+"):
        with pytest.raises(Unreadable):
            parse(cell, reading)
    assert parse("", reading) == Exact("")


def test_an_error_quotes_little_of_a_long_cell() -> None:
    with pytest.raises(Unreadable) as refusal:
        parse("z" * 5000, letters)
    assert len(str(refusal.value)) < 300
    with pytest.raises(Unreadable, match="longer than 100,000"):
        parse("z" * 100_001, letters)


def test_an_error_is_the_same_after_pickling() -> None:
    with pytest.raises(Unreadable) as refusal:
        parse("Bachelor", letters)
    copy = pickle.loads(pickle.dumps(refusal.value))  # noqa: S301
    assert (str(copy), copy.text, copy.why, copy.remedy) == (
        str(refusal.value),
        refusal.value.text,
        refusal.value.why,
        refusal.value.remedy,
    )


def test_a_reading_travels_without_its_tables() -> None:
    parse("25", ages)
    copy = pickle.loads(pickle.dumps(ages))  # noqa: S301
    assert "known" not in vars(copy)
    assert copy.domain == ages.domain
    assert parse("2*", copy) == parse("2*", ages)


HOSTILE = [
    "[" * 90_000,
    "{" + "a," * 45_000 + "a}",
    "{" + ",".join(map(str, range(15_000))) + "}",
    "{" + ",".join(f"{i}-{i}" for i in range(8_000)) + "}",
    "'" * 90_000,
    "['" + "\\" * 90_000,
    "['" + "a\\'" * 30_000,
    "['" * 45_000 + "']" * 5_000,
    "-" * 90_000,
    "1-" * 45_000,
    "9" * 90_000,
    "<" + " " * 90_000,
    "*" * 80_000 + "a",
    "+" * 80_000 + "a",
    "1" + "+" * 90_000,
    "a" + " to " * 20_000,
    "frozenset(" * 9_000 + ")" * 9_000,
    "11th~" * 18_000,
    "\x00" * 90_000,
]


@pytest.mark.parametrize("reading", [ages, letters, schools, born], ids=lambda reading: reading.kind)
@pytest.mark.parametrize("cell", HOSTILE, ids=lambda cell: repr(cell[:8]))
def test_a_hostile_cell_costs_little_time(cell: str, reading: Reading) -> None:
    start = time.process_time()
    with contextlib.suppress(Unreadable):
        parse(cell, reading)
    assert time.process_time() - start < 1


def test_a_mask_of_many_days_costs_little_time() -> None:
    start = date(1950, 1, 1).toordinal()
    reading = Reading("date", tuple(Span(start + i, start + i) for i in range(15_000)))
    before = time.process_time()
    value = parse("198*", reading)
    assert sum(map(value.covers, reading.domain)) == 3653
    assert time.process_time() - before < 1


@given(st.text(max_size=40) | st.text(alphabet="0123456789-,;~*+[](){}'\" .ab", max_size=20))
def test_any_text_is_a_value_or_unreadable(text: str) -> None:
    for reading in (ages, letters, schools, born):
        try:
            value = parse(text, reading)
        except Unreadable:
            continue
        assert isinstance(value, Exact | Interval | OneOf | Other | Suppressed)
        assert parse(show(value), reading) == value


numbers = st.integers(-1000, 1000) | st.floats(-1e6, 1e6, allow_nan=False)
categories = st.text(min_size=1, max_size=8).map(str.strip).filter(lambda text: text not in ("*", "OTHER"))
periods = st.tuples(
    st.sampled_from(["{0:04}", "{0:04}-{1:02}", "{0:04}-{1:02}-{2:02}", "{0:04}-Q2", "{3:03}0s"]),
    st.dates(),
).map(lambda pair: pair[0].format(pair[1].year, pair[1].month, pair[1].day, pair[1].year // 10))
kinds: st.SearchStrategy[Kind] = st.sampled_from(["number", "category", "ordered", "date"])
closings: st.SearchStrategy[Closed] = st.sampled_from(["both", "left", "right", "neither"])


def _interval(draw: st.DrawFn, ends: st.SearchStrategy[float], *, days: bool) -> Interval:
    endless = st.sampled_from([-math.inf, math.inf])
    low, high = sorted((draw(ends | endless), draw(ends | endless)))
    try:
        return Interval(low, high, draw(closings), days)
    except ValueError:
        assume(False)
        raise


@st.composite
def readings_and_values(draw: st.DrawFn) -> tuple[Reading, Value]:
    kind = draw(kinds)
    texts = {"number": numbers, "date": periods}.get(kind, categories)
    raws = draw(st.lists(texts, min_size=1, max_size=6, unique=True))
    try:
        reading = Reading.of(kind, raws)
    except InputError:
        assume(False)  # the decade 0000s lies before the calendar
        raise
    inside = st.sampled_from(reading.domain)
    options: list[st.SearchStrategy[Value]] = [
        inside.map(Exact),
        st.frozensets(inside, min_size=1).map(OneOf),
        st.just(Suppressed()),
    ]
    if kind in ("category", "ordered"):
        if not any(str(raw).casefold() in ("other", "others") for raw in reading.domain):
            options.append(st.just(Other()))
    elif kind == "number":
        options.append(st.just(_interval(draw, numbers, days=False)))
    else:
        options.append(st.just(_interval(draw, st.dates().map(date.toordinal), days=True)))
    return reading, draw(st.one_of(options))


@given(readings_and_values())
def test_a_shown_value_reads_as_the_same_value(pair: tuple[Reading, Value]) -> None:
    reading, value = pair
    again = parse(show(value), reading)
    assert again == value
    assert [again.covers(raw) for raw in reading.domain] == [value.covers(raw) for raw in reading.domain]


@given(st.lists(st.integers(0, 9999), min_size=1, max_size=30, unique=True), st.data())
def test_a_mask_covers_exactly_the_numbers_that_agree_where_it_shows_them(raws: list[int], data: st.DataObject) -> None:
    reading = Reading.of("number", raws)
    chosen = str(data.draw(st.sampled_from(raws)))
    hidden = data.draw(st.lists(st.booleans(), min_size=len(chosen), max_size=len(chosen)))
    assume(any(hidden) and not all(hidden))
    mask = "".join("*" if hide else sign for sign, hide in zip(chosen, hidden, strict=True))
    value = parse(mask, reading)
    for raw in raws:
        text = str(raw)
        agrees = len(text) == len(mask) and all(m in ("*", t) for m, t in zip(mask, text, strict=True))
        assert value.covers(raw) == agrees


@given(st.integers(-50, 50), st.integers(0, 50), closings, st.integers(-120, 120))
def test_an_interval_covers_what_lies_between_its_ends(low: int, width: int, closed: Closed, raw: int) -> None:
    assume(width or closed == "both")
    high = low + width
    inside = low < raw < high
    on_end = (raw == low and closed in ("both", "left")) or (raw == high and closed in ("both", "right"))
    assert Interval(low, high, closed).covers(raw) == (inside or on_end)


@pytest.mark.parametrize(("low", "high", "closed"), [(2, 1, "both"), (1, 1, "left"), (math.nan, 1, "both")])
def test_an_interval_without_any_value_cannot_be_made(low: float, high: float, closed: Closed) -> None:
    with pytest.raises(ValueError, match=r"end|no value"):
        Interval(low, high, closed)
