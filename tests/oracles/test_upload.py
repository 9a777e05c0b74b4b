"""How asks become questions: inline, by digest, less one row or several, as the other side's version allows."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import ReleaseError
from harness.vocabulary.oracle import Ask, Card, Release
from oracles.clients import upload
from oracles.clients.upload import Sender
from oracles.wire.messages import Description, Refused, digest_of, pack_dataset
from oracles.wire.questions import Question
from tests.oracles.filters import dataset

DATA = dataset()


@dataclass
class Link:
    """A transport that only remembers what it was given; datasets with more rows than `most` are too large inline."""

    most: int = 1000
    puts: list[bytes] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)

    def pack(self, data: Dataset) -> bytes:
        return pack_dataset(data).SerializeToString()

    def put(self, digest: str, body: bytes) -> str:
        self.puts.append(body)
        return digest

    def ask(self, question: Question) -> Iterator[Release]:
        if isinstance(question.data, Dataset) and question.data.size > self.most:
            raise Refused("too large", code="TOO_LARGE")
        self.questions.append(question)
        yield DATA.table


def asked(link: Link, ask: Ask, *, minor: int = 1, keeps_data: bool = True) -> Question:
    """The question that an ask became."""
    sender = Sender(link, Description(Card("c", keeps_data=keeps_data), protocol=(1, minor)))
    assert len(list(sender.answer(ask))) == 1
    (question,) = link.questions
    return question


def rows_of(question: Question) -> str:
    assert isinstance(question.data, Dataset)
    return question.data.table.digest


@pytest.mark.parametrize("minor", [1, 2, 70])
def test_several_rows_are_named_to_a_server_that_understands_it(minor: int) -> None:
    question = asked(link := Link(), Ask(DATA, (7, 2)), minor=minor)
    assert question.data == digest_of(link.pack(DATA))
    assert question.drop == (7, 2)


def test_several_rows_are_never_named_to_an_older_server() -> None:
    question = asked(link := Link(), Ask(DATA, (7, 2)), minor=0)
    assert question.drop == ()
    assert rows_of(question) == DATA.table.without((7, 2)).digest
    assert not link.puts


def test_one_row_is_named_to_every_server_that_keeps_data() -> None:
    question = asked(Link(), Ask(DATA, (7,)), minor=0)
    assert isinstance(question.data, str)
    assert question.drop == (7,)


def test_a_server_that_keeps_no_data_is_sent_the_remaining_rows() -> None:
    question = asked(link := Link(), Ask(DATA, (7, 2)), keeps_data=False)
    assert rows_of(question) == DATA.table.without((7, 2)).digest
    assert not link.puts


def test_remaining_rows_that_are_too_large_are_put_as_a_dataset_of_their_own() -> None:
    question = asked(link := Link(most=10), Ask(DATA, (7, 2)), minor=0)
    assert question.drop == ()
    assert link.puts == [link.pack(DATA.without((7, 2)))]
    assert question.data == digest_of(link.puts[0])


def test_more_rows_than_a_question_may_name_go_as_the_remaining_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upload, "MOST_ROWS_LEFT_OUT", 2)
    assert asked(Link(), Ask(DATA, (1, 2))).drop == (1, 2)
    assert rows_of(asked(Link(), Ask(DATA, (1, 2, 3)))) == DATA.table.without((1, 2, 3)).digest


def test_data_is_put_once_however_many_rows_are_left_out_of_it() -> None:
    link = Link()
    sender = Sender(link, Description(Card("c", keeps_data=True)))
    for drop in ((1,), (2, 3), (4, 5, 6)):
        list(sender.answer(Ask(DATA, drop)))
    assert len(link.puts) == 1
    assert [question.drop for question in link.questions] == [(1,), (2, 3), (4, 5, 6)]


def test_a_server_that_keeps_other_data_than_it_was_given_is_not_asked() -> None:
    class Wrong(Link):
        def put(self, digest: str, body: bytes) -> str:
            return "0" * 64

    with pytest.raises(ReleaseError, match="keeps the data under '0000"):
        asked(Wrong(), Ask(DATA, (1, 2)))
