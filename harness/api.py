"""The one call: audit an anonymizer from Python. May import everything, and the oracles."""

from __future__ import annotations

import json
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import asdict, dataclass, is_dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from harness.auditing.compile_certificate import compile_certificate
from harness.auditing.compile_certificate import to_text as certificate_text
from harness.auditing.config import AuditFile, bind, checked_statements, choose_adversaries, loaded
from harness.auditing.failures import checked_most
from harness.auditing.findings_file import write_findings
from harness.auditing.folder import (
    CERTIFICATE,
    JOURNAL,
    LOG,
    PAGE,
    REPORT,
    RUN,
    SUMMARY,
    require_journal_of_report,
    write_text,
)
from harness.auditing.journal import Journal
from harness.auditing.journal_facts import dated_as_issued, gather_facts
from harness.auditing.keyed_digests import sealed
from harness.auditing.options import USUALLY_KEPT, kept_bytes
from harness.auditing.oracle_identity import oracle_identity
from harness.auditing.plan import Claim, Pairs, Plan
from harness.auditing.procedure import Audit
from harness.auditing.shard import Shard
from harness.auditing.state import AuditState
from harness.executors import Mapper, choose_executor
from harness.measuring.adversary import Adversary
from harness.measuring.divergence import divergence_named
from harness.measuring.one_thread import environment_of_one_thread
from harness.measuring.privacy_claim import PrivacyClaim
from harness.measuring.specification import unidentified
from harness.progress import Watcher, watcher
from harness.report import Report
from harness.vocabulary.dataset import Dataset, Missing
from harness.vocabulary.errors import HarnessError, InputError
from harness.vocabulary.oracle import Oracle
from harness.vocabulary.schema import Column, Schema
from harness.vocabulary.source import read_columns
from oracles import as_oracle, open_with, options_beside, source_of
from oracles.clients.isolated import ChildSettings
from oracles.temporary_files import sweep_leftovers, temporary_folder


def audit(
    anonymizer: Callable[..., Any] | Oracle | str,  # f(df) -> df, f(df, seed) or f(df, rng); or an address
    data: pd.DataFrame | str | Path | Dataset,  # a DataFrame, a CSV or Parquet file, or a Dataset
    *,
    quasi: Mapping[str, Any] | Sequence[Column] = (),
    sensitive: str | Mapping[str, Any] | Sequence[str | Column | Mapping[str, Any]] = (),
    joint: bool = False,
    person: str | None = None,
    epsilon: float,
    delta: float = 0.0,
    confidence: float = 0.95,
    adversaries: Sequence[Adversary | Mapping[str, Any]] | None = None,  # tables of encoder, model, prior, name
    panel: str | None = None,
    encoder: Any = None,
    model: Any = None,
    prior: Any = None,
    distance: Any = "sum",
    draws: int | None = None,
    seed: int = 0,
    records: Literal["all"] | int = "all",
    budget: int | None = None,
    adaptive: bool = False,
    randomized: bool = False,
    pairs: Pairs = "seeds",
    privacy: Mapping[str, float] | None = None,
    confirm: int = 8,
    missing: Missing = "error",
    weight: str | None = None,
    suppressed: str | Sequence[str] | None = None,
    blind: bool | None = None,
    workers: int | str = 1,
    keep_predictions: int | str = USUALLY_KEPT,
    timeout: float | None = None,  # seconds that one call may take (None: 300); of a callable, in worker processes
    out: str | Path | None = None,  # folder to keep everything in, and to continue in after an interruption
    progress: bool | None = None,  # on standard error: a bar, or lines without a terminal (None: only on one)
    reveal: bool = False,  # show raw records in the summary, and in the files what was inferred about each person
    max_failures: int | None = None,  # persons that f may fail on (None: any number, while others can be measured)
    retry_failed: bool = False,  # with `out`: ask again about those whom an earlier call could not measure
    accept_card: bool = False,  # with `out`: continue although the oracle now says something else of itself
    evidence: Mapping[str, Any] | None = None,  # what the auditor states on the test report: the section [evidence]
) -> Report:
    """Test how far each person's own rows move what the releases of `anonymizer` say about that person.

    `anonymizer` is a callable f(df) -> df (or f(df, seed), f(df, rng)), an oracle, or an address; `quasi` maps
    each column that an adversary knows to its kind. Who infers is one adversary (`encoder`, `model`, `prior`), a list
    of `adversaries`, or a `panel`. With `out`, everything is kept there as it is measured and the same call continues
    where an interrupted one stopped; `evidence` is for the test report that is then written, too.
    """
    statements = checked_statements(evidence or {})
    if statements and out is None:
        raise InputError("evidence is printed on the test report, which is written to a folder; give out= as well")
    single = {"encoder": encoder, "model": model, "prior": prior}
    single = {name: part for name, part in single.items() if part is not None}
    dataset = _dataset(data, quasi, sensitive, missing, weight, person, suppressed)
    declared = choose_adversaries(adversaries, single, panel)
    plan = Plan(
        data=dataset,
        claim=Claim(epsilon, delta, confidence),
        adversaries=bind(declared, dataset, joint, lambda columns: _further_columns(data, columns)),
        divergence=divergence_named(loaded(distance)),
        joint=joint,
        draws=draws,
        seed=seed,
        records=records,
        budget=budget,
        adaptive=adaptive,
        randomized=randomized,
        pairs=pairs,
        privacy=None if privacy is None else PrivacyClaim.of(privacy),
        confirm=confirm,
        blind=blind,
    )
    folder = Path(out) if out is not None else None
    source = source_of(anonymizer, {}) if isinstance(anonymizer, str) else None
    with oracle_log(folder) as log:
        oracle = as_oracle(anonymizer, child_settings(log), timeout)
        return run_audit(
            plan, oracle, workers, out=folder, source=source, progress=progress, reveal=reveal, statements=statements,
            max_failures=max_failures, retry_failed=retry_failed, accept_card=accept_card,
            keep_predictions=keep_predictions,
        )  # fmt: skip


@contextmanager
def oracle_log(out: Path | None) -> Iterator[Path]:
    """The file for what an anonymizer prints: in the folder of the audit, else one that is kept after an error only."""
    if out is not None:
        yield out / LOG
        return
    with temporary_folder() as folder:
        try:
            yield folder / LOG
        except HarnessError as error:
            if error.log is not None:
                error.log = _kept_log(error.log)
            raise


def _kept_log(log: Path) -> Path:
    """A copy of a log that outlives this process: whoever audits is told where it is."""
    number, name = tempfile.mkstemp(prefix="harness-oracle-", suffix=".log")
    with open(number, "wb") as kept:
        kept.write(log.read_bytes() if log.exists() else b"")
    return Path(name)


def child_settings(log: Path) -> ChildSettings:
    """How an audit has a `python:` anonymizer started: it prints to the log and computes with one thread."""
    return ChildSettings(log, environment_of_one_thread())


def open_oracle(file: AuditFile, log: Path, shards: int = 1) -> tuple[Oracle, dict[str, Any]]:
    """The oracle of an audit.toml, and what its journal says about where it is; shards share its pace."""
    options = options_beside(file.path.parent, file.address, file.options)
    paced = options
    if shards > 1 and isinstance(pace := options.get("per_second"), int | float):
        paced = {**options, "per_second": pace / shards}
    oracle = open_with(file.address, paced, child_settings(log))
    return oracle, source_of(file.address, options)


def _dataset(
    data: pd.DataFrame | str | Path | Dataset,
    quasi: Mapping[str, Any] | Sequence[Column],
    sensitive: str | Mapping[str, Any] | Sequence[str | Column | Mapping[str, Any]],
    missing: Missing,
    weight: str | None,
    person: str | None,
    suppressed: str | Sequence[str] | None,
) -> Dataset:
    if isinstance(data, Dataset):
        declared = any(option is not None for option in (weight, person, suppressed))
        if quasi or sensitive or declared or missing != "error":
            raise InputError(
                "data is a Dataset, which has its columns declared in its schema; leave out quasi, sensitive, person, "
                "weight, suppressed and missing, or pass the DataFrame or file itself"
            )
        return data
    schema = Schema(quasi, sensitive, weight, person, suppressed)
    if isinstance(data, pd.DataFrame):
        return Dataset.from_frame(data, schema, missing)
    if isinstance(data, str | Path):
        return Dataset.from_file(data, schema, missing)
    raise InputError(f"data must be a DataFrame, a path or a Dataset, not a {type(data).__name__}")


def _further_columns(data: pd.DataFrame | str | Path | Dataset, columns: Sequence[str]) -> pd.DataFrame:
    if isinstance(data, Dataset):
        raise InputError(f"a prior reads the column {columns[0]!r}, which a Dataset does not hold; pass a DataFrame")
    return data if isinstance(data, pd.DataFrame) else read_columns(data, columns)


def run_audit(
    plan: Plan,
    oracle: Oracle,
    workers: int | str = 1,
    *,
    out: Path | None = None,
    source: Mapping[str, Any] | None = None,
    progress: bool | Watcher | None = None,
    reveal: bool = False,
    statements: Mapping[str, Any] | None = None,  # of the auditor, for the test report
    shared: Oracle | None = None,
    max_failures: int | None = None,
    retry_failed: bool = False,
    accept_card: bool = False,
    keep_predictions: int | str = USUALLY_KEPT,
) -> Report:
    """Run an audit to its end and close the oracle, also after an error.

    With `out`, its journal, its report and the test report are there afterwards. `progress` may be a function that
    watches the events. `shared` is the same oracle with answers that another audit got.
    """
    started = time.time()
    sweep_leftovers()
    records = RawRecords(plan.data) if reveal else None
    with closing(oracle):
        audit = Audit(
            plan, oracle, _executor(oracle, workers), shared, checked_most(max_failures), retry_failed, accept_card,
            keep_predictions=kept_bytes(keep_predictions),
        )  # fmt: skip
        state = _perform(audit, open_journal(plan, oracle, out, source), progress)
    report = Report.of(state, records)
    if out is not None:
        report = replace(report, run=description_of_run(started, oracle))
        report = write_report(report, out, statements or {}, reveal=reveal)
    return report


def run_shard(
    plan: Plan,
    oracle: Oracle,
    workers: int | str,
    number: int,
    of: int,
    *,
    out: Path,
    source: Mapping[str, Any] | None = None,
    progress: bool = False,
    max_failures: int | None = None,
    retry_failed: bool = False,
    accept_card: bool = False,
    keep_predictions: int | str = USUALLY_KEPT,
) -> tuple[Shard, AuditState]:
    """Examine the persons of one shard and close the oracle; its journal is in `out` afterwards, and no report."""
    sweep_leftovers()
    shard = Shard(number, of, plan.digest)
    with closing(oracle):
        audit = Audit(
            plan, oracle, _executor(oracle, workers), max_failures=checked_most(max_failures),
            retry_failed=retry_failed, accept_card=accept_card, shard=shard,
            keep_predictions=kept_bytes(keep_predictions),
        )  # fmt: skip
        return shard, _perform(audit, open_journal(plan, oracle, out, source, shard), progress)


def _executor(oracle: Oracle, workers: int | str) -> Mapper:
    call_seconds = getattr(oracle, "call_seconds", None)  # of a callable, which cannot end itself
    return choose_executor(workers, in_process=oracle.card.in_process, call_seconds=call_seconds)


def _perform(audit: Audit, journal: Journal | None, progress: bool | Watcher | None) -> AuditState:
    """Let an audit happen, and show how far it is."""
    with journal or nullcontext():
        shown = sys.stderr.isatty() if progress is None else progress
        watch = progress if callable(progress) else watcher(bool(shown), audit.oracle, audit.shard)
        state = AuditState(audit.plan.spec())
        for _ in watch(audit.events(journal, state), journal.count if journal is not None else 0):
            pass  # the audit happens while its events are taken
    return state


def open_journal(
    plan: Plan,
    oracle: Oracle,
    out: Path | None,
    source: Mapping[str, Any] | None = None,
    shard: Shard | None = None,
) -> Journal | None:
    """The journal of this audit, or of one shard of it, in `out`, if there is one."""
    if out is None:
        return None
    require_journal_of_report(out)
    owner = {"plan": plan.spec(), "oracle": sealed(oracle_identity(oracle, source), out / JOURNAL)}
    if shard is not None:
        owner["shard"] = shard.plain()
    unknown = unidentified(owner["plan"])
    if unknown:
        raise InputError(
            f"an audit that is kept in a folder must be recognised when it continues, but {unknown[0]}; give the "
            "object a spec() that returns its parameters, or audit without a folder"
        )
    return Journal(out / JOURNAL, owner)


@dataclass(frozen=True, eq=False)
class RawRecords(Mapping[int, Sequence[Mapping[str, Any]]]):
    """The raw rows of each person, looked up when they are shown."""

    data: Dataset

    def __getitem__(self, person: int) -> list[dict[str, Any]]:
        if not 0 <= person < self.data.population:
            raise KeyError(person)
        return [self._row(row) for row in self.data.rows_of(person)]

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.data.population))

    def __len__(self) -> int:
        return self.data.population

    def _row(self, row: int) -> dict[str, Any]:
        table = self.data.table
        values = (cells.taking(np.array([row])).values()[0] for cells in table.columns)
        return {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in zip(table.names, values, strict=True)
        }


def description_of_run(started: float, oracle: Oracle) -> dict[str, Any]:
    """The content of run.json: what differs from run to run."""
    counts = getattr(oracle, "counts", None)  # of an oracle that is waited for
    return {
        "started": datetime.fromtimestamp(started, UTC).isoformat(timespec="seconds"),
        "seconds": round(time.time() - started, 3),
        "calls": asdict(counts) if is_dataclass(counts) and not isinstance(counts, type) else None,
        "versions": versions(),
    }


def write_report(report: Report, out: Path, statements: Mapping[str, Any], *, reveal: bool) -> Report:
    """report.json, summary.txt, run.json with what differs from run to run, the test report, and the page of them all.

    All findings of a large audit are in a file beside report.json.

    Returns the report with its test report beside it. A finished audit that was run again keeps its dates, and so its
    signature.
    """
    issued, text = datetime.now(UTC).isoformat(timespec="seconds"), report.to_json()
    facts = gather_facts(out / JOURNAL, report.plain, text, report.run or {}, statements, issued)
    facts = dated_as_issued(out / CERTIFICATE, report.plain, facts)
    report = replace(report, run=dict(facts.run), certificate=compile_certificate(report.plain, facts))
    if report.rows is not None:  # before the report that names it
        write_findings(out, report.rows())
    write_text(out / REPORT, text)
    write_text(out / SUMMARY, report.summary() + "\n")
    write_text(out / RUN, json.dumps(report.run, indent=1) + "\n")
    write_text(out / CERTIFICATE, certificate_text(report.certificate or {}))
    write_text(out / PAGE, report.render("html", reveal=reveal))
    return report


def versions() -> dict[str, str]:
    """What the numbers were computed with."""
    packages = {"python": platform.python_version()}
    for package in ("anonymizer-harness", "numpy", "scipy", "pandas", "scikit-learn"):
        try:
            packages[package] = version(package)
        except PackageNotFoundError:
            packages[package] = "not installed"
    return packages
