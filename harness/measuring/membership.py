"""Membership inference: can one tell from a release whether a person's own rows are in it? Knows scores only.

v2 §2.1 only mentions the idea ("combining the output of the two models into a single binary classifier"); it defines
no attack. Here the score is the adversary's confidence in the person's true value: one score of her as a member (from
f(D)) and one as a non-member (from f(D without her)). One threshold is used for everybody, as by an adversary who has
one release and does not know the other.

- AUC: the probability that a member scores above a non-member who is somebody else, ties counted half. It is a
  U-statistic of order 2 over persons, so Hoeffding's inequality (1963, §5b) gives limits for any law of the scores:
  ± sqrt(ln(2/α) / (2⌊m/2⌋)) for m persons, taken as independent.
- True positives at a rate of false positives: the lowest threshold that at most so many non-members reach, and the
  share of members who reach it, with Clopper-Pearson limits at that threshold.

An adversary who knows both models needs no score: where f is deterministic, any difference between the two tells with
certainty (AUC 1 for every person whose distance is above 0).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from harness.measuring.bounds import binomial_lower, binomial_upper
from harness.measuring.features import Floats
from harness.measuring.tail import Limits

FALSE_POSITIVES = (0.01, 0.001)  # rates at which true positives are reported


@dataclass(frozen=True)
class OperatingPoint:
    """What one threshold achieves."""

    allowed: float  # the rate of false positives that must not be exceeded
    false_positives: Limits
    true_positives: Limits


@dataclass(frozen=True)
class Membership:
    """How well members are told from non-members by one score."""

    persons: int
    auc: Limits
    points: tuple[OperatingPoint, ...]


def tell_members(members: Floats, others: Floats, confidence: float) -> Membership | None:
    """From one score of each person as a member and one as a non-member; None of fewer than two persons.  # [m], [m]"""
    count = len(members)
    if count < 2:
        return None
    alpha = 1 - confidence
    points = tuple(_point(members, others, allowed, alpha) for allowed in FALSE_POSITIVES)
    return Membership(count, _auc(members, others, alpha), points)


def _auc(members: Floats, others: Floats, alpha: float) -> Limits:
    """Over all pairs of different persons, of whom one is a member and the other is not."""
    count, ordered = len(members), np.sort(others)
    below, not_above = (int(np.searchsorted(ordered, members, side).sum()) for side in ("left", "right"))
    with_herself = int((members > others).sum()) + int((members >= others).sum())
    value = (below + not_above - with_herself) / (2 * count * (count - 1))
    width = math.sqrt(math.log(2 / alpha) / (2 * (count // 2)))
    return Limits(value, max(0.0, value - width), min(1.0, value + width))


def _point(members: Floats, others: Floats, allowed: float, alpha: float) -> OperatingPoint:
    most = math.floor(allowed * len(others) + 1e-9)  # non-members who may be taken for members
    threshold = float(np.sort(others)[::-1][most]) if most < len(others) else -math.inf
    return OperatingPoint(
        allowed, _rate(int((others > threshold).sum()), len(others), alpha),
        _rate(int((members > threshold).sum()), len(members), alpha),
    )  # fmt: skip


def _rate(hits: int, count: int, alpha: float) -> Limits:
    """A share with its Clopper-Pearson limits."""
    return Limits(hits / count, binomial_lower(hits, count, alpha / 2), binomial_upper(hits, count, alpha / 2))
