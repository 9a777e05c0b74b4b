"""Reading D: declared columns, gaps, and errors that say where."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError
from harness.vocabulary.hierarchy import Hierarchy
from harness.vocabulary.schema import Column, Schema

FRAME = pd.DataFrame({"age": [30, 20, 40], "zip": ["01", "1", "02"], "ill": ["flu", "ulcer", "flu"]})
QUASI = {"age": "number", "zip": "category"}


def written(folder: Path, text: str) -> Path:
    path = folder / "people.csv"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_a_csv_is_read_with_any_usual_delimiter(tmp_path: Path, mark: str) -> None:
    path = written(tmp_path, FRAME.to_csv(sep=mark, index=False))
    data = Dataset.from_csv(path, Schema(QUASI, "ill"))
    pd.testing.assert_frame_equal(data.table.to_frame(), FRAME)


def test_the_digest_is_the_same_from_csv_parquet_and_frame(tmp_path: Path) -> None:
    schema = Schema(QUASI, "ill")
    FRAME.to_parquet(tmp_path / "people.parquet")
    csv = Dataset.from_csv(written(tmp_path, FRAME.to_csv(index=False)), schema)
    parquet = Dataset.from_parquet(tmp_path / "people.parquet", schema)
    assert csv.digest == parquet.digest == Dataset.from_frame(FRAME, schema).digest


def test_a_byte_order_mark_and_unicode_are_no_problem(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes("\ufeffâge,ill\n30,grippe\n20,ulcère\n".encode())
    data = Dataset.from_csv(path, Schema({"âge": "number"}, "ill"))
    assert data.sensitive_labels == ("grippe", "ulcère")


def test_f_gets_only_the_declared_columns_in_the_declared_order() -> None:
    data = Dataset.from_frame(FRAME.assign(name="secret"), Schema({"zip": "category", "age": "number"}, "ill"))
    assert data.table.names == ("zip", "age", "ill")


def test_domains_are_sorted_and_the_sensitive_one_stands_as_it_appears() -> None:
    data = Dataset.from_frame(FRAME, Schema(QUASI, "ill"))
    assert data.readings[0].domain == (20, 30, 40)
    assert data.readings[1].domain == ("01", "02", "1")
    assert data.sensitive_labels == ("flu", "ulcer")
    record = data.record(0)
    assert (record.quasi, record.codes, record.raws) == ((30, "01"), (1, 0), (30, "01"))


def test_leaving_a_record_out_keeps_the_domains_of_d() -> None:
    data = Dataset.from_frame(FRAME, Schema(QUASI, "ill")).without([1])
    assert data.size == 2
    assert data.sensitive_labels == ("flu", "ulcer")
    assert data.table.to_frame()["age"].tolist() == [30, 40]
    assert [codes.tolist() for codes in data.codes] == [[1, 2], [0, 1], [0, 0]]


GAPS = pd.DataFrame({"age": [30, None, 40], "zip": ["01", "1", None], "ill": ["flu", "ulcer", "flu"]})


def test_gaps_are_an_error_that_names_the_first_and_counts_all() -> None:
    with pytest.raises(InputError, match="column 'age', row label 1: the value is missing \\(2 rows have gaps\\)"):
        Dataset.from_frame(GAPS, Schema(QUASI, "ill"))


def test_gaps_are_dropped_with_a_count_when_asked() -> None:
    data = Dataset.from_frame(GAPS, Schema(QUASI, "ill"), missing="drop")
    assert (data.size, data.dropped) == (1, 2)


def test_gaps_are_kept_as_a_value_of_their_own_when_asked() -> None:
    data = Dataset.from_frame(GAPS, Schema(QUASI, "ill"), missing="keep")
    assert data.readings[0].domain == ("", 30, 40)
    assert data.readings[1].domain == ("", "01", "1")
    assert data.record(1).codes == (0, 2)
    assert np.isnan(data.table.to_frame()["age"][1])


def test_which_texts_are_gaps_can_be_declared(tmp_path: Path) -> None:
    path = written(tmp_path, "age,ill\n30,flu\n?,ulcer\n")
    data = Dataset.from_csv(path, Schema({"age": "number"}, "ill"), "drop", missing_values=["?"])
    assert (data.size, data.dropped) == (1, 1)
    assert data.table.to_frame()["age"].tolist() == [30]


def test_words_like_none_and_na_are_values_unless_declared_gaps(tmp_path: Path) -> None:
    path = written(tmp_path, "job,ill\nNone,flu\nNA,ulcer\n")
    assert Dataset.from_csv(path, Schema({"job": "category"}, "ill")).readings[0].domain == ("NA", "None")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("\n", "the file is empty"),
        ("age,zip,ill\n", "holds no records"),
        ("age,zipp,ill\n1,2,3\n", "has no column 'zip'; did you mean 'zipp'"),
        ("age,zip,ill\nyoung,2,flu\n", "column 'age', line 2: expected a number, found 'young'"),
        ("age,zip,ill\ninf,2,flu\n", "column 'age', line 2"),
        (
            "age,zip,ill\n1,2,flu\n1,2,flu,9,9\n",
            ", line 3: 5 cells, but the header has 3; put a cell that holds ',' into quotation marks",
        ),
        ("age,zip,ill\n1,2,flu,9\n", ", line 2: 4 cells, but the header has 3; "),
        ('age,zip,ill\n1,"2\n3",flu\n\n1,flu\n', ", line 5: 2 cells, but the header has 3; add the missing ones"),
        ('age,zip,ill\n1,2,flu\n1,"2,flu\n', ", line 3: not a row of a CSV table: unexpected end of data"),
        ("age,zip,age,ill\n1,2,3,flu\n", "more than one column 'age'"),
        (
            "age,zip,ill\n1,2\n",
            ", line 2: 2 cells, but the header has 3; add the missing ones, empty if the values are",
        ),
    ],
)
def test_a_bad_file_says_what_is_wrong_where(tmp_path: Path, text: str, message: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InputError, match=f"people.csv(: .*)?{message}"):
        Dataset.from_csv(path, Schema(QUASI, "ill"))


def test_a_file_that_is_not_there_or_not_text_or_not_parquet_says_so(tmp_path: Path) -> None:
    schema = Schema(QUASI, "ill")
    with pytest.raises(InputError, match="cannot be read"):
        Dataset.from_csv(tmp_path / "nowhere.csv", schema)
    (tmp_path / "latin.csv").write_bytes("age,zip,ill\n1,é,flu\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"latin.csv: line 2: byte 3 of the line \(0xe9\) is not UTF-8; save"):
        Dataset.from_csv(tmp_path / "latin.csv", schema)
    (tmp_path / "wide.csv").write_text("age,zip,ill\n1,é,flu\n", encoding="utf-16")
    with pytest.raises(InputError, match="wide.csv: this is UTF-16 text; save it as UTF-8"):
        Dataset.from_csv(tmp_path / "wide.csv", schema)
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        Dataset.from_parquet(tmp_path / "bad.parquet", schema)


@pytest.mark.parametrize(
    ("quasi", "sensitive", "message"),
    [
        ({"age": "numbr"}, "ill", "column 'age': kind 'numbr' is not known; did you mean 'number'"),
        ({"age": 3}, "ill", "column 'age': expected a kind"),
        ({"age": {"kind": "number", "hierarchi": "x"}}, "ill", "unknown key 'hierarchi'; did you mean 'hierarchy'"),
        ({"age": "ordered"}, "ill", "declared ordered but has no order"),
        ({"age": {"kind": "number", "bins": 0}}, "ill", "bins must be a whole number"),
        ({"age": {"kind": "number", "bins": 2, "binning": "quantile"}}, "ill", "did you mean 'quantiles'"),
        ({}, "ill", "no quasi-identifier"),
        ({"age": "number"}, [], "no sensitive column"),
        ({"age": "number"}, "age", "declared twice"),
    ],
)
def test_a_bad_declaration_is_refused_when_it_is_made(
    quasi: dict[str, Any], sensitive: str | list[str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        Schema(quasi, sensitive)


def test_a_raw_value_outside_the_declared_order_or_hierarchy_names_itself() -> None:
    ordered = Schema({"zip": {"kind": "ordered", "order": ["1", "2"]}}, "ill")
    with pytest.raises(InputError, match="column 'zip': raw value '01' is not in its declared order"):
        Dataset.from_frame(FRAME, ordered)
    tree = Hierarchy.from_nested({"*": {"north": ["01", "02"]}})
    with pytest.raises(InputError, match="column 'zip': raw value '1' is not a leaf of its hierarchy"):
        Dataset.from_frame(FRAME, Schema({"zip": {"kind": "category", "hierarchy": tree}}, "ill"))


def test_a_declared_order_is_the_order_of_the_domain() -> None:
    schema = Schema([Column("zip", "ordered", order=("1", "02", "01", "99"))], "ill")
    assert Dataset.from_frame(FRAME, schema).readings[0].domain == ("1", "02", "01", "99")


def test_ages_are_binned_by_quantiles_or_widths_before_anybody_sees_them() -> None:
    frame = pd.DataFrame({"age": [0, 1, 2, 3, 100], "ill": list("abcab")})

    def bins(how: str) -> list[int]:
        schema = Schema({"age": {"kind": "number", "bins": 2, "binning": how}}, "ill")
        binned: list[int] = Dataset.from_frame(frame, schema).table.to_frame()["age"].tolist()
        return binned

    assert bins("quantiles") == [0, 0, 0, 1, 1]
    assert bins("width") == [0, 0, 0, 0, 1]


def test_numeric_sensitive_values_are_compared_as_numbers() -> None:
    data = Dataset.from_frame(FRAME.assign(ill=[1.0, 2.5, 1.0]), Schema(QUASI, "ill"))
    assert data.sensitive_domain == ((1,), (2.5,))


def test_too_many_joint_sensitive_values_are_refused() -> None:
    frame = pd.DataFrame({"age": range(200), "a": [f"a{i}" for i in range(200)], "b": [f"b{i}" for i in range(200)]})
    data = Dataset.from_frame(frame, Schema({"age": "number"}, ["a", "b"]))
    assert [secret.values for secret in data.secrets(joint=False)] == [200, 200]
    with pytest.raises(InputError, match="'a | b' have 40000 values, more than 10000"):
        data.secrets(joint=True)
    with pytest.raises(InputError, match="the sensitive columns together have 40000 values"):
        _ = data.sensitive_domain


def test_a_declared_order_of_a_sensitive_column_is_the_order_of_its_values() -> None:
    frame = pd.DataFrame({"age": [1, 2, 3], "pay": ["high", "low", "middle"]})
    pay = Column("pay", "ordered", order=("low", "middle", "high"))
    (secret,) = Dataset.from_frame(frame, Schema({"age": "number"}, [pay])).secrets(joint=False)
    assert secret.labels == ("low", "middle", "high")


@pytest.mark.parametrize(
    ("declared", "bins"),
    [
        ({"edges": [0, 20, 40, 60]}, [0, 0, 1, 2]),  # (0, 20], (20, 40], (40, 60]
        ({"edges": [0, 20, 40, 60], "edge": "left"}, [0, 1, 1, 2]),  # [0, 20), [20, 40), [40, 60]
        ({"bins": 3, "binning": "width"}, [0, 0, 1, 2]),
        ({"bins": 3, "binning": "width", "edge": "left"}, [0, 1, 1, 2]),
        ({"bins": 3, "binning": "width", "max": 180}, [0, 0, 0, 0]),  # (0, 60], …
    ],
)
def test_numbers_are_put_into_bins_between_declared_edges(declared: dict[str, Any], bins: list[int]) -> None:
    frame = pd.DataFrame({"age": [0, 20, 39, 60], "ill": "flu"})
    schema = Schema({"age": {"kind": "number", **declared}}, "ill")
    assert Dataset.from_frame(frame, schema).table.to_frame()["age"].tolist() == bins


def test_ten_equal_bins_do_not_depend_on_rounding() -> None:
    """0.7 · 90 is a little less than 63, which lies at the end of the seventh of ten bins."""
    column = Column("age", "number", bins=10, binning="width")
    assert column.binned(pd.Series([0, 63, 90])).tolist() == [0, 6, 9]


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"edges": [0, 50]}, "60 lies outside its edges"),
        ({"edges": [50, 0]}, "edges must be rising finite numbers"),
        ({"edges": [0, 60], "bins": 2}, "edges must be given without `bins`"),
        ({"edges": [0, 60], "edge": "up"}, "edge 'up' is not known"),
        ({"min": 0, "max": 50}, "^column 'age': 60 lies outside the declared min and max; widen them"),
        ({"min": 25, "bins": 2}, "^column 'age': 0 lies outside the declared min and max"),
        ({"min": 60, "max": 0}, "min = 60 lies above max = 0"),
        ({"max": "60"}, "max must be a finite number, of a number column, not '60'"),
        ({"kind": "category", "min": 0}, "min must be a finite number, of a number column"),
    ],
)
def test_edges_and_ends_that_cannot_be_are_refused(declared: dict[str, Any], message: str) -> None:
    frame = pd.DataFrame({"age": [0, 20, 39, 60], "ill": "flu"})
    with pytest.raises(InputError, match=message):
        Dataset.from_frame(frame, Schema({"age": {"kind": "number", **declared}}, "ill"))


def test_mixed_dates_that_cannot_all_be_dates_name_their_column() -> None:
    frame = pd.DataFrame({"born": ["13/02/1987", "02/13/1987"], "ill": ["a", "b"]})
    with pytest.raises(InputError, match="column 'born'"):
        Dataset.from_frame(frame, Schema({"born": "date"}, "ill"))


def test_numbers_that_pandas_holds_as_objects_reach_f_as_numbers() -> None:
    frame = pd.DataFrame({"age": pd.Series([20, 31], dtype=object), "ill": ["yes", "no"]})
    data = Dataset.from_frame(frame, Schema({"age": "number"}, "ill"))
    assert data.table.to_frame()["age"].tolist() == [20, 31]
    assert data.digest == Dataset.from_frame(frame.astype({"age": int}), data.schema).digest
    mixed = Dataset.from_frame(frame.assign(age=pd.Series([20, "31"], dtype=object)), data.schema)
    assert mixed.table.to_frame()["age"].tolist() == ["20", "31"]
