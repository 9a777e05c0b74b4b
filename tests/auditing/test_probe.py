"""Oracles that are not what their cards say, and what the first and the last question show."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from harness.auditing.events import OracleProfile
from harness.auditing.plan import Claim, Plan
from harness.auditing.probe import probe
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import OracleError
from harness.vocabulary.oracle import Ask, Card, Oracle
from harness.vocabulary.schema import Schema
from oracles import as_oracle
from tests import naive
from tests.anonymizers import jittered
from tests.small_audits import QUASI, audit, table

Draw = Callable[[pd.DataFrame, int, int], pd.DataFrame]  # of a table, by the seed and the number of the question


class Drawing:
    """Releases what `draw` gives, whatever `card` says about that."""

    def __init__(self, card: Card, draw: Draw) -> None:
        self.card, self.draw, self.asked = card, draw, 0

    def answer(self, ask: Ask) -> Iterator[Any]:
        for seed in ask.seeds():
            self.asked += 1
            yield self.draw(ask.table.to_frame(), seed, self.asked)

    def close(self) -> None: ...


def by_seed(data: pd.DataFrame, seed: int, asked: int) -> pd.DataFrame:
    return jittered(data, np.random.default_rng(seed))


def by_number(data: pd.DataFrame, seed: int, asked: int) -> pd.DataFrame:
    return jittered(data, np.random.default_rng(asked))


def plain(data: pd.DataFrame, seed: int, asked: int) -> pd.DataFrame:
    return data


def profile_of(oracle: Oracle) -> OracleProfile:
    data = Dataset.from_frame(table(), Schema(QUASI, "ill"))
    return probe(Plan(data, Claim(0.1)), oracle)


SEEDED = Card("drawing", randomized=True, seedable=True)
RANDOM = Card("drawing", randomized=True)
FIXED = Card("drawing", randomized=False)
SILENT = Card("drawing")


@pytest.mark.parametrize(
    ("card", "draw", "randomized", "coupled", "note"),
    [
        (SEEDED, by_seed, True, True, None),
        (FIXED, plain, False, True, None),
        (SILENT, plain, False, True, None),
        (SILENT, by_number, True, False, None),
        (RANDOM, by_number, True, False, None),
        (FIXED, by_number, True, False, "says it is deterministic, but equal questions got different answers"),
        (SEEDED, by_number, True, False, "says it honours seeds, but equal questions with equal seeds got different"),
        (SEEDED, plain, True, True, "20 draws of one question were all the same"),
        (RANDOM, plain, True, False, "20 draws of one question were all the same"),
    ],
)
def test_the_card_is_believed_as_far_as_the_answers_agree(
    card: Card, draw: Draw, randomized: bool, coupled: bool, note: str | None
) -> None:
    profile = profile_of(Drawing(card, draw))
    assert (profile.card.randomized, profile.coupled) == (randomized, coupled)
    assert (profile.notes == ()) if note is None else (note in profile.notes[0])


def test_an_anonymizer_that_shuffles_its_rows_is_still_deterministic() -> None:
    rng = np.random.default_rng(0)
    profile = profile_of(as_oracle(lambda data: data.sample(frac=1, random_state=int(rng.integers(1 << 30)))))
    assert not profile.card.randomized


def by_position(data: pd.DataFrame) -> pd.DataFrame:
    """Hides the age of every other row."""
    return data.assign(age=["*" if place % 2 else str(age) for place, age in enumerate(data["age"])])


def test_an_anonymizer_to_which_the_order_of_rows_makes_a_difference_is_noticed() -> None:
    vouching = Card("drawing", randomized=False, row_order_invariant=True)
    assert not profile_of(Drawing(vouching, lambda data, seed, asked: by_position(data))).row_order_invariant
    assert profile_of(Drawing(vouching, plain)).row_order_invariant


class Counted:
    """A local anonymizer that vouches for something, and counts how often it was asked."""

    def __init__(self, f: Callable[[pd.DataFrame], pd.DataFrame], row_order_invariant: bool) -> None:
        self.card = Card("counted", randomized=False, row_order_invariant=row_order_invariant)
        self.f = f
        self.asked: list[int] = []

    def answer(self, ask: Ask) -> list[Any]:
        self.asked.append(ask.table.rows)
        return [self.f(ask.table.to_frame())]

    def close(self) -> None: ...


def test_equal_records_are_asked_about_once_if_the_oracle_vouches_for_order_and_a_permuted_table_agrees() -> None:
    data = pd.concat([table(10)] * 3, ignore_index=True)
    oracle = Counted(lambda frame: frame, row_order_invariant=True)
    report = audit(oracle, data)
    probing, again = 2, 8  # questions about a table of that size: does it repeat its answer?
    assert oracle.asked.count(29) == probing + len(data.drop_duplicates()) + again
    assert len(report.findings) == 30
    findings = [replace(finding, person=0, rows=(0,), row=0) for finding in report.findings]
    assert all(findings[index] == findings[index % 10] for index in range(30))
    assert any("records were examined for all 30" in line for line in report.assumptions)


@pytest.mark.parametrize(("f", "row_order_invariant"), [(by_position, True), (lambda frame: frame, False)])
def test_equal_records_are_asked_about_one_by_one_if_not(
    f: Callable[[pd.DataFrame], pd.DataFrame], row_order_invariant: bool
) -> None:
    oracle = Counted(f, row_order_invariant)
    report = audit(oracle, pd.concat([table(5)] * 2, ignore_index=True))
    assert oracle.asked.count(9) == 2 + 10 + 8
    assert any("order of rows makes no difference, but it does" in note for note in report.notes) == row_order_invariant


def test_a_mondrian_that_breaks_ties_by_position_is_measured_as_it_is() -> None:
    """f(D) may not mind the order of rows while some f(D⁻ⁱ) does: equal records then differ."""

    def halves(frame: pd.DataFrame) -> pd.DataFrame:
        ordered = frame.sort_values(["u", "v"], kind="stable").reset_index(drop=True)
        half = len(ordered) // 2
        parts = [ordered[:half], ordered[half:]] if half >= 2 else [ordered]
        return pd.concat([part.assign(**{c: f"{part[c].min()}~{part[c].max()}" for c in "uv"}) for part in parts])

    rows = [
        [2, 1, "a"],
        [1, 1, "b"],
        [1, 0, "b"],
        [2, 0, "a"],
        [1, 0, "b"],
        [2, 0, "b"],
        [1, 1, "b"],
        [2, 1, "a"],
        [1, 1, "b"],
    ]
    data = pd.DataFrame(rows, columns=["u", "v", "s"])
    report = audit(halves, data, quasi={"u": "number", "v": "number"}, sensitive="s")
    for finding in report.findings:
        expected = naive.distance(halves, data, finding.person, ["u", "v"], "s")
        assert finding.distance == pytest.approx(expected, abs=1e-9)


def test_an_oracle_that_remembers_is_noticed_by_the_last_question() -> None:
    asked: list[int] = []

    def tiring(data: pd.DataFrame) -> pd.DataFrame:
        asked.append(1)
        return data if len(asked) < 25 else data.assign(age="*")

    assert any("asked again at the end, got another answer" in note for note in audit(tiring).notes)


def test_drift_between_the_halves_of_independent_draws_is_noticed() -> None:
    asked: list[int] = []

    def drifting(data: pd.DataFrame) -> pd.DataFrame:
        asked.append(1)
        noise = np.random.default_rng(len(asked)).integers(0, 2, len(data))
        spoilt = noise if len(asked) < 70 else np.ones(len(data))
        return data.assign(sex=np.where(spoilt, "*", data["sex"]))

    notes = audit(drifting, table(12), draws=80, records=2).notes
    assert any("the answers of f drift" in note for note in notes)


def test_an_oracle_that_changes_after_its_first_draws_of_the_whole_table_is_noticed() -> None:
    class Tiring:
        """Predicts at random; ever surer of itself."""

        card = Card("tiring", releases="predictions", randomized=True)

        def __init__(self) -> None:
            self.asked, self.rng = 0, np.random.default_rng(0)

        def answer(self, ask: Ask) -> Iterator[Any]:
            self.asked += 1
            first = self.rng.uniform(0.2, 0.3, ask.draws) + min(self.asked / 40, 0.6)
            yield np.column_stack([first, 1 - first, np.zeros(ask.draws)])

        def close(self) -> None: ...

    assert any("drift" in note for note in audit(Tiring(), draws=60).notes)


def test_an_oracle_that_is_random_only_without_a_record_is_not_called_exact() -> None:
    rng = np.random.default_rng(0)

    def random_without_a_record(data: pd.DataFrame) -> pd.DataFrame:
        return data if len(data) == 30 else jittered(data, rng)

    assert audit(random_without_a_record, draws=5).card.randomized


def test_an_audit_does_not_go_on_with_another_oracle(tmp_path: Path) -> None:
    asked: list[int] = []

    def replaced(data: pd.DataFrame) -> pd.DataFrame:
        asked.append(1)
        if len(asked) == 30:
            raise RuntimeError("down")
        return data if len(asked) < 30 else data.assign(age="*")

    with pytest.raises(OracleError, match="down"):
        audit(replaced, out=tmp_path, max_failures=0)
    with pytest.raises(OracleError, match="it is not the same oracle any more"):
        audit(replaced, out=tmp_path)


def test_steady_independent_draws_are_not_said_to_drift() -> None:
    rng = np.random.default_rng(5)
    notes = audit(lambda data: jittered(data, rng), table(12), draws=40, records=2).notes
    assert not any("drift" in note for note in notes)
