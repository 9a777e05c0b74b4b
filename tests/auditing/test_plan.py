"""A plan is decided before the first question: targets, seeds, asks, digest."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.auditing.plan import DEFAULT_DRAWS, Claim, Plan
from harness.measuring.adversary import Inference
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError
from harness.vocabulary.oracle import Ask, Card
from harness.vocabulary.schema import Schema

FRAME = pd.DataFrame({"age": range(50), "ill": ["flu", "ulcer"] * 25})
DATA = Dataset.from_frame(FRAME, Schema({"age": "number"}, "ill"))
PLAN = Plan(DATA, Claim(0.1))
FIXED, NOISY = Card("fixed", randomized=False), Card("noisy", randomized=True, seedable=True)
PREDICTING = Card("predicting", releases="predictions", randomized=True, seedable=True)


def test_all_records_are_targets_unless_a_number_is_given():
    assert PLAN.at_random(50) == tuple(range(50))
    some = PLAN.at_random(20)
    assert len(set(some)) == 20
    assert some == tuple(sorted(some))


def test_random_targets_depend_on_the_seed_alone():
    assert replace(PLAN, seed=3).at_random(20) == replace(PLAN, seed=3, draws=7).at_random(20)
    assert replace(PLAN, seed=3).at_random(20) != replace(PLAN, seed=4).at_random(20)


def test_random_targets_are_uniform():
    hits = np.zeros(50)
    for seed in range(400):
        hits[list(replace(PLAN, seed=seed).at_random(10))] += 1
    expected = 400 * 10 / 50
    assert abs(hits - expected).max() < 5 * np.sqrt(expected)


def test_one_draw_when_nothing_is_random_and_many_when_something_is():
    assert replace(PLAN, draws=100).draws_of(FIXED) == 1
    assert PLAN.draws_of(NOISY) == DEFAULT_DRAWS
    assert replace(PLAN, draws=7).draws_of(NOISY) == 7


def test_a_random_adversary_is_drawn_only_when_draws_are_asked_for():
    forest = Inference.named(model="sklearn:sklearn.ensemble.RandomForestClassifier")
    assert replace(PLAN, inference=forest).draws_of(FIXED) == 1
    assert replace(PLAN, inference=forest, draws=9).draws_of(FIXED) == 9
    assert replace(PLAN, inference=forest, draws=9).ask(FIXED, None, absent=False, coupled=True, draws=9).draws == 1


def test_coupled_sides_share_their_seeds_and_independent_ones_do_not():
    one, two = DATA.record(1), DATA.record(2)
    coupled = {PLAN.ask(NOISY, who, absent=absent, coupled=True).seed for who in (one, two) for absent in (True, False)}
    assert len(coupled) == 1
    apart = [PLAN.ask(NOISY, who, absent=True, coupled=False).seed for who in (one, two)]
    apart.append(PLAN.ask(NOISY, None, absent=False, coupled=False).seed)
    assert len(set(apart)) == 3


def test_an_ask_leaves_the_record_out_by_index_or_blindly():
    record = DATA.record(3)
    indexed = PLAN.ask(FIXED, record, absent=True, coupled=True)
    blind = replace(PLAN, blind=True).ask(FIXED, record, absent=True, coupled=True)
    assert (indexed.drop, blind.drop) == (3, None)
    assert indexed.table.digest == blind.table.digest == DATA.table.without(3).digest
    assert PLAN.ask(FIXED, record, absent=False, coupled=True).table is DATA.table


def test_a_stranger_is_asked_blindly_unless_the_plan_says_otherwise():
    record, stranger = DATA.record(3), replace(FIXED, in_process=False)
    assert PLAN.ask(stranger, record, absent=True, coupled=True).drop is None
    assert replace(PLAN, blind=False).ask(stranger, record, absent=True, coupled=True).drop == 3


def test_only_an_oracle_that_predicts_is_told_about_whom():
    record = DATA.record(3)
    assert PLAN.ask(FIXED, record, absent=True, coupled=True).about is None
    assert PLAN.ask(PREDICTING, record, absent=True, coupled=True).about == (3,)


@given(st.integers(0, 2**63 - 1), st.integers(1, 20), st.integers(1, 20))
def test_a_shorter_ask_has_the_first_seeds_of_a_longer_one(seed, short, more):
    seeds = Ask(DATA, draws=short + more, seed=seed).seeds()
    assert Ask(DATA, draws=short, seed=seed).seeds() == seeds[:short]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= each < 2**63 for each in seeds)


def test_seeds_of_different_purposes_differ():
    assert (
        len({PLAN.seed_for("f"), PLAN.seed_for("A"), PLAN.seed_for("f", 1), replace(PLAN, seed=1).seed_for("f")}) == 4
    )


@pytest.mark.parametrize(
    "change",
    [{"seed": 1}, {"draws": 2}, {"records": 3}, {"claim": Claim(0.2)}, {"blind": True},
     {"inference": Inference.named(model="conditional")}, {"data": DATA.without(0)}],
    ids=str,
)  # fmt: skip
def test_whatever_changes_the_numbers_changes_the_digest(change):
    assert replace(PLAN, **change).digest != PLAN.digest


def test_parameters_of_a_classifier_are_part_of_the_digest():
    from sklearn.tree import DecisionTreeClassifier

    digests = {
        replace(PLAN, inference=Inference.named(model=DecisionTreeClassifier(max_depth=d))).digest for d in (1, 2)
    }
    assert len(digests) == 2


def test_equal_plans_have_equal_digests():
    assert Plan(Dataset.from_frame(FRAME, Schema({"age": "number"}, "ill")), Claim(0.1)).digest == PLAN.digest


@pytest.mark.parametrize(
    ("change", "message"),
    [({"draws": 0}, "draws must be"), ({"seed": -1}, "seed must be"), ({"seed": 2**63}, "seed must be"),
     ({"budget": 0}, "budget must be"), ({"budget": 9, "records": 9}, "either a budget or a number of records"),
     ({"records": 0}, "records must be"), ({"records": 51}, 'records must be "all" or a whole number from 1 to 50')],
)  # fmt: skip
def test_a_plan_that_cannot_be_dies_at_birth(change, message):
    with pytest.raises(InputError, match=message):
        replace(PLAN, **change)
