"""Boxes that lie, drift, forget or draw by chance: nobody is accused, and nothing is proven, by their answers."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import harness
from harness.auditing.cost import predicted_calls
from harness.auditing.events import Confirmed, Probed, Selected
from harness.auditing.plan import Claim, Plan
from harness.auditing.procedure import Audit
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.oracle import Ask, Card, Release
from harness.vocabulary.release import Predictions
from harness.vocabulary.schema import Schema
from harness.vocabulary.table import Table
from oracles.reference import Constant, Laplace
from tests.small_audits import QUASI, audit, table

HOLDS, VIOLATED, INCONCLUSIVE = harness.Outcome.HOLDS, harness.Outcome.VIOLATED, harness.Outcome.INCONCLUSIVE
PEOPLE = table(20)


def nothing_known(ill: Any) -> pd.DataFrame:
    """A release that shows illnesses only."""
    return pd.DataFrame({"age": "*", "sex": "*", "ill": ill})


# ---- one law, two ways of seeding


def illnesses_by_seed(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    return nothing_known(np.random.default_rng(seed).choice(["flu", "ulcer", "none"], 30))


def illnesses_by_seed_and_size(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    return nothing_known(np.random.default_rng([seed, len(frame)]).choice(["flu", "ulcer", "none"], 30))


def mirrored_by_size(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Equal laws, paired as far apart as they can be."""
    share = np.random.default_rng(seed).uniform()
    return nothing_known(np.where(np.arange(30) < 30 * (share if len(frame) % 2 else 1 - share), "flu", "ulcer"))


@pytest.mark.slow
@pytest.mark.parametrize("f", [illnesses_by_seed, illnesses_by_seed_and_size, mirrored_by_size])
def test_no_way_of_seeding_makes_a_person_guilty_of_what_f_does_without_reading_the_data(f: Any) -> None:
    verdict = audit(f, PEOPLE, epsilon=0.1, delta=0.05, draws=200, model="conditional").verdict
    assert verdict.outcome is not VIOLATED
    assert (verdict.outcome is HOLDS) == (f is illnesses_by_seed)
    if f is not illnesses_by_seed:
        assert "f's own noise included (two draws of f(D) itself: 0." in verdict.reason


@pytest.mark.parametrize("f", [illnesses_by_seed, illnesses_by_seed_and_size])
def test_independent_pairs_give_one_verdict_whatever_the_seeding(f: Any) -> None:
    options: dict[str, Any] = {"epsilon": 0.1, "delta": 0.05, "draws": 60, "model": "conditional", "records": 2}
    report = audit(f, PEOPLE, pairs="independent", **options)
    assert report.verdict.outcome is VIOLATED
    assert "f's own noise included" in report.verdict.reason
    assert any(line.startswith("pairs: both sides were drawn independently") for line in report.assumptions)


class Shifting:
    """Predicts with noise that the seed fixes; without a record of age below 30, further to one side."""

    card = Card("shifting", releases="predictions", randomized=True, seedable=True)

    def answer(self, ask: Ask) -> Iterator[Release]:
        young = ask.about is not None and ask.about[0] < 30 and bool(ask.drop)
        flu = ask.rng().uniform(0.2, 0.4, ask.draws) + 0.3 * young
        yield Predictions(np.column_stack([flu, 1 - flu, np.zeros(ask.draws)]))

    def close(self) -> None: ...


def test_what_every_pairing_shows_is_an_accusation() -> None:
    verdict = audit(Shifting(), PEOPLE, epsilon=0.2, delta=0.1, draws=200).verdict
    assert verdict.outcome is VIOLATED
    assert "however draws are paired" in verdict.reason


class IllnessesByNothing:
    """Takes a seed and draws by what is no part of the question: how often it was asked."""

    calls = 0

    def __call__(self, frame: pd.DataFrame, seed: int) -> pd.DataFrame:
        self.calls += 1
        return nothing_known(np.random.default_rng(self.calls).choice(["flu", "ulcer", "none"], 30))


@pytest.mark.parametrize(
    ("f", "why"),
    [
        (illnesses_by_seed, ""),
        (IllnessesByNothing(), "because f ignores the seed that it is given"),
        (illnesses_by_seed_and_size, "because equal seeds do not make draws with and without a person alike"),
    ],
)
def test_the_verdict_says_why_noise_did_not_cancel(f: Any, why: str) -> None:
    verdict = audit(f, PEOPLE, epsilon=0.1, draws=40, model="conditional").verdict
    assert verdict.outcome is INCONCLUSIVE
    assert why in verdict.reason
    assert ("own noise does not cancel" in verdict.reason) == bool(why)


def test_noise_on_one_side_only_is_not_called_unpaired() -> None:
    class OneSided(Shifting):
        def answer(self, ask: Ask) -> Iterator[Release]:
            flu = 0.4 * ask.rng().random(ask.draws) * bool(ask.drop)
            yield Predictions(np.column_stack([flu, 1 - flu, np.zeros(ask.draws)]))

    verdict = audit(OneSided(), PEOPLE, epsilon=0.42, draws=40).verdict
    assert verdict.outcome is INCONCLUSIVE
    assert "because" not in verdict.reason


# ---- an exact accusation that was chance


class NowAndThen:
    """Says that it is deterministic and hides everything, but one time in twenty nothing."""

    card = Card("now and then", randomized=False)

    def __init__(self, seed: int, share: float = 0.05) -> None:
        self.rng, self.share, self.asked = np.random.default_rng(seed), share, 0

    def answer(self, ask: Ask) -> Iterator[Release]:
        self.asked += 1
        frame = ask.table.to_frame()
        yield Table.from_frame(frame if self.rng.random() < self.share else frame.assign(age="*", sex="*"))

    def close(self) -> None: ...


def test_a_box_that_leaks_by_chance_is_not_called_exact_and_guilty() -> None:
    outcomes = [
        audit(NowAndThen(seed), PEOPLE, epsilon=0.5, model="conditional", draws=2).verdict.outcome for seed in range(15)
    ]
    assert VIOLATED not in outcomes
    assert INCONCLUSIVE in outcomes


def test_a_violation_of_a_deterministic_f_is_confirmed_among_other_questions() -> None:
    asked: list[int] = []

    def identity(frame: pd.DataFrame) -> pd.DataFrame:
        asked.append(len(frame))
        return frame

    report = audit(identity, PEOPLE, epsilon=0.1, confirm=6)
    assert report.verdict.outcome is VIOLATED
    assert sorted(asked[-10:-1]) == [19] * 6 + [20] * 3  # then the first question once more
    assert any("4 at the beginning, 9 at the end; 0 answers differed" in line for line in report.assumptions)


@pytest.mark.parametrize("confirm", [2, 8])
@pytest.mark.parametrize("share", [0.0, 1.0], ids=["holds", "violated"])
def test_questions_asked_again_are_counted_whatever_was_found(share: float, confirm: int) -> None:
    plan = Plan(Dataset.from_frame(PEOPLE, Schema(QUASI, "ill")), Claim(0.6), confirm=confirm)
    oracle = NowAndThen(0, share)
    events = list(Audit(plan, oracle).events())
    profile = next(event.profile for event in events if isinstance(event, Probed))
    selected = next(event for event in events if isinstance(event, Selected))
    confirmed = next(event for event in events if isinstance(event, Confirmed))
    assert (confirmed.repeated, confirmed.different) == (confirm + confirm // 2, 0)
    assert predicted_calls(plan, profile, selected) == oracle.asked


# ---- drift


class Drifting:
    """Never reads the data; what it releases changes with the number of calls."""

    card = Card("drifting", randomized=True)

    def __init__(self, seed: int, speed: float) -> None:
        self.rng, self.speed, self.calls = np.random.default_rng(seed), speed, 0

    def answer(self, ask: Ask) -> Iterator[Release]:
        for _ in range(ask.draws):
            self.calls += 1
            flu = self.rng.random(30) < min(0.3 + self.speed * self.calls, 0.9)
            yield Table.from_frame(nothing_known(np.where(flu, "flu", "ulcer")))

    def close(self) -> None: ...


@pytest.mark.parametrize("speed", [0.001, 0.0001])
def test_drift_is_blamed_on_nobody(speed: float) -> None:
    report = audit(Drifting(0, speed), PEOPLE, epsilon=0.1, draws=40, model="conditional")
    assert report.verdict.outcome is INCONCLUSIVE
    if speed == 0.001:
        assert "the answers of f drift" in report.verdict.reason


def test_steady_draws_in_blocks_are_judged() -> None:
    report = audit(Drifting(0, 0.0), PEOPLE, epsilon=0.8, draws=40, model="conditional")
    assert report.verdict.outcome is HOLDS
    assert report.notes == ()


# ---- what f reads


class Remembering:
    """Answers for the first table it was asked about, whatever it is asked about; or for every part of it."""

    card = Card("remembering", randomized=False)

    def __init__(self, parts_only: bool) -> None:
        self.parts_only, self.first = parts_only, pd.DataFrame()

    def answer(self, ask: Ask) -> Iterator[Release]:
        frame = ask.table.to_frame()
        if self.first.empty:
            self.first = frame
        counts, known = frame.value_counts(), self.first.value_counts()
        is_part = bool((counts <= known.reindex(counts.index).fillna(0)).all())
        yield Table.from_frame(self.first if is_part or not self.parts_only else frame)

    def close(self) -> None: ...


@pytest.mark.parametrize("parts_only", [False, True])
def test_a_box_that_answers_from_memory_proves_nothing(parts_only: bool) -> None:
    verdict = audit(Remembering(parts_only), PEOPLE).verdict
    assert verdict.outcome is INCONCLUSIVE
    assert "the same answer: it does not read what it is asked about" in verdict.reason


def test_a_box_that_releases_the_same_for_everybody_is_no_liar() -> None:
    report = audit(Constant(), PEOPLE)
    assert report.verdict.outcome is HOLDS
    assert report.notes == ("f gave D, a part of D and a table of other records the same answer",)


def test_a_random_box_whose_few_answers_repeat_by_chance_is_not_noted() -> None:
    rng = np.random.default_rng(0)
    notes = [
        note
        for _ in range(10)
        for note in audit(
            lambda frame: nothing_known([rng.choice(["flu", "ulcer"])] * 9), PEOPLE, draws=2, records=1, randomized=True
        ).notes
    ]
    assert not [note for note in notes if "the same answer" in note]


class Copying:
    """Draws afresh one time in ten and sends the last draw again otherwise."""

    card = Card("copying", releases="predictions", randomized=True)

    def __init__(self, again: int) -> None:
        self.again, self.rng = again, np.random.default_rng(1)

    def answer(self, ask: Ask) -> Iterator[Release]:
        fresh = self.rng.uniform(0, 1, -(-ask.draws // self.again))
        flu = np.repeat(fresh, self.again)[: ask.draws]
        yield Predictions(np.column_stack([flu, 1 - flu, np.zeros(ask.draws)]))

    def close(self) -> None: ...


@pytest.mark.parametrize("again", [1, 10])
def test_draws_that_are_copies_of_each_other_prove_nothing(again: int) -> None:
    verdict = audit(Copying(again), PEOPLE, draws=1000, epsilon=0.9, records=3).verdict
    assert ("copies of each other" in verdict.reason) == (again == 10)


def test_a_person_whose_draws_are_copies_at_several_looks_is_counted_once() -> None:
    verdict = audit(Copying(10), PEOPLE, draws=4000, epsilon=0.2, records=2, adaptive=True).verdict
    assert "copies of each other (seen without 2 of the persons)" in verdict.reason


# ---- order of rows


def test_an_f_that_only_shuffles_its_rows_accuses_nobody() -> None:
    fixed = pd.DataFrame({"age": ["[20, 30)"] * 10 + ["[30, 40)"] * 10, "ill": list("aabbc" * 4)})
    people = pd.DataFrame({"age": range(20, 41), "ill": list("abcab" * 4 + "a")})
    rng = np.random.default_rng(0)
    report = harness.audit(
        lambda frame: fixed.sample(frac=1, random_state=int(rng.integers(2**31))),
        people, quasi={"age": "number"}, sensitive="ill", epsilon=0.3, encoder="bounds-hot", model="neighbours",
    )  # fmt: skip
    assert report.statistics()["largest"] == 0


# ---- differential privacy


class Claiming(Laplace):
    """Laplace noise that claims other noise."""

    @property
    def card(self) -> Card:
        return replace(super().card, noise_epsilon=0.5)


LONELY = pd.DataFrame({"age": [20] * 3 + [30] * 5, "sex": "M", "ill": ["flu"] * 3 + ["ulcer"] * 5})


def test_an_adaptive_audit_refutes_a_false_claim_of_differential_privacy_too() -> None:
    report = audit(Claiming(4.0), LONELY, epsilon=1.9, draws=2000, adaptive=True)
    assert report.result()["privacy_loss"]["refuted"]


class Normal:
    """Predicts the share of flu, with normal noise of deviation `sigma` over a sensitivity of 1."""

    def __init__(self, sigma: float) -> None:
        self.sigma = sigma
        self.card = Card("normal", releases="predictions", randomized=True, seedable=True)

    def answer(self, ask: Ask) -> Iterator[Release]:
        count = float((ask.table.to_frame()["ill"] == "flu").sum())
        noisy = count + np.random.default_rng([ask.seed, len(ask.drop)]).normal(0, self.sigma, ask.draws)
        flu = 1 / (1 + np.exp(-noisy / 4))
        yield Predictions(np.column_stack([flu, 1 - flu]))

    def close(self) -> None: ...


SIGMA = float(np.sqrt(2 * np.log(1.25e5)))  # (1, 1e-5) for a sensitivity of 1 (Dwork & Roth, Theorem A.1)


@pytest.mark.parametrize(("sigma", "refuted"), [(SIGMA, False), (SIGMA / 8, True)])
def test_a_claim_with_a_delta_is_tested_with_it(sigma: float, refuted: bool) -> None:
    report = audit(Normal(sigma), LONELY, epsilon=1.9, draws=4000, privacy={"epsilon": 1.0, "delta": 1e-5})
    loss = report.result()["privacy_loss"]
    assert (loss["claimed"], loss["delta"], loss["refuted"]) == (1.0, 1e-5, refuted)


def test_claims_in_other_terms_are_translated_and_said_so() -> None:
    report = audit(Normal(8.0), LONELY, epsilon=1.9, draws=50, records=1, privacy={"rho": 0.5, "delta": 1e-5})
    assert report.result()["privacy_loss"]["claimed"] == pytest.approx(0.5 + 2 * np.sqrt(0.5 * np.log(1e5)))
    assert any("zero-concentrated differential privacy with rho = 0.5 is claimed" in note for note in report.notes)
    with pytest.raises(harness.InputError, match="privacy: unknown key 'epsilom'"):
        audit(Normal(8.0), LONELY, privacy={"epsilom": 1.0})


# ---- noise is not shown as findings


def test_noise_alone_makes_no_headline() -> None:
    report = audit(Copying(1), PEOPLE, draws=100, epsilon=0.5)
    numbers, page = report.statistics(), report.render("details")
    assert numbers["share_of_changed_predictions"] is None
    assert numbers["share_at_or_above"]["0.01"] == 0
    assert report.verdict.at_least == 0
    assert report.verdict.epsilon == report.verdict.at_most < 2
    assert "no record is proven to move it at all" in page
    assert "sampling noise alone would show" in page


def test_a_confidence_is_printed_with_all_its_digits() -> None:
    report = audit(Laplace(0.1), PEOPLE, epsilon=1.5, draws=50, confidence=0.999)
    assert "with 99.9 % confidence" in str(report.verdict)
