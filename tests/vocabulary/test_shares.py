"""Cells that print the shares of their class: written and read again, refused where they make no sense."""

import time

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import ReleaseError
from harness.vocabulary.release import SHARES_ARE_SHOWN, Reader
from harness.vocabulary.schema import Schema
from harness.vocabulary.table import Table
from harness.vocabulary.values import Raw, Reading, Unreadable, parse
from harness.vocabulary.values.shares import show_with_shares, split_shares

ANIMALS = Reading.of("category", ["cat", "dog", "lion"], nodes={"mammals": ["cat", "dog", "lion"]})


@settings(max_examples=100, deadline=None)
@given(counts=st.dictionaries(st.text(max_size=8).map(str.strip), st.integers(1, 99), min_size=1, max_size=5))
def test_what_is_written_is_read_again_whatever_the_values_are(counts: dict[Raw, int]) -> None:
    reading = Reading("category", tuple(counts))
    cell = show_with_shares("{'a', 'b'} {x", counts)
    found = split_shares(cell, reading)
    assert found is not None
    assert found[0] == "{'a', 'b'} {x"
    assert dict(found[1].counts) == counts
    assert found[1].rows == sum(counts.values())


@pytest.mark.parametrize(
    ("reading", "cell"),
    [
        (ANIMALS, 'mammals {"cat": 1/3, "lion": 2/3}'),
        (ANIMALS, '* {"cat": 1/1}'),
        (Reading.of("number", ["20", "30"]), '[20, 30] {"20": 1/3, "30": 2/3}'),
        (Reading.of("number", ["20", "30"]), '20 {"20": 3/3}'),
        (Reading.of("ordered", ["low", "high"]), 'low {"low": 1/1}'),
        (Reading.of("date", ["1980-01-01", "1990-01-01"]), '[1980-01-01, 1990-01-01] {"1980-01-01": 1/1}'),
    ],
)
def test_a_reader_that_does_not_know_shares_refuses_the_cell(reading: Reading, cell: str) -> None:
    """`parse` knows no shares: it is how clients before this notation read a cell."""
    with pytest.raises(Unreadable):
        parse(cell, reading)


def test_the_share_of_several_values_is_their_rows_by_all_rows() -> None:
    found = split_shares('mammals {"cat": 1/3, "lion": 2/3}', ANIMALS)
    assert found is not None
    assert found[1].of(frozenset({"cat", "dog"})) == 1 / 3


@pytest.mark.parametrize(
    "plain", ["mammals", "{'cat', 'dog'}", "", "cat {", '{"cat"}', 'x {"cat": 1/3', 'x {"cat": a}']
)
def test_other_cells_have_no_shares(plain: str) -> None:
    assert split_shares(plain, ANIMALS) is None


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ('mammals {"cat": 1/3, "dog": 1/3}', "do not add up to 1"),
        ('mammals {"cat": 1/2, "dog": 2/4}', "do not add up to 1"),
        ('mammals {"cat": 0/1, "dog": 1/1}', "do not add up to 1"),
        ('mammals {"cat": 1/2, "cat": 1/2}', "twice"),
        ('mammals {"cow": 1/1}', "no raw value of the column"),
        ('mammals {"mammals": 1/1}', "no raw value of the column"),
        ('mammals {"\\q": 1/1}', "no raw value of the column"),
    ],
)
def test_shares_that_make_no_sense_are_refused(cell: str, message: str) -> None:
    with pytest.raises(Unreadable, match=message):
        split_shares(cell, ANIMALS)


def release_of(cells: list[str]) -> tuple[Reader, Table]:
    frame = pd.DataFrame({"age": [20, 25, 30], "s": list("xyx")})
    reader = Reader(Dataset.from_frame(frame, Schema({"age": "number"}, "s")))
    return reader, Table.from_frame(frame.assign(age=cells))


def test_a_release_with_shares_is_read_as_the_plain_table_and_says_so() -> None:
    reader, shared = release_of(['[20, 30] {"20": 1/2, "30": 1/2}', "25", '[20, 30] {"20": 1/2, "30": 1/2}'])
    _, plain = release_of(["[20, 30]", "25", "[20, 30]"])
    one, other = reader.read(shared), reader.read(plain)
    values = [reader.lexicons[0].value(int(number)) for number in one.quasi[0].ids]
    assert values == [reader.lexicons[0].value(int(number)) for number in other.quasi[0].ids]
    assert SHARES_ARE_SHOWN in one.notes


def test_a_value_of_the_data_that_looks_like_shares_is_the_value() -> None:
    odd = 'x {"a": 1/1}'
    frame = pd.DataFrame({"q": [odd, "a"], "s": list("xy")})
    reader = Reader(Dataset.from_frame(frame, Schema({"q": "category"}, "s")))
    column = reader.read(Table.from_frame(frame)).quasi[0]
    assert reader.lexicons[0].shares(int(column.ids[0])) is None


def test_wrong_shares_name_column_and_row() -> None:
    reader, release = release_of(["25", '[20, 30] {"20": 1/2}', "25"])
    with pytest.raises(ReleaseError, match=r"column 'age', row 1 of the release: .*do not add up to 1"):
        reader.read(release)


def test_hostile_shares_are_refused_in_no_time() -> None:
    """A hundred thousand characters that begin as shares do, and never end as they should."""
    reading = Reading("category", ("a",))
    start = time.process_time()
    for hostile in ('x {"' + "\\" * 99_000 + "}", " {" * 50_000 + '"}', 'x {"' + 'a": 1/2 "' * 9_000 + "}"):
        assert split_shares(hostile, reading) is None
    with pytest.raises(Unreadable, match="twice"):
        split_shares("x {" + '"a": 1/9000, ' * 9_000 + "}", reading)
    assert time.process_time() - start < 1
