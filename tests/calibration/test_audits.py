"""Whole audits of laws that are known: how often the verdict is wrong, and how many draws it takes."""

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import harness
from harness.vocabulary.oracle import Ask, Card, Release
from harness.vocabulary.release import Predictions

PEOPLE = pd.DataFrame({"age": range(4), "ill": ["flu", "ulcer"] * 2})
EPSILON, CONFIDENCE = 0.2, 0.9


class Flipping:
    """Predicts (0.7, 0.3) or (0.3, 0.7), each half of the time; without anybody, a share of the former is flipped.

    Each coordinate then moves by 0.4 times that share, so d = 0.8 · share, coupled or not.
    """

    def __init__(self, distance: float, seed: int, seedable: bool) -> None:
        self.share, self.seed = distance / 0.8, seed
        self.card = Card("flipping", releases="predictions", randomized=True, seedable=seedable)
        self.rng, self.draws = np.random.default_rng(seed), 0

    def answer(self, ask: Ask) -> Iterator[Release]:
        self.draws += ask.draws
        assert ask.about is not None
        key = [self.seed, ask.seed, int(ask.about[0])]
        uniform = (np.random.default_rng(key) if self.card.seedable else self.rng).uniform(size=ask.draws)
        first = np.where(uniform < 0.5, 0.7, 0.3)
        if ask.drop:
            first = np.where(uniform < self.share, 0.3, first)
        yield Predictions(np.column_stack([first, 1 - first]))

    def close(self) -> None: ...


def outcomes(distance: float, runs: int, *, seedable: bool, adaptive: bool, draws: int) -> Counter[str]:
    return Counter(
        harness.audit(
            Flipping(distance, seed, seedable), PEOPLE, quasi={"age": "number"}, sensitive="ill", epsilon=EPSILON,
            confidence=CONFIDENCE, draws=draws, adaptive=adaptive, seed=seed,
        ).verdict.outcome.value
        for seed in range(runs)
    )  # fmt: skip


def is_within(count: int, runs: int) -> bool:
    """Whether so many wrong verdicts are not too many at the claimed confidence, beyond chance of one in a thousand."""
    return bool(binom.sf(count - 1, runs, 1 - CONFIDENCE) > 0.001)


@pytest.mark.parametrize("seedable", [True, False], ids=["coupled", "independent"])
@pytest.mark.parametrize("adaptive", [True, False], ids=["adaptive", "fixed"])
def test_few_audits_are_wrong_just_at_the_claim(seedable: bool, adaptive: bool) -> None:
    runs = 12
    at, below = (
        outcomes(distance, runs, seedable=seedable, adaptive=adaptive, draws=400)
        for distance in (EPSILON, 0.95 * EPSILON)
    )
    assert is_within(at["holds"], runs)
    assert is_within(below["violated"], runs)


@pytest.mark.slow
@pytest.mark.parametrize(("seedable", "runs"), [(True, 120), (False, 40)], ids=["coupled", "independent"])
def test_adaptive_audits_keep_their_confidence_over_hundreds_of_runs(seedable: bool, runs: int) -> None:
    at, below = (
        outcomes(distance, runs, seedable=seedable, adaptive=True, draws=500) for distance in (EPSILON, 0.95 * EPSILON)
    )
    assert is_within(at["holds"], runs)
    assert is_within(below["violated"], runs)


def test_clear_cases_are_decided() -> None:
    assert outcomes(0.0, 3, seedable=True, adaptive=True, draws=400) == {"holds": 3}
    assert outcomes(0.6, 3, seedable=True, adaptive=True, draws=1500) == {"violated": 3}


class Jumping(Flipping):
    """Predicts one value for sure; without some persons, now and then the other: pairs lie 0 or 2 apart."""

    def __init__(self, distances: dict[int, float], seed: int) -> None:
        super().__init__(0.0, seed, seedable=True)
        self.distances = distances

    def answer(self, ask: Ask) -> Iterator[Release]:
        self.draws += ask.draws if ask.drop else 0
        assert ask.about is not None
        person = int(ask.about[0])
        uniform = np.random.default_rng([self.seed, ask.seed, person]).uniform(size=ask.draws)
        first = (uniform < self.distances.get(person, 0.0) / 2) * float(bool(ask.drop))
        yield Predictions(np.column_stack([first, 1 - first]))


@pytest.mark.parametrize(
    ("persons", "distances", "outcome", "most"),
    [
        (100, dict.fromkeys(range(100), 0.0), "holds", 80),
        (100, dict.fromkeys(range(100), 0.02), "holds", 165),
        (300, {7: 0.2}, "violated", 110),
    ],
)
def test_an_adaptive_audit_needs_few_draws_a_person(
    persons: int, distances: dict[int, float], outcome: str, most: int
) -> None:
    people = pd.DataFrame({"age": range(persons), "ill": ["flu", "ulcer"] * (persons // 2)})
    oracle = Jumping(distances, seed=1)
    report = harness.audit(
        oracle, people, quasi={"age": "number"}, sensitive="ill", epsilon=0.1, draws=20_000, adaptive=True
    )
    assert report.verdict.outcome.value == outcome
    assert oracle.draws / persons <= most
