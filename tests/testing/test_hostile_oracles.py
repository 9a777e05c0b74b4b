"""`harness check` of servers that are broken or mean harm: a clear outcome each, and nothing of theirs as markup."""

import io
from collections.abc import Callable

import pandas as pd
import pytest

from harness.render.check_report import FORMATS, check_text
from harness.testing import CheckReport, check
from harness.vocabulary.errors import OracleError
from tests.oracles.broken_grpc import broken
from tests.oracles.servers import Request, serving
from tests.testing.boxes import SCHEMA

CSV = {"Content-Type": "text/csv"}
Reply = tuple[int, dict[str, str], bytes]
TAG = "<img src=x onerror=alert(1)>"


def table(request: Request) -> pd.DataFrame:
    return pd.read_csv(io.BytesIO(request.body))


def csv(frame: pd.DataFrame) -> Reply:
    return 200, CSV, frame.to_csv(index=False).encode()


def hidden(request: Request) -> pd.DataFrame:
    return table(request).assign(age="*", city="*")


def checked(reply: Callable[[Request], Reply], *laws: str) -> CheckReport:
    options = {"plain": {"path": "/anonymize"}, "attempts": 1, "timeout": 60.0}
    with serving(reply) as server:
        return check(server.address, SCHEMA, {"k": 3}, options=options, laws=laws, budget_calls=15, max_time=600)


@pytest.mark.parametrize(
    ("reply", "law", "reason"),
    [
        (lambda _: (200, {"Content-Type": "application/json"}, b'{"age": [1'), "answers-every-table", "content type"),
        (lambda _: (200, CSV, b""), "answers-every-table", "the reply is empty"),
        (lambda _: (400, {}, b"\x1b[31m::error::no"), "answers-every-table", "answered with status 400"),
        (lambda r: csv(hidden(r).rename(columns={"age": "Age"})), "answers-every-table", "no column 'age'"),
        (lambda r: csv(hidden(r).assign(city=TAG)), "release-can-be-read", "column 'city', row 0 of the release"),
        (lambda r: csv(hidden(r).assign(**{TAG: range(len(table(r)))})), "no-identifier-survives", "another value in"),
        (lambda r: csv(hidden(r).assign(city="x" * 20_000)), "release-can-be-read", "neither a raw value"),
    ],
)
def test_a_hostile_reply_breaks_a_law_and_is_shown_as_text(
    reply: Callable[[Request], Reply], law: str, reason: str
) -> None:
    report = checked(reply, law)
    (result,) = report.failed
    assert reason in (result.reason or "")
    assert report.exit_code() == 1
    assert "\x1b" not in check_text(report.plain())
    assert TAG not in FORMATS["html"].render(report.plain())
    assert len(FORMATS["html"].render(report.plain())) < 100_000


def dropping(request: Request) -> Reply:
    raise ConnectionResetError


@pytest.mark.parametrize("reply", [lambda _: (500, {}, b"oops"), dropping])
def test_a_server_that_answers_nothing_is_out_of_reach(reply: Callable[[Request], Reply]) -> None:
    with pytest.raises(OracleError) as caught:
        checked(reply, "answers-every-table")
    assert caught.value.exit_code == 3


def test_a_server_that_fails_on_small_tables_and_answers_others_has_refused_them() -> None:
    report = checked(lambda r: (500, {}, b"few") if len(table(r)) < 3 else csv(hidden(r)), "answers-every-table")
    assert not report.failed


def test_a_grpc_server_that_sends_nothing_breaks_a_law() -> None:
    with broken() as address:
        report = check(address, SCHEMA, {"k": 3}, laws=["answers-every-table"], budget_calls=5, max_time=600)
    assert [result.law.name for result in report.failed] == ["answers-every-table"]
