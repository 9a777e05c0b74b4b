"""One record examined, all of them, and what an audit makes of an oracle that is not what it says."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import harness
from harness.auditing.events import Event, Examined
from harness.auditing.journal import Journal
from harness.auditing.plan import Claim, Plan
from harness.auditing.procedure import Audit
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.oracle import Ask, Card
from harness.vocabulary.release import Predictions
from harness.vocabulary.schema import Schema
from harness.vocabulary.table import Table
from oracles import as_oracle
from tests import naive
from tests.anonymizers import chunks, jittered, suppressing
from tests.small_audits import QUASI, audit, table, values_of


def test_distances_are_those_of_the_naive_pipeline() -> None:
    data = table(60)
    report = audit(chunks, data)
    for finding in report.findings:
        expected = naive.distance(chunks, data, finding.person, list(QUASI), "ill")
        assert finding.distance == pytest.approx(expected, abs=1e-9)


def test_suppressed_rows_and_an_added_index_column_are_no_obstacle() -> None:
    report = audit(suppressing, table(200))
    assert len(report.findings) == 200
    assert "the release adds column 'index', which the data did not have" in report.notes


def test_an_anonymizer_may_empty_its_argument() -> None:
    def emptying(data: pd.DataFrame) -> pd.DataFrame:
        released = data.copy()
        for name in list(data.columns):
            del data[name]
        return released

    assert audit(emptying).findings == audit(lambda data: data).findings


def test_seeded_draws_are_coupled_and_repeatable() -> None:
    first, second = audit(jittered, draws=20), audit(jittered, draws=20)
    assert first.coupled
    assert first.to_json() == second.to_json()
    assert first.findings[0].draws == 20
    assert audit(jittered, draws=20, seed=1).to_json() != first.to_json()


def test_blind_and_indexed_asks_give_the_same_findings() -> None:
    assert audit(jittered, draws=5, blind=True).findings == audit(jittered, draws=5).findings


def test_a_callable_that_turns_out_random_is_drawn_independently() -> None:
    rng = np.random.default_rng(0)

    def random_each_time(data: pd.DataFrame) -> pd.DataFrame:
        return jittered(data, rng)

    report = audit(random_each_time, table(8), draws=10)
    assert report.card.randomized
    assert not report.coupled
    assert report.findings[0].draws == 10
    assert report.findings[0].lower < report.findings[0].upper


def test_a_random_oracle_that_says_it_is_deterministic_is_noticed() -> None:
    class Random:
        card = Card("random", randomized=False)
        rng = np.random.default_rng(0)

        def answer(self, ask: Ask) -> list[pd.DataFrame]:
            return [jittered(ask.table.to_frame(), self.rng) for _ in range(ask.draws)]

        def close(self) -> None: ...

    notes = audit(Random(), table(8), draws=10).notes
    assert "the oracle says it is deterministic, but equal questions got different answers" in notes


class Predictor:
    """Predicts the relative frequencies of the whole table, plus what the test wants to go wrong."""

    card = Card("predictor", releases="predictions", randomized=False)

    def __init__(self, spoil: Callable[[Any], Any] = lambda rows: rows) -> None:
        self.spoil = spoil

    def answer(self, ask: Ask) -> Iterator[Any]:
        counts = ask.table.to_frame()["ill"].value_counts()
        row = [counts.get(str(value), 0) / counts.sum() for (value,) in ask.data.sensitive_domain]
        yield self.spoil(np.array([row] * ask.draws))

    def close(self) -> None: ...


def test_predictions_pass_straight_through() -> None:
    data = table(10)
    report = audit(Predictor(), data)
    shares = data["ill"].value_counts(normalize=True)
    labels = values_of(report)
    assert report.findings[0].present == pytest.approx([shares[label] for label in labels])


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda rows: rows * 2, "not probabilities"),
        (lambda rows: rows[:, :1], "shape"),
        (lambda rows: pd.DataFrame({"a": [1]}), "its card says that it releases predictions"),
        (lambda rows: None, "returned nothing"),
        (lambda rows: Predictions(rows * np.nan), "not probabilities"),
    ],
)
def test_bad_predictions_end_in_an_error_that_names_oracle_and_question(spoil: Callable[[Any], Any], why: str) -> None:
    with pytest.raises(harness.ReleaseError, match=f"oracle 'predictor', asked for f\\(D\\): .*{why}"):
        audit(Predictor(spoil), table(10))


@pytest.mark.parametrize(("releases", "why"), [([], "0 releases"), ([1, 1], "more than 1 releases")])
def test_too_few_or_too_many_releases_are_an_error(releases: list[int], why: str) -> None:
    class Miscounting:
        card = Card("miscounting")

        def answer(self, ask: Ask) -> list[Table]:
            return [ask.table for _ in releases]

        def close(self) -> None: ...

    with pytest.raises(harness.ReleaseError, match=why):
        audit(Miscounting())


def test_draws_are_asked_in_portions_of_the_cards_size() -> None:
    asked: list[tuple[int, int]] = []

    class Small:
        card = Card("small", randomized=True, seedable=True, max_draws=3)

        def answer(self, ask: Ask) -> list[pd.DataFrame]:
            asked.append((ask.draws, ask.seed))
            return [jittered(ask.table.to_frame(), np.random.default_rng(seed)) for seed in ask.seeds()]

        def close(self) -> None: ...

    whole = audit(jittered, table(6), draws=7)
    assert audit(Small(), table(6), draws=7).findings == whole.findings
    assert max(draws for draws, _ in asked) == 3


def plan(data: pd.DataFrame | None = None) -> Plan:
    return Plan(Dataset.from_frame(table() if data is None else data, Schema(QUASI, "ill")), Claim(0.1))


def measured(events: Iterable[Event]) -> list[Examined]:
    return sorted((event for event in events if isinstance(event, Examined)), key=lambda event: event.person)


def test_the_stream_holds_every_event_of_an_audit_in_order() -> None:
    events = list(Audit(plan(), as_oracle(chunks)).events())
    names = [event.name for event in events]
    assert names[:4] == ["probed", "selected", "drawn", "described"]
    assert names[4:-4] == ["examined"] * 30
    assert names[-4:] == ["baselines", "class_sizes", "confirmed", "closed"]


def test_the_journal_replays_the_stream_and_asks_the_first_question_only(tmp_path: Path) -> None:
    asked: list[int] = []

    def counting(data: pd.DataFrame) -> pd.DataFrame:
        asked.append(len(data))
        return chunks(data)

    with Journal(tmp_path / "journal.jsonl", {"plan": 1}) as journal:
        first = list(Audit(plan(), as_oracle(counting)).events(journal))
    asked.clear()
    with Journal(tmp_path / "journal.jsonl", {"plan": 1}) as journal:
        again = list(Audit(plan(), as_oracle(counting)).events(journal))
    assert again == first  # and the journal, which may be signed, stays as it is
    assert asked == [30]
    assert [event.person for event in measured(first)] == list(range(30))


def test_looking_at_an_audit_asks_nothing() -> None:
    running = Audit(plan(), as_oracle(_must_not_be_asked))
    events = running.events()
    assert repr(running)
    assert iter(events) is events


def _must_not_be_asked(data: pd.DataFrame) -> pd.DataFrame:
    raise AssertionError("everything was measured before")


def test_what_was_measured_before_a_failure_is_kept_and_not_asked_again(tmp_path: Path) -> None:
    asked: list[int] = []

    def failing_once(data: pd.DataFrame) -> pd.DataFrame:
        asked.append(len(data))
        if len(asked) == 15:
            raise RuntimeError("the vendor's server is down")
        return chunks(data)

    with pytest.raises(harness.OracleError, match="RuntimeError: the vendor's server is down"):
        audit(failing_once, out=tmp_path, max_failures=0)
    report = audit(failing_once, out=tmp_path, retry_failed=True)
    assert report.to_json() == audit(failing_once).to_json()
    probed, again = 5 + 2 + 2 + 1, 8 + 4  # equal questions, smaller and other tables, another order
    in_memory = probed + 1 + 30 + again + 1  # f(D), records, the end
    assert len(asked) == 2 * in_memory + 2  # and the one that failed, and one to see that it is the same oracle


def test_an_unreadable_release_ends_the_audit_before_it_begins() -> None:
    def unreadable(data: pd.DataFrame) -> pd.DataFrame:
        return data.assign(age="somewhere in the thirties")

    with pytest.raises(harness.ReleaseError, match="asked for f\\(D\\): column 'age', row 0"):
        audit(unreadable)


def test_an_unreadable_release_without_a_record_names_that_record() -> None:
    def unreadable(data: pd.DataFrame) -> pd.DataFrame:
        return data if len(data) == 30 else data.assign(age="?!")

    with pytest.raises(
        harness.OracleError, match="asked for f\\(D\\) without the record with row label \\d+: column 'age', row 0"
    ):
        audit(unreadable)


def test_two_records_can_be_audited() -> None:
    report = audit(lambda data: data, table(2).assign(ill=["flu", "none"]))
    assert report.findings[0].absent == (0.0, 1.0)
    assert report.verdict.epsilon > 1


def test_workers_do_not_change_the_findings() -> None:
    one, two = audit(jittered, draws=3), audit(jittered, draws=3, workers=2)
    assert one.to_json() == two.to_json()


def test_a_callable_that_cannot_be_sent_to_workers_is_refused_with_the_remedy() -> None:
    with pytest.raises(harness.InputError, match="define the anonymizer as a function of a module"):
        audit(lambda data: data, workers=2)
