"""`python -m tests.bench`: the naive pipeline of the papers beside ours, in one run, as ratios.

With Adult at hand (../shared/data, or HARNESS_DATA) it is measured on Adult, else on invented people.
"""

import argparse
import json
import resource
import time
from collections.abc import Callable

import numpy as np

from harness.dataset import Dataset
from harness.distance import named
from harness.encoding import tf
from harness.estimate import Estimator
from harness.inference import Bernoulli
from harness.oracle import Ask
from harness.release import Reader
from oracles.reference import Mondrian
from tests import naive
from tests.data import adult_or_people


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--sample", type=int, default=12, help="records to time on each side")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    chosen = parser.parse_args()
    source, data = adult_or_people(chosen.records)
    result = {"data": source, "records": data.size, **stages(data, chosen.sample)}
    result["peak_memory_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(result) if chosen.json else table(result))


def stages(data: Dataset, sample: int) -> dict[str, dict[str, float]]:
    """Milliseconds per record and stage, both ways, interleaved so that a busy machine slows both alike."""
    full = Mondrian(k=5, incremental=False)
    path = Mondrian(k=5)
    next(iter(path.answer(Ask(data, drop=0))))  # plants the tree that later records share
    reader = Reader(data)
    (present_table,) = full.answer(Ask(data))
    present = reader.read(present_table)
    quasi, sensitive = [column.name for column in data.schema.quasi], data.schema.sensitive[0].name
    present_frame, domain = present_table.to_frame(), list(data.sensitive_labels)
    times: dict[str, list[float]] = {}

    def timed(stage: str, work: Callable[[], object]) -> object:
        start = time.perf_counter()
        result = work()
        times.setdefault(stage, []).append((time.perf_counter() - start) * 1000)
        return result

    for index in np.random.default_rng(0).choice(data.size, sample, replace=False).tolist():
        target = data.record(index)
        (absent_table,) = timed("anonymise, full run", lambda: list(full.answer(Ask(data, drop=index))))
        timed("anonymise, path of the record", lambda: list(path.answer(Ask(data, drop=index))))
        absent = timed("read", lambda: reader.read(absent_table))
        sides = [present, absent]
        encoded = timed("encode", lambda: [tf(reader, side, target) for side in sides])
        predicted = timed("model", lambda: [Bernoulli().predict(side, 0)[None] for side in encoded])
        ours = timed("distance", lambda: Estimator(named("emd")).compare(*predicted, alpha=1, coupled=True, exact=True))
        absent_frame = absent_table.to_frame()
        theirs = timed(
            "naive encode and train",
            lambda: [naive.predict(side, target.quasi, quasi, sensitive, domain) for side in (present_frame, absent_frame)],
        )
        assert abs(ours.distance - np.abs(theirs[0] - theirs[1]).sum()) < 1e-9
    medians = {stage: float(np.median(found)) for stage, found in times.items()}
    own = sum(medians[stage] for stage in ("read", "encode", "model", "distance"))
    ratios = {"naive / ours, encode and train": medians["naive encode and train"] / own}
    return {"milliseconds": medians, "harness_share_ms": {"ours": own}, "ratios": ratios}


def table(result: dict) -> str:
    lines = [f"{result['records']} records of {result['data']}, k = 5, medians in ms per record", ""]
    lines += [f"  {stage:<34} {value:>10.2f}" for stage, value in result["milliseconds"].items()]
    lines += [f"  {'ours: read + encode + model + distance':<34} {result['harness_share_ms']['ours']:>6.2f}"]
    lines += [f"  {name:<34} {value:>9.0f}×" for name, value in result["ratios"].items()]
    return "\n".join([*lines, f"  peak memory {result['peak_memory_mb']:>22.0f} MB"])


if __name__ == "__main__":
    main()
