"""The contract of an oracle: what every one must do, whatever the anonymizer behind it and the way to it.

    pytest --pyargs harness.testing.contract --oracle ADDRESS

Each law is one function of an oracle and a dataset to ask it about, and raises AssertionError where it does not hold.
The plugin of the harness gives both as fixtures; our own transports and reference anonymizers are tested with the very
same functions. Laws about equal answers speak only of oracles whose answers can be equal: those that honour seeds, or
that say of themselves, or show, that they are deterministic; for others they are skipped.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any
from unittest import SkipTest

import numpy as np

from harness.vocabulary.answers import checked_answers
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import OracleError
from harness.vocabulary.oracle import Ask, Card, Oracle, Release
from harness.vocabulary.release import Predictions
from harness.vocabulary.table import Table
from harness.vocabulary.values.atoms import cell_text, number

SEED = 2**62 + 7  # a seed of 63 bits must arrive as it is
THREADS = 4


def test_the_card_is_filled_in_and_does_not_change(oracle: Oracle, oracle_data: Dataset) -> None:
    card = oracle.card
    assert isinstance(card, Card)
    assert card.name, "the card has no name"
    assert card.releases in ("microdata", "predictions")
    assert card.max_draws is None or card.max_draws >= 1
    answers_to(oracle, question(oracle, oracle_data))
    assert oracle.card == card, "the card is another one after the first question"


def test_it_sends_what_was_asked_for(oracle: Oracle, oracle_data: Dataset) -> None:
    """As many releases as draws, of the kind on the card, with every declared column; predictions are distributions."""
    for draws in (1, 3):
        ask = question(oracle, oracle_data, draws=draws)
        releases = list(checked_answers(oracle, ask))
        assert sum(len(one.rows) if isinstance(one, Predictions) else 1 for one in releases) == draws


def test_equal_questions_get_equal_answers(oracle: Oracle, oracle_data: Dataset) -> None:
    """Unless it is random and honours no seed."""
    require_repetition(oracle, oracle_data)
    ask = question(oracle, oracle_data, draws=2, seed=SEED)
    assert answers_to(oracle, ask) == answers_to(oracle, ask)


def test_what_it_says_of_its_randomness_is_what_it_does(oracle: Oracle, oracle_data: Dataset) -> None:
    first = answers_to(oracle, question(oracle, oracle_data, seed=1))
    others = [answers_to(oracle, question(oracle, oracle_data, seed=seed)) for seed in (2, 3, SEED)]
    if oracle.card.randomized is False:
        assert all(other == first for other in others), "it says that it is deterministic, but its answers differ"
    if oracle.card.seedable:
        again = answers_to(oracle, question(oracle, oracle_data, seed=1))
        assert again == first, "it says that it honours seeds, but one seed gave two answers"


def test_a_shorter_question_gets_the_first_draws_of_a_longer_one(oracle: Oracle, oracle_data: Dataset) -> None:
    """Draw i of an ask has the seed of the ask plus i; predictions of one ask may be drawn together."""
    require_repetition(oracle, oracle_data)
    if oracle.card.releases == "predictions":
        raise SkipTest("all predictions of one question may be drawn together")
    several = answers_to(oracle, question(oracle, oracle_data, draws=3, seed=SEED))
    for place in range(3):
        assert answers_to(oracle, question(oracle, oracle_data, seed=SEED + place)) == [several[place]]


def test_rows_that_are_left_out_by_index_are_as_if_they_had_never_been_there(
    oracle: Oracle, oracle_data: Dataset
) -> None:
    require_repetition(oracle, oracle_data)
    last = oracle_data.size - 1
    for drop in ((last,), (last, 0, 1)):
        by_index = question(oracle, oracle_data, drop=drop, seed=7)
        inline = question(oracle, oracle_data.without(tuple(sorted(drop))), seed=7, about=by_index.about)
        assert answers_to(oracle, by_index) == answers_to(oracle, inline)


def test_many_threads_get_the_answers_of_one(oracle: Oracle, oracle_data: Dataset) -> None:
    asks = [question(oracle, oracle_data, drop=(row,), seed=row) for row in range(THREADS)]
    with ThreadPoolExecutor(THREADS) as pool:
        at_once = list(pool.map(lambda ask: answers_to(oracle, ask), asks))
    if repeats_itself(oracle, oracle_data):
        assert at_once == [answers_to(oracle, ask) for ask in asks]


def test_another_question_in_between_changes_no_answer(oracle: Oracle, oracle_data: Dataset) -> None:
    """No memory of earlier questions: neither of other tables nor of other seeds."""
    require_repetition(oracle, oracle_data)
    ask = question(oracle, oracle_data, seed=11)
    before = answers_to(oracle, ask)
    answers_to(oracle, question(oracle, oracle_data, drop=(0, 1), seed=12))
    assert answers_to(oracle, ask) == before


def test_a_copy_of_it_in_another_process_is_the_same_oracle(oracle: Oracle, oracle_data: Dataset) -> None:
    """It travels to worker processes by pickle, as a recipe of how to open it."""
    copy: Oracle = pickle.loads(pickle.dumps(oracle))  # noqa: S301
    try:
        assert asdict(copy.card) == asdict(oracle.card)
        ask = question(oracle, oracle_data, draws=2, seed=SEED)
        answers = answers_to(copy, ask)
        if repeats_itself(oracle, oracle_data):
            assert answers == answers_to(oracle, ask)
    finally:
        copy.close()


def test_an_answer_that_is_not_read_to_its_end_spoils_nothing(oracle: Oracle, oracle_data: Dataset) -> None:
    ask = question(oracle, oracle_data, seed=3)
    expected = answers_to(oracle, ask)
    half: Any = iter(oracle.answer(question(oracle, oracle_data, draws=3, seed=SEED)))
    next(half)
    if hasattr(half, "close"):
        half.close()
    answers = answers_to(oracle, ask)
    if repeats_itself(oracle, oracle_data):
        assert answers == expected


def test_a_question_that_it_refuses_is_an_error_of_the_oracle_and_spoils_nothing(
    oracle: Oracle, oracle_data: Dataset
) -> None:
    """One row is a table too; whoever cannot anonymize it must say so, and answer the next question as ever."""
    ask = question(oracle, oracle_data, seed=5)
    expected = answers_to(oracle, ask)
    one_row = question(oracle, oracle_data.without(tuple(range(1, oracle_data.size))), seed=5, about=ask.about)
    refused = [_refusal(oracle, one_row) for _ in range(2)]
    if repeats_itself(oracle, oracle_data):
        assert (refused[0] is None) == (refused[1] is None), "it refuses a table that it anonymized before"
        assert answers_to(oracle, ask) == expected


def _refusal(oracle: Oracle, ask: Ask) -> OracleError | None:
    try:
        list(checked_answers(oracle, ask))
    except OracleError as error:
        return error
    return None


def question(oracle: Oracle, data: Dataset, **options: Any) -> Ask:
    """An ask about this data; an oracle that releases predictions is asked about the first record."""
    about = data.record(0).quasi if oracle.card.releases == "predictions" else None
    return Ask(data, **{"about": about, **options})


def repeats_itself(oracle: Oracle, data: Dataset) -> bool:
    """Whether equal questions must get equal answers; an oracle that does not say is asked the same thing twice."""
    if oracle.card.seedable or oracle.card.randomized is False:
        return True
    if oracle.card.randomized:
        return False
    ask = question(oracle, data)
    return answers_to(oracle, ask) == answers_to(oracle, ask)


def require_repetition(oracle: Oracle, data: Dataset) -> None:
    """Skips a law about equal answers where answers may differ."""
    if not repeats_itself(oracle, data):
        raise SkipTest("it is random and honours no seed, so that equal questions may get different answers")


def answers_to(oracle: Oracle, ask: Ask) -> list[Any]:
    """What the releases hold, in a form that can be compared."""
    return content(checked_answers(oracle, ask))


def content(releases: Iterable[Release]) -> list[Any]:
    """What releases hold, whatever the types of their cells: the text `7` and the number 7 are one."""
    return [_content(release) for release in releases]


def _content(release: Release) -> Any:
    if isinstance(release, Predictions):
        return np.asarray(release.rows).tolist()
    assert isinstance(release, Table)
    columns = zip(release.names, release.columns, strict=True)
    return {name: [_meant(cell_text(cell)) for cell in cells.values().tolist()] for name, cells in columns}


def _meant(text: str) -> Any:
    value = number(text)
    return text if value is None else value
