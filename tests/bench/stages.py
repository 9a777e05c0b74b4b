"""The naive pipeline of the papers beside ours, stage by stage, record by record in turn; their distances agree."""

from typing import Any

import numpy as np
import pandas as pd

from harness.auditing.journal import _canonical
from harness.measuring.adversary import Bernoulli
from harness.measuring.divergence import Samples, named
from harness.measuring.encoding import tf
from harness.measuring.estimate import Estimator
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.oracle import Ask
from oracles.reference import Mondrian
from tests import naive
from tests.bench.measuring import Section, Watch, examination

NAIVE = (
    "naive: full anonymisation (by the same kernel; the papers' own took 150-200 ms), both sides encoded cell by "
    "cell, two scikit-learn BernoulliNB"
)
OURS = ("read", "encode", "model", "distance", "journal entry")


def stages(data: Dataset, sample: int) -> Section:
    watch = Watch()
    incremental, full = Mondrian(k=5), Mondrian(k=5, incremental=False)
    examine, order = examination(data, incremental)
    for index in order[: 10 * sample]:  # an audit is long: what most records share is soon known
        examine(index)
    present = examine.tables[0].to_frame()
    for index in order[-sample:]:
        watch("whole record", lambda index=index: examine(index))
        ours = _ours(watch, examine, full, index)
        theirs = _theirs(watch, data, present, full, index)
        assert abs(ours - theirs) < 1e-9, f"record {index}: {ours} here, {theirs} there"
    title = f"One record of {data.size}, Mondrian k = 5: milliseconds of CPU, medians of {sample} records"
    return Section(title, _rows(watch), [NAIVE])


def _ours(watch: Watch, examine: Any, full: Mondrian, index: int) -> float:
    data, reader = examine.plan.data, examine.reader
    target, ask = data.record(index), Ask(data, drop=index)
    (table,) = watch("anonymise", lambda: list(examine.oracle.answer(ask)))
    watch("anonymise, no tricks", lambda: list(full.answer(ask)))
    absent = watch("read", lambda: reader.read(table))
    encoded = watch("encode", lambda: tf(reader, absent, target))
    predicted = watch("model", lambda: Bernoulli().predict(encoded, 0)[None])
    sides = examine.present_samples(target), Samples(predicted)
    found = watch("distance", lambda: Estimator(named("emd")).compare(*sides, alpha=1, coupled=True, exact=True))
    finding = examine(index)
    watch("journal entry", lambda: _canonical({"finding": finding.entry()}))
    return float(found.distance)


def _theirs(watch: Watch, data: Dataset, present: pd.DataFrame, full: Mondrian, index: int) -> float:
    quasi, sensitive = [column.name for column in data.schema.quasi], data.schema.sensitive[0].name
    domain, target = list(data.sensitive_labels), data.record(index).quasi
    (table,) = full.answer(Ask(data, drop=index))
    sides = present, table.to_frame()
    one, other = watch("naive", lambda: [naive.predict(side, target, quasi, sensitive, domain) for side in sides])
    return float(np.abs(one - other).sum())


def _rows(watch: Watch) -> list[dict[str, Any]]:
    def row(stage: str, ours: float, theirs: float | None = None) -> dict[str, Any]:
        ratio = "" if theirs is None else theirs / ours
        return {"stage": stage, "ours": ours, "naive": "" if theirs is None else theirs, "naive / ours": ratio}

    own = sum(watch.typical(stage) for stage in OURS)
    full, theirs = watch.typical("anonymise, no tricks"), watch.typical("naive")
    return [
        row("anonymise", watch.typical("anonymise"), full),
        *(row(stage, watch.typical(stage)) for stage in OURS),
        row("read to journal entry: the harness's own share", own, theirs),
        row("whole record", watch.typical("whole record"), full + theirs),
    ]
