"""What is claimed and how it will be tested, checked before the first question. Knows no transport and no disk."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cached_property
from numbers import Real
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from harness.auditing.options import ALL_OR_WHOLE, TEXT, TRUTH, WHOLE, options_of, plan_option
from harness.auditing.vacuous import (
    require_different_values,
    require_open_minds,
    require_others,
    require_reachable,
)
from harness.measuring.adversary import Adversary, adversary_from, with_unique_names
from harness.measuring.divergence import Declared, Divergence, divergence_named, own_object, reach
from harness.measuring.privacy_claim import PrivacyClaim
from harness.measuring.specification import specification
from harness.vocabulary.dataset import Dataset, Secret
from harness.vocabulary.errors import InputError, did_you_mean
from harness.vocabulary.oracle import Ask, Card
from harness.vocabulary.plain_numbers import plain_number
from harness.vocabulary.release import require_clear_signs

Pairs = Literal["seeds", "independent"]

DEFAULT_DRAWS = 500  # of a randomized f when the plan names no number
MODEL_DRAWS = 25  # of a randomized adversary behind a deterministic f, likewise
ADAPTIVE = "adaptive"  # what the specification says of draws whose number is not fixed
SHOWN_BY_DRAWS: dict[str, Any] = {}  # the specification has no entry of its own for such an option
AS_RELEASED = "as released"  # the only adversary of an oracle that releases predictions


@dataclass(frozen=True)
class Claim:
    """(ε, δ)-differentiability (v1, Definition 1), to be decided with this confidence."""

    epsilon: float
    delta: float = 0.0
    confidence: float = 0.95

    def __post_init__(self) -> None:
        _require("epsilon", self.epsilon, "a positive number", lambda number: 0 < number < float("inf"))
        _require("delta", self.delta, "a probability from 0 to below 1", lambda number: 0 <= number < 1)
        expected = "a probability from 0.5 to below 1"
        _require("confidence", self.confidence, expected, lambda number: 0.5 <= number < 1)


def _require(name: str, value: object, expected: str, good: Callable[[Any], bool], kind: type = Real) -> None:
    """Refuse a bad value with its name; a truth value is no number."""
    if not isinstance(value, kind) or isinstance(value, bool) or not good(value):
        raise InputError(f"{name} must be {expected}, not {value!r}")


class PlanNumbers(ABC):
    """The numbers of a plan from which persons at random, levels, looks and numbers of calls follow.

    A Plan has them, and so has what a journal says of one (`PlainPlan`): whatever an audit fixes by them, `verify`
    derives with the same functions.
    """

    claim: Claim
    draws: int | None
    seed: int
    records: Literal["all"] | int
    budget: int | None
    adaptive: bool
    randomized: bool
    pairs: Pairs
    confirm: int
    privacy: PrivacyClaim | None

    @property
    @abstractmethod
    def population(self) -> int:
        """How many persons there are."""

    @property
    @abstractmethod
    def declared_names(self) -> tuple[str, ...]:
        """The names of the declared adversaries."""

    @property
    @abstractmethod
    def draws_numbers(self) -> tuple[bool, ...]:
        """Whether each of them draws random numbers."""

    @property
    @abstractmethod
    def number_of_values(self) -> tuple[int, ...]:
        """How many values each secret has."""

    @abstractmethod
    def questions_asked(self, card: Card) -> int:
        """About how many tables f is asked."""

    @abstractmethod
    def divergence_of(self, secret: int) -> Divergence:
        """How predictions of a secret are compared."""

    def adversary_names(self, card: Card) -> tuple[str, ...]:
        """Who infers: the declared adversaries, or nobody but f where f releases predictions itself."""
        if card.releases == "predictions":
            return (AS_RELEASED,)
        return self.declared_names

    def is_exact(self, card: Card, adversary: int) -> bool:
        """Whether chance plays no part in what this adversary infers."""
        random = card.releases != "predictions" and self.draws_numbers[adversary]
        return not card.randomized and not random

    def draws_of(self, card: Card) -> int:
        """How often both sides are drawn; once is exact when neither f nor any adversary is random."""
        if card.randomized:
            return self.draws or DEFAULT_DRAWS
        exact = all(self.is_exact(card, number) for number in range(len(self.adversary_names(card))))
        return 1 if exact else self.draws or MODEL_DRAWS

    def at_random(self, count: int) -> tuple[int, ...]:
        """So many persons, each set of them equally likely: a uniform choice without replacement."""
        if count == self.population:
            return tuple(range(count))
        rng = np.random.default_rng(self.seed_for("targets"))
        return tuple(sorted(rng.choice(self.population, count, replace=False).tolist()))

    def seed_for(self, *purpose: object) -> int:
        """A seed that depends on the plan's seed and its purpose, never on what ran before."""
        text = json.dumps([self.seed, *(str(word) for word in purpose)])
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") >> 1


@dataclass(frozen=True, eq=False)
class Question:
    """One table that f is asked about, and the adversaries (by number) that look at its releases.

    There is one for D itself, and another for each encoding that begins before f (QuantilesB).
    """

    data: Dataset
    adversaries: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Plan(PlanNumbers):
    """One audit, decided before the first question is asked."""

    data: Dataset
    claim: Claim
    adversaries: tuple[Adversary, ...] = field(default_factory=lambda: (adversary_from({}),))
    divergence: Declared = field(default_factory=lambda: divergence_named("sum"))
    privacy: PrivacyClaim | None = None  # the differential privacy that f is said to have; None: what its card says
    joint: bool = plan_option(
        "data",
        TRUTH,
        "infer several sensitive columns as one joint value (false: each for itself)",
        {"type": "boolean"},
        False,
    )
    draws: int | None = plan_option(
        "run",
        WHOLE,
        f"draws a side where chance plays a part ({DEFAULT_DRAWS} of a randomized anonymizer, "
        f"{MODEL_DRAWS} of a randomized adversary behind a deterministic one)",
        {"anyOf": [{"type": "integer"}, {"type": "null"}, {"const": ADAPTIVE}]},
        None,
    )
    seed: int = plan_option("run", WHOLE, "seed of all random draws (default 0)", {"type": "integer", "minimum": 0}, 0)
    records: Literal["all"] | int = plan_option(
        "run",
        ALL_OR_WHOLE,
        'how many persons to examine, drawn at random ("all")',
        {"anyOf": [{"const": "all"}, {"type": "integer", "minimum": 1}]},
        "all",
    )
    budget: int | None = plan_option(
        "run",
        WHOLE,
        "calls of the anonymizer to spend, half on random persons, half on the riskiest",
        {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}]},
        None,
    )
    adaptive: bool = plan_option(
        "run", TRUTH, "draw in looks, and no longer than a person needs (false)", SHOWN_BY_DRAWS, False
    )
    randomized: bool = plan_option(
        "run", TRUTH, "draw f even if its card says that it is deterministic (false)", {"type": "boolean"}, False
    )
    pairs: Pairs = plan_option(
        "run",
        TEXT,
        'draws that make a pair: of equal "seeds" where f honours them, or "independent"',
        {"enum": list(get_args(Pairs))},
        "seeds",
    )
    confirm: int = plan_option(
        "run",
        WHOLE,
        "questions about persons that a deterministic f is asked again at the end (8)",
        {"type": "integer", "minimum": 2},
        8,
    )
    blind: bool | None = plan_option(
        "run",
        TRUTH,
        "f gets D without the person as just another table (true over a network)",
        {"type": ["boolean", "null"]},
        None,
    )

    def __post_init__(self) -> None:
        people = self.data.population
        _require("seed", self.seed, "a whole number from 0 to 2**63 - 1", lambda seed: 0 <= seed < 2**63, int)
        if self.draws is not None:
            _require("draws", self.draws, "a whole number of at least 1", lambda draws: draws >= 1, int)
        if self.budget is not None:
            _require("budget", self.budget, "a whole number of at least 1", lambda calls: calls >= 1, int)
        _require("confirm", self.confirm, "a whole number of at least 2", lambda confirm: confirm >= 2, int)
        if self.records != "all":
            expected = f'"all" or a whole number from 1 to {people}'
            _require("records", self.records, expected, lambda records: 1 <= records <= people, int)
        if self.budget is not None and self.records != "all":
            raise InputError("a budget chooses the records itself; give either a budget or a number of records")
        if self.pairs not in get_args(Pairs):
            raise InputError(f"pairs = {self.pairs!r} is not known; {did_you_mean(str(self.pairs), get_args(Pairs))}")
        for name in ("joint", "randomized"):
            if not isinstance(getattr(self, name), bool):
                raise InputError(f"{name} must be true or false, not {getattr(self, name)!r}")
        if not self.adversaries:
            raise InputError("no adversary is declared; name at least one encoder and model, or leave the default")
        bound = (adversary.for_data(self.data, self.secrets) for adversary in self.adversaries)
        object.__setattr__(self, "adversaries", with_unique_names(bound))
        require_clear_signs(self.data)
        require_others(self.data)
        require_different_values(self.data, self.secrets)
        require_reachable(self.claim.epsilon, self.secrets, self.divergences)
        require_open_minds(self.adversaries, self.data, self.secrets)

    @cached_property
    def secrets(self) -> tuple[Secret, ...]:
        """What is inferred, one after the other."""
        return self.data.secrets(self.joint)

    @cached_property
    def true_values(self) -> tuple[npt.NDArray[np.int32], ...]:
        """Per secret, the position of each row's own value among its values.  # each [rows]"""
        columns = self.data.codes[len(self.data.schema.quasi) :]
        return tuple(secret.codes(columns) for secret in self.secrets)

    @cached_property
    def divergences(self) -> tuple[Divergence, ...]:
        """How predictions of each secret are compared."""
        for secret in self.secrets:
            if self.divergence.spec().get("ground") == "ordered" and not secret.is_ordered:
                raise InputError(
                    f'ground = "ordered" needs an order of the values of {secret.name!r}, which are no numbers; '
                    "give it: ground = { order = [lowest, …, highest] }"
                )
        return tuple(self.divergence.for_values(secret.labels) for secret in self.secrets)

    @property
    def population(self) -> int:
        return self.data.population

    @property
    def declared_names(self) -> tuple[str, ...]:
        return tuple(adversary.name for adversary in self.adversaries)

    @property
    def draws_numbers(self) -> tuple[bool, ...]:
        return tuple(adversary.randomized for adversary in self.adversaries)

    @property
    def number_of_values(self) -> tuple[int, ...]:
        return tuple(secret.values for secret in self.secrets)

    def questions_asked(self, card: Card) -> int:
        return len(self.asked(card))

    def divergence_of(self, secret: int) -> Divergence:
        return self.divergences[secret]

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """The tables that f is asked about; D itself comes first where any adversary looks at it."""
        tables: dict[str, Dataset] = {}
        viewers: dict[str, list[int]] = {}
        for number, adversary in enumerate(self.adversaries):
            data = adversary.encoder.prepare(self.data)
            name = "" if data is self.data else data.digest
            tables.setdefault(name, data)
            viewers.setdefault(name, []).append(number)
        return tuple(Question(tables[name], tuple(viewers[name])) for name in sorted(tables))

    def asked(self, card: Card) -> tuple[Question, ...]:
        """The questions that matter to this oracle: predictions need no adversary, so only D is asked about."""
        return (Question(self.data, (0,)),) if card.releases == "predictions" else self.questions

    def is_blind(self, card: Card) -> bool:
        """Whether D⁻ⁱ is sent as just another table, so that f cannot know who is tested."""
        return self.blind if self.blind is not None else not card.in_process

    def ask_present(self, card: Card, question: Question, purpose: str, draws: int, about: int | None = None) -> Ask:
        """The question for f(D), on behalf of a look or another purpose; of predictions, about one row."""
        seed = self.seed_for("f", purpose)
        return Ask(question.data, (), self._about(card, about), draws if card.randomized else 1, seed)

    def ask_absent(
        self, card: Card, question: Question, person: int, purpose: str, draws: int, *, coupled: bool,
        about: int | None = None,
    ) -> Ask:  # fmt: skip
        """The question for f(D without a person); coupled draws have the seeds of f(D)."""
        rows = self.data.rows_of(person)
        data, drop = question.data, rows
        if self.is_blind(card):
            data, drop = question.data.without(rows), ()
        seed = self.seed_for("f", purpose, *(() if coupled else ("absent", person, about)))
        return Ask(data, drop, self._about(card, about), draws if card.randomized else 1, seed)

    def _about(self, card: Card, row: int | None) -> tuple[Any, ...] | None:
        return self.data.record(row).quasi if card.releases == "predictions" and row is not None else None

    def model_seed(self, adversary: int, look: int, draw: int, *, side: Literal["present", "absent", "both"]) -> int:
        """The seed of a random model: of the look, the adversary and the draw, never of the person.

        Both sides share it when draws are coupled.
        """
        return self.seed_for("A", look, self.adversaries[adversary].name, side) + draw

    @cached_property
    def digest(self) -> str:
        """Two plans with one digest give the same numbers with the same oracle."""
        return hashlib.sha256(json.dumps(self.spec(), sort_keys=True).encode()).hexdigest()

    def spec(self) -> dict[str, Any]:
        """The plan as plain data with every parameter of every part, without a single record.

        An adaptive audit may go on to more draws, so their number is not part of what it is.
        """
        schema = self.data.schema
        return {
            "data": {
                "digest": self.data.digest,
                "rows": self.data.size,
                "dropped": self.data.dropped,
                "source": self.data.source.kind.plain(),
                "rows_digest": self.data.rows_digest,
                "person": schema.person,
                "population": self.data.population,
                "persons_digest": self.data.persons_digest,
            },
            "quasi": [{"name": column.name, **column.summary()} for column in schema.quasi],
            "sensitive": [column.name for column in schema.sensitive],
            "secrets": [{"name": secret.name, "values": list(secret.labels)} for secret in self.secrets],
            "weight": schema.weight,
            "suppressed": None if schema.suppressed is None else list(schema.suppressed),
            "claim": {
                "epsilon": self.claim.epsilon,
                "delta": self.claim.delta,
                "confidence": self.claim.confidence,
            },
            "adversaries": [specification(adversary) for adversary in self.adversaries],
            "divergence": [self._divergence_spec(divergence) for divergence in self.divergences],
            "privacy": None if self.privacy is None else asdict(self.privacy),
            **{option.name: getattr(self, option.name) for option in options_of(Plan) if option.plan},
            "draws": ADAPTIVE if self.adaptive else self.draws,
        }

    def _divergence_spec(self, divergence: Divergence) -> dict[str, Any]:
        numbers = {"largest": divergence.largest, "reach": reach(divergence)}
        return {
            "name": divergence.name,
            "describes": divergence.describes,
            **{key: plain_number(number) for key, number in numbers.items()},
            "proves": divergence.proves,
            "declared": self.divergence.spec(),
            "identity": specification(own_object(divergence)),
        }
