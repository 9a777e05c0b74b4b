"""The protocol's two forms: what goes in comes out, and no bytes from outside do more than raise a HarnessError."""

import io
import json
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import HarnessError, InputError, OracleError, ReleaseError
from harness.vocabulary.hierarchy import Hierarchy
from harness.vocabulary.oracle import Card
from harness.vocabulary.release import Predictions
from harness.vocabulary.schema import Column, Schema
from harness.vocabulary.table import Cells, Table
from oracles.wire import json_form, messages
from oracles.wire._pb import oracle_pb2 as pb
from oracles.wire.messages import Description, Question, Refused
from oracles.wire.tables import table_parts

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
CELLS = {
    "ints": st.integers(-(2**63), 2**63 - 1),
    "floats": st.floats(allow_nan=False),
    "bools": st.booleans(),
    "texts": WORDS,
}
DTYPES = {"ints": np.int64, "floats": np.float64, "bools": np.bool_, "texts": object}


@st.composite
def columns(draw, rows):
    kind = draw(st.sampled_from(sorted(CELLS)))
    entries = draw(st.lists(CELLS[kind], max_size=5, unique=True))
    codes = draw(st.lists(st.integers(-1, len(entries) - 1), min_size=rows, max_size=rows))
    return Cells(np.array(entries, dtype=DTYPES[kind]), np.array(codes, dtype=np.int32))


@st.composite
def tables(draw):
    rows = draw(st.integers(0, 6))
    names = draw(st.lists(WORDS, max_size=4, unique=True))
    return Table(tuple(names), tuple(draw(columns(rows)) for _ in names))


def mixed() -> Dataset:
    """Every kind of column, a hierarchy, an order, dates that only together say their order, gaps."""
    frame = pd.DataFrame(
        {
            "age": [25, 31, 53, 53],
            "height": [1.5, 1.75, None, 2.0],
            "city": ["Rome", "Bern", "Rome", None],
            "grade": ["low", "high", "low", "middle"],
            "born": ["03/04/1990", "25/12/1991", "01/02/1990", "03/04/1990"],
            "smokes": [True, False, True, True],
            "illness": ["flu", "cold", "flu", "none"],
            "score": [3, 1, 2, 3],
        }
    )
    tree = Hierarchy.from_nested({"CH": ["Bern", "Basel"], "IT": ["Rome"]})
    quasi = [
        Column("age", "number", closed="left"),
        Column("height", "number"),
        Column("city", "category", hierarchy=tree),
        Column("grade", "ordered", order=("low", "middle", "high")),
        Column("born", "date"),
        Column("smokes", "category", notation="set", points=True),
    ]
    return Dataset.from_frame(frame, Schema(quasi, ["illness", "score"], weight="count"), missing="keep")


def over_protobuf(data: Dataset) -> Dataset:
    return messages.unpack_dataset(messages.parsed(pb.Dataset, messages.pack_dataset(data).SerializeToString()))


def over_json(data: Dataset) -> Dataset:
    return json_form.read_dataset(json_form.loaded(json_form.dumped(json_form.json_dataset(data))))


FORMS = pytest.mark.parametrize("across", [over_protobuf, over_json])


def same_table(one: Table, other: Table) -> bool:
    pairs = zip(one.columns, other.columns, strict=True)
    return one.names == other.names and all(
        a.palette.dtype == b.palette.dtype and a.palette.tolist() == b.palette.tolist() and (a.codes == b.codes).all()
        for a, b in pairs
    )


# ---- tables and datasets


@given(tables(), st.integers(100, 400))
def test_a_table_arrives_as_it_was_sent_however_it_is_cut(table, limit):
    pieces = list(table_parts(table, limit))
    parts = [pb.Part(table=piece, more=number < len(pieces) - 1) for number, piece in enumerate(pieces)]
    (found,) = messages.assembled(iter(parts), 1)
    assert same_table(found, table)


@given(tables())
def test_a_table_arrives_as_it_was_sent_in_json(table):
    (found,) = json_form.read_releases(json_form.loaded(json_form.dumped(json_form.json_releases([table]))), 1)
    assert same_table(found, table)


def test_a_large_release_travels_in_messages_below_a_megabyte():
    rng = np.random.default_rng(0)
    codes = rng.integers(-1, 40_000, 300_000).astype(np.int32)
    words = np.array([f"a rather long cell, number {number}" for number in range(40_000)], dtype=object)
    table = Table(("a", "b"), (Cells(words, codes), Cells(np.arange(3), (codes % 3).astype(np.int32))))
    parts = list(messages.parts([table, table]))
    assert max(part.ByteSize() for part in parts) < 1_000_000
    assert len(parts) > 4
    assert all(same_table(found, table) for found in messages.assembled(iter(parts), 2))


@pytest.mark.parametrize(("entries", "width"), [(128, 1), (129, 2), (32_768, 2), (32_769, 4)])
def test_codes_are_as_narrow_as_the_palette_allows(entries, width):
    codes = np.array([-1, 0, entries - 1], dtype=np.int32)
    table = Table(("a",), (Cells(np.arange(entries), codes),))
    (part,) = messages.parts([table])
    assert len(part.table.columns[0].codes) == 3 * width
    assert same_table(*messages.assembled([part], 1), table)


@FORMS
def test_a_dataset_arrives_with_its_schema_its_domains_and_its_cells(across):
    data = mixed()
    found = across(data)
    assert_frame_equal(found.table.to_frame(), data.table.to_frame())
    assert [reading.domain for reading in found.readings] == [reading.domain for reading in data.readings]
    assert [reading.nodes for reading in found.readings] == [reading.nodes for reading in data.readings]
    assert all((one == other).all() for one, other in zip(found.codes, data.codes, strict=True))
    assert found.sensitive_domain == data.sensitive_domain
    assert found.schema.weight == "count"
    assert [column.summary() for column in found.schema.quasi[:4]] == [c.summary() for c in data.schema.quasi[:4]]


@FORMS
def test_data_without_a_record_keeps_the_domains_of_the_whole(across):
    data = mixed()
    found = across(data.without(1))  # its only 25/12/1991, Bern and cold
    assert found.size == 3
    assert found.sensitive_domain == data.sensitive_domain
    assert [reading.domain for reading in found.readings] == [reading.domain for reading in data.readings]
    assert all((a == b).all() for a, b in zip(found.codes, data.without(1).codes, strict=True))


@FORMS
def test_data_without_its_only_record_is_still_data(across):
    data = Dataset.from_frame(pd.DataFrame({"q": [1], "s": ["x"]}), Schema({"q": "number"}, "s"))
    assert across(data.without(0)).size == 0


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=6), st.sampled_from([over_protobuf, over_json]))
def test_every_number_of_a_domain_arrives_exactly(numbers, across):
    frame = pd.DataFrame({"q": numbers, "s": ["x"] * len(numbers)})
    data = Dataset.from_frame(frame, Schema({"q": "number"}, "s"))
    assert across(data).readings[0].domain == data.readings[0].domain


@given(st.integers(1, 5), st.integers(1, 4), st.randoms(use_true_random=False))
def test_predictions_arrive_bit_for_bit(draws, values, random):
    rows = np.array([[random.random() for _ in range(values)] for _ in range(draws)])
    (found,) = messages.assembled(messages.parts([Predictions(rows)]), 1)
    assert found.rows.tobytes() == rows.tobytes()
    (found,) = json_form.read_releases(
        json_form.loaded(json_form.dumped(json_form.json_releases([Predictions(rows)]))), 1
    )
    assert found.rows.tobytes() == rows.tobytes()


def test_many_predictions_are_cut_between_their_rows():
    rows = np.random.default_rng(0).dirichlet(np.ones(14), 25_000)
    parts = list(messages.parts([Predictions(rows)]))
    assert len(parts) > 1
    assert max(part.ByteSize() for part in parts) < 1_000_000
    (found,) = messages.assembled(iter(parts), 1)
    assert found.rows.tobytes() == rows.tobytes()


# ---- questions and cards


@given(
    st.none() | st.integers(0, 2**32),
    st.none() | st.lists(st.none() | CELLS["ints"] | CELLS["bools"] | WORDS | st.floats(-9, 9), min_size=1).map(tuple),
    st.integers(1, 2**31),
    st.integers(0, 2**63 - 1),
)
def test_a_question_arrives_as_it_was_asked(drop, about, draws, seed):
    asked = Question("ab" * 32, drop, about, draws, seed)
    packed = messages.parsed(pb.AnswerRequest, messages.pack_question(asked).SerializeToString())
    spelled = json_form.loaded(json_form.dumped(json_form.json_question(asked)))
    for found in (messages.unpack_question(packed), json_form.read_question(spelled)):
        assert (found.data, found.drop, found.about, found.draws, found.seed) == ("ab" * 32, drop, about, draws, seed)
        assert [type(cell) for cell in found.about or ()] == [type(cell) for cell in about or ()]


@pytest.mark.parametrize(
    "card",
    [
        Card("a", in_process=False),
        Card("b", "2.1", "predictions", True, True, True, False, max_draws=7, noise_epsilon=0.5),
        Card("c", randomized=False, in_process=False),
    ],
)
def test_a_card_arrives_as_it_was_written(card):
    said = Description(card, 12345)
    assert messages.unpack_description(messages.pack_description(said)) == said
    assert json_form.read_description(json_form.loaded(json_form.dumped(json_form.json_description(said)))) == said


def test_a_newer_minor_version_and_its_fields_are_tolerated():
    message = messages.pack_description(Description(Card("new"), protocol=(1, 7)))
    newer = message.SerializeToString() + b"\xfa\x3e\x03new"  # field 1007, which nobody knows yet
    assert messages.unpack_description(messages.parsed(pb.DescribeReply, newer)).card.name == "new"
    said = json_form.json_description(Description(Card("new"), protocol=(1, 7))) | {"colour": "red"}
    assert json_form.read_description(said).protocol == (1, 7)


def test_another_major_version_is_refused_by_name():
    said = Description(Card("old"), protocol=(2, 0))
    with pytest.raises(Refused, match="speaks version 2 of the oracle protocol, this side version 1"):
        messages.unpack_description(messages.pack_description(said))
    with pytest.raises(Refused, match="speaks version 2"):
        json_form.read_description(json_form.json_description(said))


def test_a_problem_arrives_with_its_code_and_only_some_may_be_asked_again():
    for code, retryable in {"BUSY": True, "UNAVAILABLE": True, "FAILED": False, "INVALID": False}.items():
        problem = Refused("why", code=code, retry_after=2.0)
        for found in (
            messages.unpack_problem(messages.pack_problem(problem)),
            json_form.read_problem(json_form.json_problem(problem)),
        ):
            assert (str(found), found.code, found.retryable, found.retry_after) == ("'why'", code, retryable, 2.0)
    assert not messages.unpack_problem(pb.Problem(code=99)).retryable
    assert not json_form.read_problem({"code": ["new"]}).retryable


# ---- what strangers send


def column(**changes):
    return pb.Column(**{"name": "a", "texts": pb.Texts(values=["x", "y"]), "codes": bytes([0, 1, 255]), **changes})


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pb.Table(rows=3, columns=[column(codes=bytes([0, 1, 2]))]), "'a', row 2: code 2 is outside its palette"),
        (pb.Table(rows=3, columns=[column(codes=bytes([0, 1, 254]))]), "code -2 is outside"),
        (pb.Table(rows=3, columns=[column(codes=bytes(9))]), "9 bytes of codes for 3 rows; expected 1, 2 or 4 per row"),
        (pb.Table(rows=3, columns=[column(codes=bytes(5))]), "5 bytes of codes for 3 rows"),
        (pb.Table(rows=0, columns=[column()]), "3 bytes of codes for 0 rows"),
        (pb.Table(rows=2**63, columns=[column()]), "more than 134217728 bytes"),
        (pb.Table(rows=3), "3 rows of no columns"),
        (pb.Table(rows=3, columns=[column(), column()]), "'a' stands more than once"),
        (pb.Table(rows=3, columns=[pb.Column(name="a", codes=bytes(3))]), "has no palette"),
        (
            pb.Table(rows=1, columns=[pb.Column(name="a", codes=b"\0", floats=pb.Floats(values=[float("nan")]))]),
            "NaN in its palette",
        ),
    ],
)
def test_a_table_that_makes_no_sense_is_refused(table, message):
    with pytest.raises(ReleaseError, match=message):
        list(messages.assembled([pb.Part(table=table)], 1))


def good(draw=0, more=False, name="a"):
    return pb.Part(draw=draw, more=more, table=pb.Table(rows=3, columns=[column(name=name)]))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([good(), good(1), good(2)], "more than the 2 releases"),
        ([good(1)], "a piece of draw 1 where draw 0"),
        ([good(more=True), good(1)], "a piece of draw 1 where draw 0"),
        ([good(more=True), good(name="b")], "a later piece has the columns"),
        ([good(more=True)], "broke off in the middle of draw 0"),
        ([pb.Part()], "neither a table nor predictions"),
        ([good(more=True), pb.Part(predictions=pb.Predictions(values=1, rows=bytes(8)))], "tables as well as"),
        ([pb.Part(predictions=pb.Predictions(values=3, rows=bytes(8)))], "8 bytes of predictions of 3 values"),
        ([pb.Part(predictions=pb.Predictions(rows=bytes(8)))], "8 bytes of predictions of 0 values"),
    ],
)
def test_pieces_that_do_not_fit_together_are_refused(parts, message):
    with pytest.raises(OracleError, match=message):
        list(messages.assembled(iter(parts), 2))


def test_an_endless_release_is_refused_at_its_limit():
    def endless():
        while True:
            yield pb.Part(more=True, table=pb.Table(rows=0, columns=[column(codes=b"")]))

    with pytest.raises(ReleaseError, match="more than 100000 bytes; allow more with max_reply_bytes"):
        list(messages.assembled(endless(), 1, limit=100_000))


def test_text_that_is_no_text_cannot_be_sent():
    table = Table(("a",), (Cells(np.array(["half a character: \ud800"], dtype=object), np.zeros(1, dtype=np.int32)),))
    with pytest.raises(ReleaseError, match="column 'a' cannot be sent"):
        list(messages.parts([table]))
    with pytest.raises(ReleaseError, match="cannot be written as JSON"):
        json_form.dumped(json_form.json_releases([table]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.schema.quasi[0].ClearField("kind"), "kind 0 is not known"),
        (lambda m: m.schema.quasi[0].domain.ints.values.pop(), "not in the domain it was given"),
        (lambda m: m.schema.quasi[0].domain.texts.values.append("x"), "domain"),
        (lambda m: m.table.columns.pop(), "the table must hold exactly those"),
        (lambda m: m.ClearField("schema"), "no quasi-identifier"),
        (lambda m: m.schema.quasi[4].domain.spans.first.pop(), "3 first, 4 last days|2 first, 3 last days"),
        (lambda m: m.schema.sensitive[1].domain.ints.values.extend(range(9, 9999)), "joint values, more than 10000"),
    ],
)
def test_a_dataset_that_makes_no_sense_is_refused(change, message):
    packed = messages.pack_dataset(mixed())
    change(packed)
    with pytest.raises(InputError, match=message):
        messages.unpack_dataset(packed)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_mutilated_bytes_raise_nothing_but_harness_errors(data):
    samples = [
        messages.pack_dataset(mixed()),
        messages.pack_question(Question(mixed(), 1, (1, "x"), 2, 3)),
        next(messages.parts([mixed().table])),
        messages.pack_description(Description(Card("c"))),
    ]
    body = bytearray(data.draw(st.sampled_from(samples)).SerializeToString())
    for _ in range(data.draw(st.integers(1, 8))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    body = body[: data.draw(st.integers(0, len(body)))] if data.draw(st.booleans()) else body
    for read in (
        lambda: messages.unpack_dataset(messages.parsed(pb.Dataset, bytes(body))),
        lambda: messages.unpack_question(messages.parsed(pb.AnswerRequest, bytes(body))),
        lambda: list(messages.assembled([messages.parsed(pb.Part, bytes(body))], 1)),
        lambda: messages.unpack_description(messages.parsed(pb.DescribeReply, bytes(body))),
    ):
        with suppress(HarnessError):
            read()


def places(value, here=()):
    """The way to every part of a JSON value."""
    yield here
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, deeper in inside:
        yield from places(deeper, (*here, key))


JUNK = st.sampled_from([None, True, -1, 3, 2**70, 1.5, "", "x", [], {}, [None], ["x", 1], {"from": "x", "to": "y"}])
READERS = {
    "dataset": (json_form.json_dataset(mixed()), json_form.read_dataset),
    "question": (json_form.json_question(Question(mixed(), 1, (1, "x"), 2, 3)), json_form.read_question),
    "releases": (json_form.json_releases([mixed().table]), lambda said: json_form.read_releases(said, 1)),
    "predictions": ({"releases": [{"predictions": [[0.5, 0.5]]}]}, lambda said: json_form.read_releases(said, 1)),
    "card": (json_form.json_description(Description(Card("c", max_draws=3))), json_form.read_description),
    "problem": ({"code": "BUSY", "message": "m", "retry_after": 1}, json_form.read_problem),
}


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_mutilated_json_raises_nothing_but_harness_errors(data):
    sample, read = READERS[data.draw(st.sampled_from(sorted(READERS)))]
    said = json.loads(json.dumps(sample))
    where = data.draw(st.sampled_from([place for place in places(said) if place]))
    inner = said
    for key in where[:-1]:
        inner = inner[key]
    inner[where[-1]] = data.draw(JUNK)
    with suppress(HarnessError):
        read(said)


@pytest.mark.parametrize("body", [b"", b"<html>", b"[1]", b'{"rows": NaN}', b"\xff", b"[" * 100_000])
def test_what_is_no_json_object_is_refused(body):
    with pytest.raises(ReleaseError):
        json_form.loaded(body)


def test_a_column_without_a_type_has_the_narrowest_that_holds_its_palette():
    said = {"rows": 1, "columns": [{"name": "a", "palette": [1, 2.5], "codes": [0]}]}
    assert json_form.read_table(said).columns[0].palette.dtype == np.float64
    said["columns"][0]["palette"] = ["x"]
    assert json_form.read_table(said).columns[0].palette.dtype == object


# ---- frames


def test_frames_follow_each_other_and_end_with_the_stream():
    stream = io.BytesIO(messages.frame(pb.Version(major=1)) + messages.frame(pb.Version(major=2)))
    found = [messages.read_frame(stream.read, pb.Version) for _ in range(3)]
    assert [version and version.major for version in found] == [1, 2, None]


@pytest.mark.parametrize("body", [b"\0", b"\0\0\0\x09abc", b"Hello, world", b"\0\0\0\x02\xff\xff"])
def test_what_is_no_frame_is_refused(body):
    with pytest.raises(OracleError):
        messages.read_frame(io.BytesIO(body).read, pb.Version)
