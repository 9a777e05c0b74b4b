"""Which records, how many draws: looks, budgets, duplicates; the findings do not depend on how they were got."""

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import harness
from harness.auditing import procedure
from harness.auditing.events import OracleProfile
from harness.auditing.plan import Claim, Plan
from harness.auditing.select import FEWEST, equal_persons, riskiest, schedule, select, share_levels
from harness.measuring.adversary import adversary_from
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.oracle import Ask, Card
from harness.vocabulary.release import Predictions, Reader
from harness.vocabulary.schema import Schema
from harness.vocabulary.table import Table
from oracles.reference import Constant, Laplace
from tests.small_audits import QUASI, audit, table

DATA = Dataset.from_frame(table(40), Schema(QUASI, "ill"))
NOISY = OracleProfile(Card("noisy", randomized=True, seedable=True), True, False, (), "")
FIXED = OracleProfile(Card("fixed", randomized=False), True, False, (), "")
PLAN = Plan(DATA, Claim(0.1), draws=5000, adaptive=True)


@given(st.integers(2000, 10**6), st.integers(1, 10**4))
def test_looks_use_all_draws_and_spend_no_more_than_alpha(draws: int, records: int) -> None:
    looks = schedule(replace(PLAN, draws=draws), NOISY, records)
    assert sum(look.draws for look in looks) == draws
    assert sum(look.alpha for look in looks) <= 0.05 / records * (1 + 1e-12)
    assert [look.number for look in looks] == list(range(1, len(looks) + 1))
    assert looks[0].draws >= FEWEST
    totals = np.cumsum([look.draws for look in looks])
    assert all(look.draws <= total / 2 + 1 for look, total in zip(looks[1:], totals, strict=False))


@given(st.integers(200, 10**4), st.integers(200, 10**5))
def test_an_audit_that_is_given_more_draws_goes_on_from_the_looks_it_had(draws: int, more: int) -> None:
    looks = schedule(replace(PLAN, draws=draws), NOISY, 40)
    further = schedule(replace(PLAN, draws=draws + more), NOISY, 40, looks)
    assert further[: len(looks)] == looks
    assert sum(look.draws for look in further) == draws + more
    assert schedule(replace(PLAN, draws=draws), NOISY, 40, looks) == looks


def test_too_few_draws_to_settle_anybody_are_refused() -> None:
    with pytest.raises(harness.InputError, match="no record can be settled with draws = 60"):
        schedule(replace(PLAN, draws=60), NOISY, 1000)


def test_nobody_shares_the_error_of_a_claim_that_holds_for_the_worst() -> None:
    (fixed,) = schedule(replace(PLAN, adaptive=False), NOISY, 40)
    assert fixed.own_alpha == pytest.approx(0.05)
    assert share_levels(PLAN, NOISY, 40).wager == pytest.approx(0.05 * (1 - 1 / 80))
    some = share_levels(PLAN, NOISY, 20)  # a part of the persons proves nothing about all, but is counted
    assert some.own == some.wager == pytest.approx(0.05 / 2 / 20 / 2)


def test_a_fixed_plan_looks_once_with_all_its_error() -> None:
    (look,) = schedule(replace(PLAN, adaptive=False), NOISY, 40)
    assert look.draws == 5000
    assert look.alpha == pytest.approx(0.05 / 40)


def test_the_error_is_shared_over_persons_adversaries_and_secrets() -> None:
    frame = table(40).assign(poor=["yes", "no"] * 20)
    panel = tuple(adversary_from({"model": model}) for model in ("bernoulli", "conditional", "gaussian"))
    plan = Plan(Dataset.from_frame(frame, Schema(QUASI, ["ill", "poor"])), Claim(0.1), panel, draws=9)
    (look,) = schedule(plan, NOISY, 40)
    assert look.alpha == pytest.approx(0.05 / (40 * 3 * 2))
    predicting = replace(NOISY, card=replace(NOISY.card, releases="predictions"))
    (look,) = schedule(plan, predicting, 40)  # it has no adversary but itself
    assert look.alpha == pytest.approx(0.05 / (40 * 2))


def test_equal_persons_are_equal_in_every_column() -> None:
    frame = pd.DataFrame({"age": [1, 1, 2, 1], "sex": list("MMMM"), "ill": ["flu", "flu", "flu", "ulcer"]})
    data = Dataset.from_frame(frame, Schema(QUASI, "ill"))
    assert equal_persons(data, (0, 1, 2, 3)) == ((0, 1), (2,), (3,))
    assert equal_persons(data, (1, 3)) == ((1,), (3,))


def test_equal_persons_have_equal_multisets_of_rows() -> None:
    frame = pd.DataFrame({"age": [1, 2, 2, 1, 1, 1], "sex": "M", "ill": "flu", "who": ["a", "a", "b", "b", "c", "c"]})
    data = Dataset.from_frame(frame, Schema(QUASI, "ill", person="who"))
    assert equal_persons(data, (0, 1, 2)) == ((0, 1), (2,))


def test_the_riskiest_are_those_whom_few_rows_cover() -> None:
    frame = pd.DataFrame({"age": [30, 30, 30, 70], "sex": list("MMMF"), "ill": ["flu", "flu", "ulcer", "flu"]})
    data = Dataset.from_frame(frame, Schema(QUASI, "ill"))
    reader = Reader(data)
    assert riskiest(data, None).tolist() == [3, 2, 0, 1]
    release = reader.read(Table.from_frame(frame.assign(age="*", sex="*")))
    assert riskiest(data, release).tolist() == [2, 0, 1, 3]


def test_a_budget_buys_the_riskiest_and_a_random_part() -> None:
    plan = Plan(DATA, Claim(0.1), budget=35)
    selected = select(plan, FIXED, None)
    assert len(selected.persons) == 10  # 10 questions at the beginning and 13 at the end, f(D) twice
    assert selected.random == plan.at_random(5)
    others = [person for person in riskiest(DATA, None).tolist() if person not in selected.random][:5]
    assert set(selected.persons) == {*selected.random, *others}


def test_a_budget_for_everybody_is_an_audit_of_everybody() -> None:
    selected = select(Plan(DATA, Claim(0.1), budget=1000), FIXED, None)
    assert selected.persons == selected.random == tuple(range(40))


def test_an_audit_with_a_budget_certifies_with_its_random_part_only() -> None:
    asked: list[int] = []

    def hiding(data: pd.DataFrame) -> pd.DataFrame:
        asked.append(1)
        return data.assign(age="*", sex="*")

    report = audit(hiding, table(200), epsilon=0.5, budget=85)
    assert report.verdict.outcome is harness.Outcome.INCONCLUSIVE
    assert report.verdict.certificate is not None
    assert report.verdict.certificate.examined == 30
    assert len(report.findings) == 60
    assert len(asked) == 85


def test_equal_persons_leave_a_budget_for_further_ones() -> None:
    class Counting(Constant):
        asked = 0

        @property
        def card(self) -> Card:
            return replace(super().card, row_order_invariant=True)

        def answer(self, ask: Ask) -> Iterable[Table]:
            self.asked += 1
            return super().answer(ask)

    twins = pd.concat([table(60)] * 4, ignore_index=True)
    oracle = Counting()
    report = audit(oracle, twins, epsilon=0.5, budget=70)
    at_random = next(
        line for line in report.assumptions if line.startswith("the budget of 70 calls was for 22 records")
    )
    assert oracle.asked == 70
    assert len(report.findings) > 45  # 45 questions about persons
    assert "fixed before the first answer" in at_random
    assert "what is left buys no further record" in at_random


def test_a_budget_that_is_interrupted_buys_the_same_persons(tmp_path: Path) -> None:
    class Stopping(Few):
        left = -1

        def answer(self, ask: Ask) -> Iterator[Predictions]:
            if self.left == 0:
                self.left = -1
                raise KeyboardInterrupt
            self.left -= 1
            yield from super().answer(ask)

        def spec(self) -> dict[str, float]:
            return {"shift": self.shift}

    options: dict[str, Any] = {"quasi": {"age": "number"}, "sensitive": "ill", "epsilon": 0.1, "draws": 4_000}
    options |= {"adaptive": True, "budget": 200}
    whole = Stopping(0.0)
    report = harness.audit(whole, PEOPLE, out=tmp_path / "whole", **options)
    journal = (tmp_path / "whole" / "journal.jsonl").read_text()
    assert journal.count('{"selected"') >= 2
    stopped = Stopping(0.0)
    for stop in (60, 60, 50, 20):
        stopped.left = stop
        with contextlib.suppress(KeyboardInterrupt):
            harness.audit(stopped, PEOPLE, out=tmp_path / "stopped", **options)
    assert harness.audit(stopped, PEOPLE, out=tmp_path / "stopped", **options).to_json() == report.to_json()


@pytest.mark.parametrize(("reads", "least"), [(False, 0.85), (True, 0.9)], ids=["all settled", "nobody settled"])
def test_an_adaptive_audit_spends_most_of_its_budget_and_no_more(reads: bool, least: float) -> None:
    calls = 0

    def drawn(data: pd.DataFrame, seed: int) -> pd.DataFrame:
        nonlocal calls
        calls += 1
        rng = np.random.default_rng([seed, len(data)] if reads else seed)
        return pd.DataFrame({"age": "*", "sex": "*", "ill": rng.choice(["flu", "ulcer", "none"], 10)})

    report = audit(drawn, table(60), draws=20_000, adaptive=True, budget=1_000, model="conditional")
    assert least * 1_000 <= calls <= 1_000
    assert len(report.findings) > 2
    assert report.verdict.outcome is harness.Outcome.INCONCLUSIVE


def test_a_budget_that_buys_nothing_is_refused() -> None:
    with pytest.raises(harness.InputError, match="a budget of 25 calls buys no record; this audit needs at least 26"):
        audit(lambda data: data, budget=25)


class Few:
    """Predictions in which a few people matter much and all others not at all; counts its draws."""

    card = Card("few", releases="predictions", randomized=True, seedable=True)

    def __init__(self, shift: float) -> None:
        self.shift, self.draws = shift, 0

    def answer(self, ask: Ask) -> Iterator[Predictions]:
        self.draws += ask.draws
        noise = ask.rng().uniform(0.2, 0.4, ask.draws)
        if ask.drop and ask.data.record(ask.drop[0]).quasi[0] < 10:
            noise = noise + self.shift * ask.rng().choice([0, 2], ask.draws)
        yield Predictions(np.column_stack([noise, 1 - noise]))

    def close(self) -> None: ...


PEOPLE = pd.DataFrame({"age": range(1000), "ill": ["flu", "ulcer"] * 500})


def few(shift: float, **options: Any) -> tuple[harness.Report, int]:
    """The report, and how often the oracle drew."""
    oracle = Few(shift)
    report = harness.audit(oracle, PEOPLE, quasi={"age": "number"}, sensitive="ill", epsilon=0.1, **options)
    return report, oracle.draws


@pytest.mark.slow
@pytest.mark.parametrize("shift", [0.0, 0.02, 0.2])
def test_an_adaptive_audit_reaches_the_same_verdict_with_a_fifth_of_the_draws(shift: float) -> None:
    fixed, all_draws = few(shift, draws=4000)
    adaptive, few_draws = few(shift, draws=4000, adaptive=True)
    assert adaptive.verdict.outcome is fixed.verdict.outcome is not harness.Outcome.INCONCLUSIVE
    assert few_draws <= all_draws / 5
    assert len(adaptive.findings) == 1000


@pytest.mark.slow
def test_an_adaptive_audit_can_go_on_to_more_draws(tmp_path: Path) -> None:
    first, _ = few(0.045, draws=400, adaptive=True, out=tmp_path)
    assert first.verdict.outcome is harness.Outcome.INCONCLUSIVE
    assert first.verdict.draws_needed is not None
    assert first.verdict.draws_needed > 400
    more, drawn = few(0.045, draws=20_000, adaptive=True, out=tmp_path)
    assert more.verdict.outcome is harness.Outcome.HOLDS
    anew, all_drawn = few(0.045, draws=20_000, adaptive=True)
    assert anew.verdict.outcome is harness.Outcome.HOLDS
    assert drawn < all_drawn


def test_the_findings_do_not_depend_on_workers() -> None:
    one, two = (audit(Laplace(0.5), draws=800, adaptive=True, workers=workers) for workers in (1, 2))
    assert one.to_json() == two.to_json()


@pytest.mark.slow
def test_nor_do_they_where_workers_are_started_for_every_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(procedure, "START", 0.0)
    one, two = (audit(Laplace(0.5), draws=200, adaptive=True, records=4, workers=workers) for workers in (1, 2))
    assert one.to_json() == two.to_json()


@pytest.mark.slow
def test_a_claim_with_delta_is_judged_by_the_tail() -> None:
    # Without a young person's record the first coordinate moves by 0.4 in half of the draws: ‖x − y‖ = 0.8.
    broken, _ = few(0.2, draws=2000, delta=0.3)
    kept, _ = few(0.2, draws=2000, delta=0.7)
    assert broken.verdict.outcome is harness.Outcome.VIOLATED
    assert kept.verdict.outcome is harness.Outcome.HOLDS
    witness = broken.findings[broken.verdict.witness].delta_at_epsilon
    assert witness is not None
    assert witness.lower <= 0.5 <= witness.upper
    result = broken.result()
    assert result["smallest_delta"]["lower"] <= 0.5 <= result["smallest_delta"]["upper"]
    assert result["smallest_epsilon"]["value"] == pytest.approx(0.8, abs=0.01)
    assert result["indifferentiability"]["value"] == pytest.approx(0.4, abs=0.05)
    curve = {point["epsilon"]: point for point in result["curve"]}
    near = min(curve, key=lambda epsilon: abs(epsilon - 0.63))
    assert curve[near]["delta"] == pytest.approx(0.5, abs=0.05)
    assert curve[near]["upper"] >= 0.5


def test_a_false_claim_of_differential_privacy_is_refuted_from_the_same_draws() -> None:
    class Claiming(Laplace):
        @property
        def card(self) -> Card:
            return replace(super().card, noise_epsilon=1.0)

    data = pd.DataFrame({"age": [20] * 3 + [30] * 5, "sex": "M", "ill": ["flu"] * 3 + ["ulcer"] * 5})
    true_claim = audit(Laplace(1.0), data, draws=2000).result()["privacy_loss"]
    false_claim = audit(Claiming(4.0), data, draws=2000)
    assert not true_claim["refuted"]
    assert false_claim.result()["privacy_loss"]["refuted"]
    assert any(
        "claims differential privacy with noise_epsilon = 1, but the record with row label" in note
        for note in false_claim.notes
    )
