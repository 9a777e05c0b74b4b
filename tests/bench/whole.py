"""The whole command, `harness run`, as its user meets it: seconds of wall and CPU, and memory."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.bench.measuring import Section
from tests.bench.scaling import table

ROOT = Path(__file__).parent.parent.parent
AUDIT = """
[data]
path = "people.csv"
sensitive = "occupation"
[data.quasi]
{quasi}
[oracle]
address = "reference:mondrian"
options = {{ {options} }}
[claim]
epsilon = 0.5
[run]
workers = {workers}
"""

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


def whole(cases: list[tuple[int, str, int]]) -> Section:
    rows = [_row(*case) for case in cases]
    return Section(
        "`harness run`, all records, reference Mondrian, from the command to the report",
        rows,
        ["memory: the largest that the command ever was, and as much for every worker as the largest of them"],
    )


def _row(count: int, options: str, workers: int) -> dict[str, Any]:
    frame, quasi = table(count)
    with tempfile.TemporaryDirectory() as folder:
        frame.to_csv(Path(folder, "people.csv"), index=False)
        columns = "\n".join(f'{name} = "{kind}"' for name, kind in quasi.items())
        Path(folder, "audit.toml").write_text(AUDIT.format(quasi=columns, options=options, workers=workers))
        start = time.perf_counter()
        used = _measured(folder)
        wall = time.perf_counter() - start
    return {
        "records": len(frame),
        "options": options,
        "workers": workers,
        "wall s": wall,
        "CPU s": used["cpu"],
        "CPU ms per record": used["cpu"] * 1000 / len(frame),
        "memory MB": used["own"] + workers * used["worker"] * (workers > 1),
    }


def _measured(folder: str) -> dict[str, float]:
    """Of the command with all its processes; an exit code of 2 or more says that it went wrong."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", MEASURED]
    told = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert told.returncode < 2, told.stderr
    found: dict[str, float] = json.loads(told.stdout.splitlines()[-1])
    return found
