"""The one call: check an anonymizer against the laws, or one law on one table. Knows the oracles and the disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from harness.measuring.one_thread import environment_of_one_thread
from harness.testing.asking import Budget, Rows, Session
from harness.testing.claims import Claims
from harness.testing.domains import Domains, domains_from
from harness.testing.kept_cases import Case, keep, log_in
from harness.testing.law import Law
from harness.testing.outcome import CheckReport, LawResult, plain_claims
from harness.testing.run import LAWS, Check, Reopened, results_of, run_check
from harness.vocabulary.errors import InputError, did_you_mean
from harness.vocabulary.oracle import Oracle
from harness.vocabulary.schema import Schema
from oracles import as_oracle, open_with
from oracles.clients.isolated import ChildSettings

CALLS, SECONDS = 300, 60.0
Anonymizer = Callable[..., Any] | Oracle | str


def check(
    anonymizer: Anonymizer,  # f(df) -> df, f(df, seed) or f(df, rng); or an oracle; or an address
    schema: Schema | str | Path,  # or a file with the section [data] of an audit.toml
    claim: Mapping[str, Any] | None = None,
    *,
    sample: pd.DataFrame | None = None,
    options: Mapping[str, Any] | None = None,  # of an address
    laws: Iterable[Law | str] = LAWS,
    seed: int = 0,
    budget_calls: int = CALLS,
    max_time: float = SECONDS,  # seconds
    max_failures: int | None = None,
    keep_in: Path | None = None,  # folder for tables that break a law, of an address and a schema file, and for a log
) -> CheckReport:
    """Try an anonymizer on generated tables and report which laws it keeps.

    Tables have the columns and domains of the `schema`, or the values of a `sample` of real rows. `claim` says what f
    is said to do: k, l, t, noise_epsilon, epsilon, deterministic, seedable, keeps_rows, keeps_sensitive.
    """
    _check_budget(budget_calls, max_time)
    claims, chosen = Claims.of(claim), [law_named(law) for law in laws]
    domains = _domains(schema, sample, claims)
    with _opened(anonymizer, options or {}, keep_in) as (oracle, reopened):
        session = Session(oracle, domains, Budget(budget_calls, max_time), seed, _runs_here(anonymizer), reopened)
        under_way = Check(session, claims, chosen, seed)
        run_check(under_way, max_failures)

        def reproduce(law: Law, rows: Rows) -> str | None:
            if keep_in is None or not isinstance(anonymizer, str) or isinstance(schema, Schema):
                return None
            case = Case(anonymizer, dict(options or {}), str(schema), plain_claims(claims), law.name, rows, seed)
            return f"harness replay {keep(case, keep_in)}"

        results = tuple(results_of(under_way, reproduce))
    file = None if isinstance(schema, Schema) else str(schema)
    return CheckReport(oracle.card.title, plain_claims(claims), seed, session.budget.spent, results, file)


def check_table(
    anonymizer: Anonymizer,
    schema: Schema | str | Path,
    table: pd.DataFrame | Rows,
    law: Law | str,
    claim: Mapping[str, Any] | None = None,
    *,
    sample: pd.DataFrame | None = None,
    options: Mapping[str, Any] | None = None,
    seed: int = 0,
    keep_in: Path | None = None,
) -> LawResult:
    """Try one law on one table: what a test does with a table that broke it once."""
    claims, chosen = Claims.of(claim), law_named(law)
    domains = _domains(schema, sample, claims)
    rows = _rows(table, domains)
    with _opened(anonymizer, options or {}, keep_in) as (oracle, reopened):
        session = Session(oracle, domains, Budget(CALLS, SECONDS), seed, _runs_here(anonymizer), reopened)
        under_way = Check(session, claims, [chosen], seed)
        if chosen not in under_way.skipped:
            under_way.judge(chosen, rows)
        (result,) = results_of(under_way, lambda _law, _rows: None)
    return result


def _domains(schema: Schema | str | Path, sample: pd.DataFrame | None, claims: Claims) -> Domains:
    domains = domains_from(schema, sample)
    return domains.with_points() if claims.changes_cells else domains


def law_named(law: Law | str) -> Law:
    """A law by its name."""
    known = {each.name: each for each in LAWS}
    if isinstance(law, str) and law not in known:
        raise InputError(f"law {law!r} is not known; {did_you_mean(law, known)}")
    return known[law] if isinstance(law, str) else law


def _runs_here(anonymizer: Anonymizer) -> bool:
    """Whether no network lies between: a function, or a process that is started here."""
    return not isinstance(anonymizer, str) or anonymizer.partition(":")[0] in ("python", "cmd", "reference")


def _check_budget(calls: int, seconds: float) -> None:
    if calls < 1 or not seconds > 0:
        raise InputError(f"a check needs at least one call and some time, not {calls} calls and {seconds} s")


def _rows(table: pd.DataFrame | Rows, domains: Domains) -> Rows:
    names = [domain.name for domain in domains.columns]
    if not isinstance(table, pd.DataFrame):
        if any(len(row) != len(names) for row in table):
            raise InputError(f"every row needs {len(names)} cells: {', '.join(names)}")
        return table
    missing = next((name for name in names if name not in table.columns), None)
    if missing is not None:
        raise InputError(f"the table has no column {missing!r}; its columns are {list(table.columns)}")
    return tuple(table[names].itertuples(index=False, name=None))


@contextmanager
def _opened(
    anonymizer: Anonymizer, options: Mapping[str, Any], folder: Path | None
) -> Iterator[tuple[Oracle, Reopened | None]]:
    """The oracle, and how to start it once more with other environment variables; all are closed at the end."""
    with ExitStack() as opened:
        if not isinstance(anonymizer, str):
            yield opened.enter_context(closing(as_oracle(anonymizer))), None
            return
        settings = ChildSettings(log_in(folder), environment_of_one_thread())
        once = {"attempts": 1} if anonymizer.startswith("python:") else {}  # a crash is an answer: not asked again
        oracle = opened.enter_context(closing(open_with(anonymizer, {**once, **options}, settings)))
        yield oracle, _reopening(anonymizer, options, settings, opened) if anonymizer.startswith("python:") else None


def _reopening(address: str, options: Mapping[str, Any], settings: ChildSettings, opened: ExitStack) -> Reopened:
    @cache
    def reopened(environment: tuple[tuple[str, str], ...]) -> Oracle:
        other = replace(settings, env={**settings.env, **dict(environment)})
        return opened.enter_context(closing(open_with(address, dict(options), other)))

    return lambda environment: reopened(tuple(sorted(environment.items())))
