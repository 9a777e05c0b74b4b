"""Where two plain values, as JSON holds them, differ: each place with what stands there. Knows nothing of audits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


class _Absent:
    """What stands at a place that only the other value has."""

    def __repr__(self) -> str:
        return "nothing"


class Entries(int):
    """The length of a list that is longer or shorter than the other."""

    def __repr__(self) -> str:
        return f"{int(self)} entries"


ABSENT = _Absent()


@dataclass(frozen=True)
class Difference:
    """A place such as `plan.adversaries[0].model`, and what the two values hold there."""

    place: str
    one: Any
    other: Any


def plain_differences(one: Any, other: Any, place: str = "") -> Iterator[Difference]:
    """Every place at which the two differ, in the order of the other one."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in [*other, *(key for key in one if key not in other)]:
            inner = f"{place}.{key}" if place else str(key)
            if key in one and key in other:
                yield from plain_differences(one[key], other[key], inner)
            else:
                yield Difference(inner, one.get(key, ABSENT), other.get(key, ABSENT))
    elif isinstance(one, list) and isinstance(other, list):
        if len(one) != len(other):
            yield Difference(place, Entries(len(one)), Entries(len(other)))
        for number, pair in enumerate(zip(one, other, strict=False)):
            yield from plain_differences(*pair, f"{place}[{number}]")
    elif type(one) is not type(other) or one != other:
        yield Difference(place, one, other)
