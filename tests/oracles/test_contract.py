"""Every door leads to the same anonymizer: the laws of an oracle, stated once and held by every transport.

Real processes and real servers on loopback; what each transport must give is what the callable itself gives.
"""

import io
import shlex
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import harness
import oracles
from harness.vocabulary.errors import OracleError
from harness.vocabulary.oracle import Ask
from harness.vocabulary.release import Predictions
from harness.vocabulary.table import Table
from harness.vocabulary.values.atoms import cell_text, number
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
    noisy,
    people,
    travelled,
)
from tests.oracles.servers import serving

HERE = Path(__file__).parent
DATA = dataset()
PYTHON = shlex.quote(sys.executable)


@contextmanager
def local(name):
    yield named(name), {}


@contextmanager
def one_shot(name):
    seed = " {seed}" if name == "noisy" else ""
    yield f"cmd:{PYTHON} -X utf8 {HERE / 'csvfilter.py'} {name}{seed}", {}


@contextmanager
def persistent(name):
    environment = {"PYTHONPATH": str(HERE.parents[1])}
    yield f"cmd:{PYTHON} {HERE / 'filters.py'} {name}", {"frames": True, "processes": 2, "env": environment}


@contextmanager
def http(name, encoding):
    server = http_kit.serve(named(name))
    try:
        yield server.address, {"encoding": encoding}
    finally:
        server.stop(1.0)


@contextmanager
def http_protobuf(name):
    with http(name, "protobuf") as found:
        yield found


@contextmanager
def http_json(name):
    with http(name, "json") as found:
        yield found


@contextmanager
def grpc(name):
    server = grpc_kit.serve(named(name))
    try:
        yield server.address, {}
    finally:
        server.stop(1.0)


@contextmanager
def plain_csv(name):
    def vendor(request):
        seed = {"seed": int(request.query["seed"][0])} if "seed" in request.query else {}
        released = FUNCTIONS[name](pd.read_csv(io.BytesIO(request.body)), **seed)
        return 200, {"Content-Type": "text/csv"}, released.to_csv(index=False).encode()

    with serving(vendor) as server:
        yield server.address, {"plain": {"path": "/anonymize", **({"seed": "query:seed"} if name == "noisy" else {})}}


MICRODATA = [local, one_shot, persistent, http_protobuf, http_json, plain_csv, grpc]
PROTOCOL = [persistent, http_protobuf, http_json, grpc]  # those that speak it, and so have predictions too


@contextmanager
def opened(door, name):
    with door(name) as (address, options):
        oracle = oracles.open(address, **options) if isinstance(address, str) else address
        try:
            yield oracle
        finally:
            oracle.close()


def every(doors):
    return pytest.mark.parametrize("door", doors, ids=lambda door: door.__name__)


def said(releases):
    """What releases say, whatever the types of their cells."""
    return [_said(release) for release in releases]


def _said(release):
    if isinstance(release, Predictions):
        return release.rows.tolist()
    assert isinstance(release, Table)
    columns = zip(release.names, release.columns, strict=True)
    return {name: [_meant(cell_text(cell)) for cell in cells.values().tolist()] for name, cells in columns}


def _meant(text):
    found = number(text)
    return text if found is None else found


ASKS = [
    Ask(DATA),
    Ask(DATA, draws=3, seed=2**63 - 2),
    Ask(DATA, drop=23, seed=7),
    Ask(DATA.without(5), seed=2**62),
]


@every(MICRODATA)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_door_gives_the_releases_of_the_callable(door, name):
    with opened(door, name) as oracle:
        for ask in ASKS:
            assert said(oracle.answer(ask)) == said(Local(FUNCTIONS[name]).answer(ask))


@every(MICRODATA)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_door_gives_the_same_findings_bit_for_bit(door, name):
    options = {"quasi": QUASI, "sensitive": "illness", "epsilon": 0.5, "draws": 2, "records": 4, "seed": 1}
    expected = harness.audit(FUNCTIONS[name], people(), **options)
    with opened(door, name) as oracle:
        report = harness.audit(oracle, people(), workers=1 if door is local else 3, **options)
    assert by_index(report) == by_index(expected)


def by_index(report):
    return {finding.index: finding for finding in report.findings}


@every(PROTOCOL)
@pytest.mark.parametrize("blind", [False, True])
@pytest.mark.parametrize("name", REFERENCE)
def test_the_reference_anonymizers_have_the_same_findings_behind_every_door(door, name, blind):
    options = {"quasi": QUASI, "sensitive": "illness", "epsilon": 0.5, "draws": 200, "records": 6, "blind": blind}
    expected = harness.audit(named(name), people(), **options)
    with opened(door, name) as oracle:
        report = harness.audit(oracle, people(), workers=2, **options)
    assert by_index(report) == by_index(expected)


@every(MICRODATA)
def test_every_door_says_whether_it_can_be_seeded(door):
    with opened(door, "noisy") as oracle:
        assert (oracle.card.seedable, oracle.card.randomized) == (True, True)
        assert oracle.card.in_process is (door is local)
    with opened(door, "decades") as oracle:
        assert (oracle.card.seedable, oracle.card.randomized) == (False, None)


@every(MICRODATA)
def test_every_door_may_be_used_by_many_threads(door):
    asks = [Ask(DATA, drop=row, seed=row) for row in range(4)]
    with opened(door, "noisy") as oracle, ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda ask: said(oracle.answer(ask)), asks))
    assert found == [said(Local(noisy).answer(ask)) for ask in asks]


@every(MICRODATA)
def test_every_door_travels_by_recipe(door):
    with opened(door, "noisy") as oracle:
        copy = travelled(oracle)
        try:
            assert copy.card == oracle.card
            assert said(copy.answer(ASKS[1])) == said(Local(noisy).answer(ASKS[1]))
        finally:
            copy.close()


@every(MICRODATA)
def test_an_answer_that_is_not_read_to_its_end_spoils_nothing(door):
    with opened(door, "noisy") as oracle:
        half = iter(oracle.answer(ASKS[1]))
        next(half)
        half.close()
        assert said(oracle.answer(ASKS[0])) == said(Local(noisy).answer(ASKS[0]))


@every(PROTOCOL)
def test_predictions_arrive_bit_for_bit(door):
    about = DATA.record(3).quasi
    asks = [Ask(DATA, None, about, 40, 9), Ask(DATA, 3, about, 40, 9), Ask(DATA.without(3), None, about, 1, 2**63 - 1)]
    with opened(door, PREDICTING) as oracle:
        assert oracle.card.releases == "predictions"
        for ask in asks:
            (found,), (expected,) = oracle.answer(ask), Known().answer(ask)
            assert np.array_equal(found.rows, expected.rows)


@every(PROTOCOL)
def test_an_anonymizer_that_fails_is_told_and_not_asked_again(door):
    with opened(door, PREDICTING) as oracle:
        ask = Ask(DATA, None, (*DATA.record(3).quasi[:2], 666.0), 1, 0)
        with pytest.raises(OracleError, match="number of the beast") as caught:
            list(oracle.answer(ask))
        assert not caught.value.retryable
        good = replace(ask, about=DATA.record(3).quasi)
        assert len(list(oracle.answer(good))) == 1
