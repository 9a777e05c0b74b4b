"""The one call: check an anonymizer against the laws. Knows the oracles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, closing
from functools import cache
from typing import Any

import pandas as pd

from harness.testing.asking import Budget, Session
from harness.testing.claims import Claims
from harness.testing.domains import domains_of
from harness.testing.law import Law
from harness.testing.outcome import CheckReport, plain_claims
from harness.testing.run import LAWS, Check, Reopened, results_of, run_check
from harness.vocabulary.oracle import Oracle
from harness.vocabulary.schema import Schema
from oracles import as_oracle, open_with
from oracles.clients.isolated import ChildSettings

CALLS, SECONDS = 300, 60.0


def check(
    anonymizer: Callable[..., Any] | Oracle | str,  # f(df) -> df, f(df, seed) or f(df, rng); or an address
    schema: Schema,
    claim: Mapping[str, Any] | None = None,
    *,
    sample: pd.DataFrame | None = None,
    laws: Iterable[Law] = LAWS,
    seed: int = 0,
    budget_calls: int = CALLS,
    max_time: float = SECONDS,  # seconds
    max_failures: int | None = None,
) -> CheckReport:
    """Try an anonymizer on generated tables and report which laws it keeps.

    Tables have the columns and domains of the `schema`, or the values of a `sample` of real rows. `claim` says what f
    is said to do: k, l, t, noise_epsilon, epsilon, deterministic, seedable, keeps_rows, keeps_sensitive.
    """
    options: dict[str, Any] = {}
    with ExitStack() as open_oracles, closing(as_oracle(anonymizer)) as oracle:
        session = Session(
            oracle,
            domains_of(schema, sample),
            Budget(budget_calls, max_time),
            seed,
            _reopening(anonymizer, options, open_oracles) if isinstance(anonymizer, str) else None,
        )
        under_way = Check(session, Claims.of(claim), laws, seed)
        run_check(under_way, max_failures)
        results = tuple(results_of(under_way, lambda law, rows: None))
    return CheckReport(oracle.card.title, plain_claims(under_way.claims), seed, session.budget.spent, results)


def _reopening(address: str, options: dict[str, Any], open_oracles: ExitStack) -> Reopened | None:
    """How to start the anonymizer once more, with other environment variables; closed with `open_oracles`."""
    if not address.startswith("python:"):
        return None

    @cache
    def reopened(environment: tuple[tuple[str, str], ...]) -> Oracle:
        settings = ChildSettings(env=dict(environment))
        return open_oracles.enter_context(closing(open_with(address, options, settings)))

    return lambda environment: reopened(tuple(sorted(environment.items())))
