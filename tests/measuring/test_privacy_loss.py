from collections.abc import Callable

import numpy as np
import pytest

from harness.measuring.privacy_claim import epsilon_of_renyi, epsilon_of_zcdp
from harness.measuring.privacy_loss import least_privacy_loss, least_privacy_loss_of_independent
from harness.measuring.samples import Floats
from harness.vocabulary.errors import InputError
from tests.measuring.mechanisms import Sides, allowed, cells, coupled_or_not

AtEpsilon = Callable[[np.random.Generator, int, float, bool], Sides]


def responses(rng: np.random.Generator, draws: int, epsilon: float, coupled: bool) -> Sides:
    truth = np.exp(epsilon) / (1 + np.exp(epsilon))
    return (rng.random(draws) < truth).astype(float), (rng.random(draws) > truth).astype(float)


def counts(rng: np.random.Generator, draws: int, epsilon: float, coupled: bool) -> Sides:
    noise = rng.laplace(scale=1 / epsilon, size=(1 if coupled else 2, draws)) * np.ones((2, 1))
    return 1 + noise[0], noise[1]


def predictions(rng: np.random.Generator, draws: int, epsilon: float, coupled: bool) -> Sides:
    return cells(rng, draws, coupled, noise_epsilon=epsilon)


every_mechanism = pytest.mark.parametrize(
    "mechanism", [responses, counts, predictions], ids=lambda mechanism: mechanism.__name__
)


RUNS: dict[AtEpsilon, int] = {responses: 60, counts: 60, predictions: 15}  # an event of 14 values costs 80 ms


def losses(
    mechanism: AtEpsilon,
    epsilon: float,
    coupled: bool,
    runs: int,
    draws: int = 2_000,
    alpha: float = 0.05,
    seed: int = 1,
    delta: float = 0.0,
) -> Floats:
    rng = np.random.default_rng(seed)
    sides = (mechanism(rng, draws, epsilon, coupled) for _ in range(runs))
    return np.array([least_privacy_loss(x, y, alpha=alpha, delta=delta).epsilon for x, y in sides])


@every_mechanism
@coupled_or_not
def test_a_mechanism_that_delivers_twice_what_it_claims_is_refuted(mechanism: AtEpsilon, coupled: bool) -> None:
    runs = RUNS[mechanism]
    found = losses(mechanism, 2.0, coupled, runs)
    assert np.mean(found > 1.0) >= 0.95
    assert np.count_nonzero(found > 2.0) <= allowed(runs, 0.05)


@every_mechanism
@coupled_or_not
@pytest.mark.parametrize(("draws", "alpha"), [(2_000, 0.05), (100, 0.3)])
def test_an_honest_mechanism_is_seldom_refuted(mechanism: AtEpsilon, coupled: bool, draws: int, alpha: float) -> None:
    runs = RUNS[mechanism]
    found = losses(mechanism, 1.0, coupled, runs, draws=draws, alpha=alpha)
    assert np.count_nonzero(found > 1.0) <= allowed(runs, alpha)


@pytest.mark.slow
@every_mechanism
@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_an_honest_mechanism_is_seldom_refuted_in_many_runs(mechanism: AtEpsilon, alpha: float) -> None:
    runs = 10 * RUNS[mechanism]
    found = losses(mechanism, 1.0, False, runs, alpha=alpha, seed=2)
    assert np.count_nonzero(found > 1.0) <= allowed(runs, alpha)


def test_a_delta_is_granted_before_the_loss_is_counted() -> None:
    plain, granted = (losses(responses, 2.0, False, runs=1, delta=delta)[0] for delta in (0.0, 0.3))
    assert 0 < granted < plain
    assert losses(responses, 2.0, False, runs=1, delta=1.0)[0] == 0.0


def test_the_witness_says_which_side_is_likelier_and_how_often_it_was_seen() -> None:
    rng = np.random.default_rng(3)
    x, y = responses(rng, 1_000, 3.0, coupled=False)
    found = least_privacy_loss(x, y, alpha=0.05)
    assert found.draws == 500  # the other half chose
    assert found.hits[0] > 400 > 100 > found.hits[1]
    assert least_privacy_loss(np.zeros(500), rng.random(500), alpha=0.05).likelier in ("present", "absent")


def test_an_output_that_only_one_side_gives_is_a_large_loss_either_way() -> None:
    never, sometimes = np.zeros(4_000), (np.random.default_rng(4).random(4_000) < 0.2).astype(float)
    one, other = (least_privacy_loss(*sides, alpha=0.05) for sides in ((never, sometimes), (sometimes, never)))
    assert one.epsilon == other.epsilon > 4
    assert (one.likelier, other.likelier) == ("absent", "present")


def test_equal_outputs_show_no_loss() -> None:
    assert least_privacy_loss(np.zeros(50), np.zeros(50), alpha=0.05).epsilon == 0.0


def test_one_draw_cannot_both_choose_and_judge() -> None:
    with pytest.raises(InputError, match="fewer than 2"):
        least_privacy_loss(np.zeros(1), np.zeros(5), alpha=0.05)


def test_the_best_of_many_events_is_not_believed_on_the_draws_that_chose_it() -> None:
    rng = np.random.default_rng(5)
    found = [least_privacy_loss(*rng.random((2, 100, 20)), alpha=0.3).epsilon for _ in range(60)]
    assert np.count_nonzero(np.array(found) > 0.0) <= allowed(60, 0.3)


# The smallest σ for which a sum with normal noise is (1, 1e-5)-differentially private (Balle & Wang 2018, Theorem 8).
SIGMA = 3.7306317


def normal(rng: np.random.Generator, draws: int, epsilon: float, coupled: bool) -> Sides:
    """Normal noise of deviation SIGMA / epsilon."""
    noise = rng.normal(0, SIGMA / epsilon, size=(2, draws))
    return 1 + noise[0], noise[1]


def test_normal_noise_that_keeps_its_claim_is_seldom_refuted() -> None:
    found = losses(normal, 1.0, False, runs=60, draws=3_000, delta=1e-5)
    assert np.count_nonzero(found > 1.0) <= allowed(60, 0.05)


@pytest.mark.slow
def test_normal_noise_of_half_the_deviation_is_refuted() -> None:
    assert np.mean(losses(normal, 2.0, False, runs=60, draws=40_000, delta=1e-5) > 1.0) >= 0.85
    assert np.mean(losses(normal, 4.0, False, runs=60, draws=2_000, delta=1e-5) > 1.0) >= 0.95  # a quarter


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [responses, counts], ids=lambda mechanism: mechanism.__name__)
@coupled_or_not
def test_a_loss_of_1_3_against_a_claim_of_1_is_refuted_with_2_000_draws(mechanism: AtEpsilon, coupled: bool) -> None:
    assert np.mean(losses(mechanism, 1.3, coupled, runs=400) > 1.0) >= 0.95
    assert np.count_nonzero(losses(mechanism, 1.0, coupled, runs=400) > 1.0) <= allowed(400, 0.05)


def refutations(mechanism: AtEpsilon, epsilon: float, runs: int, seed: int = 1, draws: int = 2_000) -> int:
    """How often a claim of 1 is refuted by independent draws."""
    rng = np.random.default_rng(seed)
    sides = (mechanism(rng, draws, epsilon, False) for _ in range(runs))
    found = (least_privacy_loss_of_independent(x, y, claimed=1.0, alpha=0.05) for x, y in sides)
    return sum(loss.epsilon > 1.0 for loss in found)


@every_mechanism
def test_independent_draws_are_judged_exactly(mechanism: AtEpsilon) -> None:
    assert refutations(mechanism, 2.0, runs=6) == 6
    assert refutations(mechanism, 1.0, runs=10, draws=200) <= allowed(10, 0.05)


@pytest.mark.slow
@every_mechanism
def test_a_loss_of_1_3_against_a_claim_of_1_is_refuted_with_2_000_independent_draws(mechanism: AtEpsilon) -> None:
    """Predictions hide the noise of counts; even so."""
    assert refutations(mechanism, 1.3, runs=100) >= 0.95 * 100
    assert refutations(mechanism, 1.0, runs=60, seed=2) <= allowed(60, 0.05)


def test_independent_draws_that_show_nothing_refute_nothing() -> None:
    for sides in ((np.zeros(50), np.zeros(50)), (np.zeros(2), np.ones(2))):
        assert least_privacy_loss_of_independent(*sides, claimed=1.0, alpha=0.05).epsilon == 0.0


def test_sides_that_are_always_told_apart_refute_what_so_many_draws_can() -> None:
    never, always = np.zeros(900), np.ones(900)
    assert least_privacy_loss_of_independent(never, always, claimed=3.0, alpha=0.05).epsilon > 4
    assert least_privacy_loss_of_independent(never, always, claimed=1e9, alpha=0.05).epsilon == 0.0


def test_claims_in_other_terms_have_the_epsilon_that_they_imply() -> None:
    assert epsilon_of_zcdp(0.5, 1e-5) == pytest.approx(0.5 + 2 * np.sqrt(0.5 * np.log(1e5)))
    assert epsilon_of_renyi(8, 0.5, 1e-5) == pytest.approx(0.5 + np.log(1e5) / 7)
    with pytest.raises(InputError, match="order above 1"):
        epsilon_of_renyi(1, 0.5, 1e-5)
    with pytest.raises(InputError, match="between 0 and 1"):
        epsilon_of_zcdp(0.5, 0.0)
