"""What is claimed and how it will be tested, checked at birth. Knows no transport and no disk."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real
from typing import Any, Literal

import numpy as np

from harness.measuring.adversary import Inference
from harness.measuring.divergence import Distance, named
from harness.vocabulary.dataset import Dataset, Record
from harness.vocabulary.errors import InputError
from harness.vocabulary.oracle import Ask, Card

DEFAULT_DRAWS = 500  # of a randomized f or A when the plan names no number


@dataclass(frozen=True)
class Claim:
    """(ε, δ)-differentiability (v1, Definition 1), to be decided with this confidence."""

    epsilon: float
    delta: float = 0.0
    confidence: float = 0.95

    def __post_init__(self) -> None:
        _require("epsilon", self.epsilon, "a positive number", lambda number: 0 < number < float("inf"))
        _require("delta", self.delta, "a probability from 0 to below 1", lambda number: 0 <= number < 1)
        _require("confidence", self.confidence, "a probability between 0 and 1", lambda number: 0 < number < 1)


def _require(name: str, value: object, expected: str, good: Callable[[Any], bool], kind: type = Real) -> None:
    """Bad input dies at birth; a truth value is no number."""
    if not isinstance(value, kind) or isinstance(value, bool) or not good(value):
        raise InputError(f"{name} must be {expected}, not {value!r}")


@dataclass(frozen=True, eq=False)
class Plan:
    """One audit, decided before the first question is asked."""

    data: Dataset
    claim: Claim
    inference: Inference = field(default_factory=Inference.named)
    distance: Distance = field(default_factory=lambda: named("emd"))
    draws: int | None = None  # None: one if nothing is random, else DEFAULT_DRAWS
    seed: int = 0
    records: Literal["all"] | int = "all"  # or how many, chosen at random
    budget: int | None = None  # calls of the anonymizer to spend on the riskiest records and some at random
    adaptive: bool = False  # draw in looks, and no longer than a record needs
    blind: bool | None = None  # send D⁻ⁱ as just another table; None: where f is waited for, a stranger's

    def __post_init__(self) -> None:
        size = self.data.size
        _require("seed", self.seed, "a whole number from 0 to 2**63 - 1", lambda seed: 0 <= seed < 2**63, int)
        if self.draws is not None:
            _require("draws", self.draws, "a whole number of at least 1", lambda draws: draws >= 1, int)
        if self.budget is not None:
            _require("budget", self.budget, "a whole number of at least 1", lambda calls: calls >= 1, int)
        if self.records != "all":
            expected = f'"all" or a whole number from 1 to {size}'
            _require("records", self.records, expected, lambda records: 1 <= records <= size, int)
        if self.budget is not None and self.records != "all":
            raise InputError("a budget chooses the records itself; give either a budget or a number of records")

    def at_random(self, count: int) -> tuple[int, ...]:
        """So many records by index, each set of them equally likely: a uniform choice without replacement."""
        rng = np.random.default_rng(self.seed_for("targets"))
        return tuple(sorted(rng.choice(self.data.size, count, replace=False).tolist()))

    def is_blind(self, card: Card) -> bool:
        """Whether D⁻ⁱ is sent as just another table, so that f cannot know who is tested."""
        return self.blind if self.blind is not None else not card.in_process

    def randomized(self, card: Card) -> bool:
        """Whether there is anything to sample: f's randomness, or A's when the plan asks for several draws of it.

        A single draw of a random A is A with its seed fixed, which is deterministic.
        """
        return bool(card.randomized) or (self.inference.randomized and (self.draws or 1) > 1)

    def draws_of(self, card: Card) -> int:
        """How often both sides are drawn; once is exact when neither f nor A is random."""
        return (self.draws or DEFAULT_DRAWS) if self.randomized(card) else 1

    def seed_for(self, *purpose: object) -> int:
        """A seed that depends on the plan's seed and its purpose, never on what ran before."""
        text = json.dumps([self.seed, *(str(word) for word in purpose)])
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") >> 1

    def ask(
        self, card: Card, target: Record | None, *, absent: bool, coupled: bool, draws: int = 1, look: int = 1
    ) -> Ask:
        """The question about f(D) or f(D⁻ⁱ); coupled draws have the same seeds on both sides."""
        predicts = card.releases == "predictions"
        index = target.index if target is not None else None
        data, drop = self.data, index if absent else None
        if absent and self.is_blind(card) and index is not None:
            data, drop = self.data.without(index), None
        about = target.quasi if predicts and target is not None else None
        seed = self.seed_for("f", look, *self._side(target, absent, coupled))
        return Ask(data, drop, about, draws if card.randomized else 1, seed)

    def model_seeds(self, target: Record, *, absent: bool, coupled: bool, draws: int = 1, look: int = 1) -> range:
        """One seed per draw for an A with randomness of its own, shared by both sides when draws are coupled."""
        first = self.seed_for("A", look, *self._side(target, absent, coupled))
        return range(first, first + draws)

    def _side(self, target: Record | None, absent: bool, coupled: bool) -> tuple[object, ...]:
        """What a seed depends on besides its purpose: nothing when both sides are to share it."""
        return () if coupled else ("absent" if absent else "present", target.index if target else None)

    @cached_property
    def digest(self) -> str:
        """Two plans with one digest give the same numbers with the same oracle."""
        return hashlib.sha256(json.dumps(self.summary(), sort_keys=True).encode()).hexdigest()

    def identity(self) -> dict[str, Any]:
        """What a journal must agree with to be gone on with; an adaptive audit may go on to more draws."""
        return self.summary() | ({"draws": "adaptive"} if self.adaptive else {})

    def summary(self) -> dict[str, Any]:
        """The plan as plain data, without a single record."""
        schema = self.data.schema
        return {
            "data": {"digest": self.data.digest, "records": self.data.size, "dropped": self.data.dropped},
            "quasi": {column.name: column.summary() for column in schema.quasi},
            "sensitive": [column.name for column in schema.sensitive],
            "weight": schema.weight,
            "claim": {
                "epsilon": self.claim.epsilon,
                "delta": self.claim.delta,
                "confidence": self.claim.confidence,
            },
            "inference": {"encoder": self.inference.encoder_name, "model": self.inference.model.name},
            "distance": self.distance.name,
            "draws": self.draws,
            "seed": self.seed,
            "records": self.records,
            "budget": self.budget,
            "adaptive": self.adaptive,
            "blind": self.blind,
        }
