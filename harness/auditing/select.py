"""Which records are examined, how many draws next. Knows plans and what f(D) shows; asks nobody."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.auditing.plan import Plan
from harness.measuring.bounds import upper
from harness.measuring.divergence import Samples
from harness.measuring.encoding import tf
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError
from harness.vocabulary.oracle import Card
from harness.vocabulary.release import Microdata, Reader

FEWEST = 50  # draws of a first look
QUESTIONS, DRAWN = 10, 120  # calls to see whether the box is honest, and more where draws are calls: see `honesty`
HALF = 0.5  # of the error, when intervals and a certificate must hold together


@dataclass(frozen=True)
class Look:
    """One time of drawing: `draws` fresh draws a side, judged at error level `alpha` per record."""

    number: int
    draws: int
    alpha: float
    last: bool = True


def looks(plan: Plan, card: Card, coupled: bool, records: int) -> tuple[Look, ...]:
    """A fixed plan looks once; an adaptive one again and again with twice the draws, until the plan's number.

    Every look draws afresh, so nothing is carried from one to the next but its limits. Look t spends
    α/(t(t+1)), which sums to α however many looks there are, and survives an interruption.
    """
    error = 1 - plan.claim.confidence
    if records < plan.data.size:  # the other half is the certificate's, see `judge`
        error *= HALF
    alpha, most = error / records, plan.draws_of(card)
    if not plan.adaptive or most == 1:
        return (Look(1, most, alpha),)
    draws = [_first_look(plan, alpha / 2, coupled)]
    if draws[0] > most:
        raise InputError(
            f"adaptive: no record can be settled with fewer than {draws[0]} draws at this epsilon, confidence and "
            f"number of records, but draws = {most}; raise draws"
        )
    while 2 * draws[-1] <= most:  # the same looks whatever the number of draws, so that an audit can go on to more
        draws.append(2 * draws[-1])
    return tuple(Look(t, many, alpha / (t * (t + 1)), t == len(draws)) for t, many in enumerate(draws, start=1))


def _first_look(plan: Plan, alpha: float, coupled: bool) -> int:
    """So few draws that a record without any influence is just settled by them; fewer could settle nobody."""
    draws = FEWEST
    while True:
        nothing = Samples(np.tile([1.0, 0.0], (draws, 1)))
        if upper(nothing, nothing, 0.0, alpha / 2, coupled=coupled) * plan.distance.scale < plan.claim.epsilon:
            return draws
        draws = math.ceil(draws * 1.25)


@dataclass(frozen=True)
class Choice:
    """The records to examine, and those of them that stand for all because they were drawn at random."""

    targets: tuple[int, ...]
    random: tuple[int, ...]


@dataclass(frozen=True)
class Course:
    """What an audit has decided before its first finding; with the findings, all that a verdict rests on."""

    exact: bool  # neither f nor A is random
    targets: tuple[int, ...]
    random: tuple[int, ...]
    twins: dict[int, tuple[int, ...]]  # equal targets under the first of them, which alone is examined

    @property
    def examined(self) -> tuple[int, ...]:
        return tuple(self.twins) or self.targets

    def alike(self, index: int) -> tuple[int, ...]:
        """The targets that the finding of an examined record speaks for."""
        return self.twins.get(index, (index,))

    def entry(self) -> dict[str, Any]:
        groups = list(self.twins.values())
        return {"exact": self.exact, "targets": self.targets, "random": self.random, "twins": groups}

    @classmethod
    def from_entry(cls, entry: dict[str, Any]) -> Course:
        groups = {group[0]: tuple(group) for group in entry["twins"]}
        return cls(entry["exact"], tuple(entry["targets"]), tuple(entry["random"]), groups)


def choose(plan: Plan, card: Card, coupled: bool, reader: Reader, present: Microdata | None) -> Choice:
    """All records; some at random; or what a budget of calls buys: half of them the riskiest, half at random."""
    size = plan.data.size
    if plan.budget is None:
        random = plan.at_random(size if plan.records == "all" else plan.records)
        return Choice(random, random)
    affordable = _affordable(plan, card, coupled, plan.budget)
    if affordable >= size:
        return Choice(tuple(range(size)), tuple(range(size)))
    random = plan.at_random(max(affordable // 2, 1))
    left = [int(index) for index in riskiest(plan.data, reader, present) if index not in set(random)]
    return Choice(tuple(sorted({*random, *left[: affordable - len(random)]})), random)


def _affordable(plan: Plan, card: Card, coupled: bool, budget: int) -> int:
    """How many records a budget of calls buys, when none of them is settled before the last look."""
    schedule = looks(plan, card, coupled, plan.data.size)
    draws = sum(look.draws for look in schedule) if card.randomized else len(schedule)
    if card.releases == "predictions":  # one call answers all draws of one side
        each, shared = 2 * len(schedule), QUESTIONS
    else:  # f(D), and one more draw of it to see who is risky
        each, shared = draws, draws + 1 + QUESTIONS + (DRAWN if card.randomized else 0)
    affordable = (budget - shared) // each
    if affordable < 1:
        least = shared + each
        raise InputError(f"a budget of {budget} calls buys no record; this audit needs at least {least}")
    return affordable


def riskiest(data: Dataset, reader: Reader, present: Microdata | None) -> npt.NDArray[np.intp]:
    """Record indices, riskiest first by what f(D) itself shows: few rows cover her, fewer of them with her value."""
    rare = np.bincount(data.sensitive_codes, minlength=len(data.sensitive_domain))[data.sensitive_codes]
    known = np.stack(data.codes[: len(data.schema.quasi)])
    _, first, group, alike = np.unique(known, axis=1, return_index=True, return_inverse=True, return_counts=True)
    covering = alike[group.ravel()]
    if present is not None:
        shown = [int(tf(reader, present, data.record(int(index))).matrix().all(axis=1).sum()) for index in first]
        covering = np.array(shown)[group.ravel()]
    return np.lexsort((np.arange(data.size), rare, covering))


def twins(data: Dataset, targets: tuple[int, ...]) -> dict[int, tuple[int, ...]]:
    """Targets that are equal in every column, under the first of them: to leave out one is to leave out any."""
    rows = np.stack(data.codes)[:, list(targets)]
    _, group = np.unique(rows, axis=1, return_inverse=True)
    found: dict[int, list[int]] = {}
    for target, number in zip(targets, group.ravel().tolist(), strict=True):
        found.setdefault(number, []).append(target)
    return {members[0]: tuple(members) for members in found.values()}
