"""The earth mover's distance of expected predictions with any ground distance: a linear programme (v1 §3.3).

EMD(p, q) = min Σ g_uv d_uv over flows g ≥ 0 that leave each value u with p_u and arrive at each v with q_v. Grounds
that are lines or trees need none of this: see `sums`.

Its limits: EMD is jointly convex, so coupled pairs bound it by the mean of their distances; it changes by at most
`largest` · ½‖p − p'‖₁ when p becomes p' (rows of a plan can be filled with other mass at a cost of at most `largest`),
so that EMD of the means keeps as close to its own mean as the sum over values does; and by duality
u·p + v·q ≤ EMD(p, q) whenever u_i + v_j ≤ d_ij, which gives the lower limit from prices learnt on the first draws.
None of this needs the triangle inequality. Where it holds, mass that both predictions share stays in place, and the
programme is smaller.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from harness.measuring import bounds
from harness.measuring.divergence.interface import Proof
from harness.measuring.divergence.means import mean_predictions
from harness.measuring.samples import Floats, Samples, on_simplex, same_draws
from harness.vocabulary.errors import InputError

PAIRS, MEANS = 0.5, 0.5  # how the error level of an upper limit of coupled pairs is shared
TOGETHER = 50  # pairs in one linear programme: starting the solver costs as much as solving ten of them
EXACT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}  # HiGHS takes no smaller ones
ROUNDING = 1e-12  # relative: how far the triangle inequality may be missed


@dataclass(frozen=True, eq=False)
class EarthMover:
    """The least work that turns one expected prediction into the other, value by value at a ground distance."""

    describes: str
    labels: tuple[str, ...]
    matrix: Floats  # [n, n], symmetric with a zero diagonal
    name: str = "emd"
    proves: Proof = "both"

    @property
    def largest(self) -> float:
        """The largest ground distance."""
        return float(self.matrix.max())

    @cached_property
    def is_metric(self) -> bool:
        """Whether no detour is shorter than the direct way."""
        detours = (self.matrix[:, via, None] + self.matrix[None, via, :] for via in range(len(self.matrix)))
        slack = ROUNDING * self.largest
        return all(bool((self.matrix <= detour + slack).all()) for detour in detours)

    def between(self, p: Floats, q: Floats) -> float:
        """The distance of two points of the simplex."""
        return float(self._of(on_simplex(np.atleast_2d(p)), on_simplex(np.atleast_2d(q)))[0])

    def paired(self, x: Samples, y: Samples) -> Floats:
        """The distance of each pair of draws, solved once for equal pairs.  # [draws]"""
        x, y = same_draws(x, y)
        pairs, places = np.unique(np.hstack([x.normalised, y.normalised]), axis=0, return_inverse=True)
        return self._of(pairs[:, : x.values], pairs[:, x.values :])[places.ravel()]

    def per_value(self, x: Samples, y: Samples) -> Floats:
        """The distance of the means, in one piece.  # [1]"""
        return np.array([self.between(*mean_predictions(x, y))])

    def upper(self, x: Samples, y: Samples, plug_in: float, alpha: float, *, coupled: bool) -> float:
        """An upper limit of the distance at level alpha."""
        left, right = (np.ascontiguousarray(side.normalised.T) for side in (x, y))
        scale = self.largest / bounds.SIMPLEX_SPAN
        if not coupled:
            return bounds.upper_of_sides((left * scale, right * scale), plug_in, alpha, self.largest)
        both = np.vstack([left, right]) * scale  # a pair is one draw, which moves both sides
        return min(
            bounds.mean_at_most(self.paired(x, y), PAIRS * alpha, span=self.largest),
            bounds.upper_of_sides((both,), plug_in, MEANS * alpha, 2 * self.largest),
        )

    def interval(
        self, x: Samples, y: Samples, plug_in: float, alpha: float, *, coupled: bool, lower_from: float
    ) -> tuple[float, float]:
        """Limits of the distance, half of alpha for either end."""
        high = self.upper(x, y, plug_in, alpha / 2, coupled=coupled)
        if plug_in < lower_from:
            return 0.0, high
        draws = min(len(x), len(y))
        left, right = (np.ascontiguousarray(side.normalised[:draws].T) for side in (x, y))
        low = bounds.lower_by_potential(left, right, alpha / 2, self.largest, self._learn)
        return min(low, high), high

    def spec(self) -> dict[str, Any]:
        """The name and the ground distance."""
        return {"name": self.name, "ground": {"matrix": self.matrix.tolist(), "values": list(self.labels)}}

    def _of(self, p: Floats, q: Floats) -> Floats:
        """The distance of each pair of rows.  # [pairs, n] twice -> [pairs]"""
        stay = np.minimum(p, q) if self.is_metric else np.zeros_like(p)
        supplies, demands = p - stay, q - stay
        moved = supplies.sum(axis=1)
        todo = np.flatnonzero(np.minimum(moved, demands.sum(axis=1)) > 0)
        work = np.zeros(len(p))
        for start in range(0, len(todo), TOGETHER):
            some = todo[start : start + TOGETHER]
            shares = on_simplex(supplies[some]), on_simplex(demands[some])
            work[some] = _transport(*shares, self.matrix)[0] * moved[some]
        return np.minimum(work, self.largest)

    def _learn(self, x: Floats, y: Floats, price: float) -> bounds.LinearPotential:
        """The prices of the programme at the means of these draws, feasible whatever the solver's rounding."""
        _, prices = _transport(x.mean(axis=1)[None], y.mean(axis=1)[None], self.matrix)
        v = prices[0, x.shape[0] :]
        u = (self.matrix - v).min(axis=1)
        return bounds.LinearPotential(u, (self.matrix - u[:, None]).min(axis=0))


def _transport(supplies: Floats, demands: Floats, matrix: Floats) -> tuple[Floats, Floats]:
    """The least cost of bringing each row of supplies to its row of demands, and the prices that prove it.

    All pairs are solved in one programme, whose flows run only from values with a supply to values with a demand.
    # [pairs, n] twice -> [pairs], [pairs, 2n]
    """
    from scipy.optimize import linprog  # late: it takes longer to import than most audits need
    from scipy.sparse import coo_array

    pairs, n = supplies.shape
    pair, source, sink = np.nonzero((supplies[:, :, None] > 0) & (demands[:, None, :] > 0))
    costs, flows = matrix[source, sink], np.arange(len(pair))
    rows = np.concatenate([2 * n * pair + source, 2 * n * pair + n + sink])
    constraints = coo_array((np.ones(len(rows)), (rows, np.tile(flows, 2))), shape=(2 * n * pairs, len(flows)))
    amounts = np.hstack([supplies, demands]).ravel()
    solution = linprog(costs, A_eq=constraints.tocsr(), b_eq=amounts, method="highs-ds", options=EXACT)
    if not solution.success:
        raise InputError(f"the earth mover's distance could not be solved: {solution.message}")
    work: Floats = np.bincount(pair, weights=costs * solution.x, minlength=pairs).astype(np.float64)
    return work, solution.eqlin.marginals.reshape(pairs, 2 * n)
