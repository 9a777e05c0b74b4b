"""A measurement made once more from the draws that were kept of it, by the function that an audit measures with.

Every number of the measurement must come out again: bit for bit with the same libraries, and to TOLERANCE where another
version of one computes other last digits. Asks nobody.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from harness.auditing.derived_from_draws import TOLERANCE, contradiction
from harness.auditing.events import Examined
from harness.auditing.measure import Carried, Conditions, measure
from harness.auditing.measurement import Measurement
from harness.auditing.prediction_draws import PackedDraws, PredictionDraws, size_of, unpacked
from harness.auditing.prediction_file import FILE, WHAT_TO_DO
from harness.measuring.one_thread import one_thread
from harness.vocabulary.errors import JournalError

NOT_MEASURED = ("adversary", "secret", "row", "draws_digest", "failure")  # what a measurement is of, not what it found

ROUNDED_UP = 1  # a number of draws that follows from limits may be one more or less


def named_draws(packed: PackedDraws, event: Examined, one: Measurement, draws: int, values: int) -> PredictionDraws:
    """The draws that a measurement names, so many of so many values; a JournalError if others stand in their place."""
    content = unpacked(packed, size_of(draws, values))
    if content is None:
        raise JournalError(
            f"{FILE}: the draws of person {event.person} at look {event.look} are not those that the journal names; "
            f"{WHAT_TO_DO}"
        )
    found = PredictionDraws.from_content(content)
    place = (event.person, event.look, one.adversary, one.secret, one.row)
    if found.place != place:
        named = "place (person, look, adversary, secret, row) of the draws"
        raise contradiction(event.person, named, found.place, repr(place))
    return found


def require_made_from(draws: PredictionDraws, one: Measurement, made: Conditions, carried: Carried) -> None:
    """Raises a JournalError unless a measurement follows from its draws."""
    with one_thread():
        again = measure(made, (one.adversary, one.secret), one.row, draws.value, draws.sides, carried)
    again = Measurement.from_entry(again.entry())  # as a journal has it
    for name in (item.name for item in fields(Measurement) if item.name not in NOT_MEASURED):
        written, proven = getattr(one, name), getattr(again, name)
        if not _is_same(name, written, proven):
            raise contradiction(draws.person, repr(name), written, f"{proven!r} from her draws")


def _is_same(name: str, written: Any, proven: Any) -> bool:
    one, other = list(_leaves(written)), list(_leaves(proven))
    least = ROUNDED_UP if name == "draws_needed" else TOLERANCE
    return len(one) == len(other) and all(_is_close(*pair, least) for pair in zip(one, other, strict=True))


def _is_close(written: Any, proven: Any, least: float) -> bool:
    if type(written) is not type(proven) or isinstance(proven, bool | None):
        return bool(written is proven)
    return math.isclose(written, proven, rel_tol=TOLERANCE, abs_tol=least)


def _leaves(value: Any) -> Iterator[Any]:
    """The numbers of a vector, of limits or of a bet, one by one; a single one as it is."""
    if is_dataclass(value):
        value = tuple(getattr(value, item.name) for item in fields(value))
    if not isinstance(value, tuple):
        yield value
        return
    for inner in value:
        yield from _leaves(inner)
