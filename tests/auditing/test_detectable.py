"""The smallest effects that a plan could have shown, against the audits that would have to show them."""

import math

import numpy as np
import pytest

from harness.auditing.detectable import detectable_share, exact_detectable, smallest_detectable
from harness.auditing.plan import Claim
from harness.measuring.divergence import divergence_named, upper_of
from harness.measuring.estimate import compare
from harness.measuring.samples import Samples
from tests.anonymizers import chunks
from tests.small_audits import audit

LOOK = {"number": 1, "draws": 200, "alpha": 0.05 / 30, "own_alpha": 0.05}


def test_where_nothing_is_random_everything_is_seen() -> None:
    assert exact_detectable() == {"holds_from": 0.0, "violated_from": 0.0, "of": "distance"}
    least = min(finding.distance for finding in audit(chunks).findings if finding.distance > 0)
    assert audit(chunks, epsilon=least).verdict.outcome == "violated"


@pytest.mark.parametrize("name", ["sum", "half", "hellinger", "kl"])
@pytest.mark.parametrize("coupled", [True, False])
def test_the_numbers_are_those_of_the_limits_that_judge(name: str, coupled: bool) -> None:
    """Second computation: a claim a little above, and a distance a little above, are decided; below they are not."""
    divergence, claim = divergence_named(name).for_values(("a", "b", "c")), Claim(0.2)
    found = smallest_detectable(divergence, claim, LOOK, 3, coupled=coupled)
    same = Samples(np.full((200, 3), 1 / 3))
    limit = upper_of(divergence, same, same, 0.0, 0.05, coupled=coupled)
    assert limit <= found["holds_from"] <= limit * 1.011  # three digits, upwards

    def lower(distance: float) -> float:
        """The lower limit of two steady predictions at a distance, found by bisection over how much moves."""
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            apart = divergence.between(np.array([1.0, 0, 0]), np.array([1 - middle, middle, 0]))
            low, high = (middle, high) if apart < distance else (low, middle)
        x, y = (np.tile(row, (200, 1)) for row in ([1.0, 0, 0], [1 - high, high, 0]))
        return compare(divergence, x, y, alpha=LOOK["alpha"], coupled=coupled, exact=False).lower

    assert lower(found["violated_from"]) >= claim.epsilon - 1e-9
    assert lower(found["violated_from"] * 0.97) < claim.epsilon


def test_too_few_draws_can_prove_nothing() -> None:
    divergence = divergence_named("sum").for_values(("a", "b"))
    few = {**LOOK, "draws": 3}
    assert smallest_detectable(divergence, Claim(1.9), few, 2, coupled=True)["violated_from"] is None


def test_with_a_delta_it_is_a_probability_of_pairs() -> None:
    """Clopper-Pearson by hand: 0 of N says 1 - alpha^(1/N)."""
    found = smallest_detectable(None, Claim(0.2, 0.1), LOOK, 3, coupled=True)
    assert found["of"] == "probability"
    assert found["holds_from"] == pytest.approx(1 - 0.05 ** (1 / 200), rel=0.01)
    assert found["violated_from"] > 0.1


def test_a_distance_of_a_user_is_not_computed() -> None:
    found = smallest_detectable(None, Claim(0.2), LOOK, 3, coupled=True)
    assert found == {"holds_from": None, "violated_from": None, "of": "distance"}


def test_a_sample_shows_one_of_so_many_with_confidence() -> None:
    """Drawn without replacement, by the product of chances; one person fewer would be missed more often."""

    def missed(breaking: int) -> float:
        return math.prod((100 - breaking - draw) / (100 - draw) for draw in range(40))

    share = detectable_share(100, 40, 0.05)
    assert missed(round(100 * share)) <= 0.05 < missed(round(100 * share) - 1)
