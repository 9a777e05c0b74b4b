"""Rows of the data are named as whoever opens the source finds them."""

from pathlib import Path

import pandas as pd
import pytest

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError
from harness.vocabulary.schema import Schema

SCHEMA = Schema({"age": "number", "note": "category"}, "ill")


def from_csv(folder: Path, text: str, **options: object) -> Dataset:
    path = folder / "people.csv"
    path.write_bytes(text.encode())
    return Dataset.from_csv(path, SCHEMA, **options)  # type: ignore[arg-type]


def names(data: Dataset) -> list[object]:
    return [data.row(index) for index in range(data.size)]


def test_rows_of_a_csv_file_are_its_lines(tmp_path: Path) -> None:
    data = from_csv(tmp_path, "age,note,ill\n30,a,flu\n31,b,ulcer\n")
    assert names(data) == [2, 3]
    assert data.source.kind.in_source([3]) == "line 3 of people.csv"


def test_dropped_rows_empty_lines_and_line_breaks_in_cells_do_not_shift_the_lines(tmp_path: Path) -> None:
    text = 'age,note,ill\r\n30,"two\r\nlines",flu\r\n,b,flu\r\n\r\n32,"c ""x"", y",ulcer\r\n33,d,flu\r\n\r\n'
    data = from_csv(tmp_path, text, missing="drop")
    lines = (tmp_path / "people.csv").read_bytes().decode().split("\r\n")
    assert names(data) == [2, 6, 7]
    assert [lines[line - 1] for line in (6, 7)] == ['32,"c ""x"", y",ulcer', "33,d,flu"]


def test_an_error_about_a_record_names_its_line_also_when_rows_were_dropped(tmp_path: Path) -> None:
    schema = Schema({"born": "date"}, "ill")
    path = tmp_path / "people.csv"
    path.write_text("born,ill\n,flu\n1990-01-01,flu\nsoon,ulcer\n")
    with pytest.raises(InputError, match=r"people.csv: column 'born': line 4: .*not a date"):
        Dataset.from_csv(path, schema, "drop")


def test_rows_of_a_frame_are_the_labels_of_its_index() -> None:
    frame = pd.DataFrame({"age": [30, None, 32], "note": ["a", "b", "c"], "ill": ["flu", "flu", "ulcer"]})
    assert names(Dataset.from_frame(frame, SCHEMA, "drop")) == [0, 2]
    labelled = Dataset.from_frame(frame.set_axis(["p1", "p2", "p17"]), SCHEMA, "drop")
    assert names(labelled) == ["p1", "p17"]
    assert labelled.source.kind.in_source(["p17"]) == "row label 'p17'"
    assert labelled.rows_digest != Dataset.from_frame(frame, SCHEMA, "drop").rows_digest


def test_rows_of_a_frame_are_counted_where_labels_stand_twice() -> None:
    frame = pd.DataFrame({"age": [30, 31], "note": ["a", "b"], "ill": ["flu", "ulcer"]}, index=["x", "x"])
    data = Dataset.from_frame(frame, SCHEMA)
    assert data.source.kind.in_source([data.row(1)]) == "row 1, counted from 0"


def test_rows_of_a_parquet_file_are_counted_from_0(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"age": [30, None, 32], "note": ["a", "b", "c"], "ill": ["flu", "flu", "ulcer"]})
    frame.to_parquet(tmp_path / "people.parquet")
    data = Dataset.from_parquet(tmp_path / "people.parquet", SCHEMA, "drop")
    assert data.source.kind.in_source([data.row(1)]) == "row 2 of people.parquet, counted from 0"
