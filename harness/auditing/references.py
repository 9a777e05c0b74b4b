"""What distances are shown beside, as report.json holds it: baselines and class sizes. Reads the state of an audit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from harness.auditing.reference_events import Baseline
from harness.auditing.state import AuditState
from harness.vocabulary.plain_numbers import plain_number

Plain = dict[str, Any]


def plain_baselines(state: AuditState) -> Plain | None:
    """Distances under releases that need no anonymizer, beside what the same adversaries found about f."""
    if state.baselines is None or state.selected is None:
        return None
    names, secrets = state.selected.adversaries, [secret["name"] for secret in state.spec["secrets"]]
    return {
        "known": [
            {
                "release": one.release,
                "adversary": names[one.adversary],
                "secret": secrets[one.secret],
                "persons": len(one.distances),
                **_numbers(one.distances, state.claim.epsilon),
                "f": _numbers(_of_f(state, one), state.claim.epsilon),
            }
            for one in sorted(state.baselines.known, key=_place)
        ],
        "skipped": [{"adversary": names[number], "reason": reason} for number, reason in state.baselines.skipped],
    }


def _place(baseline: Baseline) -> tuple[int, int, str]:
    return baseline.adversary, baseline.secret, baseline.release


def _of_f(state: AuditState, baseline: Baseline) -> list[float]:
    """What was measured about the same persons under f."""
    if (store := state.stores.get((baseline.adversary, baseline.secret))) is None:
        return []
    examined = np.array([person for person in baseline.persons if state.latest[person]], dtype=np.int64)
    distances: list[float] = store.column("distance", examined)[~store.column("failed", examined)].tolist()
    return distances


def _numbers(distances: Sequence[float], epsilon: float) -> Plain:
    if not distances:
        return {"largest": None, "mean": None, "share_at_or_above": None}
    numbers = np.array(distances)
    return {
        "largest": plain_number(float(numbers.max())),
        "mean": plain_number(float(numbers.mean())),
        "share_at_or_above": float((numbers >= epsilon).mean()),
    }


def plain_class_sizes(state: AuditState) -> Plain | None:
    """Of some persons: how many released rows cover them, and how often their rarest value occurs in the data."""
    if state.class_sizes is None:
        return None
    return {key: list(value) for key, value in vars(state.class_sizes).items()}
