"""Which anonymizer an audit is of: a journal neither goes on with another one nor answers for it."""

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import harness
from harness.auditing.oracle_identity import identity, oracle_identity
from oracles.clients.local import Local
from oracles.reference import Laplace
from tests.anonymizers import chunks
from tests.small_audits import audit, table

ANOTHER = "belongs to another audit|not the same oracle"
RNG = np.random.default_rng(0)


def noisy(data: pd.DataFrame, width: int = 1) -> pd.DataFrame:
    """Random at every call, so that no question can recognise it."""
    decades = data["age"] // 10 + RNG.integers(-width, width + 1, len(data))
    return data.assign(age=[f"[{10 * decade}, {10 * decade + 9}]" for decade in decades])


def closing_over(k: Any) -> Callable[[pd.DataFrame], pd.DataFrame]:
    def inner(data: pd.DataFrame) -> pd.DataFrame:
        return chunks(data, k)

    return inner


def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def inner(*arguments: Any) -> Any:
        return function(*arguments)

    return inner


class Cutting:
    """A callable object that counts its calls."""

    def __init__(self, k: int) -> None:
        self.k, self.calls, self.sizes = k, 0, list[int]()

    def __call__(self, data: pd.DataFrame) -> pd.DataFrame:
        self.calls += 1
        self.sizes.append(len(data))
        return chunks(data, self.k)

    def cut(self, data: pd.DataFrame) -> pd.DataFrame:
        return self(data)


class Shouting(Cutting):
    def __call__(self, data: pd.DataFrame) -> pd.DataFrame:
        return chunks(data, self.k).iloc[::-1]


class Named:
    """Two different oracles with one card."""

    card = harness.Card("named", randomized=False)

    def __init__(self, options: dict[str, int]) -> None:
        self.options = options

    def answer(self, ask: harness.Ask) -> Iterator[harness.Table]:
        yield harness.Table.from_frame(chunks(ask.table.to_frame(), **self.options))

    def close(self) -> None: ...


PAIRS: list[tuple[Any, Any]] = [
    (functools.partial(chunks, k=3), functools.partial(chunks, k=5)),
    (functools.partial(noisy, width=1), functools.partial(noisy, width=2)),
    (Local(chunks, {"k": 3}), Local(chunks, {"k": 5})),
    (Local(noisy, {"width": 1}), Local(noisy, {"width": 2})),
    (Cutting(3), Cutting(5)),
    (Cutting(3).cut, Cutting(5).cut),
    (Cutting(3), Shouting(3)),
    (closing_over(3), closing_over(5)),
    (wrapped(closing_over(3)), wrapped(closing_over(5))),
    (lambda data: chunks(data, 3), lambda data: chunks(data, 5)),
    (lambda data: noisy(data, 1), lambda data: noisy(data, 2)),
    (Named({"k": 3}), Named({"k": 5})),
    ("reference:mondrian", "reference:identity"),
]  # fmt: skip


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_a_finished_audit_does_not_answer_for_another_anonymizer(first: Any, second: Any, tmp_path: Path) -> None:
    options: dict[str, Any] = {"draws": 3, "out": tmp_path}
    report = audit(first, table(12), **options)
    with pytest.raises(harness.HarnessError, match=ANOTHER):
        audit(second, table(12), **options)
    assert audit(first, table(12), **options).to_json() == report.to_json()


def test_a_redefined_function_of_the_same_name_is_another_anonymizer(tmp_path: Path) -> None:
    def define(step: int) -> Callable[..., Any]:
        scope: dict[str, Any] = {"chunks": chunks, "__name__": "__main__"}
        exec(f"def f(data):\n    return chunks(data, {step})\n", scope)
        function: Callable[..., Any] = scope["f"]
        return function

    audit(define(3), out=tmp_path)
    with pytest.raises(harness.JournalError, match="the code or the parameters of the anonymizer"):
        audit(define(5), out=tmp_path)
    audit(define(3), out=tmp_path)


def test_a_changed_global_variable_is_noticed_by_the_first_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit(cut_by_a_global, out=tmp_path)
    monkeypatch.setitem(SETTINGS, "k", 5)
    with pytest.raises(harness.OracleError, match="not the same oracle any more"):
        audit(cut_by_a_global, out=tmp_path)


SETTINGS = {"k": 3}


def cut_by_a_global(data: pd.DataFrame) -> pd.DataFrame:
    return chunks(data, SETTINGS["k"])


def test_a_finished_audit_run_again_asks_one_question_and_reports_the_same(tmp_path: Path) -> None:
    counting = Cutting(3)
    report = audit(counting, out=tmp_path)
    before = counting.calls
    assert audit(counting, out=tmp_path).to_json() == report.to_json()
    assert counting.calls == before + 1


def test_what_changes_with_use_and_what_is_secret_is_not_part_of_the_identity() -> None:
    calls = 0

    def counting(data: pd.DataFrame) -> pd.DataFrame:
        nonlocal calls
        calls += 1
        return chunks(data)

    before = identity(counting)
    counting(table())
    assert identity(counting) == before
    assert "password" not in str(identity(functools.partial(closing_over, "password")))


def test_an_object_that_holds_itself_has_an_identity() -> None:
    cutting = Cutting(3)
    vars(cutting)["me"] = cutting
    assert identity(cutting)["state"]["me"] == "itself"


def test_parameters_of_our_own_oracles_are_part_of_the_identity() -> None:
    assert identity(Laplace(1.0)) == identity(Laplace(1.0)) != identity(Laplace(2.0))


def test_an_audit_that_stopped_before_the_first_person_does_not_go_on_with_another_oracle(tmp_path: Path) -> None:
    asked: list[int] = []
    repaired: list[bool] = []

    def replaced(data: pd.DataFrame) -> pd.DataFrame:
        asked.append(len(data))
        if asked.count(29) >= 3 and not repaired:  # the first person; twice before, a table of that size was probed
            raise RuntimeError("down")
        return data if asked.count(29) < 3 else data.assign(age="*")

    with pytest.raises(harness.OracleError, match="down"):
        audit(replaced, out=tmp_path)
    repaired.append(True)
    assert '"examined":' not in (tmp_path / "journal.jsonl").read_text()
    with pytest.raises(harness.OracleError, match="not the same oracle any more"):
        audit(replaced, out=tmp_path)


def test_two_addresses_with_one_card_are_two_oracles() -> None:
    class Remote(Named):
        card = harness.Card("anonymizer", "1.0", in_process=False)

    here, there = (oracle_identity(Remote({}), {"address": at, "options": {}}) for at in ("http://a", "http://b"))
    assert here == {"address": "http://a", "options": {}}
    assert here != there
