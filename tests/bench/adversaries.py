"""What other adversaries cost than the papers' own (Bernoulli naive Bayes on tf-tf), on the same records in turn.

Encodings that do not depend on the target with Bernoulli: at most 2 ×. Three naive Bayes together: at most 3 ×. The
models of the standard panel at 1,000 rows: whatever scikit-learn takes, which is what `harness plan` warns of.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.auditing.plan import MODEL_DRAWS
from harness.measuring.adversary import PANELS
from harness.measuring.models import model_named
from harness.vocabulary.dataset import Dataset
from oracles.reference import Mondrian
from tests.bench.measuring import Section, ratio, typical
from tests.bench.people import dataset
from tests.bench.running import USUAL, Pairs, Times, compared, in_turn, plan_for, start

BASELINE = "bernoulli on tf-tf"
FAMILIES = (  # every encoding of numbers, every one of categories, and the hierarchies
    "scaling-hot",
    "bounds-hot",
    "binary-hot",
    "quantiles-before-hot",
    "quantiles-hot",
    "quantiles-binary",
    "quantiles-hot-cells",
    "one-class",
    "fill-parent",
    "fill-child",
)
NAIVE_BAYES: Mapping[str, Pairs] = {
    BASELINE: USUAL,
    "categorical on quantiles-hot": (("categorical", "quantiles-hot"),),
    "gaussian on scaling-hot": (("gaussian", "scaling-hot"),),
    "all three": (("bernoulli", "tf-tf"), ("categorical", "quantiles-hot"), ("gaussian", "scaling-hot")),
    "categorical on tf-tf": (("categorical", "tf-tf"),),
    "gaussian on tf-tf": (("gaussian", "tf-tf"),),
    "all three on tf-tf": (("bernoulli", "tf-tf"), ("categorical", "tf-tf"), ("gaussian", "tf-tf")),
}
NOTES = [
    "whole person: milliseconds of CPU with the anonymizer; the harness: without it; in turn, person by person",
    "beforehand: what f(D) says about everybody, inferred before the first person is examined, per person",
]
FEW_DRAWS = 2  # of a random model; the usual number is extrapolated


def encodings(data: Dataset, sample: int) -> Section:
    panels: dict[str, Pairs] = {BASELINE: USUAL, **{name: (("bernoulli", name),) for name in FAMILIES}}
    rows = compared(_run(data, panels, sample), "encoding")
    return Section(f"Encodings with Bernoulli, {data.size} records, Mondrian k = 5 (at most 2 ×)", rows, NOTES)


def naive_bayes(data: Dataset, sample: int) -> Section:
    rows = compared(_run(data, NAIVE_BAYES, sample), "adversaries")
    return Section(f"Naive Bayes panels, {data.size} records, Mondrian k = 5 (all three: at most 3 ×)", rows, NOTES)


def _run(data: Dataset, panels: Mapping[str, Pairs], sample: int) -> dict[str, Times]:
    records = 2 * sample + sample // 2 + 10  # equal persons are examined once, so that some are left over
    starts = {name: start(plan_for(data, pairs, records=records), Mondrian(k=5)) for name, pairs in panels.items()}
    return in_turn(starts, unmeasured=sample, measured=sample)


def standard_panel(count: int, sample: int, targets: int, left_out: tuple[str, ...] = ()) -> Section:
    """Each adversary of the panel by itself; `targets` persons are inferred about beforehand, `sample` examined."""
    data = dataset(count)
    pairs = [pair for pair in PANELS["standard"] if pair[0] not in left_out]
    starts = {
        f"{model} on {encoder}": start(
            plan_for(data, [(model, encoder)], records=targets, draws=FEW_DRAWS), Mondrian(k=5)
        )
        for model, encoder in pairs
    }
    times = in_turn(starts, unmeasured=0, measured=sample)
    rows = [_row(model, times[f"{model} on {encoder}"], times[BASELINE]) for model, encoder in pairs]
    rows = [{"adversary": f"{model} on {encoder}", **row} for (model, encoder), row in zip(pairs, rows, strict=True)]
    notes = [
        f"a random model is trained {MODEL_DRAWS} times a person, measured with {FEW_DRAWS}",
        f"beforehand: as above, of {targets} persons, in one process before the first person is examined",
    ]
    if left_out:
        notes.append(f"left out for their time: {', '.join(left_out)}")
    return Section(f"The standard panel at {data.size} rows: milliseconds of CPU per person", rows, notes)


def _row(model: str, times: Times, baseline: Times) -> dict[str, Any]:
    random = model_named(model).randomized
    draws, times_more = (FEW_DRAWS, MODEL_DRAWS / FEW_DRAWS) if random else (1, 1.0)
    own = typical(times.own)
    return {
        "per training": own / draws,
        "per person": own * times_more,
        "× baseline": ratio(times.own, baseline.own) * times_more,
        "beforehand": times.beforehand * times_more,
    }
