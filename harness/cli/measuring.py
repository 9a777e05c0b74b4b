"""The command measure: metrics of a released file, as a table or as JSON. Needs no oracle and runs no audit."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pandas as pd

from harness.auditing.config import load_declared_data, read_data, read_toml
from harness.measuring.metrics.discrimination import discrimination_rate, rates_of_values
from harness.measuring.metrics.measure import measure as measure_release
from harness.measuring.metrics.measure import read_release
from harness.measuring.metrics.release_metrics import plain_metrics
from harness.measuring.metrics.utility import ENCODER
from harness.render.metrics import metrics_page
from harness.vocabulary.errors import InputError
from harness.vocabulary.schema import Schema
from harness.vocabulary.source import released_frame


def measure(chosen: argparse.Namespace) -> int:
    """Print what a release is worth and what it gives away."""
    schema, options = load_declared_data(chosen.schema)
    frame = released_frame(chosen.release, schema.names)
    original = None if chosen.original is None else read_data(chosen.original, schema, options)
    try:
        found = plain_metrics(measure_release(read_release(frame, schema, original), *_utility(chosen)))
        if chosen.by:
            found["discrimination"] = _discrimination(frame, schema, chosen.by.split(","), chosen.partition)
    except InputError as error:
        raise error.within(str(chosen.release)) from None
    print(json.dumps(found) if chosen.json else metrics_page(found))
    return 0


def _utility(chosen: argparse.Namespace) -> tuple[str | None, str]:
    """The model and the encoder that are to show what the release is good for."""
    if chosen.encoder is not None and chosen.utility is None:
        raise InputError("--encoder says what the model of --utility reads; add --utility, or leave --encoder out")
    return chosen.utility, chosen.encoder or ENCODER


def _discrimination(frame: pd.DataFrame, schema: Schema, by: list[str], partition: Path | None) -> list[dict[str, Any]]:
    """Discrimination rates of some columns together and of each of their values, for every sensitive column."""
    groups = None if partition is None else read_toml(partition)
    found = []
    for column in schema.sensitive:
        rate = discrimination_rate(frame, column.name, by, partition=groups)
        values = rates_of_values(frame, column.name, by, groups)
        found.append({"of": column.name, "by": by, "rate": rate, "values": values})
    return found
