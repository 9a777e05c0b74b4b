"""Values of parsed JSON, each checked to be of the type that its place needs. Knows no messages.

`where` names the place in the ReleaseError that anything else raises.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.vocabulary.errors import HarnessError, ReleaseError


def wrong(where: str, expected: str, value: Any) -> HarnessError:
    """The error of a value that is not what its place needs."""
    return ReleaseError(f"{where} must be {expected}, not {value!r:.80}")


def object_of(value: Any, where: str) -> dict[str, Any]:
    """The JSON object at this place."""
    if not isinstance(value, dict):
        raise wrong(where, "an object", value)
    return value


def list_of(value: Any, where: str) -> list[Any]:
    """The list at this place."""
    if not isinstance(value, list):
        raise wrong(where, "a list", value)
    return value


def texts_of(value: Any, where: str) -> list[str]:
    """The list of texts at this place."""
    items = list_of(value, where)
    if not all(isinstance(item, str) for item in items):
        raise wrong(where, "a list of texts", value)
    return items


def truth_of(value: Any, where: str) -> bool:
    """The truth at this place."""
    if not isinstance(value, bool):
        raise wrong(where, "true or false", value)
    return value


def number_of(value: Any, where: str) -> float:
    """The finite number at this place."""
    if type(value) not in (int, float) or not abs(value) <= sys.float_info.max:
        raise wrong(where, "a number of 64 bits", value)
    return float(value)


def whole_of(value: Any, where: str) -> int:
    """The whole number at this place, from 0 up; 3.0 is one too, for writers that know only floats."""
    if type(value) is float and value.is_integer():
        value = int(value)
    if type(value) is not int or not 0 <= value < 2**63:
        raise wrong(where, "a whole number of at least 0, of 64 bits", value)
    return value


def integers_of(value: Any, where: str) -> npt.NDArray[np.int32]:
    """The list of whole numbers at this place, each of 32 bits."""
    items = list_of(value, where)
    if not all(type(item) is int for item in items):
        raise wrong(where, "a list of whole numbers", value)
    try:
        return np.array(items, dtype=np.int32)
    except OverflowError:
        raise wrong(where, "a list of whole numbers from -1 up", value) from None
