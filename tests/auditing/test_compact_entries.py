"""An entry of the journal is spelled in few bytes, and says the same."""

import base64
import json
import math
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.auditing.compact_entries import FIELDS, compacted, expanded
from harness.auditing.events import Examined, from_entry, to_entry
from harness.auditing.measurement import Measurement
from harness.measuring.betting import Wager
from harness.measuring.tail import Limits

number = st.floats(0, 1)
distance = st.one_of(st.just(0.0), st.floats(0, 2), st.just(math.inf))
limits = st.builds(Limits, distance, distance, distance)
counts = st.integers(0, 1000)


@st.composite
def measurements(draw: st.DrawFn) -> Measurement:
    """One as an audit may write it: exact or with draws, with parts that are the usual ones or not."""
    key = draw(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)))
    if draw(st.booleans()) and draw(st.booleans()):
        return Measurement(*key, failure=draw(st.sampled_from(["f raised KeyError", ""])) or None)
    size = draw(st.integers(1, 4))
    present, absent = (tuple(draw(st.lists(number, min_size=size, max_size=size))) for _ in range(2))
    apart = draw(distance)
    own = st.one_of(st.just(apart), distance)
    usual = tuple(abs(one - other) for one, other in zip(present, absent, strict=True))
    place = draw(st.integers(0, size - 1))
    fields: dict[str, Any] = {
        "distance": apart,
        **{name: draw(own) for name in ("lower", "upper", "own_upper")},
        "present": present,
        "absent": absent,
        "per_value": draw(st.sampled_from([usual, (0.5,), ()])),
        "confidence": draw(st.sampled_from([(present[place], absent[place]), (0.125, 0.5), ()])),
    }
    others: dict[str, st.SearchStrategy[Any]] = {
        "draws": counts, "floor": number, "delta_at_epsilon": limits, "epsilon_at_delta": limits,
        "exceedances": st.lists(counts, max_size=3).map(tuple), "hits": counts, "own_delta_upper": number,
        "delta_beyond_noise": number, "placebo": limits, "privacy_loss": number, "draws_needed": counts,
        "kept": st.builds(Wager, counts, st.tuples(number), number), "copied": st.booleans(), "unpaired": st.booleans(),
        "uncovered": st.tuples(counts, counts),
    }  # fmt: skip
    chosen = draw(st.sets(st.sampled_from(sorted(others))))
    fields |= {name: draw(others[name]) for name in chosen}
    return Measurement(*key, **fields)


@given(
    st.builds(
        Examined,
        counts,
        st.integers(1, 9),
        st.lists(measurements(), max_size=3).map(tuple),
        st.lists(st.text(max_size=9)).map(tuple),
    )
)
def test_whatever_an_audit_writes_is_read_again_to_the_bit(event: Examined) -> None:
    entry = json.loads(json.dumps(to_entry(event)))
    written = json.dumps(compacted(entry), sort_keys=True)
    assert expanded(json.loads(written)) == entry
    assert from_entry(expanded(json.loads(written))) == event


def test_other_entries_stay_as_they_are() -> None:
    entry: dict[str, Any]
    for entry in ({"closed": {"doubts": []}}, {"examined": 1, "closed": 2}, {}, {"examined": {"person": 1}}):
        assert compacted(entry) == entry
        assert expanded(entry) == entry


def test_an_exact_measurement_takes_its_two_predictions_and_few_bytes_more() -> None:
    present, absent = (0.25, 0.75), (0.5, 0.5)
    one = Measurement(0, 0, 0, 0.5, 0.5, 0.5, 0.5, present, absent, (0.25, 0.25), (0.75, 0.5))
    entry = compacted(to_entry(Examined(123_456, 1, (one,))))
    vectors = base64.b64encode(struct.pack("<5d", 0.5, *present, *absent)).decode().rstrip("=")
    assert entry == {"x": [123_456, 1, [[0, 0, 0, vectors, 1]]]}


def test_every_field_of_a_measurement_has_its_own_short_key() -> None:
    named = set(Measurement.__dataclass_fields__) - {"adversary", "secret", "row"}
    assert set(FIELDS) == named
    assert len(set(FIELDS.values())) == len(FIELDS)


@pytest.mark.parametrize("numbers", ["", "AAAA", "AAAAAAAAAAB", "????????????", "AAAAAAAAAAA="])
def test_numbers_that_are_none_are_refused(numbers: str) -> None:
    with pytest.raises(ValueError, match=r"no distance|base64|padding|characters|encoded"):
        expanded({"x": [1, 1, [[0, 0, 0, numbers, None]]]})
