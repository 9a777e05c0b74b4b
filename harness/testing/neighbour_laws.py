"""The law about neighbours: no row moves the inference about itself further than claimed.

The adversary is the default one of an audit; f is asked about the table and about the table without each of its rows,
and the distance is that of an audit (v2, Definition 1). One draw decides, so the law is for deterministic anonymizers;
a randomized one is audited. Hypothesis is told the distance of every table, and steers towards larger ones.
"""

from __future__ import annotations

import numpy as np

from harness.measuring.adversary import adversary_from
from harness.testing.asking import Rows, Session
from harness.testing.claims import Claims
from harness.testing.law import Law
from harness.vocabulary.release import Reader


def largest_distance(session: Session, rows: Rows) -> float:
    """The largest distance of any row of a table; 0 where nothing can be compared."""
    if len(rows) < 2:
        return 0.0
    whole = session.trial(rows)
    if whole.answer.release is None:
        return 0.0
    reader = Reader(whole.data)
    present = reader.read(whole.answer.release)
    secrets, largest = whole.data.secrets(joint=False), 0.0
    adversary, secret = adversary_from({}).for_data(whole.data, secrets), secrets[0]
    for number in range(len(rows)):
        release = session.trial(rows[:number] + rows[number + 1 :]).answer.release
        if release is None:
            continue
        target = whole.data.record(number)
        predictions = [
            adversary.train(side.for_secret(secret), target.raws, 0).predict(target.raws, number, secret).probabilities
            for side in (present, reader.read(release))
        ]
        largest = max(largest, float(np.abs(predictions[0] - predictions[1]).sum()))
    return largest


def _stays_close(session: Session, claims: Claims, rows: Rows) -> str | None:
    assert claims.epsilon is not None
    distance = largest_distance(session, rows)
    if distance < claims.epsilon:
        return None
    return f"a row moves the inference about itself by {distance:.4g}; less than {claims.epsilon:g} is claimed"


def _no_epsilon(session: Session, claims: Claims) -> str | None:
    if claims.epsilon is None:
        return "no epsilon is claimed"
    if session.card.randomized or claims.adds_noise:
        return "f is randomized: audit it, which compares many draws"
    return None


NEIGHBOUR_LAWS = (
    Law(
        "neighbours-stay-close",
        "Leaving out a row moves the inference about that row by less than the claimed epsilon.",
        "What a release says about a person then comes from her own record.",
        _stays_close,
        "neighbours",
        skipped=_no_epsilon,
    ),
)
