"""Is the box what its card says? A few questions at the start and one at the end. Passing is not proof."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from harness.dataset import Record
from harness.distance import Samples
from harness.estimate import permutation_test
from harness.examination import answers
from harness.oracle import Ask, Card, Oracle
from harness.plan import Plan
from harness.table import Table

REPEATS = 3  # equal questions; r equal answers say P(different) ≤ 1 − α^(1/r) (63 % at r = 3: hence "taken as")

FEWEST_HALVES, PERMUTATIONS, SUSPICIOUS = 20, 1999, 0.001  # of the test for drift


@dataclass(frozen=True, eq=False)
class Opening:
    """What the first questions taught: the card as checked, how the sides may be drawn, what was odd."""

    card: Card
    coupled: bool  # both sides with the same seeds
    orderless: bool  # the order of rows makes no difference, so equal records need one examination
    notes: tuple[str, ...]
    first: str  # digest of the first answer, for the question at the end

    def entry(self) -> dict[str, Any]:
        return {**asdict(self), "notes": list(self.notes)}

    @classmethod
    def from_entry(cls, entry: dict[str, Any]) -> Opening:
        return cls(**{**entry, "card": Card(**entry["card"]), "notes": tuple(entry["notes"])})


def first_questions(plan: Plan, oracle: Oracle) -> Opening:
    """Ask for f(D) again and again, with other seeds, with the rows in another order."""
    card, ask = oracle.card, _question(plan, oracle)
    told = [_answer(oracle, ask) for _ in range(REPEATS)]
    same = len(set(told)) == 1
    notes: list[str] = []
    if not same and card.randomized is False:
        notes.append("the oracle says it is deterministic, but equal questions got different answers")
    if not same and card.seedable:
        notes.append("the oracle says it honours seeds, but equal questions with equal seeds got different answers")
    if same and card.randomized and card.seedable and _answer(oracle, replace(ask, seed=ask.seed ^ 1)) == told[0]:
        notes.append("the oracle says it is randomized, but another seed got the same answer")
    if same and card.randomized and not card.seedable:
        notes.append("the oracle says it is randomized and takes no seed, but equal questions got equal answers")
    card = replace(card, randomized=bool(card.randomized) or not same, seedable=card.seedable and same)
    coupled = card.seedable or not card.randomized
    orderless = coupled and _answer(oracle, _in_another_order(plan, ask)) == told[0]
    if card.orderless and coupled and not orderless:
        notes.append("the oracle says that the order of rows makes no difference, but it does")
    elif not card.randomized and not orderless:
        notes.append("the order of the rows makes a difference to what is released")
    return Opening(card, coupled, card.orderless and orderless, tuple(notes), told[0])


def last_question(plan: Plan, oracle: Oracle, opening: Opening, drawn: Samples | None) -> tuple[str, ...]:
    """The first question once more, after all others: an oracle that keeps a state may answer differently.

    Where equal questions may get different answers, the first half of the draws of f(D) is compared with the second.
    """
    if opening.coupled:
        if _answer(oracle, _question(plan, oracle)) == opening.first:
            return ()
        return ("the first question, asked again at the end, got another answer: the oracle remembers or has changed",)
    if drawn is None or len(drawn) < FEWEST_HALVES:
        return ()
    half, rng = len(drawn) // 2, np.random.default_rng(plan.seed_for("halves"))
    early, late = Samples(drawn.draws[:half]), Samples(drawn.draws[half:])
    chance = permutation_test(early, late, coupled=False, permutations=PERMUTATIONS, rng=rng)
    if chance > SUSPICIOUS:
        return ()
    return (f"the first and second half of its draws of f(D) differ (p = {chance:.4f}): its answers drift",)


def _question(plan: Plan, oracle: Oracle) -> Ask:
    target: Record | None = plan.data.record(0) if oracle.card.releases == "predictions" else None
    return plan.ask(oracle.card, target, absent=False, coupled=True)


def _answer(oracle: Oracle, ask: Ask) -> str:
    """One draw, as a digest of its rows in whatever order they came."""
    (release,) = answers(oracle, replace(ask, draws=1), "f(D)")
    return release.orderless_digest if isinstance(release, Table) else release.digest


def _in_another_order(plan: Plan, ask: Ask) -> Ask:
    order = np.random.default_rng(plan.seed_for("order")).permutation(plan.data.size)
    return replace(ask, data=plan.data.taking(order))
