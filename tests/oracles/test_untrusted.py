"""What the other side says: numbers without a meaning are none, names are short, text is shown escaped."""

import json
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from harness.vocabulary.errors import OracleError, ReleaseError
from harness.vocabulary.oracle import Ask, Card
from oracles.clients.http import HttpOracle
from oracles.untrusted import LONGEST_NAME, LONGEST_PAUSE, MOST_COLUMNS, last_words, pause, quoted
from oracles.wire import json_form, messages
from oracles.wire._pb import oracle_pb2 as pb
from oracles.wire.csv_text import from_csv
from oracles.wire.messages import Description, Refused
from tests.oracles.filters import dataset
from tests.oracles.servers import Request, serving

JSON = {"Content-Type": "application/json"}
HUGE = 10**400
ROOT = Path(__file__).parents[2]


@given(st.floats() | st.integers() | st.text() | st.booleans() | st.none() | st.just(HUGE) | st.just(-HUGE))
def test_a_pause_is_a_number_of_seconds_that_can_be_slept(said: object) -> None:
    seconds = pause(said)
    assert seconds is None or (type(seconds) is float and 0 <= seconds <= LONGEST_PAUSE)


@given(st.text() | st.binary(), st.integers(1, 50))
def test_a_strangers_text_is_one_short_printable_line(said: str | bytes, most: int) -> None:
    shown = quoted(said, most)
    assert shown.isprintable()
    assert len(shown) <= 10 * most + 3
    assert last_words(said if isinstance(said, bytes) else said.encode("utf-8", "replace")).isprintable()


@pytest.mark.parametrize("after", [float("nan"), -1.0, float("inf"), 1e300])
def test_a_problem_cannot_make_anybody_wait_for_ever(after: float) -> None:
    packed = pb.Problem(code=pb.Problem.CODE_BUSY, message="busy", retry_after=after)
    assert messages.unpack_problem(packed).retry_after in (None, LONGEST_PAUSE)


def test_the_message_of_a_problem_is_escaped_in_every_form() -> None:
    said = "\x1b[2J\nall is well \ud800\u202e" + "x" * 9000
    for found in (
        json_form.read_problem({"code": "FAILED", "message": said}),
        messages.unpack_problem(pb.Problem(message=said.replace("\ud800", ""))),
        json_form.read_problem({"code": ["FAILED"], "retry_after": HUGE}),
    ):
        assert str(found).isprintable()
        assert len(str(found)) < 700


def card(**changes: object) -> dict[str, Any]:
    said = json_form.json_description(Description(Card("the vendor")))
    said["card"].update(changes)
    return said


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "\x1b[2J"},
        {"name": "two\nlines"},
        {"name": "\ud800"},
        {"name": "x" * (LONGEST_NAME + 1)},
        {"version": "\x07"},
        {"version": "9" * (LONGEST_NAME + 1)},
        {"version": HUGE},
        {"noise_epsilon": HUGE},
        {"noise_epsilon": -HUGE},
        {"max_draws": HUGE},
        {"max_draws": -1.0},
    ],
)
def test_a_card_that_cannot_be_shown_or_counted_with_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ReleaseError) as caught:
        json_form.read_description(card(**changes))
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 700


@pytest.mark.parametrize("epsilon", [float("nan"), float("inf"), 0.0, -1.0])
def test_a_claim_of_privacy_is_a_positive_finite_number(epsilon: float) -> None:
    with pytest.raises(ReleaseError, match="noise_epsilon"):
        messages.unpack_description(messages.pack_description(Description(Card("c", noise_epsilon=epsilon))))


@pytest.mark.parametrize("name", [None, 7, "\ud800", "x" * 1001])
def test_the_name_of_a_column_is_text_that_can_be_written_anywhere(name: object) -> None:
    table = {"rows": 1, "columns": [{"name": name, "palette": ["*"], "codes": [0]}]}
    with pytest.raises(ReleaseError, match="the name of a column must be text") as caught:
        json_form.read_table(table)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 300


def test_a_cell_with_half_a_character_is_no_text() -> None:
    with pytest.raises(ReleaseError, match="half a character"):
        json_form.read_table({"rows": 1, "columns": [{"name": "a", "palette": ["\ud83d", "\ude00"], "codes": [0]}]})


def test_columns_without_number_are_refused_before_they_are_compared() -> None:
    names = ["1"] * (20 * MOST_COLUMNS)  # compared, they would be refused as equal; but that takes long
    with pytest.raises(ReleaseError, match="100000 columns"):
        from_csv(",".join(names).encode() + b"\n", ["1"])
    with pytest.raises(ReleaseError, match="100000 columns"):
        json_form.read_table({"rows": 0, "columns": [{"name": name, "palette": [], "codes": []} for name in names]})


def test_predictions_beyond_any_float_are_no_predictions() -> None:
    with pytest.raises(ReleaseError, match="beyond 64 bits"):
        json_form.read_releases({"releases": [{"predictions": [[HUGE, 0]]}]}, 1)


def test_a_problem_with_an_endless_number_is_told_in_one_line() -> None:
    def reply(request: Request) -> tuple[int, dict[str, str], bytes]:
        if request.path == "/v1/card":
            return 200, JSON, json.dumps(card()).encode()
        return 429, JSON, json.dumps({"code": "BUSY", "message": "later\x1b", "retry_after": HUGE}).encode()

    with serving(reply) as server, pytest.raises(Refused, match=r"refused: 'later.x1b'") as caught:
        list(HttpOracle(server.address).answer(Ask(dataset())))
    assert caught.value.retry_after == LONGEST_PAUSE


def test_a_card_that_wants_to_be_asked_tomorrow_ends_the_opening_at_once() -> None:
    with (
        serving(lambda request: (503, {"Retry-After": "100000"}, b"")) as server,
        pytest.raises(OracleError, match="not to be asked again for 3600 s, and no more than 60 s are waited"),
    ):
        oracles.open(server.address)
    assert len(server.requests) == 1


def test_a_card_that_never_comes_is_not_waited_for_as_long_as_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "DESCRIBE_SECONDS", 0.3)
    over = threading.Event()

    def hanging(request: Request) -> tuple[int, dict[str, str], bytes]:
        over.wait(300)
        return 200, {}, b""

    with serving(hanging) as server, pytest.raises(OracleError, match=r"not answered completely after 0\.3 s"):
        oracles.open(server.address, attempts=1)
    over.set()


def test_a_second_attempt_opens_what_the_first_one_was_told_to(tmp_path: Path) -> None:
    """A process that dies once before it says anything, and would be no filter of CSV."""
    note = tmp_path / "once"
    script = tmp_path / "vendor.py"
    script.write_text(
        f"import pathlib, sys\nnote = pathlib.Path({str(note)!r})\n"
        "if not note.exists():\n    note.touch(); sys.exit(1)\n"
        f"sys.path.insert(0, {str(ROOT)!r})\n"
        "from oracles.clients.local import Local\nfrom oracles.serve import stdio\n"
        "from tests.oracles.filters import decades\nstdio.serve(Local(decades))\n"
    )
    options = {"command": [sys.executable, str(script)], "frames": True}
    oracle = oracles.open("cmd:", **options)
    try:
        assert oracle.card.name != f"cmd:{sys.executable}"
        assert oracle.card.keeps_data
    finally:
        oracle.close()
