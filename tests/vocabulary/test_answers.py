"""What an oracle answered is checked in kind, number and shape, by the audit and by servers alike."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.vocabulary.answers import checked_answers, parts_of
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import ReleaseError
from harness.vocabulary.oracle import Ask, Card
from harness.vocabulary.release import Predictions
from harness.vocabulary.schema import Schema
from harness.vocabulary.table import Cells, Table

DATA = Dataset.from_frame(pd.DataFrame({"q": [1, 2, 3], "s": ["x", "y", "x"]}), Schema({"q": "number"}, "s"))
TABLE = DATA.table
PREDICTING = Card("p", releases="predictions")


class Scripted:
    """Answers every ask with what `reply` gives for it, and remembers the asks."""

    def __init__(self, card: Card, reply: Any) -> None:
        self.card, self.reply = card, reply
        self.asks: list[Ask] = []

    def answer(self, ask: Ask) -> Iterator[Any]:
        self.asks.append(ask)
        yield from self.reply(ask)

    def close(self) -> None:
        pass


def tables(ask: Ask) -> list[Table]:
    return [TABLE] * ask.draws


def uniform(ask: Ask) -> list[Predictions]:
    return [Predictions(np.full((ask.draws, 2), 0.5))]


@given(st.integers(1, 40), st.none() | st.integers(1, 40), st.integers(0, 2**63 - 1))
def test_a_long_ask_is_asked_in_parts_that_have_its_seeds(draws: int, most: int | None, seed: int) -> None:
    parts = list(parts_of(Ask(DATA, (1,), draws=draws, seed=seed), most))
    assert [one for part in parts for one in part.seeds()] == Ask(DATA, draws=draws, seed=seed).seeds()
    assert all(part.draws <= (most or draws) and part.drop == (1,) for part in parts)


def test_every_release_of_every_part_arrives_once() -> None:
    oracle = Scripted(Card("m", max_draws=2), tables)
    assert len(list(checked_answers(oracle, Ask(DATA, draws=5, seed=9)))) == 5
    assert [(ask.draws, ask.seed) for ask in oracle.asks] == [(2, 9), (2, 11), (1, 13)]
    predicting = Scripted(replace(PREDICTING, max_draws=2), uniform)
    releases = list(checked_answers(predicting, Ask(DATA, draws=5)))
    shapes = [release.rows.shape for release in releases if isinstance(release, Predictions)]
    assert shapes == [(2, 2), (2, 2), (1, 2)]


def test_a_data_frame_and_an_array_are_releases_too() -> None:
    (table,) = checked_answers(Scripted(Card("m"), lambda ask: [TABLE.to_frame()]), Ask(DATA))
    assert table.digest == TABLE.digest
    (rows,) = checked_answers(Scripted(PREDICTING, lambda ask: [np.full((1, 2), 0.5)]), Ask(DATA))
    assert isinstance(rows, Predictions)


SHORT = Cells(np.array(["x"], dtype=object), np.zeros(2, dtype=np.int32))


@pytest.mark.parametrize(
    ("card", "releases", "message"),
    [
        (Card("m"), [], "it sent 0 releases; expected 2"),
        (Card("m"), [TABLE], "it sent 1 releases; expected 2"),
        (Card("m"), [TABLE] * 3, "it sent more than 2 releases"),
        (Card("m"), [Predictions(np.full((2, 2), 0.5))], "says that it releases microdata, but it sent predictions"),
        (Card("m"), [TABLE.selecting(["q"])], "the release has no column 's' \\(sensitive\\)"),
        (Card("m"), [Table(("q", "s"), (TABLE.column("q"), SHORT))], "have different lengths"),
        (Card("m"), [None], "returned nothing"),
        (PREDICTING, [TABLE], "says that it releases predictions, but it sent microdata"),
        (PREDICTING, [], "it sent 0 releases; expected 1"),
        (PREDICTING, [Predictions(np.full((2, 2), 0.5))] * 2, "it sent more than 1 releases"),
        (PREDICTING, [Predictions(np.full((1, 2), 0.5))], "shape \\(1, 2\\); expected \\(2, 2\\)"),
        (PREDICTING, [Predictions(np.full((2, 3), 1 / 3))], "shape \\(2, 3\\); expected \\(2, 2\\)"),
        (PREDICTING, [Predictions(np.full((2, 2), 0.6))], "not probabilities"),
    ],
)
def test_anything_else_than_was_asked_for_is_an_error(card: Card, releases: list[Any], message: str) -> None:
    with pytest.raises(ReleaseError, match=message):
        list(checked_answers(Scripted(card, lambda ask: releases), Ask(DATA, draws=2)))


def test_the_caller_says_which_question_it_was() -> None:
    with pytest.raises(ReleaseError) as caught:
        list(checked_answers(Scripted(Card("m"), lambda ask: []), Ask(DATA)))
    located = caught.value.within("oracle 'm', asked for f(D)")
    assert str(located) == "oracle 'm', asked for f(D): it sent 0 releases; expected 1"
    assert type(located) is ReleaseError


def test_an_endless_answer_is_read_no_further_than_one_release_too_many() -> None:
    seen: list[int] = []

    def endless(ask: Ask) -> Iterator[Table]:
        while True:
            seen.append(1)
            yield TABLE

    with pytest.raises(ReleaseError, match="more than 2 releases"):
        list(checked_answers(Scripted(Card("m"), endless), Ask(DATA, draws=2)))
    assert len(seen) == 3
