"""Is the oracle what its card says? A few questions at the start and one at the end. Passing is not proof.

At the start: f(D) several times with equal seeds (is it deterministic, or does it honour seeds), f of a table with as
many rows as D⁻ⁱ twice (an oracle may be steady about D alone), several draws of a randomized f at once (is it random
at all), D in another order of its rows, a part of D, and a table in which one record of D stands many times (does it
read what it is asked about). At the end the first question once more, or, for an oracle whose equal questions may get
different answers, a comparison of early with late draws of f(D).

What is only odd becomes a note. What takes away the ground of every verdict becomes a doubt: the verdict is then
INCONCLUSIVE and says why.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from harness.auditing.asking import ask_oracle, calls
from harness.auditing.events import OracleProfile
from harness.auditing.plan import Plan, PlanNumbers
from harness.measuring.estimate import permutation_test
from harness.measuring.samples import Samples
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import AwayError, OracleError, OtherOracleError
from harness.vocabulary.oracle import Ask, Card, Oracle
from harness.vocabulary.release import Predictions
from harness.vocabulary.table import Table

REPEATS = 5  # equal questions
SMALLER = 2  # questions about one table of the size of D⁻ⁱ
VARIED = 20  # draws of one question that a randomized oracle is asked for
OTHER_TABLES = 2  # a part of D, and a table with one record of D many times
PURPOSE = "probe"
NOT_READ = "it does not read what it is asked about"
ANSWERS_FROM_MEMORY = (
    "f is said to be random, but its draws never differ, while the same rows in another order get another answer: it "
    "answers from memory, or is deterministic and must say so"
)

ANOTHER_AT_THE_END = (
    "the first question, asked again at the end, got another answer: the oracle remembers or has changed"
)

FEWEST_HALVES, PERMUTATIONS, SUSPICIOUS = 20, 1999, 0.001  # of the test for drift
MOST_WATCHED = 100  # draws of f(D) at the beginning, and at the end, that are compared


def probe(plan: Plan, oracle: Oracle) -> OracleProfile:
    """Ask the first questions; the profile says how far the card is believed."""
    ask = _first_ask(plan, oracle.card)
    answers = [_answer(oracle, ask) for _ in range(REPEATS)]
    smaller = [_answer_if_any(oracle, _about_fewer_rows(ask)) for _ in range(SMALLER)]
    same = len(set(answers)) == 1 == len(set(smaller))
    notes: list[str] = list(_translated(plan))
    if not same and oracle.card.randomized is False:
        notes.append("the oracle says it is deterministic, but equal questions got different answers")
    ignores_seeds = oracle.card.seedable and not same
    if ignores_seeds:
        notes.append("the oracle says it honours seeds, but equal questions with equal seeds got different answers")
    card = believed_card(plan, oracle.card, same=same)
    is_still = bool(card.randomized) and not _varies(oracle, replace(ask, draws=VARIED))
    if is_still:
        notes.append(f"the oracle is said to be randomized, but {VARIED} draws of one question were all the same")
    coupled = draws_are_coupled(plan, card)
    reordered = _answer(oracle, _in_another_order(plan, ask)) if coupled or is_still else None
    invariant = coupled and reordered == answers[0]
    if card.row_order_invariant and coupled and not invariant:
        notes.append(
            "the oracle says that the order of rows makes no difference, but it does; let f sort its rows first, or "
            "its card say otherwise"
        )
    elif not card.randomized and not invariant:
        notes.append("rows in another order get another release; let f sort its rows first")
    reading = _reads_its_input(oracle, ask, answers[0], card)
    if is_still and not coupled and same and reordered != answers[0]:
        reading = replace(reading, doubts=(*reading.doubts, ANSWERS_FROM_MEMORY))
    return OracleProfile(
        card,
        coupled,
        card.row_order_invariant and invariant,
        (*notes, *reading.notes),
        answers[0].digest,
        reading.doubts,
        says_if_random=oracle.card.randomized is not None,
        shuffles=any(len({one.in_order for one in equal if one is not None}) > 1 for equal in (answers, smaller)),
        keeps_secrets=reading.keeps_secrets,
        ignores_seeds=ignores_seeds,
        is_still=is_still,
        stated=oracle.card,
    )


def believed_card(plan: PlanNumbers, stated: Card, *, same: bool) -> Card:
    """The card as far as it is believed, once it is known whether equal questions get the same answers."""
    card = _with_claimed_privacy(plan, stated)
    if not same and stated.randomized is False:
        card = replace(card, max_draws=1)  # it was never meant to be asked for several draws
    randomized = bool(stated.randomized) or bool(plan.randomized) or not same
    return replace(card, randomized=randomized, seedable=stated.seedable and same)


def draws_are_coupled(plan: PlanNumbers, card: Card) -> bool:
    """Whether both sides can be drawn with the same seeds; `card` as far as it is believed."""
    return (card.seedable and plan.pairs == "seeds") or not card.randomized


def _with_claimed_privacy(plan: PlanNumbers, card: Card) -> Card:
    """The card with the differential privacy that the plan says f is claimed to have."""
    if plan.privacy is None:
        return card
    return replace(card, noise_epsilon=plan.privacy.epsilon, noise_delta=plan.privacy.delta)


def _translated(plan: Plan) -> Iterator[str]:
    """How a claim of differential privacy in other terms was read."""
    if plan.privacy is not None and plan.privacy.words:
        yield (
            f"{plan.privacy.words} is claimed; it implies differential privacy with noise_epsilon = "
            f"{plan.privacy.epsilon:.4g} and noise_delta = {plan.privacy.delta:g} (standard conversion), and that is "
            "tested"
        )


def probe_calls(profile: OracleProfile) -> int:
    """How often `probe` called f."""
    varied = calls(profile.card, VARIED) if profile.card.randomized else 0
    single = REPEATS + SMALLER + OTHER_TABLES + (1 if profile.coupled or profile.is_still else 0)
    return single * calls(profile.card, 1) + varied


def recognise(plan: Plan, oracle: Oracle, profile: OracleProfile) -> None:
    """Before an audit goes on: where equal questions get equal answers, the first one must get its first answer."""
    if profile.coupled and _answer(oracle, _first_ask(plan, oracle.card)).digest != profile.first:
        raise OtherOracleError(
            f"oracle {profile.card.name!r}: the first question now gets another answer than when this audit began; "
            "it is not the same oracle any more. Begin anew with another --out"
        )


def require_answer(plan: Plan, oracle: Oracle) -> None:
    """Asks the first question, which is about f(D), once more: an OracleError says that f does not answer any more."""
    _answer(oracle, _first_ask(plan, oracle.card))


def watches_for_drift(profile: OracleProfile, draws: int) -> bool:
    """Whether drift is looked for in draws of f(D): where equal questions may get different answers."""
    return not profile.coupled and draws >= FEWEST_HALVES


def closing_doubts(
    plan: Plan, oracle: Oracle, profile: OracleProfile, early: Samples | None, late: Samples | None
) -> tuple[str, ...]:
    """Ask the first question once more, after all others; or compare early with late draws of f(D)."""
    if profile.coupled:
        if _answer(oracle, _first_ask(plan, oracle.card)).digest == profile.first:
            return ()
        return (ANOTHER_AT_THE_END,)
    return drift_doubts(plan, early, late)


def drift_doubts(plan: PlanNumbers, early: Samples | None, late: Samples | None) -> tuple[str, ...]:
    """Compare early with late draws of f(D), and the first half of the early ones with the second."""
    if early is None or late is None:
        return ()
    half = len(early) // 2
    compared = ((early, late), (Samples(early.draws[:half]), Samples(early.draws[half:])))
    rng = np.random.default_rng(plan.seed_for("drift"))
    chances = [permutation_test(*each, coupled=False, permutations=PERMUTATIONS, rng=rng) for each in compared]
    if min(chances) > SUSPICIOUS:
        return ()
    return (f"early and late draws of f(D) differ (p = {min(chances):.4f}): the answers of f drift",)


def closing_calls(profile: OracleProfile, draws: int) -> int:
    """How often f is called to see whether it has changed: at the end, or at the beginning and at the end."""
    if profile.coupled:
        return calls(profile.card, 1)
    return 2 * calls(profile.card, min(draws, MOST_WATCHED)) if watches_for_drift(profile, draws) else 0


def telling_row(data: Dataset) -> int:
    """A row whose quasi-identifiers say most about its sensitive value: what f says about it is hard to miss."""
    known = np.stack(data.codes[: len(data.schema.quasi)])
    group = np.unique(known, axis=1, return_inverse=True)[1].ravel()
    secret = data.sensitive_codes
    _, kind, together = np.unique(np.stack([group, secret]), axis=1, return_inverse=True, return_counts=True)
    _, of_group, alike = np.unique(group, return_inverse=True, return_counts=True)
    values = len(np.unique(secret))
    return int(np.argmax(together[kind.ravel()] - alike[of_group.ravel()] / max(values, 1)))


@dataclass(frozen=True)
class _Answer:
    """One draw as a digest of its rows in whatever order they came, and how many rows a table has."""

    digest: str
    rows: int | None
    in_order: str = field(default="", compare=False)  # digest of the rows as they came
    secrets: Counter[tuple[str, ...]] | None = field(default=None, compare=False)  # how often each is in a table


@dataclass(frozen=True)
class _Reading:
    """What questions about other tables taught."""

    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    keeps_secrets: bool = False


def _reads_its_input(oracle: Oracle, ask: Ask, first: _Answer, card: Card) -> _Reading:
    """Ask about a part of D and about a table with one record many times: f that reads them answers differently.

    Draws of a random f without seeds may be the same by chance, which says nothing. Predictions, and tables with
    another number of rows than D, may be what f releases for everybody, whoever they are. These are noted, and nothing
    more. Of a deterministic f that releases sensitive values as they are, those of another table must be its own.
    """
    about_part, about_planted = _about_a_part(ask), _about_a_planted_record(ask)
    part, planted = (_answer_if_any(oracle, each) for each in (about_part, about_planted))
    keeps_first = not card.randomized and _keeps(ask, first)
    keeps = keeps_first and _keeps(about_planted, planted)
    if keeps_first and planted == first and not keeps:
        return _Reading(doubts=(f"f gave D and a table of other records the same answer: {NOT_READ}",))
    if keeps and part is not None and _shows_others(about_part, part, first):
        return _Reading(doubts=("asked about a part of D, f released sensitive values of other rows of D",))
    if part != first or ask.data.size == 1 or (card.randomized and not card.seedable):
        return _Reading(keeps_secrets=keeps)
    same = "D, a part of D and a table of other records" if planted == first else "D and a part of D"
    text = f"f gave {same} the same answer"
    if card.randomized or first.rows != ask.data.size:
        return _Reading(notes=(text,) if planted == first else ())
    return _Reading(doubts=(f"{text}: {NOT_READ}",))


def _keeps(ask: Ask, answer: _Answer | None) -> bool:
    """Whether f released the sensitive values of the table as they are."""
    return answer is not None and answer.secrets == _secrets(ask.table, ask.data)


def _shows_others(about_part: Ask, part: _Answer, whole: _Answer) -> bool:
    """Whether f, asked about a part of D, released as many rows with sensitive values of D, but not its own."""
    is_of_whole = part.secrets is not None and whole.secrets is not None and part.secrets <= whole.secrets
    return is_of_whole and part.rows == about_part.data.size and not _keeps(about_part, part)


def _secrets(table: Table, data: Dataset) -> Counter[tuple[str, ...]] | None:
    """How often each combination of sensitive values is in a table; None where it lacks one of these columns."""
    frame, names = table.to_frame(), [column.name for column in data.schema.sensitive]
    if not set(names) <= set(frame.columns):
        return None
    return Counter(zip(*(frame[name].astype(str) for name in names), strict=True))


def _first_ask(plan: Plan, card: Card) -> Ask:
    about = telling_row(plan.data) if card.releases == "predictions" else None
    return plan.ask_present(card, plan.asked(card)[0], PURPOSE, 1, about)


def _about_fewer_rows(ask: Ask) -> Ask:
    """A table with as many rows as every D⁻ⁱ of one row that is none of them."""
    size = ask.data.size
    rows = np.r_[1, 1, 3:size] if size > 2 else np.arange(1, size)
    return replace(ask, data=ask.data.taking(rows))


def _about_a_part(ask: Ask) -> Ask:
    """D without all records that have the quasi-identifiers of the telling row; half of D if nobody else is left."""
    data = ask.data
    known = np.stack(data.codes[: len(data.schema.quasi)])
    others = np.flatnonzero((known != known[:, [telling_row(data)]]).any(axis=0))
    return replace(ask, data=data.taking(others if len(others) else np.arange((data.size + 1) // 2)))


def _about_a_planted_record(ask: Ask) -> Ask:
    """D with the telling row in place of every other row."""
    rows = np.arange(ask.data.size)
    rows[::2] = telling_row(ask.data)
    return replace(ask, data=ask.data.taking(rows))


def _answer_if_any(oracle: Oracle, ask: Ask) -> _Answer | None:
    """The answer to an unusual table; f may refuse it, which shows that f reads it."""
    try:
        return _answer(oracle, ask, "f of another table")
    except AwayError:
        raise
    except OracleError:
        return None


def _answer(oracle: Oracle, ask: Ask, what: str = "f(D)") -> _Answer:
    """One draw, as a digest."""
    (release,) = ask_oracle(oracle, replace(ask, draws=1), what)
    if isinstance(release, Table):
        secrets = _secrets(release, ask.data)
        return _Answer(release.row_order_invariant_digest, release.rows, release.digest, secrets)
    return _Answer(release.digest, None)


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
