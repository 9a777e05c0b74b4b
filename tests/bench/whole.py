"""The whole command, `harness run`, as its user meets it: seconds of wall and CPU, and memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.measuring import Section
from tests.bench.people import SECRET, table
from tests.bench.running import USUAL, Pairs

ROOT = Path(__file__).parent.parent.parent
AUDIT = """
[data]
path = "people.csv"
sensitive = "{secret}"
[data.quasi]
{quasi}
[oracle]
address = "reference:mondrian"
options = {{ {options} }}
[claim]
epsilon = 0.5
[run]
workers = {workers}
{adversaries}
"""
ADVERSARY = '[[adversary]]\nmodel = "{}"\nencoder = "{}"'

MEASURED = """
import json, re, sys
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from harness.cli import main

code = main(["run", "audit.toml"])
own, workers = getrusage(RUSAGE_SELF), getrusage(RUSAGE_CHILDREN)
cpu = sum(used.ru_utime + used.ru_stime for used in (own, workers))
peak = int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
print(json.dumps({"cpu": cpu, "own": peak / 1024, "worker": workers.ru_maxrss / 1024}))
sys.exit(code)
"""


@dataclass(frozen=True)
class Case:
    """One audit of the reference Mondrian: options as in TOML, adversaries by model and encoder."""

    records: int
    options: str
    workers: int
    adversaries: Pairs = USUAL


def whole(cases: list[Case]) -> Section:
    return Section(
        "`harness run`, all records, reference Mondrian, from the command to the report",
        [_row(case) for case in cases],
        ["memory: the largest that the command ever was, and as much for every worker as the largest of them"],
    )


def _row(case: Case) -> dict[str, Any]:
    frame, quasi = table(case.records)
    with tempfile.TemporaryDirectory() as folder:
        frame.to_csv(Path(folder, "people.csv"), index=False)
        Path(folder, "audit.toml").write_text(_audit(case, quasi))
        start = time.perf_counter()
        used = _measured(folder)
        wall = time.perf_counter() - start
    return {
        "records": len(frame),
        "options": case.options,
        "adversaries": len(case.adversaries),
        "workers": case.workers,
        "wall s": wall,
        "CPU s": used["cpu"],
        "CPU ms per record": used["cpu"] * 1000 / len(frame),
        "memory MB": used["own"] + case.workers * used["worker"] * (case.workers > 1),
    }


def _audit(case: Case, quasi: dict[str, str]) -> str:
    return AUDIT.format(
        secret=SECRET,
        quasi="\n".join(f'{name} = "{kind}"' for name, kind in quasi.items()),
        options=case.options,
        workers=case.workers,
        adversaries="\n".join(ADVERSARY.format(*pair) for pair in case.adversaries),
    )


def _measured(folder: str) -> dict[str, float]:
    """Of the command with all its processes; an exit code of 2 or more says that it went wrong."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", MEASURED]
    run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode < 2, run.stderr
    used: dict[str, float] = json.loads(run.stdout.splitlines()[-1])
    return used
