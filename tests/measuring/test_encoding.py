"""Encoders: their names and options, bins, dates, what they ask of D and of a release. Numbers: tests/paper."""

from __future__ import annotations

import pickle
import subprocess
import sys
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.measuring.encode_release import encode
from harness.measuring.encoding import ENCODINGS, PROPORTIONAL, encoder_named
from harness.measuring.encoding import numbers as number_encodings
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError
from harness.vocabulary.release import Reader, TrainingRows
from harness.vocabulary.schema import Column, Schema
from harness.vocabulary.table import Table
from harness.vocabulary.values import Span, Value

# Of plain releases: what a table with shares becomes is in tests/paper/test_proportional.py.
AFTER = [name for name in ENCODINGS if not name.startswith("quantiles-before") and name != PROPORTIONAL]
PEOPLE = Dataset.from_frame(
    pd.DataFrame({"age": [20, 25, 31, 60], "sex": ["F", "M", "F", "M"], "ill": ["yes", "no", "no", "no"]}),
    Schema({"age": "number", "sex": "category"}, "ill"),
)


def rows_of(data: Dataset, **columns: list[Any]) -> TrainingRows:
    size = len(next(iter(columns.values())))
    table = Table.from_frame(pd.DataFrame(columns | {"ill": ["no"] * size}))
    return Reader(data).read(table).for_secret(data.secrets(joint=False)[0])


@pytest.mark.parametrize(
    "encoding",
    [
        *ENCODINGS,
        {"name": "scaling-hot", "scale": "symmetric"},
        {"name": "bounds-tf", "scale": "symmetric"},
        {"name": "quantiles-hot", "bins": 3, "binning": "quantiles"},
        {"name": "quantiles-before-hot-cells", "bins": 2, "binning": "quantiles"},
    ],
)
def test_the_spec_of_an_encoder_is_plain_data_that_names_it_again(encoding: str | dict[str, Any]) -> None:
    encoder = encoder_named(encoding)
    spec = encoder.spec()
    assert encoder.name == spec["name"]
    assert all(type(value) in (str, int) for value in spec.values())
    assert encoder_named(spec) == encoder == pickle.loads(pickle.dumps(encoder))  # noqa: S301
    assert spec.items() >= (encoding if isinstance(encoding, dict) else {"name": encoding}).items()


def test_every_parameter_of_an_encoder_stands_in_its_spec() -> None:
    assert encoder_named("scaling-hot").spec() == {"name": "scaling-hot", "scale": "unit"}
    assert encoder_named("quantiles-tf").spec() == {"name": "quantiles-tf", "bins": 5, "binning": "width"}
    assert encoder_named("quantiles-before-tf").spec() == {"name": "quantiles-before-tf", "bins": 5, "binning": "width"}


def test_tf_alone_is_tf_tf() -> None:
    assert encoder_named("tf") == encoder_named("tf-tf")


@pytest.mark.parametrize(
    ("encoding", "message"),
    [
        ("scaling-hott", "encoding 'scaling-hott' is not known; did you mean 'scaling-hot'?"),
        ("fill_child", "did you mean 'fill-child'?"),
        ({"name": "quantiles-hot", "bin": 5}, "encoding 'quantiles-hot' takes no 'bin'; did you mean 'bins'?"),
        ({"name": "tf-tf", "bins": 5}, "encoding 'tf-tf' takes no 'bins'; .*known: name"),
        ({"name": "one-class", "scale": "unit"}, "'one-class' takes no 'scale'"),
        ({"name": "quantiles-hot", "bins": 0}, "encoding 'quantiles-hot': bins must be a whole number of at least 1"),
        ({"name": "quantiles-hot", "bins": True}, "bins must be a whole number"),
        ({"name": "quantiles-hot", "binning": "quantile"}, "did you mean 'quantiles'?"),
        ({"name": "scaling-hot", "scale": "symetric"}, "'scaling-hot': scale 'symetric'.*did you mean 'symmetric'?"),
        ({"bins": 5}, "the encoding has no name"),
        (5, "an encoding is a name"),
    ],
)
def test_what_is_wrong_with_an_encoding_is_said(encoding: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        encoder_named(encoding)


@pytest.mark.parametrize("name", AFTER)
def test_an_encoding_after_f_asks_f_about_the_data_itself(name: str) -> None:
    assert encoder_named(name).prepare(PEOPLE) is PEOPLE


def test_bins_before_f_keep_everything_else_of_the_data() -> None:
    frame = pd.DataFrame({"who": [7, 7, 8], "age": [20, 30, 60], "sex": ["F", "M", "F"], "ill": ["yes", None, "no"]})
    schema = Schema({"age": "number", "sex": "category"}, "ill", weight="count", person="who")
    data = Dataset.from_frame(frame, schema, missing="drop")
    prepared = encoder_named("quantiles-before-hot").prepare(data)
    assert prepared.table.to_frame().to_dict("list") == {"age": ["0", "4"], "sex": ["F", "F"], "ill": ["yes", "no"]}
    assert (prepared.schema.weight, prepared.schema.person, prepared.dropped) == ("count", "who", 1)
    assert (prepared.population, prepared.row(1)) == (2, 2)
    assert prepared.schema.quasi[0] == Column("age", "ordered", order=("0", "1", "2", "3", "4"))
    assert data.schema.quasi[0] == Column("age", "number")


@given(
    numbers=st.lists(st.integers(-50, 50), min_size=1, max_size=20),
    bins=st.integers(1, 6),
    binning=st.sampled_from(["width", "quantiles"]),
)
def test_bins_are_numbered_as_those_of_a_left_closed_declared_column(
    numbers: list[int], bins: int, binning: Any
) -> None:
    frame = pd.DataFrame({"age": numbers, "ill": ["no"] * len(numbers)})
    encoder = encoder_named({"name": "quantiles-before-hot", "bins": bins, "binning": binning})
    prepared = encoder.prepare(Dataset.from_frame(frame, Schema({"age": "number"}, "ill")))
    declared = Column("age", "number", bins=bins, binning=binning, edge="left").binned(frame["age"])
    assert prepared.table.column("age").values().tolist() == [str(number) for number in declared]


def test_whole_edges_of_equal_widths_are_exact() -> None:
    """0.7 * 90 is 62.99999999999999 in floats; an edge computed so would put that number into the bin above 63."""
    data = Dataset.from_frame(pd.DataFrame({"age": [0, 90], "ill": ["a", "b"]}), Schema({"age": "number"}, "ill"))
    for number, place in ((63, 7), (62.99999999999999, 6)):
        _, x = encode(
            pd.DataFrame({"age": ["*"]}), {"age": number}, data=data, encoding={"name": "quantiles-hot", "bins": 10}
        )
        assert x.tolist() == [float(k == place) for k in range(10)]


def test_quantiles_of_rows_are_those_of_all_rows_and_not_of_the_distinct_values() -> None:
    ages = [1, 1, 1, 1, 2, 9]
    data = Dataset.from_frame(pd.DataFrame({"age": ages, "ill": ["no"] * 6}), Schema({"age": "number"}, "ill"))
    encoding = {"name": "quantiles-hot", "bins": 2, "binning": "quantiles"}  # the median of the rows is 1
    X, x = encode(pd.DataFrame({"age": [1, "[2, 9]", "[0, 1)"]}), {"age": 0}, data=data, encoding=encoding)
    assert X.tolist() == [[0, 1], [0, 1], [1, 0]]
    assert x.tolist() == [0, 1]  # 0 counts as 1, the nearest number of the data


def test_quantiles_of_rows_need_the_data_once() -> None:
    encoder = encoder_named({"name": "quantiles-hot", "binning": "quantiles"})
    rows = rows_of(PEOPLE, age=["[20, 31]"], sex=["*"])
    with pytest.raises(InputError, match="column 'age': quantiles are those of the data's rows.*for_data"):
        encoder.encode(rows, None)
    bound = encoder.for_data(PEOPLE)
    assert bound.encode(rows, None).matrix().shape == (1, 7)
    assert bound.spec() == encoder.spec()


def test_bins_before_f_refuse_a_release_of_raw_numbers() -> None:
    with pytest.raises(InputError, match="column 'age' holds numbers; quantiles-before-hot needs releases of the data"):
        encoder_named("quantiles-before-hot").encode(rows_of(PEOPLE, age=[20], sex=["F"]), None)


@pytest.mark.parametrize("name", [name for name in AFTER if encoder_named(name).depends_on_target])
def test_an_encoding_that_depends_on_the_target_must_be_given_one(name: str) -> None:
    with pytest.raises(InputError, match="tf compares cells with a target, and none was given"):
        encoder_named(name).encode(rows_of(PEOPLE, age=[20], sex=["F"]), None)


@pytest.mark.parametrize("name", ["tf-binary", "tf-hot-cells"])
def test_a_cell_that_no_row_holds_is_no_category(name: str) -> None:
    """Rows left out of a release (a suppressed secret, a weight of 0) leave their cells behind in its palette."""
    table = Table.from_frame(pd.DataFrame({"age": [20, 20, 20], "sex": ["*", "F", "M"], "ill": ["*", "no", "yes"]}))
    rows = Reader(PEOPLE).read(table).for_secret(PEOPLE.secrets(joint=False)[0])
    features = encoder_named(name).encode(rows, (20, "M"))
    assert (
        features.matrix().tolist()
        == {
            "tf-binary": [[1, 0, 1], [1, 1, 0]],
            "tf-hot-cells": [[1, 1, 0], [1, 0, 1]],
        }[name]
    )


@pytest.mark.parametrize("name", AFTER)
def test_features_on_distinct_cells_are_those_of_the_rows(name: str) -> None:
    rows = rows_of(PEOPLE, age=["[20, 31]", 60, "[20, 31]"], sex=["F", "F", "*"])
    features = encoder_named(name).encode(rows, PEOPLE.record(1).raws)
    spelled_out = [np.stack([column.cells[code] for code in column.codes]) for column in features.columns]
    assert np.array_equal(features.matrix(), np.hstack(spelled_out))
    assert features.matrix().dtype == features.target(PEOPLE.record(1).raws).dtype == np.float64
    assert features.matrix().shape == (3, len(features.target(PEOPLE.record(1).raws)))


def test_a_cell_is_worked_out_once_for_all_releases(monkeypatch: pytest.MonkeyPatch) -> None:
    worked_out: list[Value] = []
    original = number_encodings.touched

    def counting(value: Value, *others: Any) -> Any:
        worked_out.append(value)
        return original(value, *others)

    monkeypatch.setattr(number_encodings, "touched", counting)
    reader, encoder, secret = Reader(PEOPLE), encoder_named("quantiles-hot"), PEOPLE.secrets(joint=False)[0]
    for ages in (["[20, 31]", 60], [60, "[20, 31]"], [60, 25]):
        table = Table.from_frame(pd.DataFrame({"age": ages, "sex": ["F", "M"], "ill": ["no", "no"]}))
        encoder.encode(reader.read(table).for_secret(secret), None)
    assert len(worked_out) == len(set(worked_out)) == 3


@pytest.mark.parametrize("name", AFTER)
def test_a_column_of_one_value_says_nothing_and_divides_nothing(name: str) -> None:
    data = Dataset.from_frame(pd.DataFrame({"age": [40, 40], "sex": ["F", "F"], "ill": ["no", "yes"]}), PEOPLE.schema)
    X, x = encode(pd.DataFrame({"age": [40], "sex": ["F"]}), {"age": 40, "sex": "F"}, data=data, encoding=name)
    assert np.isfinite(X).all()
    assert np.array_equal(X[0], x)


DATES = Dataset.from_frame(
    pd.DataFrame({"born": ["2001-01-01", "2001-01-05", "2001-01-11"], "ill": ["a", "b", "b"]}),
    Schema({"born": "date"}, "ill"),
)


@pytest.mark.parametrize(
    ("cell", "ends"),
    [
        ("2001-01-05", (0.4, 0.4)),
        ("[2001-01-01, 2001-01-05]", (0, 0.4)),
        ("[2001-01-01, 2001-01-05)", (0, 0.4)),  # an open end is outside, but an end point all the same (SPEC)
        ("(2001-01-01, 2001-01-05]", (0, 0.4)),
        ("2001-01", (0, 1)),  # the whole month, clipped
        (">= 2001-01-05", (0.4, 1)),
    ],
)
def test_dates_are_encoded_by_their_first_and_last_day(cell: str, ends: tuple[float, float]) -> None:
    release, target = pd.DataFrame({"born": [cell]}), {"born": "2001-01-05"}
    X, x = encode(release, target, data=DATES, encoding="bounds-hot")
    np.testing.assert_allclose(X, [ends], atol=1e-12)
    np.testing.assert_allclose(x, [0.4, 0.4], atol=1e-12)
    X, x = encode(release, target, data=DATES, encoding="scaling-hot")
    np.testing.assert_allclose(X, [[sum(ends) / 2]], atol=1e-12)


def test_equal_periods_that_print_other_ends_keep_their_own() -> None:
    release = pd.DataFrame({"born": ["[2001-01-01, 2001-01-05)", "[2001-01-01, 2001-01-04]"]})
    X, _ = encode(release, {"born": "2001-01-05"}, data=DATES, encoding="bounds-hot")
    np.testing.assert_allclose(X, [[0, 0.4], [0, 0.3]], atol=1e-12)
    X, _ = encode(release, {"born": "2001-01-05"}, data=DATES, encoding="tf-tf")
    np.testing.assert_allclose(X, [[0], [0]])


def test_a_target_that_is_a_period_of_time_has_two_ends() -> None:
    rows = Reader(DATES).read(Table.from_frame(pd.DataFrame({"born": ["*"], "ill": ["a"]})))
    first = date(2001, 1, 1).toordinal()
    period = (Span(first + 2, first + 4),)
    training = rows.for_secret(DATES.secrets(joint=False)[0])
    for name, features in (("bounds-hot", [0.2, 0.4]), ("scaling-hot", [0.3]), ("quantiles-hot", [0, 1, 1, 0, 0])):
        np.testing.assert_allclose(encoder_named(name).encode(training, None).target(period), features, atol=1e-12)


def test_a_period_of_time_that_is_a_leaf_stands_there_and_another_at_the_root_of_its_days() -> None:
    mixed = pd.DataFrame({"born": ["2001-01", "2001-01-05", "2001-02-01", "2001-02-03"], "ill": ["a", "b", "a", "b"]})
    release = pd.DataFrame({"born": ["2001-01", "2001-01-05", "2001-02", "2001"]})
    schema = Schema({"born": "date"}, "ill")
    X, x = encode(release, {"born": "2001-01"}, data=mixed, schema=schema, encoding="one-class")
    assert X.argmax(axis=1).tolist() == [0, 1, 4, 4]  # the domain in order, then '*'
    assert x.tolist() == [1, 0, 0, 0, 0]


def test_encoders_that_share_a_reader_do_not_disturb_each_other() -> None:
    cells: dict[str, list[Any]] = {"age": ["[20, 31]", 60, "*"], "sex": ["F", "{F, M}", "*"]}
    shared, raws = rows_of(PEOPLE, **cells), PEOPLE.record(1).raws
    encodings: list[Any] = [{"name": f"{numbers}-hot", "scale": "symmetric"} for numbers in ("scaling", "bounds")]
    encodings += [{"name": "quantiles-hot", "bins": 3, "binning": binning} for binning in ("width", "quantiles")]
    for encoding in AFTER + encodings:
        encoder = encoder_named(encoding).for_data(PEOPLE)
        target = raws if encoder.depends_on_target else None
        alone = encoder.encode(rows_of(PEOPLE, **cells), target)
        assert np.array_equal(encoder.encode(shared, target).matrix(), alone.matrix()), encoding


def test_encodings_load_neither_scikit_learn_nor_anything_the_vocabulary_does_not() -> None:
    code = "import sys, harness.measuring.encoding; print('sklearn' in sys.modules, 'scipy' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "False"]
