"""How many share what a person shows: released rows that cover her, and rows of D with her rarest value.

Numbers only: no value of anybody. Rows of f(D) that show the same are counted once for everybody. At most a thousand
persons are looked up, chosen at random, fewer where f(D) has very many different rows, and those who move most.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from harness.auditing.plan import Plan
from harness.auditing.reference_events import ClassSizes
from harness.auditing.select import distinct_rows
from harness.vocabulary.release import Microdata

MOST, FEWEST = 1_000, 100  # persons
COMPARISONS = 20_000_000  # of a person with a class, about


def count_class_sizes(plan: Plan, release: Microdata, examined: Sequence[int], moving: Sequence[int]) -> ClassSizes:
    """The class sizes of some of the examined persons, `moving` among them."""
    classes, weights = _classes(release)
    persons = sorted({*_at_random(plan, examined, len(weights)), *moving})
    readings = plan.data.readings[: len(plan.data.schema.quasi)]
    known = np.stack(plan.data.codes[: len(readings)])
    occurs = [np.bincount(codes) for codes in known]
    covering, rarest = [], []
    for person in persons:
        sizes, counts = [], []
        for row in distinct_rows(plan, person):
            covers = np.ones(classes.shape[1], dtype=bool)
            for column, reading, code, shown in zip(release.quasi, readings, known[:, row], classes, strict=True):
                covers &= column.lexicon.covering(reading.domain[code])[column.ids][shown]
            sizes.append(float(weights[covers].sum()))
            counts.append(min(int(count[code]) for count, code in zip(occurs, known[:, row], strict=True)))
        covering.append(min(sizes))
        rarest.append(min(counts))
    return ClassSizes(tuple(persons), tuple(covering), tuple(rarest))


def _classes(release: Microdata) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]:
    """The different rows of a release, as cells per column, and the weight of each.  # [columns, classes], [classes]"""
    codes = np.stack([column.codes for column in release.quasi])
    classes, place = np.unique(codes, axis=1, return_inverse=True)
    return classes, np.bincount(place.ravel(), release.weights, classes.shape[1]).astype(float)


def _at_random(plan: Plan, examined: Sequence[int], classes: int) -> list[int]:
    count = min(MOST, max(FEWEST, COMPARISONS // max(classes, 1)), len(examined))
    rng = np.random.default_rng(plan.seed_for("class sizes"))
    return [examined[place] for place in rng.choice(len(examined), count, replace=False)]
