"""Tables, datasets, releases and their notes: what goes in comes out, in both forms of the protocol."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError, ReleaseError
from harness.vocabulary.release import Predictions
from harness.vocabulary.schema import Schema
from harness.vocabulary.table import Cells, Table
from oracles.untrusted import MOST_NOTES, SAID
from oracles.wire import answers, declarations, json_form, messages
from oracles.wire._pb import oracle_pb2 as pb
from oracles.wire.tables import table_parts
from tests.oracles.wire_samples import mixed, releases_over_json, releases_over_protobuf, same_table, tables


def over_protobuf(data: Dataset) -> Dataset:
    return messages.unpack_dataset(messages.parsed(pb.Dataset, messages.pack_dataset(data).SerializeToString()))


def over_json(data: Dataset) -> Dataset:
    return json_form.read_dataset(json_form.loaded(json_form.dumped(json_form.json_dataset(data))))


Across = Callable[[Dataset], Dataset]
FORMS = pytest.mark.parametrize("across", [over_protobuf, over_json])


# ---- tables and datasets


@given(tables(), st.integers(100, 400))
def test_a_table_arrives_as_it_was_sent_however_it_is_cut(table: Table, limit: int) -> None:
    pieces = list(table_parts(table, limit))
    parts = [pb.Part(table=piece, more=number < len(pieces) - 1) for number, piece in enumerate(pieces)]
    (found,) = answers.assembled(iter(parts), 1)
    assert same_table(found, table)


@given(tables())
def test_a_table_arrives_as_it_was_sent_in_json(table: Table) -> None:
    (found,) = json_form.read_releases(json_form.loaded(json_form.dumped(json_form.json_releases([table]))), 1)
    assert same_table(found, table)


def test_a_large_release_travels_in_messages_below_a_megabyte() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(-1, 40_000, 300_000).astype(np.int32)
    words = np.array([f"a rather long cell, number {number}" for number in range(40_000)], dtype=object)
    table = Table(("a", "b"), (Cells(words, codes), Cells(np.arange(3), (codes % 3).astype(np.int32))))
    parts = list(answers.parts([table, table]))
    assert max(part.ByteSize() for part in parts) < 1_000_000
    assert len(parts) > 4
    assert all(same_table(found, table) for found in answers.assembled(iter(parts), 2))


@pytest.mark.parametrize(("entries", "width"), [(128, 1), (129, 2), (32_768, 2), (32_769, 4)])
def test_codes_are_as_narrow_as_the_palette_allows(entries: int, width: int) -> None:
    codes = np.array([-1, 0, entries - 1], dtype=np.int32)
    table = Table(("a",), (Cells(np.arange(entries), codes),))
    (part,) = answers.parts([table])
    assert len(part.table.columns[0].codes) == 3 * width
    (release,) = answers.assembled([part], 1)
    assert same_table(release, table)


@FORMS
def test_a_dataset_arrives_with_its_schema_its_domains_and_its_cells(across: Across) -> None:
    data = mixed()
    found = across(data)
    assert_frame_equal(found.table.to_frame(), data.table.to_frame())
    assert [reading.domain for reading in found.readings] == [reading.domain for reading in data.readings]
    assert [reading.nodes for reading in found.readings] == [reading.nodes for reading in data.readings]
    assert all((one == other).all() for one, other in zip(found.codes, data.codes, strict=True))
    assert found.sensitive_domain == data.sensitive_domain
    assert found.schema.weight == "count"
    assert [column.summary() for column in found.schema.quasi[:4]] == [c.summary() for c in data.schema.quasi[:4]]


def test_a_schema_is_read_once_for_all_questions_of_an_audit() -> None:
    data = Dataset.from_frame(
        pd.DataFrame({"age": [1, 2, 3], "ill": ["a", "b", "a"]}), Schema({"age": "number"}, "ill")
    )
    first, second = (messages.unpack_dataset(messages.pack_dataset(data.without([row]))) for row in (0, 2))
    assert first.schema is second.schema
    assert [part.table.column("age").values().tolist() for part in (first, second)] == [[2, 3], [1, 2]]
    assert [part.codes[0].tolist() for part in (first, second)] == [[1, 2], [0, 1]]


def test_a_large_schema_is_not_remembered() -> None:
    words = [f"{number:04} {'x' * 30}" for number in range(1_000)]
    data = Dataset.from_frame(pd.DataFrame({"word": words, "ill": "a"}), Schema({"word": "category"}, "ill"))
    first, second = (messages.unpack_dataset(messages.pack_dataset(data)) for _ in range(2))
    assert first.schema is not second.schema
    assert first.readings[0].domain == second.readings[0].domain == tuple(words)


def test_a_kind_that_the_protocol_lacks_is_refused_only_where_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(declarations.KINDS, "date")  # as if the harness had a kind of its own
    frame = pd.DataFrame({"age": [1, 2], "born": ["1990-01-01", "1991-01-01"], "ill": ["a", "b"]})
    known = Dataset.from_frame(frame, Schema({"age": "number"}, "ill"))
    schema, _ = declarations.unpack_schema(declarations.pack_schema(known))
    assert schema.quasi[0].kind == "number"
    with pytest.raises(InputError, match="column 'born': kind 'date' cannot be sent to another machine; known: "):
        declarations.pack_schema(Dataset.from_frame(frame, Schema({"born": "date"}, "ill")))


@FORMS
def test_data_without_a_record_keeps_the_domains_of_the_whole(across: Across) -> None:
    data = mixed()
    found = across(data.without((1,)))  # its only 25/12/1991, Bern and cold
    assert found.size == 3
    assert found.sensitive_domain == data.sensitive_domain
    assert [reading.domain for reading in found.readings] == [reading.domain for reading in data.readings]
    assert all((a == b).all() for a, b in zip(found.codes, data.without((1,)).codes, strict=True))


@FORMS
def test_data_without_its_only_record_is_still_data(across: Across) -> None:
    data = Dataset.from_frame(pd.DataFrame({"q": [1], "s": ["x"]}), Schema({"q": "number"}, "s"))
    assert across(data.without((0,))).size == 0


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=6), st.sampled_from([over_protobuf, over_json]))
def test_every_number_of_a_domain_arrives_exactly(numbers: list[float], across: Across) -> None:
    frame = pd.DataFrame({"q": numbers, "s": ["x"] * len(numbers)})
    data = Dataset.from_frame(frame, Schema({"q": "number"}, "s"))
    assert across(data).readings[0].domain == data.readings[0].domain


@given(st.integers(1, 5), st.integers(1, 4), st.randoms(use_true_random=False))
def test_predictions_arrive_bit_for_bit(draws: int, values: int, random: Any) -> None:
    rows = np.array([[random.random() for _ in range(values)] for _ in range(draws)])
    for across in (releases_over_protobuf, releases_over_json):
        (release,) = across([Predictions(rows)])
        assert isinstance(release, Predictions)
        assert release.rows.tobytes() == rows.tobytes()


def test_many_predictions_are_cut_between_their_rows() -> None:
    rows = np.random.default_rng(0).dirichlet(np.ones(14), 25_000)
    parts = list(answers.parts([Predictions(rows)]))
    assert len(parts) > 1
    assert max(part.ByteSize() for part in parts) < 1_000_000
    (release,) = answers.assembled(iter(parts), 1)
    assert isinstance(release, Predictions)
    assert release.rows.tobytes() == rows.tobytes()


# ---- notes

ACROSS = pytest.mark.parametrize("across", [releases_over_protobuf, releases_over_json])


@ACROSS
def test_what_an_anonymizer_says_about_each_release_arrives_with_it(across: Any) -> None:
    table = mixed().table
    sent = [replace(table, notes=("suppressed",)), table, replace(table, notes=("one", "two"))]
    assert [release.notes for release in across(sent)] == [("suppressed",), (), ("one", "two")]


@ACROSS
def test_notes_of_a_release_in_many_parts_arrive_once(across: Any) -> None:
    words = np.array([f"a rather long cell, number {number}" for number in range(60_000)], dtype=object)
    table = Table(("a",), (Cells(words, np.arange(60_000, dtype=np.int32)),), ("n" * SAID,) * MOST_NOTES)
    (release,) = across([table])
    assert release.notes == table.notes
    assert max(part.ByteSize() for part in answers.parts([table])) < 1_000_000


@ACROSS
@given(notes=st.lists(st.text(max_size=700), max_size=14))
def test_notes_are_short_and_printable_whoever_wrote_them(across: Any, notes: list[str]) -> None:
    """Also half characters, which no other text of a message may hold, and what would steer a terminal."""
    (release,) = across([replace(mixed().table, notes=tuple(notes))])
    assert len(release.notes) == min(len(notes), MOST_NOTES)
    assert all(note.isprintable() and len(note) <= SAID + 1 for note in release.notes)
    harmless = [note for note in notes[:MOST_NOTES] if note.isprintable() and len(note) <= SAID]
    assert [note for note in release.notes if note in harmless] == harmless


def test_notes_that_arrive_are_escaped_and_cut() -> None:
    part = pb.Part(table=pb.Table(), more=True, notes=["\x1b[2J" * 1000] * 30)
    more = pb.Part(table=pb.Table(), notes=["late"])
    message = {"releases": [{"table": {"rows": 0, "columns": []}, "notes": ["\x1b[2J" * 1000] * 30}]}
    for (release,) in (list(answers.assembled([part, more], 1)), json_form.read_releases(message, 1)):
        assert isinstance(release, Table)
        assert len(release.notes) == MOST_NOTES
        assert all(note.startswith("\\x1b[2J") and note.isprintable() for note in release.notes)


def test_notes_that_are_no_texts_are_refused_in_json() -> None:
    table = {"rows": 0, "columns": []}
    with pytest.raises(ReleaseError, match="notes must be a list of texts"):
        json_form.read_releases({"releases": [{"table": table, "notes": [1]}]}, 1)
    (release,) = json_form.read_releases({"releases": [{"table": table, "notes": None}]}, 1)
    assert isinstance(release, Table)
    assert release.notes == ()


@pytest.mark.parametrize("across", [releases_over_protobuf, releases_over_json])
def test_a_cell_that_stands_twice_in_a_palette_is_one_cell(across: Any) -> None:
    once = Table(("a",), (Cells(np.array(["x", "y"], dtype=object), np.array([0, 1, 0, -1], dtype=np.int32)),))
    twice = Table(("a",), (Cells(np.array(["x", "y", "x"], dtype=object), np.array([2, 1, 0, -1], dtype=np.int32)),))
    (arrived,) = across([twice])
    assert arrived.columns[0].palette.tolist() == ["x", "y"]
    assert arrived.row_order_invariant_digest == once.row_order_invariant_digest
    assert arrived.digest == once.digest
