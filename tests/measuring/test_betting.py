"""Bets on means and counts: what they refute they refute seldom wrongly, at any time, and about as soon as one can."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from harness.measuring.betting import (
    SHARES,
    WEIGHTS,
    Wager,
    bet_on_less,
    bet_on_more,
    draws_to_refute,
    evidence_above,
    evidence_below,
    mean_at_least,
    mean_at_most,
    probability_limits,
)
from harness.measuring.samples import Floats
from tests.measuring.mechanisms import allowed

EPSILON, SPAN, ALPHA = 0.1, 2.0, 0.05
GOAL = float(np.log(1 / ALPHA))
Law = Callable[[np.random.Generator, int], Floats]

VALUES = st.lists(st.floats(0, SPAN), max_size=40).map(np.array)


def either(mean: float) -> Law:
    return lambda rng, draws: np.where(rng.random(draws) < mean / SPAN, SPAN, 0.0)


def narrow(mean: float, deviation: float) -> Law:
    return lambda rng, draws: np.clip(rng.normal(mean, deviation, draws), 0, SPAN)


def when_refuted(law: Law, runs: int, longest: int, seed: int = 1) -> Floats:
    """After how many draws each of many wagers on less than EPSILON has won; infinite if it has not."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(runs):
        wager = Wager()
        while wager.draws < longest and not wager.refutes(ALPHA):
            wager = bet_on_less(wager, law(rng, 20), EPSILON, SPAN)
        found.append(wager.draws if wager.refutes(ALPHA) else np.inf)
    return np.array(found) - 10  # it was won somewhere among the last twenty


def test_the_capital_is_shared_at_the_start_and_nothing_has_been_won() -> None:
    assert WEIGHTS.sum() == pytest.approx(1.0)
    assert len(SHARES) == len(WEIGHTS)
    assert Wager().log_capital == pytest.approx(0.0)
    assert not Wager().refutes(0.99)
    assert bet_on_less(Wager(), np.array([]), EPSILON, SPAN) == Wager()


@given(VALUES, VALUES)
def test_betting_on_one_part_and_then_another_is_betting_on_both(first: Floats, second: Floats) -> None:
    both = np.concatenate([first, second])
    less = bet_on_less(bet_on_less(Wager(), first, EPSILON, SPAN), second, EPSILON, SPAN)
    more = bet_on_more(bet_on_more(Wager(), first - 1, EPSILON, 1.0), second - 1, EPSILON, 1.0)
    assert less == bet_on_less(Wager(), both, EPSILON, SPAN)
    assert more == bet_on_more(Wager(), both - 1, EPSILON, np.ones(len(both)))


@given(VALUES)
def test_the_highest_capital_is_that_of_some_moment(values: Floats) -> None:
    moments = [0.0] + [
        bet_on_less(Wager(), values[:end], EPSILON, SPAN).log_capital for end in range(1, len(values) + 1)
    ]
    assert bet_on_less(Wager(), values, EPSILON, SPAN).highest == pytest.approx(max(moments), abs=1e-12)


@pytest.mark.parametrize(("mean", "most"), [(0.0, 76), (0.02, 165), (0.05, 561)])
def test_lengths_of_0_and_2_are_proven_to_keep_a_tenth_with_few_draws(mean: float, most: int) -> None:
    assert when_refuted(either(mean), runs=60, longest=4_000).mean() <= most


@pytest.mark.parametrize(
    "law", [either(0.0), either(0.02), either(0.05), narrow(0.02, 0.01), narrow(0.05, 0.1), narrow(0.08, 0.02)]
)
def test_no_stake_would_have_won_much_sooner(law: Law) -> None:
    values = law(np.random.default_rng(2), 100_000)
    returns = (EPSILON - values) / (SPAN - EPSILON)
    best = minimize_scalar(lambda share: -np.log1p(share * returns).mean(), bounds=(0, 0.9999), method="bounded")
    assert when_refuted(law, runs=60, longest=4_000).mean() <= 1.4 * GOAL / -best.fun


@pytest.mark.parametrize("law", [either(EPSILON), narrow(EPSILON, 0.02), either(0.12)])
def test_a_true_claim_is_seldom_refuted_at_whatever_moment(law: Law) -> None:
    rng = np.random.default_rng(3)
    runs = 300
    wagers = [bet_on_less(Wager(), law(rng, 1_500), EPSILON, SPAN) for _ in range(runs)]
    assert sum(wager.refutes(0.1) for wager in wagers) <= allowed(runs, 0.1)


def test_gains_of_a_mean_within_the_claim_seldom_refute_it_and_larger_ones_do() -> None:
    rng = np.random.default_rng(4)
    runs = 300

    def gains(mean: float) -> Floats:
        return rng.choice([-1.0, 0.0, 1.0], 1_000, p=[0.2, 0.6 - mean, 0.2 + mean])

    below = np.where(np.arange(1_000) < 500, 1.0, 1.5)
    assert sum(bet_on_more(Wager(), gains(0.1), 0.1, below).refutes(0.1) for _ in range(runs)) <= allowed(runs, 0.1)
    assert sum(bet_on_more(Wager(), gains(0.25), 0.1, below).refutes(0.05) for _ in range(50)) >= 48


@pytest.mark.parametrize("law", [either(0.02), either(0.05), narrow(0.05, 0.1)])
def test_the_draws_it_takes_are_told_beforehand(law: Law) -> None:
    draws = draws_to_refute(law(np.random.default_rng(5), 5_000), EPSILON, SPAN, ALPHA)
    assert draws is not None
    taken = when_refuted(law, runs=60, longest=draws + 20, seed=6)
    assert np.mean(taken <= draws) >= 0.8
    assert draws <= 3.5 * taken[np.isfinite(taken)].mean()


def test_no_number_of_draws_refutes_what_is_true() -> None:
    assert draws_to_refute(np.full(10, 0.1), 0.1, SPAN, ALPHA) is None
    assert draws_to_refute(np.full(10, 0.3), 0.1, SPAN, ALPHA) is None
    assert draws_to_refute(np.full(10, 0.3), 0.1, SPAN, ALPHA, below=1.0) is not None


def test_a_claim_that_every_value_keeps_cannot_be_bet_against() -> None:
    with pytest.raises(ValueError, match="cannot be bet against"):
        bet_on_less(Wager(), np.zeros(3), 2.0, 2.0)


@pytest.mark.parametrize("delta", [0.01, 0.05, 0.3])
def test_counts_seldom_refute_a_true_probability_at_any_look(delta: float) -> None:
    rng = np.random.default_rng(7)
    runs, looks = 400, [5, 20, 60, 150, 400]
    refuted = np.zeros(3, int)
    for _ in range(runs):
        hits = np.cumsum(rng.random(400) < delta)
        counts = [(int(hits[look - 1]), look) for look in looks]
        limits = [probability_limits(*count, 0.1) for count in counts]
        refuted += [
            any(evidence_below(*count, delta) >= np.log(10) for count in counts),
            any(evidence_above(*count, delta) >= np.log(10) for count in counts),
            any(low > delta or high < delta for low, high in limits),
        ]
    assert refuted.max() <= allowed(runs, 0.1)


def test_counts_refute_a_wrong_probability_about_as_soon_as_one_can() -> None:
    # Without a hit, p ≥ 0.05 could at best be refuted after ln 20 / −ln 0.95 = 59 draws.
    assert evidence_below(0, 80, 0.05) >= GOAL > evidence_below(0, 60, 0.05)
    assert evidence_above(20, 100, 0.05) > GOAL > evidence_above(6, 100, 0.05)
    assert evidence_above(1, 10, 0.0) == np.inf
    assert evidence_above(0, 10, 0.0) == evidence_below(3, 10, 0.0) == 0.0


@given(
    st.integers(0, 300).flatmap(lambda draws: st.tuples(st.integers(0, draws), st.just(draws))), st.floats(0.001, 0.5)
)
def test_probability_limits_enclose_the_share_of_hits(counts: tuple[int, int], alpha: float) -> None:
    hits, draws = counts
    low, high = probability_limits(hits, draws, alpha)
    assert 0.0 <= low <= (hits / draws if draws else 0.5) <= high <= 1.0
    turned = probability_limits(draws - hits, draws, alpha)
    assert turned == pytest.approx((1 - high, 1 - low), abs=1e-9)


@pytest.mark.parametrize("draws", [101, 400, 2_000])
def test_lengths_that_hardly_vary_have_limits_near_the_best_there_are(draws: int) -> None:
    rng = np.random.default_rng(8)
    best = 1 - 0.025 ** (1 / draws)  # the share of lengths of 2 that so many draws overlook
    tiny = rng.uniform(0.05, 0.1, draws)
    assert mean_at_most(tiny, 0.025, span=SPAN) - tiny.mean() <= 1.12 * best * (SPAN - tiny.mean())
    for lengths in (rng.uniform(0, 0.35, draws), 2 * rng.beta(2, 20, draws), rng.uniform(0, 0.7, draws)):
        width = 1.96 * lengths.std() / np.sqrt(draws)
        assert mean_at_most(lengths, 0.025, span=SPAN) - lengths.mean() <= 5 * width


@pytest.mark.parametrize("draws", [2, 40, 150])
def test_limits_of_rare_and_of_equal_values_seldom_miss(draws: int) -> None:
    rng = np.random.default_rng(9)
    runs = 250
    for mean in (0.004, 0.3, 1.0):
        lengths = [either(mean)(rng, draws) for _ in range(runs)]
        assert sum(mean_at_most(each, 0.1, span=SPAN) < mean for each in lengths) <= allowed(runs, 0.1)
        assert sum(mean_at_least(each, 0.1, span=SPAN) > mean for each in lengths) <= allowed(runs, 0.1)
