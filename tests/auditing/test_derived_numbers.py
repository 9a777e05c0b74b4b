"""A journal that was written anew, with a whole chain, is refused where its numbers contradict each other."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.auditing.journal import Journal, entries
from harness.auditing.verify import recompile
from oracles.reference import Laplace
from tests.anonymizers import chunks, jittered
from tests.small_audits import audit, table

Edit = Callable[[dict[str, Any]], None]


def rewrite(path: Path, edit: Edit) -> None:
    """The same journal with every measurement edited and every hash made anew."""
    lines = json.loads(json.dumps(list(entries(path))))
    for line in lines:
        for measurement in line.get("examined", {}).get("measurements", ()):
            edit(measurement)
    path.unlink()
    with Journal(path, lines[0]) as journal:
        for line in lines[1:]:
            journal.append(line)


def setting(**numbers: Any) -> Edit:
    return lambda measurement: measurement.update(numbers)


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
        (setting(hits=0), "value of 'delta_at_epsilon'|'own_delta_upper'"),
        (setting(own_delta_upper=0.001), "'own_delta_upper' of person"),
        (setting(delta_at_epsilon=[0.0, 0.0, 0.01]), "of 'delta_at_epsilon' of person"),
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
    audit(Laplace(5.0), table(14), out=tmp_path, draws=20)

    def smaller(measurement: dict[str, Any]) -> None:
        measurement.update(distance=0.0, per_value="AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")

    rewrite(tmp_path / "journal.jsonl", smaller)
    with pytest.raises(harness.JournalError, match="but follows as at least .* by the mean predictions"):
        recompile(tmp_path / "journal.jsonl")


def test_adaptive_audits_and_several_rows_of_a_person_follow_too(tmp_path: Path) -> None:
    audit(Laplace(1.0), table(14), out=tmp_path / "adaptive", draws=400, adaptive=True, epsilon=1.0)
    recompile(tmp_path / "adaptive" / "journal.jsonl")
    people = table(14).assign(pid=[number // 2 for number in range(14)])
    audit(jittered, people, out=tmp_path / "persons", draws=12, delta=0.05, person="pid")
    recompile(tmp_path / "persons" / "journal.jsonl")
