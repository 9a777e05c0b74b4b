"""The reference of report.json, from its JSON Schema. A key that neither schema, code nor WORDS explains is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from describe import comments_of, generated, quoted, table

from harness.auditing.config import OPTIONS
from harness.auditing.finding import Finding
from harness.auditing.plan import Claim
from harness.auditing.verdict import Verdict
from harness.measuring.certificate import Certificate
from harness.vocabulary.oracle import Card
from harness.vocabulary.schema import Column

SCHEMA = Path(__file__).parent.parent / "harness" / "report.schema.json"
PREFIX = "#/$defs/"
DEFINITIONS: dict[str, Any] = json.loads(SCHEMA.read_text(encoding="utf-8"))["$defs"]
SOURCES: dict[str, type] = {  # whose comments explain the keys of a part
    "finding": Finding, "verdict": Verdict, "claim": Claim, "certificate": Certificate, "card": Card, "column": Column,
}  # fmt: skip
LIMITS = {
    "value": "the estimate",
    "lower": "lower confidence limit",
    "upper": "upper confidence limit",
    "witness": "number of the person with the largest value",
}
# What neither the schema nor a comment beside the field says.
WORDS: dict[str, dict[str, str]] = {
    "report": {
        "format": "version of this format",
        "results": "one for each adversary and secret",
        "notes": "what was noticed about the oracle and its releases",
        "assumptions": "what a reader must grant before relying on the verdict",
        "plan": "what was to be done",
        "plan_digest": "SHA-256 of the plan; two plans with one digest give equal numbers with the same oracle",
        "oracle": "who answered",
        "oracle.card": "what it says of itself",
        "oracle.coupled": "both sides were drawn with the same seeds",
        "oracle.row_order_invariant": "the order of rows makes no difference to it, as far as was checked",
        "proportional": "one for each adversary that reads the shares of a proportional table, and secret",
        "release": "metrics of the first draw of f(D); null where f releases predictions, or where f(D) is drawn for "
        "each block of persons anew",
        "selection": "who was examined",
        "selection.persons": "number of persons with a finding, duplicates included",
        "selection.examined": "number of persons for whom the oracle was asked",
        "selection.at_random": "number of those who were drawn at random",
        "selection.looks": "rounds of draws that were planned",
        "selection.wager": "error level of the sequential tests of an adaptive audit",
        "confirmed": "how a deterministic f answered when it was asked again; null where it was not",
        "confirmed.at_first": "repetitions of the first question at the beginning",
        "confirmed.repeated": "number of questions that were asked again at the end",
        "confirmed.different": "number of those at the end with another answer",
        "baselines": "distances under two releases that need no anonymizer",
        "class_sizes": "how many share what a person shows; null where f(D) is not drawn once for everybody",
        "findings": "one for each person, adversary and secret",
        "unfinished.examined": "number of persons examined so far",
        "unfinished.of": "number of persons to examine",
    },
    "baselines": {
        "known": "one for each release, adversary and secret",
        "skipped": "adversaries without baselines",
        "skipped.adversary": "its name",
        "skipped.reason": "why there are none",
    },
    "baseline": {
        "release": "raw: the data as it is; suppressed: all quasi-identifiers suppressed",
        "adversary": "its name",
        "secret": "its name",
        "persons": "number of persons, drawn at random from those examined",
        "largest": "the largest distance of these persons",
        "mean": "their mean distance",
        "share_at_or_above": "the share of them at or above the claimed epsilon",
        "f": "the same numbers of the same persons under the anonymizer",
        "f.largest": "their largest distance",
        "f.mean": "their mean distance",
        "f.share_at_or_above": "the share of them at or above the claimed epsilon",
    },
    "class_sizes": {
        "persons": "some of the examined persons, at random, and those who move most",
        "covering": "how many rows of the first draw of f(D) cover what an adversary knows of each",
        "rarest": "in how many rows of the data the rarest of each person's quasi-identifiers occurs",
    },
    "limits": LIMITS,
    "limits_of": LIMITS,
    "claim": {
        "epsilon": "the distance that nobody may reach",
        "delta": "the probability with which a draw may still reach it",
        "confidence": "of the verdict",
    },
    "certificate": {
        "population": "number of all persons",
        "examined": "number of persons drawn at random",
        "above": "number of those who are not known to stay below epsilon",
        "alpha": "error level of each of the two limits",
        "least": "at least so many of all persons do not keep the claim",
        "most": "at most so many of all persons do not keep the claim",
        "share": "`most` as a share of all persons",
    },
    "verdict": {
        "outcome": "the answer",
        "claim": "what was judged",
        "adversary": "whose result it is",
        "secret": "which sensitive column it is about",
        "reason": "the sentence after HOLDS, VIOLATED or INCONCLUSIVE",
        "examined": "number of persons examined",
        "population": "number of all persons",
    },
    "statistics": {
        "largest": "largest distance of a person",
        "mean": "mean distance",
        "deviation": "standard deviation of the distances",
        "share_at_or_above": "share of persons proven to reach each threshold",
        "share_possibly_at_or_above": "share of persons not proven to stay below each threshold",
        "share_of_changed_predictions": "share of persons for whom the most likely value is another one without them",
        "floor": "mean distance that random noise would show by itself",
        "by_decade": "how many persons have a distance of at least `from` and less than the next one",
        "by_decade.from": "lower end",
        "by_decade.count": "number of persons",
    },
    "point": {
        "epsilon": "a distance",
        "delta": "how often a pair of draws is at least so far apart, for the worst person",
        "lower": "lower end of the confidence band",
        "upper": "upper end of the confidence band",
    },
    "privacy_loss": {
        "claimed": "the claimed noise_epsilon",
        "at_least": "the noise_epsilon that the draws prove",
        "witness": "number of the person whose draws prove it",
        "refuted": "whether the claim is refuted",
        "delta": "the claimed noise_delta",
    },
    "operating_point": {
        "allowed": "rate of false positives that the threshold must not exceed",
        "false_positives": "share of non-members above the threshold, with Clopper-Pearson limits",
        "true_positives": "share of members above the threshold, with Clopper-Pearson limits",
    },
    "membership": {
        "persons": "number of persons with two scores, one as a member and one as a non-member",
        "auc": "probability that a member scores above another person who is no member; limits by Hoeffding's "
        "inequality for U-statistics",
        "points": "true positives at 1 % and 0.1 % false positives",
        "certain": "share of persons whom an adversary with both models tells with certainty: f is deterministic and "
        "their distance is above 0; null where chance plays a part",
    },
    "result": {
        "adversary": "name of the adversary",
        "secret": "name of the sensitive column",
        "distance": "name of the distance",
        "describes": "the distance in one sentence",
        "verdict": "of this adversary and secret",
        "exact": "nothing random was involved",
        "failures": "number of persons without a result",
        "draws": "the different numbers of draws that persons had",
        "statistics": "of the distances",
        "uncovered.present": "with their own rows",
        "uncovered.absent": "without them",
        "curve": "the (ε, δ) curve",
        "smallest_delta": "the smallest delta for which a claim with this epsilon would hold",
        "smallest_epsilon": "the smallest epsilon for which a claim with this delta would hold",
        "indifferentiability": "the largest distance: the δ of v2's δ-indifferentiability",
        "privacy_loss": "test of the claimed differential privacy; null where none is claimed",
        "membership": "membership inference; null where fewer than two persons have scores",
    },
    "release": {
        "rows": "number of rows",
        "classes": "number of equivalence classes: rows with the same quasi-identifiers as printed",
        "k": "people in the smallest class",
        "discernibility": "sum of the squared sizes of the classes; a suppressed row costs as much as D has rows",
        "average_class_size": "people for each class",
        "c_avg": "`average_class_size` divided by `k`",
        "suppressed": "rows of which every quasi-identifier is suppressed, and rows of D that the release has not",
        "suppressed_cells": "share of the cells of quasi-identifiers that say nothing",
        "l": "ℓ-diversity; of several sensitive columns the worst",
        "t": "t-closeness; of several sensitive columns the worst",
        "secrets": "for each sensitive column by name",
        "lost_leaves": "sum over rows and columns of (leaves - 1)/(all leaves - 1); null where a domain is not known",
        "normalized_certainty_penalty": "sum over rows and columns of the width of a cell, 1 for a whole column",
        "mean_lost_leaves": "`lost_leaves` for each cell",
        "mean_normalized_certainty_penalty": "`normalized_certainty_penalty` for each cell",
        "columns": "for each quasi-identifier by name",
        "outside": "cells that do not cover the value of their own row; null where rows cannot be matched with D",
        "outside.cells": "share of the cells",
        "outside.rows": "share of the rows with such a cell",
        "notes": "what was noticed about the release",
    },
    "proportional": {
        "secret": "name of the sensitive column",
        "adversary": "who reads the shares",
        "plain_adversary": "who reads the plain cells alone, and is equal in all else",
        "largest": "largest distance of a person, with shares",
        "mean": "mean distance, with shares",
        "plain_largest": "largest distance without them",
        "plain_mean": "mean distance without them",
    },
    "released_secret": {
        "l": "ℓ-diversity",
        "t": "t-closeness",
        "discrimination_rate": "how much of the uncertainty about the column the quasi-identifiers take away",
        "discrimination_rate.by": "each quasi-identifier alone, by name",
        "discrimination_rate.all": "all of them together",
    },
    "released_column": {
        "lost_leaves": "sum over the rows",
        "normalized_certainty_penalty": "sum over the rows",
    },
    "diversity": {
        "distinct": "different values",
        "entropy": "exp of the entropy",
        "probability": "1 / the share of the most frequent value",
        "recursive_c": "by ℓ the smallest c of recursive (c, ℓ)-diversity",
    },
    "closeness": {
        "equal": "all values equally far apart",
        "ordered": "numbers, or values with a declared order: as many steps apart as lie between them",
        "hierarchical": "as far apart as their common ancestor in the hierarchy of the column is high",
        **{
            f"{ground}.{side}": f"against the values of the {whole}"
            for ground in ("equal", "ordered", "hierarchical")
            for side, whole in (("release", "release"), ("original", "data"))
        },
    },
    "card": {
        "name": "name of the anonymizer",
        "version": "its version",
        "releases": "whether it releases tables or predictions",
    },
    "look": {
        "number": "1, 2, …",
        "draws": "draws a side",
        "alpha": "error level for each person, adversary and secret; all limits hold together",
        "own_alpha": "error level of a person's own upper limit, not corrected for the number of persons",
    },
    "finding": {
        "person": "number of the person; of a table without persons, of the record",
        "adversary": "name of the adversary",
        "secret": "name of the sensitive column",
        "distance": "the estimate, or the exact distance",
        "lower": "lower confidence limit of the distance",
        "upper": "upper confidence limit of the distance",
        "per_value": "the part of the distance that each sensitive value has",
        "floor": "distance that random noise would show by itself",
        "delta_at_epsilon": "how often a pair of draws is epsilon or more apart",
        "epsilon_at_delta": "the distance that pairs exceed with probability delta",
        "exceedances": "how many pairs reach each epsilon of the curve",
        "own_delta_upper": "her own upper limit of `delta_at_epsilon`, not corrected for the number of persons",
        "delta_beyond_noise": "proven lower limit of delta that holds however the draws are paired",
        "placebo": "how often two draws of f(D) itself are epsilon or more apart",
        "privacy_loss": "the noise_epsilon that this person's draws prove",
        "draws_needed": "about how many draws would settle this person",
        "uncovered": "releases in which no row was evidence about this person",
        "uncovered.present": "with her rows",
        "uncovered.absent": "without them",
        "failure": "why there is no result",
    },
    "plan": {
        "data": "the data, without a record of it",
        "data.digest": "SHA-256 of the declared columns",
        "data.rows": "number of rows that were used",
        "data.dropped": 'number of rows that `missing = "drop"` left out',
        "data.source.kind": "what a row is named by",
        "data.source.file": "name of the file",
        "data.source.first": "name of the first row",
        "data.person": "the column that says whose row it is",
        "data.population": "number of persons",
        "data.persons_digest": "SHA-256 of which rows belong together",
        "quasi": "the quasi-identifiers",
        "sensitive": "the sensitive columns",
        "secrets": "what is inferred: each sensitive column, or all as one",
        "secrets.name": "its name",
        "secrets.values": "its values, in the order of all vectors",
        "claim": "what is judged",
        "adversaries": "who infers",
        "divergence": "the distance, for each secret",
        "divergence.name": "its name",
        "divergence.describes": "one sentence about it",
        "divergence.largest": "the largest it can be",
        "divergence.reach": "where the grid of the (ε, δ) curve ends",
        "divergence.proves": "which limits can be proven of a randomized anonymizer at δ = 0",
        "divergence.identity": "its class and parameters",
        "privacy.epsilon": "noise_epsilon",
        "privacy.delta": "noise_delta",
        "privacy.words": "the claim as it was made",
    },
    "part": {
        "class": "module and name of its class",
        "spec": "what it says of itself",
        "parameters": "parameters of a scikit-learn estimator",
        "fields": "fields of a dataclass",
        "source": "SHA-256 of its source code",
        "library": "package that it comes from",
        "version": "version of that package",
        "unidentified": "why it cannot be identified; such an audit cannot be resumed",
    },
    "adversary": {
        "class": "module and name of its class",
        "spec": "its parts",
        "spec.name": "name of the adversary",
        "spec.encoder": "how releases become numbers",
        "spec.model": "what is trained on them",
        "spec.prior": "what is believed beforehand",
    },
    "column": {
        "name": "its name",
        "kind": "what its raw values are",
        "order": "the values of an ordered column, lowest first",
        "values": "all values of a category that there may be",
        "notation": "how its released cells are written",
        "closed": "which ends belong to a range",
        "points": "released numbers may be other numbers than the data has",
        "min": "the least number there may be",
        "max": "the greatest number there may be",
        "binning": "how the edges of bins are chosen",
    },
}  # fmt: skip


def report_page() -> str:
    """Every key of report.json."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    intro = (
        f"{schema['description']} The JSON Schema is installed with the package as `harness/report.schema.json`; "
        "`harness.Report.load(path)` reads the file. How to read it as a person: "
        "[read a report](../how-to/read-a-report.md)."
    )
    parts = [generated("report.json", intro), part_table("report", schema)]
    for name, part in schema["$defs"].items():
        if "properties" in part:
            parts += [f"## {name}\n", f"{part['description']}\n", part_table(name, part)]
    return "\n".join(parts)


def part_table(name: str, part: Mapping[str, Any]) -> str:
    """The keys of one part as a table; each must be explained."""
    words = {**_comments(name), **WORDS.get(name, {})}
    rows = []
    for key, value in _keys(part):
        meaning = value.get("description") or words.get(key)
        if not meaning:
            raise SystemExit(f"report.json: the key {name}.{key} has no explanation; write one in WORDS of {__file__}")
        rows.append((quoted(key), _kind(value), meaning))
    return table(("key", "type", "what it is"), rows)


def _comments(name: str) -> dict[str, str]:
    if name == "plan":
        return {option.name: option.purpose for option in OPTIONS}
    return comments_of(SOURCES[name]) if name in SOURCES else {}


def _keys(part: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every key, those of objects inside with a dot."""
    for key, value in part.get("properties", {}).items():
        yield f"{before}{key}", value
        for inner in (value, value.get("items", {}), *value.get("anyOf", ())):
            yield from _keys(inner, f"{before}{key}.")


def _kind(value: Mapping[str, Any]) -> str:
    """A type in words."""
    if "$ref" in value:
        name = value["$ref"].removeprefix(PREFIX)
        return f"[{name}](#{name})" if "properties" in DEFINITIONS[name] else _kind(DEFINITIONS[name])
    if "anyOf" in value:
        return " or ".join(dict.fromkeys(map(_kind, value["anyOf"])))
    if "enum" in value or "const" in value:
        return ", ".join(quoted(json.dumps(one)) for one in value.get("enum", [value.get("const")]))
    kind = value.get("type", "any")
    if kind == "array":
        return f"list of {_kind(value['items'])}"
    return " or ".join(kind) if isinstance(kind, list) else str(kind)
