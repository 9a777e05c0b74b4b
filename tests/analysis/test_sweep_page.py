"""The table and the page of a sweep: one row per cell, figures where there is something to draw, nothing that runs."""

from typing import Any

from harness.render.sweep import sweep_page, sweep_text


def row(label: str, k: Any, series: str = "sweep 1", **numbers: Any) -> dict[str, Any]:
    return {
        "cell": label, "series": series, "label": label, "parameters": {"oracle.options.k": k}, "status": "finished",
        "exact": True, "verdict": "holds", "at_least": 0.1, "at_most": 0.1, "mean": 0.01, "utility": None,
        "share_at_or_above": {"0.003162": 0.5}, "share_at_the_claim": 0.25, "calls": 30,
        "share_of_changed_predictions": 0.1,
        "membership_auc": {"value": 0.5, "lower": 0.4, "upper": 0.6}, **numbers,
    }  # fmt: skip


FAILED = {
    "cell": "k=0", "series": "sweep 1", "label": "k=0", "parameters": {"oracle.options.k": 0}, "status": "failed",
    "error": "E301",
}  # fmt: skip


def test_every_cell_has_a_line_with_its_parameters_and_a_failed_one_its_code() -> None:
    lines = sweep_text({"cells": [row("k=5", 5), FAILED]}).splitlines()
    assert lines[0].split()[:2] == ["k", "verdict"]
    assert lines[1].split()[:4] == ["5", "holds", "0.1", "0.1"]
    assert "≥ claim" in lines[0]
    assert "25.0 %" in lines[1]
    assert "failed (E301)" in lines[2]


def test_figures_are_drawn_against_the_number_that_varies() -> None:
    sweep = {"cells": [row("k=2", 2, utility=0.9), row("k=5", 5, mean=0.005, utility=0.7), FAILED]}
    page = sweep_page(sweep, {"k=2": [0.1, 0.2], "k=5": [0.05, 0.1]})
    for title in (
        "Largest distance against k", "Mean distance against k", "Share of changed predictions against k",
        "Share of persons at or below each distance", "Privacy against utility",
    ):  # fmt: skip
        assert f"<h2>{title}" in page


def test_a_sweep_over_names_has_its_table_and_cumulative_curves_alone() -> None:
    sweep = {"cells": [row("encoder=tf-tf", "tf-tf"), row("encoder=hot", "hot")]}
    page = sweep_page(sweep, {"encoder=tf-tf": [0.1], "encoder=hot": [0.2]})
    assert "against k" not in page
    assert "Share of persons at or below each distance" in page


def test_a_name_with_markup_is_shown_and_does_nothing() -> None:
    hostile = "<script>alert(1)</script>"
    page = sweep_page({"cells": [row(hostile, hostile, hostile), row("k=2", 2, hostile)]}, {hostile: [0.1]}, hostile)
    assert page.count("<script") == 1, "the page's own"
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
