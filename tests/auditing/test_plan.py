"""A plan is decided before the first question: targets, seeds, asks, digest."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.auditing.plan import DEFAULT_DRAWS, MODEL_DRAWS, Claim, Plan
from harness.measuring.adversary import adversary_from
from harness.measuring.divergence import divergence_named
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError
from harness.vocabulary.oracle import Ask, Card
from harness.vocabulary.schema import Schema

FRAME = pd.DataFrame({"age": range(50), "ill": ["flu", "ulcer"] * 25})
DATA = Dataset.from_frame(FRAME, Schema({"age": "number"}, "ill"))
PLAN = Plan(DATA, Claim(0.1))
FIXED, NOISY = Card("fixed", randomized=False), Card("noisy", randomized=True, seedable=True)
PREDICTING = Card("predicting", releases="predictions", randomized=True, seedable=True)
WHOLE = PLAN.questions[0]


def absent(card: Card, person: int, *, plan: Plan = PLAN, coupled: bool = True, about: int | None = None) -> Ask:
    return plan.ask_absent(card, WHOLE, person, "look 1", 5, coupled=coupled, about=about)


def test_all_records_are_targets_unless_a_number_is_given() -> None:
    assert PLAN.at_random(50) == tuple(range(50))
    some = PLAN.at_random(20)
    assert len(set(some)) == 20
    assert some == tuple(sorted(some))


def test_random_targets_depend_on_the_seed_alone() -> None:
    assert replace(PLAN, seed=3).at_random(20) == replace(PLAN, seed=3, draws=7).at_random(20)
    assert replace(PLAN, seed=3).at_random(20) != replace(PLAN, seed=4).at_random(20)


def test_random_targets_are_uniform() -> None:
    hits = np.zeros(50)
    for seed in range(400):
        hits[list(replace(PLAN, seed=seed).at_random(10))] += 1
    expected = 400 * 10 / 50
    assert abs(hits - expected).max() < 5 * np.sqrt(expected)


def test_one_draw_when_nothing_is_random_and_many_when_something_is() -> None:
    assert replace(PLAN, draws=100).draws_of(FIXED) == 1
    assert PLAN.draws_of(NOISY) == DEFAULT_DRAWS
    assert replace(PLAN, draws=7).draws_of(NOISY) == 7


def test_a_random_adversary_is_always_drawn_and_a_deterministic_f_is_not() -> None:
    forest = replace(PLAN, adversaries=(adversary_from({"model": "forest"}), adversary_from({})))
    assert forest.draws_of(FIXED) == MODEL_DRAWS
    assert replace(forest, draws=9).draws_of(FIXED) == 9
    assert [forest.is_exact(FIXED, number) for number in (0, 1)] == [False, True]
    assert forest.ask_present(FIXED, forest.questions[0], "look 1", 9).draws == 1


def test_the_seed_of_a_random_model_depends_on_look_adversary_draw_and_side_alone() -> None:
    panel = replace(PLAN, adversaries=tuple(adversary_from({"model": model}) for model in ("forest", "mlp")))
    seeds = [
        panel.model_seed(adversary, look, draw, side=side)
        for adversary in (0, 1)
        for look in (1, 2)
        for draw in (0, 1)
        for side in ("both", "absent")
    ]
    assert len(set(seeds)) == 16


def test_coupled_sides_share_their_seeds_and_independent_ones_do_not() -> None:
    present = PLAN.ask_present(NOISY, WHOLE, "look 1", 5).seed
    assert {absent(NOISY, person).seed for person in (1, 2)} == {present}
    assert len({absent(NOISY, person, coupled=False).seed for person in (1, 2)} | {present}) == 3


def test_an_ask_leaves_the_record_out_by_index_or_blindly() -> None:
    indexed, blind = absent(FIXED, 3), absent(FIXED, 3, plan=replace(PLAN, blind=True))
    assert (indexed.drop, blind.drop) == ((3,), ())
    assert indexed.table.digest == blind.table.digest == DATA.table.without([3]).digest
    assert PLAN.ask_present(FIXED, WHOLE, "look 1", 1).table is DATA.table


def test_a_remote_oracle_is_asked_blindly_unless_the_plan_says_otherwise() -> None:
    remote = replace(FIXED, in_process=False)
    assert absent(remote, 3).drop == ()
    assert absent(remote, 3, plan=replace(PLAN, blind=False)).drop == (3,)


def test_only_an_oracle_that_predicts_is_told_about_whom() -> None:
    assert absent(FIXED, 3, about=3).about is None
    assert absent(PREDICTING, 3, about=3).about == (3,)


@given(st.integers(0, 2**63 - 1), st.integers(1, 20), st.integers(1, 20))
def test_a_shorter_ask_has_the_first_seeds_of_a_longer_one(seed: int, short: int, more: int) -> None:
    seeds = Ask(DATA, draws=short + more, seed=seed).seeds()
    assert Ask(DATA, draws=short, seed=seed).seeds() == seeds[:short]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= each < 2**63 for each in seeds)


def test_seeds_of_different_purposes_differ() -> None:
    assert (
        len({PLAN.seed_for("f"), PLAN.seed_for("A"), PLAN.seed_for("f", 1), replace(PLAN, seed=1).seed_for("f")}) == 4
    )


@pytest.mark.parametrize(
    "change",
    [{"seed": 1}, {"draws": 2}, {"records": 3}, {"claim": Claim(0.2)}, {"blind": True},
     {"adversaries": (adversary_from({"model": "conditional"}),)}, {"data": DATA.without([0])}, {"joint": True},
     {"divergence": divergence_named("half")}, {"adversaries": (adversary_from({"prior": "uniform"}),)},
     {"adversaries": (adversary_from({"model": {"name": "bernoulli", "alpha": 0.01}}),)},
     {"adversaries": (adversary_from({"encoder": {"name": "quantiles-hot", "bins": 4}}),)},
     {"adversaries": (adversary_from({"encoder": {"name": "quantiles-hot", "bins": 5}}),)}],
    ids=str,
)  # fmt: skip
def test_whatever_changes_the_numbers_changes_the_digest(change: dict[str, Any]) -> None:
    assert replace(PLAN, **change).digest != PLAN.digest


def test_parameters_of_a_classifier_are_part_of_the_digest() -> None:
    from sklearn.tree import DecisionTreeClassifier

    digests = {
        replace(PLAN, adversaries=(adversary_from({"model": DecisionTreeClassifier(max_depth=d)}),)).digest
        for d in (1, 2)
    }
    assert len(digests) == 2


def test_equal_plans_have_equal_digests() -> None:
    assert Plan(Dataset.from_frame(FRAME, Schema({"age": "number"}, "ill")), Claim(0.1)).digest == PLAN.digest


@pytest.mark.parametrize(
    ("change", "message"),
    [({"draws": 0}, "draws must be"), ({"seed": -1}, "seed must be"), ({"seed": 2**63}, "seed must be"),
     ({"budget": 0}, "budget must be"), ({"budget": 9, "records": 9}, "either a budget or a number of records"),
     ({"records": 0}, "records must be"), ({"records": 51}, 'records must be "all" or a whole number from 1 to 50')],
)  # fmt: skip
def test_a_plan_that_cannot_be_is_refused_when_it_is_made(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(PLAN, **change)
