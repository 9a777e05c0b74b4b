"""Laplace noise: exact law, coupled sides, and the counts it is added to."""

import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError
from harness.vocabulary.oracle import Ask, Oracle
from harness.vocabulary.release import Reader, checked_predictions
from harness.vocabulary.schema import Schema
from oracles.reference import Laplace, NoisyTable
from oracles.reference.laplace import standard_laplace

SCHEMA = Schema(quasi={"age": "number", "gender": "category"}, sensitive="disease")
FRAME = pd.DataFrame(
    {
        "age": [30, 30, 30, 30, 41, 41, None],
        "gender": ["F", "F", "F", "M", "M", "M", None],
        "disease": ["Flu", "Flu", "Cancer", "Flu", "Cancer", "Ague", "Flu"],
    }
)
NO_NOISE = math.inf


@pytest.fixture
def data() -> Dataset:
    return Dataset.from_frame(FRAME, SCHEMA, missing="keep")


def predictions(
    oracle: Laplace, data: Dataset, about: int, *, drop: tuple[int, ...] = (), draws: int = 1, seed: int = 0
) -> npt.NDArray[np.float64]:
    (answer,) = oracle.answer(Ask(data, drop, data.record(about).quasi, draws, seed))
    return checked_predictions(answer.rows, draws, len(data.sensitive_domain)).rows


# Laplace


def test_without_noise_the_predictions_are_the_smoothed_counts(data: Dataset) -> None:
    oracle = Laplace(NO_NOISE)
    assert data.sensitive_labels == ("Flu", "Cancer", "Ague")
    assert predictions(oracle, data, 0).tolist() == [[3 / 6, 2 / 6, 1 / 6]]
    assert predictions(oracle, data, 0, drop=(1,)).tolist() == [[2 / 5, 2 / 5, 1 / 5]]
    assert predictions(oracle, data, 0, drop=(3,)).tolist() == [[3 / 6, 2 / 6, 1 / 6]]  # drops somebody else
    assert predictions(oracle, data, 0, drop=(1, 3, 2)).tolist() == [[2 / 4, 1 / 4, 1 / 4]]
    assert predictions(oracle, data, 6).tolist() == [[2 / 4, 1 / 4, 1 / 4]]  # missing cells are values too


def test_quasi_identifiers_that_nobody_has_are_answered_with_a_count_of_zero(data: Dataset) -> None:
    (answer,) = Laplace(NO_NOISE).answer(Ask(data, about=(99, "X")))
    assert answer.rows.tolist() == [[1 / 3, 1 / 3, 1 / 3]]


@settings(max_examples=50, deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(0, 2), st.sampled_from("FM"), st.sampled_from("abc")), min_size=2, max_size=20),
    drop=st.sets(st.integers(0, 1)),
)
def test_the_counts_are_those_of_the_table_it_was_given(rows: list[tuple[int, str, str]], drop: set[int]) -> None:
    frame = pd.DataFrame(rows, columns=["age", "gender", "disease"])
    data = Dataset.from_frame(frame, SCHEMA)
    rest = frame.drop(index=list(drop))
    for about in range(len(frame)):
        age, gender, _ = rows[about]
        alike = rest[(rest["age"] == age) & (rest["gender"] == gender)]["disease"]
        counts = np.array([1 + (alike == label).sum() for label in data.sensitive_labels])
        assert predictions(Laplace(NO_NOISE), data, about, drop=tuple(drop)).tolist() == [
            (counts / counts.sum()).tolist()
        ]


def test_with_noise_the_predictions_follow_the_papers_formula(data: Dataset) -> None:
    noise = standard_laplace(np.random.default_rng(7), 50, 3).T
    weights = 1 + np.maximum(0, np.array([2, 1, 0]) + noise / 0.5)
    wanted = weights / weights.sum(axis=1, keepdims=True)
    assert predictions(Laplace(0.5), data, 0, draws=50, seed=7) == pytest.approx(wanted, rel=1e-14)


def test_the_noise_has_exactly_the_law_of_laplace() -> None:
    noise = np.sort(standard_laplace(np.random.default_rng(1), 40_000, 5).ravel())
    cdf = np.where(noise < 0, np.exp(noise) / 2, 1 - np.exp(-noise) / 2)
    gap = np.abs(cdf - (np.arange(noise.size) + 0.5) / noise.size).max()
    assert gap < 1.95 / math.sqrt(noise.size)  # Kolmogorov's distance, exceeded once in a thousand seeds


def test_magnitudes_and_signs_of_neighbouring_noise_are_independent() -> None:
    left, right = standard_laplace(np.random.default_rng(2), 50_000, 2)
    for one, other in ((left, right), (np.abs(left), np.abs(right)), (np.sign(left), np.abs(left))):
        assert abs(np.corrcoef(one, other)[0, 1]) < 4 / math.sqrt(50_000)


@settings(max_examples=30, deadline=None)
@given(short=st.integers(1, 40), more=st.integers(0, 40), seed=st.integers(0, 2**63 - 1))
def test_a_longer_ask_begins_with_a_shorter_one(short: int, more: int, seed: int) -> None:
    data = Dataset.from_frame(FRAME, SCHEMA, missing="keep")
    oracle = Laplace(1.0)
    longer = predictions(oracle, data, 0, draws=short + more, seed=seed)
    assert (longer[:short] == predictions(oracle, data, 0, draws=short, seed=seed)).all()


def test_both_sides_of_a_record_have_the_same_noise(data: Dataset) -> None:
    """Drop a Flu: the other two coordinates keep their odds in every draw."""
    present = predictions(Laplace(0.3), data, 0, draws=200, seed=3)
    absent = predictions(Laplace(0.3), data, 0, drop=(0,), draws=200, seed=3)
    assert (present[:, 1] / present[:, 2]) == pytest.approx(absent[:, 1] / absent[:, 2], rel=1e-12)
    assert (present[:, 0] >= absent[:, 0]).all()


def test_other_seeds_mean_other_noise(data: Dataset) -> None:
    oracle = Laplace(1.0)
    assert (predictions(oracle, data, 0, seed=1) != predictions(oracle, data, 0, seed=2)).any()


def test_a_release_is_not_changed_by_the_next_one(data: Dataset) -> None:
    oracle = Laplace(1.0)
    first = predictions(oracle, data, 0, draws=5)
    before = first.copy()
    predictions(oracle, data, 4, draws=5)
    assert (first == before).all()


def test_threads_and_pickled_copies_answer_alike(data: Dataset) -> None:
    oracle = Laplace(1.0)
    asks = [(about, seed) for about in range(6) for seed in range(5)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda ask: predictions(oracle, data, ask[0], draws=20, seed=ask[1]), asks))
    copy = pickle.loads(pickle.dumps(oracle))  # noqa: S301
    for (about, seed), rows in zip(asks, together, strict=True):
        assert (predictions(copy, data, about, draws=20, seed=seed) == rows).all()


def test_the_card_says_what_noise_there_is() -> None:
    noisy, exact = Laplace(0.5).card, Laplace(NO_NOISE).card
    assert isinstance(Laplace(), Oracle)
    assert (noisy.releases, noisy.randomized, noisy.seedable, noisy.noise_epsilon) == ("predictions", True, True, 0.5)
    assert exact.randomized is False
    assert exact.noise_epsilon == math.inf


@pytest.mark.parametrize("noise_epsilon", [0, -1.0, math.nan, "much", True, None])
@pytest.mark.parametrize("kind", [Laplace, NoisyTable])
def test_a_bad_noise_epsilon_is_refused_when_the_oracle_is_made(kind: Any, noise_epsilon: Any) -> None:
    with pytest.raises(InputError, match="expected a number above 0"):
        kind(noise_epsilon)


@pytest.mark.parametrize("about", [None, (30,)])
def test_a_question_about_nobody_is_refused(data: Dataset, about: tuple[Any, ...] | None) -> None:
    with pytest.raises(InputError, match="about one value each of age, gender"):
        list(Laplace().answer(Ask(data, about=about)))


def test_alone_it_predicts_for_every_row() -> None:
    rows = Laplace(NO_NOISE).anonymize(FRAME, SCHEMA)
    assert rows.columns.tolist() == ["Flu", "Cancer", "Ague"]
    assert rows.iloc[0].tolist() == [3 / 6, 2 / 6, 1 / 6]
    noisy = Laplace(1.0).anonymize(FRAME, SCHEMA, seed=1)
    assert noisy.iloc[0].tolist() == noisy.iloc[1].tolist()  # the same quasi-identifiers
    assert not noisy.equals(Laplace(1.0).anonymize(FRAME, SCHEMA, seed=2))


# NoisyTable


def test_a_contingency_table_has_every_combination_once(data: Dataset) -> None:
    (table,) = NoisyTable(NO_NOISE).answer(Ask(data))
    frame = table.to_frame()
    assert table.names == ("age", "gender", "disease", "count")
    assert len(frame) == 4 * 3  # distinct quasi-identifiers × sensitive values
    mine = frame[(frame["age"] == 30) & (frame["gender"] == "F")]
    assert dict(zip(mine["disease"], mine["count"], strict=True)) == {"Flu": 2, "Cancer": 1, "Ague": 0}
    assert frame["count"].sum() == len(FRAME)


def test_a_combination_that_vanishes_with_its_record_is_not_released(data: Dataset) -> None:
    (table,) = NoisyTable(NO_NOISE).answer(Ask(data, drop=(3,)))
    frame = table.to_frame()
    assert len(frame) == 3 * 3
    assert frame[(frame["age"] == 30) & (frame["gender"] == "M")].empty


@pytest.mark.parametrize("drop", [*((row,) for row in range(len(FRAME))), (3, 4, 5), (0, 1), tuple(range(7))], ids=str)
def test_a_contingency_table_without_some_rows_is_that_of_the_rest(data: Dataset, drop: tuple[int, ...]) -> None:
    (indexed,) = NoisyTable(1.0).answer(Ask(data, drop=drop, seed=5))
    (blind,) = NoisyTable(1.0).answer(Ask(data.without(drop), seed=5))
    assert indexed.to_frame().equals(blind.to_frame())


def test_each_draw_of_a_noisy_table_has_its_own_seed(data: Dataset) -> None:
    oracle = NoisyTable(0.5)
    several = [table.to_frame()["count"].tolist() for table in oracle.answer(Ask(data, draws=3, seed=8))]
    assert len({tuple(counts) for counts in several}) == 3
    (second,) = oracle.answer(Ask(data, seed=9))
    assert second.to_frame()["count"].tolist() == several[1]
    assert min(min(counts) for counts in several) < 0


def test_the_harness_reads_a_noisy_table_with_its_counts_as_weights(data: Dataset) -> None:
    (table,) = NoisyTable(NO_NOISE).answer(Ask(data))
    (secret,) = data.secrets(joint=True)
    assert Reader(data).read(table).for_secret(secret).class_weights.tolist() == [4, 2, 1]
