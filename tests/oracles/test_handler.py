"""The request handler of the vendor's kit: what it keeps, checks, bounds and refuses."""

import logging
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError, OracleError, ReleaseError
from harness.vocabulary.oracle import Ask, Card
from harness.vocabulary.release import Predictions
from harness.vocabulary.schema import Schema
from harness.vocabulary.table import Table
from oracles.clients.command import Command
from oracles.clients.local import Local
from oracles.serve.binding import host_and_port, require_token
from oracles.serve.handler import Handler
from oracles.serve.limits import Limits
from oracles.serve.room import size_in_memory
from oracles.wire import json_form, messages
from oracles.wire.messages import Refused
from oracles.wire.questions import Question
from tests.oracles.filters import dataset, decades, noisy
from tests.waiting import wait_until

TABLE = dataset().table


class Scripted:
    """An oracle that answers every question with these releases, or errors."""

    def __init__(self, *releases: Any, card: Card | None = None) -> None:
        self.releases, self.card = releases, card or Card("scripted")

    def answer(self, ask: Ask) -> Iterator[Any]:
        for release in self.releases:
            if isinstance(release, Exception):
                raise release
            yield release

    def close(self) -> None:
        pass


def body_of(data: Dataset) -> bytes:
    return messages.pack_dataset(data).SerializeToString()


def put(handler: Handler, data: Dataset) -> str:
    body = body_of(data)
    return handler.put(messages.digest_of(body), [body[:100], body[100:]], size=len(body))


def refused(code: str, call: Callable[[], object], match: str | None = None) -> Refused:
    with pytest.raises(Refused, match=match) as caught:
        call()
    assert caught.value.code == code
    return caught.value


def test_data_that_was_put_can_be_asked_about_by_index() -> None:
    data = dataset()
    handler = Handler(Local(decades))
    digest = put(handler, data)
    for drop in ((3,), (3, 17, 5)):
        (release,) = handler.answer(Question(digest, drop))
        assert release.digest == next(iter(Local(decades).answer(Ask(data, drop)))).digest


def test_data_may_be_put_as_json() -> None:
    handler = Handler(Local(decades))
    body = json_form.dumped(json_form.json_dataset(dataset()))
    digest = handler.put(messages.digest_of(body), [body], form="json")
    assert len(list(handler.answer(Question(digest)))) == 1


def test_putting_twice_changes_nothing_and_does_not_read_again() -> None:
    handler = Handler(Local(decades))
    digest = put(handler, dataset())
    assert handler.put(digest, (pytest.fail("read") for _ in range(1))) == digest


def test_every_draw_has_its_own_seed() -> None:
    data = dataset()
    handler = Handler(Local(noisy))
    long = [table.digest for table in handler.answer(Question(data, draws=3, seed=2**63 - 2))]
    short = [next(handler.answer(Question(data, seed=seed))).digest for seed in (2**63 - 2, 2**63 - 1, 0)]
    assert long == short


def test_data_under_a_wrong_digest_is_refused() -> None:
    refused("INVALID", lambda: Handler(Local(decades)).put("0" * 64, [body_of(dataset())]), "has the digest")


def test_data_that_is_too_large_is_refused_before_it_is_read_whole() -> None:
    handler = Handler(Local(decades), limits=Limits(dataset_bytes=100))
    refused("TOO_LARGE", lambda: handler.put("0" * 64, (bytes(60) for _ in iter(int, 1))))
    pieces = (b"" if piece == 0 else pytest.fail("read on") for piece in range(2))
    refused("TOO_LARGE", lambda: handler.put("0" * 64, pieces, size=101))
    handler = Handler(Local(decades), limits=Limits(kept_bytes=100))
    refused("TOO_LARGE", lambda: put(handler, dataset()))


def test_data_is_forgotten_when_it_was_not_used_for_long() -> None:
    now = [0.0]
    handler = Handler(Local(decades), limits=Limits(kept_seconds=10), clock=lambda: now[0])
    digest = put(handler, dataset())
    for now[0] in (9.0, 18.0):
        assert len(list(handler.answer(Question(digest)))) == 1
    now[0] = 28.5
    refused("UNKNOWN_DATA", lambda: list(handler.answer(Question(digest))))


def test_the_longest_unused_data_makes_room() -> None:
    one, two, three = (dataset(rows) for rows in (20, 21, 22))
    handler = Handler(Local(decades), limits=Limits(kept_bytes=5 * size_in_memory(three) // 2))
    first, second = put(handler, one), put(handler, two)
    list(handler.answer(Question(first)))
    put(handler, three)
    assert len(list(handler.answer(Question(first)))) == 1
    refused("UNKNOWN_DATA", lambda: list(handler.answer(Question(second))))


@pytest.mark.parametrize(
    ("question", "match"),
    [
        (lambda data: Question(data, (24,)), "row 24 is to be left out; the data has rows 0 to 23"),
        (lambda data: Question(data, draws=1001), "at most 1000"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(question: Callable[[Dataset], Question], match: str) -> None:
    handler = Handler(Scripted(card=Card("few", max_draws=1000)))
    refused("INVALID", lambda: list(handler.answer(question(dataset()))), match)


def test_every_row_that_is_left_out_must_be_a_row_of_the_data() -> None:
    handler = Handler(Local(decades))
    digest = put(handler, dataset())
    refused("INVALID", lambda: list(handler.answer(Question(digest, (3, 24)))), "row 24")
    (release,) = Handler(Scripted(TABLE)).answer(Question(dataset(1), (0,)))
    assert isinstance(release, Table)  # the only row may be left out


def test_a_prediction_needs_to_know_about_whom() -> None:
    handler = Handler(Scripted(card=Card("p", releases="predictions")))
    refused("INVALID", lambda: list(handler.answer(Question(dataset()))), "about")


def test_many_joint_sensitive_values_are_too_many_for_predictions_only() -> None:
    frame = pd.DataFrame({"q": range(120), "a": range(120), "b": range(120)})
    data = Dataset.from_frame(frame, Schema({"q": "number"}, ["a", "b"]))
    (release,) = Handler(Scripted(data.table)).answer(Question(data))
    assert isinstance(release, Table)
    handler = Handler(Scripted(card=Card("p", releases="predictions")))
    refused("INVALID", lambda: list(handler.answer(Question(data, about=(1,)))), "14400 values, more than 10000")


@pytest.mark.parametrize(
    ("releases", "match"),
    [
        ([], "sent 0 releases; expected 2"),
        ([TABLE], "sent 1 releases; expected 2"),
        ([TABLE] * 3, "sent more than 2 releases"),
        ([Predictions(np.ones((1, 4)) / 4)] * 2, "releases microdata, but it sent predictions"),
        ([TABLE.selecting(["age", "sex", "illness"])], "has no column 'weight kg'"),
        ([None], "returned nothing"),
        ([ValueError("oh")], "raised ValueError; its owner"),
        ([ReleaseError("hm")], "hm"),
    ],
)
def test_what_the_anonymizer_does_wrong_is_its_failure(releases: list[Any], match: str) -> None:
    handler = Handler(Scripted(*releases))
    refused("FAILED", lambda: list(handler.answer(Question(dataset(), draws=2))), match)


@pytest.mark.parametrize("rows", [[[0.5, 0.5]], [[0.5, 0.5, 0, 0.5]], [[np.nan, 1, 0, 0]], [[2.0, -1, 0, 0]]])
def test_predictions_that_are_none_are_a_failure(rows: list[list[float]]) -> None:
    handler = Handler(Scripted(Predictions(np.array(rows)), card=Card("p", releases="predictions")))
    refused("FAILED", lambda: list(handler.answer(Question(dataset(), about=(1, "male", 2.0)))))


def test_a_failure_that_may_pass_is_told_as_such() -> None:
    handler = Handler(Scripted(OracleError("later", retryable=True)))
    assert refused("UNAVAILABLE", lambda: list(handler.answer(Question(dataset())))).retryable


def test_a_server_that_stops_finishes_what_it_began_and_takes_nothing_new() -> None:
    handler = Handler(Scripted(TABLE, TABLE))
    under_way = handler.answer(Question(dataset(), draws=2))
    next(under_way)
    assert not handler.drain(0.01)
    refused("UNAVAILABLE", lambda: list(handler.answer(Question(dataset()))))
    drained: list[bool] = []
    waiting = threading.Thread(target=lambda: drained.append(handler.drain(120.0)))
    waiting.start()
    assert not drained
    assert list(under_way)
    wait_until(lambda: not waiting.is_alive())
    assert drained == [True]


def test_the_token_must_be_the_token() -> None:
    handler = Handler(Scripted(), token="secret")
    for right in ("Bearer secret", "bearer secret", "BEARER  secret"):
        handler.admit(right)
    for given in (None, "", "secret", "Bearer wrong", "Bearer schlüssel", "Basic secret"):
        with pytest.raises(Refused) as caught:
            handler.admit(given)
        assert caught.value.code == "UNAUTHENTICATED"
    Handler(Scripted()).admit(None)


def test_a_client_of_another_major_version_is_refused() -> None:
    refused("UNSUPPORTED", lambda: Handler(Scripted()).describe(2), "the client speaks version 2")
    assert Handler(Scripted()).describe(1).card.keeps_data


def test_the_log_holds_no_record(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    handler = Handler(Scripted(ReleaseError("no use for Brüche of a male of 53")))
    put(handler, dataset())
    refused("FAILED", lambda: list(handler.answer(Question(dataset()))))
    assert "answer FAILED" in caplog.text
    assert not any(word in caplog.text for word in ("Brüche", "male", "53 "))


def test_what_the_anonymizer_raises_is_for_its_owner_alone(capsys: pytest.CaptureFixture[str]) -> None:
    def fails(frame: pd.DataFrame) -> pd.DataFrame:
        raise ValueError("bad age 53")

    for oracle in (Scripted(ValueError("bad age 53")), Local(fails)):
        with pytest.raises(Refused) as caught:
            list(Handler(oracle).answer(Question(dataset())))
        assert "53" not in str(caught.value)
        assert "ValueError: bad age 53" in capsys.readouterr().err


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_only_a_server_for_this_machine_alone_needs_no_token(host: str) -> None:
    with pytest.raises(InputError, match="needs a token"):
        require_token(host, None)
    require_token(host, "secret")
    for near in ("127.0.0.1", "127.1.2.3", "::1", "localhost"):
        require_token(near, None)
    with pytest.raises(InputError, match="empty"):
        require_token(host, "")


def test_an_address_to_listen_on_is_a_host_and_a_port() -> None:
    assert host_and_port("[::1]:0") == ("::1", 0)
    for wrong in ("8080", ":8080", "localhost", "localhost:http", "localhost:99999"):
        with pytest.raises(InputError, match="HOST:PORT"):
            host_and_port(wrong)


@pytest.mark.parametrize("debug", [False, True])
def test_callers_are_told_where_the_anonymizer_failed_only_if_its_owner_wants_that(debug: bool) -> None:
    def fails(frame: pd.DataFrame) -> pd.DataFrame:
        raise ValueError("bad age 53")

    for oracle in (Scripted(ValueError("bad age 53")), Local(fails)):
        with pytest.raises(Refused, match="the anonymizer raised ValueError" if not debug else "bad age 53") as caught:
            list(Handler(oracle, debug=debug).answer(Question(dataset())))
        assert ("test_handler.py" in str(caught.value)) is debug
        assert ("line" in str(caught.value)) is debug


@pytest.mark.parametrize("debug", [False, True])
def test_what_a_program_prints_when_it_fails_is_for_its_owner(debug: bool) -> None:
    oracle = Command([sys.executable, "-c", "raise ValueError('bad age 53')"])
    with pytest.raises(Refused, match="the program of f failed" if not debug else "bad age 53") as caught:
        list(Handler(oracle, debug=debug).answer(Question(dataset())))
    assert ("53" in str(caught.value)) is debug
    assert caught.value.code == "FAILED"
