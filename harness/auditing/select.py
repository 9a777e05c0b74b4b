"""Who is examined, with how many draws, at which error level, and in which order. Asks nobody.

A verdict can be wrong in one of two ways, never in both at once, so each may spend the whole error 1 − confidence.
That somebody breaks the claim is one of many statements, and shares it over persons × adversaries × secrets. That all
keep it is wrong only if it is wrong for the worst of them: no sharing (intersection–union test). What is spent by
single looks is shared again: look t spends α/(t(t+1)), which sums to α however many looks there are, and survives an
interruption; bets that go on over all looks need no sharing between them.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.auditing.call_count import BLOCK, calls_before_persons, calls_for_equal_persons
from harness.auditing.events import Look, OracleProfile, Selected
from harness.auditing.measure import bets_on_pairs
from harness.auditing.plan import Plan, PlanNumbers
from harness.measuring.betting import Wager, bet_on_less, evidence_below
from harness.measuring.divergence import upper_of
from harness.measuring.samples import Samples
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError
from harness.vocabulary.persons import RowName
from harness.vocabulary.release import Microdata

FEWEST = 20  # draws of a first look
GROWTH = 0.5  # draws of a further look, as a part of all before it
HALF = 0.5  # of the error, when intervals and a certificate must hold together
FIRST_LOOK = 0.75  # of the calls that a budget leaves for persons; an adaptive audit keeps the rest for what follows
TOGETHER = 8  # persons with equal quasi-identifiers that are examined together, so that f(D) is asked once for them


@dataclass(frozen=True)
class Levels:
    """How the error 1 − confidence is shared, before anything is measured."""

    together: float  # per person, adversary and secret: intervals that hold together
    own: float  # of her own upper limit: all keep the claim unless the worst does not, so nobody shares it
    wager: float  # the part of it that bets over all looks get; the rest is for limits of single looks


def share_levels(plan: PlanNumbers, profile: OracleProfile, persons: int) -> Levels:
    """The levels of an audit of so many persons."""
    error = 1 - plan.claim.confidence
    keys = persons * len(plan.adversary_names(profile.card)) * len(plan.number_of_values)
    if persons < plan.population:  # the other half is the certificate's, which counts persons: see `judge`
        together = error * HALF / keys
        return Levels(together, together / 2, together / 2)
    if not plan.adaptive:
        return Levels(error / keys, error, 0.0)
    # Bets on pairs are all that coupled draws need; independent ones may need limits of single looks.
    rest = error / (2 * keys)
    return Levels(error / keys, error, error - rest if profile.coupled else error / 2)


def schedule(plan: PlanNumbers, profile: OracleProfile, persons: int, earlier: Sequence[Look] = ()) -> tuple[Look, ...]:
    """A fixed plan looks once; an adaptive one again and again, until all looks together have the plan's draws.

    Every look draws afresh, half as often as all looks before it. Its intervals stand for themselves; bets go on.
    An audit that was given more draws goes on from its `earlier` looks.
    """
    levels, most = share_levels(plan, profile, persons), plan.draws_of(profile.card)
    if not plan.adaptive or most == 1:
        return (Look(1, most, levels.together, levels.own),)
    looks = list(earlier)
    if not looks:
        secrets = range(len(plan.number_of_values))
        first = max(_fewest_draws(plan, secret, levels, profile.coupled, most) for secret in secrets)
        looks = [look_of(1, first, levels)]
    while (total := sum(look.draws for look in looks)) < most:
        looks.append(look_of(len(looks) + 1, min(math.ceil(total * GROWTH), most - total), levels))
    return tuple(looks)


def look_of(number: int, draws: int, levels: Levels) -> Look:
    """A look with its part of the error: α/(t(t+1)) sums to α however many looks follow."""
    part = 1 / (number * (number + 1))
    return Look(number, draws, levels.together * part, max(levels.own - levels.wager, 0.0) * part)


def _fewest_draws(plan: PlanNumbers, secret: int, levels: Levels, coupled: bool, most: int) -> int:
    """So few draws that a person without any influence is just settled by them; fewer could settle nobody.

    She is taken to be one about whom every value is predicted to be equally likely, in every draw.
    """
    settles = _settling(plan, secret, levels, coupled)
    enough = min(FEWEST, most)
    while not settles(enough):
        if enough == most:
            raise InputError(
                f"adaptive: no record can be settled with draws = {most}, the most that this plan allows, at this "
                "epsilon, confidence and number of records; raise draws or epsilon"
            )
        enough = min(2 * enough, most)
    few = range(enough // 2, enough)  # the first of them does not settle her, unless the fewest do
    return max(min(FEWEST, most), few[0] + bisect_left(few, True, key=settles))


def _settling(plan: PlanNumbers, secret: int, levels: Levels, coupled: bool) -> Callable[[int], bool]:
    """Whether so many draws settle her."""
    claim, values = plan.claim, plan.number_of_values[secret]
    goal = math.log(1 / levels.wager)
    if claim.delta > 0:
        return lambda draws: evidence_below(0, draws, claim.delta) >= goal
    divergence = plan.divergence_of(secret)
    if divergence.proves == "nothing":
        raise InputError(
            f"adaptive: no number of draws proves anything about the distance {divergence.name!r} with delta = 0; "
            "claim a delta above 0, or choose another distance"
        )

    def settles(draws: int) -> bool:
        if bets_on_pairs(divergence, claim.epsilon):
            return bet_on_less(Wager(), np.zeros(draws), claim.epsilon, divergence.largest).highest >= goal
        same = Samples(np.full((draws, values), 1 / values))
        return upper_of(divergence, same, same, 0.0, levels.together / 4, coupled=coupled) < claim.epsilon

    return settles


def select(plan: Plan, profile: OracleProfile, risk: Microdata | None) -> Selected:
    """The persons to examine; `risk` is a draw of f(D) that shows who is risky, where a budget asks for it."""
    choice = _choose(plan, profile, risk)
    persons = choice.persons
    names = plan.adversary_names(profile.card)
    alike = profile.row_order_invariant and not any(adversary.prior.per_record for adversary in plan.adversaries)
    duplicates = equal_persons(plan.data, persons) if alike else ()
    return Selected(
        persons=persons,
        random=choice.at_random,
        duplicates=duplicates,
        rows=source_rows(plan.data, persons),
        adversaries=names,
        exact=tuple(plan.is_exact(profile.card, number) for number in range(len(names))),
        looks=schedule(plan, profile, choice.shared_by),
        wager=share_levels(plan, profile, choice.shared_by).wager,
        shared_by=choice.shared_by,
    )


def _choose(plan: Plan, profile: OracleProfile, risk: Microdata | None) -> _Choice:
    """All persons; some at random; or what a budget of calls buys: half of them at random, half the riskiest.

    The random half is fixed before anything is measured: a sample whose size depends on what it shows proves nothing.
    """
    numbers = choose_numbers(plan, profile, lambda: _most_rows(plan))
    chosen = plan.at_random(numbers.at_random)
    members = set(chosen)
    further = numbers.persons - len(chosen)
    others = [int(person) for person in riskiest(plan.data, risk) if person not in members] if further else []
    return _Choice(tuple(sorted({*chosen, *others[:further]})) if others else chosen, chosen, numbers.shared_by)


@dataclass(frozen=True)
class ChosenNumbers:
    """How many persons are examined first, how many of them at random, and how many share the error level."""

    persons: int
    at_random: int
    shared_by: int


def choose_numbers(plan: PlanNumbers, profile: OracleProfile, most_rows: Callable[[], int]) -> ChosenNumbers:
    """The numbers of persons of an audit; `most_rows`, of different rows of one person, matters to a budget alone."""
    people = plan.population
    if plan.budget is None:
        count = people if plan.records == "all" else plan.records
        return ChosenNumbers(count, count, count)
    rows = most_rows()
    most = _affordable(plan, profile, plan.budget, rows)
    if most == people:
        return ChosenNumbers(people, people, people)
    first = _affordable(plan, profile, plan.budget, rows, schedule(plan, profile, most)[:1], FIRST_LOOK)
    return ChosenNumbers(first, max(first // 2, 1), most)


def _most_rows(plan: Plan) -> int:
    """Different rows of a person, at most."""
    return max(len(distinct_rows(plan, person)) for person in range(plan.data.population))


@dataclass(frozen=True)
class _Choice:
    """Who is examined, who of them was drawn at random, and how many persons at most share the error level."""

    persons: tuple[int, ...]
    at_random: tuple[int, ...]
    shared_by: int


def _affordable(
    plan: PlanNumbers, profile: OracleProfile, budget: int, most_rows: int, looks: Sequence[Look] = (),
    share: float = 1.0,
) -> int:  # fmt: skip
    """How many persons, at least one, a budget of calls buys a first look at: `looks`, or the one of so many persons.

    An adaptive audit spends only a share of what is left for persons on it, if that is said.
    """
    people = plan.population
    part = share if plan.adaptive else 1.0

    def needed(persons: int) -> int:
        first = looks or schedule(plan, profile, persons)[:1]
        calls = calls_for_equal_persons(plan, profile, first, persons, most_rows)
        return calls_before_persons(plan, profile, first) + (calls if persons == 1 else math.ceil(calls / part))

    if needed(people) <= budget:  # all of them need fewer draws each than most of them: see `share_levels`
        return people
    if needed(1) > budget:
        raise InputError(f"a budget of {budget} calls buys no record; this audit needs at least {needed(1)}")
    return bisect_right(range(1, people), budget, key=needed)


def riskiest(data: Dataset, release: Microdata | None) -> npt.NDArray[np.intp]:
    """Persons, riskiest first by what f(D) itself shows: few rows cover her, fewer of them with her value."""
    secret = data.sensitive_codes
    rare = np.unique(secret, return_inverse=True, return_counts=True)
    value_count = rare[2][rare[1]]
    known = np.stack(data.codes[: len(data.schema.quasi)])
    _, first, group, alike = np.unique(known, axis=1, return_index=True, return_inverse=True, return_counts=True)
    covering = alike[group.ravel()]
    if release is not None:
        covering = np.array([_covering_rows(data, release, int(row)) for row in first])[group.ravel()]
    order = np.lexsort((np.arange(data.size), value_count, covering))
    persons = order if data.persons is None else data.persons[order]
    _, earliest = np.unique(persons, return_index=True)
    return persons[np.sort(earliest)].astype(np.intp)


def _covering_rows(data: Dataset, release: Microdata, row: int) -> int:
    """How many released rows cover a record in every quasi-identifier."""
    covers = [
        column.lexicon.covering(raw)[column.ids][column.codes]
        for column, raw in zip(release.quasi, data.record(row).raws, strict=True)
    ]
    return int(np.logical_and.reduce(covers).sum())


def equal_persons(data: Dataset, persons: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Groups of persons with equal rows, as multisets: to leave out one of a group is to leave out any of it."""
    _, kind = np.unique(np.stack(data.codes), axis=1, return_inverse=True)
    kind = kind.ravel()
    groups: dict[tuple[int, ...], list[int]] = {}
    for person in persons:
        groups.setdefault(tuple(sorted(kind[list(data.rows_of(person))].tolist())), []).append(person)
    return tuple(tuple(members) for members in groups.values())


def source_rows(data: Dataset, persons: tuple[int, ...]) -> tuple[tuple[RowName, ...], ...] | None:
    """The rows of the source that each person has, by name; None when person and row are one and rows are counted."""
    if data.persons is None and data.rows_are_counted:
        return None
    return tuple(tuple(data.row(row) for row in data.rows_of(person)) for person in persons)


def distinct_rows(plan: Plan, person: int) -> tuple[int, ...]:
    """One row of D for each different thing an adversary knows of a person: her quasi-identifiers, or her rows one by
    one where a prior tells them apart.
    """
    data, rows = plan.data, plan.data.rows_of(person)
    if len(rows) == 1 or any(adversary.prior.per_record for adversary in plan.adversaries):
        return rows
    known = np.stack(data.codes[: len(data.schema.quasi)])[:, list(rows)]
    _, first = np.unique(known, axis=1, return_index=True)
    return tuple(rows[place] for place in sorted(first.tolist()))


def in_random_order(plan: Plan, persons: tuple[int, ...]) -> list[int]:
    """Persons who share their quasi-identifiers together, since f(D) says the same of them; else at random.

    An oracle that drifts, or remembers what it was asked, then hurts no particular kind of person.
    """
    first_rows = np.array([plan.data.rows_of(person)[0] for person in persons])
    known = np.stack(plan.data.codes[: len(plan.data.schema.quasi)])[:, first_rows]
    group = np.unique(known, axis=1, return_inverse=True)[1].ravel()
    place = np.random.default_rng(plan.seed_for("questions")).permutation(group.max() + 1)
    return [persons[index] for index in np.lexsort((np.array(persons), place[group]))]


def work_items(plan: Plan, profile: OracleProfile, ordered: list[int]) -> list[tuple[int, ...]]:
    """The persons as they travel to workers: one by one, or together where one question about f(D) serves several.

    That is so for predictions drawn with common seeds: what f(D) predicts depends on the quasi-identifiers alone. And
    where microdata are drawn without common seeds, each block of persons has draws of f(D) of its own.
    """
    if profile.in_blocks:
        return [tuple(ordered[start : start + BLOCK]) for start in range(0, len(ordered), BLOCK)]
    if profile.card.releases != "predictions" or not profile.coupled:
        return [(person,) for person in ordered]
    items: list[list[int]] = []
    latest: object = None
    for person in ordered:
        rows = distinct_rows(plan, person)
        known = plan.data.record(rows[0]).codes if len(rows) == 1 else None
        if known is not None and known == latest and len(items[-1]) < TOGETHER:
            items[-1].append(person)
        else:
            items.append([person])
        latest = known
    return [tuple(item) for item in items]
