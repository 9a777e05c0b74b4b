"""`python -m tests.bench`: where the time of an audit goes, beside the naive pipeline of the papers.

    python -m tests.bench            everything, ten minutes or so
    python -m tests.bench --quick    a smaller round in about a minute
    python -m tests.bench --only stages,workers
    python -m tests.bench --json > bench.json

Sections:
    stages        ours and the naive pipeline, record by record in turn
    encodings     each family of encodings that does not depend on the target, × tf-tf Bernoulli
    naive-bayes   panels of naive Bayes, × tf-tf Bernoulli
    panel         the models of the standard panel at 1,000 rows, × tf-tf Bernoulli
    persons       persons with several rows, × persons with one
    reports       writing, reading back and verifying the report of 10,000 × 3 findings
    million       an audit of a million records with an oracle that takes no time: memory, sizes, resume and verify
    records, quasi, sensitive, draws    how the cost of one record grows; draws are of the Laplace mechanism
    overhead      what the harness adds to a callable
    transports    a question and its answer over HTTP, gRPC and standard input and output
    workers       one and two processes
    cluster       one and two workers of a Dask cluster on this machine, and how often the examination travels
    whole         `harness run` from the command to the report
It is measured on Adult where that is at hand (../shared/data, or HARNESS_DATA), else on invented people. Costs in one
process are CPU time, so that another load on the machine matters little; read ratios rather than milliseconds.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import sys
from collections.abc import Callable
from typing import Any

from tests.bench import adversaries, cluster, million, overhead, persons, reports, scaling, stages, transports, workers
from tests.bench.measuring import Section
from tests.bench.people import MOST, dataset
from tests.bench.whole import Case, whole
from tests.data import folder

Sections = dict[str, Callable[[], Section]]
COUNTS = [1_000, 3_000, 10_000, MOST]
THREE = adversaries.NAIVE_BAYES["all three"]


def quick() -> Sections:
    return {
        "stages": lambda: stages.stages(dataset(10_000), 15),
        "encodings": lambda: adversaries.encodings(dataset(10_000), 25),
        "naive-bayes": lambda: adversaries.naive_bayes(dataset(10_000), 40),
        "panel": lambda: adversaries.standard_panel(1_000, 2, 20, left_out=("mlp",)),
        "persons": lambda: persons.persons(10_000, 20),
        "reports": lambda: reports.reports(1_500),
        "million": lambda: million.million(30_000),
        "records": lambda: scaling.records(COUNTS[:3], 30),
        "quasi": lambda: scaling.quasi_identifiers(2_000, 30),
        "sensitive": lambda: scaling.sensitive_values(2_000, 30),
        "draws": lambda: scaling.draws(2_000, 20),
        "overhead": lambda: overhead.overhead(dataset(10_000), 4),
        "transports": lambda: transports.transports(dataset(10_000), 20),
        "workers": lambda: workers.workers(0.3, turns=1),
        "cluster": lambda: cluster.cluster(dataset(1_000), 400, turns=1),
        "whole": lambda: whole([Case(1_000, "k = 5", 2), Case(500, "k = 5", 2, THREE)]),
    }


def full() -> Sections:
    return {
        "stages": lambda: stages.stages(dataset(10_000), 60),
        "encodings": lambda: adversaries.encodings(dataset(10_000), 300),
        "naive-bayes": lambda: adversaries.naive_bayes(dataset(10_000), 300),
        "panel": lambda: adversaries.standard_panel(1_000, 3, 100),
        "persons": lambda: persons.persons(10_000, 200),
        "reports": lambda: reports.reports(10_000),
        "million": lambda: million.million(1_000_000),
        "records": lambda: scaling.records(COUNTS, 600),
        "quasi": lambda: scaling.quasi_identifiers(10_000, 400),
        "sensitive": lambda: scaling.sensitive_values(10_000, 400),
        "draws": lambda: scaling.draws(10_000, 200),
        "overhead": lambda: overhead.overhead(dataset(10_000), 40),
        "transports": lambda: transports.transports(dataset(10_000), 200),
        "workers": lambda: workers.workers(3.0, turns=3),
        "cluster": lambda: cluster.cluster(dataset(10_000), 2_000, turns=3),
        "whole": lambda: whole(
            [
                Case(10_000, "k = 5", 1),
                Case(10_000, "k = 5", 2),
                Case(10_000, "k = 5", 2, THREE),
                Case(10_000, "k = 5, l = 5", 2),
                Case(MOST, "k = 5", 2),
            ]
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
    sections = quick() if chosen.quick else full()
    names = chosen.only.split(",") if chosen.only else list(sections)
    unknown = [name for name in names if name not in sections]
    if unknown:
        parser.error(f"no section is called {unknown[0]!r}; known: {', '.join(sections)}")
    measured: dict[str, Section] = {}
    for name in names:
        measured[name] = sections[name]()
        print(measured[name], end="\n\n", file=sys.stderr if chosen.json else sys.stdout, flush=True)
    if chosen.json:
        print(json.dumps({"machine": machine(), **{name: part.to_dict() for name, part in measured.items()}}))
    else:
        print("  ".join(f"{name} {value}" for name, value in machine().items()))


def machine() -> dict[str, Any]:
    """What the numbers were measured with, and how busy it was."""
    return {
        "data": "Adult" if folder() is not None else "invented people",
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load over 1 and 15 minutes": "{:.1f}, {:.1f}".format(*os.getloadavg()[::2]),
        "peak memory of this process MB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


if __name__ == "__main__":
    main()
