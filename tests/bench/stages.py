"""The naive pipeline of the papers beside ours, stage by stage, record by record in turn; their distances agree."""

from __future__ import annotations

import tempfile
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from harness.auditing.events import Examined, to_entry
from harness.auditing.examine import Examination
from harness.auditing.infer import Side, infer
from harness.auditing.journal import Journal
from harness.auditing.state import AuditState
from harness.measuring.estimate import compare
from harness.measuring.samples import Samples
from harness.vocabulary.dataset import Dataset, Secret
from harness.vocabulary.oracle import Ask
from harness.vocabulary.release import Microdata, TrainingRows
from harness.vocabulary.table import Table
from oracles.reference import Mondrian
from tests import naive
from tests.bench.measuring import Section, Stopwatch
from tests.bench.running import held_work, plan_for

NOTES = [
    "naive: full anonymisation (by the same kernel; the papers' own took 150-200 ms), both sides encoded cell by "
    "cell, two scikit-learn BernoulliNB",
    "careful: the same, but each distinct cell of a release is parsed once",
]
WHOLE = 5  # whole records for each that is taken apart; they are quick, and differ much
OWN = ("read", "count", "encode", "train", "predict", "the same of f(D)", "compare", "fold", "journal entry")


def stages(data: Dataset, sample: int) -> Section:
    """No record is asked about before it is measured: whole records and single stages are those of different ones."""
    watch, full = Stopwatch(), Mondrian(k=5, incremental=False)
    plan = plan_for(data)
    examine, items, state = held_work(plan, Mondrian(k=5))
    for item in items[: 10 * sample]:  # an audit is long: what most records share is soon known
        examine(item)
    present = examine.tables[0][0].to_frame()
    alone, others = items[-sample:], iter(items[-(WHOLE + 2) * sample : -sample])
    with tempfile.TemporaryDirectory() as folder, Journal(Path(folder, "journal"), {"plan": plan.spec()}) as journal:
        for (index,) in alone:
            examine(next(others))  # not measured: the naive pipeline leaves cold caches behind
            for (whole,) in islice(others, WHOLE):
                watch("whole record", partial(_examine, examine, state, journal, whole))
            ours = _ours(watch, examine, full, index)
            _tell(watch, examine.examine(index).event, state, journal)
            theirs = _theirs(watch, data, present, full, index)
            assert abs(ours - theirs) < 1e-9, f"record {index}: {ours} here, {theirs} there"
    title = f"One record of {data.size}, Mondrian k = 5: milliseconds of CPU, medians of {sample} records"
    return Section(title, _rows(watch), NOTES)


def _examine(examine: Examination, state: AuditState, journal: Journal, person: int) -> None:
    examined = examine.examine(person).event
    state.add(examined)
    journal.append(to_entry(examined))


def _tell(watch: Stopwatch, examined: Examined, state: AuditState, journal: Journal) -> None:
    watch("fold", lambda: state.add(examined))
    watch("journal entry", lambda: journal.append(to_entry(examined)))


def _ours(watch: Stopwatch, examine: Examination, full: Mondrian, index: int) -> float:
    """The distance of one record, by the same steps as in an audit."""
    plan = examine.plan
    target, ask = plan.data.record(index), Ask(plan.data, drop=(index,))
    (adversary,), (secret,) = plan.adversaries, plan.secrets
    (table,) = watch("anonymise", lambda: list(examine.oracle.answer(ask)))
    watch("anonymise, no shortcut", lambda: list(full.answer(ask)))
    assert isinstance(table, Table)
    release = watch("read", lambda: examine.readers[0].read(table))
    rows = watch("count", lambda: _counted(release, secret))
    features = watch("encode", lambda: adversary.encoder.encode(rows, target.raws))
    fitted = watch("train", lambda: adversary.model.fit(features, rows, 0))
    without = watch("predict", lambda: fitted.predict(features.target(target.raws)))
    side = Side(examine.look, "both", f_is_random=False)
    with_her = watch("the same of f(D)", lambda: infer(plan, [0], examine.present[0], [target], side))
    said = with_her.prediction((0, 0), 0).samples
    assert said is not None
    sides = Samples(said), Samples(without[None])
    estimate = watch(
        "compare", lambda: compare(plan.divergences[0], *sides, alpha=examine.look.alpha, coupled=True, exact=True)
    )
    return estimate.distance


def _counted(release: Microdata, secret: Secret) -> TrainingRows:
    rows = release.for_secret(secret)
    assert rows.cell_weights, "a release has columns"
    return rows


def _theirs(watch: Stopwatch, data: Dataset, present: pd.DataFrame, full: Mondrian, index: int) -> float:
    quasi, sensitive = [column.name for column in data.schema.quasi], data.schema.sensitive[0].name
    domain, target = list(data.sensitive_labels), data.record(index).quasi
    (table,) = full.answer(Ask(data, drop=(index,)))
    sides = present, table.to_frame()
    one, other = watch("naive", lambda: [naive.predict(side, target, quasi, sensitive, domain) for side in sides])
    watch(
        "careful",
        lambda: [naive.predict_by_distinct_cells(side, target, quasi, sensitive, domain) for side in sides],
    )
    return float(np.abs(one - other).sum())


def _rows(watch: Stopwatch) -> list[dict[str, Any]]:
    def row(stage: str, ours: float, theirs: float | None = None, careful: float | None = None) -> dict[str, Any]:
        return {
            "stage": stage,
            "ours": ours,
            "naive": theirs,
            "naive / ours": None if theirs is None else theirs / ours,
            "careful": careful,
            "careful / ours": None if careful is None else careful / ours,
        }

    own = sum(watch.median(stage) for stage in OWN)
    full, theirs, careful = (watch.median(stage) for stage in ("anonymise, no shortcut", "naive", "careful"))
    return [
        row("anonymise", watch.median("anonymise"), full, full),
        *(row(stage, watch.median(stage)) for stage in OWN),
        row("read to journal entry: the harness's own share", own, theirs, careful),
        row("whole record", watch.median("whole record"), full + theirs, full + careful),
    ]
