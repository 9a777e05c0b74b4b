"""Every transport leads to the same anonymizer, and every oracle keeps the contract that is shipped.

The laws of any oracle are those of harness.testing.contract, collected here under the same names and run on every
transport and every reference anonymizer. What is stated in this file compares transports: real processes and real
servers on loopback, and what each must give is what the callable itself gives.
"""

import io
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import harness
import oracles
from harness.testing import contract
from harness.testing.contract import (  # noqa: F401
    content,
    test_a_copy_of_it_in_another_process_is_the_same_oracle,
    test_a_question_that_it_refuses_is_an_error_of_the_oracle_and_spoils_nothing,
    test_a_shorter_question_gets_the_first_draws_of_a_longer_one,
    test_an_answer_that_is_not_read_to_its_end_spoils_nothing,
    test_another_question_in_between_changes_no_answer,
    test_equal_questions_get_equal_answers,
    test_it_sends_what_was_asked_for,
    test_many_threads_get_the_answers_of_one,
    test_rows_that_are_left_out_by_index_are_as_if_they_had_never_been_there,
    test_the_card_is_filled_in_and_does_not_change,
    test_what_it_says_of_its_randomness_is_what_it_does,
)
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import OracleError
from harness.vocabulary.oracle import Ask, Oracle
from harness.vocabulary.release import Predictions
from harness.vocabulary.table import Table
from oracles.clients.local import Local
from oracles.serve import grpc as grpc_kit
from oracles.serve import http as http_kit
from tests.oracles.filters import (
    FUNCTIONS,
    PREDICTING,
    QUASI,
    REFERENCE,
    Known,
    dataset,
    named,
    people,
)
from tests.oracles.servers import Request, serving

HERE = Path(__file__).parent
DATA = dataset()
VISITS = people().assign(patient=[f"p{row % 8}" for row in range(24)])
PYTHON = shlex.quote(sys.executable)
Opened = tuple[str | Oracle, dict[str, Any]]
Transport = Callable[[str], AbstractContextManager[Opened]]


@contextmanager
def local(name: str) -> Iterator[Opened]:
    yield named(name), {}


@contextmanager
def one_shot(name: str) -> Iterator[Opened]:
    seed = " {seed}" if name == "noisy" else ""
    yield f"cmd:{PYTHON} -X utf8 {HERE / 'csvfilter.py'} {name}{seed}", {}


@contextmanager
def persistent(name: str) -> Iterator[Opened]:
    environment = {"PYTHONPATH": str(HERE.parents[1])}
    yield f"cmd:{PYTHON} {HERE / 'filters.py'} {name}", {"frames": True, "processes": 2, "env": environment}


@contextmanager
def http(name: str, encoding: str) -> Iterator[Opened]:
    server = http_kit.serve(named(name))
    try:
        yield server.address, {"encoding": encoding}
    finally:
        server.stop(1.0)


@contextmanager
def http_protobuf(name: str) -> Iterator[Opened]:
    with http(name, "protobuf") as opened_server:
        yield opened_server


@contextmanager
def http_json(name: str) -> Iterator[Opened]:
    with http(name, "json") as opened_server:
        yield opened_server


@contextmanager
def grpc(name: str) -> Iterator[Opened]:
    server = grpc_kit.serve(named(name))
    try:
        yield server.address, {}
    finally:
        server.stop(1.0)


@contextmanager
def plain_csv(name: str) -> Iterator[Opened]:
    def vendor(request: Request) -> tuple[int, dict[str, str], bytes]:
        seed = {"seed": int(request.query["seed"][0])} if "seed" in request.query else {}
        released = FUNCTIONS[name](pd.read_csv(io.BytesIO(request.body)), **seed)
        return 200, {"Content-Type": "text/csv"}, released.to_csv(index=False).encode()

    with serving(vendor) as server:
        yield server.address, {"plain": {"path": "/anonymize", **({"seed": "query:seed"} if name == "noisy" else {})}}


MICRODATA: list[Transport] = [local, one_shot, persistent, http_protobuf, http_json, plain_csv, grpc]
PROTOCOL: list[Transport] = [
    persistent,
    http_protobuf,
    http_json,
    grpc,
]  # those that speak it, and so have predictions too

# Of the reference anonymizers one for each kind of release: intervals, shares, predictions. For a transport the others
# are like these; their notes have a test of their own.
KINDS_OF_RELEASE = ("mondrian", "proportional", "laplace")


@contextmanager
def opened(transport: Transport, name: str) -> Iterator[Oracle]:
    with transport(name) as (address, options):
        oracle = oracles.open(address, **options) if isinstance(address, str) else address
        try:
            yield oracle
        finally:
            oracle.close()


SHIPPED = [
    pytest.param((transport, name), id=f"{name}-{transport.__name__}")
    for transport, names in (
        *((each, ("noisy", "decades")) for each in MICRODATA),
        (local, (*REFERENCE, PREDICTING)),
        *((each, (*KINDS_OF_RELEASE[:2], PREDICTING)) for each in PROTOCOL),
    )
    for name in names
]


@pytest.fixture(params=SHIPPED, scope="module")
def oracle(request: pytest.FixtureRequest) -> Iterator[Oracle]:
    """Every transport that leads to every anonymizer, for the shipped laws."""
    transport, name = request.param
    with opened(transport, name) as open_oracle:
        yield open_oracle


@pytest.fixture(scope="module")
def oracle_data() -> Dataset:
    """Every kind of cell, with quotes, commas and umlauts."""
    return DATA


def every(transports: list[Transport]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("transport", transports, ids=lambda transport: transport.__name__)


ASKS = [
    Ask(DATA),
    Ask(DATA, draws=3, seed=2**63 - 2),
    Ask(DATA, drop=(23,), seed=7),
    Ask(DATA, drop=(23, 3, 17, 4), draws=2, seed=7),
    Ask(DATA.without((5,)), seed=2**62),
    Ask(DATA.without((5, 6)), drop=(0, 1)),
]


@every(MICRODATA)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_transport_gives_the_releases_of_the_callable(transport: Transport, name: str) -> None:
    with opened(transport, name) as oracle:
        for ask in ASKS:
            assert content(oracle.answer(ask)) == content(Local(FUNCTIONS[name]).answer(ask))


@every(MICRODATA)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_transport_gives_the_same_findings_bit_for_bit(transport: Transport, name: str) -> None:
    with opened(transport, name) as oracle:
        found = findings(oracle, people(), draws=2, workers=1 if transport is local else 3)
    assert found == findings_here(name, draws=2)


def findings(oracle: Any, data: pd.DataFrame, **options: Any) -> dict[int, harness.Finding]:
    """What an audit of four people finds, by the person."""
    report = harness.audit(oracle, data, quasi=QUASI, sensitive="illness", epsilon=0.5, records=4, **options)
    return {finding.person: finding for finding in report.findings}


@cache
def findings_here(name: str, *, visits: bool = False, **options: Any) -> dict[int, harness.Finding]:
    """What an audit finds that calls the anonymizer itself; with visits, people have several rows."""
    function = FUNCTIONS[name] if name in FUNCTIONS else named(name)
    return findings(function, VISITS if visits else people(), person="patient" if visits else None, **options)


@every(PROTOCOL)
@pytest.mark.parametrize("blind", [False, True])
@pytest.mark.parametrize("name", KINDS_OF_RELEASE)
def test_the_reference_anonymizers_have_the_same_findings_behind_every_transport(
    transport: Transport, name: str, blind: bool
) -> None:
    with opened(transport, name) as oracle:
        found = findings(oracle, people(), draws=20, blind=blind, workers=2)
    assert found == findings_here(name, draws=20, blind=blind)


@every(PROTOCOL)
@pytest.mark.parametrize("blind", [False, True])
@pytest.mark.parametrize("name", ["mondrian", "laplace"])
def test_persons_of_several_rows_have_the_same_findings_behind_every_transport(
    transport: Transport, name: str, blind: bool
) -> None:
    with opened(transport, name) as oracle:
        found = findings(oracle, VISITS, person="patient", draws=20, blind=blind, workers=2)
    assert found == findings_here(name, visits=True, draws=20, blind=blind)


@every(PROTOCOL)
def test_what_an_anonymizer_says_about_a_release_arrives_by_every_transport(transport: Transport) -> None:
    with opened(transport, "infeasible") as oracle:
        for drop in ((), (3,), (3, 5)):
            (release,) = oracle.answer(Ask(DATA, drop))
            assert isinstance(release, Table)
            assert [note.partition(",")[0] for note in release.notes] == ["mondrian: all rows together break k = 1000"]
            assert all(release.column(name).palette.tolist() == ["*"] for name in QUASI)


@every(MICRODATA)
def test_every_transport_says_whether_it_can_be_seeded(transport: Transport) -> None:
    with opened(transport, "noisy") as oracle:
        assert (oracle.card.seedable, oracle.card.randomized) == (True, True)
        assert oracle.card.in_process is (transport is local)
    with opened(transport, "decades") as oracle:
        assert (oracle.card.seedable, oracle.card.randomized) == (False, None)


@every(PROTOCOL)
def test_predictions_arrive_bit_for_bit(transport: Transport) -> None:
    about = DATA.record(3).quasi
    asks = [
        Ask(DATA, (), about, 40, 9),
        Ask(DATA, (3,), about, 40, 9),
        Ask(DATA, (3, 21, 7), about, 40, 9),
        Ask(DATA.without((3,)), (), about, 1, 2**63 - 1),
    ]
    with opened(transport, PREDICTING) as oracle:
        assert oracle.card.releases == "predictions"
        for ask in asks:
            (release,), (expected,) = oracle.answer(ask), Known().answer(ask)
            assert isinstance(release, Predictions)
            assert np.array_equal(release.rows, expected.rows)


@every(PROTOCOL)
def test_an_anonymizer_that_fails_is_told_and_not_asked_again(transport: Transport) -> None:
    with opened(transport, PREDICTING) as oracle:
        ask = Ask(DATA, (), (*DATA.record(3).quasi[:2], 666.0), 1, 0)
        with pytest.raises(OracleError, match="the anonymizer raised ValueError") as caught:
            list(oracle.answer(ask))
        assert "beast" not in str(caught.value)  # its owner is told
        assert not caught.value.retryable
        good = replace(ask, about=DATA.record(3).quasi)
        assert len(list(oracle.answer(good))) == 1


def test_every_law_of_the_shipped_contract_is_run_here() -> None:
    laws = {name for name in vars(contract) if name.startswith("test_")}
    assert laws <= set(globals())
    assert len(laws) >= 10
