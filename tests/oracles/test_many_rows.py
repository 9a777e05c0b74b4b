"""A release of far more rows than were sent is refused before it is read, and reading has a deadline too."""

import sys
import time
from typing import Any

import pandas as pd
import pytest

import oracles
from harness.vocabulary.errors import InputError, OracleError, ReleaseError
from oracles.clients.local import Local
from oracles.serve.grpc import serve as serve_grpc
from oracles.serve.http import serve as serve_http
from oracles.untrusted import FEW_ROWS, most_rows
from oracles.wire.csv_text import from_csv
from tests.oracles.filters import decades
from tests.oracles.servers import Request, serving
from tests.oracles.table_vendors import CSV, Reply, asked

HEADER, ROW = b"age,sex,weight kg,illness\n", b"20,F,60,flu\n"
MANY = HEADER + ROW * (FEW_ROWS + 1)  # a megabyte


def many(request: Request) -> Reply:
    return 200, CSV, MANY


def many_records(request: Request) -> Reply:
    return 200, {"Content-Type": "application/json"}, b"[" + b",".join([b'{"age":1}'] * (FEW_ROWS + 1)) + b"]"


def test_a_large_table_may_have_a_larger_release() -> None:
    assert most_rows(5, None) == FEW_ROWS
    assert most_rows(FEW_ROWS, None) == 10 * FEW_ROWS
    assert most_rows(FEW_ROWS, 7) == 7


@pytest.mark.parametrize(("reply", "form"), [(many, "csv"), (many_records, "json-records")])
def test_a_service_that_sends_too_many_rows_is_refused(reply: Any, form: str) -> None:
    with (
        serving(reply) as server,
        pytest.raises(ReleaseError, match="100000 rows; raise the option max_rows"),
    ):
        asked(oracles.open(server.address, plain={"format": form}))


def test_the_auditor_may_say_how_many_rows_a_release_has() -> None:
    with serving(many) as server:
        assert len(asked(oracles.open(server.address, plain={}, max_rows=FEW_ROWS + 1))) == 1
        with pytest.raises(ReleaseError, match="more than 2 rows"):
            asked(oracles.open(server.address, plain={}, max_rows=2))


def test_a_command_that_prints_too_many_rows_is_refused() -> None:
    program = f"import sys; sys.stdin.read(); sys.stdout.buffer.write({HEADER!r} + {ROW!r} * {FEW_ROWS + 1})"
    with pytest.raises(ReleaseError, match="more than 100000 rows"):
        asked(oracles.open("cmd:", command=[sys.executable, "-c", program]))


def doubled(frame: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([decades(frame)] * 2)


@pytest.mark.parametrize("serve", [serve_http, serve_grpc])
def test_a_server_of_the_protocol_is_held_to_the_same(serve: Any) -> None:
    server = serve(Local(doubled), "127.0.0.1:0")
    try:
        assert len(asked(oracles.open(server.address))) == 1
        with pytest.raises(ReleaseError, match="more than 2 rows"):
            asked(oracles.open(server.address, max_rows=2))
    finally:
        server.stop(0.1)


@pytest.mark.parametrize("wrong", [0, -1, True, 1.5, "many"])
def test_what_is_no_number_of_rows_is_refused(wrong: Any) -> None:
    with pytest.raises(InputError, match="max_rows must be a whole number"):
        oracles.open("cmd:cat", max_rows=wrong)


def test_reading_ends_at_the_deadline_of_the_question() -> None:
    with pytest.raises(OracleError, match="could not be read in time") as caught:
        from_csv(MANY, ["age"], until=time.monotonic())
    assert not caught.value.retryable
