"""A measurement made once more from the draws that were kept of it, by the function that an audit measures with.

Every number of the measurement must come out again: bit for bit with the same libraries, and to TOLERANCE where another
version of one computes other last digits. Asks nobody.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
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


def require_made_from(
    packed: PackedDraws, event: Examined, one: Measurement, values: int, made: Conditions, carried: Carried
) -> None:
    """Raises a JournalError unless a measurement of one person follows from the draws that were kept of it."""
    content = unpacked(packed, size_of(made.look.draws, values))
    if content is None:
        raise JournalError(
            f"{FILE}: the draws of person {event.person} at look {event.look} are not those that the journal names; "
            f"{WHAT_TO_DO}"
        )
    draws = PredictionDraws.from_content(content)
    place = (event.person, event.look, one.adversary, one.secret, one.row)
    found = (draws.person, draws.look, draws.adversary, draws.secret, draws.row)
    if found != place:
        named = "(person, look, adversary, secret, row)"
        raise contradiction(event.person, f"place {named} of the draws", found, repr(place))
    with one_thread():
        again = measure(replace(made, last=draws.last), found[2:4], one.row, draws.value, draws.sides, carried)
    again = Measurement.from_entry(again.entry())  # as a journal has it
    for name in (item.name for item in fields(Measurement) if item.name not in NOT_MEASURED):
        written, proven = getattr(one, name), getattr(again, name)
        if not _is_same(name, written, proven):
            raise contradiction(event.person, repr(name), written, f"{proven!r} from her draws")


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
