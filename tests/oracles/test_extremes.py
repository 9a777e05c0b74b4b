"""Identity, Constant and Leaky release what their hand-computed distances say."""

import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError
from harness.vocabulary.oracle import Ask, Oracle
from harness.vocabulary.schema import Schema
from harness.vocabulary.table import Table
from harness.vocabulary.values import parse
from oracles.reference import REFERENCE, Constant, Identity, Leaky

SCHEMA = Schema(quasi={"age": "number", "gender": "category"}, sensitive="disease")
FRAME = pd.DataFrame(
    {
        "age": [28, 36, 47, 53, 53, 53],
        "gender": ["M", "M", "F", "F", "F", "F"],
        "disease": ["Flu", "Flu", "Cancer", "Flu", "Flu", "Ague"],
    }
)
DUPLICATE, UNIQUE = 3, 2


@pytest.fixture
def data() -> Dataset:
    return Dataset.from_frame(FRAME, SCHEMA)


def released(oracle: Oracle, data: Dataset, *drop: int) -> pd.DataFrame:
    (table,) = oracle.answer(Ask(data, drop))
    assert isinstance(table, Table)
    return table.to_frame()


def conditional(data: Dataset, release: pd.DataFrame, about: int) -> list[Fraction]:
    """The share of each sensitive value among the released rows that cover the record, exactly."""
    covered = np.ones(len(release), dtype=bool)
    for number, column in enumerate(SCHEMA.quasi):
        raw = data.readings[number].domain[data.codes[number][about]]
        covered &= [parse(cell, data.readings[number]).covers(raw) for cell in release[column.name]]
    secrets = release["disease"][covered]
    return [Fraction(int((secrets == label).sum()), len(secrets)) for label in data.sensitive_labels]


def distance(oracle: Oracle, data: Dataset, record: int) -> Fraction:
    present = conditional(data, released(oracle, data), record)
    absent = conditional(data, released(oracle, data, record), record)
    return sum((abs(p - q) for p, q in zip(present, absent, strict=True)), Fraction(0))


def test_identity_releases_the_rows_as_they_are(data: Dataset) -> None:
    assert released(Identity(), data).equals(FRAME)
    assert released(Identity(), data, 1).equals(FRAME.drop(index=1).reset_index(drop=True))
    assert released(Identity(), data, 4, 1).equals(FRAME.drop(index=[1, 4]).reset_index(drop=True))


@pytest.mark.parametrize(("record", "alike"), [(3, 2), (4, 2), (5, 1)])
def test_identity_moves_a_shared_record_as_computed_by_hand(data: Dataset, record: int, alike: int) -> None:
    m, c = 3, alike
    assert distance(Identity(), data, record) == Fraction(2 * (m - c), m * (m - 1))


def test_constant_releases_each_sensitive_value_once_for_anybody(data: Dataset) -> None:
    release = released(Constant(), data)
    assert release["disease"].tolist() == ["Flu", "Cancer", "Ague"]
    assert set(release["age"]) == set(release["gender"]) == {"*"}


def test_constant_does_not_move_for_anybody(data: Dataset) -> None:
    assert [distance(Constant(), data, record) for record in range(data.size)] == [0] * data.size


def test_leaky_moves_the_leaked_record_as_computed_by_hand_and_nobody_else(data: Dataset) -> None:
    n = len(data.sensitive_domain)
    distances = [distance(Leaky(UNIQUE), data, record) for record in range(data.size)]
    assert distances == [Fraction(2 * (n - 1), n * (n + 1)) if record == UNIQUE else 0 for record in range(data.size)]


def test_leaky_leaks_until_every_row_that_equals_its_record_is_left_out(data: Dataset) -> None:
    assert len(released(Leaky(DUPLICATE), data, 3)) == len(released(Leaky(DUPLICATE), data, 0, 5)) == 4
    assert len(released(Leaky(DUPLICATE), data, 3, 4)) == 3


def test_leaky_does_not_move_for_a_record_that_has_a_duplicate(data: Dataset) -> None:
    assert released(Leaky(DUPLICATE), data)["age"].tolist() == ["*", "*", "*", "53"]
    assert [distance(Leaky(DUPLICATE), data, record) for record in range(data.size)] == [0] * data.size


def test_leaky_finds_its_record_by_value_when_it_is_asked_blind(data: Dataset) -> None:
    by_value = Leaky({"age": 47.0, "gender": "F", "disease": "Cancer"})
    for drop in range(data.size):
        assert released(by_value, data.without((drop,))).equals(released(Leaky(UNIQUE), data, drop))


@pytest.mark.parametrize("record", [-1, True, "first", 1.5])
def test_leaky_needs_a_record(record: Any) -> None:
    with pytest.raises(InputError, match="expected the number of a record"):
        Leaky(record)


@pytest.mark.parametrize(("record", "message"), [(6, "only 6 records"), ({"age": 47}, "no value of 'gender'")])
def test_leaky_refuses_a_record_that_the_data_cannot_hold(data: Dataset, record: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        released(Leaky(record), data)


@pytest.mark.parametrize("oracle", [Identity(), Constant(), Leaky(1)], ids=lambda oracle: oracle.card.name)
def test_each_is_a_deterministic_oracle_that_can_be_sent_and_used_alone(oracle: Oracle, data: Dataset) -> None:
    assert isinstance(oracle, Oracle)
    assert oracle.card.randomized is False
    assert len(list(oracle.answer(Ask(data, draws=3)))) == 3
    copy = pickle.loads(pickle.dumps(oracle))  # noqa: S301
    assert copy.anonymize(FRAME, SCHEMA).equals(released(oracle, data))


def test_several_sensitive_columns_are_released_jointly() -> None:
    schema = Schema(quasi={"age": "number"}, sensitive=["gender", "disease"])
    release = Constant().anonymize(FRAME, schema)
    assert len(release) == len(release.drop_duplicates()) == 2 * 3


def test_every_reference_oracle_has_a_name_and_is_an_oracle() -> None:
    assert {"constant", "identity", "laplace", "leaky", "mondrian", "noisy-table"} <= set(REFERENCE)
    for kind in REFERENCE.values():
        oracle = kind()
        assert isinstance(oracle, Oracle)
        oracle.close()
