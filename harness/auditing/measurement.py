"""One adversary's inference about one secret at one row of a person, with and without her, and how a journal spells it.

Knows numbers and names; no oracle, no disk and no dataset.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from harness.measuring.betting import Wager
from harness.measuring.tail import Limits
from harness.vocabulary.plain_numbers import plain_number

Entry = dict[str, Any]
Vector = tuple[float, ...]


@dataclass(frozen=True)
class Measurement:
    """What one adversary's inference about one secret at one row of a person was, with and without her.

    `failure` says why there is none. Chance plays no part where `draws` is 1 and there are no limits of a tail.
    """

    adversary: int
    secret: int
    row: int  # place among the rows of the person, in the order of the data
    distance: float = 0.0
    lower: float = 0.0
    upper: float = 0.0
    own_upper: float = 0.0  # her own upper limit, not corrected for the number of persons
    present: Vector = ()  # M(qⁱ), the mean when there are draws
    absent: Vector = ()  # M⁻ⁱ(qⁱ)
    per_value: Vector = ()
    confidence: Vector = ()  # in her true value, with and without her; of the first draw
    draws: int = 1
    floor: float | None = None  # what sampling noise alone would show
    delta_at_epsilon: Limits | None = None  # how often a pair of draws is ε or more apart (v1, Definition 1)
    epsilon_at_delta: Limits | None = None  # beyond what distance pairs lie no more often than the claimed δ
    exceedances: tuple[int, ...] = ()  # pairs at or above each ε of the grid
    hits: int = 0  # pairs at or above the ε of the claim
    own_delta_upper: float | None = None  # her own upper limit of how often, likewise
    delta_beyond_noise: float | None = None  # however draws are paired, they are ε or more apart at least so often
    placebo: Limits | None = None  # how often two draws of f(D) itself are ε or more apart
    kept: Wager | None = None  # the bet, over all looks so far, that the distance is below ε
    broken: Wager | None = None  # the bet that it is above
    privacy_loss: float | None = None  # lower bound on the ε of differential privacy, where one is claimed
    draws_needed: int | None = None  # about how many draws would settle it; None when settled or when none would
    copied: bool = False  # draws without her are copies of each other
    unpaired: bool = False  # draws with equal seeds lie as far apart as draws with different ones, by f's own noise
    uncovered: tuple[int, int] = (0, 0)  # draws with and without her in which no released row was evidence about her
    draws_digest: str | None = None  # of the draws that it was made from, where chance plays a part
    failure: str | None = None

    def entry(self) -> Entry:
        """Plain data without what is at its default; vectors in base64, exact to the bit."""
        plain: Entry = {}
        for item in fields(self):
            value = getattr(self, item.name)
            if value != item.default:
                plain[item.name] = _packed(item.name, value)
        return plain

    @classmethod
    def from_entry(cls, entry: Mapping[str, Any]) -> Measurement:
        return cls(**{key: _unpacked(key, value) for key, value in entry.items()})


VECTORS = ("present", "absent", "per_value")
LIMITS = ("delta_at_epsilon", "epsilon_at_delta", "placebo")
WAGERS = ("kept", "broken")


def _packed(key: str, value: Any) -> Any:
    if key in VECTORS:
        return packed_vector(value)
    if key in LIMITS:
        return [plain_number(number) for number in (value.value, value.lower, value.upper)]
    if key in WAGERS:
        return [value.draws, value.highest, packed_vector(value.log_capitals)]
    return list(value) if isinstance(value, tuple) else plain_number(value)


def _unpacked(key: str, value: Any) -> Any:
    if key in VECTORS:
        return unpacked_vector(value)
    if key in LIMITS:
        return Limits(*map(float, value))
    if key in WAGERS:
        return Wager(value[0], unpacked_vector(value[2]), value[1])
    if key in ("distance", "lower", "upper", "own_upper", "floor"):
        return float(value)
    return tuple(value) if isinstance(value, list) else value


def packed_vector(vector: Sequence[float] | np.ndarray[Any, Any]) -> str:
    """Numbers in base64, exact to the bit."""
    return base64.b64encode(np.array(vector, dtype="<f8").tobytes()).decode()


def unpacked_vector(packed: str) -> Vector:
    """The numbers that were packed."""
    return tuple(np.frombuffer(base64.b64decode(packed), dtype="<f8").tolist())
