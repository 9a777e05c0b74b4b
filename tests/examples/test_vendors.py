"""Anonymizers in other languages, audited as an auditor would: the numbers are those of the same f in Python."""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import harness
import oracles
from harness.auditing.config import load
from harness.vocabulary.errors import OracleError
from harness.vocabulary.oracle import Ask
from oracles.middleware import Counting
from tests.oracles.asking import tables
from tests.waiting import first_line, started

EXAMPLES = Path(__file__).parents[2] / "examples"
QUASI = {"age": "number", "sex": "category", "occupation": "category"}
CLAIM: dict[str, Any] = {"quasi": QUASI, "sensitive": "illness", "epsilon": 0.5}

needs_awk = pytest.mark.skipif(shutil.which("awk") is None, reason="awk is not installed")
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


def generalised(frame: pd.DataFrame, rare: Sequence[str]) -> pd.DataFrame:
    """What both vendors do: ages to decades, values of these columns that fewer than three people have to `*`."""
    frame = frame.assign(age=[f"[{age // 10 * 10}, {age // 10 * 10 + 10})" for age in frame["age"]])
    for name in rare:
        often = frame[name].map(frame[name].value_counts()) >= 3
        frame[name] = frame[name].where(often, "*")
    return frame


def in_awk(frame: pd.DataFrame) -> pd.DataFrame:
    return generalised(frame, ["occupation"])


def in_node(frame: pd.DataFrame) -> pd.DataFrame:
    return generalised(frame, ["sex", "occupation"])


def same_findings(report: harness.Report, expected: harness.Report) -> bool:
    return {f.person: f for f in report.findings} == {f.person: f for f in expected.findings}


@contextmanager
def node(**environment: str) -> Iterator[str]:
    """The server on a free port; it says which in its first line."""
    command = ["node", str(EXAMPLES / "vendor-node" / "server.js")]
    environment = {**os.environ, "PORT": "0", **environment}
    with started(command, env=environment) as process:
        yield first_line(process)
        process.terminate()
        assert process.wait(120) == 0


@needs_awk
def test_the_shell_vendor_is_audited_like_the_same_function_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = EXAMPLES / "vendor-shell"
    monkeypatch.chdir(folder)
    planned = load("audit.toml")
    oracle = oracles.open(planned.address, **planned.options)
    with_awk = harness.audit(oracle, planned.plan.data, epsilon=0.5, workers=2)
    assert same_findings(with_awk, harness.audit(in_awk, folder / "people.csv", **CLAIM))
    assert len(with_awk.findings) == 60


@needs_awk
def test_the_shell_vendor_says_what_it_misses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES / "vendor-shell")
    data = load("audit.toml").plan.data
    schema = harness.Schema({"sex": "category"}, "illness")
    other = harness.Dataset.from_frame(data.table.to_frame(), schema)
    with pytest.raises(OracleError, match="status 2 .*expected the columns age and occupation, found: sex,illness"):
        list(oracles.open("cmd:awk -f anonymize").answer(Ask(other)))


@needs_node
@pytest.mark.parametrize("blind", [False, True])
def test_the_node_vendor_is_audited_like_the_same_function_in_python(blind: bool) -> None:
    people = EXAMPLES / "vendor-node" / "people.csv"
    with node() as address:
        report = harness.audit(address, people, workers=2, blind=blind, **CLAIM)
    assert same_findings(report, harness.audit(in_node, people, blind=blind, **CLAIM))


@needs_node
def test_the_node_vendor_keeps_data_refuses_strangers_and_explains(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NODE_TOKEN", "sesame")
    data = load(EXAMPLES / "vendor-node" / "audit.toml").plan.data
    with node(TOKEN="sesame") as address:
        with pytest.raises(OracleError, match="needs its token"):
            oracles.open(address)
        oracle = oracles.open(address, token_env="NODE_TOKEN")
        assert (oracle.card.name, oracle.card.randomized, oracle.card.keeps_data) == ("decades in node", False, True)
        assert [table.rows for table in tables(oracle, Ask(data, drop=(3,), draws=2))] == [59, 59]
        assert isinstance(oracle, Counting)
        before = oracle.counts.sent or 0
        for row in range(10):
            list(oracle.answer(Ask(data, drop=(row,))))
        assert (oracle.counts.sent or 0) - before < 10 * 300
        with pytest.raises(OracleError, match="there is no such row to drop"):
            list(oracle.answer(Ask(data, drop=(60,))))


@pytest.mark.parametrize("vendor", ["vendor-shell", "vendor-node"])
def test_the_example_data_holds_what_the_audit_declares(vendor: str) -> None:
    frame = pd.read_csv(EXAMPLES / vendor / "people.csv")
    assert list(frame.columns) == [*QUASI, "illness"]
    assert load(EXAMPLES / vendor / "audit.toml").plan.data.size == len(frame)
