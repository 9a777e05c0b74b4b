"""Answers that audits share: the same releases, asked for once, and a damaged file only costs a question."""

import pickle
from pathlib import Path

import numpy as np
import pytest

from harness.vocabulary.oracle import Ask, Oracle
from harness.vocabulary.release import Predictions
from harness.vocabulary.table import Table
from oracles.clients.local import Local
from oracles.middleware import Counting
from oracles.reference import Laplace, Mondrian
from oracles.shared_answers import SharedAnswers
from tests.oracles.filters import dataset, noisy

DATA = dataset()
ABOUT = DATA.record(0).quasi


@pytest.mark.parametrize(
    ("oracle", "ask"),
    [
        (Local(noisy), Ask(DATA, (5,), draws=3, seed=7)),
        (Mondrian(k=1000, infeasible="generalise"), Ask(DATA)),
        (Laplace(noise_epsilon=1.0), Ask(DATA, (3,), ABOUT, draws=20, seed=1)),
    ],
)
def test_a_shared_answer_is_the_one_that_the_oracle_gave(oracle: Oracle, ask: Ask, tmp_path: Path) -> None:
    expected = list(oracle.answer(ask))
    first, counted = SharedAnswers(oracle, tmp_path), Counting(oracle)
    given = list(first.answer(ask))
    again = list(SharedAnswers(counted, tmp_path).answer(ask))
    assert counted.counts.asks == 0
    sent = list(pickle.loads(pickle.dumps(first)).answer(ask))  # noqa: S301
    for releases in (given, again, sent):
        for one, other in zip(releases, expected, strict=True):
            if isinstance(one, Table) and isinstance(other, Table):
                assert (one.digest, one.notes) == (other.digest, other.notes)
            else:
                assert isinstance(one, Predictions)
                assert isinstance(other, Predictions)
                np.testing.assert_array_equal(one.rows, other.rows)


def test_another_question_is_asked_and_a_damaged_answer_is_asked_for_again(tmp_path: Path) -> None:
    counted = Counting(Local(noisy))
    shared = SharedAnswers(counted, tmp_path)
    for ask in (Ask(DATA, (5,), seed=7), Ask(DATA, (5,), seed=8), Ask(DATA, (6,), seed=7), Ask(DATA, (5,), seed=7)):
        list(shared.answer(ask))
    assert counted.counts.asks == 3
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert path.stat().st_mode & 0o077 == 0, "releases are for their owner alone"
            path.write_bytes(path.read_bytes()[:-3])
    list(shared.answer(Ask(DATA, (5,), seed=7)))
    assert counted.counts.asks == 4
