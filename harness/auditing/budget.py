"""What a budget of calls still buys in the course of an audit: further looks, and further persons. Asks nobody.

Half of the persons are drawn at random and fixed before anything is measured. What is left of a budget when everybody
is settled buys a first look at the next riskiest persons. It must not enlarge the random half: how much is left depends
on what was found, and a certificate from a sample whose size depends on its findings is wrong more often than it says.
A violation by whoever is added is one of `Selected.shared_by` statements, whose number is fixed from the beginning.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace

from harness.auditing.call_count import calls_before_persons, calls_for_items
from harness.auditing.events import Chosen, Look, OracleProfile, Selected
from harness.auditing.plan import Plan
from harness.auditing.select import distinct_rows, equal_persons, in_random_order, riskiest, source_rows, work_items
from harness.vocabulary.release import Microdata

Round = tuple[Look, tuple[int, ...]]


def rounds_of(selected: Selected, batches: Sequence[tuple[int, ...]], chosen: Sequence[Chosen]) -> list[Round]:
    """The looks that were made, each with its persons: first looks at the batches, further ones at who was chosen."""
    first = [(selected.looks[0], batch) for batch in batches]
    return [*first, *((selected.looks[each.look - 1], each.persons) for each in chosen)]


def within_budget(plan: Plan, profile: OracleProfile, rounds: Sequence[Round]) -> tuple[int, ...]:
    """As many persons of the last round, the first ones of it, as a budget of calls allows after the other rounds."""
    look, persons = rounds[-1]
    if plan.budget is None:
        return persons
    left = plan.budget - _calls_of_rounds(plan, profile, rounds[:-1], look)
    fits = bisect_right(
        range(1, len(persons) + 1), left, key=lambda many: _calls_of_round(plan, profile, look, persons[:many])
    )
    return persons[:fits]


def with_more_persons(
    plan: Plan, profile: OracleProfile, selected: Selected, rounds: Sequence[Round], risk: Microdata | None
) -> Selected | None:
    """The selection with as many of the next riskiest persons as a budget buys after `rounds`; None if it buys nobody.

    `risk` is the draw of f(D) that the riskiest were chosen by. Who is equal to somebody examined costs nothing.
    """
    most = plan.data.population if all(selected.exact) else selected.shared_by
    if plan.budget is None or len(selected.persons) >= most:
        return None
    members, look = set(selected.persons), selected.looks[0]
    others = [int(person) for person in riskiest(plan.data, risk) if person not in members][: most - len(members)]
    left = plan.budget - _calls_of_rounds(plan, profile, rounds, look)

    def with_first(many: int) -> Selected:
        persons = (*selected.persons, *others[:many])
        duplicates = equal_persons(plan.data, persons) if selected.duplicates else ()
        return replace(selected, persons=persons, duplicates=duplicates)

    def cost(many: int) -> int:
        new = tuple(person for person in with_first(many).examined if person not in members)
        return _calls_of_round(plan, profile, look, new) if new else 0

    fits = bisect_right(range(1, len(others) + 1), left, key=cost)
    if fits == 0:
        return None
    grown = with_first(fits)
    return replace(grown, rows=source_rows(plan.data, grown.persons))


def _calls_of_rounds(plan: Plan, profile: OracleProfile, rounds: Sequence[Round], next_look: Look) -> int:
    """Calls of an audit with these rounds and its last questions; f(D) is drawn for the next look, too."""
    looks = {look.number: look for look, _ in rounds} | {next_look.number: next_look}
    shared = calls_before_persons(plan, profile, [looks[number] for number in sorted(looks)])
    return shared + sum(_calls_of_round(plan, profile, look, persons) for look, persons in rounds)


def _calls_of_round(plan: Plan, profile: OracleProfile, look: Look, persons: tuple[int, ...]) -> int:
    items = work_items(plan, profile, in_random_order(plan, persons))
    rows = [[len(distinct_rows(plan, person)) for person in item] for item in items]
    return calls_for_items(plan, profile, (look,), rows)
