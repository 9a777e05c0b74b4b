"""The one call: audit an anonymizer from Python. A door: it may import everything, and the oracles."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from tqdm import tqdm

from harness.auditing.finding import Finding
from harness.auditing.journal import Journal
from harness.auditing.plan import Claim, Plan
from harness.auditing.procedure import Audit
from harness.executors import Mapper, Processes, Serial, Threads
from harness.measuring.adversary import Inference, Model
from harness.measuring.divergence import named
from harness.report import Report
from harness.vocabulary.dataset import Dataset, Missing
from harness.vocabulary.errors import InputError
from harness.vocabulary.oracle import Oracle
from harness.vocabulary.schema import Column, Schema
from oracles import as_oracle

JOURNAL = "journal.jsonl"


def audit(
    anonymizer: Callable[..., Any] | Oracle | str,
    data: pd.DataFrame | str | Path | Dataset,
    *,
    quasi: Mapping[str, Any] | Sequence[Column] = (),
    sensitive: str | Sequence[str] = (),
    epsilon: float,
    delta: float = 0.0,
    confidence: float = 0.95,
    encoder: str = "tf",
    model: str | Model | Any = "bernoulli",
    distance: str = "emd",
    draws: int | None = None,
    seed: int = 0,
    records: Literal["all"] | int = "all",
    budget: int | None = None,
    adaptive: bool = False,
    missing: Missing = "error",
    weight: str | None = None,
    blind: bool | None = None,
    workers: int = 1,
    out: str | Path | None = None,
    progress: bool | None = None,
    reveal: bool = False,
) -> Report:
    """Test how far each person's own record moves what the releases of `anonymizer` say about that person.

    `anonymizer` is a callable f(df) -> df (or f(df, seed), f(df, rng)), an oracle, or an address; `quasi` maps
    each column that an adversary knows to its kind. With `out`, findings are kept there as they are measured and
    the same call goes on where an interrupted one stopped.
    """
    plan = Plan(
        data=_dataset(data, quasi, sensitive, missing, weight),
        claim=Claim(epsilon, delta, confidence),
        inference=Inference.named(encoder, model),
        distance=named(distance),
        draws=draws,
        seed=seed,
        records=records,
        budget=budget,
        adaptive=adaptive,
        blind=blind,
    )
    oracle = as_oracle(anonymizer)
    with audited(plan, oracle, executor_for(workers, oracle), out=Path(out) if out else None) as running:
        findings = list(shown(running, progress))
        return Report.of(running, findings, reveal=reveal)


def _dataset(
    data: pd.DataFrame | str | Path | Dataset,
    quasi: Mapping[str, Any] | Sequence[Column],
    sensitive: str | Sequence[str],
    missing: Missing,
    weight: str | None,
) -> Dataset:
    if isinstance(data, Dataset):
        return data
    schema = Schema(quasi, sensitive, weight)
    if isinstance(data, pd.DataFrame):
        return Dataset.from_frame(data, schema, missing)
    if isinstance(data, str | Path):
        read = Dataset.from_parquet if Path(data).suffix.lower() in (".parquet", ".pq") else Dataset.from_csv
        return read(data, schema, missing)
    raise InputError(f"data must be a DataFrame, a path or a Dataset, not a {type(data).__name__}")


@contextmanager
def audited(
    plan: Plan, oracle: Oracle, executor: Mapper, *, out: Path | None = None, source: Mapping[str, Any] | None = None
) -> Iterator[Audit]:
    """An audit ready to run, with its journal in `out`; closes both journal and oracle."""
    with ExitStack() as stack:
        stack.callback(oracle.close)
        journal = None
        if out is not None:
            owner = {"plan": plan.identity(), "oracle": dict(source or {"name": oracle.card.name})}
            journal = stack.enter_context(Journal(out / JOURNAL, owner))
        yield Audit(plan, oracle, journal, executor)


def executor_for(workers: int, oracle: Oracle) -> Mapper:
    """Oracles that compute here get processes, those that are waited for get threads."""
    if not isinstance(workers, int) or workers < 1:
        raise InputError(f"workers must be a whole number of at least 1, not {workers!r}")
    if workers == 1:
        return Serial()
    return Processes(workers) if oracle.card.in_process else Threads(workers)


def shown(running: Audit, progress: bool | None = None) -> Iterator[Finding]:
    """The audit's findings, with a progress bar when somebody is there to see it."""
    hidden = not (sys.stderr.isatty() if progress is None else progress)
    worst = 0.0
    with tqdm(total=len(running.course.targets), unit=" records", disable=hidden, initial=0) as bar:
        for finding in running.run():
            worst = max(worst, finding.distance)
            bar.update()
            bar.set_postfix_str(f"largest distance {worst:.4g}", refresh=False)
            yield finding
