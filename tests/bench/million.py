"""An audit of very many records with an oracle that takes no time: memory, sizes, and times to resume and verify.

The oracle predicts, so that a question is one record and its answer two numbers: what is measured is the harness. An
audit is begun and stopped; then what it would write about all but the last records is added to its journal, line by
line as an audit writes them. The steps that follow are those of the command, each in a process of its own whose peak
memory is told: the rest of the audit with its report, the same once more, verify, report.
"""

from __future__ import annotations

import contextlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from tests.bench.measuring import Section

BEGIN, WRITE, RESUME, AGAIN, VERIFY, REPORT = STEPS = (
    "begin", "write the journal", "resume, finish and report", "run it again", "verify", "report as text"
)  # fmt: skip
FEW, LAST = 50, 1_000  # records that are examined before the audit stops, and after it goes on


def million(count: int) -> Section:
    """The table of one audit of so many records."""
    with tempfile.TemporaryDirectory() as name:
        rows = [_measured(Path(name), count, step) for step in STEPS]
        sizes = {path.name: path.stat().st_size for path in sorted(Path(name, "out").iterdir())}
    told = ", ".join(f"{name} {size / 1e6:.1f} MB" for name, size in sizes.items())
    each = f"{sizes['journal.jsonl'] / count:.0f} bytes of the journal for a record"
    return Section(f"An audit of {count:,} records with an oracle that takes no time", rows, [told, each])


def _measured(folder: Path, count: int, step: str) -> dict[str, Any]:
    start = time.monotonic()
    command = [sys.executable, "-m", "tests.bench.million", str(folder), str(count), step]
    printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return {"step": step, "seconds": time.monotonic() - start, **json.loads(printed.splitlines()[-1])}


def predictions(number: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """What the oracle predicts with and without a record."""
    apart = (number * 2654435761 % 1000) / 1e5
    return (0.3, 0.7), (0.3 - apart, 0.7 + apart)


class Quick:
    """Answers at once, so many times."""

    def __init__(self, answers: int) -> None:
        from harness import Card

        self.card, self.left = Card("takes no time", releases="predictions", randomized=False, keeps_data=True), answers

    def answer(self, ask: Any) -> Iterable[Any]:
        from harness.vocabulary.release import Predictions

        if self.left == 0:
            raise KeyboardInterrupt
        self.left -= 1
        yield Predictions(np.array([predictions(int(ask.about[0]))[bool(ask.drop)]]))

    def close(self) -> None:
        """Nothing is open."""

    def spec(self) -> dict[str, Any]:
        return {}


def audit(folder: Path, count: int, answers: int = -1) -> None:
    """The audit, or the rest of it; it is stopped after so many answers."""
    import pandas as pd

    import harness

    numbers = np.arange(count)
    people = pd.DataFrame({"number": numbers, "ill": np.where(numbers % 10 < 3, "yes", "no")})
    with contextlib.suppress(KeyboardInterrupt):
        harness.audit(
            Quick(answers), people, quasi={"number": "number"}, sensitive="ill", epsilon=0.5, out=folder / "out",
            progress=False,
        )  # fmt: skip


def write(path: Path, count: int) -> None:
    """What the audit would write about all but the last records."""
    from harness.auditing.events import Examined, to_entry
    from harness.auditing.journal import Journal, entries
    from harness.auditing.measurement import Measurement

    known = {entry["examined"]["person"] for entry in entries(path) if "examined" in entry}
    with Journal(path, next(entries(path))) as journal:
        for person in range(count - LAST):
            if person in known:
                continue
            present, absent = predictions(person)
            parts = tuple(abs(one - other) for one, other in zip(present, absent, strict=True))
            distance, value = float(np.array(parts).sum()), int(person % 10 >= 3)
            one = Measurement(
                0, 0, 0, distance, distance, distance, distance, present, absent, parts, (present[value], absent[value])
            )
            journal.append(to_entry(Examined(person, 1, (one,))))


def perform(folder: Path, count: int, step: str) -> None:
    """One step, in this process."""
    from harness.cli import main

    out = folder / "out"
    if step == BEGIN:
        audit(folder, count, 20 + 2 * FEW)
    elif step == WRITE:
        write(out / "journal.jsonl", count)
    elif step in (RESUME, AGAIN):
        audit(folder, count)
        assert (out / "report.json").exists()
    elif step == VERIFY:
        assert main(["verify", str(out)]) == 0
    else:
        assert main(["report", str(out)]) == 0
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps({"CPU": round(used.ru_utime + used.ru_stime, 1), "peak MB": round(used.ru_maxrss / 1024)}))


if __name__ == "__main__":
    perform(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
