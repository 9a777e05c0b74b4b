"""How long it takes to write, read back and verify the report of a large audit: 10,000 persons, three adversaries.

A few persons are examined in truth and stand for all the others, so that every number has as many digits and every
line of the journal as many bytes as in a real audit.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.auditing.events import Event, Examined, Selected, to_entry
from harness.auditing.journal import Journal
from harness.auditing.plan import Plan
from harness.auditing.procedure import Audit
from harness.auditing.state import AuditState
from harness.auditing.verify import verify_report
from harness.report import Report
from harness.vocabulary.oracle import Oracle
from oracles.reference import Mondrian, NoisyTable
from tests.bench.measuring import Section
from tests.bench.people import dataset
from tests.bench.running import plan_for

PANEL = (("bernoulli", "tf-tf"), ("categorical", "quantiles-hot"), ("gaussian", "scaling-hot"))
EXAMINED = 5  # persons who stand for all
DRAWS = 20


def reports(count: int) -> Section:
    measured = {"deterministic f": _times(count, Mondrian(k=5)), "randomized f": _times(count, NoisyTable(1.0))}
    steps = list(measured["deterministic f"])
    rows = [{"step": step, **{kind: times[step] for kind, times in measured.items()}} for step in steps]
    title = f"The report of {count} persons and {len(PANEL)} adversaries: seconds of CPU"
    return Section(title, rows, ["reading it back, and verifying it from the journal: a few seconds"])


def _times(count: int, oracle: Oracle) -> dict[str, float]:
    plan = plan_for(dataset(count), PANEL, draws=DRAWS)
    events = _events(plan, oracle)
    with tempfile.TemporaryDirectory() as folder:
        journal, report = Path(folder, "journal.jsonl"), Path(folder, "report.json")
        times: dict[str, float] = {}

        def timed(step: str, work: Callable[[], Any]) -> Any:
            start = time.process_time()
            result = work()
            times[step] = time.process_time() - start
            return result

        timed("write the journal", lambda: _write(journal, plan, events))
        compiled = timed("compile the report", lambda: Report.of(AuditState.fold(plan.spec(), events)))
        timed("write report.json", lambda: report.write_text(compiled.to_json()))
        read = timed("read report.json", lambda: Report.load(report))
        timed("its findings", lambda: read.findings)
        timed("its summary", read.summary)
        timed("verify_report", lambda: verify_report(journal, report))
        times["journal MB"], times["report MB"] = (path.stat().st_size / 1e6 for path in (journal, report))
    return times


def _events(plan: Plan, oracle: Oracle) -> list[Event]:
    """The events of an audit that stopped after a few persons and went on with these as everybody."""
    with tempfile.TemporaryDirectory() as folder:
        path, owner = Path(folder, "journal.jsonl"), {"plan": plan.spec()}
        selected, known = None, list[Examined]()
        with Journal(path, owner) as journal, closing(Audit(plan, oracle).events(journal)) as events:
            for event in events:
                selected = event if isinstance(event, Selected) else selected
                known += [event] if isinstance(event, Examined) else []
                if len(known) == EXAMINED:
                    break
        assert selected is not None, "persons are selected before they are examined"
        others = sorted({*selected.examined}.difference(event.person for event in known))
        with Journal(path, owner) as journal:
            for person in others:
                journal.append(to_entry(replace(known[person % EXAMINED], person=person)))
        with Journal(path, owner) as journal:
            return list(Audit(plan, oracle).events(journal))


def _write(path: Path, plan: Plan, events: list[Event]) -> None:
    with Journal(path, {"plan": plan.spec()}) as journal:
        for event in events:
            journal.append(to_entry(event))
