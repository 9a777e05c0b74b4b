"""Numbers over all persons measured for one adversary and secret, as report.json holds them. Reads columns."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from harness.auditing.columns import Array, Columns
from harness.auditing.events import OracleProfile
from harness.auditing.grid import epsilons
from harness.auditing.plan import Claim
from harness.measuring.membership import tell_members
from harness.measuring.tail import curve
from harness.vocabulary.plain_numbers import plain_number

THRESHOLDS = (1e-3, 10**-2.5, 1e-2, 1e-1)  # v1 §3.4.2 quotes the share above 10^-2.5
QUANTILES = 1_001  # of a large audit, from the smallest to the largest number in equal steps of the share

Plain = dict[str, Any]


def statistics_of(findings: Columns, claim: Claim) -> Plain:
    """Distances over all persons.

    Where chance plays a part an estimate is mostly noise: shares and counts are then those of limits, and the mean
    stands beside the noise floor.
    """
    distances, lowers, uppers = (findings.get(name) for name in ("distance", "lower", "upper"))
    floors = findings.get("floor")
    floors = floors[~np.isnan(floors)]
    thresholds = sorted({*THRESHOLDS, claim.epsilon})
    infinite = bool(np.isinf(distances).any())
    exact = bool(findings.get("exact").all())
    return {
        "largest": plain_number(float(distances.max())),
        "mean": plain_number(float(distances.mean())),
        "deviation": None if infinite else float(distances.std()),
        "share_at_or_above": {f"{limit:.4g}": float((lowers >= limit).mean()) for limit in thresholds},
        "share_possibly_at_or_above": {f"{limit:.4g}": float((uppers >= limit).mean()) for limit in thresholds},
        "share_of_changed_predictions": float(np.mean(findings.get("changed"))) if exact else None,
        "floor": float(np.mean(floors)) if len(floors) else None,
        "by_decade": _by_decade(distances if exact else lowers),
    }


def _by_decade(distances: Array) -> list[Plain]:
    edges = [0.0, *(10.0**power for power in range(-5, 1)), np.inf]
    counts = np.histogram(distances[np.isfinite(distances)], edges)[0]
    counts[-1] += int(np.isinf(distances).sum())
    return [{"from": edge, "count": int(count)} for edge, count in zip(edges[:-1], counts, strict=True)]


def quantiles_of(findings: Columns) -> Plain:
    """Quantiles of the distance and its limits, each of them the number of a person, in equal steps of the share."""
    places = np.round(np.linspace(0, len(findings) - 1, QUANTILES)).astype(int)
    return {
        name: [plain_number(float(number)) for number in np.sort(findings.get(name))[places]]
        for name in ("distance", "lower", "upper")
    }


def curve_of(findings: Columns, reach: float) -> list[Plain]:
    """(ε, δ): the largest share of pairs at or above each ε, in a band that holds for all persons and ε at once.

    Exact when nothing is random: a person lies at or above ε, or does not.
    """
    grid = epsilons(reach)
    if findings.get("exact").all():
        largest = findings.get("distance").max()
        shares = lowers = uppers = np.array([float(largest >= epsilon) for epsilon in grid])
    else:
        # The largest count of those with equal draws and level has the largest share and limits.
        draws, alpha, counts = (findings.get(name) for name in ("draws", "alpha", "exceedances"))
        levels = sorted(set(zip(draws.tolist(), alpha.tolist(), strict=True)))
        curves = [curve(counts[(draws == level[0]) & (alpha == level[1])].max(axis=0), *level) for level in levels]
        shares, lowers, uppers = (
            np.max([getattr(each, part) for each in curves], axis=0) for part in ("shares", "lowers", "uppers")
        )
    columns = zip(grid, shares.tolist(), lowers.tolist(), uppers.tolist(), strict=True)
    return [dict(zip(("epsilon", "delta", "lower", "upper"), point, strict=True)) for point in columns]


def at_the_claim(findings: Columns) -> Plain:
    """The claim read both ways, over all persons: δ at its ε, ε at its δ, each with limits and the person it is of.

    `indifferentiability` is the δ of v2, Definition 1: the largest distance itself.
    """
    read: Plain = {}
    for name, field in (("smallest_delta", "delta_at_epsilon"), ("smallest_epsilon", "epsilon_at_delta")):
        value, lower, upper = findings.get(field).T
        read[name] = _largest(value, lower, upper, findings.first([value, upper]).person)
    distance, lower, upper = (findings.get(name) for name in ("distance", "lower", "upper"))
    read["indifferentiability"] = _largest(distance, lower, upper, findings.first([distance]).person)
    return read


def _largest(value: Array, lower: Array, upper: Array, witness: int) -> Plain:
    ends = {"value": value, "lower": lower, "upper": upper}
    return {**{name: plain_number(float(numbers.max())) for name, numbers in ends.items()}, "witness": witness}


def privacy_loss_of(findings: Columns, profile: OracleProfile | None) -> Plain | None:
    """The differential privacy that is claimed, and the largest loss that the draws prove."""
    losses = findings.get("privacy_loss")
    tested = findings.where(~np.isnan(losses))
    claimed = profile.card.noise_epsilon if profile is not None else None
    if claimed is None or not len(tested):
        return None
    most, person = float(np.nanmax(losses)), tested.first([tested.get("privacy_loss")]).person
    delta = profile.card.noise_delta if profile is not None else None
    return {"claimed": claimed, "delta": delta, "at_least": most, "witness": person, "refuted": most > claimed}


def membership_of(findings: Columns, claim: Claim) -> Plain | None:
    """How well one threshold on the confidence in the true value tells members from others, over all persons.

    `certain` is the share of persons whom an adversary with both models tells with certainty (f deterministic, d > 0).
    """
    scores = findings.get("confidence")
    members, others = scores[~np.isnan(scores[:, 0])].T
    told = tell_members(members, others, claim.confidence)
    if told is None:
        return None
    exact = bool(findings.get("exact").all())
    return {
        "persons": told.persons,
        "auc": asdict(told.auc),
        "points": [asdict(point) for point in told.points],
        "certain": float(np.mean(findings.get("distance") > 0)) if exact else None,
    }
