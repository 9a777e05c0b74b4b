"""Is the oracle what its card says? A few questions at the start and one at the end. Passing is not proof.

At the start: f(D) several times with equal seeds (is it deterministic, or does it honour seeds), f of a table with as
many rows as D⁻ⁱ twice (an oracle may be steady about D alone), several draws of a randomized f at once (is it
random at all), and D in another order of its rows. At the end the first question once more, or for an oracle whose
equal questions may get different answers a comparison of early with late draws of f(D).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from harness.auditing.asking import ask_oracle, calls
from harness.auditing.events import OracleProfile
from harness.auditing.plan import Plan
from harness.measuring.estimate import permutation_test
from harness.measuring.samples import Samples
from harness.vocabulary.errors import OracleError
from harness.vocabulary.oracle import Ask, Card, Oracle
from harness.vocabulary.release import Predictions
from harness.vocabulary.table import Table

REPEATS = 5  # equal questions
SMALLER = 2  # questions about one table of the size of D⁻ⁱ
VARIED = 20  # draws of one question that a randomized oracle is asked for
PURPOSE = "probe"

FEWEST_HALVES, PERMUTATIONS, SUSPICIOUS = 20, 1999, 0.001  # of the test for drift
MOST_LATE = 100  # draws of f(D) at the end


def probe(plan: Plan, oracle: Oracle) -> OracleProfile:
    """Ask the first questions; the profile says how far the card is believed."""
    card, ask = oracle.card, _first_ask(plan, oracle.card)
    answers = [_digest(oracle, ask) for _ in range(REPEATS)]
    smaller = {_digest(oracle, _about_fewer_rows(ask), "f of a smaller table") for _ in range(SMALLER)}
    same = len(set(answers)) == 1 == len(smaller)
    notes: list[str] = []
    if not same and card.randomized is False:
        notes.append("the oracle says it is deterministic, but equal questions got different answers")
    if not same and card.seedable:
        notes.append("the oracle says it honours seeds, but equal questions with equal seeds got different answers")
    card = replace(card, randomized=bool(card.randomized) or not same, seedable=card.seedable and same)
    if card.randomized and not _varies(oracle, replace(ask, draws=VARIED)):
        notes.append(f"the oracle is said to be randomized, but {VARIED} draws of one question were all the same")
    coupled = card.seedable or not card.randomized
    invariant = coupled and _digest(oracle, _in_another_order(plan, ask)) == answers[0]
    if card.row_order_invariant and coupled and not invariant:
        notes.append("the oracle says that the order of rows makes no difference, but it does")
    elif not card.randomized and not invariant:
        notes.append("the order of the rows makes a difference to what is released")
    return OracleProfile(card, coupled, card.row_order_invariant and invariant, tuple(notes), answers[0])


def probe_calls(profile: OracleProfile) -> int:
    """How often `probe` called f."""
    varied = calls(profile.card, VARIED) if profile.card.randomized else 0
    return (REPEATS + SMALLER) * calls(profile.card, 1) + varied + (calls(profile.card, 1) if profile.coupled else 0)


def recognise(plan: Plan, oracle: Oracle, profile: OracleProfile) -> None:
    """Before an audit goes on: where equal questions get equal answers, the first one must get its first answer."""
    if profile.coupled and _digest(oracle, _first_ask(plan, oracle.card)) != profile.first:
        raise OracleError(
            f"oracle {profile.card.name!r}: the first question now gets another answer than when this audit began; "
            "it is not the same oracle any more. Begin anew with another --out"
        )


def compares_early_and_late(profile: OracleProfile, draws: int) -> bool:
    """Whether drift is looked for in draws of f(D): where equal questions may get different answers."""
    return not profile.coupled and draws >= FEWEST_HALVES


def closing_notes(
    plan: Plan, oracle: Oracle, profile: OracleProfile, early: Samples | None, late: Samples | None
) -> tuple[str, ...]:
    """Ask the first question once more, after all others; or compare early with late draws of f(D).

    The first half of the early draws is compared with the second, too.
    """
    if profile.coupled:
        if _digest(oracle, _first_ask(plan, oracle.card)) == profile.first:
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


def closing_calls(profile: OracleProfile, draws: int) -> int:
    """How often f is called for the closing notes, beyond the draws that every look makes anyway."""
    if profile.coupled:
        return calls(profile.card, 1)
    if not compares_early_and_late(profile, draws):
        return 0
    sides = 2 if profile.card.releases == "predictions" else 1  # f(D) of the first look serves as the early side
    return sides * calls(profile.card, min(draws, MOST_LATE))


def _first_ask(plan: Plan, card: Card) -> Ask:
    about = 0 if card.releases == "predictions" else None
    return plan.ask_present(card, plan.asked(card)[0], PURPOSE, 1, about)


def _about_fewer_rows(ask: Ask) -> Ask:
    """A table with as many rows as every D⁻ⁱ of one row that is none of them."""
    size = ask.data.size
    rows = np.r_[1, 1, 3:size] if size > 2 else np.arange(1, size)
    return replace(ask, data=ask.data.taking(rows))


def _digest(oracle: Oracle, ask: Ask, what: str = "f(D)") -> str:
    """One draw, as a digest of its rows in whatever order they came."""
    (release,) = ask_oracle(oracle, replace(ask, draws=1), what)
    return release.row_order_invariant_digest if isinstance(release, Table) else release.digest


def _varies(oracle: Oracle, ask: Ask) -> bool:
    """Whether the draws of one question are not all the same."""
    digests: set[str] = set()
    for release in ask_oracle(oracle, ask, "f(D)"):
        if isinstance(release, Predictions):
            digests.update(row.tobytes().hex() for row in release.rows)
        else:
            digests.add(release.row_order_invariant_digest)
    return len(digests) > 1


def _in_another_order(plan: Plan, ask: Ask) -> Ask:
    order = np.random.default_rng(plan.seed_for("order")).permutation(ask.data.size)
    return replace(ask, data=ask.data.taking(order))
