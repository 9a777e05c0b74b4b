"""A plan as its journal has it gives the numbers of the plan itself, and leaves open what only code could say."""

import json
from typing import Any

import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from harness.auditing.events import OracleProfile
from harness.auditing.plain_plan import PlainPlan, draws_random_numbers, has_closed_form
from harness.auditing.plan import Claim, Plan
from harness.auditing.select import choose_numbers, schedule, share_levels
from harness.measuring.adversary import adversary_from
from harness.measuring.specification import specification
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.oracle import Card
from harness.vocabulary.schema import Schema
from tests.small_audits import QUASI, table


class OwnTree(DecisionTreeClassifier):  # type: ignore[misc]  # scikit-learn has no types
    """Whatever it draws, its specification does not tell."""


MODELS = [
    "bernoulli", "categorical", "gaussian", "conditional", "tree", "logistic", "neighbours", "forest", "mlp",
    RandomForestClassifier(random_state=0), OwnTree(), OwnTree(random_state=0),
    make_pipeline(StandardScaler(), DecisionTreeClassifier()),
    make_pipeline(StandardScaler(), DecisionTreeClassifier(random_state=0)),
]  # fmt: skip


@pytest.mark.parametrize("model", MODELS, ids=lambda model: str(model)[:60])
def test_whether_a_model_draws_random_numbers_is_known_rightly_or_not_at_all(model: Any) -> None:
    adversary = adversary_from({"model": model, "encoder": "bounds-hot"})
    spec = json.loads(json.dumps(specification(adversary)))
    assert draws_random_numbers(spec) in (None, adversary.randomized)
    assert not has_closed_form(spec) or draws_random_numbers(spec) is False


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"draws": 700, "records": 12, "seed": 3},
        {"draws": 900, "adaptive": True},
        {"draws": 900, "adaptive": True, "records": 5},
        {"budget": 30_000, "draws": 300},
        {"budget": 9_000, "draws": 300, "adaptive": True},
    ],
    ids=str,
)
@pytest.mark.parametrize("delta", [0.0, 0.1])
@pytest.mark.parametrize("coupled", [True, False])
def test_numbers_of_persons_levels_and_looks_are_those_of_the_plan_itself(
    options: dict[str, Any], delta: float, coupled: bool
) -> None:
    plan = Plan(Dataset.from_frame(table(40), Schema(QUASI, "ill")), Claim(0.5, delta), **options)
    profile = OracleProfile(Card("noisy", randomized=True, seedable=coupled), coupled, False, (), "")
    spec = json.loads(json.dumps(plan.spec()))
    plain = PlainPlan.of(spec, draws=plan.draws_of(profile.card), random_adversaries=[False])
    numbers = choose_numbers(plan, profile, lambda: 1)
    assert choose_numbers(plain, profile, lambda: 1) == numbers
    assert share_levels(plain, profile, numbers.shared_by) == share_levels(plan, profile, numbers.shared_by)
    assert schedule(plain, profile, numbers.shared_by) == schedule(plan, profile, numbers.shared_by)
    assert plain.at_random(numbers.at_random) == plan.at_random(numbers.at_random)
