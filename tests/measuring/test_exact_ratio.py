"""The exact test of p ≤ r q: its error by summing over all counts, its power, and its ends."""

import numpy as np
import pytest
from scipy.stats import binom

from harness.measuring.exact_ratio import largest_ratio_refuted
from harness.measuring.samples import Floats


def refuted(draws: int, against: float, alpha: float) -> Floats:
    """The largest ratio that each pair of counts refutes."""
    counts = range(draws + 1)
    return np.array(
        [[largest_ratio_refuted(a, b, draws, against=against, alpha=alpha) for b in counts] for a in counts]
    )


@pytest.mark.parametrize(("draws", "against", "alpha"), [(6, 2.0, 0.05), (9, 1.0, 0.2), (11, 4.0, 0.1)])
def test_the_true_ratio_is_refuted_with_no_more_than_the_stated_probability(
    draws: int, against: float, alpha: float
) -> None:
    """Summed over all pairs of counts, for many p and q, whatever ratio the order was made for."""
    found, counts = refuted(draws, against, alpha), np.arange(draws + 1)
    for q in np.linspace(0.01, 0.99, 23):
        for p in np.linspace(0.0, 1.0, 24):
            chances = np.outer(binom.pmf(counts, draws, p), binom.pmf(counts, draws, q))
            assert chances[found > p / q].sum() <= alpha


def test_most_of_the_error_level_is_used() -> None:
    draws, q, ratio = 40, 0.2, 2.0
    near = [np.arange(*binom.ppf([0.01, 0.99], draws, p).astype(int)) for p in (ratio * q, q)]
    chance = sum(
        binom.pmf(a, draws, ratio * q) * binom.pmf(b, draws, q)
        for a in near[0]
        for b in near[1]
        if largest_ratio_refuted(int(a), int(b), draws, against=ratio, alpha=0.05) >= ratio
    )
    assert 0.02 <= chance <= 0.05


@pytest.mark.parametrize(("hits", "others"), [(0, 0), (20, 20), (3, 20), (0, 20)])
def test_counts_that_are_no_larger_refute_no_ratio_of_one(hits: int, others: int) -> None:
    assert largest_ratio_refuted(hits, others, 20, against=2.0, alpha=0.05) < 1


def test_an_event_of_one_side_only_refutes_ever_larger_ratios() -> None:
    found = [largest_ratio_refuted(draws // 2, 0, draws, against=2.0, alpha=0.05) for draws in (20, 200, 2_000)]
    assert found == sorted(found)
    assert found[0] > 2
    assert found[2] > 100


def test_more_hits_refute_more_and_more_hits_on_the_other_side_less() -> None:
    by_hits = [largest_ratio_refuted(a, 10, 60, against=2.0, alpha=0.05) for a in range(20, 60, 5)]
    by_others = [largest_ratio_refuted(50, b, 60, against=2.0, alpha=0.05) for b in range(1, 50, 5)]
    assert by_hits == sorted(by_hits)
    assert by_others == sorted(by_others, reverse=True)
