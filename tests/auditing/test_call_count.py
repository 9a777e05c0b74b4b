"""What a plan predicts is what its audit costs, whatever the oracle and the plan: calls exactly, disk at most."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from harness.auditing.cost import estimate_cost, predicted_calls
from harness.auditing.events import OracleProfile, Probed, Selected
from harness.auditing.journal import Journal
from harness.auditing.plan import Claim, Plan
from harness.auditing.procedure import Audit
from harness.measuring.adversary import adversary_from
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.oracle import Ask, Card, Release
from harness.vocabulary.release import Predictions
from harness.vocabulary.schema import Schema
from harness.vocabulary.sizes import written
from harness.vocabulary.table import Table
from tests.anonymizers import jittered
from tests.small_audits import QUASI, table


class Microdata:
    """Jitters ages, by the seed or by nothing that can be repeated; counts its releases."""

    def __init__(self, **card: Any) -> None:
        self.card = Card("microdata", **card)
        self.rng, self.releases = np.random.default_rng(0), 0

    def answer(self, ask: Ask) -> Iterator[Release]:
        for seed in ask.seeds():
            self.releases += 1
            frame = ask.table.to_frame()
            if self.card.randomized:
                frame = jittered(frame, np.random.default_rng(seed) if self.card.seedable else self.rng)
            yield Table.from_frame(frame)

    def close(self) -> None: ...


class Predicting(Microdata):
    """Predicts the frequencies of the table, with noise where it is random."""

    def answer(self, ask: Ask) -> Iterator[Release]:
        self.releases += 1
        rng = np.random.default_rng(ask.seed) if self.card.seedable else self.rng
        counts = np.bincount(ask.data.sensitive_codes, minlength=3)[None] + np.full((ask.draws, 3), 0.5)
        noise = rng.uniform(0, 1, counts.shape) if self.card.randomized else 0.0
        rows = counts + noise
        yield Predictions(rows / rows.sum(axis=1, keepdims=True))

    def close(self) -> None: ...


FIXED, SEEDED, RANDOM = {"randomized": False}, {"randomized": True, "seedable": True}, {"randomized": True}
PREDICTIONS = {"releases": "predictions"}
PEOPLE = pd.concat([table(8), table(4)], ignore_index=True)


def plan(data: pd.DataFrame = PEOPLE, **options: Any) -> Plan:
    person = "pid" if "pid" in data else None
    return Plan(Dataset.from_frame(data, Schema(QUASI, "ill", person=person)), Claim(0.1), **options)


def counted(the_plan: Plan, oracle: Microdata) -> tuple[int, int]:
    """How many calls are predicted once the oracle is known, and how many the whole audit makes."""
    profile: OracleProfile | None = None
    selected: Selected | None = None
    for event in Audit(the_plan, oracle).events():
        if isinstance(event, Probed):
            profile = event.profile
        if isinstance(event, Selected):
            selected = event
    assert profile is not None
    assert selected is not None
    return predicted_calls(the_plan, profile, selected), oracle.releases


@pytest.mark.parametrize("kind", [Microdata, Predicting])
@pytest.mark.parametrize("behaviour", [FIXED, SEEDED, RANDOM], ids=["deterministic", "seedable", "random"])
@pytest.mark.parametrize("portion", [None, 3])
@pytest.mark.parametrize("invariant", [False, True])
@pytest.mark.parametrize("options", [{}, {"records": 5}, {"budget": 400}], ids=str)
def test_predicted_calls_are_made(
    kind: type[Microdata], behaviour: dict[str, Any], portion: int | None, invariant: bool, options: dict[str, Any]
) -> None:
    releases = PREDICTIONS if kind is Predicting else {}
    oracle = kind(**behaviour, **releases, max_draws=portion, row_order_invariant=invariant)
    predicted, made = counted(plan(draws=6, **options), oracle)
    assert predicted == made


@pytest.mark.parametrize("kind", [Microdata, Predicting])
@pytest.mark.parametrize("behaviour", [FIXED, SEEDED, RANDOM], ids=["deterministic", "seedable", "random"])
def test_predicted_calls_are_made_for_persons_with_several_rows(
    kind: type[Microdata], behaviour: dict[str, Any]
) -> None:
    releases = PREDICTIONS if kind is Predicting else {}
    people = PEOPLE.assign(pid=np.arange(len(PEOPLE)) % 7)
    predicted, made = counted(plan(people, draws=21), kind(**behaviour, **releases))
    assert predicted == made


def test_predicted_calls_count_the_table_of_an_encoding_that_begins_before_f() -> None:
    panel = (adversary_from({}), adversary_from({"encoder": "quantiles-before-tf"}))
    predicted, made = counted(plan(adversaries=panel), Microdata(**FIXED))
    alone, _ = counted(plan(), Microdata(**FIXED))
    again = 8 + 4  # questions of a deterministic f that are asked again
    assert predicted == made == alone + 1 + len(PEOPLE) + again


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.3, 1.5])
@pytest.mark.parametrize("behaviour", [SEEDED, RANDOM], ids=["seedable", "random"])
@pytest.mark.parametrize("budget", [None, 1_000])
def test_an_adaptive_audit_makes_at_most_the_predicted_calls(
    epsilon: float, behaviour: dict[str, Any], budget: int | None
) -> None:
    adaptive = replace(plan(draws=400, adaptive=True, budget=budget), claim=Claim(epsilon))
    for kind, releases in ((Predicting, PREDICTIONS), (Microdata, {})):
        predicted, made = counted(adaptive, kind(**behaviour, **releases, max_draws=7))
        assert made <= predicted
        assert budget is None or predicted <= budget


def test_the_cost_is_known_without_examining_everybody() -> None:
    oracle = Microdata(**FIXED)
    cost = estimate_cost(plan(), oracle, workers=2)
    assert cost.calls == counted(plan(), Microdata(**FIXED))[1]
    assert oracle.releases < cost.calls
    assert f"calls      {cost.calls} of the anonymizer" in str(cost)


def test_the_cost_of_each_adversary_is_listed() -> None:
    panel = (adversary_from({}), adversary_from({"encoder": "bounds-hot", "model": "tree"}))
    names = [name for name, _ in estimate_cost(plan(adversaries=panel), Microdata(**FIXED), 1).adversaries]
    assert names == ["bernoulli on tf-tf", "tree on bounds-hot"]


@pytest.mark.parametrize("kind", [Microdata, Predicting])
@pytest.mark.parametrize("behaviour", [SEEDED, RANDOM], ids=["seedable", "random"])
@pytest.mark.parametrize("options", [{"draws": 40}, {"draws": 200, "adaptive": True}], ids=str)
def test_draws_take_no_more_disk_than_predicted(
    tmp_path: Path, kind: type[Microdata], behaviour: dict[str, Any], options: dict[str, Any]
) -> None:
    people = PEOPLE.assign(pid=np.arange(len(PEOPLE)) % 7)
    oracle = kind(**behaviour, **(PREDICTIONS if kind is Predicting else {}))
    the_plan = replace(plan(people, **options), claim=Claim(1.5))
    with Journal(tmp_path / "journal.jsonl", {"plan": the_plan.spec()}) as journal:
        for _ in Audit(the_plan, oracle).events(journal):
            pass
    kept, predicted = (tmp_path / "predictions.bin").stat().st_size, estimate_cost(the_plan, oracle, 1).draws_bytes
    assert kept <= predicted
    if kind is Predicting and behaviour == RANDOM and the_plan.draws == 40:
        assert predicted < 1.1 * kept  # independent continuous draws do not get smaller


def test_a_plan_says_when_not_all_draws_will_be_kept() -> None:
    assert "disk" not in str(estimate_cost(plan(), Microdata(**FIXED), 1))
    cost = estimate_cost(plan(draws=100), Predicting(**SEEDED, **PREDICTIONS), 1)
    assert f"disk       up to {written(cost.draws_bytes)} of draws, from which harness verify proves" in str(cost)
    assert "keep_predictions" not in str(cost)
    few = replace(cost, keep_predictions=1024)
    assert 'keep_predictions = "1024" may keep a part of them only, and verify then exits with 4: raise it' in str(few)
