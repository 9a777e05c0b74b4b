"""The brain of the vendor's kit: what it keeps, checks, bounds and refuses."""

import logging
import threading
import time

import numpy as np
import pytest

from harness.vocabulary.errors import InputError, OracleError, ReleaseError
from harness.vocabulary.oracle import Card
from harness.vocabulary.release import Predictions
from oracles.clients.local import Local
from oracles.serve.binding import host_and_port, require_token
from oracles.serve.handler import Handler, Limits
from oracles.wire import json_form, messages
from oracles.wire.messages import Question, Refused
from tests.oracles.filters import dataset, decades, noisy


class Saying:
    """An oracle that answers whatever it was told to."""

    def __init__(self, *releases, card=None):
        self.releases, self.card = releases, card or Card("saying")

    def answer(self, ask):
        for release in self.releases:
            if isinstance(release, Exception):
                raise release
            yield release

    def close(self):
        pass


def body_of(data) -> bytes:
    return messages.pack_dataset(data).SerializeToString()


def put(handler, data) -> str:
    body = body_of(data)
    return handler.put(messages.digest_of(body), [body[:100], body[100:]], size=len(body))


def refused(code, call, match=None):
    with pytest.raises(Refused, match=match) as caught:
        call()
    assert caught.value.code == code
    return caught.value


def test_data_that_was_put_can_be_asked_about_by_index():
    data = dataset()
    handler = Handler(Local(decades))
    (found,) = handler.answer(Question(put(handler, data), drop=3))
    assert found.digest == next(iter(Local(decades).answer(Question(data, 3).of(data)))).digest


def test_data_may_be_put_as_json():
    handler = Handler(Local(decades))
    body = json_form.dumped(json_form.json_dataset(dataset()))
    digest = handler.put(messages.digest_of(body), [body], form="json")
    assert len(list(handler.answer(Question(digest)))) == 1


def test_putting_twice_changes_nothing_and_does_not_read_again():
    handler = Handler(Local(decades))
    digest = put(handler, dataset())
    assert handler.put(digest, (pytest.fail("read") for _ in range(1))) == digest


def test_every_draw_has_its_own_seed():
    data = dataset()
    handler = Handler(Local(noisy))
    long = [table.digest for table in handler.answer(Question(data, draws=3, seed=2**63 - 2))]
    short = [next(handler.answer(Question(data, seed=seed))).digest for seed in (2**63 - 2, 2**63 - 1, 0)]
    assert long == short


def test_data_under_a_wrong_digest_is_refused():
    refused("INVALID", lambda: Handler(Local(decades)).put("0" * 64, [body_of(dataset())]), "has the digest")


def test_data_that_is_too_large_is_refused_before_it_is_read_whole():
    handler = Handler(Local(decades), limits=Limits(dataset_bytes=100))
    refused("TOO_LARGE", lambda: handler.put("0" * 64, (bytes(60) for _ in iter(int, 1))))
    refused("TOO_LARGE", lambda: handler.put("0" * 64, iter([b"", pytest.fail]), size=101))
    handler = Handler(Local(decades), limits=Limits(kept_bytes=100))
    refused("TOO_LARGE", lambda: put(handler, dataset()))


def test_data_is_forgotten_when_it_was_not_used_for_long():
    now = [0.0]
    handler = Handler(Local(decades), limits=Limits(kept_seconds=10), clock=lambda: now[0])
    digest = put(handler, dataset())
    for now[0] in (9.0, 18.0):
        assert len(list(handler.answer(Question(digest)))) == 1
    now[0] = 28.5
    refused("UNKNOWN_DATA", lambda: list(handler.answer(Question(digest))))


def test_the_longest_unused_data_makes_room():
    one, two, three = (dataset(rows) for rows in (20, 21, 22))
    handler = Handler(Local(decades), limits=Limits(kept_bytes=3 * len(body_of(three)) + 3000))
    first, second = put(handler, one), put(handler, two)
    list(handler.answer(Question(first)))
    put(handler, three)
    assert len(list(handler.answer(Question(first)))) == 1
    refused("UNKNOWN_DATA", lambda: list(handler.answer(Question(second))))


@pytest.mark.parametrize(
    "question",
    [
        lambda data: Question(data, drop=24),
        lambda data: Question(data, draws=1001),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(question):
    handler = Handler(Saying(card=Card("few", max_draws=1000)))
    refused("INVALID", lambda: list(handler.answer(question(dataset()))))


def test_a_prediction_needs_to_know_about_whom():
    handler = Handler(Saying(card=Card("p", releases="predictions")))
    refused("INVALID", lambda: list(handler.answer(Question(dataset()))), "about")


TABLE = dataset().table


@pytest.mark.parametrize(
    ("releases", "match"),
    [
        ([], "gave 0 releases; expected 2"),
        ([TABLE], "gave 1 releases"),
        ([TABLE] * 3, "other than 2 microdata"),
        ([Predictions(np.ones((1, 4)) / 4)] * 2, "other than 2 microdata"),
        ([TABLE.selecting(["age", "sex", "illness"])], "left out the column 'weight kg'"),
        ([None], "returned nothing"),
        ([ValueError("oh")], "raised ValueError: oh"),
        ([ReleaseError("hm")], "hm"),
    ],
)
def test_what_the_anonymizer_does_wrong_is_its_failure(releases, match):
    handler = Handler(Saying(*releases))
    refused("FAILED", lambda: list(handler.answer(Question(dataset(), draws=2))), match)


@pytest.mark.parametrize("rows", [[[0.5, 0.5]], [[0.5, 0.5, 0, 0.5]], [[np.nan, 1, 0, 0]], [[2.0, -1, 0, 0]]])
def test_predictions_that_are_none_are_a_failure(rows):
    handler = Handler(Saying(Predictions(np.array(rows)), card=Card("p", releases="predictions")))
    refused("FAILED", lambda: list(handler.answer(Question(dataset(), about=(1, "male", 2.0)))))


def test_a_failure_that_may_pass_is_told_as_such():
    handler = Handler(Saying(OracleError("later", retryable=True)))
    assert refused("UNAVAILABLE", lambda: list(handler.answer(Question(dataset())))).retryable


def test_too_many_questions_at_once_wait_and_are_then_sent_away():
    handler = Handler(Saying(TABLE, TABLE), limits=Limits(patience=0.05))
    first = handler.answer(Question(dataset(), draws=2))
    next(first)
    assert refused("BUSY", lambda: next(handler.answer(Question(dataset())))).retry_after
    first.close()  # an abandoned question gives its turn back
    next(handler.answer(Question(dataset(), draws=2)))


def test_a_server_that_stops_finishes_what_it_began_and_takes_nothing_new():
    handler = Handler(Saying(TABLE, TABLE))
    under_way = handler.answer(Question(dataset(), draws=2))
    next(under_way)
    assert not handler.drain(0.01)
    refused("UNAVAILABLE", lambda: list(handler.answer(Question(dataset()))))
    threading.Timer(0.1, lambda: list(under_way)).start()
    began = time.monotonic()
    assert handler.drain(10.0)
    assert time.monotonic() - began < 5


def test_the_token_must_be_the_token():
    handler = Handler(Saying(), token="secret")
    handler.admit("Bearer secret")
    for said in (None, "", "secret", "Bearer wrong", "Bearer schlüssel", "bearer secret"):
        refused("UNAUTHENTICATED", lambda said=said: handler.admit(said))
    Handler(Saying()).admit(None)


def test_a_client_of_another_major_version_is_refused():
    refused("UNSUPPORTED", lambda: Handler(Saying()).describe(2), "the client speaks version 2")
    assert Handler(Saying()).describe(1).card.keeps_data


def test_the_log_holds_no_record(caplog):
    caplog.set_level(logging.DEBUG)
    handler = Handler(Saying(ReleaseError("no use for Brüche of a male of 53")))
    put(handler, dataset())
    refused("FAILED", lambda: list(handler.answer(Question(dataset()))))
    assert "answer FAILED" in caplog.text
    assert not any(word in caplog.text for word in ("Brüche", "male", "53 "))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_only_a_server_for_this_machine_alone_needs_no_token(host):
    with pytest.raises(InputError, match="needs a token"):
        require_token(host, None)
    require_token(host, "secret")
    for near in ("127.0.0.1", "127.1.2.3", "::1", "localhost"):
        require_token(near, None)
    with pytest.raises(InputError, match="empty"):
        require_token(host, "")


def test_an_address_to_listen_on_is_a_host_and_a_port():
    assert host_and_port("[::1]:0") == ("::1", 0)
    for wrong in ("8080", ":8080", "localhost", "localhost:http", "localhost:99999"):
        with pytest.raises(InputError, match="HOST:PORT"):
            host_and_port(wrong)
