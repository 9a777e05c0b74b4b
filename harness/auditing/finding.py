"""What was measured about one record. Knows numbers only."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from harness.measuring.tail import Limits

NONE = Limits(0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Finding:
    """How far record `index` moved the inference about itself.

    With draws, `lower` and `upper` bound the distance, `delta` is how often a pair of draws is ε or more apart
    (v1, Definition 1), and `epsilon` beyond what distance pairs lie no more often than the claimed δ.
    """

    index: int
    distance: float
    lower: float
    upper: float
    present: tuple[float, ...]  # M(qⁱ), the mean when there are draws
    absent: tuple[float, ...]  # M⁻ⁱ(qⁱ)
    per_value: tuple[float, ...]
    draws: int = 1
    look: int = 1  # the how-manieth time that this record was drawn
    floor: float | None = None  # what sampling noise alone would show
    delta: Limits = NONE
    epsilon: Limits = NONE
    above: tuple[int, ...] = ()  # draws whose pair lies at or above each ε of the report's grid
    privacy_loss: float | None = None  # lower bound on the ε of differential privacy, where one is claimed
    draws_needed: int | None = None  # about how many draws would settle it; None when settled or when none would
    notes: tuple[str, ...] = ()
    seconds: float = field(default=0.0, compare=False)

    @property
    def changed(self) -> bool:
        """Whether the prediction itself, the likeliest value, is another one."""
        return self.present.index(max(self.present)) != self.absent.index(max(self.absent))

    def violates(self, epsilon: float, delta: float, exact: bool) -> bool:
        """Proven to break (ε, δ): with δ = 0, or nothing random, by its distance; else by its tail."""
        return self.lower >= epsilon if exact or delta == 0 else self.delta.lower > delta

    def satisfies(self, epsilon: float, delta: float, exact: bool) -> bool:
        """Proven to keep (ε, δ)."""
        return self.upper < epsilon if exact or delta == 0 else self.delta.upper <= delta

    def after(self, earlier: Finding | None) -> Finding:
        """This look's finding with what earlier looks proved; α-spending lets all their limits hold together."""
        if earlier is None:
            return self
        return replace(
            self,
            lower=max(self.lower, earlier.lower),
            upper=min(self.upper, earlier.upper),
            delta=_both(self.delta, earlier.delta),
            epsilon=_both(self.epsilon, earlier.epsilon),
        )

    def entry(self) -> dict[str, Any]:
        """The finding as plain data."""
        return {**vars(self), "delta": vars(self.delta), "epsilon": vars(self.epsilon)}

    @classmethod
    def from_entry(cls, entry: dict[str, Any]) -> Finding:
        plain: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()
        }
        limits = {key: Limits(**plain[key]) for key in ("delta", "epsilon")}
        return cls(**{**plain, **limits})


def _both(one: Limits, other: Limits) -> Limits:
    return Limits(one.value, max(one.lower, other.lower), min(one.upper, other.upper))
