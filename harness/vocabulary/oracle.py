"""The oracle interface: all the harness knows of an anonymizer is on this page. Knows no transport and no plan."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.release import Predictions
from harness.vocabulary.table import Table

Release = Table | Predictions


@dataclass(frozen=True)
class Card:
    """What an oracle says of itself. It is believed only where it was checked."""

    name: str
    version: str = ""
    releases: Literal["microdata", "predictions"] = "microdata"
    randomized: bool | None = None  # None: it does not say; two equal questions will tell
    seedable: bool = False  # equal seeds, equal releases
    keeps_data: bool = False  # may be asked by index about a table it was given before
    in_process: bool = True  # it computes in this process, so that more workers must be more processes
    row_order_invariant: bool = False  # states that the order of rows makes no difference, whatever the table
    max_draws: int | None = None  # per ask
    noise_epsilon: float | None = None  # the differential privacy it claims, if it claims any
    noise_delta: float | None = None  # the δ of (ε, δ)-differential privacy; None: pure, δ = 0

    @property
    def title(self) -> str:
        """Name and version as a terminal may print them: the vendor chose them."""
        title = f"{self.name} {self.version}".rstrip()[:200]
        return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in title)


@dataclass(frozen=True, eq=False)
class Ask:
    """One question, as a value: it can be logged, retried, replayed, and sent anywhere.

    f is to anonymize `table`, `draws` times. An oracle that releases predictions says what it predicts
    for the quasi-identifiers `about`.
    """

    data: Dataset
    drop: tuple[int, ...] = ()  # rows that are left out before f begins: all those of one person
    about: tuple[Any, ...] | None = None
    draws: int = 1
    seed: int = 0

    @cached_property
    def table(self) -> Table:
        """The rows f sees: D, or D⁻ⁱ with the rows of person i gone before f began."""
        return self.data.table.without(self.drop) if self.drop else self.data.table

    def seeds(self) -> list[int]:
        """One seed per draw; equal asks have equal seeds, and a shorter ask has the first of a longer one's."""
        return [(self.seed + draw) % 2**63 for draw in range(self.draws)]

    def rng(self) -> np.random.Generator:
        """One generator for all draws of an oracle that draws them together."""
        return np.random.default_rng(self.seed)


@runtime_checkable
class Oracle(Protocol):
    """The black box: `answer` yields one release of `ask.table` per draw (predictions: all draws in one)."""

    @property
    def card(self) -> Card: ...

    def answer(self, ask: Ask) -> Iterable[Release]: ...

    def close(self) -> None: ...
