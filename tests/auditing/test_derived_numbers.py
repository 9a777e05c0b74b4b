"""A journal that was written anew, with a whole chain, is refused where its numbers contradict each other."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.auditing.verify import recompile
from oracles.reference import Laplace
from tests.anonymizers import chunks, jittered
from tests.edited_journals import Edit, lines_of_journal, rewrite, write_anew
from tests.small_audits import audit, table


def setting(**numbers: Any) -> Edit:
    return lambda measurement: measurement.update(numbers)


def without(name: str) -> Edit:
    return lambda measurement: measurement.pop(name, None)


def no_part_per_value(measurement: dict[str, Any]) -> None:
    measurement["per_value"] = measurement["present"]


def other_prediction(measurement: dict[str, Any]) -> None:
    measurement["absent"] = measurement["present"]


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("exact")
    audit(chunks, out=folder)
    return (folder / "journal.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("edit", "named"),
    [
        (setting(distance=0.01, lower=0.01, upper=0.01, own_upper=0.01), "the distance of person"),
        (setting(lower=0.0), "the limit 'lower' of person"),
        (setting(upper=0.01), "the limit 'upper' of person"),
        (setting(own_upper=0.01), "the limit 'own_upper' of person"),
        (no_part_per_value, "the parts of the distance per value of person"),
        (other_prediction, "the distance of person"),
        (setting(copied=True), "the measurement of person .* two predictions: nothing else is known"),
        (setting(failure="f raised KeyError"), "the measurement of person .* a failure without numbers"),
        (setting(floor=0.5), "the measurement of person"),
        (setting(draws_needed=7), "the measurement of person"),
        (setting(exceedances=[1] * 17), "the measurement of person"),
        (setting(delta_beyond_noise=0.9), "the measurement of person"),
        (setting(uncovered=[2, 0]), "the draws without evidence of person"),
        (setting(row=1), "the rows that were measured of person"),
        (without("confidence"), "the confidence in the true value of person"),
        (setting(secret=1), "list index|the measurements of person|holds what no audit writes"),
    ],
)
def test_every_number_of_an_exact_measurement_follows_from_its_predictions(
    exact: bytes, tmp_path: Path, edit: Edit, named: str
) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(exact)
    recompile(path)
    rewrite(path, edit)
    with pytest.raises(harness.JournalError, match=named):
        recompile(path)


@pytest.fixture(scope="module")
def random(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("random")
    audit(jittered, table(14), out=folder, draws=12, delta=0.05)
    return (folder / "journal.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("edit", "named"),
    [
        (setting(distance=0.01), "the distance of person"),
        (setting(draws=1000), "the number of draws of person"),
        (setting(hits=0), "count of pairs at the claim of person"),
        (setting(own_delta_upper=0.001), "'own_delta_upper' of person"),
        (setting(delta_at_epsilon=[0.0, 0.0, 0.01]), "of 'delta_at_epsilon' of person"),
        (setting(placebo=[0.3, 0.0, 1.0]), "of 'placebo' of person"),
        (setting(exceedances=[0] * 17), "counts? of pairs|of 'epsilon_at_delta' of person"),
        (setting(exceedances=list(range(17))), "the counts of pairs of person"),
        (setting(epsilon_at_delta=[0.0, 0.0, 0.0]), "of 'epsilon_at_delta' of person"),
        (setting(upper=3.0), "the interval of person"),
        (setting(lower=1.9, upper=0.1, own_upper=0.1), "the interval of person"),
        (setting(own_upper=0.01), "the limit 'own_upper' of person"),
        (setting(privacy_loss=3.0), "the privacy loss of person"),
        (setting(draws_needed=1), "the number of draws that would settle it of person"),
        (setting(kept=[12, 9.0, "AAAAAAAAAAA="]), "the bets of person"),
        (setting(uncovered=[13, 0]), "the draws without evidence of person"),
        (without("exceedances"), "the counts of pairs of person"),
        (without("delta_at_epsilon"), "the tail of person"),
        (without("epsilon_at_delta"), "the tail of person"),
        (without("placebo"), "'placebo' of person"),
        (without("own_delta_upper"), "'own_delta_upper' of person"),
        (without("delta_beyond_noise"), "'delta_beyond_noise' of person"),
        (without("upper"), "the interval of person"),
        (without("own_upper"), "the limit 'own_upper' of person"),
        (without("floor"), "the noise floor of person"),
        (without("confidence"), "the confidence of person"),
    ],
)
def test_what_follows_from_counts_and_means_is_derived_where_chance_plays_a_part(
    random: bytes, tmp_path: Path, edit: Edit, named: str
) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(random)
    recompile(path)
    rewrite(path, edit)
    with pytest.raises(harness.JournalError, match=named):
        recompile(path)


def test_a_distance_below_that_of_the_mean_predictions_is_impossible(tmp_path: Path) -> None:
    """Jensen: the distance of two laws is at least that of their means; parts that sum to less are refused."""
    audit(Laplace(5.0), table(14), out=tmp_path, draws=20, keep_predictions=0)

    def smaller(measurement: dict[str, Any]) -> None:
        measurement.update(distance=0.0, per_value="AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")

    rewrite(tmp_path / "journal.jsonl", smaller)
    with pytest.raises(harness.JournalError, match="but follows as at least .* by the mean predictions"):
        recompile(tmp_path / "journal.jsonl")


@pytest.mark.parametrize(
    ("edit", "named"),
    [
        (lambda one: one.update(kept=[one["kept"][0], 1e6, one["kept"][2]]), "the gain of a bet of person"),
        (lambda one: one.update(kept=[one["kept"][0] + 1, *one["kept"][1:]]), "the draws of a bet of person"),
        (lambda one: one.update(broken=[10**6, *one["kept"][1:]]), "the bet of person"),
    ],
)
def test_a_bet_goes_on_over_all_draws_and_wins_no_more_than_it_can(
    adaptive: bytes, tmp_path: Path, edit: Edit, named: str
) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(adaptive)
    recompile(path)
    rewrite(path, edit)
    with pytest.raises(harness.JournalError, match=named):
        recompile(path)


@pytest.fixture(scope="module")
def adaptive(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("adaptive")
    audit(Laplace(1.0), table(8), out=folder, draws=300, adaptive=True, epsilon=1.0)
    return (folder / "journal.jsonl").read_bytes()


def twice(lines: list[dict[str, Any]], at: int) -> None:
    lines.insert(at, lines[at])


def by_nobody(lines: list[dict[str, Any]], at: int) -> None:
    lines[at]["examined"]["measurements"] = []


@pytest.mark.parametrize(
    ("edit", "named"),
    [(twice, "is examined at look 1 after look 1"), (by_nobody, "holds what no audit writes|are not those of every")],
)
def test_somebody_examined_twice_or_by_no_adversary_is_refused(
    exact: bytes, tmp_path: Path, edit: Callable[[list[dict[str, Any]], int], None], named: str
) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(exact)
    lines = lines_of_journal(path)
    edit(lines, next(number for number, line in enumerate(lines) if "examined" in line))
    write_anew(path, lines)
    with pytest.raises(harness.JournalError, match=named):
        recompile(path)


def test_adaptive_audits_and_several_rows_of_a_person_follow_too(tmp_path: Path) -> None:
    audit(Laplace(1.0), table(14), out=tmp_path / "adaptive", draws=400, adaptive=True, epsilon=1.0)
    recompile(tmp_path / "adaptive" / "journal.jsonl")
    people = table(14).assign(pid=[number // 2 for number in range(14)])
    audit(jittered, people, out=tmp_path / "persons", draws=12, delta=0.05, person="pid")
    recompile(tmp_path / "persons" / "journal.jsonl")
