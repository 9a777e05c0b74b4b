"""How many different sensitive values the classes of a release show (Machanavajjhala et al. 2007).

Let r1 >= r2 >= … >= rm be how often the values of one class occur, n their sum and p_i = r_i / n. For each class
    distinct      m
    entropy       exp(H), H = -sum p_i ln p_i: the largest l with H >= ln l (their Definition 4.1); need not be whole
    probability   n / r1: no value has more than the share 1/l
    recursive     (c, l): r1 < c (r_l + … + r_m) (their Definition 4.2); the c from which on that is true is
                  r1 / (r_l + … + r_m), infinite where m < l
and for the release the worst class: the least l, the largest c. Classes that show no value at all tell nothing about
anybody and are left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.measuring.metrics.classes import Floats


class ByLevel(dict[str, float]):
    """Numbers by ℓ. JSON has only texts as keys, so the keys are texts; a whole number finds its entry too."""

    def __missing__(self, level: object) -> float:
        if isinstance(level, int) and str(level) in self:
            return self[str(level)]
        raise KeyError(level)


def diversity(counts: Floats) -> dict[str, Any] | None:
    """The four kinds of ℓ of a release, from how often each value occurs in each class; None if no row shows one."""
    shown = counts[counts.sum(axis=1) > 0]  # [classes, values]
    if not len(shown):
        return None
    falling = -np.sort(-shown, axis=1)
    sums, top = falling.sum(axis=1), falling[:, 0]
    return {
        "distinct": int((falling > 0).sum(axis=1).min()),
        "entropy": float(np.exp(_entropies(falling / sums[:, None]).min())),
        "probability": float((sums / top).min()),
        "recursive_c": _recursive(falling, levels=int((shown > 0).any(axis=0).sum())),
    }


def _entropies(shares: Floats) -> Floats:
    """H of each class, in nats; a share of 0 adds nothing.  # [classes]"""
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    entropies: Floats = -(shares * logs).sum(axis=1)
    return entropies


def _recursive(falling: Floats, levels: int) -> ByLevel:
    """The largest r1 / (r_l + … + r_m) over the classes, for every ℓ from 2 to the number of values of the release."""
    tails = np.cumsum(falling[:, ::-1], axis=1)[:, ::-1]  # [class, l - 1]: r_l + … + r_m
    ratios = np.divide(falling[:, :1], tails, out=np.full_like(tails, np.inf), where=tails > 0)
    worst = ratios.max(axis=0)
    return ByLevel({str(level): float(worst[level - 1]) for level in range(2, levels + 1)})
