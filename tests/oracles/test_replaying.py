"""Recorded answers: replayed as they were given, found by the content of the question, whole or not at all."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError, OracleError
from harness.vocabulary.oracle import Ask, Card, Release
from harness.vocabulary.release import Predictions
from harness.vocabulary.schema import Schema
from harness.vocabulary.table import Table
from oracles.clients.local import Local
from oracles.recording import Recording, Replaying
from tests.oracles.asking import digests
from tests.oracles.filters import QUASI, dataset, decades, noisy, people, travelled

DATA = dataset()


def recorded(folder: Path, *asks: Ask) -> Path:
    path = folder / "audit.recording"
    recording = Recording(Local(noisy), path)
    for ask in asks:
        list(recording.answer(ask))
    return path


def test_a_replay_answers_as_the_oracle_did_without_it(tmp_path: Path) -> None:
    asks = [Ask(DATA, draws=3, seed=4), Ask(DATA, drop=(5,), seed=4), Ask(DATA, drop=(6,), seed=4)]
    replaying = Replaying(recorded(tmp_path, *asks))
    for ask in reversed(asks):
        assert digests(replaying, ask) == digests(Local(noisy), ask)
    assert replaying.card == replace(Local(noisy).card, in_process=False)
    assert digests(travelled(replaying), asks[0]) == digests(Local(noisy), asks[0])


def test_a_question_is_known_by_its_content_not_by_how_it_was_put(tmp_path: Path) -> None:
    replaying = Replaying(recorded(tmp_path, Ask(DATA, drop=(5,), seed=4)))
    blind = Ask(DATA.without((5,)), seed=4)
    assert digests(replaying, blind) == digests(Local(noisy), blind)


@pytest.mark.parametrize(
    "other", [{"drop": (6,)}, {"seed": 5}, {"draws": 2}, {"about": (1, "male", 2.5)}, {"drop": ()}]
)
def test_an_unknown_question_is_refused_clearly(tmp_path: Path, other: dict[str, Any]) -> None:
    ask = Ask(DATA, drop=(5,), seed=4)
    replaying = Replaying(recorded(tmp_path, ask))
    with pytest.raises(OracleError, match="holds no answer to this question"):
        list(replaying.answer(replace(ask, **other)))


def test_other_declarations_make_another_question(tmp_path: Path) -> None:
    replaying = Replaying(recorded(tmp_path, Ask(DATA)))
    schema = Schema({**QUASI, "age": "category"}, "illness")
    with pytest.raises(OracleError, match="holds no answer"):
        list(replaying.answer(Ask(Dataset.from_frame(people(), schema))))


def test_equal_questions_with_different_answers_are_replayed_in_their_order(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    path = tmp_path / "r"
    recording = Recording(Local(lambda frame: frame.sample(frac=1.0, random_state=rng)), path)
    answers = [digests(recording, Ask(DATA)) for _ in range(3)]
    assert answers[0] != answers[1]
    replaying = Replaying(path)
    assert [digests(replaying, Ask(DATA)) for _ in range(4)] == [*answers, answers[-1]]


def test_predictions_and_every_kind_of_cell_survive_a_recording_exactly(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).dirichlet(np.ones(4), size=50)
    frame = pd.DataFrame({"a": [1.5, None, np.inf], "b": [True, False, True], "c": ["ü\n", "", None], "d": [1, 2, 3]})
    mixed = Table.from_frame(frame)
    for release in (Predictions(rows), mixed):
        path = tmp_path / type(release).__name__
        list(Recording(Said(release), path).answer(Ask(DATA, draws=50)))
        (again,) = Replaying(path).answer(Ask(DATA, draws=50))
        if isinstance(release, Predictions):
            assert np.array_equal(again.rows, rows)
        else:
            assert again.digest == mixed.digest


class Said:
    """Says one thing."""

    card = Card("said")

    def __init__(self, release: Release) -> None:
        self.release = release

    def answer(self, ask: Ask) -> Iterator[Release]:
        yield self.release

    def close(self) -> None:
        pass


def test_a_line_torn_by_a_crash_is_no_answer_and_the_recording_goes_on(tmp_path: Path) -> None:
    path = recorded(tmp_path, Ask(DATA, seed=1), Ask(DATA, seed=2))
    path.write_bytes(path.read_bytes()[:-40])
    list(Recording(Local(noisy), path).answer(Ask(DATA, seed=3)))
    replaying = Replaying(path)
    for seed in (1, 3):
        assert len(list(replaying.answer(Ask(DATA, seed=seed)))) == 1
    with pytest.raises(OracleError, match="holds no answer"):
        list(replaying.answer(Ask(DATA, seed=2)))


def test_many_threads_record_whole_lines(tmp_path: Path) -> None:
    recording = Recording(Local(noisy), tmp_path / "r")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda seed: list(recording.answer(Ask(DATA, seed=seed))), range(40)))
    replaying = Replaying(tmp_path / "r")
    assert all(len(list(replaying.answer(Ask(DATA, seed=seed)))) == 1 for seed in range(40))


@pytest.mark.parametrize("content", ["", "hello", '{"recording": 9, "card": {}}', '{"recording": 1, "card": {"x": 1}}'])
def test_a_file_that_is_no_recording_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "r").write_text(content)
    with pytest.raises(InputError, match="recording"):
        Replaying(tmp_path / "r")


def test_the_recording_of_another_oracle_is_not_continued(tmp_path: Path) -> None:
    path = recorded(tmp_path, Ask(DATA))
    with pytest.raises(InputError, match="another oracle"):
        list(Recording(Local(decades), path).answer(Ask(DATA)))
