"""From the reports of a sweep to one row per cell, as plain data: the content of sweep.json.

A function of the cells and their reports alone, so that a sweep that was interrupted ends in the same bytes. Seconds
and the calls that were really made are in run.json of each cell.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from harness.analysis.sweep_file import Cell
from harness.report import Report
from harness.vocabulary.error_codes import code_of
from harness.vocabulary.errors import HarnessError

FORMAT = 1  # of sweep.json
FINISHED, FAILED = "finished", "failed"
LOSS = "mean_normalized_certainty_penalty"  # of a release's metrics: 0 as the data, 1 all suppressed

Plain = dict[str, Any]


@dataclass(frozen=True)
class CellOutcome:
    """What became of the audit of a cell: its numbers, and every person's distance; or the error that ended it."""

    numbers: Plain
    distances: tuple[float, ...] = ()
    error: HarnessError | None = None

    @classmethod
    def finished(cls, report: Report, calls: int | None) -> CellOutcome:
        """From the report, and from the number of questions that the audit consists of."""
        distances = (finding.distance for finding in report.all_findings() if finding.failure is None)
        return cls(_report_numbers(report.plain, calls), tuple(distances))

    @classmethod
    def failed(cls, error: HarnessError) -> CellOutcome:
        return cls({"status": FAILED, "error": code_of(error)}, error=error)


@dataclass(frozen=True)
class CellResult:
    """A cell, and what became of its audit; equal cells share one."""

    cell: Cell
    outcome: CellOutcome


def sweep_plain(results: Iterable[CellResult]) -> Plain:
    """The content of sweep.json."""
    return {"format": FORMAT, "cells": [_row(result) for result in results]}


def distances_by_cell(results: Iterable[CellResult]) -> dict[str, tuple[float, ...]]:
    """The distances of all persons by the folder of the cell, for cumulative curves."""
    return {result.cell.folder: result.outcome.distances for result in results if result.outcome.error is None}


def _row(result: CellResult) -> Plain:
    return {
        "cell": result.cell.folder,
        "series": result.cell.series,
        "label": result.cell.label,
        "parameters": {key: _plain(value) for key, value in result.cell.parameters.items()},
        **result.outcome.numbers,
    }


def _report_numbers(plain: Mapping[str, Any], calls: int | None) -> Plain:
    pairs = [result_numbers(plain, place) for place in range(len(plain["results"]))]
    worst = next(one for one in pairs if _pair(one) == _pair(plain["verdict"]))
    return {
        "status": FINISHED,
        **worst,
        "persons": plain["selection"]["persons"],
        "calls": calls,
        "utility": precision_kept(plain),
        **({"results": pairs} if len(pairs) > 1 else {}),
    }


def _plain(value: Any) -> Any:
    """A value of a TOML file as JSON can hold it: numbers beyond all others and dates are texts."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    known = isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value))
    return value if known else str(value)


def _pair(one: Mapping[str, Any]) -> tuple[str, str]:
    return one["adversary"], one["secret"]


def result_numbers(report: Mapping[str, Any], place: int) -> Plain:
    """What a row says about one adversary and secret, the result at this place of a report."""
    epsilon, result = report["plan"]["claim"]["epsilon"], report["results"][place]
    verdict, statistics = result["verdict"], result.get("statistics", {})
    known = ("largest", "mean", "deviation", "share_at_or_above", "share_possibly_at_or_above")
    return {
        "adversary": result["adversary"],
        "secret": result["secret"],
        "distance": result["distance"],
        "exact": result["exact"],
        "verdict": verdict["outcome"],
        "at_least": verdict["at_least"],
        "at_most": verdict["at_most"],
        "share_at_the_claim": statistics.get("share_at_or_above", {}).get(f"{epsilon:.4g}"),
        **{name: statistics.get(name) for name in known},
        "share_of_changed_predictions": statistics.get("share_of_changed_predictions"),
        "membership_auc": (result.get("membership") or {}).get("auc"),
    }


def precision_kept(report: Mapping[str, Any]) -> float | None:
    """How precise the cells of f(D) still are, from 1 (as the data) to 0, where the report measured it."""
    loss = (report.get("release") or {}).get(LOSS)
    return None if loss is None else 1 - float(loss)
