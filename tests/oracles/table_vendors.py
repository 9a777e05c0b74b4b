"""Vendors behind an address, for tests: how they reply, and what the harness gets from them."""

import io
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from harness.vocabulary.answers import checked_answers
from harness.vocabulary.errors import OracleError
from harness.vocabulary.oracle import Ask, Oracle
from harness.vocabulary.table import Table
from oracles.clients.table_api import TableApi
from tests.oracles.filters import dataset, decades
from tests.oracles.servers import Request

DATA = dataset()
CSV = {"Content-Type": "text/csv"}
Reply = tuple[int, dict[str, str], bytes]


def asked(oracle: Oracle) -> list[Table]:
    """What the harness gets for f(D)."""
    return [release for release in checked_answers(oracle, Ask(DATA)) if isinstance(release, Table)]


def refused(oracle: Oracle, complaint: str, *, retryable: bool) -> OracleError:
    """One clear error: it says what was wrong, in one paragraph, and whether asking again may help."""
    with pytest.raises(OracleError, match=complaint) as caught:
        asked(oracle)
    text = str(caught.value)
    assert len(text) < 900
    assert text.isprintable()
    assert caught.value.retryable is retryable
    return caught.value


def plain(address: str, **options: Any) -> TableApi:
    return TableApi(address, plain={"path": "/anonymize"}, name="the vendor", **options)


def good(request: Request) -> Reply:
    return 200, CSV, decades(pd.read_csv(io.BytesIO(request.body))).to_csv(index=False).encode()


def always(status: int, headers: dict[str, str], body: bytes) -> Callable[[Request], Reply]:
    return lambda request: (status, headers, body)
