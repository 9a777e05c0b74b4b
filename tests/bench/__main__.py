"""`python -m tests.bench`: where the time of an audit goes, beside the naive pipeline of the papers.

    python -m tests.bench            everything, five to ten minutes
    python -m tests.bench --quick    a smaller round in less than a minute
    python -m tests.bench --only stages,workers
    python -m tests.bench --json > bench.json

Sections: stages (ours and the naive pipeline, record by record in turn), records, quasi, sensitive, draws (how the
cost of one record grows), overhead (what the harness adds to a callable), workers (one and two processes), whole
(`harness run` from the command to the report). It is measured on Adult where that is at hand (../shared/data, or
HARNESS_DATA), else on invented people. Costs in one process are CPU time, so that another load on the machine
matters little; read ratios rather than milliseconds.
"""

import argparse
import json
import os
import platform
import resource
import sys
from collections.abc import Callable
from typing import Any

from tests.bench import overhead, scaling, stages, workers
from tests.bench.measuring import Section
from tests.bench.whole import whole
from tests.data import folder

Sections = dict[str, Callable[[], Section]]
COUNTS = [1_000, 3_000, 10_000, 30_162]


def quick() -> Sections:
    return {
        "stages": lambda: stages.stages(scaling.dataset(10_000), 8),
        "records": lambda: scaling.records(COUNTS[:3], 40),
        "quasi": lambda: scaling.quasi_identifiers(2_000, 40),
        "sensitive": lambda: scaling.sensitive_values(2_000, 40),
        "draws": lambda: scaling.draws(2_000, 30),
        "overhead": lambda: overhead.overhead(scaling.dataset(10_000), 4),
        "workers": lambda: workers.workers(0.4, turns=1),
        "whole": lambda: whole([(1_000, "k = 5", 2)]),
    }


def full() -> Sections:
    return {
        "stages": lambda: stages.stages(scaling.dataset(10_000), 60),
        "records": lambda: scaling.records(COUNTS, 600),
        "quasi": lambda: scaling.quasi_identifiers(10_000, 400),
        "sensitive": lambda: scaling.sensitive_values(10_000, 400),
        "draws": lambda: scaling.draws(10_000, 200),
        "overhead": lambda: overhead.overhead(scaling.dataset(10_000), 40),
        "workers": lambda: workers.workers(3.0, turns=3),
        "whole": lambda: whole(
            [(10_000, "k = 5", 1), (10_000, "k = 5", 2), (10_000, "k = 5, l = 5", 2), (30_162, "k = 5", 2)]
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a smaller round")
    parser.add_argument("--only", metavar="NAMES", help="some sections, with commas between them")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    chosen = parser.parse_args()
    known = quick() if chosen.quick else full()
    names = chosen.only.split(",") if chosen.only else list(known)
    unknown = [name for name in names if name not in known]
    if unknown:
        parser.error(f"no section is called {unknown[0]!r}; known: {', '.join(known)}")
    found = {}
    for name in names:
        found[name] = known[name]()
        print(found[name], end="\n\n", file=sys.stderr if chosen.json else sys.stdout, flush=True)
    if chosen.json:
        print(json.dumps({"machine": machine(), **{name: part.to_dict() for name, part in found.items()}}))
    else:
        print("  ".join(f"{name} {value}" for name, value in machine().items()))


def machine() -> dict[str, Any]:
    return {
        "data": "Adult" if folder() is not None else "invented people",
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "peak memory of this process MB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


if __name__ == "__main__":
    main()
