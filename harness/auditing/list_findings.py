"""The findings that report.json lists: all of them, or of a large audit the worst, and a digest of all.

A large audit has more than LARGE findings of one adversary and secret. All of its findings are then in a file beside
report.json (`findings_file`), one row each, without what `confidential` withholds. The digest is over the rows as JSON
lines, so that it is the same whatever the format of that file.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from harness.auditing.columns import Columns, Ints
from harness.auditing.confidential import OF_A_PERSON
from harness.auditing.finding import Finding, to_plain
from harness.vocabulary.plain_numbers import plain_number

FINDINGS_FILE = "findings_file"  # the section of report.json that speaks of that file
LARGE = 20_000  # findings of a pair up to which report.json lists all
LISTED = 1_000  # of a larger one: the worst of each pair
ALL_VECTORS, WORST_VECTORS = 1_000, 100  # findings of a pair with vectors: all of so many, else the worst
CHUNK = 10_000  # findings that are spelled at once
VECTORS = ("present", "absent", "per_value")
WITHHELD = dict.fromkeys(OF_A_PERSON)

Plain = dict[str, Any]


def is_large(columns: Columns) -> bool:
    return len(columns) > LARGE


def plain_findings(findings: Sequence[Columns], named: Collection[int] = ()) -> Plain:
    """The sections of a report that hold findings; those of persons whom the report names are always listed."""
    if not any(map(is_large, findings)):
        return {"findings": list(_all_listed(findings))}
    places = [
        np.union1d(_worst_first(columns)[:LISTED], np.flatnonzero(np.isin(columns.get("person"), list(named))))
        for columns in findings
    ]
    listed = _listed(findings, places)
    return {
        "findings": [to_plain(finding) for finding in listed],
        FINDINGS_FILE: {
            "findings": sum(map(len, findings)),
            "listed": "the worst of each adversary and secret",
            "sha256": digest_of_rows(rows_of_findings(findings)),
        },
    }


def _worst_first(columns: Columns) -> Ints:
    return np.lexsort((columns.get("person"), -columns.get("distance"), -columns.get("lower")))


def _all_listed(findings: Sequence[Columns]) -> Iterator[Plain]:
    """All findings by person; of many only the worst are made one by one, since they alone have vectors."""
    with_vectors = [_with_vectors(one) for one in findings]
    rows = _rows_without_vectors(findings)
    for place in range(len(findings[0])):
        for pair, columns in enumerate(findings):
            row = next(rows)
            yield to_plain(columns.finding(place)) if place in with_vectors[pair] else row


def _with_vectors(columns: Columns) -> set[int]:
    """The places of the findings that are listed with both predictions."""
    return set(_worst_first(columns)[: None if len(columns) <= ALL_VECTORS else WORST_VECTORS].tolist())


def _listed(findings: Sequence[Columns], places: Sequence[Ints]) -> Iterator[Finding]:
    """The findings at these places of each pair, by person; large reports keep the vectors of the worst only."""
    with_vectors = [_with_vectors(one) for one in findings]
    keys = (
        [
            (int(columns.get("person")[place]), pair, place)
            for pair, columns in enumerate(findings)
            for place in places[pair].tolist()
        ]
        if len(findings) > 1
        else [(0, 0, place) for place in places[0].tolist()]
    )
    for _, pair, place in sorted(keys):
        finding = findings[pair].finding(place)
        kept = place in with_vectors[pair]
        yield finding if kept else replace(finding, present=None, absent=None, per_value=None)


def digest_of_rows(rows: Iterator[Plain]) -> str:
    """The SHA-256 of findings as JSON lines."""
    digest = hashlib.sha256()
    for row in rows:
        digest.update(json.dumps(row, allow_nan=False).encode() + b"\n")
    return digest.hexdigest()


def rows_of_findings(findings: Sequence[Columns]) -> Iterator[Plain]:
    """All findings as report.json would list them, by person, without what is withheld."""
    for row in _rows_without_vectors(findings):
        row.update(WITHHELD)
        yield row


def _rows_without_vectors(findings: Sequence[Columns]) -> Iterator[Plain]:
    """All findings as report.json lists those whose predictions it does not show, by person."""
    for start in range(0, max(map(len, findings)), CHUNK):
        spelled = [list(_rows(one, start, min(start + CHUNK, len(one)))) for one in findings]
        for of_person in zip(*spelled, strict=True):
            yield from of_person


def _rows(columns: Columns, start: int, stop: int) -> Iterator[Plain]:
    """The same as `to_plain` of the findings from one place to another, from columns; vectors are left out."""
    part = columns.part(start, stop)
    template = dict.fromkeys(to_plain(columns.finding(0)))
    failed, exact = part.get("failed"), part.get("exact")
    failure = part.get("failure")
    lists: dict[str, list[Any]] = {
        "person": part.get("person").tolist(),
        "failure": [str(text) or None for text in failure],
        "adversary": [columns.pair[0]] * len(part),
        "secret": [columns.pair[1]] * len(part),
        "exact": exact.tolist(),
        **{name: [None] * len(part) for name in VECTORS},
    }
    for name in ("distance", "lower", "upper", "own_upper"):
        lists[name] = [
            None if bad else plain_number(one) for one, bad in zip(part.get(name).tolist(), failed, strict=True)
        ]
    for name in ("coupled", "draws", "drawn", "look", "changed", "kept", "broken", "alpha"):
        lists[name] = part.get(name).tolist()
    for name in ("floor", "own_delta_upper", "delta_beyond_noise", "privacy_loss"):
        lists[name] = [None if math.isnan(one) else one for one in part.get(name).tolist()]
    lists["draws_needed"] = [None if math.isnan(one) else int(one) for one in part.get("draws_needed").tolist()]
    for name in ("delta_at_epsilon", "epsilon_at_delta", "placebo"):
        lists[name] = [_limits(ends) for ends in part.get(name).tolist()]
    lists["uncovered"] = [dict(zip(("present", "absent"), one, strict=True)) for one in part.get("uncovered").tolist()]
    lists["exceedances"] = [
        [] if bad else one for one, bad in zip(part.get("exceedances").tolist(), failed, strict=True)
    ]
    named = [part.names(place) for place in range(len(part))]
    lists["rows"], lists["row"] = [list(rows) for rows, _ in named], [row for _, row in named]
    for values in zip(*(lists[name] for name in template), strict=True):
        yield dict(zip(template, values, strict=True))


def _limits(ends: Sequence[float]) -> Plain | None:
    if math.isnan(ends[0]):
        return None
    return {end: plain_number(number) for end, number in zip(("value", "lower", "upper"), ends, strict=True)}
