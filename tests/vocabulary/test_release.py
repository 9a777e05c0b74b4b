"""What may stand in a release, and what cannot be used."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import ReleaseError
from harness.vocabulary.release import Microdata, Predictions, Reader, as_release, checked_predictions
from harness.vocabulary.schema import Schema
from harness.vocabulary.table import Cells, Table

FRAME = pd.DataFrame({"age": [20, 30, 40, 50], "sex": list("MFMF"), "ill": ["flu", "flu", "ulcer", "flu"]})


def reader(weight: str | None = None) -> Reader:
    return Reader(Dataset.from_frame(FRAME, Schema({"age": "number", "sex": "category"}, "ill", weight)))


(ILL,) = reader().data.secrets(False)


def read(frame: pd.DataFrame, weight: str | None = None) -> Microdata:
    return reader(weight).read(Table.from_frame(frame))


def covered(data_reader: Reader, release: Microdata, index: int) -> list[list[bool]]:
    """For each quasi-identifier, whether the cell of each row covers the record's value."""
    target = data_reader.data.record(index)
    return [
        column.lexicon.covering(raw)[column.ids][column.codes].tolist()
        for column, raw in zip(release.quasi, target.raws, strict=True)
    ]


def test_cells_that_never_come_again_are_forgotten_and_what_was_read_stays_valid() -> None:
    """Of a random f with new cells in each draw; the same as a reader that remembers all of them."""
    data = reader().data
    forgetful, remembering = Reader(data, most_cells=20), Reader(data)
    draws = [FRAME.assign(age=[f"[{age - draw / 1000}, {age + 1}]" for age in FRAME["age"]]) for draw in range(50)]
    pairs = [[each.read(Table.from_frame(frame)) for each in (forgetful, remembering)] for frame in draws]
    assert all(len(lexicon) <= 20 + 4 for lexicon in forgetful.lexicons)
    assert len(remembering.lexicons[0]) == 200
    for bounded, unbounded in pairs:
        for index in range(4):
            assert covered(forgetful, bounded, index) == covered(remembering, unbounded, index)
        assert [codes.tolist() for codes in bounded.sensitive] == [codes.tolist() for codes in unbounded.sensitive]


def test_rows_and_columns_may_come_in_any_order_and_rows_may_be_gone() -> None:
    release = read(FRAME[["ill", "sex", "age"]].iloc[[3, 1]])
    assert [codes.tolist() for codes in release.sensitive] == [[0, 0]]
    assert release.notes == ()


def test_rows_of_stars_cover_everybody() -> None:
    data_reader = reader()
    release = data_reader.read(Table.from_frame(FRAME.assign(age="*", sex="*")))
    assert covered(data_reader, release, 2) == [[True] * 4, [True] * 4]


def test_a_missing_cell_is_suppressed() -> None:
    data_reader = reader()
    release = data_reader.read(Table.from_frame(FRAME.assign(age=pd.Series([20.0, None, 40.0, 50.0]))))
    assert covered(data_reader, release, 0)[0] == [True, True, False, False]


def test_added_columns_are_noted_not_used() -> None:
    assert read(FRAME.reset_index()).notes == ("the release adds column 'index', which the data did not have",)


def test_a_count_column_weighs_its_rows_and_non_positive_counts_leave() -> None:
    release = read(FRAME.assign(count=[2, 0, -1.5, 0.5]))
    assert release.weights is not None
    assert release.weights.tolist() == [2, 0.5]
    assert release.for_secret(ILL).class_weights.tolist() == [2.5, 0]
    assert any("'count' is read as the weight" in note for note in release.notes)
    assert any("zero or negative" in note for note in release.notes)


def test_a_weight_column_of_any_name_can_be_declared() -> None:
    assert read(FRAME.assign(n=[1, 2, 3, 4]), weight="n").for_secret(ILL).class_weights.tolist() == [7, 3]
    with pytest.raises(ReleaseError, match="no weight column 'n'"):
        read(FRAME, weight="n")


def test_a_weight_that_is_no_number_names_its_row() -> None:
    with pytest.raises(ReleaseError, match="column 'count', row 2 of the release: a weight must be a finite number"):
        read(FRAME.assign(count=["1", "2", "many", "3"]))


def test_a_lacking_column_names_itself_and_what_is_there() -> None:
    with pytest.raises(ReleaseError, match="no column 'ill' \\(sensitive\\); it has 'age', 'sex', 'illness'"):
        read(FRAME.rename(columns={"ill": "illness"}))
    with pytest.raises(ReleaseError, match="no column 'age' \\(quasi-identifier\\)"):
        read(FRAME.drop(columns="age"))


def test_an_unreadable_cell_names_column_row_and_text() -> None:
    with pytest.raises(ReleaseError, match="column 'age', row 1 of the release: 'thirtyish'"):
        read(FRAME.assign(age=["20", "thirtyish", "40", "50"]))


def test_a_sensitive_value_that_the_data_never_had_is_refused() -> None:
    with pytest.raises(ReleaseError, match="column 'ill', row 3"):
        read(FRAME.assign(ill=["flu", "flu", "ulcer", "plague"]))


@pytest.mark.parametrize("cell", ["colds", "flu~colds", "{flu, ulcer}", 7])
def test_no_hierarchy_is_advised_for_a_sensitive_column(cell: Any) -> None:
    with pytest.raises(
        ReleaseError, match=r"column 'ill', row 1 .*is not one of the data's own; the test needs"
    ) as caught:
        read(FRAME.assign(ill=["flu", cell, "ulcer", "flu"]))
    assert "hierarchy" not in str(caught.value)


def test_rows_with_a_suppressed_sensitive_value_are_left_out_and_noted() -> None:
    release = read(FRAME.assign(ill=pd.Series(["flu", "*", None, "ulcer"])))
    assert release.for_secret(ILL).labels.tolist() == [0, 1]
    assert release.notes == ("rows whose 'ill' is suppressed are left out where it is inferred",)


def test_numbers_printed_as_floats_are_the_same_numbers() -> None:
    data_reader = reader()
    release = data_reader.read(Table.from_frame(FRAME.assign(age=["20.0", "30", "40.00", "5e1"])))
    assert covered(data_reader, release, 3)[0] == [False, False, False, True]


def test_a_palette_that_its_owner_changes_is_read_anew_and_one_that_nobody_can_change_is_looked_up_once() -> None:
    lexicon = reader().lexicons[1]
    cells = Cells(np.array(["M", "F"], dtype=object), np.array([0, 1], dtype=np.int32))
    before = lexicon.ids(cells)
    cells.palette[0] = "*"
    assert lexicon.ids(cells)[0] != before[0]
    cells.palette.flags.writeable = False
    assert lexicon.ids(cells) is lexicon.ids(cells)


def test_what_other_means_depends_on_the_cells_beside_it() -> None:
    frame = pd.DataFrame({"town": ["a", "b", "c"], "ill": ["x", "y", "x"]})
    data_reader = Reader(Dataset.from_frame(frame, Schema({"town": "category"}, "ill")))
    few = data_reader.read(Table.from_frame(frame.assign(town=["a", "OTHER", "OTHER"])))
    many = data_reader.read(Table.from_frame(frame.assign(town=["OTHER", "OTHER", "c"])))
    target = data_reader.data.record(0)
    bits = [
        data_reader.lexicons[0].covering(target.raws[0])[release.quasi[0].ids][release.quasi[0].codes].tolist()
        for release in (few, many)
    ]
    assert bits == [[True, False, False], [True, True, False]]


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([[0.5, 0.6]], "not probabilities"),
        ([[0.5, float("nan")]], "not probabilities"),
        ([[1.5, -0.5]], "not probabilities"),
        ([[0.5, 0.5], [0.5, 0.5]], "shape"),
        ([0.5, 0.5], "shape"),
        ([["a", "b"]], "not an array of numbers"),
    ],
)
def test_predictions_that_are_not_probabilities_are_refused(rows: list[Any], why: str) -> None:
    with pytest.raises(ReleaseError, match=why):
        checked_predictions(rows, draws=1, values=2)


def test_predictions_pass_as_they_are() -> None:
    assert checked_predictions(np.array([[0.25, 0.75]]), 1, 2).rows.tolist() == [[0.25, 0.75]]


def test_frames_and_arrays_are_releases_and_nothing_else_is() -> None:
    assert isinstance(as_release(FRAME), Table)
    assert isinstance(as_release(np.array([[1.0]])), Predictions)
    with pytest.raises(ReleaseError, match="returned nothing"):
        as_release(None)
    with pytest.raises(ReleaseError, match="returned a list"):
        as_release([1])


def test_several_sensitive_columns_are_separate_secrets_or_one_joint_value() -> None:
    frame = FRAME.assign(cost=["low", "high", "high", "low"])
    data = Dataset.from_frame(frame, Schema({"age": "number"}, ["ill", "cost"]))
    assert data.sensitive_labels == ("flu | low", "flu | high", "ulcer | low", "ulcer | high")
    release = Reader(data).read(Table.from_frame(frame))
    assert [release.for_secret(each).labels.tolist() for each in data.secrets(False)] == [[0, 0, 1, 0], [0, 1, 1, 0]]
    (joint,) = data.secrets(True)
    assert joint.labels == data.sensitive_labels
    assert release.for_secret(joint).labels.tolist() == [0, 1, 3, 0]


def test_a_row_is_left_out_for_the_secret_it_does_not_show() -> None:
    frame = FRAME.assign(cost=["low", "high", "high", "low"])
    data = Dataset.from_frame(frame, Schema({"age": "number"}, ["ill", "cost"]))
    release = Reader(data).read(Table.from_frame(frame.assign(cost=["low", "*", "high", "low"])))
    ill, cost = data.secrets(False)
    assert release.for_secret(ill).labels.tolist() == [0, 0, 1, 0]
    assert release.for_secret(cost).labels.tolist() == [0, 1, 0]
    assert release.for_secret(data.secrets(True)[0]).labels.tolist() == [0, 3, 0]


def test_an_empty_release_is_a_release() -> None:
    assert len(read(FRAME.iloc[:0]).for_secret(ILL).labels) == 0


def test_a_column_called_count_that_is_no_number_is_refused_with_a_way_out() -> None:
    frame = pd.DataFrame({"age": [30, 40], "ill": ["flu", "ulcer"]})
    released = Table.from_frame(frame.assign(count=["one", "two"]))
    with pytest.raises(ReleaseError, match=r'a weight must be a finite number; .* declare weight = "" \(no column is'):
        Reader(Dataset.from_frame(frame, Schema({"age": "number"}, "ill"))).read(released)
    unweighted = Reader(Dataset.from_frame(frame, Schema({"age": "number"}, "ill", weight=""))).read(released)
    assert unweighted.weights is None
    assert unweighted.notes == ("the release adds column 'count', which the data did not have",)
