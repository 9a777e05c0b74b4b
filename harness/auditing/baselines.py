"""What the same adversaries find under two releases that need no anonymizer, for some of the examined persons.

    raw          f(D) = D: nothing is hidden
    suppressed   f(D) = D with every quasi-identifier suppressed: only the sensitive columns are left

A distance says more beside them. The oracle is not asked: both releases are made here and read as those of f are. The
work is bounded by numbers that are known before it begins, so that equal plans give equal baselines: models in closed
form are tried on at most 200 persons and about a million rows, others, which take as long for a person here as in the
audit itself, on one examined person of a hundred. A model that draws random numbers is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from harness.auditing.events import Look, OracleProfile
from harness.auditing.infer import Inferred, Pair, Side, infer
from harness.auditing.plan import Plan, Question
from harness.auditing.reference_events import RAW, SUPPRESSED, Baseline, Baselines
from harness.auditing.select import distinct_rows
from harness.measuring.estimate import compare
from harness.measuring.models.names import CLOSED_FORMS
from harness.vocabulary.dataset import Dataset, Record
from harness.vocabulary.errors import HarnessError
from harness.vocabulary.release import Microdata, Reader
from harness.vocabulary.table import Cells, Table

MOST, FEWEST = 200, 20  # persons, of models in closed form
ROWS = 1_000_000  # that these may be trained on, about
ONE_IN = 100  # examined persons, of other models
FEWEST_OF_OTHERS = 5
ONCE = Look(number=1, draws=1, alpha=0.0, own_alpha=0.0)
STAR = "*"


def compute_baselines(plan: Plan, profile: OracleProfile, examined: Sequence[int]) -> Baselines:
    """The baselines of an audit that examined these persons."""
    if profile.card.releases == "predictions":
        return Baselines((), ((0, "f releases predictions itself, so that no adversary reads a release"),))
    known: list[Baseline] = []
    skipped: list[tuple[int, str]] = []
    for question in plan.questions:
        reader = Reader(question.data)
        for adversary in question.adversaries:
            persons = _persons(plan, adversary, examined)
            if isinstance(persons, str):
                skipped.append((adversary, persons))
                continue
            try:
                for release in (RAW, SUPPRESSED):
                    known += _baselines(plan, question, reader, adversary, release, persons)
            except HarnessError:  # its text may name a raw value
                skipped.append((adversary, "the data itself cannot be read or inferred from as a release"))
    return Baselines(tuple(known), tuple(skipped))


def _persons(plan: Plan, adversary: int, examined: Sequence[int]) -> tuple[int, ...] | str:
    """The persons that an adversary is tried on, or why there are none."""
    model = plan.adversaries[adversary].model
    if plan.adversaries[adversary].randomized:
        return "its model draws random numbers"
    if type(model) in CLOSED_FORMS.values():
        count = max(FEWEST, min(MOST, ROWS // max(plan.data.size, 1)))
    else:
        count = min(MOST, len(examined) // ONE_IN)
        if count < FEWEST_OF_OTHERS:
            return "its model is trained anew for every person, which would slow so small an audit"
    rng = np.random.default_rng(plan.seed_for("baselines"))
    chosen = rng.choice(len(examined), min(count, len(examined)), replace=False)
    return tuple(sorted(examined[place] for place in chosen))


def _baselines(
    plan: Plan, question: Question, reader: Reader, adversary: int, release: str, persons: Sequence[int]
) -> Iterator[Baseline]:
    """One baseline per secret: the largest distance over each person's rows."""
    side = Side(ONCE, "both", f_is_random=False)
    targets = {person: [question.data.record(row) for row in distinct_rows(plan, person)] for person in persons}
    everybody = [target for hers in targets.values() for target in hers]
    present = infer(plan, [adversary], [_released(reader, question.data, release)], everybody, side)
    distances: dict[int, dict[int, float]] = {secret: {} for secret in range(len(plan.secrets))}  # by secret, person
    first = 0
    for person, hers in targets.items():
        without = _released(reader, question.data.without(plan.data.rows_of(person)), release)
        absent = infer(plan, [adversary], [without], hers, side)
        for secret, found in distances.items():
            largest = _largest(plan, (adversary, secret), hers, present, absent, first)
            if largest is not None:
                found[person] = largest
        first += len(hers)
    for secret, found in distances.items():
        yield Baseline(release, adversary, secret, tuple(found), tuple(found.values()))


def _largest(
    plan: Plan, pair: Pair, targets: Sequence[Record], present: Inferred, absent: Inferred, first: int
) -> float | None:
    """The largest distance over a person's rows; None where a model failed."""
    found = []
    for place in range(len(targets)):
        with_her, without = present.prediction(pair, first + place).samples, absent.prediction(pair, place).samples
        if with_her is None or without is None:
            return None
        divergence = plan.divergences[pair[1]]
        found.append(compare(divergence, with_her, without, alpha=0.0, coupled=True, exact=True).distance)
    return max(found)


def _released(reader: Reader, data: Dataset, release: str) -> Microdata:
    table = data.table.selecting(data.schema.names)
    return reader.read(table if release == RAW else _with_suppressed(data, table))


def _with_suppressed(data: Dataset, table: Table) -> Table:
    """The table with every quasi-identifier suppressed, in the sign that is declared for it."""
    sign = next(iter(data.schema.suppressed or ()), STAR)
    hidden = Cells(np.array([sign], dtype=object), np.zeros(table.rows, dtype=np.int32))
    quasi = {column.name for column in data.schema.quasi}
    columns = zip(table.names, table.columns, strict=True)
    return Table(table.names, tuple(hidden if name in quasi else cells for name, cells in columns))
