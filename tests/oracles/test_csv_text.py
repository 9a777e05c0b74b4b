"""CSV there and back: every cell as it was, whatever the vendor's dialect; what is no CSV is told."""

import csv
import io
from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from harness.vocabulary.errors import ReleaseError
from harness.vocabulary.table import Table
from harness.vocabulary.values.atoms import cell_text
from oracles.untrusted import quoted
from oracles.wire.csv_text import MARKS, MOST_ROWS, from_csv, to_csv

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
CELLS = st.one_of(st.none(), TEXTS)
TABLES = st.integers(1, 4).flatmap(
    lambda columns: st.lists(st.lists(CELLS, min_size=columns + 1, max_size=columns + 1), min_size=1, max_size=12)
)


Rows = Sequence[Sequence[str | None]]


def table_of(rows: Rows) -> Table:
    names = [f"column {n}" for n in range(len(rows[0]))]
    return Table.from_frame(pd.DataFrame(rows, columns=names, dtype=object))


def texts(table: Table) -> list[list[str]]:
    return [[cell_text(cell) for cell in cells.values().tolist()] for cells in table.columns]


@given(TABLES, st.sampled_from(MARKS))
def test_every_cell_survives_the_way_there_and_back(rows: Rows, mark: str) -> None:
    table = table_of(rows)
    assert texts(from_csv(to_csv(table, mark), table.names)) == texts(table)


@given(TABLES)
def test_any_csv_reader_reads_what_is_written(rows: Rows) -> None:
    table = table_of(rows)
    read = list(csv.reader(io.StringIO(to_csv(table).decode(), newline="")))
    assert read[0] == list(table.names)
    assert read[1:] == [list(row) for row in zip(*texts(table), strict=True)]


@given(TABLES, st.sampled_from(MARKS), st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans())
def test_every_usual_dialect_is_read(rows: Rows, mark: str, end: str, bom: bool, all_quoted: bool) -> None:
    bare = not all_quoted and any("\r" in (cell or "") for row in rows for cell in row)
    assume(not bare)  # Python's own writer prints a lone \r without quotes, which nobody can read back
    table = table_of(rows)
    out = io.StringIO(newline="")
    quoting: Literal[0, 1] = csv.QUOTE_ALL if all_quoted else csv.QUOTE_MINIMAL
    writer = csv.writer(out, delimiter=mark, lineterminator=end, quoting=quoting)
    writer.writerows([table.names, *zip(*texts(table), strict=True)])
    reply = out.getvalue().encode("utf-8-sig" if bom else "utf-8")
    assert texts(from_csv(reply, table.names)) == texts(table)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_numbers_are_printed_exactly(numbers: list[float]) -> None:
    table = Table.from_frame(pd.DataFrame({"x": numbers, "y": 1}))
    read = from_csv(to_csv(table), ["x", "y"]).column("x").values()
    assert [float(text) for text in read] == numbers


def test_missing_cells_are_empty_both_ways_and_no_palette_entry() -> None:
    table = Table.from_frame(pd.DataFrame({"a": [1, None, 3], "b": ["x", "y", None]}))
    assert to_csv(table) == b"a,b\n1,x\n,y\n3,\n"
    read = from_csv(to_csv(table), ["a", "b"])
    assert read.column("a").palette.tolist() == ["1", "3"]
    assert read.column("a").codes.tolist() == [0, -1, 1]
    assert read.column("b").codes.tolist() == [0, 1, -1]


def test_cells_are_kept_as_printed() -> None:
    (cells, _) = from_csv(b"age,x\n 007 ,1\n1.50,1\nNA,1\nTrue,1\n", ["age"]).columns
    assert cells.palette.tolist() == [" 007 ", "1.50", "NA", "True"]


def test_a_reply_in_several_blocks_is_one_table() -> None:
    rows = np.arange(25_000) % 7
    reply = "a,b\n" + "".join(f"{row},x\n" for row in rows)
    read = from_csv(reply.encode(), ["a", "b"])
    assert read.column("a").values().tolist() == [str(row) for row in rows]


def test_the_delimiter_is_the_one_that_finds_the_expected_names() -> None:
    read = from_csv(b"name, first;age\nx, y;1\n", ["age"])
    assert read.names == ("name, first", "age")


def test_a_given_delimiter_is_used() -> None:
    assert from_csv(b"a:b\n1:2\n", ["a"], delimiter=":").names == ("a", "b")


def test_a_header_alone_is_a_release_without_rows() -> None:
    assert from_csv(b"a,b\n", ["a", "b"]).rows == 0


@pytest.mark.parametrize(
    ("reply", "complaint"),
    [
        (b"", "empty"),
        (b" \n\n", "empty"),
        (b"a,b\n1\n", "row 0 of the reply has 1 cells, its header has 2"),
        (b'a,b\n"1,2\n', "not CSV"),
        (b'a,b\n"1"x,2\n', "line 2 of the reply is not CSV"),
        (b"a,a\n1,2\n", "twice"),
        (b"a,b\n\xc3\x28,1\n", "not UTF-8"),
        ("a,b\n1,2\n".encode("utf-16"), "not UTF-8|expected a header"),
        (b"a," + b"x" * 2_000_000, "line of more than"),
        (b"a,b\n" + b"x" * 200_000 + b",1\n", "field larger"),
        (b"PK\x03\x04zip", r"found 'PK\\x03\\x04zip'"),
    ],
)
def test_what_is_no_csv_is_told(reply: bytes, complaint: str) -> None:
    with pytest.raises(ReleaseError, match=complaint):
        from_csv(reply, ["a", "b"])


def test_more_rows_than_anybody_needs_are_refused() -> None:
    assert MOST_ROWS > 10**6
    with pytest.raises(ReleaseError, match="more than 10 rows"):
        from_csv(b"a,b\n" + b"1,2\n" * 11, ["a", "b"], most=10)


@given(st.one_of(st.text(), st.binary()), st.integers(10, 200))
def test_a_quoted_text_is_short_and_printable(text: str | bytes, most: int) -> None:
    shown = quoted(text, most)
    assert shown.isprintable()
    assert len(shown) <= 10 * most + 3


@given(st.binary(max_size=60))
def test_no_bytes_do_more_than_raise_a_release_error(reply: bytes) -> None:
    try:
        from_csv(b"a,b\n" + reply, ["a", "b"])
        from_csv(reply, ["a", "b"])
    except ReleaseError:
        pass
