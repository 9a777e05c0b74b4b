"""What adversaries infer about targets from releases: every release is read once and shown to all of them.

For each draw of f and each secret the rows are encoded and a model is trained: once for all targets where the
encoding does not depend on the target, else once per target. A random model behind a deterministic f is trained
again and again on the one release. Knows releases and targets, never an oracle.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from harness.auditing.events import Look, OracleProfile
from harness.auditing.plan import Plan
from harness.measuring.adversary import Adversary, Trained
from harness.measuring.features import Floats
from harness.measuring.models import PredictionError
from harness.vocabulary.dataset import Record, Secret
from harness.vocabulary.errors import HarnessError
from harness.vocabulary.release import Microdata, TrainingRows

log = logging.getLogger("harness")
_logged: set[str] = set()  # failures whose full text this process has logged

Pair = tuple[int, int]  # number of the adversary, of the secret
Place = int  # of a target among the targets of one call


@dataclass(frozen=True, eq=False)
class Side:
    """One side of the comparison: at which look, with whose seeds, and how often f was drawn for it."""

    look: Look
    seeds: Literal["present", "absent", "both"]  # "both" when the two sides share their seeds
    f_is_random: bool

    @classmethod
    def of(cls, look: Look, profile: OracleProfile, name: Literal["present", "absent"]) -> Side:
        """The side of this name; where draws are coupled both have the same seeds."""
        return cls(look, "both" if profile.coupled else name, bool(profile.card.randomized))


@dataclass(frozen=True, eq=False)
class Prediction:
    """What one side says about one target: draws, how many of them without evidence, or why there is nothing."""

    samples: Floats | None  # [draws, n]
    uncovered: int = 0
    failure: str | None = None


@dataclass(eq=False)
class Inferred:
    """Predictions by adversary and secret, for each target draw after draw, and what went wrong."""

    draws: dict[tuple[Pair, Place], list[Floats]] = field(default_factory=lambda: defaultdict(list))  # each [n]
    uncovered: Counter[tuple[Pair, Place]] = field(default_factory=Counter)  # draws without evidence about the target
    failures: dict[tuple[Pair, Place], str] = field(default_factory=dict)  # why there is no usable prediction

    def prediction(self, pair: Pair, place: Place) -> Prediction:
        """What all draws say about one target."""
        failure = self.failures.get((pair, place))
        if failure is not None:
            return Prediction(None, failure=failure)
        return Prediction(np.stack(self.draws[pair, place]), self.uncovered[pair, place])

    def extend(self, later: Inferred) -> None:
        """Add what later draws say about the same targets."""
        for key, draws in later.draws.items():
            self.draws[key] += draws
        self.uncovered.update(later.uncovered)
        self.failures = {**later.failures, **self.failures}


def infer(
    plan: Plan, adversaries: Sequence[int], releases: Iterable[Microdata], targets: Sequence[Record], side: Side,
    first_draw: int = 0,
) -> Inferred:  # fmt: skip
    """What these adversaries infer about these targets from each release; releases are taken as they come."""
    inferred = Inferred()
    for draw, release in enumerate(releases, start=first_draw):
        for number, secret in enumerate(plan.secrets):
            rows = release.for_secret(secret)
            for adversary in adversaries:
                repeated = not side.f_is_random and plan.adversaries[adversary].randomized
                for repeat in range(side.look.draws) if repeated else (draw,):
                    _infer_once(plan, (adversary, number), secret, rows, targets, side, repeat, inferred)
    return inferred


def _infer_once(
    plan: Plan, pair: Pair, secret: Secret, rows: TrainingRows, targets: Sequence[Record], side: Side, draw: int,
    inferred: Inferred,
) -> None:  # fmt: skip
    """One adversary trained on one release; where it says nothing usable, that is noted and the others go on."""
    adversary = plan.adversaries[pair[0]]
    seed = plan.model_seed(pair[0], side.look.number, draw, side=side.seeds) if adversary.randomized else 0
    trained: Trained | None = None
    for place, target in enumerate(targets):
        if (pair, place) in inferred.failures:
            continue
        try:
            with _failures_of(adversary):
                if adversary.depends_on_target or trained is None:
                    trained = adversary.train(rows, target.raws if adversary.depends_on_target else None, seed)
                answer = trained.predict(target.raws, target.index, secret)
        except PredictionError as error:
            inferred.failures[pair, place] = str(error)
            _log_once(str(error), error.__cause__)
        else:
            inferred.draws[pair, place].append(answer.probabilities)
            inferred.uncovered[pair, place] += not answer.covered


@contextmanager
def _failures_of(adversary: Adversary) -> Iterator[None]:
    """Whatever a user's own part raises costs the prediction; what ours raise unasked is a defect, and shown as one."""
    try:
        yield
    except HarnessError:
        raise
    except Exception as error:
        if adversary.is_built_in:
            raise
        raise PredictionError(f"adversary {adversary.name!r} raised {type(error).__name__}") from error


def _log_once(failure: str, cause: BaseException | None) -> None:
    """The full text of an exception, for whoever reads the log; it may name raw values, and no report holds it."""
    if cause is not None and failure not in _logged:
        _logged.add(failure)
        log.warning("%s: %s", failure, cause)


@dataclass(frozen=True, eq=False)
class PresentPredictions:
    """What adversaries that train once for everybody infer from f(D), about every target of an audit."""

    places: dict[tuple[int, ...], Place]  # of a target, by `target_key`
    predictions: dict[tuple[Pair, Place], Prediction]


def target_key(plan: Plan, target: Record) -> tuple[int, ...]:
    """What a prediction about a target depends on: her quasi-identifiers, and her row where a prior knows more."""
    if any(adversary.prior.per_record for adversary in plan.adversaries):
        return (*target.codes, target.index)
    return target.codes


def infer_present(
    plan: Plan, adversaries: Sequence[int], releases: Iterable[Microdata], targets: Sequence[Record], side: Side
) -> PresentPredictions:
    """The predictions from f(D) of adversaries whose encoding does not depend on the target, for all targets."""
    distinct = {target_key(plan, target): target for target in reversed(targets)}
    inferred = infer(plan, adversaries, releases, list(distinct.values()), side)
    return PresentPredictions(
        places={key: place for place, key in enumerate(distinct)},
        predictions={key: inferred.prediction(*key) for key in {**inferred.draws, **inferred.failures}},
    )
