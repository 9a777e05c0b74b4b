"""More boxes that lie, beside those of test_accusations: none gets a confident wrong verdict; honest boxes no note."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

import harness
from harness.vocabulary.oracle import Ask, Card, Release
from harness.vocabulary.table import Table
from oracles.reference import Laplace, Mondrian
from tests.small_audits import audit, table

INCONCLUSIVE = harness.Outcome.INCONCLUSIVE
PEOPLE = table(20)
ILLNESSES = ["flu", "ulcer", "none"]


def hidden(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(age="*", sex="*")


def any_illnesses(seed: int, rows: int = 10) -> pd.DataFrame:
    ill = np.random.default_rng(seed).choice(ILLNESSES, rows)
    return pd.DataFrame({"age": "*", "sex": "*", "ill": ill})


class Box(ABC):
    """Remembers the first table, which is D, and how often it was asked about each."""

    card = Card("box", randomized=False)

    def __init__(self) -> None:
        self.whole, self.asked, self.calls = pd.DataFrame(), dict[str, int](), 0

    def answer(self, ask: Ask) -> Iterator[Release]:
        frame = ask.table.to_frame()
        if self.whole.empty:
            self.whole = frame
        name = hashlib.sha256(frame.to_csv().encode()).hexdigest()
        for draw in range(ask.draws):
            self.calls += 1
            self.asked[name] = self.asked.get(name, 0) + 1
            yield Table.from_frame(self.release(frame, name, ask.seed + draw))

    @abstractmethod
    def release(self, frame: pd.DataFrame, name: str, seed: int) -> pd.DataFrame:
        """What it releases of a table of this digest."""

    def close(self) -> None:
        self.asked.clear()


class HonestOnce(Box):
    """The data the first time that it is asked about a table, stars afterwards."""

    def release(self, frame: pd.DataFrame, name: str, seed: int) -> pd.DataFrame:
        return frame if self.asked[name] == 1 else hidden(frame)


class HonestAtFirst(Box):
    """The data as long as it may be probed, stars afterwards."""

    def release(self, frame: pd.DataFrame, name: str, seed: int) -> pd.DataFrame:
        return frame if self.calls <= 10 else hidden(frame)


class RememberedNoise(Box):
    """Says that it is random, but draws once for every table and remembers the draw."""

    card = Card("remembered noise", randomized=True)

    def release(self, frame: pd.DataFrame, name: str, seed: int) -> pd.DataFrame:
        return any_illnesses(int(name[:8], 16))


class FewSeeds(Box):
    """Uses the last digit of a seed, so that draws repeat."""

    card = Card("few seeds", randomized=True, seedable=True)

    def release(self, frame: pd.DataFrame, name: str, seed: int) -> pd.DataFrame:
        return any_illnesses(seed % 10)


class WithoutTheFirst(Box):
    """Leaves out the first record, whoever is to be left out."""

    def release(self, frame: pd.DataFrame, name: str, seed: int) -> pd.DataFrame:
        return self.whole.iloc[1:] if len(frame) == len(self.whole) - 1 else frame


class WithoutSomebodyElse(Box):
    """Leaves out a record that depends on the table, where the table is D without one record."""

    def release(self, frame: pd.DataFrame, name: str, seed: int) -> pd.DataFrame:
        counts, known = frame.value_counts(), self.whole.value_counts()
        is_part = bool((counts <= known.reindex(counts.index).fillna(0)).all())
        if not is_part or len(frame) != len(self.whole) - 1:
            return frame
        left_out = int(name, 16) % len(self.whole)
        return self.whole.take([row for row in range(len(self.whole)) if row != left_out])


class FirstRows(Box):
    """Hides quasi-identifiers, and answers every smaller table with the first rows of D."""

    def release(self, frame: pd.DataFrame, name: str, seed: int) -> pd.DataFrame:
        return hidden(self.whole.iloc[: len(frame)])


LIARS = {
    HonestOnce: "may lie on either side",
    HonestAtFirst: "the oracle remembers or has changed",
    RememberedNoise: "it answers from memory",
    FewSeeds: "draws of f were copies of each other",
    WithoutTheFirst: "without another",
    WithoutSomebodyElse: "without another",
    FirstRows: "f gave D and a table of other records the same answer",
}


@pytest.mark.parametrize(("box", "why"), LIARS.items(), ids=lambda one: getattr(one, "__name__", ""))
def test_a_box_that_lies_proves_nothing(box: type[Box], why: str) -> None:
    verdict = audit(box(), PEOPLE, epsilon=0.3, draws=40, model="conditional").verdict
    assert verdict.outcome is INCONCLUSIVE
    assert why in verdict.reason


class Padding(Box):
    """Pads every release to 50 rows. That is no lie: the distance is that of what is released."""

    def release(self, frame: pd.DataFrame, name: str, seed: int) -> pd.DataFrame:
        padding = pd.DataFrame({"age": ["*"] * (50 - len(frame)), "sex": "*", "ill": "flu"})
        return pd.concat([frame.astype(str), padding], ignore_index=True)


class NoiseOnTheWhole(Box):
    """Shuffles illnesses of the complete table alone, which moves the inference about everybody, and truly so."""

    card = Card("noise on the whole", randomized=True)

    def release(self, frame: pd.DataFrame, name: str, seed: int) -> pd.DataFrame:
        if len(frame) < len(self.whole):
            return hidden(frame.assign(ill="flu"))
        return hidden(frame.assign(ill=np.random.default_rng(self.calls).permutation(frame["ill"].to_numpy())))


def test_padding_and_noise_on_one_side_are_judged_as_they_are() -> None:
    padded = audit(Padding(), PEOPLE, epsilon=0.3, model="conditional")
    assert padded.verdict.outcome is harness.Outcome.HOLDS
    assert padded.statistics()["largest"] == pytest.approx(2 / 31)  # one row of her own among 30 that say flu
    noisy = audit(NoiseOnTheWhole(), PEOPLE, epsilon=0.3, draws=100, model="conditional")
    assert noisy.verdict.outcome is harness.Outcome.VIOLATED


def keeping_flu(frame: pd.DataFrame) -> pd.DataFrame:
    return hidden(frame).assign(ill=frame["ill"].where(frame["ill"] == "flu", "none"))


def seeded_responses(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    lies = rng.random(len(frame)) < 0.3
    return hidden(frame).assign(ill=np.where(lies, rng.choice(ILLNESSES, len(frame)), frame["ill"]))


class UnseededResponses:
    """Randomized responses that no seed fixes."""

    card = Card("unseeded responses", randomized=True)

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def answer(self, ask: Ask) -> Iterator[Release]:
        frame = ask.table.to_frame()
        for _ in range(ask.draws):
            yield Table.from_frame(seeded_responses(frame, int(self.rng.integers(2**40))))

    def close(self) -> None: ...


HONEST: dict[str, Any] = {
    "identity": lambda seed: lambda frame: frame,
    "hiding": lambda seed: hidden,
    "hiding illnesses": lambda seed: keeping_flu,
    "Mondrian": lambda seed: Mondrian(k=2, cells="regions"),
    "seeded responses": lambda seed: seeded_responses,
    "unseeded responses": UnseededResponses,
    "Laplace": lambda seed: Laplace(1.0),
}


def honest_people(seed: int) -> pd.DataFrame:
    """Ten people who have every illness, so that a randomized response is always one of the data's own."""
    return table(10, seed=seed).assign(ill=ILLNESSES * 3 + ["flu"])


@pytest.mark.slow
def test_a_hundred_audits_of_honest_boxes_raise_at_most_one_note() -> None:
    notes = {
        (name, seed): [note for note in report.notes if "evidence about" not in note]
        for seed in range(15)
        for name, make in HONEST.items()
        for report in [
            audit(make(seed), honest_people(seed), epsilon=0.3, draws=24, seed=seed, model="conditional", records=2)
        ]
    }
    assert len(notes) >= 100
    raised = {key: found for key, found in notes.items() if found}
    assert len(raised) <= 1, raised
