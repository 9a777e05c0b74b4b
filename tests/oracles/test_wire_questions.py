"""Questions, cards and problems in both forms; questions that leave out rows are understood or refused."""

from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from hypothesis import given
from hypothesis import strategies as st

from harness.vocabulary.errors import InputError
from harness.vocabulary.oracle import Card
from oracles.wire import json_form, messages, questions
from oracles.wire._pb import oracle_pb2 as pb
from oracles.wire.messages import Description, Refused
from oracles.wire.questions import Question
from tests.oracles.wire_samples import CELLS, WORDS, mixed


def question_over_protobuf(question: Question) -> Question:
    packed = questions.pack_question(question).SerializeToString()
    return questions.unpack_question(messages.parsed(pb.AnswerRequest, packed))


def question_over_json(question: Question) -> Question:
    return json_form.read_question(json_form.loaded(json_form.dumped(json_form.json_question(question))))


@given(
    st.lists(st.integers(0, 2**32), max_size=4, unique=True).map(tuple),
    st.none() | st.lists(st.none() | CELLS["ints"] | CELLS["bools"] | WORDS | st.floats(-9, 9), min_size=1).map(tuple),
    st.integers(1, 2**31),
    st.integers(0, 2**63 - 1),
)
def test_a_question_arrives_as_it_was_asked(
    drop: tuple[int, ...], about: tuple[Any, ...] | None, draws: int, seed: int
) -> None:
    asked = Question("ab" * 32, drop, about, draws, seed)
    for read in (question_over_protobuf(asked), question_over_json(asked)):
        assert (read.data, read.drop, read.about, read.draws, read.seed) == ("ab" * 32, drop, about, draws, seed)
        assert [type(cell) for cell in read.about or ()] == [type(cell) for cell in about or ()]


def test_one_row_travels_as_in_version_1_0_and_several_in_a_form_of_their_own() -> None:
    one, several = Question("ab", (7,)), Question("ab", (7, 3))
    assert questions.pack_question(one) == pb.AnswerRequest(digest="ab", drop=7, draws=1)
    assert questions.pack_question(several) == pb.AnswerRequest(without=pb.Without(digest="ab", rows=[7, 3]), draws=1)
    assert json_form.json_question(one) == {"digest": "ab", "drop": 7, "draws": 1, "seed": "0"}
    without = {"digest": "ab", "rows": [7, 3]}
    assert json_form.json_question(several) == {"without": without, "draws": 1, "seed": "0"}


@pytest.mark.parametrize(
    ("packed", "written", "message"),
    [
        (pb.Without(digest="ab"), {"digest": "ab", "rows": []}, "names no rows"),
        (pb.Without(digest="ab", rows=[1, 2, 1]), {"digest": "ab", "rows": [1, 2, 1]}, "is named twice"),
        (
            pb.Without(digest="ab", rows=range(100_001)),
            {"digest": "ab", "rows": list(range(100_001))},
            "100001 rows are to be left out; at most 100000",
        ),
        (None, {"digest": "ab", "rows": [-1]}, "a row of without must be a whole number"),
        (None, {"digest": "ab", "rows": ["1"]}, "a row of without must be a whole number"),
        (None, {"digest": "ab", "rows": 1}, "without.rows must be a list"),
        (None, {"digest": "ab"}, "without.rows must be a list"),
        (None, {"rows": [1]}, "digest must be a text"),
        (None, [1, 2], "without must be an object"),
    ],
)
def test_rows_to_leave_out_that_make_no_sense_are_refused(packed: Any, written: Any, message: str) -> None:
    """Never ignored: a release of all rows would look as if nobody mattered."""
    with pytest.raises(InputError, match=message):
        json_form.read_question({"without": written})
    if packed is not None:
        with pytest.raises(InputError, match=message):
            questions.unpack_question(pb.AnswerRequest(without=packed, draws=1))


def test_a_question_names_its_data_once() -> None:
    without = {"digest": "ab", "rows": [1, 2]}
    for message in ({}, {"digest": "ab", "without": without}, {"dataset": {}, "without": without}):
        with pytest.raises(InputError, match="expected either a dataset, a digest"):
            json_form.read_question(message)
    with pytest.raises(InputError, match="drop as well as without"):
        json_form.read_question({"without": without, "drop": 3})
    with pytest.raises(InputError, match="drop as well as without"):
        questions.unpack_question(pb.AnswerRequest(without=pb.Without(digest="ab", rows=[1, 2]), drop=3, draws=1))
    with pytest.raises(InputError, match="names no data"):
        questions.unpack_question(pb.AnswerRequest(drop=3, draws=1))
    with pytest.raises(InputError, match="only of data that was put"):
        Question(mixed(), (0, 1))


def of_version_1_0() -> Any:
    """The AnswerRequest of version 1.0: the messages of today without what 1.1 added."""
    file = descriptor_pb2.FileDescriptorProto()
    pb.DESCRIPTOR.CopyToProto(file)
    request = next(message for message in file.message_type if message.name == "AnswerRequest")
    for number, field in enumerate(request.field):
        if field.name == "without":
            del request.field[number]
            break
    else:
        raise AssertionError("there is no such field")
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("oracle.v1.AnswerRequest"))


def test_a_server_of_version_1_0_finds_no_data_in_a_question_that_leaves_out_several_rows() -> None:
    packed = questions.pack_question(Question("ab", (3, 7))).SerializeToString()
    old = of_version_1_0().FromString(packed)
    assert old.WhichOneof("data") is None  # which it refuses: "the question names no data"
    with pytest.raises(InputError, match="names no data"):
        questions.unpack_question(pb.AnswerRequest(draws=old.draws, seed=old.seed))
    known = {"dataset", "digest", "drop", "about", "draws", "seed"}  # keys that it knows; others it must ignore
    message = json_form.json_question(Question("ab", (3, 7)))
    with pytest.raises(InputError, match="expected either a dataset"):
        json_form.read_question({key: value for key, value in message.items() if key in known})


@pytest.mark.parametrize(
    "card",
    [
        Card("a", in_process=False),
        Card("b", "2.1", "predictions", True, True, True, False, max_draws=7, noise_epsilon=0.5),
        Card("c", randomized=False, in_process=False),
    ],
)
def test_a_card_arrives_as_it_was_written(card: Card) -> None:
    description = Description(card, 12345)
    assert messages.unpack_description(messages.pack_description(description)) == description
    written = json_form.dumped(json_form.json_description(description))
    assert json_form.read_description(json_form.loaded(written)) == description


def test_a_server_says_which_version_it_speaks() -> None:
    assert Description(Card("a")).protocol == (1, 2)


def test_a_newer_minor_version_and_its_fields_are_tolerated() -> None:
    message = messages.pack_description(Description(Card("new"), protocol=(1, 7)))
    newer = message.SerializeToString() + b"\xfa\x3e\x03new"  # field 1007, which nobody knows yet
    assert messages.unpack_description(messages.parsed(pb.DescribeReply, newer)).card.name == "new"
    written = json_form.json_description(Description(Card("new"), protocol=(1, 7))) | {"colour": "red"}
    assert json_form.read_description(written).protocol == (1, 7)


def test_another_major_version_is_refused_by_name() -> None:
    other = Description(Card("other"), protocol=(2, 0))
    with pytest.raises(Refused, match="speaks version 2 of the oracle protocol, this side version 1"):
        messages.unpack_description(messages.pack_description(other))
    with pytest.raises(Refused, match="speaks version 2"):
        json_form.read_description(json_form.json_description(other))


def test_a_problem_arrives_with_its_code_and_only_some_may_be_asked_again() -> None:
    codes: dict[Any, bool] = {"BUSY": True, "UNAVAILABLE": True, "FAILED": False, "INVALID": False}
    for code, retryable in codes.items():
        problem = Refused("why", code=code, retry_after=2.0)
        for found in (
            messages.unpack_problem(messages.pack_problem(problem)),
            json_form.read_problem(json_form.json_problem(problem)),
        ):
            assert (str(found), found.code, found.retryable, found.retry_after) == ("'why'", code, retryable, 2.0)
    unknown = pb.Problem.FromString(b"\x08\x63")  # code 99, of a version to come
    assert not messages.unpack_problem(unknown).retryable
    assert not json_form.read_problem({"code": ["new"]}).retryable
