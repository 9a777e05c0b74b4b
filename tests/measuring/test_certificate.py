from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from harness.measuring.certificate import certify
from harness.vocabulary.errors import InputError
from tests.measuring.mechanisms import allowed

COUNTS = st.integers(1, 60).flatmap(
    lambda population: st.integers(0, population).flatmap(
        lambda examined: st.tuples(st.just(population), st.just(examined), st.integers(0, examined))
    )
)


def test_299_clean_records_vouch_for_all_but_one_percent() -> None:
    assert certify(1_000_000, 299, 0, 0.05).share < 0.01
    assert certify(1_000_000, 298, 0, 0.05).share >= 0.01


def chance(population: int, members: int, examined: int, drawn: int) -> Fraction:
    """Exactly, that so many members are among those examined."""
    return Fraction(comb(members, drawn) * comb(population - members, examined - drawn), comb(population, examined))


@given(COUNTS, st.sampled_from([Fraction(1, 100), Fraction(1, 20), Fraction(1, 10), Fraction(3, 10)]))
@example((20, 1, 0), Fraction(1, 20))  # nineteen of twenty leave one in twenty: a chance of alpha exactly
@example((5, 2, 2), Fraction(3, 10))
def test_limits_are_the_numbers_that_the_sample_does_not_refute(counts: tuple[int, int, int], alpha: Fraction) -> None:
    population, examined, above = counts
    found = certify(*counts, float(alpha))
    possible = range(above, population - examined + above + 1)
    fewer, more = range(above + 1), range(above, examined + 1)
    assert found.most == max(k for k in possible if sum(chance(population, k, examined, d) for d in fewer) >= alpha)
    assert found.least == min(k for k in possible if sum(chance(population, k, examined, d) for d in more) >= alpha)


@given(st.integers(1, 10_000).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size))))
def test_everybody_examined_leaves_nothing_to_chance(counts: tuple[int, int]) -> None:
    population, above = counts
    found = certify(population, population, above, 0.05)
    assert (found.least, found.most) == (above, above)


def test_nobody_examined_says_nothing() -> None:
    found = certify(100, 0, 0, 0.05)
    assert (found.least, found.most, found.share) == (0, 100, 1.0)


@pytest.mark.parametrize("members", [0, 3, 40, 150])
@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_limits_miss_no_more_often_than_they_say(members: int, alpha: float) -> None:
    runs, population, examined = 3_000, 200, 50
    seen = np.random.default_rng(members).hypergeometric(members, population - members, examined, runs)
    limits = {above: certify(population, examined, above, alpha) for above in set(seen.tolist())}
    assert sum(limits[above].most < members for above in seen.tolist()) <= allowed(runs, alpha)
    assert sum(limits[above].least > members for above in seen.tolist()) <= allowed(runs, alpha)


@pytest.mark.parametrize("counts", [(0, 0, 0), (5, 6, 0), (5, 3, 4), (5, 3, -1)])
def test_counts_that_cannot_be_are_refused(counts: tuple[int, int, int]) -> None:
    with pytest.raises(InputError, match="cannot be"):
        certify(*counts, 0.05)


def test_both_limits_hold_together_at_twice_the_level_of_each() -> None:
    one_sided, joint = certify(200, 50, 3, 0.05), certify(200, 50, 3, 0.1, joint=True)
    assert one_sided == joint
    assert (joint.alpha, joint.joint_alpha) == (0.05, 0.1)


def test_joint_limits_miss_together_no_more_often_than_they_say() -> None:
    runs, population, examined, members, alpha = 3_000, 200, 50, 40, 0.1
    seen = np.random.default_rng(7).hypergeometric(members, population - members, examined, runs)
    limits = {above: certify(population, examined, above, alpha, joint=True) for above in set(seen.tolist())}
    missed = sum(not limits[above].least <= members <= limits[above].most for above in seen.tolist())
    assert 0 < missed <= allowed(runs, alpha)
