"""Is the box what its card says? A few questions at the start and one at the end. Passing is not proof."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from harness.auditing.examine import answers
from harness.auditing.plan import Plan
from harness.measuring.divergence import Samples
from harness.measuring.estimate import permutation_test
from harness.vocabulary.dataset import Record
from harness.vocabulary.errors import OracleError
from harness.vocabulary.oracle import Ask, Card, Oracle
from harness.vocabulary.release import Predictions
from harness.vocabulary.table import Table

REPEATS = 5  # equal questions, see `unlikelier_than`
VARIED = 20  # draws of one question that a randomized oracle is asked for

FEWEST_HALVES, PERMUTATIONS, SUSPICIOUS = 20, 1999, 0.001  # of the test for drift


def unlikelier_than(confidence: float) -> float:
    """What so many equal answers say: that different ones come no more often than this."""
    return float(1 - (1 - confidence) ** (1 / REPEATS))


@dataclass(frozen=True, eq=False)
class Opening:
    """What the first questions taught: the card as checked, how the sides may be drawn, what was odd."""

    card: Card
    coupled: bool  # both sides with the same seeds
    row_order_invariant: bool  # the order of rows makes no difference, so equal records need one examination
    notes: tuple[str, ...]
    first: str  # digest of the first answer, for the question at the end

    def entry(self) -> dict[str, Any]:
        return {**asdict(self), "notes": list(self.notes)}

    @classmethod
    def from_entry(cls, entry: dict[str, Any]) -> Opening:
        return cls(**{**entry, "card": Card(**entry["card"]), "notes": tuple(entry["notes"])})


def first_questions(plan: Plan, oracle: Oracle) -> Opening:
    """Ask for f(D) again and again, for a smaller table, for many draws at once, with the rows in another order."""
    card, ask = oracle.card, _question(plan, oracle)
    told = [_answer(oracle, ask) for _ in range(REPEATS)]
    smaller = {_answer(oracle, _of_a_smaller_table(plan, ask), "f of a smaller table") for _ in range(2)}
    same = len(set(told)) == 1 == len(smaller)
    notes: list[str] = []
    if not same and card.randomized is False:
        notes.append("the oracle says it is deterministic, but equal questions got different answers")
    if not same and card.seedable:
        notes.append("the oracle says it honours seeds, but equal questions with equal seeds got different answers")
    card = replace(card, randomized=bool(card.randomized) or not same, seedable=card.seedable and same)
    if card.randomized and not _varies(oracle, replace(ask, draws=VARIED)):
        notes.append(f"the oracle is said to be randomized, but {VARIED} draws of one question were all the same")
    coupled = card.seedable or not card.randomized
    row_order_invariant = coupled and _answer(oracle, _in_another_order(plan, ask)) == told[0]
    if card.row_order_invariant and coupled and not row_order_invariant:
        notes.append("the oracle says that the order of rows makes no difference, but it does")
    elif not card.randomized and not row_order_invariant:
        notes.append("the order of the rows makes a difference to what is released")
    return Opening(card, coupled, card.row_order_invariant and row_order_invariant, tuple(notes), told[0])


def still_the_same(plan: Plan, oracle: Oracle, opening: Opening) -> None:
    """Before an audit goes on: where equal questions get equal answers, the first one must get its first answer."""
    if opening.coupled and _answer(oracle, _question(plan, oracle)) != opening.first:
        raise OracleError(
            f"oracle {opening.card.name!r}: the first question now gets another answer than when this audit began; "
            "it is not the same oracle any more. Begin anew with another --out"
        )


def last_question(
    plan: Plan, oracle: Oracle, opening: Opening, early: Samples | None, late: Samples | None
) -> tuple[str, ...]:
    """The first question once more, after all others: an oracle that keeps a state may answer differently.

    Where equal questions may get different answers, draws of f(D) from before all others are compared with draws
    from after them, and the first half of the former with the second.
    """
    if opening.coupled:
        if _answer(oracle, _question(plan, oracle)) == opening.first:
            return ()
        return ("the first question, asked again at the end, got another answer: the oracle remembers or has changed",)
    if early is None or late is None:
        return ()
    half = len(early) // 2
    compared = ((early, late), (Samples(early.draws[:half]), Samples(early.draws[half:])))
    rng = np.random.default_rng(plan.seed_for("drift"))
    chances = [permutation_test(*each, coupled=False, permutations=PERMUTATIONS, rng=rng) for each in compared]
    if min(chances) > SUSPICIOUS:
        return ()
    return (f"early and late draws of f(D) differ (p = {min(chances):.4f}): its answers drift",)


def _question(plan: Plan, oracle: Oracle) -> Ask:
    target: Record | None = plan.data.record(0) if oracle.card.releases == "predictions" else None
    return plan.ask(oracle.card, target, absent=False, coupled=True)


def _of_a_smaller_table(plan: Plan, ask: Ask) -> Ask:
    """A table with as many rows as every D⁻ⁱ that is none of them: a box may be steady about D alone."""
    rows = np.r_[1, 1, 3 : plan.data.size] if plan.data.size > 2 else np.arange(1, plan.data.size)
    return replace(ask, data=plan.data.taking(rows))


def _answer(oracle: Oracle, ask: Ask, what: str = "f(D)") -> str:
    """One draw, as a digest of its rows in whatever order they came."""
    (release,) = answers(oracle, replace(ask, draws=1), what)
    return release.row_order_invariant_digest if isinstance(release, Table) else release.digest


def _varies(oracle: Oracle, ask: Ask) -> bool:
    """Whether the draws of one question are not all the same."""
    releases = list(answers(oracle, ask, "f(D)"))
    if isinstance(releases[0], Predictions):
        return len(np.unique(releases[0].rows, axis=0)) > 1
    return len({release.row_order_invariant_digest for release in releases if isinstance(release, Table)}) > 1


def _in_another_order(plan: Plan, ask: Ask) -> Ask:
    order = np.random.default_rng(plan.seed_for("order")).permutation(plan.data.size)
    return replace(ask, data=plan.data.taking(order))
