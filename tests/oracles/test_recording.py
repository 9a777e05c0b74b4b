"""Recordings know a question by the rows that f sees, however many were left out, and keep what was said about it."""

import json
from pathlib import Path

import pandas as pd
import pytest

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError, OracleError
from harness.vocabulary.oracle import Ask
from harness.vocabulary.schema import Schema
from harness.vocabulary.table import Table
from oracles.clients.local import Local
from oracles.recording import Recording, Replaying
from oracles.reference import Identity, Mondrian
from tests.oracles.filters import dataset, noisy

DATA = dataset()


def test_several_rows_left_out_are_another_question_than_one_of_them(tmp_path: Path) -> None:
    path = tmp_path / "recording"
    asks = [Ask(DATA, (5,)), Ask(DATA, (5, 6)), Ask(DATA, (6, 5, 7))]
    recording = Recording(Local(noisy), path)
    for ask in asks:
        list(recording.answer(ask))
    replaying = Replaying(path)
    for ask in (*asks, Ask(DATA, (7, 6, 5)), Ask(DATA.without((6, 5)))):
        (release,), (expected,) = replaying.answer(ask), Local(noisy).answer(ask)
        assert release.digest == expected.digest
    with pytest.raises(OracleError, match="holds no answer"):
        list(replaying.answer(Ask(DATA, (5, 7))))


def test_a_replay_says_about_a_release_what_the_oracle_said(tmp_path: Path) -> None:
    path = tmp_path / "recording"
    (release,) = Recording(Mondrian(k=1000, infeasible="generalise"), path).answer(Ask(DATA))
    (again,) = Replaying(path).answer(Ask(DATA))
    assert isinstance(release, Table)
    assert isinstance(again, Table)
    assert release.notes
    assert again.notes == release.notes


def test_microdata_with_many_joint_sensitive_values_can_be_recorded(tmp_path: Path) -> None:
    frame = pd.DataFrame({"q": range(120), "a": range(120), "b": range(120)})
    data = Dataset.from_frame(frame, Schema({"q": "number"}, ["a", "b"]))
    path = tmp_path / "recording"
    list(Recording(Identity(), path).answer(Ask(data)))
    assert len(list(Replaying(path).answer(Ask(data)))) == 1


def test_a_recording_of_an_older_format_is_refused_by_its_version(tmp_path: Path) -> None:
    path = tmp_path / "recording"
    path.write_text(json.dumps({"recording": 1, "card": {"name": "old", "computes_here": True}}) + "\n")
    with pytest.raises(InputError, match="recording of version 1; this harness reads 2"):
        Replaying(path)
