"""Who was selected, with how many draws and at which error level, derived once more from the plan of a journal.

`select` decided it with the data; this has no data. Numbers of persons, persons at random, adversaries, looks, levels
and who shares them follow from the plan and the probe, by the functions of `select`. Which persons are the riskiest,
who is equal to whom, and what rows somebody has, the data alone could say: of these only what cannot be otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import chain
from typing import Any

import numpy as np

from harness.auditing.events import Look, OracleProfile, Selected
from harness.auditing.plain_plan import PlainPlan, draws_random_numbers, has_fitted_priors, most_questions
from harness.auditing.select import ChosenNumbers, choose_numbers, look_of, schedule, share_levels
from harness.vocabulary.errors import JournalError

SAME = 1e-9  # relative difference of a level that another version of a library may compute
UNCHANGED = tuple(item.name for item in fields(Selected))
OF_PERSONS = ("persons", "duplicates", "rows")  # what further persons of a budget change


def require_first_selection(spec: Mapping[str, Any], profile: OracleProfile, selected: Selected) -> None:
    """Raises a JournalError that says what of a first selection does not follow from the plan."""
    plan = plan_of(spec, profile, selected)
    _require_adversaries(plan, profile, selected)
    _require_numbers(plan, spec, profile, selected)
    _require_same("persons at random", selected.random, plan.at_random(len(selected.random)))
    _require_persons(spec, profile, selected)
    _require_levels(plan, profile, selected, ())


def require_further_selection(
    spec: Mapping[str, Any], profile: OracleProfile, selected: Selected, before: Selected
) -> None:
    """A later selection has more looks of an adaptive audit, or more persons of a budget, and is else as before."""
    plan = plan_of(spec, profile, selected)
    if not plan.adaptive:
        raise untrusted("persons are selected again, which only an adaptive audit does")
    if selected.looks != before.looks:
        _require_unchanged(selected, before, [name for name in UNCHANGED if name != "looks"])
        if sum(look.draws for look in selected.looks) <= sum(look.draws for look in before.looks):
            raise untrusted("a later selection has no more draws than the one before it")
        _require_levels(plan, profile, selected, before.looks)
        return
    if plan.budget is None or len(selected.persons) <= len(before.persons):
        raise untrusted("persons are selected again, but neither draws nor persons of a budget were added")
    _require_unchanged(selected, before, [name for name in UNCHANGED if name not in OF_PERSONS])
    _require_same("first persons", selected.persons[: len(before.persons)], before.persons)
    _require_persons(spec, profile, selected)
    _require_at_most(plan, selected)


def plan_of(spec: Mapping[str, Any], profile: OracleProfile, selected: Selected) -> PlainPlan:
    """The plan; draws of an adaptive audit, and chance in models that only their code tells, are as it was selected."""
    looks = selected.looks
    if not looks or any(type(look.draws) is not int or look.draws < 1 for look in looks):
        raise untrusted("the selection has no looks, or looks without draws")
    stated = [not exact and not profile.card.randomized for exact in selected.exact]
    models = [draws_random_numbers(one) for one in spec["adversaries"]]
    random = [
        bool(number < len(stated) and stated[number]) if known is None else known for number, known in enumerate(models)
    ]
    return PlainPlan.of(spec, draws=sum(look.draws for look in looks), random_adversaries=random)


def _require_adversaries(plan: PlainPlan, profile: OracleProfile, selected: Selected) -> None:
    names = plan.adversary_names(profile.card)
    _require_same("adversaries", selected.adversaries, names)
    exact = tuple(plan.is_exact(profile.card, number) for number in range(len(names)))
    _require_same("adversaries without chance ('exact')", selected.exact, exact)


def _require_numbers(plan: PlainPlan, spec: Mapping[str, Any], profile: OracleProfile, selected: Selected) -> None:
    """How many persons there are, how many of them at random, and who shares the error."""
    found = ChosenNumbers(len(selected.persons), len(selected.random), selected.shared_by)
    possible = dict.fromkeys(_possible_numbers(plan, spec, profile))
    fits = next((numbers for numbers in possible if _fits(plan, selected, found, numbers)), None)
    # Predictions about a person with more rows cost more; how many rows somebody has, the data alone could say.
    known = spec["data"]["person"] is None or profile.card.releases != "predictions"
    if fits is None and (plan.budget is None or known):
        raise _other("numbers of persons", _in_words(found), " or ".join(map(_in_words, possible)))
    most = next(iter(possible)).shared_by
    if not 1 <= found.at_random <= found.persons <= plan.people or not 1 <= found.shared_by <= most:
        raise _other("numbers of persons", _in_words(found), f"at most {_in_words(next(iter(possible)))}")
    if fits is None:
        _require_at_most(plan, selected)


def _possible_numbers(plan: PlainPlan, spec: Mapping[str, Any], profile: OracleProfile) -> Iterator[ChosenNumbers]:
    """The numbers of persons that the plan fixes, for each number of tables that f may be asked about."""
    most = 1 if plan.budget is None or profile.card.releases == "predictions" else most_questions(spec)
    for questions in range(1, most + 1):
        yield choose_numbers(replace(plan, questions=questions), profile, lambda: 1)


def _fits(plan: PlainPlan, selected: Selected, found: ChosenNumbers, numbers: ChosenNumbers) -> bool:
    """A budget of an audit with one look buys further persons at once, as equal ones cost nothing."""
    if plan.budget is None or plan.adaptive or numbers.persons == plan.people:
        return found == numbers
    most = plan.people if all(selected.exact) else numbers.shared_by
    return replace(found, persons=numbers.persons) == numbers and numbers.persons <= found.persons <= most


def _require_at_most(plan: PlainPlan, selected: Selected) -> None:
    most = plan.people if all(selected.exact) else selected.shared_by
    if len(selected.persons) > most:
        raise _other("number of persons", len(selected.persons), f"at most {most}")


def _in_words(numbers: ChosenNumbers) -> str:
    return f"{numbers.persons} persons, {numbers.at_random} at random, error shared by {numbers.shared_by}"


def _require_persons(spec: Mapping[str, Any], profile: OracleProfile, selected: Selected) -> None:
    """Each once, all of them persons of the data, with rows; every duplicate stands beside whom she equals."""
    persons = _whole_numbers("persons", selected.persons)
    people = spec["data"]["population"]
    ordered = np.unique(persons)
    if len(ordered) != len(persons) or ordered[0] < 0 or ordered[-1] >= people:
        raise untrusted(f"the selected persons are not different ones of {people}")
    if not np.isin(_whole_numbers("persons at random", selected.random), ordered, assume_unique=True).all():
        raise untrusted("persons at random are not among the selected ones")
    if spec["budget"] is None:
        _require_same("persons", selected.persons, selected.random)
    _require_duplicates(spec, profile, selected, ordered)
    rows, has_persons = selected.rows, spec["data"]["person"] is not None
    if rows is None and has_persons:
        raise untrusted("the rows of the selected persons are missing")
    if rows is not None and not has_persons and any(len(hers) != 1 for hers in rows):
        raise untrusted("a record has other rows than one")
    if rows is not None and (len(rows) != len(persons) or not all(rows)):
        raise untrusted("the rows of the selected persons are not those of each of them")
    if rows is not None and len(persons) == people and sum(map(len, rows)) != spec["data"]["rows"]:
        raise untrusted("the rows of all persons are not all rows of the data")


def _require_duplicates(spec: Mapping[str, Any], profile: OracleProfile, selected: Selected, ordered: Any) -> None:
    groups = selected.duplicates
    if not profile.row_order_invariant:
        if groups:
            raise untrusted("equal persons are examined once, although the order of rows may matter to f")
        return
    if not groups:
        if has_fitted_priors(spec):
            raise untrusted("equal persons are not named, although the order of rows does not matter to f")
        return
    members = _whole_numbers("duplicates", tuple(chain.from_iterable(groups)))
    if not all(groups) or len(members) != len(ordered) or (np.sort(members) != ordered).any():
        raise untrusted("the groups of equal persons do not hold every selected person once")


def _whole_numbers(what: str, numbers: tuple[int, ...]) -> Any:
    array = np.array(numbers)
    if not len(array) or array.ndim != 1 or array.dtype.kind != "i":
        raise untrusted(f"the {what} are not numbers of persons")
    return array


def _require_levels(plan: PlainPlan, profile: OracleProfile, selected: Selected, earlier: tuple[Look, ...]) -> None:
    """Every draw and every error level that limits rest on."""
    levels = share_levels(plan, profile, selected.shared_by)
    if not earlier and None in plan.divergences and plan.adaptive and plan.claim.delta == 0:
        # How few draws settle somebody is known to the auditor's own distance alone; all else follows from it.
        earlier = (look_of(1, selected.looks[0].draws, levels),)
    looks = schedule(plan, profile, selected.shared_by, earlier)
    _require_close("level of bets ('wager')", selected.wager, levels.wager)
    if len(looks) != len(selected.looks):
        raise _other("number of looks", len(selected.looks), str(len(looks)))
    for found, proven in zip(selected.looks, looks, strict=True):
        for name in ("number", "draws"):
            _require_same(f"{name!r} of look {proven.number}", getattr(found, name), getattr(proven, name))
        for name in ("alpha", "own_alpha"):
            _require_close(f"{name!r} of look {proven.number}", getattr(found, name), getattr(proven, name))


def _require_close(what: str, found: float, proven: float) -> None:
    if not math.isclose(found, proven, rel_tol=SAME, abs_tol=0.0):
        raise _other(what, found, repr(proven))


def _require_same(what: str, found: object, proven: object) -> None:
    if found != proven:
        raise _other(what, f"{found!r:.80}", f"{proven!r:.80}")


def _require_unchanged(selected: Selected, before: Selected, names: Sequence[str]) -> None:
    for name in names:
        if getattr(selected, name) != getattr(before, name):
            raise untrusted(f"a later selection has another {name!r} than the one before it")


def _other(what: str, found: object, proven: str) -> JournalError:
    return untrusted(f"the {what} of the selection: {found}, but the plan and the probe give {proven}")


def untrusted(why: str) -> JournalError:
    """What an audit cannot have written."""
    return JournalError(f"{why}; the journal cannot be trusted")
