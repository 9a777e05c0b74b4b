"""The summary: one screen of 80 columns that a newcomer can read, without anything about single persons."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest

import harness
from harness.render.text import counted, share_in_words, times_as_many
from oracles.reference import Laplace
from tests.anonymizers import chunks
from tests.small_audits import audit, table

SCREEN, WIDTH = 24, 80


def coarse(data: pd.DataFrame) -> pd.DataFrame:
    return data.assign(age="*", sex="*")


def nothing(data: pd.DataFrame) -> pd.DataFrame:
    return data.iloc[:0]


def binned(rows: int = 30) -> pd.DataFrame:
    people = table(rows)
    return people.assign(age=people["age"] // 20 * 20)


def reports() -> Iterator[tuple[str, harness.Report]]:
    yield "violated", audit(chunks)
    yield "holds", audit(coarse)
    yield "randomized", audit(Laplace(noise_epsilon=0.5), binned(), draws=50, epsilon=1.0)
    yield "delta", audit(Laplace(noise_epsilon=0.5), binned(), draws=50, epsilon=0.5, delta=0.3)
    yield "too few draws", audit(Laplace(noise_epsilon=0.5), binned(), draws=20, epsilon=0.1)
    yield "sample", audit(coarse, table(100), records=40)
    yield "persons", audit(chunks, table(45).assign(pid=np.arange(45) // 3), person="pid")
    yield "nothing tested", audit(nothing)
    yield "another distance", audit(chunks, distance="kl", epsilon=5.0)


@pytest.fixture(scope="module")
def pages() -> dict[str, harness.Report]:
    return dict(reports())


def test_it_fits_one_screen(pages: dict[str, harness.Report]) -> None:
    for name, report in pages.items():
        lines = report.summary().splitlines()
        assert max(map(len, lines)) <= WIDTH, name
        assert len(lines) <= SCREEN, name


def test_it_says_the_verdict_what_it_means_and_what_to_do_next(pages: dict[str, harness.Report]) -> None:
    for report in pages.values():
        page = " ".join(report.summary().split())
        assert page.startswith(str(report.verdict))
        assert "What it means: " in page
        assert "Next: " in page


def test_it_names_no_value_of_a_person(pages: dict[str, harness.Report]) -> None:
    for name, report in pages.items():
        page = report.summary()
        assert not any(value in page for value in ("flu", "ulcer", "none")), name
        assert not any(value in report.render("details") for value in ("flu", "ulcer", "none:")), name


def test_raw_rows_and_values_are_shown_when_asked_for() -> None:
    page = audit(chunks, reveal=True).summary()
    assert "'ill': 'flu'" in page
    assert " with, " in page


def test_half_of_the_usual_distance_is_the_probability_that_moves() -> None:
    verdict = audit(chunks).verdict
    page = " ".join(audit(chunks).summary().split())
    assert "A distance goes from 0 (no change) to 2" in page
    moved = share_in_words(verdict.epsilon / 2)
    assert f"Half of it is the probability that moves: here {moved}; the claim allows less than 5 %." in page
    half = " ".join(audit(chunks, distance="half", epsilon=0.05).summary().split())
    assert f"It is the probability that moves: here {moved}; the claim allows less than 5 %." in half


def test_dropped_rows_are_counted() -> None:
    data = table().astype({"age": float})
    data.loc[[3, 9], "age"] = None
    page = audit(coarse, data, missing="drop").summary()
    assert "28 records; 2 rows with missing cells were left out" in page


def test_a_panel_lists_its_worst_adversaries() -> None:
    adversaries = [{"name": name} for name in ("one", "two", "three", "four", "five", "a very long name " * 5)]
    page = audit(chunks, adversaries=adversaries).summary()
    assert max(map(len, page.splitlines())) <= WIDTH
    assert page.count("VIOLATED ") == 5
    assert "… and 1 more" in page


def test_only_none_is_0_percent_and_only_all_are_100_percent() -> None:
    assert [share_in_words(share) for share in (0, 1e-5, 0.001, 0.0296, 0.5, 0.999, 0.99999, 1)] == [
        "0 %", "below 0.1 %", "0.1 %", "2.96 %", "50 %", "99.9 %", "above 99.9 %", "100 %",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("needed", "told"),
    [
        (60, ""),
        (78, " (calls and time: about 1.3 times as many)"),
        (8_481, " (calls and time: about 140 times as many)"),
        (6 * 10**9, " (calls and time: about 100,000,000 times as many)"),
    ],
)
def test_what_more_draws_cost_is_told_in_plain_numbers(needed: int, told: str) -> None:
    assert times_as_many({"draws": [60]}, needed) == told


def test_one_is_not_a_plural() -> None:
    assert (counted(1, "finding"), counted(0, "finding"), counted(1234, "finding")) == (
        "1 finding", "0 findings", "1,234 findings",
    )  # fmt: skip
